//! Reads a file block by block into record batches.
//!
//! ```text
//! count: long | size_bytes: long | size_bytes of compressed rows | sync: 16 bytes      repeated to the end of the file
//! ```

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;

use super::codec::Inflater;
use super::compile;
use super::node::{Branches, Struct};
use super::projection::Projection;
use super::wire::{MAX_ZERO_WIDTH, Wire};
use super::{AvroFile, SYNC_BYTES};
use crate::bytes::Cursor;
use crate::context::{Context, Lease};
use crate::error::{Error, Result};

/// The number of block bytes after which a batch ends.
pub const BATCH_BYTES: usize = 64 << 20;

/// The number of rows that are decoded between two checks of the budget.
const ROWS_PER_CHECK: u64 = 1024;

/// The maximum number of rows for which memory is reserved in advance.
const MAX_RESERVED_ROWS: usize = 16 << 10;

/// An iterator over the rows of a file in batches. Holds one decompressed block and one batch.
#[derive(Debug)]
pub struct AvroBatches {
    file: AvroFile,
    context: Context,
    schema: SchemaRef,
    branches: Option<Branches>,
    rows: Struct,
    row_width_bytes: usize,
    limits: Limits,
    inflater: Inflater,
    /// The offset of the next block in the file.
    next_block: usize,
    /// The current block: its offset in the file, the offset of the next row in it, and the number of rows left.
    block: usize,
    block_at: usize,
    block_rows: u64,
    zero_width_left: u64,
    /// The leases on the memory of `rows`.
    leases: Vec<Lease>,
    leased_bytes: usize,
    done: bool,
}

/// The limits at which a batch is full.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) rows: usize,
    pub(super) bytes: usize,
}

impl AvroBatches {
    pub(super) fn new(file: AvroFile, projection: &Projection, limits: Limits, context: &Context) -> Result<Self> {
        let (branches, rows) = compile::rows(&file.schema, projection)?;
        Ok(Self {
            context: context.clone(),
            schema: Arc::new(arrow_schema::Schema::new(rows.fields.clone())),
            branches,
            rows,
            row_width_bytes: file.schema.min_width_bytes(),
            limits,
            inflater: Inflater::new(file.codec, context.budget.clone()),
            next_block: file.blocks,
            block: file.blocks,
            block_at: 0,
            block_rows: 0,
            zero_width_left: MAX_ZERO_WIDTH,
            leases: Vec::new(),
            leased_bytes: 0,
            done: false,
            file,
        })
    }

    /// Returns the schema of every batch.
    pub fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// Returns the next batch; `None` if no rows are left.
    pub(super) fn advance(&mut self) -> Result<Option<RecordBatch>> {
        let mut bytes = 0;
        while self.rows.len() < self.limits.rows && bytes < self.limits.bytes {
            if self.block_rows == 0 && !self.enter_block()? {
                break;
            }
            let before = self.block_at;
            self.decode_some().map_err(|e| e.with("block", self.block))?;
            bytes += self.block_at - before;
            self.lease_columns()?;
        }
        if self.rows.len() == 0 { Ok(None) } else { self.finish().map(Some) }
    }

