//! The storage interface of `frazil-core`, implemented with the `object_store` crate: S3, Google Cloud Storage, Azure
//! and HTTP.
//!
//! This is the only crate of frazil with network access. Asynchronous work runs on a private runtime.

mod config;
mod connect;
mod credentials;
mod failure;
mod object;
mod parts;
mod router;
mod runtime;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use frazil_core::error::Result;
use frazil_core::storage::{Location, Storage};

pub use credentials::{CredentialSource, Vended};
pub use object::ObjectStorage;
pub use router::Router;

/// Opens a storage for `location` and for all other locations that its table references: local files and any store that
/// `properties` configure. Connections are created on first use.
///
/// Properties are those of PyIceberg, of the Java catalogs and of `object_store`: `s3.endpoint`, `s3.access-key-id`,
/// `client.region`, `gcs.oauth2.token`, `adls.account-key`, `AWS_REGION` and so on. Missing properties are read from
/// the environment, as by each cloud's command line tools. Properties of `credentials` take precedence, and are renewed
/// before they expire.
///
/// # Errors
/// `InvalidArgument` for an invalid property, `Unsupported` for a known property that frazil cannot honour or a scheme
/// without a storage, `PathNotAllowed` for an invalid location; errors of `credentials`.
pub fn open(
    location: &str,
    properties: &BTreeMap<String, String>,
    credentials: Option<Arc<dyn CredentialSource>>,
) -> Result<Arc<dyn Storage>> {
    let router = Router::new(properties.clone(), credentials);
    let parsed = Location::parse_absolute(location)?;
    if !parsed.is_local() {
        router.store_of(&parsed)?;
    }
    Ok(Arc::new(router))
}
