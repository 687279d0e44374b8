//! Compares rows: keys across runs, and sequence fields among the records of a key (documentation: "Sequence and
//! Rowkind", "Merge Engine").
//!
//! | type | compared as |
//! |---|---|
//! | BOOLEAN, integers, DATE, TIME, TIMESTAMP | the number, as 64 bits |
//! | DECIMAL | the unscaled number, as 128 bits |
//! | CHAR, STRING, BINARY, BYTES | unsigned bytes |
//! | FLOAT, DOUBLE as key | total order: -0.0 before 0.0, a single NaN above all |
//! | FLOAT, DOUBLE as sequence | like Java's `<` and `>`: -0.0 ties with 0.0, NaN ties with every number |
//! | several key columns | Arrow's row encoding, whose bytes sort like the columns in sequence |
//!
//! Java also compares floating-point keys with `<` and `>`, and therefore loses rows of other keys that are compared
//! with NaN. The total order keeps those rows.

use std::cmp::Ordering;
use std::fmt::Debug;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    Time32MillisecondType, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_row::{RowConverter, SortField};
use arrow_schema::{DataType, Schema, TimeUnit};
use frazil_core::error::{Error, Result};
use frazil_core::floats::one_nan;

/// The positions of the key columns in a batch, and the way they are read.
#[derive(Debug)]
pub(super) struct KeyColumns {
    columns: Vec<usize>,
    /// The row encoder for keys of several columns.
    rows: Option<RowConverter>,
}

/// The representation of the values of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyKind {
    Int,
    Wide,
    Bytes,
}

impl KeyColumns {
    /// # Errors
    /// `Unsupported` for types that cannot be keys.
    pub(super) fn try_new(schema: &Schema, columns: Vec<usize>) -> Result<Self> {
        for &column in &columns {
            let field = schema.field(column);
            if kind(field.data_type()).is_none() {
                return Err(unsupported("primary key", field.name(), field.data_type()));
            }
        }
        if let [_] = columns.as_slice() {
            return Ok(Self { columns, rows: None });
        }
        let fields = columns.iter().map(|&column| SortField::new(schema.field(column).data_type().clone()));
        let rows = RowConverter::new(fields.collect())?;
        Ok(Self { columns, rows: Some(rows) })
    }

    /// Returns whether a column belongs to the key.
    pub(super) fn contains(&self, column: usize) -> bool {
        self.columns.contains(&column)
    }

    pub(super) fn kind(&self, schema: &Schema) -> KeyKind {
        match self.columns.as_slice() {
            [column] => kind(schema.field(*column).data_type()).unwrap_or(KeyKind::Bytes),
            _ => KeyKind::Bytes,
        }
    }

    /// Returns whether the key has a floating-point column.
    pub(super) fn floating(&self, schema: &Schema) -> bool {
        self.columns.iter().any(|&column| schema.field(column).data_type().is_floating())
    }

    fn arrays(&self, batch: &RecordBatch) -> Result<Vec<ArrayRef>> {
        let mut arrays = Vec::with_capacity(self.columns.len());
        for &column in &self.columns {
            let array = batch.column(column);
            if array.null_count() > 0 {
                let name = batch.schema_ref().field(column).name().clone();
                return Err(Error::corrupt("a primary key is NULL").with("column", name));
            }
            arrays.push(ArrayRef::clone(array));
        }
        Ok(arrays)
    }

    fn array(&self, batch: &RecordBatch) -> Result<ArrayRef> {
        let first = self.arrays(batch)?.into_iter().next();
        first.ok_or_else(|| Error::internal("a key has no columns"))
    }
}

/// The keys of a batch. A fixed-width word decides most comparisons.
pub(super) trait Keys: Debug + Clone + Send + 'static {
    /// The prefix of a key that is compared first. Equal words may belong to different keys unless `EXACT` is true.
    type Word: Copy + Ord + Debug + Send;
    /// Whether equal words are equal keys.
    const EXACT: bool;

    fn try_new(columns: &KeyColumns, batch: &RecordBatch) -> Result<Self>;

    fn word(&self, row: usize) -> Self::Word;

    /// Compares keys with equal words.
    fn rest(&self, row: usize, other: &Self, other_row: usize) -> Ordering;

    #[inline]
    fn compare(&self, row: usize, other: &Self, other_row: usize) -> Ordering {
        self.word(row).cmp(&other.word(other_row)).then_with(|| self.rest(row, other, other_row))
    }

    /// Returns the greatest comparison result between neighbouring keys: `Less` if all keys are strictly ascending, and
    /// `Greater` if the keys are not sorted.
    fn ascent(&self, rows: usize) -> Ordering {
        let mut worst = Ordering::Less;
        for row in 1..rows {
            worst = worst.max(self.compare(row - 1, self, row));
        }
        worst
    }
}

/// Keys that fit 64 bits.
#[derive(Debug, Clone)]
pub(super) struct IntKeys(ScalarBuffer<i64>);

