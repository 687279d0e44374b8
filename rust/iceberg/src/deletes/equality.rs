//! Applies equality deletes (table spec, "Equality Delete Files"). Each row of a delete file deletes all rows that have
//! the same values in the `equality_ids` columns and a lower data sequence number.
//!
//! Values are compared by their encoded bytes: NULL equals NULL, -0.0 does not equal 0.0, and all NaN values are equal.
//! Decimals are compared in the table's scale. For each key, a key set stores the highest sequence number at which it
//! was deleted, so one set serves data files of any age.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, BinaryArray, Int64Array, StringArray};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder, Buffer, NullBuffer, ScalarBuffer};
use arrow_row::{RowConverter, SortField};
use arrow_schema::DataType;
use frazil_core::error::{Error, ErrorKind, Result};

use super::key_table::{IntegerTable, KeyTable};

/// The number of rows that are encoded at a time. Their keys stay in the cache until they are looked up.
const ROWS_AT_A_TIME: usize = 8192;

/// The deleted keys for one list of equality ids.
#[derive(Debug)]
pub struct EqualityKeys {
    types: Vec<DataType>,
    keys: Keys,
    /// The sequence number of the NULL key, which is stored separately for a single column.
    null_key: Option<i64>,
    /// The highest sequence number of any key.
    newest: i64,
}

/// The keys in the cheapest representation that identifies them.
#[derive(Debug)]
enum Keys {
    /// One column of a type of up to 64 bits.
    Integers(IntegerTable),
    /// One column of strings, binary values or decimals.
    Bytes(KeyTable),
    /// Any other columns, encoded as rows.
    Rows(RowConverter, KeyTable),
}

/// A builder that collects the keys of equality delete files with the same equality ids.
#[derive(Debug)]
pub struct EqualityKeysBuilder(EqualityKeys);

impl EqualityKeysBuilder {
    /// Creates an empty builder for columns of these types, which are the table's, in the order of the equality ids.
    ///
    /// # Errors
    /// `CorruptDeletes` if there are no columns (every row would be deleted); `Unsupported` for nested types.
    pub fn new(types: &[DataType]) -> Result<Self> {
        let keys = match types {
            [] => return Err(Error::new(ErrorKind::CorruptDeletes, "an equality delete file has no equality ids")),
            [one] if is_integer(one) => Keys::Integers(IntegerTable::default()),
            [DataType::Utf8 | DataType::Binary | DataType::FixedSizeBinary(_) | DataType::Decimal128(..)] => {
                Keys::Bytes(KeyTable::default())
            }
            many => {
                let field = |data_type: &DataType| {
                    SortField::new(if is_integer(data_type) { DataType::Int64 } else { data_type.clone() })
                };
                let fields: Vec<SortField> = many.iter().map(field).collect();
                if many.iter().any(DataType::is_nested) || !RowConverter::supports_fields(&fields) {
                    return Err(Error::unsupported(format!(
                        "equality deletes on columns of the types {many:?} are not supported"
                    )));
                }
                Keys::Rows(RowConverter::new(fields)?, KeyTable::default())
            }
        };
        let newest = i64::MIN;
        Ok(Self(EqualityKeys { types: types.to_vec(), keys, null_key: None, newest }))
    }

    /// Adds the rows of a delete file with the data sequence number `sequence_number`. `columns` are those of the
    /// equality ids, in order, in the table's types.
    ///
    /// # Errors
    /// `Internal` if `columns` do not have the types given to [`EqualityKeysBuilder::new`].
    pub fn push(&mut self, columns: &[ArrayRef], sequence_number: i64) -> Result<()> {
        let Self(EqualityKeys { types, keys, null_key, newest }) = self;
        let rows = check_columns(types, columns)?;
        if rows == 0 {
            return Ok(());
        }
        *newest = sequence_number.max(*newest);
        match (keys, columns) {
            (Keys::Integers(keys), [column]) => {
                let nulls = column.nulls();
                keys.insert_all(&integers(column)?, nulls, sequence_number);
                note_null(null_key, nulls, sequence_number);
            }
            (Keys::Bytes(keys), [column]) => {
                let nulls = column.nulls();
                let values = ByteColumn::new(column)?;
                keys.reserve(rows);
                for row in 0..rows {
                    if nulls.is_none_or(|nulls| nulls.is_valid(row)) {
                        keys.insert(values.value(row), sequence_number);
                    }
                }
                note_null(null_key, nulls, sequence_number);
            }
            (Keys::Rows(converter, keys), _) => {
                keys.reserve(rows);
                each_row(converter, columns, rows, |key| keys.insert(key, sequence_number))?;
            }
            _ => return Err(Error::internal("a single-column equality key has several columns")),
        }
        Ok(())
    }

