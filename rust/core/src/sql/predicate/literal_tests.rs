use arrow_schema::TimeUnit::{self, Microsecond, Nanosecond, Second};
use rstest::rstest;

use super::*;
use crate::sql::expression::Expression;

fn column(data_type: ScalarType) -> BoundColumn {
    BoundColumn { id: 1, name: "x".into(), data_type, nullable: true }
}

fn number(text: &str) -> Literal {
    Literal::Number(text.to_string())
}

fn text(text: &str) -> Literal {
    Literal::String(text.to_string())
}

fn at(literal: &Literal, data_type: ScalarType) -> Place {
    column(data_type).place(literal).unwrap()
}

#[rstest]
#[case("5", Place::At(Scalar::Int8(5)))]
#[case("-128", Place::At(Scalar::Int8(-128)))]
#[case("128", Place::AboveAll)]
#[case("-129", Place::BelowAll)]
#[case("-128.5", Place::BelowAll)]
#[case("127.5", Place::After(Scalar::Int8(127)))]
#[case("1.5", Place::After(Scalar::Int8(1)))]
#[case("-0.0", Place::At(Scalar::Int8(0)))]
#[case("1e2", Place::At(Scalar::Int8(100)))]
#[case("1e1000000000000", Place::AboveAll)]
#[case("nan", Place::AboveAll)]
#[case("-inf", Place::BelowAll)]
fn numbers_have_a_place_among_integers(#[case] digits: &str, #[case] expected: Place) {
    assert_eq!(at(&number(digits), ScalarType::Int8), expected);
    assert_eq!(at(&text(digits), ScalarType::Int8), expected);
}

#[rstest]
#[case("1.23", Place::At(decimal(123)))]
#[case("1.230", Place::At(decimal(123)))]
#[case("1.239", Place::After(decimal(123)))]
#[case("-1.239", Place::After(decimal(-124)))]
#[case("9.999", Place::After(decimal(999)))]
#[case("10", Place::AboveAll)]
#[case("-9.995", Place::BelowAll)]
fn numbers_have_a_place_among_decimals(#[case] digits: &str, #[case] expected: Place) {
    assert_eq!(at(&number(digits), ScalarType::Decimal { precision: 3, scale: 2 }), expected);
}

fn decimal(unscaled: i128) -> Scalar {
    Scalar::Decimal { unscaled, precision: 3, scale: 2 }
}

#[test]
fn decimals_of_38_digits_keep_all_of_them() {
    let digits = format!("0.{}", "9".repeat(38));
    let unscaled = 10_i128.pow(38) - 1;
    let expected = Scalar::Decimal { unscaled, precision: 38, scale: 38 };
    assert_eq!(at(&number(&digits), ScalarType::Decimal { precision: 38, scale: 38 }), Place::At(expected));
}

#[rstest]
#[case("0.5", Place::At(Scalar::Float32(0.5)))]
#[case("0.1", Place::After(Scalar::Float32(0.1_f32.next_down())))]
#[case("0.7", Place::After(Scalar::Float32(0.7)))]
#[case("1e39", Place::After(Scalar::Float32(f32::MAX)))]
#[case("-1e39", Place::After(Scalar::Float32(f32::NEG_INFINITY)))]
#[case("1e-300", Place::After(Scalar::Float32(0.0)))]
#[case("-1e-300", Place::After(Scalar::Float32((-0.0_f32).next_down())))]
#[case("-inf", Place::At(Scalar::Float32(f32::NEG_INFINITY)))]
fn doubles_have_a_place_among_singles(#[case] digits: &str, #[case] expected: Place) {
    assert_eq!(at(&number(digits), ScalarType::Float32), expected);
}

#[test]
fn floats_know_nan_and_infinity_by_any_name() {
    for name in ["nan", "NaN", " NAN "] {
        assert!(matches!(at(&text(name), ScalarType::Float32), Place::At(Scalar::Float32(v)) if v.is_nan()));
        assert!(matches!(at(&text(name), ScalarType::Float64), Place::At(Scalar::Float64(v)) if v.is_nan()));
    }
    assert_eq!(at(&text("Infinity"), ScalarType::Float64), Place::At(Scalar::Float64(f64::INFINITY)));
    assert_eq!(at(&number("1e-3"), ScalarType::Float64), Place::At(Scalar::Float64(0.001)));
}

