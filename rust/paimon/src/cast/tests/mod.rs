use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, TimestampMillisecondType, TimestampNanosecondType};
use arrow_array::{
    Array, BinaryArray, Decimal128Array, Float32Array, Float64Array, Int32Array, Int64Array, ListArray, MapArray,
    StringArray, StructArray, TimestampMicrosecondArray, TimestampNanosecondArray,
};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::DataType as ArrowType;
use frazil_core::error::ErrorKind;
use proptest::prelude::*;
use rstest::rstest;

use super::*;
use crate::spec::types::TypeRoot as T;

mod java;

const STRING: T = T::VarChar(MAX_LENGTH);
const BYTES: T = T::VarBinary(MAX_LENGTH);

/// Parses the text of values of a type with Arrow.
fn column(root: &T, values: &[Option<&str>]) -> ArrayRef {
    let texts: ArrayRef = Arc::new(StringArray::from(values.to_vec()));
    let strict = CastOptions { safe: false, ..CastOptions::default() };
    cast_with_options(&texts, &DataType::nullable(root.clone()).arrow(), &strict).unwrap()
}

fn run(from: &T, to: &T, array: &ArrayRef) -> Result<ArrayRef> {
    match Caster::try_new(&DataType::nullable(from.clone()), &DataType::nullable(to.clone()))? {
        None => Ok(Arc::clone(array)),
        Some(caster) => caster.cast(array),
    }
}

fn texts(array: &ArrayRef) -> Vec<Option<String>> {
    array.as_string::<i32>().iter().map(|text| text.map(str::to_owned)).collect()
}

#[test]
fn casts_between_all_type_pairs_match_java() {
    for (from, to, pairs) in java::CASES {
        let source: Vec<_> = pairs.iter().map(|(value, _)| Some(*value)).chain([None]).collect();
        let wanted: Vec<_> = pairs.iter().map(|(_, value)| Some(*value)).chain([None]).collect();
        let cast = run(from, to, &column(from, &source)).unwrap();
        assert_eq!(cast.data_type(), &DataType::nullable(to.clone()).arrow());
        assert_eq!(&cast, &column(to, &wanted), "{from:?} to {to:?}");
    }
}

#[rstest]
#[case(STRING, T::Date, &["12.5", "", "true", "2024-02-29T12:34:56", "12:34:56", "1e3", "99999999999", "2023-02-29", "10000-1-1", "\u{661}"])]
#[case(STRING, T::Time(3), &["12.5", "", "2024-02-29", "2024-02-29 12:34:56.789", "1e3", "0x10", "99999999999", "-", "+"])]
#[case(STRING, T::Timestamp(3), &[" 2 ", "12.5", "", "2024-02-29T12:34:56", "12:34:56", "2024-02-29 12:34", "2024-13-01",
    "2024-00-01", "2024-01-32", "0000-01-01", "20240-01-01", "2024-01-01 24:00:01", "2024-01-01 1:2:3.1234567890", "2024-1"])]
#[case(STRING, T::LocalZonedTimestamp(3), &["1", "x"])]
#[case(STRING, T::Timestamp(9), &["9223372036854775808"])]
#[case(STRING, T::Timestamp(4), &["1"])]
#[case(STRING, T::Boolean, &["", "11", " true", "on"])]
#[case(STRING, T::Int, &["", "+", "-", " 2 ", "1e3", "2147483648", "-2147483649", "1.x", "1.2.3", "0x10"])]
#[case(STRING, T::TinyInt, &["128", "-129"])]
#[case(STRING, T::SmallInt, &["32768"])]
#[case(STRING, T::BigInt, &["9223372036854775808", "-9223372036854775809", "99999999999999999999"])]
#[case(STRING, T::Double, &["", ".", "inf", "nan", "INFINITY", "1e", "0x10", "--1", "1 2"])]
#[case(STRING, T::Decimal(10, 2), &["", " 1", "1 ", ".", "e5", "1e", "NaN", "1f", "1e99999999999"])]
#[case(T::Double, T::Decimal(38, 10), &["NaN", "inf", "-inf"])]
#[case(T::Float, T::Decimal(38, 10), &["NaN"])]
fn values_without_a_cast_are_refused(#[case] from: T, #[case] to: T, #[case] values: &[&str]) {
    for value in values {
        let error = run(&from, &to, &column(&from, &[None, Some(value)])).unwrap_err();
        let kind = if to == T::Timestamp(4) { ErrorKind::Unsupported } else { ErrorKind::CorruptData };
        assert_eq!(error.kind(), kind, "{value:?}: {error}");
    }
}

