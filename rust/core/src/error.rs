//! The error type of frazil: a kind, a message, a context and a hint.
//!
//! The kind determines the Python class (`python/frazil/errors.py` has the same names) and whether a retry can help.
//! Context is added as the error propagates, so that the innermost function adds the offset and the outermost one the
//! table.

use std::fmt;

/// A closed list of error kinds. The names are those of the Python exception classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An invalid argument, option, predicate or configuration value.
    InvalidArgument,
    /// A named object that does not exist.
    NotFound,
    /// A location or name without a table.
    NoSuchTable,
    /// A namespace that does not exist in a catalog.
    NoSuchNamespace,
    /// A snapshot, branch or tag that does not exist.
    NoSuchSnapshot,
    /// An object to be created that already exists.
    AlreadyExists,
    /// Bytes that cannot be decoded, from a reader that does not know the type of file. Callers set the type with
    /// [`Error::corrupt_as`].
    CorruptData,
    /// Table metadata, a snapshot or a schema that violates its specification.
    CorruptMetadata,
    /// A manifest list, manifest or index manifest that violates its specification.
    CorruptManifest,
    /// A data file that cannot be decoded or differs from the recorded file.
    CorruptDataFile,
    /// A delete file or deletion vector that cannot be decoded.
    CorruptDeletes,
    /// A known feature, version or option that frazil does not support.
    Unsupported,
    /// A missing file that metadata references.
    MissingFile,
    /// A path in metadata outside the locations that a table may read.
    PathNotAllowed,
    /// A memory, depth or length limit that was exceeded.
    LimitExceeded,
    /// A conflict with another writer's commit, so that the operation cannot be rebased.
    CommitConflict,
    /// A commit whose outcome is unknown.
    CommitStateUnknown,
    /// A commit that would violate the guarantees of the operation.
    CommitValidation,
    /// A request that a catalog refused, without any effect.
    Catalog,
    /// Missing or rejected credentials.
    Unauthorized,
    /// Valid credentials without sufficient permissions.
    Forbidden,
    /// A service that is temporarily unavailable.
    Unavailable,
    /// A storage failure that no other kind covers.
    Storage,
    /// A request by the caller to stop.
    Cancelled,
    /// A bug in frazil.
    Internal,
}

impl ErrorKind {
    /// Returns the kind for a Python class, for exceptions that are raised in Python code called from Rust.
    pub fn named(name: &str) -> Option<Self> {
        const RAISED: [ErrorKind; 17] = [
            ErrorKind::InvalidArgument,
            ErrorKind::NotFound,
            ErrorKind::NoSuchTable,
            ErrorKind::NoSuchNamespace,
            ErrorKind::AlreadyExists,
            ErrorKind::CorruptMetadata,
            ErrorKind::Unsupported,
            ErrorKind::MissingFile,
            ErrorKind::PathNotAllowed,
            ErrorKind::CommitConflict,
            ErrorKind::CommitStateUnknown,
            ErrorKind::CommitValidation,
            ErrorKind::Catalog,
            ErrorKind::Unauthorized,
            ErrorKind::Forbidden,
            ErrorKind::Unavailable,
            ErrorKind::Storage,
        ];
        RAISED.into_iter().find(|kind| kind.name() == name)
    }

    /// Returns the name of the Python class.
    pub fn name(self) -> &'static str {
        match self {
            Self::InvalidArgument => "InvalidArgumentError",
            Self::NotFound => "NotFoundError",
            Self::NoSuchTable => "NoSuchTableError",
            Self::NoSuchNamespace => "NoSuchNamespaceError",
            Self::NoSuchSnapshot => "NoSuchSnapshotError",
            Self::AlreadyExists => "AlreadyExistsError",
            Self::CorruptData => "CorruptDataError",
            Self::CorruptMetadata => "CorruptMetadataError",
            Self::CorruptManifest => "CorruptManifestError",
            Self::CorruptDataFile => "CorruptDataFileError",
            Self::CorruptDeletes => "CorruptDeletesError",
            Self::Unsupported => "UnsupportedError",
            Self::MissingFile => "MissingFileError",
            Self::PathNotAllowed => "PathNotAllowedError",
            Self::LimitExceeded => "LimitExceededError",
            Self::CommitConflict => "CommitConflictError",
            Self::CommitStateUnknown => "CommitStateUnknownError",
            Self::CommitValidation => "CommitValidationError",
            Self::Catalog => "CatalogError",
            Self::Unauthorized => "UnauthorizedError",
            Self::Forbidden => "ForbiddenError",
            Self::Unavailable => "UnavailableError",
            Self::Storage => "StorageError",
            Self::Cancelled => "CancelledError",
            Self::Internal => "InternalError",
        }
    }
}