#[rstest]
#[case(text("1970-01-02"), Place::At(Scalar::Date(1)))]
#[case(Literal::Date("1970-01-02".into()), Place::At(Scalar::Date(1)))]
#[case(text("1970-01-02T00:00:00"), Place::At(Scalar::Date(1)))]
#[case(text("1970-01-02 00:00:00.000000001"), Place::After(Scalar::Date(1)))]
#[case(text("1969-12-31 23:59"), Place::After(Scalar::Date(-1)))]
#[case(text("9999999-01-01"), Place::AboveAll)]
#[case(text("-9999999-01-01"), Place::BelowAll)]
fn moments_have_a_place_among_dates(#[case] literal: Literal, #[case] expected: Place) {
    assert_eq!(at(&literal, ScalarType::Date), expected);
}

fn timestamp(value: i64, unit: TimeUnit, utc: bool) -> Scalar {
    Scalar::Timestamp { value, unit, utc }
}

#[rstest]
#[case("1970-01-01", Microsecond, false, Place::At(timestamp(0, Microsecond, false)))]
#[case("1970-01-01T00:00:00.000001", Microsecond, true, Place::At(timestamp(1, Microsecond, true)))]
#[case("1970-01-01T01:00:00+01:00", Microsecond, true, Place::At(timestamp(0, Microsecond, true)))]
#[case("1969-12-31T23:59:59.9999999", Microsecond, false, Place::After(timestamp(-1, Microsecond, false)))]
#[case("1970-01-01T00:00:00.5", Second, false, Place::After(timestamp(0, Second, false)))]
#[case("1970-01-01T00:00:00.000000001", Nanosecond, false, Place::At(timestamp(1, Nanosecond, false)))]
#[case("2263-01-01", Nanosecond, false, Place::AboveAll)]
#[case("1676-01-01", Nanosecond, false, Place::BelowAll)]
#[case("-0001-01-01", Microsecond, false, Place::At(timestamp(-62_198_755_200_000_000, Microsecond, false)))]
fn moments_have_a_place_among_timestamps(
    #[case] literal: &str,
    #[case] unit: TimeUnit,
    #[case] utc: bool,
    #[case] expected: Place,
) {
    assert_eq!(at(&text(literal), ScalarType::Timestamp { unit, utc }), expected);
    assert_eq!(at(&Literal::Timestamp(literal.into()), ScalarType::Timestamp { unit, utc }), expected);
}

#[test]
fn other_types_take_their_literals() {
    let bytes = |bytes: &[u8]| Literal::Binary(bytes.to_vec());
    let uuid = Place::At(Scalar::Uuid([0xab; 16]));
    assert_eq!(at(&text("10:00:00.000001"), ScalarType::Time), Place::At(Scalar::Time(36_000_000_001)));
    assert_eq!(at(&text("00:00:00.0000019"), ScalarType::Time), Place::After(Scalar::Time(1)));
    assert_eq!(at(&Literal::Boolean(true), ScalarType::Boolean), Place::At(Scalar::Boolean(true)));
    assert_eq!(at(&text("FALSE"), ScalarType::Boolean), Place::At(Scalar::Boolean(false)));
    assert_eq!(at(&text("ABABABAB-abab-abab-abab-abababababab"), ScalarType::Uuid), uuid);
    assert_eq!(at(&text(&"ab".repeat(16)), ScalarType::Uuid), uuid);
    assert_eq!(at(&bytes(&[0xab; 16]), ScalarType::Uuid), uuid);
    assert_eq!(at(&bytes(&[1]), ScalarType::Binary), Place::At(Scalar::Binary(vec![1])));
    assert_eq!(at(&number("1"), ScalarType::Null), Place::Null);
    assert_eq!(at(&Literal::Null, ScalarType::Date), Place::Null);
}

#[rstest]
#[case(&[1, 2], Place::At(Scalar::Fixed(vec![1, 2])))]
#[case(&[1, 2, 0], Place::After(Scalar::Fixed(vec![1, 2])))]
#[case(&[1], Place::After(Scalar::Fixed(vec![0, 255])))]
#[case(&[0], Place::BelowAll)]
#[case(&[], Place::BelowAll)]
fn bytes_of_other_lengths_have_a_place_among_fixed(#[case] bytes: &[u8], #[case] expected: Place) {
    assert_eq!(at(&Literal::Binary(bytes.to_vec()), ScalarType::Fixed(2)), expected);
}

