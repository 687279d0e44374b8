//! Converts bounds of Parquet row groups to arrays of the column's type in the table (Parquet: `Statistics`, "Column
//! Orders").
//!
//! Bounds are hints: a bound that cannot be decoded is NULL and has no effect. Bounds may be truncated: a lower bound
//! is at most, and an upper bound at least, any value of the row group, and neither needs to be an actual value.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Decimal128Array, FixedSizeBinaryArray, Float32Array, Float64Array, Int32Array,
    Int64Array, StringArray,
};
use arrow_schema::DataType;

use super::{FileFormat, convert};
use crate::spec::types::PrimitiveType;

/// Returns the lower or upper bounds of one leaf column, one per row group, in the Arrow type of `target`.
///
/// `file_type` is the Arrow type of the leaf column and `physical` the name of its Parquet type; each value is in
/// Parquet's plain encoding: numbers little-endian, byte arrays without a length. Bounds that are missing, NaN, or
/// invalid for the type are NULL. Returns None if no bound of such a column can be used: INT96, variants, geometries,
/// other types.
pub fn bounds_array(
    target: &PrimitiveType,
    file_type: &DataType,
    physical: &str,
    values: &[Option<&[u8]>],
) -> Option<ArrayRef> {
    use PrimitiveType as P;
    if matches!(target, P::Unknown | P::Variant | P::Geometry(_) | P::Geography(..)) {
        return None;
    }
    let decoded = decode(plain(file_type), physical, values)?;
    convert::convert(&decoded, target, FileFormat::Parquet).ok()
}

fn plain(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Dictionary(_, values) => plain(values),
        DataType::RunEndEncoded(_, values) => plain(values.data_type()),
        other => other,
    }
}

fn decode(file_type: &DataType, physical: &str, values: &[Option<&[u8]>]) -> Option<ArrayRef> {
    use DataType as D;
    let values = || values.iter().copied();
    let decimal = |unscaled: Decimal128Array, precision: u8, scale: i8| {
        let unscaled = unscaled.with_precision_and_scale(precision, scale).ok()?;
        Some(Arc::new(unscaled) as ArrayRef)
    };
    match (physical, file_type) {
        ("BOOLEAN", D::Boolean) => Some(Arc::new(values().map(boolean).collect::<BooleanArray>())),
        ("INT32" | "INT64", D::Decimal32(p, s) | D::Decimal64(p, s) | D::Decimal128(p, s) | D::Decimal256(p, s)) => {
            decimal(values().map(|value| integer(value).map(i128::from)).collect(), *p, *s)
        }
        (
            "FIXED_LEN_BYTE_ARRAY" | "BYTE_ARRAY",
            D::Decimal32(p, s) | D::Decimal64(p, s) | D::Decimal128(p, s) | D::Decimal256(p, s),
        ) => decimal(values().map(big_endian).collect(), *p, *s),
        // Numbers, dates, times and timestamps are these integers in other types. An unsigned integer that does not fit
        // becomes NULL.
        ("INT32", to) => cast(Arc::new(values().map(|v| bytes(v).map(i32::from_le_bytes)).collect::<Int32Array>()), to),
        ("INT64", to) => cast(Arc::new(values().map(|v| bytes(v).map(i64::from_le_bytes)).collect::<Int64Array>()), to),
        ("FLOAT", D::Float32) => {
            let numbers = values().map(|v| bytes(v).map(f32::from_le_bytes).filter(|number| !number.is_nan()));
            Some(Arc::new(numbers.collect::<Float32Array>()))
        }
        ("DOUBLE", D::Float64) => {
            let numbers = values().map(|v| bytes(v).map(f64::from_le_bytes).filter(|number| !number.is_nan()));
            Some(Arc::new(numbers.collect::<Float64Array>()))
        }
        ("BYTE_ARRAY", D::Utf8 | D::LargeUtf8 | D::Utf8View) => Some(Arc::new(
            values().map(|v| v.and_then(|bytes| std::str::from_utf8(bytes).ok())).collect::<StringArray>(),
        )),
        ("BYTE_ARRAY", D::Binary | D::LargeBinary | D::BinaryView) => Some(Arc::new(values().collect::<BinaryArray>())),
        ("FIXED_LEN_BYTE_ARRAY", D::FixedSizeBinary(size)) => {
            let length = usize::try_from(*size).ok()?;
            let whole = values().map(|value| value.filter(|bytes| bytes.len() == length));
            Some(Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(whole, *size).ok()?))
        }
        _ => None,
    }
}

