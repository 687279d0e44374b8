use std::cmp::Ordering::{self, Equal, Greater, Less};

use arrow_schema::Field;
use proptest::prelude::*;
use rstest::rstest;

use super::*;

fn decimal(unscaled: i128, scale: i8) -> Scalar {
    Scalar::Decimal { unscaled, precision: 38, scale }
}

fn timestamp(value: i64, unit: TimeUnit, utc: bool) -> Scalar {
    Scalar::Timestamp { value, unit, utc }
}

#[rstest]
#[case(Scalar::Float64(f64::NAN), Scalar::Float64(-f64::NAN), Equal)]
#[case(Scalar::Float64(f64::NAN), Scalar::Float64(f64::INFINITY), Greater)]
#[case(Scalar::Float64(-0.0), Scalar::Float64(0.0), Equal)]
#[case(Scalar::Float64(-f64::MIN_POSITIVE), Scalar::Float64(0.0), Less)]
#[case(Scalar::Float64(f64::NEG_INFINITY), Scalar::Float64(f64::MIN), Less)]
#[case(Scalar::Float32(-1.0), Scalar::Float32(-2.0), Greater)]
#[case(Scalar::Float32(-f32::NAN), Scalar::Float32(f32::INFINITY), Greater)]
#[case(decimal(15, 1), decimal(150, 2), Equal)]
#[case(decimal(-15, 1), decimal(-151, 2), Greater)]
#[case(decimal(i128::MAX, 0), decimal(1, 38), Greater)]
#[case(decimal(-i128::MAX, -100), decimal(-i128::MAX, 100), Less)]
#[case(decimal(0, -128), decimal(-1, 127), Greater)]
#[case(timestamp(1, TimeUnit::Second, true), timestamp(1_000_000, TimeUnit::Microsecond, true), Equal)]
#[case(timestamp(i64::MAX, TimeUnit::Second, true), timestamp(i64::MAX, TimeUnit::Nanosecond, true), Greater)]
#[case(Scalar::String("a".into()), Scalar::String("\u{e9}".into()), Less)]
#[case(Scalar::Binary(vec![1]), Scalar::Binary(vec![1, 0]), Less)]
#[case(Scalar::Uuid([0xff; 16]), Scalar::Uuid([1; 16]), Greater)]
fn scalars_have_one_order(#[case] a: Scalar, #[case] b: Scalar, #[case] expected: Ordering) {
    assert_eq!(a.compare(&b), Some(expected));
    assert_eq!(b.compare(&a), Some(expected.reverse()));
}

#[test]
fn kinds_do_not_compare_with_each_other() {
    assert_eq!(Scalar::Int32(1).compare(&Scalar::Int64(1)), None);
    assert_eq!(timestamp(1, TimeUnit::Second, true).compare(&timestamp(1, TimeUnit::Second, false)), None);
}

#[rstest]
#[case(decimal(-50, 3), "-0.050")]
#[case(decimal(5, 0), "5")]
#[case(decimal(12, -2), "12e2")]
#[case(Scalar::Float64(-0.0), "-0.0")]
#[case(Scalar::Float64(f64::NEG_INFINITY), "-inf")]
#[case(Scalar::Float32(0.1), "0.10000000149011612")]
#[case(Scalar::Date(19_723), "DATE '2024-01-01'")]
#[case(Scalar::Date(-719_529), "DATE '-0001-12-31'")]
#[case(Scalar::Date(i32::MAX), "DATE '+5881580-07-11'")]
#[case(Scalar::Time(86_399_999_999), "TIME '23:59:59.999999'")]
#[case(timestamp(-1, TimeUnit::Nanosecond, true), "TIMESTAMP '1969-12-31 23:59:59.999999999Z'")]
#[case(timestamp(0, TimeUnit::Microsecond, false), "TIMESTAMP '1970-01-01 00:00:00'")]
#[case(timestamp(i64::MIN, TimeUnit::Microsecond, false), "TIMESTAMP '-290308-12-21 19:59:05.224192'")]
#[case(Scalar::String("it's".into()), "'it''s'")]
#[case(Scalar::Binary(vec![0, 255]), "X'00ff'")]
#[case(Scalar::Uuid(*b"0123456789abcdef"), "'30313233-3435-3637-3839-616263646566'")]
fn scalars_print_as_sql(#[case] scalar: Scalar, #[case] expected: &str) {
    assert_eq!(scalar.to_string(), expected);
}

