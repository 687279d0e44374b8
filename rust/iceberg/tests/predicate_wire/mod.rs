//! Tests of converting predicates to JSON and back.

use std::sync::Arc;

use arrow_schema::TimeUnit::{Microsecond, Nanosecond};
use frazil_core::scalar::{Scalar, ScalarType};
use frazil_core::sql::predicate::{BoundColumn, BoundPredicate, CompareOp, LikePattern, Test};
use frazil_iceberg::scan::wire::predicate::{from_json, to_json};
use proptest::prelude::*;

fn timestamp(unit: arrow_schema::TimeUnit, utc: bool) -> impl Strategy<Value = Scalar> {
    prop_oneof![any::<i64>(), Just(i64::MIN), Just(i64::MAX), Just(-1)].prop_map(move |value| Scalar::Timestamp {
        value,
        unit,
        utc,
    })
}

/// Returns values of one type.
fn scalar(index: usize) -> BoxedStrategy<Scalar> {
    let largest = 10_i128.pow(38) - 1;
    let special = prop_oneof![Just(f64::NAN), Just(-0.0), Just(0.0), Just(f64::INFINITY), Just(f64::NEG_INFINITY)];
    match index {
        0 => any::<bool>().prop_map(Scalar::Boolean).boxed(),
        1 => prop_oneof![any::<i32>(), Just(i32::MIN)].prop_map(Scalar::Int32).boxed(),
        2 => prop_oneof![any::<i64>(), Just(i64::MIN)].prop_map(Scalar::Int64).boxed(),
        3 => prop_oneof![any::<f32>(), Just(f32::NAN), Just(-0.0), Just(f32::MIN_POSITIVE / 2.0)]
            .prop_map(Scalar::Float32)
            .boxed(),
        4 => prop_oneof![any::<f64>(), special].prop_map(Scalar::Float64).boxed(),
        5 => prop_oneof![-largest..=largest, Just(largest), Just(-largest), Just(0), Just(-1), Just(128), Just(-129)]
            .prop_map(|unscaled| Scalar::Decimal { unscaled, precision: 38, scale: 38 })
            .boxed(),
        6 => (-999_999_999_i128..=999_999_999)
            .prop_map(|unscaled| Scalar::Decimal { unscaled, precision: 9, scale: 0 })
            .boxed(),
        7 => any::<i32>().prop_map(Scalar::Date).boxed(),
        8 => any::<i64>().prop_map(Scalar::Time).boxed(),
        9 => timestamp(Microsecond, false).boxed(),
        10 => timestamp(Microsecond, true).boxed(),
        11 => timestamp(Nanosecond, false).boxed(),
        12 => timestamp(Nanosecond, true).boxed(),
        13 => text().prop_map(Scalar::String).boxed(),
        14 => any::<[u8; 16]>().prop_map(Scalar::Uuid).boxed(),
        15 => prop::collection::vec(any::<u8>(), 5).prop_map(Scalar::Fixed).boxed(),
        _ => prop::collection::vec(any::<u8>(), 0..9).prop_map(Scalar::Binary).boxed(),
    }
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), any::<String>(), Just("\u{0}'\"\\\u{10ffff}".to_string())]
}

fn tests(index: usize) -> impl Strategy<Value = (ScalarType, Test)> {
    let op = prop::sample::select(vec![
        CompareOp::Lt,
        CompareOp::LtEq,
        CompareOp::Gt,
        CompareOp::GtEq,
        CompareOp::Eq,
        CompareOp::NotEq,
    ]);
    let many = prop::collection::vec(scalar(index), 2..5);
    // A LIKE pattern is any string whose escapes are complete.
    let pattern =
        prop::collection::vec(prop_oneof![Just("%"), Just("_"), Just("\\%"), Just("\\\\"), Just("é"), Just("a")], 0..6);
    (scalar(index), op, many, pattern, 0..11_usize).prop_map(|(one, op, many, pattern, kind)| {
        let data_type = one.scalar_type();
        let pattern = || Arc::new(LikePattern::parse(&pattern.concat()).unwrap());
        let test = match kind {
            0 => Test::IsNull,
            1 => Test::NotNull,
            2 => Test::IsNan,
            3 => Test::NotNan,
            4 => Test::In(many.into()),
            5 => Test::NotIn(many.into()),
            6 => Test::StartsWith(one),
            7 => Test::NotStartsWith(one),
            8 => Test::Like(pattern()),
            9 => Test::NotLike(pattern()),
            _ => Test::Compare(op, one),
        };
        (data_type, test)
    })
}

