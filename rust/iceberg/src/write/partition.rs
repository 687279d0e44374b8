//! Puts rows into the partitions of a spec (spec: "Partitioning").

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Date32Type, Int32Type};
use arrow_array::{Array, ArrayRef, PrimitiveArray, RecordBatch, StructArray, UInt32Array, new_null_array};
use arrow_row::{OwnedRow, RowConverter, Rows, SortField};
use arrow_schema::{DataType, Fields};
use arrow_select::take::{take, take_record_batch};
use frazil_core::error::{Error, Result};
use frazil_core::floats::one_nan;
use hashbrown::HashMap;

use super::metrics::extremes;
use super::source::Source;
use crate::read::arrow::arrow_fields;
use crate::spec::partition::PartitionSpec;
use crate::spec::schema::Schema;
use crate::spec::types::StructType;
use crate::transform::Transform;

/// Numbers of partitions within one range so wide are looked up in a table.
const TABLE_LEN: usize = 1 << 16;

/// Splits batches by partition.
#[derive(Debug)]
pub struct Partitioner {
    /// None for `void`, which is NULL whatever the column is.
    sources: Vec<Option<Source>>,
    /// The Arrow fields of partition tuples.
    fields: Fields,
    converter: RowConverter,
}

/// Which rows of a batch are of one partition.
#[derive(Debug)]
pub struct Part {
    /// Equal for rows of one partition: one NaN, -0.0 and 0.0 apart, NULL equal to NULL.
    pub key: OwnedRow,
    /// The partition tuple, one row.
    pub tuple: StructArray,
    /// Their numbers, in order.
    pub rows: UInt32Array,
}

impl Part {
    /// These rows of the batch.
    pub fn take(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let numbers = self.rows.values();
        match (numbers.first(), numbers.last()) {
            (Some(first), Some(last)) if usize::try_from(last - first) == Ok(numbers.len() - 1) => {
                Ok(batch.slice(usize::try_from(*first).unwrap_or(0), numbers.len()))
            }
            _ => Ok(take_record_batch(batch, &self.rows)?),
        }
    }
}

impl Partitioner {
    /// For rows of `schema` in the order of its columns; `partition` is the type of the tuples of `spec`.
    ///
    /// # Errors
    /// `Unsupported` for transforms that are not known; `InvalidArgument` for columns that are not there.
    pub fn new(schema: &Schema, spec: &PartitionSpec, partition: &StructType) -> Result<Self> {
        let sources = spec.fields.iter().map(|field| match &field.transform {
            Transform::Void => Ok(None),
            transform => Source::new(schema, &field.source_ids, transform)
                .map(Some)
                .map_err(|e| e.with("partition field", &field.name)),
        });
        let sources = sources.collect::<Result<Vec<_>>>()?;
        let fields = arrow_fields(partition);
        let keys = if fields.is_empty() {
            vec![SortField::new(DataType::Null)]
        } else {
            fields.iter().map(|field| SortField::new(field.data_type().clone())).collect()
        };
        Ok(Self { sources, fields, converter: RowConverter::new(keys)? })
    }

    /// The types of [`Partitioner::keys`].
    pub(super) fn key_types(&self) -> impl Iterator<Item = DataType> {
        self.fields.iter().map(|field| field.data_type().clone())
    }

    /// Columns that are equal in rows of one partition.
    ///
    /// # Errors
    /// As [`Partitioner::split`].
    pub(super) fn keys(&self, batch: &RecordBatch) -> Result<Vec<ArrayRef>> {
        Ok(key_columns(&self.values(batch)?))
    }

    /// The rows of a batch by partition, in the order in which partitions are met; rows keep their order.
    ///
    /// # Errors
    /// `InvalidArgument` for a value that a transform cannot take.
    pub fn split(&self, batch: &RecordBatch) -> Result<Vec<Part>> {
        if batch.num_rows() == 0 {
            return Ok(Vec::new());
        }
        let values = self.values(batch)?;
        let groups = match values.as_slice() {
            [] => Groups::one(batch.num_rows()),
            [numbers] => match small_range(numbers) {
                Some(range) => Groups::of_numbers(numbers, range),
                None => self.groups_of_keys(&values)?,
            },
            _ => self.groups_of_keys(&values)?,
        };
        // Of one row for each group: tuples are kept, and slices of all rows would keep those as well.
        let firsts = UInt32Array::from(groups.firsts.clone());
        let values = values.iter().map(|values| take(values, &firsts, None)).collect::<Result<Vec<_>, _>>()?;
        let tuples = StructArray::try_new_with_length(self.fields.clone(), values.clone(), None, firsts.len())?;
        let keys = if values.is_empty() { vec![new_null_array(&DataType::Null, 1)] } else { key_columns(&values) };
        let keys = self.converter.convert_columns(&keys)?;
        let rows = groups.members().into_iter().enumerate();
        let parts =
            rows.map(|(group, rows)| Part { key: keys.row(group).owned(), tuple: tuples.slice(group, 1), rows });
        Ok(parts.collect())
    }

