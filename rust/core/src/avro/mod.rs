//! Avro object container files (specification 1.12, "Object Container Files") straight into Arrow columns.
//!
//! ```text
//! file   = magic "Obj" 0x01 | metadata: map of bytes | sync: 16 bytes | block*
//! block  = count: long | size_bytes: long | rows, compressed | sync: 16 bytes
//! ```
//!
//! A file is opened once and read with a [`Projection`]: which fields of the writer's records are wanted, found by id
//! or by name, and as which Arrow types. The pair of schema and projection is compiled to nodes that decode each row
//! into column buffers; no value of a row exists on its own, and what nobody wants is passed over undecoded.
//!
//! Nothing that a file declares is believed: counts are held against the bytes that are there, blocks are capped at
//! [`MAX_BLOCK_BYTES`], schemas at [`MAX_DEPTH`] and [`MAX_NODES`], and a file must end where a block ends.

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

pub use batches::{BATCH_BYTES, Batches};
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

/// A thread keeps no longer schema than this.
const MAX_KEPT_SCHEMA_BYTES: usize = 64 << 10;

/// A file whose header is read and whose blocks are not. Cheap to clone.
#[derive(Debug, Clone)]
pub struct AvroFile {
    bytes: Bytes,
    schema: Arc<Schema>,
    codec: Codec,
    sync: [u8; SYNC_BYTES],
    metadata: Arc<[(String, Range<usize>)]>,
    /// Where the first block starts.
    blocks: usize,
}

impl AvroFile {
    /// Reads the header of a whole file.
    ///
    /// # Errors
    /// `CorruptData` when it is no Avro file, cut in the header or its schema is none; `Unsupported` for unknown
    /// codecs; `LimitExceeded` for schemas above the limits.
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
        let schema = find("avro.schema").ok_or_else(|| Error::corrupt("an Avro file without a schema"))?;
        let schema = parsed(schema)?;
        Ok(Self { schema, codec, sync, metadata: metadata.into(), blocks, bytes })
    }

    /// The writer's schema.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The file, read as rows of another schema than it states.
    #[must_use]
    pub fn with_schema(self, schema: Schema) -> Self {
        Self { schema: Arc::new(schema), ..self }
    }

    /// The compression of the blocks.
    pub fn codec(&self) -> Codec {
        self.codec
    }

    /// A value of the file's metadata; the last one where a key stands twice.
    pub fn metadata(&self, key: &str) -> Option<&[u8]> {
        let found = self.metadata.iter().rev().find(|(name, _)| name == key);
        found.and_then(|(_, range)| self.bytes.get(range.clone()))
    }

    /// Whether no block follows the header.
    pub fn is_empty(&self) -> bool {
        self.blocks == self.bytes.len()
    }

    /// The Arrow schema of the file as its writer has it: that of [`Projection::natural`].
    ///
    /// # Errors
    /// `CorruptData` when the rows are no records; `Unsupported` for types that Arrow cannot hold or that are unions of
    /// several types.
    pub fn arrow_schema(&self) -> Result<arrow_schema::Schema> {
        natural::fields(projection::root(&self.schema)?).map(arrow_schema::Schema::new)
    }

    /// All rows in one batch.
    ///
    /// # Errors
    /// `CorruptData` for damage, for required fields that are missing or null and for types that cannot become the
    /// wanted ones; `Unsupported` for wanted unions of several types; `LimitExceeded` above the context's budget, the
    /// cap of a block or 2 GiB in one column; `Cancelled`.
    pub fn read(&self, projection: &Projection, context: &Context) -> Result<RecordBatch> {
        let limits = Limits { rows: usize::MAX, bytes: usize::MAX };
        let mut batches = Batches::new(self.clone(), projection, limits, context)?;
        match batches.advance()? {
            Some(batch) => Ok(batch),
            None => batches.finish(),
        }
    }

    /// All rows in batches of at most `batch_rows` rows (at least one) and about [`BATCH_BYTES`]. Ends after the first
    /// error; a file without rows gives no batch.
    ///
    /// # Errors
    /// As [`AvroFile::read`]; those that come with the blocks are items of the iterator.
    pub fn batches(&self, projection: &Projection, batch_rows: usize, context: &Context) -> Result<Batches> {
        let limits = Limits { rows: batch_rows.max(1), bytes: BATCH_BYTES };
        Batches::new(self.clone(), projection, limits, context)
    }
}

/// A schema; files of one kind that are read one after the other have the same, so that each thread keeps the last.
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

/// The keys of the metadata, and where their values stand in the file.
fn header_map(wire: &mut Wire<'_>) -> Result<Vec<(String, Range<usize>)>> {
    let mut entries = Vec::new();
    // A key and a value have a length each.
    while let Some(items) = wire.items(2)? {
        let start = wire.position();
        for _ in 0..items.count {
            let key = std::str::from_utf8(wire.sized()?);
            let key = key.map_err(|_| wire.error(format_args!("a metadata key that is not UTF-8")))?.to_owned();
            let length = wire.sized()?.len();
            let end = wire.position();
            entries.push((key, end - length..end));
        }
        wire.end_items(items, start)?;
    }
    Ok(entries)
}
