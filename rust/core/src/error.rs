//! The one error type of frazil: a kind, a message, where it happened and what to do.
//!
//! The kind decides the Python class (`python/frazil/errors.py` holds them by the same names) and whether a retry can
//! help. Context is added on the way up, so that the outermost caller names the table and the innermost one the byte.

use std::fmt;

/// What went wrong, as a closed list. The names are those of the Python exception classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An argument, option, predicate or configuration value that cannot be meant.
    InvalidArgument,
    /// Something asked for by name does not exist.
    NotFound,
    /// No table at a location or under a name.
    NoSuchTable,
    /// No such namespace in a catalog.
    NoSuchNamespace,
    /// No such snapshot, branch or tag.
    NoSuchSnapshot,
    /// Something to be created exists already.
    AlreadyExists,
    /// Bytes that do not decode, by a reader that does not know what file it reads; callers say which with
    /// [`Error::corrupt_as`].
    CorruptData,
    /// Table metadata, a snapshot or a schema that contradicts its specification.
    CorruptMetadata,
    /// A manifest list, manifest or index manifest that contradicts its specification.
    CorruptManifest,
    /// A data file that cannot be decoded or is not the file that was recorded.
    CorruptDataFile,
    /// A delete file or deletion vector that cannot be decoded.
    CorruptDeletes,
    /// A feature, version or option that frazil knows to exist and does not support.
    Unsupported,
    /// A file that metadata names is not there.
    MissingFile,
    /// A path in metadata leads out of the places a table may read.
    PathNotAllowed,
    /// More memory, depth or length than allowed.
    LimitExceeded,
    /// Another writer won, and the operation cannot be rebased.
    CommitConflict,
    /// The outcome of a commit is not known.
    CommitStateUnknown,
    /// A commit would break what the operation promised.
    CommitValidation,
    /// A catalog refused, and nothing happened.
    Catalog,
    /// Credentials are missing or not accepted.
    Unauthorized,
    /// Credentials are accepted and do not suffice.
    Forbidden,
    /// The service cannot answer now.
    Unavailable,
    /// The storage failed in a way that none of the others says.
    Storage,
    /// The caller asked to stop.
    Cancelled,
    /// A bug in frazil.
    Internal,
}

impl ErrorKind {
    /// The kind of a Python class, for what Python raises while Rust calls it.
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

    /// The name of the Python class.
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

/// A failure: its kind, what was being done, and where.
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
    /// A failure of `kind`. The message says what was found and what was expected, without a final stop.
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

    /// Shorthand for [`ErrorKind::CorruptData`].
    pub fn corrupt(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::CorruptData, message)
    }

    /// Shorthand for [`ErrorKind::InvalidArgument`].
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidArgument, message)
    }

    /// Shorthand for [`ErrorKind::Unsupported`].
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unsupported, message)
    }

    /// Shorthand for [`ErrorKind::Internal`].
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Internal, message)
    }

    /// Adds where it happened: `file`, `table`, `snapshot`, `column`, `offset` … Never a secret.
    #[must_use]
    pub fn with(mut self, key: &'static str, value: impl fmt::Display) -> Self {
        if !self.0.context.iter().any(|(k, _)| *k == key) {
            self.0.context.push((key, value.to_string()));
        }
        self
    }

    /// Adds what the user can do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint.get_or_insert(hint.into());
        self
    }

    /// Keeps the cause.
    #[must_use]
    pub fn caused_by(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// Says what kind of file did not decode; errors of other kinds stay as they are.
    #[must_use]
    pub fn corrupt_as(mut self, kind: ErrorKind) -> Self {
        if self.0.kind == ErrorKind::CorruptData {
            self.0.kind = kind;
        }
        self
    }

    /// The kind.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The same error, of a write that certainly changed nothing: not even later, when a request arrives.
    #[must_use]
    pub fn changing_nothing(mut self) -> Self {
        self.0.changed_nothing = true;
        self
    }

    /// Whether it is certain that nothing changed; otherwise it may have.
    pub fn changed_nothing(&self) -> bool {
        self.0.changed_nothing
    }

    /// The message alone, without context.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Where it happened, innermost first.
    pub fn context(&self) -> &[(&'static str, String)] {
        &self.0.context
    }

    /// What the user can do about it.
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
        Self::corrupt("Arrow refused the data").caused_by(error)
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
