//! Combines row images for the binlog (documentation: "Binlog Table"): each column is a list of the images of a row.
//! Updates have two images, before and after; other rows have one.
//!
//! ```text
//! kind  k  v          kind  k       v
//! +I    1  a          +I    [1]     [a]
//! -U    1  a   --->   +U    [1, 1]  [a, b]
//! +U    1  b
//! ```
//!
//! Java treats any row after `-U` as the image after the update. Here that row must have the same key and the kind
//! `+U`.

use arrow_array::cast::AsArray;
use arrow_array::types::Int8Type;
use arrow_array::{Array, ArrayRef, BooleanArray, ListArray, RecordBatch, UInt64Array};
use arrow_buffer::{BooleanBuffer, OffsetBuffer};
use arrow_ord::cmp::not_distinct;
use arrow_schema::{DataType, Field};
use arrow_select::concat::concat_batches;
use arrow_select::filter::filter;
use arrow_select::take::take;
use frazil_core::error::{Error, Result};

const UPDATE_BEFORE: i8 = 1;
const UPDATE_AFTER: i8 = 2;

/// The positions of the columns that identify the images of an update.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpdateColumns {
    /// The kind of the row.
    pub kind: usize,
    /// The columns of the primary key.
    pub key: Vec<usize>,
}

/// A buffer that holds back a `-U` row at the end of a batch, so that both images of an update are in one batch.
#[derive(Debug, Default)]
pub struct Waiting(Option<RecordBatch>);

impl Waiting {
    /// Adds rows, and returns those whose images are complete, or None if there are none.
    ///
    /// # Errors
    /// `Internal` if the row kinds are missing.
    pub fn take(&mut self, batch: RecordBatch, columns: &UpdateColumns) -> Result<Option<RecordBatch>> {
        let batch = match self.0.take() {
            None => batch,
            Some(first) => concat_batches(batch.schema_ref(), [&first, &batch])?,
        };
        let rows = batch.num_rows();
        if kinds(&batch, columns)?.last() != Some(&UPDATE_BEFORE) {
            return Ok(Some(batch));
        }
        self.0 = Some(batch.slice(rows - 1, 1));
        Ok(Some(batch.slice(0, rows - 1)).filter(|batch| batch.num_rows() > 0))
    }

    /// Returns the row that is still held back at the end of the input, or None.
    pub fn end(&mut self) -> Option<RecordBatch> {
        self.0.take()
    }
}

/// The rows of a batch, grouped by the row that they are images of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Images {
    /// Whether each image is the first of its row.
    first: BooleanBuffer,
}

impl Images {
    /// Returns the images of a batch. Without columns, each row has one image.
    ///
    /// # Errors
    /// `Internal` if a column is missing.
    pub fn try_new(batch: &RecordBatch, columns: Option<&UpdateColumns>) -> Result<Self> {
        let rows = batch.num_rows();
        let alone = Self { first: BooleanBuffer::new_set(rows) };
        let Some(columns) = columns else { return Ok(alone) };
        let kinds = kinds(batch, columns)?;
        if rows < 2 || !kinds.contains(&UPDATE_BEFORE) {
            return Ok(alone);
        }
        let pairs = kinds.windows(2).map(|kinds| kinds == [UPDATE_BEFORE, UPDATE_AFTER]);
        let mut is_second: BooleanBuffer = pairs.collect();
        for &at in &columns.key {
            let key = batch.columns().get(at).ok_or_else(|| Error::internal("a key was not read"))?;
            let (before, after) = (key.slice(0, rows - 1), key.slice(1, rows - 1));
            is_second = &is_second & not_distinct(&before, &after)?.values();
        }
        let first = std::iter::once(true).chain(is_second.iter().map(|second| !second)).collect();
        Ok(Self { first })
    }

    /// Returns all images of the rows that have an image among `rows`.
    pub fn of_any(&self, rows: &BooleanBuffer) -> BooleanBuffer {
        let count = self.first.len();
        let is_second = |row: usize| row < count && !self.first.value(row);
        BooleanBuffer::collect_bool(count, |row| {
            rows.value(row) || is_second(row) && rows.value(row - 1) || is_second(row + 1) && rows.value(row + 1)
        })
    }

    /// Returns the images that remain if only `rows` are kept.
    ///
    /// # Errors
    /// `Internal` if the number of rows differs.
    pub fn only(&self, rows: &BooleanBuffer) -> Result<Self> {
        let first = filter(&BooleanArray::new(self.first.clone(), None), &BooleanArray::new(rows.clone(), None))?;
        Ok(Self { first: first.as_boolean().values().clone() })
    }

    /// Returns the number of rows that have images.
    pub fn rows(&self) -> usize {
        self.first.count_set_bits()
    }

