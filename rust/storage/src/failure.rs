//! Maps the errors of stores to frazil's errors.
//!
//! Messages consist of allow-listed parts: the type of failure, the HTTP status, and the location without query and
//! credentials. Responses of servers are not repeated, because servers quote keys and tokens.

use std::error::Error as StdError;

use frazil_core::error::{Error, ErrorKind};
use frazil_core::storage::location::redacted;
use object_store::Error as StoreError;
use object_store::client::{HttpError, HttpErrorKind};

use crate::connect::NoConnection;

/// Returns the error of a failed operation on `location`.
pub(crate) fn map(error: &StoreError, location: &str) -> Error {
    let (kind, message) = match error {
        StoreError::NotFound { .. } => (ErrorKind::MissingFile, "the file does not exist".to_string()),
        StoreError::AlreadyExists { .. } | StoreError::Precondition { .. } => {
            (ErrorKind::AlreadyExists, "the file already exists".to_string())
        }
        StoreError::PermissionDenied { .. } => {
            (ErrorKind::Forbidden, "the store denied access with these credentials".to_string())
        }
        StoreError::Unauthenticated { .. } => {
            (ErrorKind::Unauthorized, "the store rejected the credentials".to_string())
        }
        StoreError::NotSupported { .. } | StoreError::NotImplemented { .. } => {
            (ErrorKind::Unsupported, "the store does not support this operation".to_string())
        }
        StoreError::InvalidPath { .. } => (
            ErrorKind::Unsupported,
            "the path has an empty segment or a character that is not allowed in requests".to_string(),
        ),
        StoreError::UnknownConfigurationKey { key, .. } => {
            (ErrorKind::InvalidArgument, format!("'{key}' is not a property of this store"))
        }
        other => from_transport(other),
    };
    let mapped = Error::new(kind, message).with("path", redacted(location));
    match kind {
        ErrorKind::Unauthorized | ErrorKind::Forbidden => {
            mapped.hint("check the credentials in the properties or in the environment")
        }
        _ => mapped,
    }
}

/// Maps a transport error: no response, or a response with an error status.
fn from_transport(error: &StoreError) -> (ErrorKind, String) {
    let mut cause: Option<&dyn StdError> = Some(error);
    while let Some(this) = cause {
        if let Some(http) = this.downcast_ref::<HttpError>() {
            if let Some(unconnected) = http.source().and_then(|source| source.downcast_ref::<NoConnection>()) {
                return (ErrorKind::Unavailable, unconnected.to_string());
            }
            return match http.kind() {
                HttpErrorKind::Timeout => (ErrorKind::Unavailable, "the store did not respond in time".to_string()),
                HttpErrorKind::Connect | HttpErrorKind::Interrupted | HttpErrorKind::Request => {
                    (ErrorKind::Unavailable, "the connection to the store was interrupted".to_string())
                }
                _ => (ErrorKind::Storage, "cannot read the response of the store".to_string()),
            };
        }
        // The cause is an error of the request to the catalog for credentials.
        if let Some(own) = this.downcast_ref::<Error>() {
            return (own.kind(), format!("the catalog did not provide credentials: {}", own.message()));
        }
        cause = this.source();
    }
    match status(&error.to_string()) {
        Some(401) => (ErrorKind::Unauthorized, "the store rejected the credentials".to_string()),
        Some(403) => (ErrorKind::Forbidden, "the store denied access with these credentials".to_string()),
        Some(code @ (408 | 429 | 500..=599)) => {
            (ErrorKind::Unavailable, format!("the store responded with HTTP status {code}"))
        }
        Some(code) => (ErrorKind::Storage, format!("the store responded with HTTP status {code}")),
        None => (ErrorKind::Storage, "cannot access the store".to_string()),
    }
}

/// Returns the HTTP status, which `object_store` only includes in its error text: "status code: 503 Service
/// Unavailable".
fn status(text: &str) -> Option<u16> {
    let (_, rest) = text.split_once("status code: ").or_else(|| text.split_once("error code "))?;
    rest.get(..3)?.parse().ok().filter(|code| (100..600).contains(code))
}