#[rstest]
#[case("2024-02-29", Some(19_782))]
#[case("2023-02-29", None)]
#[case("0000-02-29", Some(-719_469))]
#[case("-0044-03-15", Some(-735_525))]
#[case("+12345-01-01", Some(3_789_391))]
#[case("2024-00-01", None)]
#[case("2024-13-01", None)]
#[case("2024-04-31", None)]
#[case("2024-4-3", None)]
#[case("24-04-03", None)]
#[case("2024-04-03x", None)]
#[case("", None)]
fn dates_are_read(#[case] text: &str, #[case] expected: Option<i64>) {
    assert_eq!(civil::parse_date(text), expected);
}

#[rstest]
#[case("00:00", Some(0))]
#[case("01:02:03.5", Some(3_723_500_000_000))]
#[case("23:59:59.999999999", Some(86_399_999_999_999))]
#[case("24:00:00", None)]
#[case("23:60", None)]
#[case("23:59:60", None)]
#[case("1:00", None)]
#[case("01:00:00.", None)]
#[case("01:00:00.1234567890", None)]
fn times_are_read(#[case] text: &str, #[case] expected: Option<i64>) {
    assert_eq!(civil::parse_time(text), expected);
}

#[rstest]
#[case("1970-01-01", Some((0, false)))]
#[case("1970-01-01 00:00", Some((0, false)))]
#[case("1970-01-01T00:00:01Z", Some((1_000_000_000, true)))]
#[case("1970-01-01T00:00:00+01:00", Some((-3_600_000_000_000, true)))]
#[case("1970-01-01T00:00:00 -0130", Some((5_400_000_000_000, true)))]
#[case("1970-01-01T00:00:00+05", Some((-18_000_000_000_000, true)))]
#[case("1970-01-01T00:00:00.000000001", Some((1, false)))]
#[case("1969-12-31T23:59:59.999999999", Some((-1, false)))]
#[case("1970-01-01T", None)]
#[case("1970-01-01X00:00", None)]
#[case("1970-01-01T00:00:00 Europe/Berlin", None)]
#[case("1970-01-01T00:00:00+1", None)]
fn timestamps_are_read(#[case] text: &str, #[case] expected: Option<(i128, bool)>) {
    assert_eq!(civil::parse_timestamp(text).map(|moment| (moment.nanos, moment.zoned)), expected);
}

#[test]
fn arrow_types_round_trip() {
    let types = [
        ScalarType::Boolean,
        ScalarType::Int8,
        ScalarType::Decimal { precision: 9, scale: 2 },
        ScalarType::Date,
        ScalarType::Time,
        ScalarType::Timestamp { unit: TimeUnit::Nanosecond, utc: true },
        ScalarType::String,
        ScalarType::Fixed(16),
        ScalarType::Binary,
    ];
    for data_type in types {
        assert_eq!(ScalarType::from_arrow(&Field::new("x", data_type.arrow(), true)), Some(data_type));
    }
    let extension = [("ARROW:extension:name".to_string(), "arrow.uuid".to_string())];
    let field = Field::new("x", DataType::FixedSizeBinary(16), true).with_metadata(extension.into());
    assert_eq!(ScalarType::from_arrow(&field), Some(ScalarType::Uuid));
    assert_eq!(ScalarType::from_arrow(&Field::new("x", DataType::UInt8, true)), None);
}

