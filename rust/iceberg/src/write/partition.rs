//! Puts rows into the partitions of a spec (spec: "Partitioning").

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StructArray, UInt32Array, new_null_array};
use arrow_row::{OwnedRow, RowConverter, SortField};
use arrow_schema::Fields;
use arrow_select::take::take_record_batch;
use frazil_core::error::{Error, Result};

use crate::read::arrow::arrow_fields;
use crate::spec::partition::PartitionSpec;
use crate::spec::schema::{FieldPath, Schema};
use crate::spec::types::{StructType, Type};
use crate::transform::Transform;

/// Splits batches by partition.
#[derive(Debug)]
pub struct Partitioner {
    sources: Vec<Source>,
    /// The Arrow fields of partition tuples.
    fields: Fields,
    converter: Option<RowConverter>,
}

/// The rows of one partition.
#[derive(Debug)]
pub struct PartitionRows {
    /// Equal for rows of one partition: one NaN, -0.0 and 0.0 apart, NULL equal to NULL.
    pub key: OwnedRow,
    /// The partition tuple, one row.
    pub tuple: StructArray,
    /// The rows.
    pub rows: RecordBatch,
}

/// Where a partition field takes its values from.
#[derive(Debug)]
struct Source {
    /// The positions of the column, from the outermost struct inwards.
    steps: Vec<usize>,
    source_type: Type,
    transform: Transform,
}

impl Partitioner {
    /// For rows of `schema` in the order of its columns; `partition` is the type of the tuples of `spec`.
    ///
    /// # Errors
    /// `Unsupported` for transforms that are not known; `InvalidArgument` for columns that are not there.
    pub fn new(schema: &Schema, spec: &PartitionSpec, partition: &StructType) -> Result<Self> {
        let sources = spec.fields.iter().map(|field| {
            let named = |e: Error| e.with("partition field", &field.name);
            match (&field.transform, field.source_ids.as_slice()) {
                (Transform::Void, _) => Ok(Source {
                    steps: Vec::new(),
                    source_type: Type::Struct(StructType::default()),
                    transform: Transform::Void,
                }),
                (transform, [id]) => {
                    let path =
                        schema.path(*id).ok_or_else(|| named(Error::invalid(format!("no column has the id {id}"))))?;
                    Ok(Source {
                        steps: steps(schema, &path).map_err(named)?,
                        source_type: path.field().field_type.clone(),
                        transform: transform.clone(),
                    })
                }
                _ => Err(named(Error::unsupported("transforms of several columns are not written"))),
            }
        });
        let fields = arrow_fields(partition);
        let sources = sources.collect::<Result<Vec<_>>>()?;
        let converter = if sources.is_empty() {
            None
        } else {
            let keys = fields.iter().map(|field| SortField::new(field.data_type().clone())).collect();
            Some(RowConverter::new(keys)?)
        };
        Ok(Self { sources, fields, converter })
    }

    /// The rows of a batch by partition, in the order in which partitions are met; rows keep their order.
    ///
    /// # Errors
    /// `InvalidArgument` for a value that a transform cannot take.
    pub fn split(&self, batch: &RecordBatch) -> Result<Vec<PartitionRows>> {
        let values = self.values(batch)?;
        let tuples = StructArray::try_new_with_length(self.fields.clone(), values.clone(), None, batch.num_rows())?;
        let Some(converter) = &self.converter else {
            let unpartitioned = RowConverter::new(vec![SortField::new(arrow_schema::DataType::Null)])?;
            let key =
                unpartitioned.convert_columns(&[new_null_array(&arrow_schema::DataType::Null, 1)])?.row(0).owned();
            return Ok(if batch.num_rows() == 0 {
                Vec::new()
            } else {
                vec![PartitionRows { key, tuple: tuples.slice(0, 1), rows: batch.clone() }]
            });
        };
        let keys = converter.convert_columns(&one_nan(values))?;
        let mut places: HashMap<&[u8], usize> = HashMap::new();
        let mut members: Vec<Vec<u32>> = Vec::new();
        let mut last: Option<(&[u8], usize)> = None;
        for (row, key) in (0_u32..).zip(keys.iter()) {
            let key = key.data();
            // Rows often come sorted by partition.
            let place = match last.filter(|(known, _)| *known == key) {
                Some((_, place)) => place,
                None => *places.entry(key).or_insert_with(|| {
                    members.push(Vec::new());
                    members.len() - 1
                }),
            };
            last = Some((key, place));
            if let Some(rows) = members.get_mut(place) {
                rows.push(row);
            }
        }
        let whole = members.len() == 1;
        let part = |rows: Vec<u32>| {
            let first = rows.first().and_then(|row| usize::try_from(*row).ok()).unwrap_or(0);
            let (key, tuple) = (keys.row(first).owned(), tuples.slice(first, 1));
            let rows = if whole { batch.clone() } else { take_record_batch(batch, &UInt32Array::from(rows))? };
            Ok(PartitionRows { key, tuple, rows })
        };
        members.into_iter().map(part).collect()
    }

    fn values(&self, batch: &RecordBatch) -> Result<Vec<ArrayRef>> {
        self.sources
            .iter()
            .zip(&self.fields)
            .map(|(source, field)| {
                if source.transform == Transform::Void {
                    return Ok(new_null_array(field.data_type(), batch.num_rows()));
                }
                let Type::Primitive(primitive) = &source.source_type else {
                    return Err(Error::invalid("the column of a partition field is no primitive"));
                };
                source.transform.apply(column(batch, &source.steps)?.as_ref(), primitive)
            })
            .collect()
    }
}

/// The positions that lead to a column.
fn steps(schema: &Schema, path: &FieldPath<'_>) -> Result<Vec<usize>> {
    let mut fields: Vec<_> = schema.fields.fields.iter().collect();
    let mut steps = Vec::new();
    for field in path.fields() {
        let step = fields.iter().position(|other| other.id == field.id);
        steps.push(step.ok_or_else(|| Error::invalid("a column inside a list or a map"))?);
        fields = match &field.field_type {
            Type::Struct(inner) => inner.fields.iter().collect(),
            _ => Vec::new(),
        };
    }
    Ok(steps)
}

/// A column, NULL wherever a struct around it is.
fn column(batch: &RecordBatch, steps: &[usize]) -> Result<ArrayRef> {
    use arrow_array::cast::AsArray;
    let missing = || Error::internal("rows without a column that partitions");
    let (first, inner) = steps.split_first().ok_or_else(missing)?;
    let outer = batch.columns().get(*first).cloned().ok_or_else(missing)?;
    inner
        .iter()
        .try_fold(outer, |array, &step| frazil_core::nested::child(array.as_struct_opt().ok_or_else(missing)?, step))
}

/// Floating point columns with every NaN the same, for keys.
fn one_nan(values: Vec<ArrayRef>) -> Vec<ArrayRef> {
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Float32Type, Float64Type};
    values
        .into_iter()
        .map(|array| -> ArrayRef {
            if let Some(floats) = array.as_primitive_opt::<Float32Type>() {
                Arc::new(floats.unary::<_, Float32Type>(|value| if value.is_nan() { f32::NAN } else { value }))
            } else if let Some(doubles) = array.as_primitive_opt::<Float64Type>() {
                Arc::new(doubles.unary::<_, Float64Type>(|value| if value.is_nan() { f64::NAN } else { value }))
            } else {
                array
            }
        })
        .collect()
}

#[cfg(test)]
#[path = "partition_tests.rs"]
mod tests;