impl Keys for IntKeys {
    type Word = i64;
    const EXACT: bool = true;

    fn try_new(columns: &KeyColumns, batch: &RecordBatch) -> Result<Self> {
        let array = columns.array(batch)?;
        let values = integers(&array).or_else(|| total_order(&array));
        values.map(Self).ok_or_else(|| unsupported("primary key", "", array.data_type()))
    }

    #[inline]
    fn word(&self, row: usize) -> i64 {
        self.0.get(row).copied().unwrap_or_default()
    }

    #[inline]
    fn rest(&self, _: usize, _: &Self, _: usize) -> Ordering {
        Ordering::Equal
    }

    #[expect(clippy::needless_bitwise_bool, reason = "a branch-free loop is much faster")]
    fn ascent(&self, _: usize) -> Ordering {
        let pairs = || self.0.iter().zip(self.0.iter().skip(1));
        if pairs().fold(true, |strict, (a, b)| strict & (a < b)) {
            return Ordering::Less;
        }
        if pairs().all(|(a, b)| a <= b) { Ordering::Equal } else { Ordering::Greater }
    }
}

/// Decimal keys.
#[derive(Debug, Clone)]
pub(super) struct WideKeys(ScalarBuffer<i128>);

impl Keys for WideKeys {
    type Word = i128;
    const EXACT: bool = true;

    fn try_new(columns: &KeyColumns, batch: &RecordBatch) -> Result<Self> {
        let array = columns.array(batch)?;
        let values = array.as_primitive_opt::<Decimal128Type>().map(|array| array.values().clone());
        values.map(Self).ok_or_else(|| unsupported("primary key", "", array.data_type()))
    }

    #[inline]
    fn word(&self, row: usize) -> i128 {
        self.0.get(row).copied().unwrap_or_default()
    }

    #[inline]
    fn rest(&self, _: usize, _: &Self, _: usize) -> Ordering {
        Ordering::Equal
    }
}

/// Byte string keys. The word is the first 16 bytes, padded with zeros.
#[derive(Debug, Clone)]
pub(super) struct ByteKeys {
    offsets: OffsetBuffer<i32>,
    values: Buffer,
}

impl ByteKeys {
    fn of(array: &ArrayRef) -> Option<Self> {
        if let Some(array) = array.as_string_opt::<i32>() {
            return Some(Self { offsets: array.offsets().clone(), values: array.values().clone() });
        }
        let array = array.as_binary_opt::<i32>()?;
        Some(Self { offsets: array.offsets().clone(), values: array.values().clone() })
    }

    #[inline]
    #[expect(clippy::cast_sign_loss, reason = "Arrow's offsets are never negative")]
    fn value(&self, row: usize) -> &[u8] {
        let bounds = self.offsets.get(row).zip(self.offsets.get(row + 1));
        bounds.and_then(|(&start, &end)| self.values.get(start as usize..end as usize)).unwrap_or_default()
    }
}

impl Keys for ByteKeys {
    type Word = u128;
    const EXACT: bool = false;

    fn try_new(columns: &KeyColumns, batch: &RecordBatch) -> Result<Self> {
        let Some(converter) = &columns.rows else {
            let array = columns.array(batch)?;
            return Self::of(&array).ok_or_else(|| unsupported("primary key", "", array.data_type()));
        };
        let arrays: Vec<_> = columns.arrays(batch)?.iter().map(one_nan).collect();
        let rows = converter.convert_columns(&arrays)?.try_into_binary()?;
        Ok(Self { offsets: rows.offsets().clone(), values: rows.values().clone() })
    }

    #[inline]
    fn word(&self, row: usize) -> u128 {
        let value = self.value(row);
        if let Some(first) = value.first_chunk::<16>() {
            return u128::from_be_bytes(*first);
        }
        let mut filled = [0; 16];
        filled.iter_mut().zip(value).for_each(|(to, from)| *to = *from);
        u128::from_be_bytes(filled)
    }

    #[inline]
    fn rest(&self, row: usize, other: &Self, other_row: usize) -> Ordering {
        let (a, b) = (self.value(row), other.value(other_row));
        match (a.get(16..), b.get(16..)) {
            (Some(a), Some(b)) => a.cmp(b),
            _ => a.cmp(b),
        }
    }
}

/// The values of a sequence field.
#[derive(Debug)]
pub(super) struct SequenceColumn {
    values: SequenceValues,
    nulls: Option<NullBuffer>,
}

#[derive(Debug)]
enum SequenceValues {
    Int(ScalarBuffer<i64>),
    Wide(ScalarBuffer<i128>),
    Float(ScalarBuffer<f64>),
    Bytes(ByteKeys),
}

