//! The serialised form for sending data to another process: one record batch, and the state that all its rows share.
//!
//! The form is an Arrow IPC stream of the batch, whose schema metadata contains the kind of contents with its version,
//! and the shared state as text. The stream is followed by its CRC-32 (four bytes, little-endian), because the Arrow
//! reader trusts the lengths in the stream.

use std::collections::HashMap;
use std::io::Cursor;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;

use crate::error::{Error, Result};

const CONTEXT_KEY: &str = "frazil.context";

/// A kind of contents.
#[derive(Debug, Clone, Copy)]
pub struct EnvelopeKind {
    /// The name in messages.
    pub name: &'static str,
    /// The key of the version in the schema metadata.
    pub key: &'static str,
    /// The version that is written and read.
    pub version: &'static str,
}

/// Serialises a batch and its context.
///
/// # Errors
/// None for batches that Arrow can hold.
pub fn seal(kind: EnvelopeKind, context: String, batch: RecordBatch) -> Result<Vec<u8>> {
    let metadata =
        HashMap::from([(kind.key.to_string(), kind.version.to_string()), (CONTEXT_KEY.to_string(), context)]);
    let schema = batch.schema().as_ref().clone().with_metadata(metadata);
    let batch = batch.with_schema(Arc::new(schema.clone()))?;
    let mut writer = StreamWriter::try_new(Vec::new(), &schema)?;
    writer.write(&batch)?;
    writer.finish()?;
    let mut bytes = writer.into_inner()?;
    let checksum = crc32fast::hash(&bytes);
    bytes.extend(checksum.to_le_bytes());
    Ok(bytes)
}

/// Deserialises the output of [`seal`]: the context and the batch.
///
/// # Errors
/// `Unsupported` for another version; `CorruptData` for any input that [`seal`] did not write.
pub fn open(kind: EnvelopeKind, bytes: &[u8]) -> Result<(String, RecordBatch)> {
    let name = kind.name;
    let none = || Error::corrupt(format!("these bytes are not a {name}"));
    let (stream, checksum) = bytes.split_last_chunk::<4>().ok_or_else(none)?;
    if crc32fast::hash(stream) != u32::from_le_bytes(*checksum) {
        let message = format!("these bytes are not a {name}, or they are damaged: the checksum differs");
        return Err(Error::corrupt(message));
    }
    let mut reader = StreamReader::try_new(Cursor::new(stream), None)?;
    let schema = reader.schema();
    let entry = |key: &str| schema.metadata().get(key);
    match entry(kind.key) {
        Some(version) if version == kind.version => {}
        Some(other) => {
            let message = format!("{name} version {other} is not supported, expected version {}", kind.version);
            return Err(Error::unsupported(message).hint("use the same version of frazil in all processes"));
        }
        None => return Err(none()),
    }
    let context = entry(CONTEXT_KEY).ok_or_else(|| Error::corrupt(format!("a {name} has no context")))?;
    let batch = reader.next().ok_or_else(|| Error::corrupt(format!("a {name} has no files")))??;
    Ok((context.clone(), batch))
}

#[cfg(test)]
mod tests {
    use arrow_array::{ArrayRef, Int32Array};

    use super::*;
    use crate::error::ErrorKind;

    const KIND: EnvelopeKind = EnvelopeKind { name: "thing", key: "frazil.thing", version: "1" };

    fn sealed() -> Vec<u8> {
        let column: ArrayRef = Arc::new(Int32Array::from(vec![1, 2]));
        seal(KIND, "{}".into(), RecordBatch::try_from_iter([("a", column)]).unwrap()).unwrap()
    }

    #[test]
    fn sealed_envelopes_can_be_opened() {
        let (context, batch) = open(KIND, &sealed()).unwrap();
        assert_eq!((context.as_str(), batch.num_rows()), ("{}", 2));
    }

    #[test]
    fn damage_and_other_versions_are_refused() {
        for at in 0..sealed().len() {
            let mut bytes = sealed();
            bytes[at] ^= 1;
            assert_eq!(open(KIND, &bytes).unwrap_err().kind(), ErrorKind::CorruptData, "byte {at}");
        }
        assert_eq!(open(EnvelopeKind { version: "2", ..KIND }, &sealed()).unwrap_err().kind(), ErrorKind::Unsupported);
        assert_eq!(
            open(EnvelopeKind { key: "frazil.other", ..KIND }, &sealed()).unwrap_err().kind(),
            ErrorKind::CorruptData
        );
        assert!(open(KIND, &[]).is_err());
    }
}
