use std::sync::Arc;

use arrow_array::{
    BinaryArray, Date64Array, Decimal128Array, Decimal256Array, Float16Array, Float32Array, Float64Array, Int64Array,
    TimestampNanosecondArray, TimestampSecondArray, UInt64Array,
};
use arrow_buffer::i256;
use arrow_cast::display::array_value_to_string;

use super::*;

fn doubles(values: &[f64]) -> ArrayRef {
    Arc::new(Float64Array::from(values.to_vec()))
}

fn longs(values: &[i64]) -> ArrayRef {
    Arc::new(Int64Array::from(values.to_vec()))
}

fn decimals(values: &[i128], precision: u8, scale: i8) -> ArrayRef {
    Arc::new(Decimal128Array::from(values.to_vec()).with_precision_and_scale(precision, scale).unwrap())
}

type Case<'a> = (ArrayRef, DataType, &'a [Option<&'a str>]);

fn assert_exact(cases: &[Case<'_>]) {
    for (values, to, expected) in cases {
        assert!(is_convertible(values.data_type(), to), "{} {to}", values.data_type());
        let found = exact_or_null(values, to).unwrap();
        assert_eq!(found.data_type(), to);
        let shown = (0..found.len()).map(|i| found.is_valid(i).then(|| array_value_to_string(&found, i).unwrap()));
        let expected: Vec<_> = expected.iter().map(|text| text.map(str::to_string)).collect();
        assert_eq!(shown.collect::<Vec<_>>(), expected, "{} {to}", values.data_type());
    }
}

#[test]
fn integers_and_decimals_are_exact_or_null() {
    use DataType as D;
    let ends = longs(&[i64::MIN, -129, -128, 0, 127, 128, 16_777_216, 16_777_217, i64::MAX]);
    let wide = 9_007_199_254_740_993;
    assert_exact(&[
        (ends.clone(), D::Int8, &[None, None, Some("-128"), Some("0"), Some("127"), None, None, None, None]),
        (longs(&[1 << 24, (1 << 24) + 1, 1 << 40]), D::Float32, &[Some("16777216.0"), None, Some("1099511600000.0")]),
        (
            longs(&[wide - 1, wide, i64::MAX, i64::MIN]),
            D::Float64,
            &[Some("9007199254740992.0"), None, None, Some("-9.223372036854776e18")],
        ),
        (longs(&[999, 1000, -999]), D::Decimal128(5, 2), &[Some("999.00"), None, Some("-999.00")]),
        (Arc::new(UInt64Array::from(vec![u64::MAX, 1 << 62])), D::Int64, &[None, Some("4611686018427387904")]),
        (Arc::new(UInt64Array::from(vec![u64::MAX, 1 << 63])), D::Float64, &[None, Some("9.223372036854776e18")]),
        (Arc::new(UInt64Array::from(vec![u64::MAX])), D::Decimal128(20, 0), &[Some("18446744073709551615")]),
        (decimals(&[200, 250, 13_000], 9, 2), D::Int8, &[Some("2"), None, None]),
        (decimals(&[250, 270, 0, -125], 9, 2), D::Float32, &[Some("2.5"), None, Some("0.0"), Some("-1.25")]),
        (decimals(&[25 * 10_i128.pow(29), 10_i128.pow(37) + 1], 38, 30), D::Float64, &[Some("2.5"), None]),
        (decimals(&[1250, 1255, 100_000], 9, 2), D::Decimal128(4, 1), &[Some("12.5"), None, None]),
        (
            Arc::new(
                Decimal256Array::from(vec![i256::from_i128(150), i256::MAX]).with_precision_and_scale(76, 2).unwrap(),
            ),
            D::Decimal128(3, 1),
            &[Some("1.5"), None],
        ),
        (
            Arc::new(BinaryArray::from(vec![&b"ab"[..], b"a", b"abc", b""])),
            D::FixedSizeBinary(2),
            &[Some("6162"), None, None, None],
        ),
    ]);
}

#[test]
fn floats_are_exact_or_null() {
    use DataType as D;
    assert_exact(&[
        (
            doubles(&[1.0, -0.0, 1.5, f64::NAN, f64::INFINITY, 2_147_483_648.0]),
            D::Int32,
            &[Some("1"), Some("0"), None, None, None, None],
        ),
        (
            doubles(&[9_223_372_036_854_775_808.0, -9_223_372_036_854_775_808.0]),
            D::Int64,
            &[None, Some("-9223372036854775808")],
        ),
        (doubles(&[0.5, 0.1, 1e300, -1e300, 1e-300]), D::Float32, &[Some("0.5"), Some("0.1"), None, None, None]),
        (
            doubles(&[f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0]),
            D::Float32,
            &[Some("NaN"), Some("inf"), Some("-inf"), Some("-0.0")],
        ),
        (
            doubles(&[1.25, -1.5, 0.1, 1000.0, 1e300, 5e-324, -0.0]),
            D::Decimal128(5, 2),
            &[Some("1.25"), Some("-1.50"), None, None, None, None, Some("0.00")],
        ),
        (
            doubles(&[1e37, f64::NAN, 0.5]),
            D::Decimal128(38, 0),
            &[Some("9999999999999999538762658202121142272"), None, None],
        ),
        (doubles(&[2_f64.powi(-37)]), D::Decimal128(38, 37), &[Some("0.0000000000072759576141834259033203125")]),
        (Arc::new(Float32Array::from(vec![2.0, 0.5])), D::Int8, &[Some("2"), None]),
        (Arc::new(Float16Array::from_iter_values([2.0, 0.5].map(half))), D::Int8, &[Some("2"), None]),
    ]);
}

fn half(value: f32) -> <arrow_array::types::Float16Type as arrow_array::ArrowPrimitiveType>::Native {
    let halves = cast(&Float32Array::from(vec![value]), &DataType::Float16).unwrap();
    halves.as_primitive::<arrow_array::types::Float16Type>().value(0)
}

#[test]
fn only_midnight_is_a_date() {
    let day = 86_400_i64;
    let seconds: ArrayRef =
        Arc::new(TimestampSecondArray::from(vec![Some(day), Some(-day), Some(1), None, Some(i64::MAX / day * day)]));
    let nanos: ArrayRef = Arc::new(TimestampNanosecondArray::from(vec![day * 1_000_000_000, 1, -day * 1_000_000_000]));
    let millis: ArrayRef = Arc::new(Date64Array::from(vec![day * 1000, 1]));
    for (values, expected) in [
        (seconds, vec![Some(1), Some(-1), None, None, None]),
        (nanos, vec![Some(1), None, Some(-1)]),
        (millis, vec![Some(1), None]),
    ] {
        let found = exact_or_null(&values, &DataType::Date32).unwrap();
        assert_eq!(found.as_primitive::<arrow_array::types::Date32Type>().iter().collect::<Vec<_>>(), expected);
    }
    let zoned = DataType::Timestamp(TimeUnit::Second, Some("UTC".into()));
    assert!(!is_convertible(&zoned, &DataType::Date32));
}

#[test]
fn values_of_different_kinds_are_not_converted() {
    use DataType as D;
    for (from, to) in [
        (D::Boolean, D::Int32),
        (D::Int32, D::Boolean),
        (D::Utf8, D::Int64),
        (D::Int64, D::Utf8),
        (D::Utf8, D::Binary),
        (D::Binary, D::Utf8),
        (D::Date32, D::Int32),
        (D::Int32, D::Date32),
        (D::Date32, D::Timestamp(TimeUnit::Microsecond, None)),
        (D::Duration(TimeUnit::Second), D::Int64),
        (D::Time32(TimeUnit::Second), D::Int32),
        (D::FixedSizeBinary(3), D::FixedSizeBinary(2)),
    ] {
        assert!(!is_convertible(&from, &to), "{from} {to}");
    }
}