    fn groups_of_keys(&self, values: &[ArrayRef]) -> Result<Groups> {
        Ok(Groups::of_keys(&self.converter.convert_columns(&key_columns(values))?))
    }

    fn values(&self, batch: &RecordBatch) -> Result<Vec<ArrayRef>> {
        self.sources
            .iter()
            .zip(&self.fields)
            .map(|(source, field)| match source {
                None => Ok(new_null_array(field.data_type(), batch.num_rows())),
                Some(source) => source.values(batch),
            })
            .collect()
    }
}

/// Which rows belong together.
struct Groups {
    /// The group of each row.
    of_rows: Vec<u32>,
    /// The first row of each group.
    firsts: Vec<u32>,
    counts: Vec<u32>,
}

impl Groups {
    fn empty(rows: usize) -> Self {
        Self { of_rows: Vec::with_capacity(rows), firsts: Vec::new(), counts: Vec::new() }
    }

    fn one(rows: usize) -> Self {
        Self { of_rows: vec![0; rows], firsts: vec![0], counts: vec![u32::try_from(rows).unwrap_or(u32::MAX)] }
    }

    /// Puts the next row into a group that is there, or a new one.
    #[inline]
    fn push(&mut self, group: &mut u32) {
        if *group == u32::MAX {
            *group = u32::try_from(self.firsts.len()).unwrap_or(u32::MAX - 1);
            self.firsts.push(u32::try_from(self.of_rows.len()).unwrap_or(u32::MAX));
            self.counts.push(0);
        }
        self.of_rows.push(*group);
        if let Some(count) = self.counts.get_mut(usize::try_from(*group).unwrap_or(usize::MAX)) {
            *count += 1;
        }
    }

    /// By numbers of a [`small_range`]: the place of each is in a table, that of NULL behind it.
    fn of_numbers(numbers: &ArrayRef, (least, len): (i32, usize)) -> Self {
        let mut groups = Self::empty(numbers.len());
        let mut table = vec![u32::MAX; len];
        let mut of_null = u32::MAX;
        let mut push = |number: Option<i32>| {
            let place = number.and_then(|number| usize::try_from(i64::from(number) - i64::from(least)).ok());
            groups.push(place.and_then(|place| table.get_mut(place)).unwrap_or(&mut of_null));
        };
        if let Some(numbers) = numbers.as_primitive_opt::<Int32Type>() {
            numbers.iter().for_each(&mut push);
        } else if let Some(days) = numbers.as_primitive_opt::<Date32Type>() {
            days.iter().for_each(&mut push);
        }
        groups
    }

    fn of_keys(keys: &Rows) -> Self {
        let mut groups = Self::empty(keys.num_rows());
        let mut places: HashMap<&[u8], u32> = HashMap::new();
        let mut last: Option<(&[u8], u32)> = None;
        for key in keys {
            let key = key.data();
            // Rows often come by partition.
            if let Some((_, mut place)) = last.filter(|(known, _)| *known == key) {
                groups.push(&mut place);
            } else {
                let place = places.entry(key).or_insert(u32::MAX);
                groups.push(place);
                last = Some((key, *place));
            }
        }
        groups
    }

    /// The rows of each group, in order: a counting sort.
    fn members(&self) -> Vec<UInt32Array> {
        let width = |n: u32| usize::try_from(n).unwrap_or(usize::MAX);
        let mut members: Vec<Vec<u32>> = self.counts.iter().map(|count| Vec::with_capacity(width(*count))).collect();
        for (row, group) in (0_u32..).zip(&self.of_rows) {
            if let Some(rows) = members.get_mut(width(*group)) {
                rows.push(row);
            }
        }
        members.into_iter().map(UInt32Array::from).collect()
    }
}

/// The least number and how many there may be, where partition values are numbers that are close to each other.
fn small_range(numbers: &ArrayRef) -> Option<(i32, usize)> {
    fn range<T: ArrowPrimitiveType<Native = i32>>(numbers: &PrimitiveArray<T>) -> Option<(i32, usize)> {
        let (least, greatest) = extremes(numbers)?;
        let len = usize::try_from(i64::from(greatest) - i64::from(least) + 1).ok()?;
        (len <= TABLE_LEN).then_some((least, len))
    }
    match numbers.data_type() {
        DataType::Int32 => range(numbers.as_primitive_opt::<Int32Type>()?),
        DataType::Date32 => range(numbers.as_primitive_opt::<Date32Type>()?),
        _ => None,
    }
}

/// Values of partition fields that are equal where the partition is the same.
fn key_columns(values: &[ArrayRef]) -> Vec<ArrayRef> {
    values.iter().map(one_nan).collect()
}

/// What has no partition.
#[cold]
pub(super) fn no_partition() -> Error {
    Error::internal("a partition without rows")
}

#[cfg(test)]
#[path = "partition_tests.rs"]
mod tests;