    /// Returns the approximate memory size in bytes.
    pub fn size_bytes(&self) -> usize {
        self.0.size_bytes()
    }

    /// Returns the collected keys.
    pub fn finish(self) -> EqualityKeys {
        self.0
    }
}

impl EqualityKeys {
    /// Returns a mask of the deleted rows of a data file with `data_sequence_number`: those with a key that was deleted
    /// at a *higher* sequence number. `columns` are those of the equality ids, in order, in the table's types. Columns
    /// that the file lacks hold their initial default or NULL.
    ///
    /// # Errors
    /// `Internal` if `columns` do not have the types of the keys.
    pub fn deleted(&self, columns: &[ArrayRef], data_sequence_number: i64) -> Result<BooleanBuffer> {
        let rows = check_columns(&self.types, columns)?;
        if self.newest <= data_sequence_number || self.is_empty() {
            return Ok(BooleanBuffer::new_unset(rows));
        }
        let deletes_null = self.null_key.is_some_and(|at| at > data_sequence_number);
        match (&self.keys, columns) {
            (Keys::Integers(keys), [column]) => {
                let values = integers(column)?;
                let found = keys.find_above(&values, data_sequence_number);
                Ok(with_nulls(mask(found, rows), column.nulls(), deletes_null))
            }
            (Keys::Bytes(keys), [column]) => {
                let values = ByteColumn::new(column)?;
                let found = keys.find_above(rows, |row| values.value(row), data_sequence_number);
                Ok(with_nulls(mask(found, rows), column.nulls(), deletes_null))
            }
            (Keys::Rows(converter, keys), _) => {
                let mut found = BooleanBufferBuilder::new(rows);
                each_row(converter, columns, rows, |key| found.append(keys.is_above(key, data_sequence_number)))?;
                Ok(found.finish())
            }
            _ => Err(Error::internal("a single-column equality key has several columns")),
        }
    }

    /// Returns the number of distinct keys.
    pub fn len(&self) -> usize {
        let keys = match &self.keys {
            Keys::Integers(keys) => keys.len(),
            Keys::Bytes(keys) | Keys::Rows(_, keys) => keys.len(),
        };
        keys + usize::from(self.null_key.is_some())
    }

    /// Returns whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the approximate memory size in bytes.
    pub fn size_bytes(&self) -> usize {
        match &self.keys {
            Keys::Integers(keys) => keys.size_bytes(),
            Keys::Bytes(keys) => keys.size_bytes(),
            Keys::Rows(converter, keys) => converter.size() + keys.size_bytes(),
        }
    }
}

/// Returns whether values of this type can be identified by an `i64`.
fn is_integer(data_type: &DataType) -> bool {
    use DataType::{Date32, Float32, Float64, Int32, Int64, Time64, Timestamp};
    matches!(data_type, Int32 | Int64 | Float32 | Float64 | Date32 | Time64(_) | Timestamp(..))
}

/// Converts each value of a column to an integer that identifies it. The integers of NULLs are arbitrary.
fn integers(column: &ArrayRef) -> Result<ScalarBuffer<i64>> {
    let data = column.to_data();
    let values = data.buffers().first().ok_or_else(|| Error::internal("a column has no value buffer"))?;
    Ok(match column.data_type() {
        DataType::Int32 | DataType::Date32 => {
            let values = ScalarBuffer::<i32>::new(values.clone(), data.offset(), data.len());
            values.iter().copied().map(i64::from).collect()
        }
        DataType::Float32 => {
            let bits = |value: &f32| if value.is_nan() { f32::NAN.to_bits() } else { value.to_bits() };
            column.as_primitive::<Float32Type>().values().iter().map(|value| i64::from(bits(value))).collect()
        }
        DataType::Float64 => {
            let bits = |value: &f64| if value.is_nan() { f64::NAN.to_bits() } else { value.to_bits() };
            column.as_primitive::<Float64Type>().values().iter().map(|value| bits(value).cast_signed()).collect()
        }
        _ => ScalarBuffer::new(values.clone(), data.offset(), data.len()),
    })
}

