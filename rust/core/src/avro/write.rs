//! Writes object container files (specification, "Object Container Files").

use arrow_array::RecordBatch;
use bytes::Bytes;
use libdeflater::{CompressionLvl, Compressor};

use super::codec::Codec;
use super::encode::{AvroRows, long_to, sized_to};
use super::schema::Schema;
use super::{MAGIC, SYNC_BYTES, parsed};
use crate::error::{Error, Result};

/// The number of uncompressed bytes after which a block ends: the same as in Java's writers, so that readers that
/// process one block at a time need no more memory.
const BLOCK_BYTES: usize = 64_000;

/// The compression level of Deflate. Java compresses manifests at 9; above 6 the gain is a few percent and the time
/// doubles.
const DEFLATE_LEVEL: i32 = 6;
const ZSTD_LEVEL: i32 = 3;

/// A writer of a file, which is held in memory until [`Writer::finish`], except for the parts that [`Writer::take`]
/// returns earlier.
pub struct Writer {
    schema: std::sync::Arc<Schema>,
    codec: Codec,
    level: Option<i32>,
    taken_bytes: usize,
    sync: [u8; SYNC_BYTES],
    out: Vec<u8>,
    block: Vec<u8>,
    block_rows: i64,
    deflate: Option<Compressor>,
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer")
            .field("codec", &self.codec)
            .field("size_bytes", &self.size_bytes())
            .finish_non_exhaustive()
    }
}

impl Writer {
    /// Begins a file with this schema (JSON) and these entries in its header. `sync` separates blocks and must be
    /// random, so that it does not occur within a block by chance.
    ///
    /// # Errors
    /// `Internal` for an invalid schema; `Unsupported` for codecs that are supported only for reading.
    pub fn new(schema: &str, metadata: &[(&str, &str)], codec: Codec, sync: [u8; SYNC_BYTES]) -> Result<Self> {
        let tree = parsed(schema.as_bytes()).map_err(|e| Error::internal("invalid Avro schema").caused_by(e))?;
        if matches!(codec, Codec::Bzip2 | Codec::Xz) {
            return Err(Error::unsupported(format!(
                "writing Avro blocks with the codec {} is not supported",
                codec.name()
            )));
        }
        let mut out = MAGIC.to_vec();
        let entries = [("avro.schema", schema), ("avro.codec", codec.name())];
        let entries: Vec<_> = entries.iter().chain(metadata).collect();
        long_to(i64::try_from(entries.len()).unwrap_or(i64::MAX), &mut out);
        for (key, value) in entries {
            sized_to(key.as_bytes(), &mut out);
            sized_to(value.as_bytes(), &mut out);
        }
        out.push(0);
        out.extend_from_slice(&sync);
        Ok(Self {
            schema: tree,
            codec,
            level: None,
            taken_bytes: 0,
            sync,
            out,
            block: Vec::new(),
            block_rows: 0,
            deflate: None,
        })
    }

    /// Sets the compression level of the codec, from the next block on.
    ///
    /// # Errors
    /// `InvalidArgument` for a level that the codec does not support.
    pub fn with_level(mut self, level: i32) -> Result<Self> {
        let known = match self.codec {
            Codec::Deflate => 0..=12,
            Codec::Zstandard => zstd::compression_level_range(),
            // The remaining codecs have no levels.
            _ => i32::MIN..=i32::MAX,
        };
        if !known.contains(&level) {
            return Err(Error::invalid(format!("the codec {} does not support the level {level}", self.codec.name()))
                .hint(format!("expected a level from {} to {}", known.start(), known.end())));
        }
        self.level = Some(level);
        Ok(self)
    }

    /// Returns the completed bytes of the file that were not returned before.
    pub fn take(&mut self) -> Bytes {
        self.taken_bytes += self.out.len();
        std::mem::take(&mut self.out).into()
    }

    /// Writes the rows of a batch whose columns are the fields of the schema, in order.
    ///
    /// # Errors
    /// `Internal` if the types differ from the schema.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let record = self.schema.clone();
        let record = record.as_record().ok_or_else(|| Error::internal("the rows of an Avro file are not records"))?;
        let rows = AvroRows::try_new(record, batch)?;
        for row in 0..rows.len() {
            rows.encode(row, &mut self.block)?;
            self.block_rows += 1;
            if self.block.len() >= BLOCK_BYTES {
                self.end_block()?;
            }
        }
        Ok(())
    }

    /// Returns the approximate length of the file: the written bytes, and the uncompressed size of the current block.
    pub fn size_bytes(&self) -> usize {
        self.taken_bytes + self.out.len() + self.block.len()
    }

    /// Returns the whole file, or the part that was not returned before.
    pub fn finish(mut self) -> Result<Bytes> {
        if self.block_rows > 0 {
            self.end_block()?;
        }
        Ok(self.out.into())
    }

    fn end_block(&mut self) -> Result<()> {
        let failed = |e: &dyn std::fmt::Display| Error::internal(format!("a block cannot be compressed: {e}"));
        let compressed = match self.codec {
            Codec::Deflate => {
                let level = CompressionLvl::new(self.level.unwrap_or(DEFLATE_LEVEL)).unwrap_or_default();
                let compressor = self.deflate.get_or_insert_with(|| Compressor::new(level));
                let mut room = vec![0; compressor.deflate_compress_bound(self.block.len())];
                let length = compressor.deflate_compress(&self.block, &mut room).map_err(|e| failed(&e))?;
                room.truncate(length);
                room
            }
            Codec::Zstandard => {
                zstd::bulk::compress(&self.block, self.level.unwrap_or(ZSTD_LEVEL)).map_err(|e| failed(&e))?
            }
            Codec::Snappy => {
                let mut compressed = snap::raw::Encoder::new().compress_vec(&self.block).map_err(|e| failed(&e))?;
                compressed.extend_from_slice(&crc32fast::hash(&self.block).to_be_bytes());
                compressed
            }
            _ => self.block.clone(),
        };
        long_to(self.block_rows, &mut self.out);
        sized_to(&compressed, &mut self.out);
        self.out.extend_from_slice(&self.sync);
        self.block.clear();
        self.block_rows = 0;
        Ok(())
    }
}
