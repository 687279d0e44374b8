//! Publishes a table state as a file that only one writer can create.
//!
//! ```text
//! put_if_absent -> Done
//!       | failed: read the file
//!       +-> own content -> Done       other content -> Lost       nothing, and nothing can arrive -> Refused
//!       +-> anything else -> Unknown
//! ```

use bytes::Bytes;

use crate::error::{Error, ErrorKind, Result};

use super::Files;

/// The outcome of publishing a new state.
#[derive(Debug)]
pub enum Swap<T = String> {
    /// The state was published. By default, the value is the location of its file.
    Done(T),
    /// Another writer was first; nothing changed.
    Lost,
    /// The store rejected the write, and nothing changed.
    Refused(Error),
    /// It is unknown whether the state was published.
    Unknown(Error),
}

impl<T> Swap<T> {
    /// Maps the published value.
    pub fn map<U>(self, published: impl FnOnce(T) -> U) -> Swap<U> {
        match self {
            Self::Done(value) => Swap::Done(published(value)),
            Self::Lost => Swap::Lost,
            Self::Refused(error) => Swap::Refused(error),
            Self::Unknown(error) => Swap::Unknown(error),
        }
    }
}

/// Creates the file `location` with `content`, unless it exists. `content` must differ from the content of any other
/// writer, because an existing file with the same bytes is attributed to this writer.
pub fn publish(files: &Files, location: &str, content: &Bytes) -> Swap {
    match files.put_if_absent(location, content.clone()) {
        Ok(()) => Swap::Done(location.to_string()),
        Err(error) => settle(files, location, content, error),
    }
}

/// Determines the outcome of a write that failed with `error`, by reading the file.
pub fn settle(files: &Files, location: &str, content: &Bytes, error: Error) -> Swap {
    match read(files, location, content.len() as u64) {
        Ok(Some(found)) if found == *content => Swap::Done(location.to_string()),
        // Readers treat an empty file as absent, but its name is taken, so no writer could ever commit.
        Ok(Some(found)) if found.is_empty() => Swap::Refused(
            Error::new(ErrorKind::CommitConflict, "an empty file is in the place of the next state")
                .with("file", location)
                .hint("delete it, unless the table is being deleted or another writer is active"),
        ),
        // Another writer's file has the name, so this writer's file can no longer be created.
        Ok(_) => Swap::Lost,
        Err(missing) if missing.kind() == ErrorKind::MissingFile && is_definite(&error) => Swap::Refused(error),
        Err(_) => Swap::Unknown(error),
    }
}

/// Returns the contents of a file; None if it is longer than `limit_bytes`.
fn read(files: &Files, location: &str, limit_bytes: u64) -> Result<Option<Bytes>> {
    match files.read(location, limit_bytes) {
        Err(error) if error.kind() == ErrorKind::LimitExceeded => Ok(None),
        found => found.map(Some),
    }
}

/// Returns whether an error means that nothing changed.
fn is_definite(error: &Error) -> bool {
    let is_kind = matches!(
        error.kind(),
        ErrorKind::Unauthorized
            | ErrorKind::Forbidden
            | ErrorKind::Unsupported
            | ErrorKind::PathNotAllowed
            | ErrorKind::InvalidArgument
            | ErrorKind::MissingFile
    );
    is_kind || error.changed_nothing()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::storage::faulty::{Fault, FaultyStorage};
    use crate::storage::{MemoryStorage, Storage};

    const ROOT: &str = "memory://t";
    const FILE: &str = "memory://t/state-1";

    /// Returns the outcome of publishing `mine` if the file already has the content `there`, with a fault in the write.
    fn outcome(there: Option<&str>, fault: Option<Fault>) -> Swap {
        let memory = Arc::new(MemoryStorage::default());
        if let Some(there) = there {
            memory.put(FILE, Bytes::from(there.to_string())).unwrap();
        }
        let storage: Arc<dyn Storage> = match fault {
            None => memory,
            Some(fault) => Arc::new(FaultyStorage::new(memory, fault, 0)),
        };
        publish(&Files::below(storage, ROOT).unwrap(), FILE, &Bytes::from_static(b"mine"))
    }

    #[test]
    fn one_writer_creates_the_file() {
        assert!(matches!(outcome(None, None), Swap::Done(file) if file == FILE));
        assert!(matches!(outcome(Some("mine"), None), Swap::Done(_)));
        for other in ["other", "me", "a longer text than mine"] {
            assert!(matches!(outcome(Some(other), None), Swap::Lost), "{other}");
        }
        assert!(matches!(outcome(Some(""), None), Swap::Refused(error) if error.kind() == ErrorKind::CommitConflict));
    }

    #[test]
    fn an_answer_that_is_lost_is_found_out() {
        let lost = |kind| outcome(None, Some(Fault::FailAfterwards(kind)));
        assert!(matches!(lost(ErrorKind::Storage), Swap::Done(_)));
        let failed = |kind| outcome(None, Some(Fault::Fail(kind)));
        assert!(matches!(failed(ErrorKind::Forbidden), Swap::Refused(_)));
        assert!(matches!(failed(ErrorKind::Storage), Swap::Unknown(_)), "it may arrive later");
    }
}
