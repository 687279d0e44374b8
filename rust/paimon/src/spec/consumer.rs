//! Reads consumers (spec: "Consumer"): `consumer/consumer-<id>`, JSON: `{"nextSnapshot": 5}`. Snapshots from that id on
//! are kept for a streaming reader.

use frazil_core::error::{ErrorKind, Result};

use super::json::{self, Object};

/// The progress of a streaming reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Consumer {
    /// The id of the first snapshot that the reader has not read.
    pub next_snapshot: i64,
}

impl Consumer {
    /// Parses a consumer file.
    ///
    /// # Errors
    /// `CorruptMetadata`.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let read = || {
            let value = json::parse(bytes, "consumer")?;
            Object::of(&value, "consumer")?.required_count("nextSnapshot")
        };
        match read() {
            Ok(next_snapshot) => Ok(Self { next_snapshot }),
            Err(e) => Err(e.corrupt_as(ErrorKind::CorruptMetadata)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consumers_record_their_next_snapshot() {
        assert_eq!(Consumer::parse(br#"{"nextSnapshot" : 5, "more": 1}"#).unwrap(), Consumer { next_snapshot: 5 });
        for text in ["", "{}", "[]", r#"{"nextSnapshot": -1}"#, r#"{"nextSnapshot": "5"}"#, r#"{"nextSnapshot": 1.5}"#]
        {
            assert_eq!(Consumer::parse(text.as_bytes()).unwrap_err().kind(), ErrorKind::CorruptMetadata, "{text}");
        }
    }
}
