//! Converts the rows of users to rows of a table. Shared by the table formats.
//!
//! | Arrow | accepted as |
//! |---|---|
//! | integers, floats, decimals | numbers that represent every value exactly; a double may be rounded to a float |
//! | timestamps of any unit, any zone | timestamps with or without zone, as in the source, if no digit is lost |
//! | timestamps without zone | dates, if every value is at midnight |
//! | times of any unit | times, if no digit is lost |
//! | binary values | fixed binary values of the same length |
//! | large and view forms, dictionaries, run ends | the type of their values |
//! | NULL | any type |
//!
//! Values are checked only if their type does not fit. Strings never become numbers, nor numbers booleans.

mod exact;
mod hidden;
mod keys;
mod rows;
mod source;

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{ByteArrayType, Int64Type};
use arrow_array::{Array, ArrayRef, GenericByteArray};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Fields, TimeUnit};

pub use hidden::filled;
pub use rows::{Aligner, Limit, RowShape, Rules, Target, align_column};
pub use source::source_batches;

use self::exact::exact_or_null;
use crate::error::{Error, Result};
use crate::file_values::lost_row;

/// Returns the position of each column of `found` by name. `is_known` must be true for every name; `unknown` returns
/// the error for a name that is not known.
///
/// # Errors
/// `InvalidArgument` with a duplicate column, and the errors of `unknown`.
pub fn places<'a>(
    found: &'a Fields,
    is_known: impl Fn(&str) -> bool,
    prefix: &str,
    unknown: impl Fn(&str) -> Error,
) -> Result<HashMap<&'a str, usize>> {
    let mut places = HashMap::new();
    for (place, field) in found.iter().enumerate() {
        let name = field.name().as_str();
        if places.insert(name, place).is_some() {
            return Err(Error::invalid(format!("two columns have the same name `{prefix}{name}`")));
        }
        if !is_known(name) {
            return Err(unknown(name));
        }
    }
    Ok(places)
}

/// The row numbers of values in a write.
#[derive(Debug, Clone, Copy)]
pub enum RowNumbers<'a> {
    /// The values of consecutive rows, starting at this row.
    From(usize),
    /// The elements of lists or the entries of maps: the offsets at which each list or map begins, and the row numbers
    /// of the lists or maps.
    Inside(&'a OffsetBuffer<i32>, &'a RowNumbers<'a>),
}

impl RowNumbers<'_> {
    /// Returns the number of the row that contains the value at a position.
    pub fn number(&self, position: usize) -> usize {
        match self {
            Self::From(first) => first + position,
            Self::Inside(offsets, around) => {
                let begins = |offset: &i32| usize::try_from(*offset).is_ok_and(|offset| offset <= position);
                around.number(offsets.partition_point(begins).saturating_sub(1))
            }
        }
    }
}

/// Returns whether an Arrow type is a list type.
pub fn is_list(data_type: &DataType) -> bool {
    use DataType as D;
    matches!(data_type, D::List(_) | D::LargeList(_) | D::ListView(_) | D::LargeListView(_) | D::FixedSizeList(..))
}

/// Decodes a dictionary or run-end encoded array, and rebases the offsets of large strings and binary values to 0.
/// Returns other arrays unchanged.
///
/// # Errors
/// `InvalidArgument` for inconsistent arrays.
pub fn unpacked(values: &ArrayRef) -> Result<ArrayRef> {
    match values.data_type() {
        DataType::LargeUtf8 => values.as_string_opt::<i64>().map_or_else(|| Ok(values.clone()), rebased),
        DataType::LargeBinary => values.as_binary_opt::<i64>().map_or_else(|| Ok(values.clone()), rebased),
        DataType::Dictionary(_, held) => unpacked(&arrow_cast::cast(values, held)?),
        DataType::RunEndEncoded(_, held) => unpacked(&arrow_cast::cast(values, held.data_type())?),
        _ => Ok(values.clone()),
    }
}

/// Returns strings or binary values with offsets that begin at 0. In a slice of a longer array, offsets may exceed 32
/// bits although the slice itself is short.
fn rebased<T: ByteArrayType<Offset = i64>>(array: &GenericByteArray<T>) -> Result<ArrayRef> {
    let offsets = array.value_offsets();
    let (first, last) = (offsets.first().copied().unwrap_or(0), offsets.last().copied().unwrap_or(0));
    let start = usize::try_from(first).map_err(|_| Error::internal("an offset is negative"))?;
    let length = usize::try_from(last - first).map_err(|_| Error::internal("offsets are not ascending"))?;
    let offsets: Vec<i64> = offsets.iter().map(|offset| offset - first).collect();
    let values = array.values().slice_with_length(start, length);
    let offsets = OffsetBuffer::new(offsets.into());
    Ok(Arc::new(GenericByteArray::<T>::try_new(offsets, values, array.nulls().cloned())?))
}

