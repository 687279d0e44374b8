//! The storage contract of `frazil-core` over the `object_store` crate: S3, Google Cloud Storage, Azure and HTTP.
//!
//! The only crate of frazil that knows a network. Asynchronous work runs on one runtime that nobody else sees.

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

/// Storage for `location` and for every other place that its table names: local files and any store that `properties`
/// configure. Connections are made when they are first needed.
///
/// Properties are those of PyIceberg, of the Java catalogs and of `object_store`: `s3.endpoint`, `s3.access-key-id`,
/// `client.region`, `gcs.oauth2.token`, `adls.account-key`, `AWS_REGION` … What is not given comes from the
/// environment, as the command line tools of each cloud find it. Properties of `credentials` take precedence, and are
/// asked for again before they expire.
///
/// # Errors
/// `InvalidArgument` for a property that cannot be meant, `Unsupported` for one that frazil knows and cannot honour or
/// for a scheme without storage, `PathNotAllowed` for a location that is none; those of `credentials`.
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