/// The files are valid, so the error must not be `CorruptData`.
#[rstest]
#[case(STRING, T::Timestamp(9), "2300-01-01")]
#[case(T::BigInt, T::Timestamp(6), "9007199254740993")]
#[case(T::Timestamp(3), T::Timestamp(9), "2300-01-01T00:00:00")]
#[case(T::Timestamp(6), T::LocalZonedTimestamp(8), "1600-01-01T00:00:00")]
#[case(T::Date, T::Timestamp(9), "9999-12-31")]
fn timestamps_beyond_64_bits_are_not_supported(#[case] from: T, #[case] to: T, #[case] value: &str) {
    let error = run(&from, &to, &column(&from, &[None, Some(value)])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    assert!(error.hint_text().is_some_and(|hint| hint.contains("1677 to 2262")), "{error}");
}

#[rstest]
#[case(T::TinyInt, &[("-0", "0"), ("+5", "5"), ("1.", "1"), ("-1.99", "-1"), (".", "0"), ("-128", "-128")])]
#[case(T::BigInt, &[("-9223372036854775808", "-9223372036854775808"), ("007.5", "7")])]
#[case(T::Boolean, &[("YES", "true"), ("t", "true"), ("nO", "false"), ("F", "false"), ("1", "true"), ("0", "false")])]
#[case(T::Double, &[(" 1.5 ", "1.5"), ("1e3", "1000"), ("-.5f", "-0.5"), ("2D", "2"), ("Infinity", "inf"), ("-Infinity", "-inf"), ("+NaN", "NaN")])]
#[case(T::Float, &[("0.1", "0.1"), ("1e39", "inf"), ("1e-50", "0")])]
#[case(T::Decimal(5, 2), &[("1.233", "1.23"), ("1.235", "1.24"), ("-1.235", "-1.24"), ("1e2", "100.00"), ("123456e-3", "123.46"), (".005", "0.01"),
    ("1e-999999999", "0.00"), ("+0e5", "0.00"), ("0.00000000000000000000000000000000000000000000049", "0.00")])]
#[case(T::Date, &[(" 2024", "2024-01-01"), ("2024-2", "2024-02-01"), (" 2024 - 2", "2024-02-01"), ("-1", "1969-12-31"), ("0004-02-29", "0004-02-29"), ("2024-12-31 x", "2024-12-31")])]
#[case(T::Time(3), &[("1:2", "01:02:00"), ("1:2:3.4567", "01:02:03.457"), ("1:2:3.4", "01:02:03.4"), ("12:00:00+08:00", "20:00:00"), ("12:00:00-08:30", "03:30:00"),
    ("23:00+2", "01:00:00"), ("1:2:3.", "01:02:03")])]
#[case(T::Timestamp(3), &[("2024-2-3 4:5:6.789999999", "2024-02-03T04:05:06.789"), ("2023-02-31", "2023-02-28"), ("2024-01-01 24:00:00", "2024-01-02"), ("2024-01-01 01:02:03.", "2024-01-01T01:02:03"),
    ("1969-12-31 23:59:59.9999", "1969-12-31T23:59:59.999")])]
#[case(T::Timestamp(0), &[("5", "1970-01-01T00:00:05"), ("2024-01-01 00:00:00.9", "2024-01-01")])]
#[case(T::Timestamp(4), &[("2024-01-01 00:00:00.12345", "2024-01-01T00:00:00.1234")])]
#[case(T::Timestamp(9), &[("-1", "1969-12-31T23:59:59.999999999")])]
#[case(T::LocalZonedTimestamp(6), &[("2024-01-01 01:02:03.5", "2024-01-01T01:02:03.5Z")])]
fn text_is_parsed(#[case] to: T, #[case] pairs: &[(&str, &str)]) {
    for (value, wanted) in pairs {
        let cast = run(&STRING, &to, &column(&STRING, &[Some(value), None])).unwrap();
        assert_eq!(&cast, &column(&to, &[Some(wanted), None]), "{value:?}");
    }
}