/// An error with its kind, message, context and hint.
#[derive(Debug)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    message: String,
    context: Vec<(&'static str, String)>,
    hint: Option<String>,
    changed_nothing: bool,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// The result of every fallible function of frazil.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Creates an error of `kind`. The message states what was found and what was expected, without a final full stop.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            context: Vec::new(),
            hint: None,
            changed_nothing: false,
            source: None,
        }))
    }

    /// Creates an error of kind [`ErrorKind::CorruptData`].
    pub fn corrupt(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::CorruptData, message)
    }

    /// Creates an error of kind [`ErrorKind::InvalidArgument`].
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidArgument, message)
    }

    /// Creates an error of kind [`ErrorKind::Unsupported`].
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unsupported, message)
    }

    /// Creates an error of kind [`ErrorKind::Internal`].
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Internal, message)
    }

    /// Adds context: `file`, `table`, `snapshot`, `column`, `offset` … Must never contain a secret.
    #[must_use]
    pub fn with(mut self, key: &'static str, value: impl fmt::Display) -> Self {
        if !self.0.context.iter().any(|(k, _)| *k == key) {
            self.0.context.push((key, value.to_string()));
        }
        self
    }

    /// Adds a hint for the user.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint.get_or_insert(hint.into());
        self
    }

    /// Sets the cause.
    #[must_use]
    pub fn caused_by(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// Sets the kind of an error about an undecodable file; errors of other kinds are unchanged.
    #[must_use]
    pub fn corrupt_as(mut self, kind: ErrorKind) -> Self {
        if self.0.kind == ErrorKind::CorruptData {
            self.0.kind = kind;
        }
        self
    }

    /// Returns the kind.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns the error of a write, marked as having certainly changed nothing. The mark also excludes a later effect,
    /// such as that of a delayed request.
    #[must_use]
    pub fn changing_nothing(mut self) -> Self {
        self.0.changed_nothing = true;
        self
    }

    /// Returns whether it is certain that the failed write changed nothing. If false, the write may have taken effect.
    pub fn changed_nothing(&self) -> bool {
        self.0.changed_nothing
    }

    /// Returns the message without context.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Returns the context, innermost first.
    pub fn context(&self) -> &[(&'static str, String)] {
        &self.0.context
    }

    /// Returns the hint for the user.
    pub fn hint_text(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.message)?;
        if let Some(source) = &self.0.source {
            write!(f, ": {source}")?;
        }
        let mut separator = " (";
        for (key, value) in &self.0.context {
            write!(f, "{separator}{key}: {value}")?;
            separator = ", ";
        }
        if !self.0.context.is_empty() {
            f.write_str(")")?;
        }
        match &self.0.hint {
            Some(hint) => write!(f, "; {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|e| e as _)
    }
}

impl From<arrow_schema::ArrowError> for Error {
    fn from(error: arrow_schema::ArrowError) -> Self {
        Self::corrupt("Arrow rejected the data").caused_by(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_names_the_place_and_the_way_out() {
        let error = Error::corrupt("sync marker differs").with("offset", 17).with("file", "m0.avro").hint("re-copy it");
        assert_eq!(error.to_string(), "sync marker differs (offset: 17, file: m0.avro); re-copy it");
    }

    #[test]
    fn the_innermost_context_wins() {
        let error = Error::corrupt("x").with("file", "inner").with("file", "outer");
        assert_eq!(error.context(), [("file", "inner".to_string())]);
    }

    #[test]
    fn only_unnamed_corruption_takes_the_callers_kind() {
        assert_eq!(Error::corrupt("x").corrupt_as(ErrorKind::CorruptManifest).kind(), ErrorKind::CorruptManifest);
        assert_eq!(Error::unsupported("x").corrupt_as(ErrorKind::CorruptManifest).kind(), ErrorKind::Unsupported);
    }
}
