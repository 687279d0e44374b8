//! Tests of aggregators. A case is a column of values, the steps on its rows, and the result as a string.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Int32Type};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float32Array, Float64Array, Int8Array,
    Int16Array, Int32Array, Int64Array, ListArray, StringArray, TimestampNanosecondArray, new_null_array,
};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use frazil_core::error::{ErrorKind, Result};
use proptest::prelude::*;
use rstest::rstest;

use super::{FieldAggregator, aggregator};
use crate::spec::options::Options;
use crate::spec::types::{DataField, DataType, TypeRoot};

/// Creates a column `f` of a type.
pub(super) fn field(root: TypeRoot) -> DataField {
    let data_type = DataType::nullable(root);
    DataField { id: 1, name: "f".to_string(), data_type, description: None, default_value: None }
}

/// Creates the options of the column `f`.
pub(super) fn options(pairs: &[(&str, &str)]) -> Options {
    Options::new(pairs.iter().map(|(name, value)| (format!("fields.f.{name}"), (*value).to_string())).collect())
}

/// Applies `steps` to rows of `values`: `+0` adds row 0, `~0` adds it as an earlier record, `-0` retracts it, `=0` sets
/// the value to row 0, and `|` separates keys.
pub(super) fn run(aggregator: &mut dyn FieldAggregator, values: &ArrayRef, steps: &str) -> Result<ArrayRef> {
    for key in steps.split('|') {
        aggregator.begin();
        for step in key.split_whitespace() {
            let row = step[1..].parse().unwrap();
            match &step[..1] {
                "+" => aggregator.add(values, row)?,
                "~" => aggregator.add_reversed(values, row)?,
                "-" => aggregator.retract(values, row)?,
                _ => aggregator.replace(values, row)?,
            }
        }
        aggregator.append()?;
    }
    aggregator.finish()
}

/// Formats the values as a string, with `-` for NULL.
pub(super) fn text(values: &ArrayRef) -> String {
    // Arrow prints no more digits than a decimal may have.
    let wide = values
        .as_primitive_opt::<Decimal128Type>()
        .map(|values| Arc::new(values.clone().with_precision_and_scale(38, values.scale()).unwrap()) as ArrayRef);
    let values = wide.as_ref().unwrap_or(values);
    let format = FormatOptions::new().with_null("-");
    let formatter = ArrayFormatter::try_new(values, &format).unwrap();
    let values: Vec<String> = (0..values.len()).map(|row| formatter.value(row).to_string()).collect();
    values.join(" ")
}

/// Returns the result of a function on a column.
fn result(function: &str, root: TypeRoot, pairs: &[(&str, &str)], values: &ArrayRef, steps: &str) -> String {
    let field = field(root);
    let mut aggregator = aggregator(function, &field, &options(pairs)).unwrap();
    let result = run(&mut *aggregator, values, steps).unwrap();
    assert_eq!(*result.data_type(), field.data_type.arrow());
    result.to_data().validate().unwrap();
    text(&result)
}

#[rstest]
#[case("first_value", "+1 +0 +2 | +0 +1 | +1 ~0 | =1 | =0 ~2 | =0 ~2 ~2 | ~0 | =0 +2 ~1", "- 1 1 - 1 2 - -")]
#[case("first_non_null_value", "+1 +0 +2 | +0 ~1 | +0 ~2 | ~1 ~0 | =1", "1 - 2 1 -")]
#[case("first_not_null_value", "+1 +2", "2")]
#[case("last_value", "+0 +1 | +0 +2 | +0 ~2 | +1 ~2 | +0 -0 | +0 -0 +2 | =2", "- 2 1 - - 2 2")]
#[case("last_non_null_value", "+0 +1 | +0 +2 | +0 ~2 | +1 ~2 | +0 -1 | +0 -2 | +0 -2 ~2", "1 2 1 2 1 - 2")]
#[case("primary-key", "+0 +1 | +0 ~2 | +0 -2 | -0 | =1", "- 1 2 1 -")]
#[case("max", "+0 +1 +2 | +2 ~0 | +1 | =0 | ~0 ~2", "2 2 - 1 2")]
#[case("min", "+0 +1 +2 | +2 ~0 | +1 | =0 | ~2 ~0", "1 1 - 1 1")]
#[case("sum", "+0 +1 +2 | +0 ~2 | +1 | -2 | +0 -2 | -1 | =2 | +0 -1", "3 3 - -2 -1 - 2 1")]
#[case("product", "+0 +2 +2 | +1 ~2 | +1 | -2 | +2 +2 -2 | =2 | +2 -1", "4 2 - - 2 2 2")]
#[case("count", "+0 +1 +2 | +1 | +0 ~2 +2 -0 | =2", "2 0 2 2")]
fn functions_of_numbers(#[case] function: &str, #[case] steps: &str, #[case] expected: &str) {
    let values: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None, Some(2)]));
    assert_eq!(result(function, TypeRoot::Int, &[], &values, steps), expected);
}

