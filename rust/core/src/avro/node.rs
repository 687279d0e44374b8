//! Columns of every type under construction: one [`Node`] per requested value of the writer's schema.
//!
//! Decoding visits the nodes in wire order, once per row, and appends directly to Arrow buffers. A record is a list of
//! steps, each of which skips unselected fields or reads one column.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, ListArray, MapArray, StructArray, new_null_array};
use arrow_buffer::{NullBuffer, NullBufferBuilder, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, FieldRef, Fields};

use super::encoded::Encoded;
use super::leaf::{Leaf, too_long};
use super::lookup::Lookup;
use super::skip::Skip;
use super::wire::Wire;
use crate::error::{Error, Result};

/// A column, and the union that contains its values.
#[derive(Debug)]
pub(super) struct Node {
    /// The branches of null and of the value; `None` if the writer's type is not a union.
    pub(super) branches: Option<Branches>,
    pub(super) body: Body,
}

/// The null branch and the value branch of a union; at least one exists.
#[derive(Debug, Clone, Copy)]
pub(super) struct Branches {
    pub(super) null: Option<i64>,
    pub(super) value: Option<i64>,
}

/// A column by the type of its values.
#[derive(Debug)]
pub(super) enum Body {
    Leaf(Leaf),
    Struct(Box<Struct>),
    List(Box<List>),
    Map(Box<Pairs>),
    Lookup(Box<Lookup>),
    Encoded(Box<Encoded>),
}

macro_rules! each_body {
    ($body:expr, $inner:ident => $call:expr) => {
        match $body {
            Body::Leaf($inner) => $call,
            Body::Struct($inner) => $call,
            Body::List($inner) => $call,
            Body::Map($inner) => $call,
            Body::Lookup($inner) => $call,
            Body::Encoded($inner) => $call,
        }
    };
}

impl Node {
    /// Decodes one value, which may be null.
    #[inline]
    pub(super) fn read(&mut self, wire: &mut Wire<'_>) -> Result<()> {
        if let Some(branches) = self.branches {
            let branch = wire.long()?;
            if Some(branch) == branches.null {
                return self.push_null();
            }
            if Some(branch) != branches.value {
                return Err(wire.error(format_args!("a union has no branch {branch}")));
            }
        }
        each_body!(&mut self.body, inner => inner.read(wire))
    }

    /// Appends a null.
    pub(super) fn push_null(&mut self) -> Result<()> {
        each_body!(&mut self.body, inner => inner.push_null())
    }

    /// Returns the number of values.
    pub(super) fn len(&self) -> usize {
        each_body!(&self.body, inner => inner.len())
    }

    /// Reserves capacity for `rows` more values.
    pub(super) fn reserve(&mut self, rows: usize) {
        match &mut self.body {
            Body::Leaf(leaf) => leaf.reserve(rows),
            Body::Struct(record) => record.reserve(rows),
            Body::List(list) => list.slots.offsets.reserve(rows),
            Body::Map(map) => map.slots.offsets.reserve(rows),
            Body::Lookup(lookup) => lookup.reserve(rows),
            Body::Encoded(encoded) => encoded.reserve(rows),
        }
    }

    /// Returns the approximate memory size of the column in bytes.
    pub(super) fn bytes(&self) -> usize {
        each_body!(&self.body, inner => inner.bytes())
    }

    /// Returns the array of the decoded values; the column is empty afterwards.
    pub(super) fn finish(&mut self) -> Result<ArrayRef> {
        each_body!(&mut self.body, inner => inner.finish())
    }

    pub(super) fn data_type(&self) -> DataType {
        match &self.body {
            Body::Leaf(leaf) => leaf.data_type().clone(),
            Body::Struct(record) => DataType::Struct(record.fields.clone()),
            Body::List(list) => DataType::List(list.element.clone()),
            Body::Map(map) => DataType::Map(map.entries.clone(), false),
            Body::Lookup(lookup) => DataType::Struct(lookup.fields.clone()),
            Body::Encoded(_) => Encoded::DATA_TYPE,
        }
    }
}

