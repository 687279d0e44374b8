//! Failures of stores as frazil's errors.
//!
//! Messages are made of allow-listed parts: the kind of failure, the HTTP status and the location without query and
//! credentials. What a server wrote is not repeated, for servers quote keys and tokens.

use std::error::Error as StdError;

use frazil_core::error::{Error, ErrorKind};
use frazil_core::storage::location::redacted;
use object_store::Error as StoreError;
use object_store::client::{HttpError, HttpErrorKind};

use crate::connect::NoConnection;

/// The error of a failed operation on `location`.
pub(crate) fn map(error: &StoreError, location: &str) -> Error {
    let (kind, message) = match error {
        StoreError::NotFound { .. } => (ErrorKind::MissingFile, "there is no such file".to_string()),
        StoreError::AlreadyExists { .. } | StoreError::Precondition { .. } => {
            (ErrorKind::AlreadyExists, "the file exists already".to_string())
        }
        StoreError::PermissionDenied { .. } => {
            (ErrorKind::Forbidden, "the store does not allow this to these credentials".to_string())
        }
        StoreError::Unauthenticated { .. } => {
            (ErrorKind::Unauthorized, "the store does not accept the credentials".to_string())
        }
        StoreError::NotSupported { .. } | StoreError::NotImplemented { .. } => {
            (ErrorKind::Unsupported, "the store cannot do this".to_string())
        }
        StoreError::InvalidPath { .. } => (
            ErrorKind::Unsupported,
            "the path has an empty segment or a character that cannot be requested".to_string(),
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

/// What the transport says: no answer, or an answer with a status.
fn from_transport(error: &StoreError) -> (ErrorKind, String) {
    let mut cause: Option<&dyn StdError> = Some(error);
    while let Some(this) = cause {
        if let Some(http) = this.downcast_ref::<HttpError>() {
            if let Some(unconnected) = http.source().and_then(|source| source.downcast_ref::<NoConnection>()) {
                return (ErrorKind::Unavailable, unconnected.to_string());
            }
            return match http.kind() {
                HttpErrorKind::Timeout => (ErrorKind::Unavailable, "the store did not answer in time".to_string()),
                HttpErrorKind::Connect | HttpErrorKind::Interrupted | HttpErrorKind::Request => {
                    (ErrorKind::Unavailable, "the connection to the store broke".to_string())
                }
                _ => (ErrorKind::Storage, "the answer of the store could not be read".to_string()),
            };
        }
        // The catalog was asked for credentials.
        if let Some(own) = this.downcast_ref::<Error>() {
            return (own.kind(), format!("the catalog gave no credentials: {}", own.message()));
        }
        cause = this.source();
    }
    match status(&error.to_string()) {
        Some(401) => (ErrorKind::Unauthorized, "the store does not accept the credentials".to_string()),
        Some(403) => (ErrorKind::Forbidden, "the store does not allow this to these credentials".to_string()),
        Some(code @ (408 | 429 | 500..=599)) => {
            (ErrorKind::Unavailable, format!("the store answered with HTTP status {code}"))
        }
        Some(code) => (ErrorKind::Storage, format!("the store answered with HTTP status {code}")),
        None => (ErrorKind::Storage, "the store could not be used".to_string()),
    }
}

/// `object_store` keeps the status of an answer only in its text: "status code: 503 Service Unavailable".
fn status(text: &str) -> Option<u16> {
    let (_, rest) = text.split_once("status code: ").or_else(|| text.split_once("error code "))?;
    rest.get(..3)?.parse().ok().filter(|code| (100..600).contains(code))
}
