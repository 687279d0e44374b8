//! Converts partition tuples to typed columns, to statistics for pruning and to keys for matching deletes.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, StructArray, new_null_array};
use arrow_row::{RowConverter, Rows, SortField};
use arrow_schema::DataType;
use frazil_core::error::Result;
use frazil_core::floats::one_nan;
use frazil_core::prune::{Bounds, ColumnStats};
use frazil_core::scalar::ScalarType;
use frazil_core::sql::predicate::BoundColumn;

use crate::spec::arrow::field_id;
use crate::spec::manifest_entries::file_partitions;
use crate::spec::partition_value;
use crate::spec::types::{NestedField, StructType, Type};

/// The partition tuples of some files of one spec: one column per field of the partition type, in order.
#[derive(Debug, Clone)]
pub struct PartitionTuples {
    fields: Arc<StructType>,
    columns: Vec<ArrayRef>,
    rows: usize,
}

impl PartitionTuples {
    /// Converts the tuples of a manifest (`recorded`, with field ids in the field metadata) to `fields`, the partition
    /// type of the manifest's spec. Fields that were not recorded are NULL.
    pub fn try_new(recorded: Option<&StructArray>, fields: &Arc<StructType>, rows: usize) -> Result<Self> {
        let column = |field: &NestedField| -> Result<ArrayRef> {
            let target = scalar_arrow(field);
            let found = recorded.and_then(|recorded| {
                let position = recorded.fields().iter().position(|f| field_id(f) == Some(field.id))?;
                recorded.columns().get(position)
            });
            match found {
                Some(array) => {
                    partition_value::typed(array, &target).map_err(|e| e.with("partition field", &field.name))
                }
                None => Ok(new_null_array(&target, rows)),
            }
        };
        let columns = fields.fields.iter().map(column).collect::<Result<_>>()?;
        Ok(Self { fields: fields.clone(), columns, rows })
    }

    /// Converts the columns of `tuples`, which match `fields` in order, to their types.
    pub fn of_rows(tuples: &StructArray, fields: &Arc<StructType>) -> Result<Self> {
        let pairs = fields.fields.iter().zip(tuples.columns());
        let columns =
            pairs.map(|(field, array)| partition_value::typed(array, &scalar_arrow(field))).collect::<Result<_>>()?;
        Ok(Self { fields: fields.clone(), columns, rows: tuples.len() })
    }

    /// Returns the number of tuples.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Returns whether there are no tuples.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Returns the tuples for which `keep` is true.
    pub fn filter(&self, keep: &BooleanArray) -> Result<Self> {
        let columns = self.columns.iter().map(|column| Ok(arrow_select::filter::filter(column, keep)?));
        Ok(Self { fields: self.fields.clone(), columns: columns.collect::<Result<_>>()?, rows: keep.true_count() })
    }

    /// Returns a range of the tuples, without copying.
    #[must_use]
    pub fn slice(&self, range: Range<usize>) -> Self {
        let columns = self.columns.iter().map(|column| column.slice(range.start, range.len())).collect();
        Self { fields: self.fields.clone(), columns, rows: range.len() }
    }

    /// Returns some fields of the tuples, by position.
    #[must_use]
    pub fn select(&self, positions: &[usize]) -> Self {
        let fields = positions.iter().filter_map(|&position| self.fields.fields.get(position).cloned()).collect();
        let columns = positions.iter().filter_map(|&position| self.columns.get(position).cloned()).collect();
        Self { fields: Arc::new(StructType { fields }), columns, rows: self.rows }
    }

    /// Returns the columns, in the order of the partition type.
    pub fn columns(&self) -> &[ArrayRef] {
        &self.columns
    }

    /// Returns the partition type.
    pub fn fields(&self) -> &Arc<StructType> {
        &self.fields
    }

    /// Returns the values of a partition field.
    pub fn column(&self, field_id: i32) -> Option<&ArrayRef> {
        let position = self.fields.fields.iter().position(|field| field.id == field_id)?;
        self.columns.get(position)
    }

    /// Returns one key per tuple. Keys are equal exactly when the tuples are (NULL equals NULL, all NaN are equal, -0.0
    /// is not 0.0).
    pub fn keys(&self) -> Result<TupleKeys> {
        TupleKeyer::new(&self.fields)?.keys(self)
    }
}

/// Returns the keys of the partition tuples of `data_file` structs with this partition type.
pub(crate) fn partition_keys(files: &StructArray, partition: &Arc<StructType>) -> Result<TupleKeys> {
    PartitionTuples::of_rows(file_partitions(files)?, partition)?.keys()
}

/// An encoder of tuples of one partition type as keys, which are comparable across calls.
#[derive(Debug)]
pub struct TupleKeyer(Option<RowConverter>);

impl TupleKeyer {
    /// Creates an encoder for tuples of this type.
    pub fn new(fields: &StructType) -> Result<Self> {
        // Rows without columns have no length.
        if fields.fields.is_empty() {
            return Ok(Self(None));
        }
        let sort_fields = fields.fields.iter().map(|field| SortField::new(scalar_arrow(field))).collect();
        Ok(Self(Some(RowConverter::new(sort_fields)?)))
    }

    /// Returns the same as [`PartitionTuples::keys`].
    pub fn keys(&self, tuples: &PartitionTuples) -> Result<TupleKeys> {
        let Some(converter) = &self.0 else { return Ok(TupleKeys(None)) };
        let columns: Vec<ArrayRef> = tuples.columns.iter().map(one_nan).collect();
        Ok(TupleKeys(Some(converter.convert_columns(&columns)?)))
    }
}

/// The keys of partition tuples, as bytes.
#[derive(Debug)]
pub struct TupleKeys(Option<Rows>);

impl TupleKeys {
    /// Returns the key of a tuple; `row` must be less than the number of tuples.
    pub fn row(&self, row: usize) -> &[u8] {
        self.0.as_ref().map_or(&[], |rows| rows.row(row).data())
    }
}

/// A tuple is both its own lower and upper bound.
impl ColumnStats for PartitionTuples {
    fn len(&self) -> usize {
        self.rows
    }

    fn bounds(&self, column: &BoundColumn) -> Result<Option<Bounds>> {
        let Some(values) = self.column(column.id) else { return Ok(None) };
        Ok(Some(Bounds::constant(values)))
    }
}

/// Returns the Arrow type of a partition field (always a primitive).
fn scalar_arrow(field: &NestedField) -> DataType {
    match &field.field_type {
        Type::Primitive(primitive) => primitive.scalar().map_or(DataType::Null, ScalarType::arrow),
        Type::Struct(_) | Type::List(_) | Type::Map(_) => DataType::Null,
    }
}