fn cast(array: ArrayRef, to: &DataType) -> Option<ArrayRef> {
    if array.data_type() == to { Some(array) } else { arrow_cast::cast(&array, to).ok() }
}

fn bytes<const N: usize>(value: Option<&[u8]>) -> Option<[u8; N]> {
    value.and_then(|value| value.try_into().ok())
}

fn boolean(value: Option<&[u8]>) -> Option<bool> {
    match value {
        Some([0]) => Some(false),
        Some([1]) => Some(true),
        _ => None,
    }
}

fn integer(value: Option<&[u8]>) -> Option<i64> {
    bytes(value).map(|value| i64::from(i32::from_le_bytes(value))).or_else(|| bytes(value).map(i64::from_le_bytes))
}

/// Returns a two's complement number of at most sixteen bytes.
fn big_endian(value: Option<&[u8]>) -> Option<i128> {
    let value = value.filter(|bytes| bytes.len() <= 16)?;
    let sign = if *value.first()? < 0x80 { 0 } else { -1 };
    Some(value.iter().fold(sign, |number, byte| number << 8 | i128::from(*byte)))
}

#[cfg(test)]
mod tests {
    use arrow_array::{Date32Array, Time64MicrosecondArray, TimestampMicrosecondArray, TimestampNanosecondArray};
    use arrow_schema::TimeUnit;
    use std::sync::Arc;

    use super::*;
    use PrimitiveType as P;

    type Case<'a> = (P, DataType, &'a str, Vec<Option<&'a [u8]>>, Option<ArrayRef>);

    fn decimals(values: Vec<Option<i128>>, precision: u8) -> ArrayRef {
        Arc::new(Decimal128Array::from(values).with_precision_and_scale(precision, 2).unwrap())
    }