#[rstest]
#[case("bool_and", "+0 +1 | +0 +2 | +2 | +1 ~0 | =2 | +0 +0", "false true - false - true")]
#[case("bool_or", "+0 +1 | +1 +2 | +2 | +1 ~0 | =2 | +1 +1", "true false - true - false")]
fn functions_of_truth(#[case] function: &str, #[case] steps: &str, #[case] expected: &str) {
    let values: ArrayRef = Arc::new(BooleanArray::from(vec![Some(true), Some(false), None]));
    assert_eq!(result(function, TypeRoot::Boolean, &[], &values, steps), expected);
}

#[rstest]
#[case(&[], "+0 +1 +2 +3 +0 | +2 +0 | +2 | +3 | +0 ~1 | +2 ~0 | =4", "a,b,a a  - b,a a a;a;b")]
#[case(&[("list-agg-delimiter", ";")], "+0 +1", "a;b")]
#[case(&[("list-agg-delimiter", "")], "+0 +1", "ab")]
#[case(
    &[("distinct", "true"), ("list-agg-delimiter", ";")],
    "+0 +4 +1 +0 | +4 +4 | =4 | +5 +0 | +1 ~4 | +0 +6",
    "a;b a;a;b a;a;b ab;a a;a;b a;c",
)]
fn texts_are_joined(#[case] pairs: &[(&str, &str)], #[case] steps: &str, #[case] expected: &str) {
    let values = vec![Some("a"), Some("b"), Some(""), None, Some("a;a;b"), Some("ab"), Some("a;;c")];
    let values: ArrayRef = Arc::new(StringArray::from(values));
    assert_eq!(result("listagg", TypeRoot::VarChar(i32::MAX.unsigned_abs()), pairs, &values, steps), expected);
}

/// Returns types with values, one per row, in ascending order.
fn ascending() -> Vec<(TypeRoot, ArrayRef)> {
    let decimals = Decimal128Array::from(vec![-5, 0, 7]).with_precision_and_scale(38, 10).unwrap();
    vec![
        (TypeRoot::TinyInt, Arc::new(Int8Array::from(vec![-128, 0, 127]))),
        (TypeRoot::SmallInt, Arc::new(Int16Array::from(vec![-300, 0, 300]))),
        (TypeRoot::BigInt, Arc::new(Int64Array::from(vec![i64::MIN, 0, i64::MAX]))),
        (TypeRoot::Float, Arc::new(Float32Array::from(vec![f32::NEG_INFINITY, -0.0, 0.0, f32::INFINITY, f32::NAN]))),
        (TypeRoot::Double, Arc::new(Float64Array::from(vec![-f64::MAX, -0.0, 0.0, f64::INFINITY, -f64::NAN]))),
        (TypeRoot::Decimal(38, 10), Arc::new(decimals)),
        (TypeRoot::VarChar(9), Arc::new(StringArray::from(vec!["", "a", "ab", "\u{e9}", "\u{ffff}", "\u{1d518}"]))),
        (TypeRoot::VarBinary(9), Arc::new(BinaryArray::from(vec![b"".as_slice(), b"\x01", b"\x7f", b"\x80", b"\xff"]))),
        (TypeRoot::Date, Arc::new(Date32Array::from(vec![-1, 0, 1]))),
        (TypeRoot::Timestamp(9), Arc::new(TimestampNanosecondArray::from(vec![i64::MIN + 1, -1, 0, 1]))),
    ]
}

#[test]
fn the_greatest_and_the_least_are_those_of_java() {
    for (root, values) in ascending() {
        let formatter = |row| text(&values.slice(row, 1));
        for (low, high) in (0..values.len()).flat_map(|high| (0..high).map(move |low| (low, high))) {
            for steps in [format!("+{low} +{high}"), format!("+{high} +{low}"), format!("+{low} ~{high}")] {
                assert_eq!(result("max", root.clone(), &[], &values, &steps), formatter(high), "max {steps}");
                assert_eq!(result("min", root.clone(), &[], &values, &steps), formatter(low), "min {steps}");
            }
        }
    }
}