/// A record, of which some fields are read and the rest are skipped.
#[derive(Debug)]
pub(super) struct Struct {
    /// The steps, in wire order.
    pub(super) steps: Vec<Step>,
    /// The step that reads each output field; `None` for fields that the writer does not have.
    pub(super) outputs: Vec<Option<usize>>,
    /// The output fields; those that are not nullable are required.
    pub(super) fields: Fields,
    pub(super) nulls: NullBufferBuilder,
}

/// A step that handles one field, or several adjacent unselected fields.
#[derive(Debug)]
pub(super) enum Step {
    Skip(Skip),
    Read(Node),
    /// Reads a field without consuming its bytes, because the next step reads the field again.
    Peek(Node),
}

impl Step {
    fn node_mut(&mut self) -> Option<&mut Node> {
        match self {
            Self::Skip(_) => None,
            Self::Read(node) | Self::Peek(node) => Some(node),
        }
    }

    fn node(&self) -> Option<&Node> {
        match self {
            Self::Skip(_) => None,
            Self::Read(node) | Self::Peek(node) => Some(node),
        }
    }
}

impl Struct {
    #[inline]
    pub(super) fn read(&mut self, wire: &mut Wire<'_>) -> Result<()> {
        for (place, step) in self.steps.iter_mut().enumerate() {
            let done = match step {
                Step::Skip(skip) => skip.run(wire),
                Step::Read(node) => node.read(wire),
                Step::Peek(node) => wire.peek(|wire| node.read(wire)),
            };
            if let Err(error) = done {
                let output = self.outputs.iter().position(|output| *output == Some(place));
                let field = output.and_then(|output| self.fields.get(output));
                return Err(if let Some(field) = field { error.with("field", field.name()) } else { error });
            }
        }
        self.nulls.append_non_null();
        Ok(())
    }

    pub(super) fn push_null(&mut self) -> Result<()> {
        self.steps.iter_mut().filter_map(Step::node_mut).try_for_each(Node::push_null)?;
        self.nulls.append_null();
        Ok(())
    }

    pub(super) fn len(&self) -> usize {
        self.nulls.len()
    }

    pub(super) fn reserve(&mut self, rows: usize) {
        self.steps.iter_mut().filter_map(Step::node_mut).for_each(|node| node.reserve(rows));
    }

    pub(super) fn bytes(&self) -> usize {
        let columns: usize = self.steps.iter().filter_map(Step::node).map(Node::bytes).sum();
        columns + self.nulls.allocated_size()
    }

    fn finish(&mut self) -> Result<ArrayRef> {
        let len = self.len();
        let (columns, nulls) = self.finish_columns()?;
        Ok(Arc::new(StructArray::try_new_with_length(self.fields.clone(), columns, nulls, len)?))
    }

    /// Returns the columns and a mask of the null rows.
    ///
    /// # Errors
    /// `CorruptData` with a required field that is null in a row that is not null.
    pub(super) fn finish_columns(&mut self) -> Result<(Vec<ArrayRef>, Option<NullBuffer>)> {
        let len = self.len();
        let nulls = self.nulls.finish();
        let null_rows = nulls.as_ref().map_or(0, NullBuffer::null_count);
        let mut columns = Vec::with_capacity(self.outputs.len());
        for (output, field) in self.outputs.iter().zip(&self.fields) {
            let node = output.and_then(|place| self.steps.get_mut(place)).and_then(Step::node_mut);
            let column = match node {
                Some(node) => node.finish().map_err(|e| e.with("field", field.name()))?,
                None => new_null_array(field.data_type(), len),
            };
            // Null rows are null in every column.
            if !field.is_nullable() && column.logical_null_count() > null_rows {
                return Err(Error::corrupt("a required field is null").with("field", field.name()));
            }
            columns.push(column);
        }
        Ok((columns, nulls))
    }
}

