//! Reads Avro object container files (specification 1.12, "Object Container Files") directly into Arrow columns.
//!
//! ```text
//! file   = magic "Obj" 0x01 | metadata: map of bytes | sync: 16 bytes | block*
//! block  = count: long | size_bytes: long | rows, compressed | sync: 16 bytes
//! ```
//!
//! A file is opened once and read with a [`Projection`], which selects fields of the writer's records by id or by name,
//! and their Arrow types. The schema and the projection are compiled to nodes that decode each row into column buffers.
//! Rows are never materialised, and fields that are not selected are skipped without decoding.
//!
//! Sizes that a file declares are not trusted: counts are checked against the available bytes, blocks are limited to
//! [`MAX_BLOCK_BYTES`], schemas to [`MAX_DEPTH`] and [`MAX_NODES`], and a file must end at the end of a block.

mod batches;
mod codec;
mod compile;
mod encode;
mod encoded;
mod leaf;
mod lookup;
mod natural;
mod node;
mod parse;
mod projection;
mod schema;
mod skip;
mod template;
#[cfg(test)]
mod tests;
mod wire;
mod write;

use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use bytes::Bytes;

pub use batches::{AvroBatches, BATCH_BYTES};
pub use codec::{Codec, MAX_BLOCK_BYTES};
pub use natural::{FIELD_ID_KEY, MAX_FIXED_BYTES};
pub use projection::{Column, Key, Kind, Projection};
pub use schema::{Field, Logical, MAX_DEPTH, MAX_NODES, PartIds, Record, Schema, Shape};
pub use write::Writer;

use crate::bytes::Cursor;
use crate::context::Context;
use crate::error::{Error, Result};
use batches::Limits;
use wire::Wire;

const MAGIC: &[u8; 4] = b"Obj\x01";
const SYNC_BYTES: usize = 16;

/// The maximum length of the schema that a thread keeps.
const MAX_KEPT_SCHEMA_BYTES: usize = 64 << 10;

/// A file whose header has been read, but not its blocks. Cheap to clone.
#[derive(Debug, Clone)]
pub struct AvroFile {
    bytes: Bytes,
    schema: Arc<Schema>,
    codec: Codec,
    sync: [u8; SYNC_BYTES],
    metadata: Arc<[(String, Range<usize>)]>,
    /// The offset of the first block.
    blocks: usize,
}

impl AvroFile {
    /// Reads the header of a complete file.
    ///
    /// # Errors
    /// `CorruptData` if it is not an Avro file, is truncated in the header, or has an invalid schema; `Unsupported` for
    /// unknown codecs; `LimitExceeded` for schemas above the limits.
    pub fn open(bytes: impl Into<Bytes>) -> Result<Self> {
        let bytes = bytes.into();
        if !bytes.starts_with(MAGIC) {
            return Err(Error::corrupt("not an Avro file: it does not begin with \"Obj\" and 1").with("offset", 0));
        }
        let mut wire = Wire::new(&bytes, 0);
        wire.take(MAGIC.len())?;
        let metadata = header_map(&mut wire)?;
        let mut rest = Cursor::new(&bytes);
        rest.take(wire.position())?;
        let sync = rest.array()?;
        let blocks = rest.position();

        let find = |key: &str| {
            let found = metadata.iter().rev().find(|(name, _)| name == key);
            found.and_then(|(_, range)| bytes.get(range.clone()))
        };
        let codec = Codec::parse(find("avro.codec").unwrap_or(b"null"))?;
        let schema = find("avro.schema").ok_or_else(|| Error::corrupt("the Avro file has no schema"))?;
        let schema = parsed(schema)?;
        Ok(Self { schema, codec, sync, metadata: metadata.into(), blocks, bytes })
    }

    /// Returns the writer's schema.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Returns the file with a different writer's schema than the one that it records.
    #[must_use]
    pub fn with_schema(self, schema: Schema) -> Self {
        Self { schema: Arc::new(schema), ..self }
    }

    /// Returns the compression codec of the blocks.
    pub fn codec(&self) -> Codec {
        self.codec
    }

    /// Returns a value of the file's metadata; the last one if a key is duplicated.
    pub fn metadata(&self, key: &str) -> Option<&[u8]> {
        let found = self.metadata.iter().rev().find(|(name, _)| name == key);
        found.and_then(|(_, range)| self.bytes.get(range.clone()))
    }

    /// Returns whether the file has no blocks.
    pub fn is_empty(&self) -> bool {
        self.blocks == self.bytes.len()
    }

    /// Returns the Arrow schema with the writer's types: that of [`Projection::natural`].
    ///
    /// # Errors
    /// `CorruptData` if the rows are not records; `Unsupported` for types that Arrow does not have, and for unions of
    /// several types.
    pub fn arrow_schema(&self) -> Result<arrow_schema::Schema> {
        natural::fields(projection::root(&self.schema)?).map(arrow_schema::Schema::new)
    }

    /// Reads all rows into one batch.
    ///
    /// # Errors
    /// `CorruptData` for damage, for required fields that are missing or null, and for types that cannot be converted
    /// to the requested ones; `Unsupported` for requested unions of several types; `LimitExceeded` above the context's
    /// budget, the block size limit or 2 GiB in one column; `Cancelled`.
    pub fn read(&self, projection: &Projection, context: &Context) -> Result<RecordBatch> {
        let limits = Limits { rows: usize::MAX, bytes: usize::MAX };
        let mut batches = AvroBatches::new(self.clone(), projection, limits, context)?;
        match batches.advance()? {
            Some(batch) => Ok(batch),
            None => batches.finish(),
        }
    }

    /// Reads all rows in batches of at most `batch_rows` rows (at least one) and about [`BATCH_BYTES`]. The iterator
    /// ends after the first error; a file without rows returns no batches.
    ///
    /// # Errors
    /// See [`AvroFile::read`]; errors in blocks are items of the iterator.
    pub fn batches(&self, projection: &Projection, batch_rows: usize, context: &Context) -> Result<AvroBatches> {
        let limits = Limits { rows: batch_rows.max(1), bytes: BATCH_BYTES };
        AvroBatches::new(self.clone(), projection, limits, context)
    }
}

/// Parses a schema. Files that are read in sequence often have the same schema, so each thread keeps the last one.
fn parsed(text: &[u8]) -> Result<Arc<Schema>> {
    type Kept = Option<(Box<[u8]>, Arc<Schema>)>;
    thread_local! {
        static LAST: RefCell<Kept> = const { RefCell::new(None) };
    }
    LAST.with_borrow_mut(|last| match last {
        Some((known, schema)) if **known == *text => Ok(schema.clone()),
        _ => {
            let schema = Arc::new(Schema::parse(text)?);
            if text.len() <= MAX_KEPT_SCHEMA_BYTES {
                *last = Some((text.into(), schema.clone()));
            }
            Ok(schema)
        }
    })
}

/// Returns the keys of the metadata, and the positions of their values in the file.
fn header_map(wire: &mut Wire<'_>) -> Result<Vec<(String, Range<usize>)>> {
    let mut entries = Vec::new();
    // A key and a value each have a length.
    while let Some(items) = wire.items(2)? {
        let start = wire.position();
        for _ in 0..items.count {
            let key = std::str::from_utf8(wire.sized()?);
            let key = key.map_err(|_| wire.error(format_args!("a metadata key is not valid UTF-8")))?.to_owned();
            let length = wire.sized()?.len();
            let end = wire.position();
            entries.push((key, end - length..end));
        }
        wire.end_items(items, start)?;
    }
    Ok(entries)
}