#[test]
fn integers_wrap_around_and_short_decimals_outgrow_their_type() {
    let bytes: ArrayRef = Arc::new(Int8Array::from(vec![127, 1, -128, -1, 2]));
    assert_eq!(result("sum", TypeRoot::TinyInt, &[], &bytes, "+0 +1 | -2"), "-128 -128");
    assert_eq!(result("product", TypeRoot::TinyInt, &[], &bytes, "+0 +4 | +2 -3"), "-2 -128");
    let longs: ArrayRef = Arc::new(Int64Array::from(vec![i64::MAX, 1]));
    assert_eq!(result("sum", TypeRoot::BigInt, &[], &longs, "+0 +1"), i64::MIN.to_string());
}

#[rstest]
#[case(5, 2, "sum", &[99_999, 1], "+0 +1", "1000.00")]
#[case(5, 2, "sum", &[99_999, 1], "+0 +1 -1 | -0", "999.99 -999.99")]
#[case(5, 2, "product", &[150, 333, 99_999], "+0 +1 | +1 +2", "5.00 -")]
#[case(5, 2, "product", &[500, 200, -300], "+0 -1 | +2 -0 | -0", "2.50 -0.60 -")]
#[case(5, 0, "product", &[5, 2, -5], "+0 -1 | +2 -1 | +0 +1", "3 -3 10")]
fn decimals(
    #[case] precision: u8,
    #[case] scale: u8,
    #[case] function: &str,
    #[case] values: &[i128],
    #[case] steps: &str,
    #[case] expected: &str,
) {
    let values = Decimal128Array::from(values.to_vec());
    let values: ArrayRef = Arc::new(values.with_precision_and_scale(precision, scale.cast_signed()).unwrap());
    let mut aggregator = aggregator(function, &field(TypeRoot::Decimal(precision, scale)), &options(&[])).unwrap();
    assert_eq!(text(&run(&mut *aggregator, &values, steps).unwrap()), expected);
}

#[test]
fn long_decimals_that_overflow_are_null() {
    let most = 10i128.pow(38) - 1;
    let values = Decimal128Array::from(vec![most, 1]).with_precision_and_scale(38, 0).unwrap();
    let values: ArrayRef = Arc::new(values);
    assert_eq!(result("sum", TypeRoot::Decimal(38, 0), &[], &values, "+0 +1 | +0 +1 +1"), "- 1");
}

#[rstest]
#[case(&[0, 5], "+1 -0")]
#[case(&[3, 1], "+1 -0")]
fn invalid_product_retractions_are_rejected(#[case] values: &[i128], #[case] steps: &str) {
    let values: ArrayRef = Arc::new(Decimal128Array::from(values.to_vec()).with_precision_and_scale(9, 2).unwrap());
    let mut aggregator = aggregator("product", &field(TypeRoot::Decimal(9, 2)), &options(&[])).unwrap();
    assert_eq!(run(&mut *aggregator, &values, steps).unwrap_err().kind(), ErrorKind::InvalidArgument);
}

#[test]
fn any_type_can_be_selected() {
    let int = DataType::nullable(TypeRoot::Int);
    let key = DataType::required(TypeRoot::Int);
    let row = TypeRoot::Row(vec![DataField { data_type: key.clone(), ..field(TypeRoot::Int) }]);
    let map = TypeRoot::Map(Box::new(key), Box::new(int.clone()));
    for root in [TypeRoot::Array(Box::new(int)), map, row, TypeRoot::Variant] {
        let values = new_null_array(&DataType::nullable(root.clone()).arrow(), 2);
        assert_eq!(result("last_value", root.clone(), &[], &values, "+0 +1 | =0"), "- -");
        assert!(aggregator("max", &field(root), &options(&[])).is_err());
    }
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1), None]), None, Some(vec![])]);
    let root = TypeRoot::Array(Box::new(DataType::nullable(TypeRoot::Int)));
    let values = arrow_cast::cast(&lists, &DataType::nullable(root.clone()).arrow()).unwrap();
    assert_eq!(result("last_non_null_value", root, &[], &values, "+0 +1 | +0 +2 | =1"), "[1, -] [] -");
}

#[rstest]
#[case("max", TypeRoot::Int)]
#[case("min", TypeRoot::Int)]
#[case("first_value", TypeRoot::Int)]
#[case("first_non_null_value", TypeRoot::Int)]
#[case("bool_and", TypeRoot::Boolean)]
#[case("bool_or", TypeRoot::Boolean)]
#[case("listagg", TypeRoot::VarChar(9))]
fn unsupported_retractions_are_errors_unless_ignored(#[case] function: &str, #[case] root: TypeRoot) {
    let field = field(root);
    let values = new_null_array(&field.data_type.arrow(), 1);
    let mut strict = aggregator(function, &field, &options(&[])).unwrap();
    let error = strict.retract(&values, 0).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.message().contains(function) && error.message().contains("`f`"), "{error}");
    let mut lenient = aggregator(function, &field, &options(&[("ignore-retract", "true")])).unwrap();
    lenient.retract(&values, 0).unwrap();
}