/// Returns whether one Arrow type can hold every value of another. Fractional digits of times, and decimals whose scale
/// is extended, may not fit; [`cast_exactly`] checks their values.
fn widens(from: &DataType, to: &DataType) -> bool {
    use DataType as D;
    match to {
        D::Boolean | D::Date32 => from == to,
        D::Int8 => matches!(from, D::Int8),
        D::Int16 => matches!(from, D::Int8 | D::Int16 | D::UInt8),
        D::Int32 => matches!(from, D::Int8 | D::Int16 | D::Int32 | D::UInt8 | D::UInt16),
        D::Int64 => {
            matches!(from, D::Int8 | D::Int16 | D::Int32 | D::Int64 | D::UInt8 | D::UInt16 | D::UInt32)
        }
        D::Float32 => matches!(from, D::Float16 | D::Float32),
        D::Float64 => matches!(from, D::Float16 | D::Float32 | D::Float64),
        D::Decimal128(precision, scale) => match from {
            D::Decimal32(p, s) | D::Decimal64(p, s) | D::Decimal128(p, s) | D::Decimal256(p, s) => {
                p <= precision && s <= scale
            }
            _ => false,
        },
        D::Time32(_) | D::Time64(_) => matches!(from, D::Time32(_) | D::Time64(_)),
        D::Timestamp(_, zone) => matches!(from, D::Timestamp(_, found) if found.is_some() == zone.is_some()),
        D::Utf8 => matches!(from, D::Utf8 | D::LargeUtf8 | D::Utf8View),
        D::FixedSizeBinary(length) => matches!(from, D::FixedSizeBinary(found) if found == length),
        D::Binary => matches!(from, D::Binary | D::LargeBinary | D::BinaryView | D::FixedSizeBinary(_)),
        _ => false,
    }
}

/// The reason why a conversion would change a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// The type cannot represent the value.
    Value,
    /// The type has too few fractional digits of seconds.
    Digits,
}

/// Converts values to `to` without changing any, except that doubles are rounded to floats. `unfit` returns the error
/// for a value that would change, given its position and the loss.
///
/// # Errors
/// The errors of `unfit`, and `InvalidArgument` for types that cannot be converted.
pub fn cast_exactly(values: &ArrayRef, to: &DataType, unfit: impl Fn(usize, Loss) -> Error) -> Result<ArrayRef> {
    if values.data_type() == to {
        return Ok(values.clone());
    }
    let cast = exact_or_null(values, to)?;
    if let Some(row) = lost_row(values, &cast) {
        return Err(unfit(row, Loss::Value));
    }
    let lost = coarser(values.data_type(), to).and_then(|ticks| lost_digits(values, ticks));
    lost.map_or(Ok(cast), |row| Err(unfit(row, Loss::Digits)))
}

/// Returns how many ticks of the unit of `from` are one tick of `to`. None if `to` is not coarser, or if either type
/// has no unit.
fn coarser(from: &DataType, to: &DataType) -> Option<i64> {
    let unit = |data_type: &DataType| match data_type {
        DataType::Timestamp(unit, _) | DataType::Time32(unit) | DataType::Time64(unit) => Some(match unit {
            TimeUnit::Second => 1,
            TimeUnit::Millisecond => 1_000,
            TimeUnit::Microsecond => 1_000_000,
            TimeUnit::Nanosecond => 1_000_000_000_i64,
        }),
        _ => None,
    };
    let (from, to) = (unit(from)?, unit(to)?);
    (from > to).then(|| from / to)
}

/// Returns the position of the first time that is not a multiple of `ticks`, in the unit of its type. None if all are
/// multiples.
pub fn lost_digits(values: &dyn Array, ticks: i64) -> Option<usize> {
    let integers = match values.data_type() {
        DataType::Time32(_) => arrow_cast::cast(&arrow_cast::cast(values, &DataType::Int32).ok()?, &DataType::Int64),
        _ => arrow_cast::cast(values, &DataType::Int64),
    };
    let integers = integers.ok()?;
    integers.as_primitive_opt::<Int64Type>()?.iter().position(|value| value.is_some_and(|value| value % ticks != 0))
}

#[cfg(test)]
mod tests {
    use arrow_array::types::Decimal128Type;
    use arrow_array::{
        Decimal128Array, Int32Array, LargeStringArray, Time64NanosecondArray, TimestampMicrosecondArray,
    };
    use arrow_schema::Field;

    use super::*;