/// An array.
#[derive(Debug)]
pub(super) struct List {
    pub(super) element: FieldRef,
    pub(super) items: Node,
    pub(super) min_width_bytes: usize,
    pub(super) slots: Slots,
}

impl List {
    #[inline]
    fn read(&mut self, wire: &mut Wire<'_>) -> Result<()> {
        while let Some(items) = wire.items(self.min_width_bytes)? {
            if self.min_width_bytes == 0 {
                wire.zero_width(items.count)?;
            }
            let start = wire.position();
            for _ in 0..items.count {
                self.items.read(wire)?;
            }
            wire.end_items(items, start)?;
        }
        self.slots.push(self.items.len())
    }

    #[expect(clippy::unnecessary_wraps, reason = "same signature for every body")]
    fn push_null(&mut self) -> Result<()> {
        self.slots.push_null();
        Ok(())
    }

    fn len(&self) -> usize {
        self.slots.nulls.len()
    }

    fn bytes(&self) -> usize {
        self.slots.bytes() + self.items.bytes()
    }

    fn finish(&mut self) -> Result<ArrayRef> {
        let (offsets, nulls) = self.slots.finish();
        let items = self.items.finish().map_err(|e| e.with("field", self.element.name()))?;
        Ok(Arc::new(ListArray::try_new(self.element.clone(), offsets, items, nulls)?))
    }
}

/// A map: an array of two values, or an Avro map.
#[derive(Debug)]
pub(super) struct Pairs {
    pub(super) entries: FieldRef,
    pub(super) fields: Fields,
    pub(super) key: Node,
    pub(super) value: Node,
    pub(super) min_width_bytes: usize,
    pub(super) slots: Slots,
}

impl Pairs {
    #[inline]
    fn read(&mut self, wire: &mut Wire<'_>) -> Result<()> {
        while let Some(items) = wire.items(self.min_width_bytes)? {
            if self.min_width_bytes == 0 {
                wire.zero_width(items.count)?;
            }
            let start = wire.position();
            for _ in 0..items.count {
                self.key.read(wire)?;
                self.value.read(wire)?;
            }
            wire.end_items(items, start)?;
        }
        self.slots.push(self.key.len())
    }

    #[expect(clippy::unnecessary_wraps, reason = "same signature for every body")]
    fn push_null(&mut self) -> Result<()> {
        self.slots.push_null();
        Ok(())
    }

    fn len(&self) -> usize {
        self.slots.nulls.len()
    }

    fn bytes(&self) -> usize {
        self.slots.bytes() + self.key.bytes() + self.value.bytes()
    }

    fn finish(&mut self) -> Result<ArrayRef> {
        let (offsets, nulls) = self.slots.finish();
        let columns = vec![self.key.finish()?, self.value.finish()?];
        let entries = StructArray::try_new(self.fields.clone(), columns, None)?;
        Ok(Arc::new(MapArray::try_new(self.entries.clone(), offsets, entries, nulls, false)?))
    }
}

/// The end offsets of the items of each list or map.
#[derive(Debug)]
pub(super) struct Slots {
    offsets: Vec<i32>,
    nulls: NullBufferBuilder,
}

impl Default for Slots {
    fn default() -> Self {
        Self { offsets: vec![0], nulls: NullBufferBuilder::new(0) }
    }
}

impl Slots {
    #[inline]
    fn push(&mut self, end: usize) -> Result<()> {
        self.offsets.push(i32::try_from(end).map_err(|_| too_long())?);
        self.nulls.append_non_null();
        Ok(())
    }

    fn push_null(&mut self) {
        let end = self.offsets.last().copied().unwrap_or(0);
        self.offsets.push(end);
        self.nulls.append_null();
    }

    fn bytes(&self) -> usize {
        4 * self.offsets.capacity() + self.nulls.allocated_size()
    }

    fn finish(&mut self) -> (OffsetBuffer<i32>, Option<NullBuffer>) {
        let Self { offsets, mut nulls } = std::mem::take(self);
        (OffsetBuffer::new(ScalarBuffer::from(offsets)), nulls.finish())
    }
}