    /// Returns a column as lists of images, in the type of `field`.
    ///
    /// # Errors
    /// `Internal` if `field` is not such a list.
    pub fn lists(&self, values: &ArrayRef, field: &Field) -> Result<ArrayRef> {
        let DataType::List(element) = field.data_type() else {
            return Err(Error::internal("a column of the binlog is not a list").with("column", field.name()));
        };
        let ends = self.first.set_indices().chain([self.first.len()]);
        let offsets: Vec<i32> = ends
            .map(i32::try_from)
            .collect::<Result<_, _>>()
            .map_err(|_| Error::internal("a batch has too many rows"))?;
        let offsets = OffsetBuffer::new(offsets.into());
        Ok(std::sync::Arc::new(ListArray::try_new(element.clone(), offsets, values.clone(), None)?))
    }

    /// Returns the values of the last images.
    ///
    /// # Errors
    /// Does not fail for columns of the batch.
    pub fn last(&self, values: &ArrayRef) -> Result<ArrayRef> {
        let next = self.first.set_indices().skip(1).chain([self.first.len()]);
        let last = next.map(|row| u64::try_from(row.saturating_sub(1)).ok()).collect::<UInt64Array>();
        Ok(take(values, &last, None)?)
    }
}

fn kinds<'a>(batch: &'a RecordBatch, columns: &UpdateColumns) -> Result<&'a [i8]> {
    let kinds = batch.columns().get(columns.kind).and_then(|kinds| kinds.as_primitive_opt::<Int8Type>());
    kinds.map(|kinds| kinds.values().as_ref()).ok_or_else(|| Error::internal("row kinds are not a TINYINT"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::types::Int32Type;
    use arrow_array::{Int8Array, Int32Array};
    use arrow_schema::Schema;

    use super::*;

    const COLUMNS: UpdateColumns = UpdateColumns { kind: 1, key: vec![] };

    fn columns() -> UpdateColumns {
        UpdateColumns { key: vec![0], ..COLUMNS }
    }

    fn batch(rows: &[(i32, i8)]) -> RecordBatch {
        let schema =
            Schema::new(vec![Field::new("k", DataType::Int32, false), Field::new("kind", DataType::Int8, false)]);
        let keys: Int32Array = rows.iter().map(|row| row.0).collect::<Vec<_>>().into();
        let kinds: Int8Array = rows.iter().map(|row| row.1).collect::<Vec<_>>().into();
        RecordBatch::try_new(Arc::new(schema), vec![Arc::new(keys), Arc::new(kinds)]).unwrap()
    }

    fn lists(images: &Images, batch: &RecordBatch) -> Vec<Vec<i32>> {
        let field = Field::new("k", DataType::List(Arc::new(Field::new("element", DataType::Int32, true))), true);
        let lists = images.lists(batch.column(0), &field).unwrap();
        let values = |list: Option<ArrayRef>| list.unwrap().as_primitive::<Int32Type>().values().to_vec();
        lists.as_list::<i32>().iter().map(values).collect()
    }

    #[test]
    fn only_an_update_of_one_key_has_two_images() {
        let rows = batch(&[(1, 0), (2, 1), (2, 2), (3, 1), (4, 2), (5, 1), (5, 3), (6, 2), (7, 3)]);
        let images = Images::try_new(&rows, Some(&columns())).unwrap();
        let expected = vec![vec![1], vec![2, 2], vec![3], vec![4], vec![5], vec![5], vec![6], vec![7]];
        assert_eq!(lists(&images, &rows), expected);
        let kinds = images.last(rows.column(1)).unwrap();
        assert_eq!(kinds.as_primitive::<Int8Type>().values(), &[0, 2, 1, 2, 1, 3, 2, 3]);
        assert_eq!(images.rows(), 8);
        assert_eq!(Images::try_new(&rows, None).unwrap().rows(), 9);
    }

    #[test]
    fn a_filter_keeps_both_images_or_none() {
        let rows = batch(&[(1, 0), (2, 1), (2, 2), (3, 1), (3, 2)]);
        let images = Images::try_new(&rows, Some(&columns())).unwrap();
        let kept = images.of_any(&BooleanBuffer::from(vec![false, true, false, false, true]));
        assert_eq!(kept, BooleanBuffer::from(vec![false, true, true, true, true]));
        assert_eq!(images.of_any(&BooleanBuffer::new_unset(5)), BooleanBuffer::new_unset(5));
        assert_eq!(images.only(&kept).unwrap().first, BooleanBuffer::from(vec![true, false, true, false]));
    }

    #[test]
    fn images_split_across_batches_are_joined() {
        let mut waiting = Waiting::default();
        let first = waiting.take(batch(&[(1, 0), (2, 1)]), &columns()).unwrap().unwrap();
        assert_eq!(first, batch(&[(1, 0)]));
        let second = waiting.take(batch(&[(2, 2), (3, 1)]), &columns()).unwrap().unwrap();
        assert_eq!(second, batch(&[(2, 1), (2, 2)]));
        assert_eq!(waiting.take(batch(&[(4, 1)]), &columns()).unwrap(), Some(batch(&[(3, 1)])));
        assert_eq!(waiting.end(), Some(batch(&[(4, 1)])));
        assert_eq!(waiting.end(), None);
        assert_eq!(waiting.take(batch(&[(5, 1)]), &columns()).unwrap(), None);
    }
}