#[rstest]
#[case(number("1"), ScalarType::String)]
#[case(number("1"), ScalarType::Date)]
#[case(number("1"), ScalarType::Boolean)]
#[case(Literal::Boolean(true), ScalarType::Int32)]
#[case(text("abc"), ScalarType::Int32)]
#[case(text("abc"), ScalarType::Date)]
#[case(text("2024-01-01T00:00:00Z"), ScalarType::Date)]
#[case(text("2024-01-01T00:00:00Z"), ScalarType::Timestamp { unit: Microsecond, utc: false })]
#[case(text("abc"), ScalarType::Binary)]
#[case(text("abc"), ScalarType::Uuid)]
#[case(text("ABABABABaabab-abab-abab-abababababab"), ScalarType::Uuid)]
#[case(Literal::Date("2024-01-01".into()), ScalarType::String)]
#[case(Literal::Time("10:00".into()), ScalarType::Date)]
#[case(Literal::Binary(vec![1]), ScalarType::String)]
fn literals_of_other_kinds_are_refused(#[case] literal: Literal, #[case] data_type: ScalarType) {
    let error = column(data_type).place(&literal).unwrap_err();
    let message = error.to_string();
    assert!(message.contains("column `x` of type") && message.contains(&literal.to_string()), "{message}");
}

#[test]
fn messages_about_long_literals_stay_short() {
    let error = column(ScalarType::Int32).place(&text(&"\u{e9}".repeat(100_000))).unwrap_err();
    assert!(error.to_string().len() < 400, "{error}");
}

#[rstest]
#[case(Scalar::Int64(300), ScalarType::Int8, Place::AboveAll)]
#[case(Scalar::Int64(3), ScalarType::Int8, Place::At(Scalar::Int8(3)))]
#[case(Scalar::Float64(0.1), ScalarType::Int32, Place::After(Scalar::Int32(0)))]
#[case(Scalar::Float64(0.1), ScalarType::Float32, Place::After(Scalar::Float32(0.1_f32.next_down())))]
#[case(Scalar::Float32(0.1), ScalarType::Float64, Place::At(Scalar::Float64(f64::from(0.1_f32))))]
#[case(Scalar::Float64(f64::NAN), ScalarType::Int32, Place::AboveAll)]
#[case(Scalar::Decimal { unscaled: 15, precision: 2, scale: 1 }, ScalarType::Int32, Place::After(Scalar::Int32(1)))]
#[case(Scalar::Date(1), ScalarType::Timestamp { unit: Second, utc: true }, Place::At(timestamp(86_400, Second, true)))]
#[case(timestamp(1, Nanosecond, true), ScalarType::Timestamp { unit: Microsecond, utc: true }, Place::After(timestamp(0, Microsecond, true)))]
#[case(timestamp(1, Second, false), ScalarType::Timestamp { unit: Microsecond, utc: true }, Place::At(timestamp(1_000_000, Microsecond, true)))]
#[case(Scalar::Uuid([1; 16]), ScalarType::Fixed(16), Place::At(Scalar::Fixed(vec![1; 16])))]
#[case(Scalar::String("1".into()), ScalarType::Int32, Place::At(Scalar::Int32(1)))]
fn typed_values_find_their_place_in_other_types(
    #[case] scalar: Scalar,
    #[case] data_type: ScalarType,
    #[case] expected: Place,
) {
    assert_eq!(at(&Literal::Typed(scalar), data_type), expected);
}

#[rstest]
fn printed_scalars_are_read_back(
    #[values(
        Scalar::Boolean(true), Scalar::Int8(-128), Scalar::Int64(i64::MIN), Scalar::Float32(0.1), Scalar::Float32(f32::MAX),
        Scalar::Float64(5e-324), Scalar::Float64(-1e300), Scalar::Float64(f64::NEG_INFINITY), Scalar::Date(i32::MIN),
        Scalar::Time(86_399_999_999), timestamp(i64::MIN, Microsecond, true), timestamp(i64::MAX, Nanosecond, false),
        Scalar::Decimal { unscaled: -5, precision: 9, scale: 4 }, Scalar::Decimal { unscaled: 5, precision: 9, scale: -4 },
        Scalar::String("it's".into()), Scalar::Uuid([0xfe; 16]), Scalar::Fixed(vec![0, 9]), Scalar::Binary(vec![]),
    )]
    scalar: Scalar,
) {
    let predicate = Expression::filter(&format!("x = {scalar}")).unwrap();
    let Expression::Compare(_, _, literal) = predicate else { panic!("{predicate}") };
    let (Expression::Literal(literal) | Expression::Word(_, literal)) = *literal else { panic!("{literal}") };
    assert_eq!(at(&literal, scalar.scalar_type()), Place::At(scalar));
}
