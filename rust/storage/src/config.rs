//! Converts the properties of users and catalogs to the configuration of `object_store`.
//!
//! A table for each type of store maps each property name to its meaning. Errors contain only the name of a property,
//! never its value.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::Arc;

use frazil_core::error::{Error, ErrorKind, Result};
use frazil_core::storage::Location;
use frazil_core::storage::location::Scheme;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey as S3Key, AwsCredential};
use object_store::azure::{AzureConfigKey as AzureKey, AzureCredential, MicrosoftAzureBuilder, split_sas};
use object_store::client::{ClientConfigKey, HttpClient, HttpConnector, ReqwestConnector};
use object_store::gcp::{GcpCredential, GoogleCloudStorageBuilder, GoogleConfigKey as GcsKey};
use object_store::http::HttpBuilder;
use object_store::{ClientOptions, ObjectStore};

use crate::connect::EarlyFailure;
use crate::credentials::{CredentialSource, Renewed};

type Properties = BTreeMap<String, String>;

/// The meaning of a property.
#[derive(Debug, Clone, Copy)]
enum Meaning {
    /// The `object_store` key with this name.
    Key(&'static str),
    /// The `object_store` key with this name, with the negated Boolean value.
    NotKey(&'static str),
    /// The `object_store` key with this name, for a value in seconds (PyIceberg's form).
    Seconds(&'static str),
    /// A known property without effect: frazil already behaves as requested, or the property only concerns writes with
    /// another library.
    Ignored,
    /// A known property that frazil cannot honour. It is rejected, because frazil must not read with other credentials
    /// than requested.
    Refused,
    /// Rejected like [`Meaning::Refused`] if the value is `true`.
    RefusedIfTrue,
}

use Meaning::{Ignored, Key, NotKey, Refused, RefusedIfTrue, Seconds};

const S3: &[(&str, Meaning)] = &[
    ("s3.endpoint", Key("endpoint")),
    ("s3.access-key-id", Key("access_key_id")),
    ("s3.access-key", Key("access_key_id")),
    ("client.access-key-id", Key("access_key_id")),
    ("s3.secret-access-key", Key("secret_access_key")),
    ("s3.secret-key", Key("secret_access_key")),
    ("client.secret-access-key", Key("secret_access_key")),
    ("s3.session-token", Key("session_token")),
    ("client.session-token", Key("session_token")),
    ("s3.region", Key("region")),
    ("client.region", Key("region")),
    ("s3.path-style-access", NotKey("virtual_hosted_style_request")),
    ("s3.path.style.access", NotKey("virtual_hosted_style_request")),
    ("s3.force-virtual-addressing", Key("virtual_hosted_style_request")),
    ("s3.anonymous", Key("skip_signature")),
    ("s3.proxy-uri", Key("proxy_url")),
    ("s3.connect-timeout", Seconds("connect_timeout")),
    ("s3.request-timeout", Seconds("timeout")),
    ("s3.server-side-encryption", Key("server_side_encryption")),
    ("s3.sse-kms-key-id", Key("aws_sse_kms_key_id")),
    ("s3.requester-pays", Key("request_payer")),
    ("s3.resolve-region", Ignored),
    ("s3.retry-strategy-impl", Ignored),
    ("s3.role-arn", Refused),
    ("client.role-arn", Refused),
    ("s3.role-session-name", Ignored),
    ("client.role-session-name", Ignored),
    ("s3.profile-name", Refused),
    ("client.profile-name", Refused),
    ("s3.signer", Refused),
    ("s3.remote-signing-enabled", RefusedIfTrue),
];

const GCS: &[(&str, Meaning)] = &[
    ("gcs.oauth2.token", Key("bearer_token")),
    ("gcs.oauth2.token-expires-at", Ignored),
    ("gcs.service.host", Key("base_url")),
    ("gcs.endpoint", Key("base_url")),
    ("gcs.no-auth", Key("skip_signature")),
    ("gcs.anonymous", Key("skip_signature")),
    ("gcs.token", Key("service_account_path")),
    ("gcs.service-account-path", Key("service_account_path")),
    ("gcs.credentials-json", Key("service_account_key")),
    ("gcs.project-id", Ignored),
    ("gcs.user-project", Refused),
    ("gcs.encryption-key", Refused),
    ("gcs.decryption-key", Refused),
];

const ADLS: &[(&str, Meaning)] = &[
    ("adls.account-name", Key("account_name")),
    ("adls.account-key", Key("access_key")),
    ("adls.auth.shared-key.account.name", Key("account_name")),
    ("adls.auth.shared-key.account.key", Key("access_key")),
    ("adls.sas-token", Key("sas_key")),
    ("adls.token", Key("bearer_token")),
    ("adls.tenant-id", Key("authority_id")),
    ("adls.client-id", Key("client_id")),
    ("adls.client-secret", Key("client_secret")),
    ("adls.endpoint", Key("endpoint")),
    ("adls.anonymous", Key("skip_signature")),
    ("adls.connection-string", Refused),
    ("adls.credential", Ignored),
];

/// Creates the store of `location`, with the credentials of `source` if it provides any for this type of store.
///
/// # Errors
/// See [`crate::open`].
pub(crate) fn build(
    location: &Location,
    properties: &Properties,
    source: Option<&Arc<dyn CredentialSource>>,
) -> Result<Arc<dyn ObjectStore>> {
    let failed = |e: object_store::Error| incomplete(&e, location);
    let connector = EarlyFailure(ReqwestConnector::default());
    Ok(match location.scheme() {
        Scheme::S3 => {
            let mut builder = AmazonS3Builder::from_env().with_bucket_name(location.authority());
            for (key, value) in translate(S3, &["s3.", "client."], "aws_", properties)? {
                builder = builder.with_config(parse_key::<S3Key>(&key)?, value);
            }
            // The scheme of an endpoint from the environment can also request plain HTTP.
            let endpoint = builder.get_config_value(&S3Key::Endpoint);
            if endpoint.is_some_and(|url| url.to_ascii_lowercase().starts_with("http://")) {
                builder = builder.with_allow_http(true);
            }
            if let Some(source) = source.filter(|_| s3_credential(properties).is_ok()) {
                builder = builder.with_credentials(Renewed::new(source, s3_credential));
            }
            Arc::new(builder.with_http_connector(connector).build().map_err(failed)?)
        }
        Scheme::Gcs => {
            let mut builder = GoogleCloudStorageBuilder::from_env().with_bucket_name(location.authority());
            for (key, value) in translate(GCS, &["gcs."], "google_", properties)? {
                builder = builder.with_config(parse_key::<GcsKey>(&key)?, value);
            }
            if let Some(source) = source.filter(|_| gcs_credential(properties).is_ok()) {
                builder = builder.with_credentials(Renewed::new(source, gcs_credential));
            }
            Arc::new(builder.with_http_connector(connector).build().map_err(failed)?)
        }
        Scheme::Azure => {
            let (container, host) = location.authority().split_once('@').unwrap_or((location.authority(), ""));
            let account = host.split('.').next().unwrap_or("");
            let mut builder = MicrosoftAzureBuilder::from_env().with_container_name(container);
            if !account.is_empty() {
                builder = builder.with_account(account);
            }
            for (key, value) in translate(ADLS, &["adls."], "azure_", &of_account(properties, host, account))? {
                builder = builder.with_config(parse_key::<AzureKey>(&key)?, value);
            }
            let (host, account) = (host.to_string(), account.to_string());
            let read = move |properties: &Properties| azure_credential(&of_account(properties, &host, &account));
            if let Some(source) = source.filter(|_| read(properties).is_ok()) {
                builder = builder.with_credentials(Renewed::new(source, read));
            }
            Arc::new(builder.with_http_connector(connector).build().map_err(failed)?)
        }
        Scheme::Http | Scheme::Https => {
            let url = format!("{}://{}", location.scheme().name(), location.authority());
            let plain = ClientOptions::new().with_allow_http(*location.scheme() == Scheme::Http);
            let builder = HttpBuilder::new().with_url(url).with_client_options(plain);
            Arc::new(builder.with_http_connector(EarlyFailure(SameHost)).build().map_err(failed)?)
        }
        Scheme::Local | Scheme::Hdfs | Scheme::Memory | Scheme::Other(_) => return Err(no_storage(location)),
    })
}

/// Returns the S3 key in the properties.
fn s3_credential(properties: &Properties) -> Result<AwsCredential> {
    let mut settings: Properties = translate(S3, &["s3.", "client."], "aws_", properties)?.into_iter().collect();
    let mut take = |key: &str| settings.remove(key);
    match (take("access_key_id"), take("secret_access_key")) {
        (Some(key_id), Some(secret_key)) => Ok(AwsCredential { key_id, secret_key, token: take("session_token") }),
        _ => Err(no_credential("s3.access-key-id and s3.secret-access-key")),
    }
}

/// Returns the Google Cloud Storage token in the properties.
fn gcs_credential(properties: &Properties) -> Result<GcpCredential> {
    let settings = translate(GCS, &["gcs."], "google_", properties)?;
    let bearer = settings.into_iter().find(|(key, _)| key == "bearer_token").map(|(_, bearer)| bearer);
    bearer.map(|bearer| GcpCredential { bearer }).ok_or_else(|| no_credential("gcs.oauth2.token"))
}

/// Returns the Azure shared access signature or token in the properties.
fn azure_credential(properties: &Properties) -> Result<AzureCredential> {
    let mut settings: Properties = translate(ADLS, &["adls."], "azure_", properties)?.into_iter().collect();
    if let Some(sas) = settings.remove("sas_key") {
        let invalid =
            |_| Error::invalid("the shared access signature of the catalog does not consist of key-value pairs");
        return split_sas(&sas).map(AzureCredential::SASToken).map_err(invalid);
    }
    let token = settings.remove("bearer_token");
    token.map(AzureCredential::BearerToken).ok_or_else(|| no_credential("adls.sas-token and adls.token"))
}

fn no_credential(missing: &str) -> Error {
    Error::new(
        ErrorKind::Unauthorized,
        format!("the catalog did not provide credentials for this store: {missing} are missing"),
    )
}

/// Returns the error for a scheme without a storage.
fn no_storage(location: &Location) -> Error {
    Error::unsupported(format!("frazil does not support '{}' locations", location.scheme().name()))
        .with("path", location)
        .hint("copy the table to a supported store, or map its prefix with relocate={...}")
}

/// Returns the error for inconsistent store properties: a key without its secret, or an invalid endpoint URL.
fn incomplete(error: &object_store::Error, location: &Location) -> Error {
    let text = error.to_string();
    // The error contains only names that `object_store` prints, never values.
    let missing = ["AccessKeyId", "SecretAccessKey"];
    let message = match missing.iter().find(|name| text.ends_with(&format!("Missing {name}"))) {
        Some(name) => format!("the store properties do not contain {name}"),
        None => "the store properties are incomplete or inconsistent".to_string(),
    };
    Error::invalid(message).with("path", location)
}

/// Returns the `object_store` keys and values for the properties of one store.
fn translate(
    table: &[(&str, Meaning)],
    prefixes: &[&str],
    native_prefix: &str,
    properties: &Properties,
) -> Result<Vec<(String, String)>> {
    let mut settings = Vec::new();
    for (name, value) in properties {
        let lower = name.to_ascii_lowercase();
        if lower.starts_with(native_prefix) {
            settings.push((lower, value.clone()));
            continue;
        }
        if !prefixes.iter().any(|prefix| lower.starts_with(prefix)) {
            continue;
        }
        match table.iter().find(|(known, _)| *known == lower) {
            Some((_, meaning)) => settings.extend(apply(*meaning, name, value)?),
            None => refuse_typo(table, &lower)?,
        }
    }
    let plain_http = |(key, value): &(String, String)| {
        matches!(key.as_str(), "endpoint" | "base_url") && value.to_ascii_lowercase().starts_with("http://")
    };
    if settings.iter().any(plain_http) {
        settings.push(("allow_http".to_string(), "true".to_string()));
    }
    Ok(settings)
}

fn apply(meaning: Meaning, name: &str, value: &str) -> Result<Option<(String, String)>> {
    let unsupported = || {
        Err(Error::unsupported(format!("the property '{name}' is not supported"))
            .hint("pass keys, a token or a session token, or set them in the environment"))
    };
    Ok(match meaning {
        Key(key) => Some((key.to_string(), value.to_string())),
        NotKey(key) => Some((key.to_string(), (!truth(name, value)?).to_string())),
        Seconds(key) => {
            let seconds: f64 = value.trim().parse().unwrap_or(f64::NAN);
            if !(seconds > 0.0 && seconds < 1e6) {
                return Err(Error::invalid(format!("the property '{name}' is not a number of seconds")));
            }
            Some((key.to_string(), format!("{seconds} seconds")))
        }
        Refused => return unsupported(),
        RefusedIfTrue if truth(name, value)? => return unsupported(),
        Ignored | RefusedIfTrue => None,
    })
}

fn truth(name: &str, value: &str) -> Result<bool> {
    match value.trim().to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "on" => Ok(true),
        "false" | "0" | "no" | "off" => Ok(false),
        _ => Err(Error::invalid(format!("the property '{name}' must be true or false"))),
    }
}

/// Rejects an unknown property that is similar to a known one and is therefore probably a typo. Other unknown
/// properties are ignored, because catalogs send many of them.
fn refuse_typo(table: &[(&str, Meaning)], name: &str) -> Result<()> {
    match table.iter().map(|(known, _)| *known).find(|known| one_or_two_edits(known, name)) {
        Some(near) => Err(Error::invalid(format!("unknown property '{name}'")).hint(format!("did you mean '{near}'?"))),
        None => Ok(()),
    }
}

fn one_or_two_edits(a: &str, b: &str) -> bool {
    if a.len().abs_diff(b.len()) > 2 {
        return false;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (above, y) in row.iter_mut().zip(std::iter::once(0).chain(b.bytes())).skip(1) {
            let here = (diagonal + usize::from(x != y)).min(left + 1).min(*above + 1);
            diagonal = *above;
            *above = here;
            left = here;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().is_some_and(|&distance| distance <= 2)
}

/// Selects the Azure tokens of an account. Catalogs provide them per account: `adls.sas-token.<account>` or
/// `adls.sas-token.<account host>`.
fn of_account(properties: &Properties, host: &str, account: &str) -> Properties {
    let mut own = Properties::new();
    for (name, value) in properties {
        let vended = name.to_ascii_lowercase();
        match vended.strip_prefix("adls.sas-token.") {
            Some(of) if !account.is_empty() && (of == account || of == host) => {
                own.insert("adls.sas-token".to_string(), value.clone());
            }
            Some(_) => {}
            None => {
                own.entry(name.clone()).or_insert_with(|| value.clone());
            }
        }
    }
    own
}

fn parse_key<K: FromStr>(key: &str) -> Result<K> {
    K::from_str(key).map_err(|_| Error::invalid(format!("unknown property '{key}'")))
}

/// A connector to plain HTTP servers that follows redirects only to the same host, so that a table cannot direct its
/// reader to machines of a private network.
#[derive(Debug)]
struct SameHost;

impl HttpConnector for SameHost {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let policy = reqwest::redirect::Policy::custom(|attempt| {
            let origin = |url: &url::Url| (url.scheme().to_string(), url.host_str().map(str::to_string), url.port());
            let from = attempt.previous().last().map(origin);
            if attempt.previous().len() < 5 && from == Some(origin(attempt.url())) {
                attempt.follow()
            } else {
                attempt.error("a redirect leads to another host")
            }
        });
        let https_only = options.get_config_value(&ClientConfigKey::AllowHttp).as_deref() != Some("true");
        let client = reqwest::Client::builder()
            .redirect(policy)
            .https_only(https_only)
            .connect_timeout(std::time::Duration::from_secs(10))
            .timeout(std::time::Duration::from_mins(5))
            .build();
        let failed = |e: reqwest::Error| object_store::Error::Generic { store: "HTTP", source: Box::new(e) };
        client.map(HttpClient::new).map_err(failed)
    }
}