#[test]
fn digits_beyond_a_decimal_are_null() {
    for (from, to, value) in [
        (T::BigInt, T::Decimal(5, 0), "100000"),
        (T::Int, T::Decimal(38, 37), "10"),
        (T::BigInt, T::Decimal(38, 38), "9223372036854775807"),
        (T::Boolean, T::Decimal(2, 2), "true"),
        (T::Double, T::Decimal(38, 10), "1.7976931348623157e308"),
        (T::Decimal(10, 3), T::Decimal(5, 2), "1234567.891"),
        (T::Decimal(5, 3), T::Decimal(3, 1), "99.95"),
        (STRING, T::Decimal(3, 1), "99.95"),
        (STRING, T::Decimal(3, 1), "1e999999999"),
    ] {
        let cast = run(&from, &to, &column(&from, &[Some(value)])).unwrap();
        assert_eq!(cast.null_count(), 1, "{from:?} to {to:?}");
    }
    let zero = run(&T::Int, &T::Decimal(38, 38), &column(&T::Int, &[Some("0")])).unwrap();
    assert_eq!(zero.null_count(), 0);
}

#[test]
fn decimals_take_floats_by_their_shortest_text() {
    let doubles: ArrayRef = Arc::new(Float64Array::from(vec![0.1, 1e21, 1e-7, 0.05, -0.05, 123_456_789.125, 4.9e-324]));
    let cast = run(&T::Double, &T::Decimal(38, 1), &doubles).unwrap();
    let cast = cast.as_primitive::<arrow_array::types::Decimal128Type>();
    assert_eq!(cast.values(), &[1, 10_i128.pow(22), 0, 1, -1, 1_234_567_891, 0]);
    let floats: ArrayRef = Arc::new(Float32Array::from(vec![0.1]));
    let cast = run(&T::Float, &T::Decimal(20, 10), &floats).unwrap();
    assert_eq!(cast.as_primitive::<arrow_array::types::Decimal128Type>().values(), &[1_000_000_015]);
}

#[test]
fn decimals_become_the_floats_of_java() {
    let few: ArrayRef =
        Arc::new(Decimal128Array::from(vec![999_999_999_999_999_999]).with_precision_and_scale(18, 17).unwrap());
    assert_eq!(run(&T::Decimal(18, 17), &T::Double, &few).unwrap().as_ref(), &Float64Array::from(vec![1e18 / 1e17]));
    let many: ArrayRef =
        Arc::new(Decimal128Array::from(vec![10_i128.pow(37) * 3 + 7, -1]).with_precision_and_scale(38, 10).unwrap());
    assert_eq!(run(&T::Decimal(38, 10), &T::Double, &many).unwrap().as_ref(), &Float64Array::from(vec![3e27, -1e-10]));
    // The low 64 bits of 3 * 10^27.
    let low = run(&T::Decimal(38, 10), &T::BigInt, &many).unwrap();
    assert_eq!(
        low.as_primitive::<Int64Type>().value(0),
        i64::from_le_bytes(3_000_000_000_000_000_000_000_000_000_u128.to_le_bytes()[..8].try_into().unwrap())
    );
}

#[test]
fn floats_are_laid_out_as_in_java() {
    for (value, text) in [
        (0.001, "0.001"),
        (0.00123, "0.00123"),
        (0.000_999, "9.99E-4"),
        (9_999_999.0, "9999999.0"),
        (1e7, "1.0E7"),
        (12_345_678.9, "1.23456789E7"),
        (100.0, "100.0"),
        (1_234.5, "1234.5"),
        (4.9e-324, "4.9E-324"),
        (1e23, "1.0E23"),
        (-1.25e-5, "-1.25E-5"),
        (0.1 + 0.2, "0.30000000000000004"),
    ] {
        let cast = run(&T::Double, &STRING, &(Arc::new(Float64Array::from(vec![value])) as ArrayRef)).unwrap();
        assert_eq!(texts(&cast), [Some(text.to_owned())]);
    }
    let tiny: ArrayRef = Arc::new(Float32Array::from(vec![1.4e-45, 16_777_216.0, 0.3]));
    let cast = run(&T::Float, &STRING, &tiny).unwrap();
    assert_eq!(texts(&cast), ["1.4E-45", "1.6777216E7", "0.3"].map(|text| Some(text.to_owned())));
}