#[rstest]
#[case(Scalar::Boolean(true))]
#[case(Scalar::Int8(-1))]
#[case(Scalar::Int16(-1))]
#[case(Scalar::Int32(-1))]
#[case(Scalar::Int64(-1))]
#[case(Scalar::Float32(1.5))]
#[case(Scalar::Float64(1.5))]
#[case(Scalar::Decimal { unscaled: 12, precision: 5, scale: 2 })]
#[case(Scalar::Date(1))]
#[case(Scalar::Time(1))]
#[case(timestamp(1, TimeUnit::Second, true))]
#[case(timestamp(1, TimeUnit::Millisecond, false))]
#[case(timestamp(1, TimeUnit::Microsecond, true))]
#[case(timestamp(1, TimeUnit::Nanosecond, false))]
#[case(Scalar::String("x".into()))]
#[case(Scalar::Uuid([7; 16]))]
#[case(Scalar::Fixed(vec![1, 2]))]
#[case(Scalar::Binary(vec![]))]
fn scalars_survive_an_array(#[case] scalar: Scalar) {
    let array = scalar.to_array(3).unwrap();
    assert_eq!((array.len(), array.data_type()), (3, &scalar.scalar_type().arrow()));
    assert_eq!(Scalar::from_array(array.as_ref(), 2, scalar.scalar_type()).unwrap(), Some(scalar.clone()));
    assert!(Scalar::from_array(array.as_ref(), 3, scalar.scalar_type()).is_err());
    assert_eq!(scalar.to_array(0).unwrap().len(), 0);
    let nulls = arrow_array::new_null_array(array.data_type(), 1);
    assert_eq!(Scalar::from_array(nulls.as_ref(), 0, scalar.scalar_type()).unwrap(), None);
    let other = if scalar.scalar_type() == ScalarType::Date { ScalarType::Time } else { ScalarType::Date };
    assert!(Scalar::from_array(array.as_ref(), 0, other).is_err());
}

#[test]
fn dictionaries_give_their_values() {
    let array: arrow_array::DictionaryArray<arrow_array::types::Int8Type> =
        [Some("a"), None, Some("b")].into_iter().collect();
    let at = |row| Scalar::from_array(&array, row, ScalarType::String).unwrap();
    assert_eq!([at(0), at(1), at(2)], [Some(Scalar::String("a".into())), None, Some(Scalar::String("b".into()))]);
}

#[rstest]
#[case(Scalar::Int32(-7), ScalarType::Int64, Some(Scalar::Int64(-7)))]
#[case(Scalar::Int32(-7), ScalarType::Int32, Some(Scalar::Int32(-7)))]
#[case(Scalar::Float32(0.1), ScalarType::Float64, Some(Scalar::Float64(f64::from(0.1_f32))))]
#[case(decimal(15, 1), ScalarType::Decimal { precision: 38, scale: 1 }, Some(decimal(15, 1)))]
#[case(decimal(15, 1), ScalarType::Decimal { precision: 38, scale: 2 }, None)]
#[case(Scalar::Int64(7), ScalarType::Int32, None)]
#[case(Scalar::Date(7), ScalarType::Int64, None)]
fn exact_promotions(#[case] value: Scalar, #[case] to: ScalarType, #[case] expected: Option<Scalar>) {
    assert_eq!(value.promote(to), expected);
}

proptest! {
    #[test]
    fn every_day_is_read_back(days in -2_000_000_000_i64..2_000_000_000) {
        let mut text = String::new();
        civil::write_date(&mut text, days).unwrap();
        prop_assert_eq!(civil::parse_date(&text), Some(days));
    }

    #[test]
    fn every_moment_is_read_back(nanos in any::<i64>(), factor in prop_oneof![Just(1_i128), Just(1000)]) {
        let nanos = i128::from(nanos) * factor;
        let mut text = String::new();
        civil::write_timestamp(&mut text, nanos).unwrap();
        prop_assert_eq!(civil::parse_timestamp(&text), Some(civil::Moment { nanos, zoned: false }));
    }

    #[test]
    fn float_keys_order_as_floats_do(a in any::<f64>(), b in any::<f64>()) {
        let expected = match a.partial_cmp(&b) {
            Some(ordering) => ordering,
            None => a.is_nan().cmp(&b.is_nan()),
        };
        prop_assert_eq!(float64_key(a).cmp(&float64_key(b)), expected);
    }

    #[test]
    fn decimals_compare_as_numbers(a in any::<i64>(), b in any::<i64>(), a_scale in 0_i8..10, b_scale in 0_i8..10) {
        let raise = |value: i64, scale: i8| i128::from(value) * 10_i128.pow(u32::from(10 - scale.unsigned_abs()));
        let expected = raise(a, a_scale).cmp(&raise(b, b_scale));
        prop_assert_eq!(decimal(a.into(), a_scale).compare(&decimal(b.into(), b_scale)), Some(expected));
    }
}