    fn cast(values: impl Array + 'static, to: &DataType) -> Result<ArrayRef> {
        let unfit = |row, loss| Error::invalid(format!("{row} {loss:?}"));
        let values: ArrayRef = Arc::new(values);
        cast_exactly(&values, to, unfit)
    }

    #[test]
    fn conversions_change_no_value() {
        let far = TimestampMicrosecondArray::from(vec![Some(0), None, Some(i64::MAX)]);
        let nanoseconds = DataType::Timestamp(TimeUnit::Nanosecond, None);
        assert!(cast(far.clone(), &nanoseconds).unwrap_err().to_string().contains("2 Value"));
        let milliseconds = DataType::Timestamp(TimeUnit::Millisecond, None);
        assert!(cast(far, &milliseconds).unwrap_err().to_string().contains("2 Digits"));
        let times = Time64NanosecondArray::from(vec![1_000_000, 1_000_001]);
        let time = DataType::Time32(TimeUnit::Millisecond);
        assert!(cast(times.clone(), &time).unwrap_err().to_string().contains("1 Digits"));
        assert_eq!(cast(times.slice(0, 1), &time).unwrap().data_type(), &time);
        assert_eq!(lost_digits(&cast(times.slice(0, 1), &time).unwrap(), 10), Some(0));
        let prices =
            Decimal128Array::from(vec![Some(125), None, Some(-99_999)]).with_precision_and_scale(5, 1).unwrap();
        let cents = DataType::Decimal128(5, 2);
        assert!(cast(prices.clone(), &cents).unwrap_err().to_string().contains("2 Value"));
        let wider = cast(prices, &DataType::Decimal128(6, 2)).unwrap();
        assert_eq!(
            wider.as_primitive::<Decimal128Type>().iter().collect::<Vec<_>>(),
            [Some(1250), None, Some(-999_990)]
        );
        assert_eq!(cast(Int32Array::from(vec![1]), &DataType::Int64).unwrap().as_primitive::<Int64Type>().value(0), 1);
    }

    #[test]
    fn only_types_that_hold_every_value_are_wider() {
        use DataType as D;
        for (from, to) in [
            (D::Int8, D::Int16),
            (D::UInt8, D::Int16),
            (D::Utf8View, D::Utf8),
            (D::Float16, D::Float32),
            (D::Decimal128(10, 1), D::Decimal128(20, 2)),
            (D::Decimal32(9, -2), D::Decimal128(11, 0)),
            (D::Decimal256(9, 2), D::Decimal128(9, 3)),
        ] {
            assert!(widens(&from, &to), "{from} {to}");
            assert!(!widens(&to, &D::Int8) && !widens(&to, &D::Boolean), "{to}");
        }
        for (from, to) in [
            (D::Int32, D::Int16),
            (D::UInt8, D::Int8),
            (D::UInt64, D::Int64),
            (D::Int64, D::Float64),
            (D::Decimal128(9, 2), D::Decimal128(8, 2)),
            (D::Decimal128(9, 2), D::Decimal128(38, 1)),
            (D::Timestamp(TimeUnit::Second, Some("UTC".into())), D::Timestamp(TimeUnit::Second, None)),
            (D::Int64, D::Utf8),
            (D::Utf8, D::Binary),
            (D::Null, D::Null),
        ] {
            assert!(!widens(&from, &to), "{from} {to}");
        }
    }

    #[test]
    fn columns_are_known_and_there_once() {
        let fields =
            |names: &[&str]| -> Fields { names.iter().map(|name| Field::new(*name, DataType::Null, true)).collect() };
        let unknown = |name: &str| Error::invalid(format!("no `{name}`"));
        let found =
            |names: &[&str]| places(&fields(names), |name| name < "c", "s.", unknown).map(|places| places.len());
        assert_eq!(found(&["b", "a"]).unwrap(), 2);
        assert!(found(&["a", "c"]).unwrap_err().to_string().contains("no `c`"));
        assert!(found(&["a", "a"]).unwrap_err().to_string().contains("`s.a`"));
    }

    #[test]
    fn values_inside_lists_have_the_numbers_of_their_rows() {
        let offsets = OffsetBuffer::new(vec![0, 0, 2, 2, 3].into());
        let rows = RowNumbers::From(10);
        let inside = RowNumbers::Inside(&offsets, &rows);
        assert_eq!([0, 1, 2].map(|position| inside.number(position)), [11, 11, 13]);
    }

    #[test]
    fn parts_of_long_texts_begin_at_0() {
        let texts: ArrayRef = Arc::new(LargeStringArray::from(vec!["a", "bc", "d"]).slice(1, 2));
        let texts = unpacked(&texts).unwrap();
        let texts = texts.as_string::<i64>();
        assert_eq!((texts.value(0), texts.value(1), texts.offsets().first()), ("bc", "d", Some(&0)));
    }
}