#[test]
fn timestamps_are_cut_as_in_java() {
    let cut = |from: u8, to: u8, nanos: i64| {
        let per_unit = if from > 6 { 1 } else { 1000 };
        let source: ArrayRef = match per_unit {
            1 => Arc::new(TimestampNanosecondArray::from(vec![nanos])),
            _ => Arc::new(TimestampMicrosecondArray::from(vec![nanos / 1000])),
        };
        let cast = run(&T::Timestamp(from), &T::Timestamp(to), &source).unwrap();
        let nanos = arrow_cast::cast(&cast, &ArrowType::Timestamp(arrow_schema::TimeUnit::Nanosecond, None)).unwrap();
        nanos.as_primitive::<TimestampNanosecondType>().value(0)
    };
    assert_eq!(cut(9, 6, -999_999_999), -1_000_000_000, "a remaining nanosecond has no room");
    assert_eq!(cut(9, 6, 123_456_789), 123_456_000);
    assert_eq!(cut(9, 8, 123_456_789), 123_456_780);
    assert_eq!(cut(9, 7, 9_999_999), 9_999_999, "seven digits are seven digits");
    assert_eq!(cut(6, 4, 123_456_000), 123_400_000);
    assert_eq!(cut(6, 4, 1000), 1000, "four digits are four digits");
    assert_eq!(cut(6, 1, -50_001_000), 0, "milliseconds are cut towards zero");
    assert_eq!(cut(6, 0, -1_500_000_000), -1_000_000_000);
    assert_eq!(cut(9, 3, -1), -1_000_000);
    assert_eq!(cut(9, 0, -1), 0);
}

#[test]
fn seconds_beyond_a_long_leave_their_low_bits() {
    let cast =
        run(&T::BigInt, &T::Timestamp(3), &(Arc::new(Int64Array::from(vec![9_007_199_254_740_993])) as ArrayRef))
            .unwrap();
    assert_eq!(cast.as_primitive::<TimestampMillisecondType>().value(0), 9_007_199_254_740_993_000);
}

#[test]
fn years_have_four_digits() {
    let days: ArrayRef =
        Arc::new(arrow_array::Date32Array::from(vec![Some(2_932_896), Some(2_932_897), Some(-719_528), None]));
    let cast = run(&T::Date, &STRING, &days).unwrap();
    let wanted = ["9999-12-31", "0000-01-01", "0000-01-01"].map(|text| Some(text.to_owned()));
    assert_eq!(texts(&cast)[..3], wanted);
    let times = column(&T::Time(2), &[Some("10:01:55.615")]);
    assert_eq!(texts(&run(&T::Time(2), &STRING, &times).unwrap()), [Some("10:01:55.61".to_owned())]);
    let times = column(&T::Time(0), &[Some("10:01:55.615")]);
    assert_eq!(texts(&run(&T::Time(0), &STRING, &times).unwrap()), [Some("10:01:55".to_owned())]);
    let whole = column(&T::Timestamp(0), &[Some("2024-01-01T00:00:00")]);
    assert_eq!(texts(&run(&T::Timestamp(0), &STRING, &whole).unwrap()), [Some("2024-01-01 00:00:00".to_owned())]);
}

#[test]
fn bytes_are_cut_and_padded() {
    let bytes: ArrayRef = Arc::new(BinaryArray::from(vec![
        Some(b"abc".as_slice()),
        Some(b""),
        Some(b"\xff\xfe"),
        Some("\u{e9}".as_bytes()),
        None,
    ]));
    let of = |values: [&[u8]; 4]| values.into_iter().map(Some).chain([None]).collect::<BinaryArray>();
    let cast = |to| run(&T::VarBinary(100), &to, &bytes).unwrap();
    assert_eq!(cast(T::Binary(2)).as_ref(), &of([b"ab", b"\0\0", b"\xff\xfe", b"\xc3\xa9"]));
    assert_eq!(cast(T::VarBinary(2)).as_ref(), &of([b"ab", b"", b"\xff\xfe", b"\xc3\xa9"]));
    assert_eq!(&cast(T::VarBinary(200)), &bytes);
    assert_eq!(
        texts(&cast(T::Char(2)))[..4],
        ["abc", "", "\u{fffd}\u{fffd}", "\u{e9}"].map(|text| Some(text.to_owned()))
    );
    let text = column(&STRING, &[Some("12345678"), None]);
    assert_eq!(
        run(&STRING, &T::VarBinary(5), &text).unwrap().as_ref(),
        &BinaryArray::from(vec![Some(b"12345".as_slice()), None])
    );
    assert_eq!(run(&T::Char(9), &T::Char(10), &text).unwrap().as_string::<i32>().value(0), "12345678  ");
}

