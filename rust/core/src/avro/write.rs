//! Writes object container files (specification, "Object Container Files").

use arrow_array::RecordBatch;
use bytes::Bytes;
use libdeflater::{CompressionLvl, Compressor};

use super::codec::Codec;
use super::encode::{Rows, long_to, sized_to};
use super::schema::Schema;
use super::{MAGIC, SYNC_BYTES, parsed};
use crate::error::{Error, Result};

/// A block ends once it holds so many bytes before compression: what Java's writers do, so that readers that work on one
/// block at a time need as little memory.
const BLOCK_BYTES: usize = 64_000;

/// Java's manifests are deflated at 9; from 6 on the gain is in the percents and the time doubles.
const DEFLATE_LEVEL: i32 = 6;
const ZSTD_LEVEL: i32 = 3;

/// A file in the making; everything is held until [`Writer::finish`], but what [`Writer::take`] gives before.
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
    /// Begins a file of this schema (JSON) with these entries in its header. `sync` stands between blocks: random, so
    /// that it is not met by chance within one.
    ///
    /// # Errors
    /// `Internal` for a schema that is none; `Unsupported` for codecs that are only read.
    pub fn new(schema: &str, metadata: &[(&str, &str)], codec: Codec, sync: [u8; SYNC_BYTES]) -> Result<Self> {
        let tree = parsed(schema.as_bytes()).map_err(|e| Error::internal("not an Avro schema").caused_by(e))?;
        if matches!(codec, Codec::Bzip2 | Codec::Xz) {
            return Err(Error::unsupported(format!("writing Avro blocks with {}", codec.name())));
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

    /// Compresses by this level of the codec, from the next block on.
    ///
    /// # Errors
    /// `InvalidArgument` for a level that the codec does not have.
    pub fn with_level(mut self, level: i32) -> Result<Self> {
        let known = match self.codec {
            Codec::Deflate => 0..=12,
            Codec::Zstandard => zstd::compression_level_range(),
            // The others have none.
            _ => i32::MIN..=i32::MAX,
        };
        if !known.contains(&level) {
            return Err(Error::invalid(format!("{} has no level {level}", self.codec.name())).hint(format!(
                "its levels are {} to {}",
                known.start(),
                known.end()
            )));
        }
        self.level = Some(level);
        Ok(self)
    }

    /// The bytes of the file that are complete and were not taken before.
    pub fn take(&mut self) -> Bytes {
        self.taken_bytes += self.out.len();
        std::mem::take(&mut self.out).into()
    }

    /// Writes the rows of a batch whose columns are the fields of the schema, in order.
    ///
    /// # Errors
    /// `Internal` where the types differ from the schema.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let record = self.schema.clone();
        let record = record.as_record().ok_or_else(|| Error::internal("the rows of an Avro file are records"))?;
        let rows = Rows::try_new(record, batch)?;
        for row in 0..rows.len() {
            rows.encode(row, &mut self.block)?;
            self.block_rows += 1;
            if self.block.len() >= BLOCK_BYTES {
                self.end_block()?;
            }
        }
        Ok(())
    }

    /// How long the file is about: what is written, and what waits for compression as it is.
    pub fn size_bytes(&self) -> usize {
        self.taken_bytes + self.out.len() + self.block.len()
    }

    /// The whole file, or what was not taken of it.
    pub fn finish(mut self) -> Result<Bytes> {
        if self.block_rows > 0 {
            self.end_block()?;
        }
        Ok(self.out.into())
    }

    fn end_block(&mut self) -> Result<()> {
        let failed = |e: &dyn std::fmt::Display| Error::internal(format!("a block does not compress: {e}"));
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