    #[expect(clippy::too_many_lines, reason = "a table of cases")]
    fn numbers() -> Vec<Case<'static>> {
        let micros = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
        vec![
            (
                P::Int,
                DataType::Int32,
                "INT32",
                vec![Some(&[0xff; 4]), None],
                Some(Arc::new(Int32Array::from(vec![Some(-1), None]))),
            ),
            (P::Long, DataType::Int32, "INT32", vec![Some(&[0xff; 4])], Some(Arc::new(Int64Array::from(vec![-1])))),
            (P::Int, DataType::Int8, "INT32", vec![Some(&[0xff; 4])], Some(Arc::new(Int32Array::from(vec![-1])))),
            (P::Int, DataType::Int32, "INT32", vec![Some(&[0; 8])], Some(Arc::new(Int32Array::from(vec![None])))),
            (
                P::Long,
                DataType::UInt32,
                "INT32",
                vec![Some(&[1, 0, 0, 0]), Some(&[0xff; 4])],
                Some(Arc::new(Int64Array::from(vec![Some(1), None]))),
            ),
            (
                P::Boolean,
                DataType::Boolean,
                "BOOLEAN",
                vec![Some(&[1]), Some(&[2])],
                Some(Arc::new(BooleanArray::from(vec![Some(true), None]))),
            ),
            (
                P::Double,
                DataType::Float32,
                "FLOAT",
                vec![Some(&[0, 0, 0xc0, 0x3f]), Some(&[0, 0, 0xc0, 0x7f])],
                Some(Arc::new(Float64Array::from(vec![Some(1.5), None]))),
            ),
            (
                P::Double,
                DataType::Float64,
                "DOUBLE",
                vec![Some(&[0, 0, 0, 0, 0, 0, 0xf8, 0x3f])],
                Some(Arc::new(Float64Array::from(vec![1.5]))),
            ),
            (P::Date, DataType::Date32, "INT32", vec![Some(&[2, 0, 0, 0])], Some(Arc::new(Date32Array::from(vec![2])))),
            (
                P::Timestamp,
                DataType::Date32,
                "INT32",
                vec![Some(&[1, 0, 0, 0])],
                Some(Arc::new(TimestampMicrosecondArray::from(vec![86_400_000_000]))),
            ),
            (
                P::Time,
                DataType::Time32(TimeUnit::Millisecond),
                "INT32",
                vec![Some(&[2, 0, 0, 0])],
                Some(Arc::new(Time64MicrosecondArray::from(vec![2000]))),
            ),
            (
                P::Timestamptz,
                micros.clone(),
                "INT64",
                vec![Some(&[0xff; 8])],
                Some(Arc::new(TimestampMicrosecondArray::from(vec![-1]).with_timezone("UTC"))),
            ),
            (
                P::TimestampNs,
                micros,
                "INT64",
                vec![Some(&[1, 0, 0, 0, 0, 0, 0, 0])],
                Some(Arc::new(TimestampNanosecondArray::from(vec![1000]))),
            ),
            (P::Timestamp, DataType::Timestamp(TimeUnit::Nanosecond, None), "INT96", vec![Some(&[0; 12])], None),
            (P::Int, DataType::Int64, "INT64", vec![Some(&[0; 8])], None),
        ]
    }

    fn others() -> Vec<Case<'static>> {
        let decimal = |precision| P::Decimal { precision, scale: 2 };
        let text = |values: Vec<Option<&str>>| -> Option<ArrayRef> { Some(Arc::new(StringArray::from(values))) };
        let uuid =
            FixedSizeBinaryArray::try_from_sparse_iter_with_size([Some([9_u8; 16]), None].into_iter(), 16).unwrap();
        let dictionary = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::LargeUtf8));
        vec![
            (
                decimal(18),
                DataType::Decimal128(9, 2),
                "INT32",
                vec![Some(&[0xff; 4])],
                Some(decimals(vec![Some(-1)], 18)),
            ),
            (
                decimal(18),
                DataType::Decimal128(18, 2),
                "INT64",
                vec![Some(&[1, 0, 0, 0, 0, 0, 0, 0])],
                Some(decimals(vec![Some(1)], 18)),
            ),
            (
                decimal(38),
                DataType::Decimal128(20, 2),
                "FIXED_LEN_BYTE_ARRAY",
                vec![Some(&[0xff, 0x7f]), Some(&[0, 0x80]), Some(&[]), Some(&[0; 17])],
                Some(decimals(vec![Some(-129), Some(128), None, None], 38)),
            ),
            (
                P::String,
                dictionary,
                "BYTE_ARRAY",
                vec![Some("é".as_bytes()), Some(&[0xc3])],
                text(vec![Some("é"), None]),
            ),
            (P::String, DataType::Utf8, "BYTE_ARRAY", vec![Some(b"")], text(vec![Some("")])),
            (
                P::Binary,
                DataType::Binary,
                "BYTE_ARRAY",
                vec![Some(&[0xff])],
                Some(Arc::new(BinaryArray::from(vec![&[0xff_u8][..]]))),
            ),
            (
                P::Uuid,
                DataType::FixedSizeBinary(16),
                "FIXED_LEN_BYTE_ARRAY",
                vec![Some(&[9; 16]), Some(&[9; 4])],
                Some(Arc::new(uuid)),
            ),
            (P::Geometry(None), DataType::Binary, "BYTE_ARRAY", vec![Some(&[1])], None),
            (P::Unknown, DataType::Int32, "INT32", vec![Some(&[0; 4])], None),
            (P::Long, DataType::Utf8, "BYTE_ARRAY", vec![Some(b"1")], None),
        ]
    }

    #[test]
    fn bounds_become_values_of_the_table() {
        for (target, file_type, physical, values, expected) in numbers().into_iter().chain(others()) {
            let label = format!("{physical} {file_type} as {target:?}");
            assert_eq!(bounds_array(&target, &file_type, physical, &values), expected, "{label}");
        }
    }
}