#[test]
fn nested_values_are_printed() {
    let element = DataType::nullable(T::Int);
    let list = T::Array(Box::new(element.clone()));
    let lists: ArrayRef = Arc::new(ListArray::from_iter_primitive::<arrow_array::types::Int32Type, _, _>([
        Some(vec![Some(1), None, Some(3)]),
        None,
        Some(vec![]),
    ]));
    let cast = run(&list, &T::VarChar(2), &lists).unwrap();
    assert_eq!(texts(&cast), [Some("[1, null, 3]".to_owned()), None, Some("[]".to_owned())]);

    let field = |id, name: &str, root| DataField {
        id,
        name: name.into(),
        data_type: DataType::nullable(root),
        description: None,
        default_value: None,
    };
    let row = DataType::nullable(T::Row(vec![field(1, "a", list.clone()), field(2, "b", T::Double)]));
    let ArrowType::Struct(fields) = row.arrow() else { panic!() };
    let lists = arrow_cast::cast(&lists, fields[0].data_type()).unwrap();
    let rows: ArrayRef = Arc::new(StructArray::new(
        fields,
        vec![lists, Arc::new(Float64Array::from(vec![Some(0.5), None, None]))],
        None,
    ));
    let cast = run(&row.root, &STRING, &rows).unwrap();
    assert_eq!(texts(&cast), ["{[1, null, 3], 0.5}", "{null, null}", "{[], null}"].map(|text| Some(text.to_owned())));

    let map = DataType::nullable(T::Map(Box::new(DataType::required(STRING)), Box::new(element)));
    let ArrowType::Map(entries, _) = map.arrow() else { panic!() };
    let ArrowType::Struct(parts) = entries.data_type().clone() else { panic!() };
    let pairs = StructArray::new(
        parts,
        vec![Arc::new(StringArray::from(vec!["k", "l"])), Arc::new(Int32Array::from(vec![Some(1), None]))],
        None,
    );
    let offsets = arrow_buffer::OffsetBuffer::from_lengths([2, 0]);
    let maps: ArrayRef = Arc::new(MapArray::new(entries, offsets, pairs, None, false));
    assert_eq!(
        texts(&run(&map.root, &STRING, &maps).unwrap()),
        [Some("{k -> 1, l -> null}".to_owned()), Some("{}".to_owned())]
    );
}

#[test]
fn casts_rejected_by_java_are_rejected_with_both_types() {
    let array = |root| T::Array(Box::new(DataType::nullable(root)));
    let map = |key| T::Map(Box::new(DataType::required(key)), Box::new(DataType::nullable(T::Int)));
    for (from, to) in [
        (T::Int, T::Date),
        (T::Date, T::Int),
        (T::Float, T::Boolean),
        (T::Double, T::Boolean),
        (T::Decimal(5, 2), T::Boolean),
        (T::Decimal(5, 2), T::Timestamp(3)),
        (T::TinyInt, T::Timestamp(3)),
        (T::Double, T::LocalZonedTimestamp(3)),
        (T::Time(3), T::Time(0)),
        (T::Timestamp(6), T::VarChar(12)),
        (T::Date, T::Char(10)),
        (T::Timestamp(6), T::SmallInt),
        (T::Boolean, T::Timestamp(3)),
        (T::Variant, STRING),
        (T::Blob, BYTES),
        (STRING, array(T::Int)),
        (array(T::Date), array(T::Int)),
        (array(T::Variant), STRING),
        (map(T::Int), map(T::BigInt)),
        (BYTES, T::Int),
    ] {
        let error = run(&from, &to, &column(&T::Int, &[])).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{from:?} to {to:?}");
    }
    let error = run(&T::Timestamp(6), &T::VarChar(12), &column(&T::Int, &[])).unwrap_err();
    assert_eq!(error.to_string(), "no cast from TIMESTAMP(6) to VARCHAR(12)");
}

#[test]
fn nothing_is_done_for_the_same_values() {
    for (from, to) in [(T::Int, T::Int), (T::Char(3), STRING), (T::Binary(3), BYTES)] {
        let to = DataType::required(to);
        assert!(Caster::try_new(&DataType::nullable(from), &to).unwrap().is_none());
    }
    assert!(Caster::try_new(&DataType::nullable(STRING), &DataType::nullable(T::VarChar(9))).unwrap().is_some());
}