/// The bytes that identify the values of a column.
enum ByteColumn<'a> {
    Text(&'a StringArray),
    Binary(&'a BinaryArray),
    Fixed { values: Buffer, width: usize },
}

impl<'a> ByteColumn<'a> {
    fn new(column: &'a ArrayRef) -> Result<Self> {
        let width = match column.data_type() {
            DataType::Utf8 => return Ok(Self::Text(column.as_string())),
            DataType::Binary => return Ok(Self::Binary(column.as_binary())),
            DataType::FixedSizeBinary(width) => usize::try_from(*width).unwrap_or(0),
            _ => size_of::<i128>(),
        };
        let data = column.to_data();
        let values = data.buffers().first().ok_or_else(|| Error::internal("a column has no value buffer"))?;
        Ok(Self::Fixed { values: values.slice_with_length(data.offset() * width, data.len() * width), width })
    }

    #[inline]
    fn value(&self, row: usize) -> &[u8] {
        match self {
            Self::Text(values) => values.value(row).as_bytes(),
            Self::Binary(values) => values.value(row),
            Self::Fixed { values, width } => values.get(row * width..(row + 1) * width).unwrap_or_default(),
        }
    }
}

/// Passes each encoded row to `take`, in order.
fn each_row(converter: &RowConverter, columns: &[ArrayRef], rows: usize, mut take: impl FnMut(&[u8])) -> Result<()> {
    let mut encoded = converter.empty_rows(0, 0);
    let mut start = 0;
    while start < rows {
        let len = ROWS_AT_A_TIME.min(rows - start);
        let part = |column: &ArrayRef| {
            let part = column.slice(start, len);
            if !is_integer(part.data_type()) {
                return Ok(part);
            }
            Ok(Arc::new(Int64Array::new(integers(&part)?, part.nulls().cloned())) as ArrayRef)
        };
        let parts = columns.iter().map(part).collect::<Result<Vec<_>>>()?;
        encoded.clear();
        converter.append(&mut encoded, &parts)?;
        encoded.iter().for_each(|row| take(row.as_ref()));
        start += len;
    }
    Ok(())
}

fn mask(words: Vec<u64>, rows: usize) -> BooleanBuffer {
    BooleanBuffer::new(words.into(), 0, rows)
}

/// Returns the number of rows after checking that the columns have these types.
fn check_columns(types: &[DataType], columns: &[ArrayRef]) -> Result<usize> {
    let rows = columns.first().map_or(0, Array::len);
    let fits = |(data_type, column): (&DataType, &ArrayRef)| {
        column.len() == rows
            && match (data_type, column.data_type()) {
                // The name of the time zone does not change the instant.
                (DataType::Timestamp(a, Some(_)), DataType::Timestamp(b, Some(_))) => a == b,
                (a, b) => a == b,
            }
    };
    if types.len() != columns.len() || !types.iter().zip(columns).all(fits) {
        let found: Vec<_> = columns.iter().map(|column| (column.data_type(), column.len())).collect();
        return Err(Error::internal(format!(
            "equality keys of the types {types:?} do not match the columns {found:?}"
        )));
    }
    Ok(rows)
}

fn note_null(null_key: &mut Option<i64>, nulls: Option<&NullBuffer>, sequence_number: i64) {
    if nulls.is_some_and(|nulls| nulls.null_count() > 0) {
        *null_key = (*null_key).max(Some(sequence_number));
    }
}

/// Returns `found` where the column is valid and `deletes_null` where it is NULL.
fn with_nulls(found: BooleanBuffer, nulls: Option<&NullBuffer>, deletes_null: bool) -> BooleanBuffer {
    match nulls {
        Some(nulls) if deletes_null => &found | &!nulls.inner(),
        Some(nulls) => &found & nulls.inner(),
        None => found,
    }
}

#[cfg(test)]
mod tests;