fn predicate() -> impl Strategy<Value = BoundPredicate> {
    let leaf = ((0..17_usize).prop_flat_map(tests), any::<i32>(), text(), any::<bool>()).prop_map(
        |((data_type, test), id, name, nullable)| {
            BoundPredicate::Leaf(BoundColumn { id, name: name.as_str().into(), data_type, nullable }, test)
        },
    );
    let leaf = prop_oneof![10 => leaf, 1 => Just(BoundPredicate::True), 1 => Just(BoundPredicate::False)];
    leaf.prop_recursive(4, 20, 4, |inner| {
        let parts = prop::collection::vec(inner, 2..4);
        (parts, any::<bool>())
            .prop_map(|(parts, and)| if and { BoundPredicate::And(parts) } else { BoundPredicate::Or(parts) })
    })
}

proptest! {
    // Compared as text, because NaN does not equal itself and -0.0 equals 0.0 otherwise.
    #[test]
    fn predicates_survive_json(predicate in predicate()) {
        let text = to_json(&predicate).unwrap().to_string();
        let reread = from_json(&serde_json::from_str(&text).unwrap()).unwrap();
        prop_assert_eq!(format!("{reread:?}"), format!("{predicate:?}"));
    }
}

#[test]
fn columns_that_do_not_compare_can_be_tested_for_null() {
    for test in [Test::IsNull, Test::NotNull] {
        let column = BoundColumn { id: 7, name: "s".into(), data_type: ScalarType::Null, nullable: true };
        let predicate = BoundPredicate::Leaf(column, test);
        assert_eq!(from_json(&to_json(&predicate).unwrap()).unwrap(), predicate);
    }
}

#[test]
fn every_byte_of_the_sign_and_payload_of_a_float_survives() {
    for value in [f64::NAN, -f64::NAN, f64::from_bits(0x7ff0_0000_0000_0001), -0.0] {
        let column = BoundColumn { id: 1, name: "x".into(), data_type: ScalarType::Float64, nullable: true };
        let predicate = BoundPredicate::Leaf(column, Test::Compare(CompareOp::Eq, Scalar::Float64(value)));
        let BoundPredicate::Leaf(_, Test::Compare(_, Scalar::Float64(reread))) =
            from_json(&to_json(&predicate).unwrap()).unwrap()
        else {
            panic!("another predicate");
        };
        assert_eq!(reread.to_bits(), value.to_bits());
    }
}

#[test]
fn invalid_predicate_json_is_corrupt() {
    let leaf = |t: &str, test: &str, value: &str| {
        format!(r#"{{"column": 1, "name": "a", "type": "{t}", "nullable": true, "test": "{test}", "value": {value}}}"#)
    };
    let deep = "{\"and\": [".repeat(60) + "true" + &"]}".repeat(60);
    for text in [
        "null".into(),
        "{}".into(),
        "[]".into(),
        r#"{"and": [5]}"#.into(),
        leaf("long", "eq", "\"0a\""),
        leaf("long", "eq", "\"0a0000000000000\""),
        leaf("long", "eq", "\"zz00000000000000\""),
        leaf("long", "eq", "\"+a00000000000000\""),
        leaf("long", "eq", "10"),
        leaf("long", "in", "\"0a00000000000000\""),
        leaf("string", "eq", "\"ff\""),
        leaf("string", "like", "null"),
        leaf("variant", "is-null", "null"),
        leaf("nothing", "is-null", "null"),
        leaf("long", "nothing", "null"),
        leaf("long", "is-null", "null").replace("\"column\": 1", "\"column\": 4294967296"),
    ] {
        let error = from_json(&serde_json::from_str(&text).unwrap()).unwrap_err();
        assert_eq!(error.kind(), frazil_core::error::ErrorKind::CorruptData, "{text}: {error}");
    }
    let error = from_json(&serde_json::from_str(&deep).unwrap()).unwrap_err();
    assert_eq!(error.kind(), frazil_core::error::ErrorKind::CorruptData, "nested too deep");
}
