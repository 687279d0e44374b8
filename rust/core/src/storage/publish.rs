//! Publishes a state of a table as a file that only one writer can create.
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

/// What became of a new state.
#[derive(Debug)]
pub enum Swap<T = String> {
    /// It was published: by default, the location of its file.
    Done(T),
    /// Another writer was first; nothing changed.
    Lost,
    /// It was refused, and nothing changed.
    Refused(Error),
    /// It is not known whether it was published.
    Unknown(Error),
}

impl<T> Swap<T> {
    /// Replaces what was published.
    pub fn map<U>(self, published: impl FnOnce(T) -> U) -> Swap<U> {
        match self {
            Self::Done(value) => Swap::Done(published(value)),
            Self::Lost => Swap::Lost,
            Self::Refused(error) => Swap::Refused(error),
            Self::Unknown(error) => Swap::Unknown(error),
        }
    }
}

/// Create the file `location` with `content`, unless it exists. `content` must be different from what any other writer
/// would write there: a file with the same bytes counts as this writer's.
pub fn publish(files: &Files, location: &str, content: &Bytes) -> Swap {
    match files.put_if_absent(location, content.clone()) {
        Ok(()) => Swap::Done(location.to_string()),
        Err(error) => settle(files, location, content, error),
    }
}

/// Find out what became of a file whose writing failed with `error`.
pub fn settle(files: &Files, location: &str, content: &Bytes, error: Error) -> Swap {
    match read(files, location, content.len() as u64) {
        Ok(Some(found)) if found == *content => Swap::Done(location.to_string()),
        // Readers take it for absent, but the name is taken: nobody could ever commit.
        Ok(Some(found)) if found.is_empty() => Swap::Refused(
            Error::new(ErrorKind::CommitConflict, "an empty file is in the place of the next state")
                .with("file", location)
                .hint("delete it, unless the table is being deleted or another writer is at work"),
        ),
        // The name is taken for good, so ours can never arrive.
        Ok(_) => Swap::Lost,
        Err(missing) if missing.kind() == ErrorKind::MissingFile && is_definite(&error) => Swap::Refused(error),
        Err(_) => Swap::Unknown(error),
    }
}

/// The content of a file; None where it is longer than `limit_bytes`.
fn read(files: &Files, location: &str, limit_bytes: u64) -> Result<Option<Bytes>> {
    match files.read(location, limit_bytes) {
        Err(error) if error.kind() == ErrorKind::LimitExceeded => Ok(None),
        found => found.map(Some),
    }
}

/// Whether an error says that nothing was done.
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

    /// What becomes of `mine` where `there` is stored before, with a fault of the write.
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