impl SequenceColumn {
    /// # Errors
    /// `Unsupported` for types without an order.
    pub(super) fn try_new(name: &str, array: &ArrayRef) -> Result<Self> {
        let values = if let Some(values) = integers(array) {
            SequenceValues::Int(values)
        } else if let Some(array) = array.as_primitive_opt::<Decimal128Type>() {
            SequenceValues::Wide(array.values().clone())
        } else if let Some(array) = array.as_primitive_opt::<Float64Type>() {
            SequenceValues::Float(array.values().clone())
        } else if let Some(array) = array.as_primitive_opt::<Float32Type>() {
            SequenceValues::Float(array.values().iter().map(|&value| f64::from(value)).collect())
        } else if let Some(values) = ByteKeys::of(array) {
            SequenceValues::Bytes(values)
        } else {
            return Err(unsupported("sequence field", name, array.data_type()));
        };
        Ok(Self { values, nulls: array.logical_nulls().filter(|nulls| nulls.null_count() > 0) })
    }

    #[inline]
    pub(super) fn is_null(&self, row: usize) -> bool {
        self.nulls.as_ref().is_some_and(|nulls| row < nulls.len() && nulls.is_null(row))
    }

    /// Compares two rows. NULL is less than everything, even if `descending` reverses the other values.
    #[inline]
    pub(super) fn compare(&self, row: usize, other: &Self, other_row: usize, descending: bool) -> Ordering {
        match (self.is_null(row), other.is_null(other_row)) {
            (true, true) => return Ordering::Equal,
            (true, false) => return Ordering::Less,
            (false, true) => return Ordering::Greater,
            (false, false) => {}
        }
        let order = match (&self.values, &other.values) {
            (SequenceValues::Int(a), SequenceValues::Int(b)) => a.get(row).cmp(&b.get(other_row)),
            (SequenceValues::Wide(a), SequenceValues::Wide(b)) => a.get(row).cmp(&b.get(other_row)),
            (SequenceValues::Float(a), SequenceValues::Float(b)) => {
                a.get(row).partial_cmp(&b.get(other_row)).unwrap_or(Ordering::Equal)
            }
            (SequenceValues::Bytes(a), SequenceValues::Bytes(b)) => a.value(row).cmp(b.value(other_row)),
            // Unreachable, because all batches have the same schema and thus columns of the same type.
            _ => Ordering::Equal,
        };
        if descending { order.reverse() } else { order }
    }
}

/// Returns whether values of a type are compared as floating-point numbers, whose order is inconsistent for NaN.
pub(super) fn lawless(data_type: &DataType) -> bool {
    data_type.is_floating()
}

fn kind(data_type: &DataType) -> Option<KeyKind> {
    Some(match data_type {
        DataType::Boolean
        | DataType::Int8
        | DataType::Int16
        | DataType::Int32
        | DataType::Int64
        | DataType::Float32
        | DataType::Float64
        | DataType::Date32
        | DataType::Time32(TimeUnit::Millisecond)
        | DataType::Timestamp(TimeUnit::Millisecond | TimeUnit::Microsecond | TimeUnit::Nanosecond, _) => KeyKind::Int,
        DataType::Decimal128(..) => KeyKind::Wide,
        DataType::Utf8 | DataType::Binary => KeyKind::Bytes,
        _ => return None,
    })
}

fn integers(array: &ArrayRef) -> Option<ScalarBuffer<i64>> {
    macro_rules! widened {
        ($type:ty) => {
            array.as_primitive_opt::<$type>()?.values().iter().map(|&value| i64::from(value)).collect()
        };
    }
    Some(match array.data_type() {
        DataType::Boolean => array.as_boolean_opt()?.values().iter().map(i64::from).collect(),
        DataType::Int8 => widened!(Int8Type),
        DataType::Int16 => widened!(Int16Type),
        DataType::Int32 => widened!(Int32Type),
        DataType::Date32 => widened!(Date32Type),
        DataType::Time32(TimeUnit::Millisecond) => widened!(Time32MillisecondType),
        DataType::Int64 => array.as_primitive_opt::<Int64Type>()?.values().clone(),
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            array.as_primitive_opt::<TimestampMillisecondType>()?.values().clone()
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            array.as_primitive_opt::<TimestampMicrosecondType>()?.values().clone()
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            array.as_primitive_opt::<TimestampNanosecondType>()?.values().clone()
        }
        _ => return None,
    })
}

/// Maps floating-point numbers to integers that sort in the total order.
fn total_order(array: &ArrayRef) -> Option<ScalarBuffer<i64>> {
    let image = |value: f64| {
        let bits = if value.is_nan() { f64::NAN.to_bits() } else { value.to_bits() }.cast_signed();
        bits ^ (bits >> 63).cast_unsigned().wrapping_shr(1).cast_signed()
    };
    Some(match array.data_type() {
        DataType::Float32 => {
            array.as_primitive_opt::<Float32Type>()?.values().iter().map(|&v| image(v.into())).collect()
        }
        DataType::Float64 => array.as_primitive_opt::<Float64Type>()?.values().iter().map(|&v| image(v)).collect(),
        _ => return None,
    })
}

fn unsupported(what: &str, name: &str, data_type: &DataType) -> Error {
    Error::unsupported(format!("a {what} of type {data_type} is not supported")).with("column", name)
}
