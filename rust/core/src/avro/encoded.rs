//! Copies encoded values between files whose schemas have exactly the same type for the values.

use std::sync::Arc;

use arrow_array::{ArrayRef, LargeBinaryArray};
use arrow_buffer::{NullBuffer, NullBufferBuilder, OffsetBuffer, ScalarBuffer};
use arrow_schema::DataType;

use super::schema::Schema;
use super::skip::Skip;
use super::wire::Wire;
use crate::error::{Error, Result};

/// A builder of a column of encoded values.
#[derive(Debug)]
pub(super) struct Encoded {
    skip: Skip,
    values: Vec<u8>,
    offsets: Vec<i64>,
    nulls: NullBufferBuilder,
}

impl Encoded {
    pub(super) const DATA_TYPE: DataType = DataType::LargeBinary;

    /// Creates a builder for values of `schema`, which is not a union.
    pub(super) fn new(schema: &Schema) -> Self {
        Self { skip: Skip::new(schema), values: Vec::new(), offsets: vec![0], nulls: NullBufferBuilder::new(0) }
    }

    pub(super) fn read(&mut self, wire: &mut Wire<'_>) -> Result<()> {
        let start = wire.mark();
        self.skip.run(wire)?;
        self.values.extend_from_slice(wire.since(start));
        self.nulls.append_non_null();
        self.end_value()
    }

    pub(super) fn push_null(&mut self) -> Result<()> {
        self.nulls.append_null();
        self.end_value()
    }

    fn end_value(&mut self) -> Result<()> {
        let end = i64::try_from(self.values.len()).map_err(|_| Error::internal("a column exceeds 63 bits"))?;
        self.offsets.push(end);
        Ok(())
    }

    pub(super) fn len(&self) -> usize {
        self.nulls.len()
    }

    pub(super) fn reserve(&mut self, rows: usize) {
        self.offsets.reserve(rows);
    }

    pub(super) fn bytes(&self) -> usize {
        self.values.capacity() + 8 * self.offsets.capacity() + self.nulls.allocated_size()
    }

    pub(super) fn finish(&mut self) -> Result<ArrayRef> {
        let offsets = std::mem::replace(&mut self.offsets, vec![0]);
        let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
        let (values, nulls): (_, Option<NullBuffer>) = (std::mem::take(&mut self.values), self.nulls.finish());
        Ok(Arc::new(LargeBinaryArray::try_new(offsets, values.into(), nulls)?))
    }
}