#[rstest]
#[case("last_value", "+0 -0", "1")]
#[case("sum", "+0 -0", "1")]
#[case("primary-key", "+0 -2", "1")]
fn ignored_retracts_change_nothing(#[case] function: &str, #[case] steps: &str, #[case] expected: &str) {
    let values: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None, Some(2)]));
    assert_eq!(result(function, TypeRoot::Int, &[("ignore-retract", "true")], &values, steps), expected);
}

#[rstest]
#[case("sum", TypeRoot::VarChar(5), ErrorKind::InvalidArgument)]
#[case("product", TypeRoot::Date, ErrorKind::InvalidArgument)]
#[case("count", TypeRoot::Double, ErrorKind::InvalidArgument)]
#[case("max", TypeRoot::Boolean, ErrorKind::InvalidArgument)]
#[case("bool_or", TypeRoot::Int, ErrorKind::InvalidArgument)]
#[case("listagg", TypeRoot::Char(5), ErrorKind::InvalidArgument)]
#[case("avg", TypeRoot::Int, ErrorKind::Unsupported)]
fn incompatible_types_are_rejected_by_name(#[case] function: &str, #[case] root: TypeRoot, #[case] kind: ErrorKind) {
    let error = aggregator(function, &field(root), &options(&[])).unwrap_err();
    assert_eq!(error.kind(), kind);
    assert!(error.message().contains(function) && error.message().contains("`f`"), "{error}");
}

#[test]
fn values_of_another_type_are_a_bug_of_the_caller() {
    let values: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    for function in ["sum", "last_value", "max", "count"] {
        let mut aggregator = aggregator(function, &field(TypeRoot::Int), &options(&[])).unwrap();
        assert_eq!(aggregator.add(&values, 0).unwrap_err().kind(), ErrorKind::Internal, "{function}");
    }
}

#[test]
fn results_may_be_taken_while_a_key_is_open() {
    for function in ["last_value", "max", "sum"] {
        let first: ArrayRef = Arc::new(Int32Array::from(vec![1, 2]));
        let second: ArrayRef = Arc::new(Int32Array::from(vec![0, 7]));
        let mut aggregator = aggregator(function, &field(TypeRoot::Int), &options(&[])).unwrap();
        aggregator.replace(&first, 0).unwrap();
        aggregator.append().unwrap();
        aggregator.begin();
        aggregator.add(&first, 1).unwrap();
        assert_eq!(text(&aggregator.finish().unwrap()), "1", "{function}");
        aggregator.add(&second, 1).unwrap();
        aggregator.append().unwrap();
        assert_eq!(text(&aggregator.finish().unwrap()), if function == "sum" { "9" } else { "7" });
        assert_eq!(aggregator.finish().unwrap().len(), 0);
    }
}

proptest! {
    /// Checks that an earlier record that arrives later changes nothing.
    #[test]
    fn order_of_arrival_does_not_matter(
        values in proptest::collection::vec(proptest::option::of(-3i32..3), 1..8),
        split in 0usize..8,
    ) {
        let rows = values.len();
        let split = split.min(rows - 1);
        let values: ArrayRef = Arc::new(Int32Array::from(values));
        let forward: Vec<String> = (0..rows).map(|row| format!("+{row}")).collect();
        let later = (split..rows).map(|row| format!("+{row}"));
        let earlier = (0..split).rev().map(|row| format!("~{row}"));
        let mixed: Vec<String> = later.chain(earlier).collect();
        for function in [
            "first_value", "last_value", "last_non_null_value", "primary-key", "max", "min",
            "sum", "product",
        ] {
            let of = |steps: &[String]| result(function, TypeRoot::Int, &[], &values, &steps.join(" "));
            prop_assert_eq!(of(&forward), of(&mixed), "{}", function);
        }
    }
}

#[test]
fn a_map_that_arrow_cannot_hold_is_refused() {
    let int = DataType::nullable(TypeRoot::Int);
    let map = TypeRoot::Map(Box::new(int.clone()), Box::new(int));
    let error = aggregator("last_value", &field(map), &options(&[])).err();
    assert!(error.is_none_or(|error| error.kind() == ErrorKind::Unsupported));
}
