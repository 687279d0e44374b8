//! Partition tuples as typed columns, as statistics for pruning and as keys for matching deletes.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, StructArray, new_null_array};
use arrow_row::{RowConverter, Rows, SortField};
use arrow_schema::DataType;
use frazil_core::error::Result;
use frazil_core::floats::one_nan;
use frazil_core::predicate::BoundColumn;
use frazil_core::prune::{Bounds, ColumnStats};
use frazil_core::scalar::ScalarType;

use crate::spec::arrow::field_id;
use crate::spec::manifest_entries::file_partitions;
use crate::spec::partition_value;
use crate::spec::types::{NestedField, StructType, Type};

/// The tuples of some files of one spec: a column for each field of the partition type, in its order.
#[derive(Debug, Clone)]
pub struct PartitionTuples {
    fields: Arc<StructType>,
    columns: Vec<ArrayRef>,
    rows: usize,
}

impl PartitionTuples {
    /// Types what a manifest recorded (`recorded`, with field ids in the metadata of its fields) as `fields`, the
    /// partition type of the manifest's spec. Fields that were not recorded are NULL.
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

    /// Types the columns of `tuples`, which are those of `fields` in their order.
    pub fn of_rows(tuples: &StructArray, fields: &Arc<StructType>) -> Result<Self> {
        let pairs = fields.fields.iter().zip(tuples.columns());
        let columns =
            pairs.map(|(field, array)| partition_value::typed(array, &scalar_arrow(field))).collect::<Result<_>>()?;
        Ok(Self { fields: fields.clone(), columns, rows: tuples.len() })
    }

    /// How many tuples.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The tuples at which `keep` is true.
    pub fn filter(&self, keep: &BooleanArray) -> Result<Self> {
        let columns = self.columns.iter().map(|column| Ok(arrow_select::filter::filter(column, keep)?));
        Ok(Self { fields: self.fields.clone(), columns: columns.collect::<Result<_>>()?, rows: keep.true_count() })
    }

    /// Some of the tuples, without a copy.
    #[must_use]
    pub fn slice(&self, range: Range<usize>) -> Self {
        let columns = self.columns.iter().map(|column| column.slice(range.start, range.len())).collect();
        Self { fields: self.fields.clone(), columns, rows: range.len() }
    }

    /// Some fields of the tuples, by their positions.
    #[must_use]
    pub fn select(&self, positions: &[usize]) -> Self {
        let fields = positions.iter().filter_map(|&position| self.fields.fields.get(position).cloned()).collect();
        let columns = positions.iter().filter_map(|&position| self.columns.get(position).cloned()).collect();
        Self { fields: Arc::new(StructType { fields }), columns, rows: self.rows }
    }

    /// The columns in the order of the partition type.
    pub fn columns(&self) -> &[ArrayRef] {
        &self.columns
    }

    /// The partition type.
    pub fn fields(&self) -> &Arc<StructType> {
        &self.fields
    }

    /// The values of a partition field.
    pub fn column(&self, field_id: i32) -> Option<&ArrayRef> {
        let position = self.fields.fields.iter().position(|field| field.id == field_id)?;
        self.columns.get(position)
    }

    /// One key for each tuple, equal exactly when the tuples are (NULL equals NULL, one NaN, -0.0 is not 0.0).
    pub fn keys(&self) -> Result<TupleKeys> {
        TupleKeyer::new(&self.fields)?.keys(self)
    }
}

/// The keys of the partition tuples of `data_file` structs, which are those of a spec with this partition type.
pub(crate) fn partition_keys(files: &StructArray, partition: &Arc<StructType>) -> Result<TupleKeys> {
    PartitionTuples::of_rows(file_partitions(files)?, partition)?.keys()
}

/// Gives keys to tuples of one partition type, whoever asks for how many at once.
#[derive(Debug)]
pub struct TupleKeyer(Option<RowConverter>);

impl TupleKeyer {
    /// For tuples of this type.
    pub fn new(fields: &StructType) -> Result<Self> {
        // Rows of no columns have no length.
        if fields.fields.is_empty() {
            return Ok(Self(None));
        }
        let sort_fields = fields.fields.iter().map(|field| SortField::new(scalar_arrow(field))).collect();
        Ok(Self(Some(RowConverter::new(sort_fields)?)))
    }

    /// As [`PartitionTuples::keys`].
    pub fn keys(&self, tuples: &PartitionTuples) -> Result<TupleKeys> {
        let Some(converter) = &self.0 else { return Ok(TupleKeys(None)) };
        let columns: Vec<ArrayRef> = tuples.columns.iter().map(one_nan).collect();
        Ok(TupleKeys(Some(converter.convert_columns(&columns)?)))
    }
}

/// Keys of partition tuples, as bytes.
#[derive(Debug)]
pub struct TupleKeys(Option<Rows>);

impl TupleKeys {
    /// The key of a tuple; `row` is below the number of tuples.
    pub fn row(&self, row: usize) -> &[u8] {
        self.0.as_ref().map_or(&[], |rows| rows.row(row).data())
    }
}

/// A tuple is its own lower and upper bound.
impl ColumnStats for PartitionTuples {
    fn len(&self) -> usize {
        self.rows
    }

    fn bounds(&self, column: &BoundColumn) -> Result<Option<Bounds>> {
        let Some(values) = self.column(column.id) else { return Ok(None) };
        Ok(Some(Bounds::constant(values)))
    }
}

/// The Arrow type of a partition field (always a primitive).
fn scalar_arrow(field: &NestedField) -> DataType {
    match &field.field_type {
        Type::Primitive(primitive) => primitive.scalar().map_or(DataType::Null, ScalarType::arrow),
        Type::Struct(_) | Type::List(_) | Type::Map(_) => DataType::Null,
    }
}