    /// Returns the rows decoded so far, possibly none.
    pub(super) fn finish(&mut self) -> Result<RecordBatch> {
        let len = self.rows.len();
        let (columns, nulls) = self.rows.finish_columns()?;
        self.leases.clear();
        self.leased_bytes = 0;
        if nulls.is_some_and(|nulls| nulls.null_count() > 0) {
            return Err(Error::corrupt("a row is null"));
        }
        let options = RecordBatchOptions::new().with_row_count(Some(len));
        Ok(RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)?)
    }

    /// Decompresses the next block; false at the end of the file.
    fn enter_block(&mut self) -> Result<bool> {
        self.context.check()?;
        let bytes = &self.file.bytes;
        let mut cursor = Cursor::new(bytes);
        cursor.take(self.next_block)?;
        if cursor.is_empty() {
            return Ok(false);
        }
        self.block = self.next_block;
        let count = cursor.zigzag()?;
        let Ok(count) = u64::try_from(count) else {
            return Err(cursor.error(format_args!("a block has {count} rows")));
        };
        let size = cursor.zigzag()?;
        let compressed = bytes.slice_ref(cursor.take_declared(size)?);
        let at = cursor.position();
        if cursor.array::<SYNC_BYTES>()? != self.file.sync {
            return Err(
                Error::corrupt("the sync marker after a block differs from that in the file header").with("offset", at)
            );
        }
        self.next_block = cursor.position();
        self.inflater.load(compressed).map_err(|e| e.with("block", self.block))?;
        self.start_block(count).map_err(|e| e.with("block", self.block))?;
        Ok(true)
    }

    /// Starts a block of `count` rows after checking that the block has enough bytes for that many rows.
    fn start_block(&mut self, count: u64) -> Result<()> {
        let mut wire = Wire::new(self.inflater.block(), self.zero_width_left);
        if count.checked_mul(self.row_width_bytes as u64).is_none_or(|least| least > wire.remaining() as u64) {
            return Err(
                wire.error(format_args!("a block declares {count} rows, but only {} bytes are left", wire.remaining()))
            );
        }
        if self.row_width_bytes == 0 {
            wire.zero_width(count)?;
            self.zero_width_left = wire.zero_width_left();
        }
        if self.rows.len() == 0 && self.limits.rows == usize::MAX {
            // Without a row limit, the batch holds the rest of the file. The number of rows to reserve is extrapolated
            // from this block.
            let bytes = (self.next_block - self.block).max(1);
            let blocks = (self.file.bytes.len() - self.block).div_ceil(bytes);
            let rows = usize::try_from(count).unwrap_or(usize::MAX).saturating_mul(blocks);
            self.rows.reserve(rows.min(MAX_RESERVED_ROWS));
        }
        self.block_at = 0;
        self.block_rows = count;
        if count == 0 { ended(&wire) } else { Ok(()) }
    }

    /// Decodes the next rows of the block.
    fn decode_some(&mut self) -> Result<()> {
        let room = u64::try_from(self.limits.rows.saturating_sub(self.rows.len())).unwrap_or(u64::MAX);
        let count = self.block_rows.min(room).min(ROWS_PER_CHECK);
        let mut wire = Wire::new(self.inflater.block(), self.zero_width_left);
        wire.take(self.block_at)?;
        for _ in 0..count {
            match self.branches {
                None => self.rows.read(&mut wire)?,
                Some(branches) => match Some(wire.long()?) {
                    branch if branch == branches.value => self.rows.read(&mut wire)?,
                    branch if branch == branches.null => self.rows.push_null()?,
                    _ => return Err(wire.error(format_args!("a union has no such branch"))),
                },
            }
        }
        self.block_at = wire.position();
        self.block_rows -= count;
        self.zero_width_left = wire.zero_width_left();
        if self.block_rows == 0 { ended(&wire) } else { Ok(()) }
    }

    /// Updates the leases to the current size of the columns.
    fn lease_columns(&mut self) -> Result<()> {
        let bytes = self.rows.bytes();
        if bytes > self.leased_bytes {
            self.leases.push(self.context.budget.lease((bytes - self.leased_bytes) as u64)?);
            self.leased_bytes = bytes;
        }
        Ok(())
    }
}

impl Iterator for AvroBatches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let batch = self.advance().transpose();
        self.done = !matches!(batch, Some(Ok(_)));
        batch
    }
}

/// Checks that no bytes are left after the last row of a block.
fn ended(wire: &Wire<'_>) -> Result<()> {
    if wire.is_empty() {
        Ok(())
    } else {
        Err(wire.error(format_args!("{} bytes left after the last row of a block", wire.remaining())))
    }
}