#[test]
fn widening_keeps_values_and_order() {
    for (from, to, exact) in [
        (T::Int, T::BigInt, true),
        (T::BigInt, T::Int, false),
        (T::SmallInt, T::Float, true),
        (T::Int, T::Float, false),
        (T::Int, T::Double, true),
        (T::BigInt, T::Double, false),
        (T::Float, T::Double, true),
        (T::BigInt, T::Decimal(20, 1), true),
        (T::BigInt, T::Decimal(20, 2), false),
        (T::Decimal(5, 2), T::Decimal(6, 3), true),
        (T::Decimal(5, 2), T::Decimal(6, 4), false),
        (T::Decimal(5, 2), T::Decimal(9, 1), false),
        (T::VarChar(3), STRING, true),
        (T::VarChar(3), T::VarChar(4), false),
        (T::Int, STRING, false),
        (T::Timestamp(3), T::Timestamp(6), true),
        (T::Timestamp(6), T::Timestamp(3), false),
        (T::Timestamp(3), T::LocalZonedTimestamp(3), false),
        (T::Date, T::Timestamp(0), true),
        (T::Boolean, T::Int, false),
    ] {
        assert_eq!(
            is_exact_widening(&DataType::nullable(from.clone()), &DataType::required(to.clone())),
            exact,
            "{from:?} to {to:?}"
        );
    }
}

/// Casts the values to strings and back.
fn round_trip(root: &T, array: &ArrayRef) -> ArrayRef {
    run(&STRING, root, &run(root, &STRING, array).unwrap()).unwrap()
}

proptest! {
    #[test]
    fn floats_are_told_by_their_text(double in any::<f64>(), single in any::<f32>()) {
        let doubles: ArrayRef = Arc::new(Float64Array::from(vec![double]));
        prop_assert_eq!(&round_trip(&T::Double, &doubles), &doubles);
        let singles: ArrayRef = Arc::new(Float32Array::from(vec![single]));
        prop_assert_eq!(&round_trip(&T::Float, &singles), &singles);
    }

    #[test]
    fn moments_are_told_by_their_text(days in -719_162..2_932_896_i32, micros in 0..86_400_000_000_i64, value in any::<i128>()) {
        let dates: ArrayRef = Arc::new(arrow_array::Date32Array::from(vec![days]));
        prop_assert_eq!(&round_trip(&T::Date, &dates), &dates);
        let moments: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![i64::from(days) * 86_400_000_000 + micros]));
        prop_assert_eq!(&round_trip(&T::Timestamp(6), &moments), &moments);
        let times: ArrayRef = Arc::new(arrow_array::Time32MillisecondArray::from(vec![i32::try_from(micros / 1000).unwrap()]));
        prop_assert_eq!(&round_trip(&T::Time(3), &times), &times);
        let decimals = Decimal128Array::from(vec![value % 10_i128.pow(38)]).with_precision_and_scale(38, 9).unwrap();
        let decimals: ArrayRef = Arc::new(decimals);
        prop_assert_eq!(&round_trip(&T::Decimal(38, 9), &decimals), &decimals);
    }

    #[test]
    fn any_text_is_a_value_or_an_error(text in "\\PC{0,12}|[-+0-9:. eET]{0,30}") {
        for to in [T::Boolean, T::TinyInt, T::BigInt, T::Double, T::Decimal(38, 38), T::Date, T::Time(3), T::Timestamp(0), T::Timestamp(9), T::LocalZonedTimestamp(6), T::Char(3), T::Binary(2)] {
            let _ = run(&STRING, &to, &column(&STRING, &[Some(&text)]));
        }
    }

    #[test]
    fn extreme_numbers_become_something(value in any::<i64>(), wide in any::<i128>()) {
        let longs: ArrayRef = Arc::new(Int64Array::from(vec![value, i64::MIN, i64::MAX]));
        let wides = Decimal128Array::from(vec![wide % 10_i128.pow(38)]).with_precision_and_scale(38, 3).unwrap();
        let wides: ArrayRef = Arc::new(wides);
        for to in [T::TinyInt, T::Float, T::Double, T::Boolean, T::Decimal(38, 38), T::Timestamp(0), T::Timestamp(9), STRING] {
            let _ = run(&T::BigInt, &to, &longs);
            let _ = run(&T::Decimal(38, 3), &to, &wides);
        }
        for digits in 0..=9 {
            let unit = DataType::nullable(T::Timestamp(digits)).arrow();
            let moments = arrow_cast::cast(&longs, &unit).unwrap();
            for to in (0..=9).map(T::Timestamp).chain([T::Date, T::Time(0), T::Int, T::BigInt, STRING]) {
                let _ = run(&T::Timestamp(digits), &to, &moments);
            }
        }
    }
}
