//! Tests of arrays, maps and nested tables.

use std::sync::Arc;

use arrow_array::builder::{Int32Builder, ListBuilder, MapBuilder, MapFieldNames, StringBuilder, StructBuilder};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType as ArrowType, Field, Fields};
use frazil_core::error::ErrorKind;
use proptest::prelude::*;
use rstest::rstest;

use super::aggregator;
use super::tests::{field, options, run, text};
use crate::spec::types::{DataField, DataType, TypeRoot};

const STRING: TypeRoot = TypeRoot::VarChar(i32::MAX.cast_unsigned());

fn nullable(root: TypeRoot) -> DataType {
    DataType::nullable(root)
}

fn named(id: i32, name: &str, root: TypeRoot) -> DataField {
    DataField { id, name: name.to_string(), ..field(root) }
}

fn ints() -> TypeRoot {
    TypeRoot::Array(Box::new(nullable(TypeRoot::Int)))
}

/// `ROW<id INT, sub INT, v STRING>`
fn table() -> TypeRoot {
    let fields = vec![named(2, "id", TypeRoot::Int), named(3, "sub", TypeRoot::Int), named(4, "v", STRING)];
    TypeRoot::Array(Box::new(nullable(TypeRoot::Row(fields))))
}

/// `MAP<STRING NOT NULL, ROW<v INT, ts STRING>>`
fn timed() -> TypeRoot {
    let value = TypeRoot::Row(vec![named(2, "v", TypeRoot::Int), named(3, "ts", STRING)]);
    TypeRoot::Map(Box::new(DataType::required(STRING)), Box::new(nullable(value)))
}

fn inner(data_type: &ArrowType) -> Arc<Field> {
    match data_type {
        ArrowType::List(field) | ArrowType::Map(field, _) => Arc::clone(field),
        _ => unreachable!(),
    }
}

fn children(data_type: &ArrowType) -> Fields {
    match data_type {
        ArrowType::Struct(fields) => fields.clone(),
        _ => unreachable!(),
    }
}

/// Parses lists such as `1,2,-`. `-` is NULL, both as an element and as a list.
fn int_lists(lists: &[&str]) -> ArrayRef {
    let mut builder = ListBuilder::new(Int32Builder::new()).with_field(inner(&nullable(ints()).arrow()));
    for list in lists {
        list.split(',').filter(|text| !text.is_empty() && *list != "-").for_each(|text| {
            builder.values().append_option(text.parse().ok());
        });
        builder.append(*list != "-");
    }
    Arc::new(builder.finish())
}

/// Parses tables such as `1.1.a,2.-.b,-`: the rows of id, sub and v.
fn tables(tables: &[&str]) -> ArrayRef {
    let element = inner(&nullable(table()).arrow());
    let fields = children(element.data_type());
    let mut builder = ListBuilder::new(StructBuilder::from_fields(fields, 0)).with_field(element);
    for rows in tables {
        for row in rows.split(',').filter(|row| !row.is_empty() && *rows != "-") {
            let mut values = row.split('.');
            let mut next = || values.next().filter(|text| *text != "-");
            let rows = builder.values();
            for field in 0..2 {
                rows.field_builder::<Int32Builder>(field)
                    .unwrap()
                    .append_option(next().map(|text| text.parse().unwrap()));
            }
            rows.field_builder::<StringBuilder>(2).unwrap().append_option(next());
            rows.append(row != "-");
        }
        builder.append(*rows != "-");
    }
    Arc::new(builder.finish())
}

/// Parses maps such as `a=1@2024,b=-,c=2@-`: keys, values and times.
fn timed_maps(maps: &[&str]) -> ArrayRef {
    let entries = children(inner(&nullable(timed()).arrow()).data_type());
    let names = MapFieldNames { entry: "entries".to_string(), ..MapFieldNames::default() };
    let values = StructBuilder::from_fields(children(entries[1].data_type()), 0);
    let mut builder = MapBuilder::new(Some(names), StringBuilder::new(), values)
        .with_keys_field(Arc::clone(&entries[0]))
        .with_values_field(Arc::clone(&entries[1]));
    for map in maps {
        for entry in map.split(',').filter(|entry| !entry.is_empty() && *map != "-") {
            let (key, value) = entry.split_once('=').unwrap();
            let (value, time) = value.split_once('@').unwrap_or(("-", "-"));
            builder.keys().append_value(key);
            let values = builder.values();
            values.field_builder::<Int32Builder>(0).unwrap().append_option(value.parse().ok());
            values.field_builder::<StringBuilder>(1).unwrap().append_option(Some(time).filter(|time| *time != "-"));
            values.append(value != "-");
        }
        builder.append(*map != "-").unwrap();
    }
    Arc::new(builder.finish())
}

fn result(function: &str, root: TypeRoot, pairs: &[(&str, &str)], values: &ArrayRef, steps: &str) -> String {
    let field = field(root);
    let mut aggregator = aggregator(function, &field, &options(pairs)).unwrap();
    let result = run(&mut *aggregator, values, steps).unwrap();
    assert_eq!(*result.data_type(), field.data_type.arrow());
    result.to_data().validate_full().unwrap();
    let names = ["id: ", "sub: ", "v: ", "ts: "];
    names.iter().fold(text(&result), |text, name| text.replace(name, ""))
}

#[rstest]
#[case(&[], "+0 +1 | +2 +0 | +2 | +3 | +0 ~1 | =4 | +2 +2", "[1, 2, 2, 3, -] [1, 2] - [] [1, 2, 2, 3, -] [2, 2] -")]
#[case(&[], "+1 +4 -4 | +4 -0 | -0 | +0 -2 | +1 -1", "[3, -, 2] [2] - [1, 2] []")]
#[case(
    &[("distinct", "true")],
    "+4 | +4 +1 | =4 | +0 ~4 | +1 -4 | +1 +1 -1 | =2",
    "[2] [2, 3, -] [2, 2] [1, 2] [3, -] [] -",
)]
#[case(&[("ignore-retract", "true")], "+0 -0 | +0 ~1 | ~0 ~2 | ~2", "[1, 2] [2, 3, -, 1, 2] [1, 2] -")]
#[case(&[("ignore-retract", "true"), ("distinct", "true")], "+0 ~1 | +1 ~4 ~0", "[2, 3, -, 1] [1, 2, 3, -]")]
fn elements_are_collected(#[case] pairs: &[(&str, &str)], #[case] steps: &str, #[case] expected: &str) {
    let values = int_lists(&["1,2", "2,3,-", "-", "", "2,2"]);
    assert_eq!(result("collect", ints(), pairs, &values, steps), expected);
}

#[rstest]
#[case(&[], "+0 +1", "[{1, 1, a}, {2, 1, b}, {1, 1, dup}, {1, 1, A}, {3, -, c}]")]
#[case(&[], "+5 | +5 +4 | +2 +4 | =5 | =2", "[-, {1, 1, x}] [{1, 1, x}, {1, 0, old}] [{1, 0, old}] [-, {1, 1, x}] -")]
#[case(&[], "+1 +1 -4 | +1 +1 -1 | +4 -2 | -4", "[{1, 1, A}, {3, -, c}, {1, 1, A}, {3, -, c}] [] [{1, 0, old}] -")]
#[case(
    &[("count-limit", "3")],
    "+0 +1 | +1 +0 | +4 ~1",
    "[{1, 1, a}, {2, 1, b}, {1, 1, dup}] [{1, 1, A}, {3, -, c}, {1, 1, a}] [{1, 1, A}, {3, -, c}, {1, 0, old}]",
)]
#[case(
    &[("nested-key", "id")],
    "+0 +1 | +0 | +1 +3",
    "[{1, 1, A}, {2, 1, b}, {3, -, c}] [{1, 1, a}, {2, 1, b}, {1, 1, dup}] [{1, 1, A}, {3, -, c2}, {-, 1, nullkey}]",
)]
#[case(&[("nested-key", "id")], "+0 -1 | +0 -0 | +1 ~0", "[{2, 1, b}] [] [{1, 1, A}, {2, 1, b}, {3, -, c}]")]
#[case(&[("nested-key", "id, v")], "+0 +4", "[{1, 1, a}, {2, 1, b}, {1, 1, dup}, {1, 0, old}]")]
#[case(
    &[("nested-key", "id"), ("nested-sequence-field", "sub")],
    "+0 +4 | +4 ~0 | +4 +1 +4 | +1 +3",
    "[{1, 1, dup}, {2, 1, b}] [{1, 1, dup}, {2, 1, b}] [{1, 1, A}, {3, -, c}] [{1, 1, A}, {3, -, c2}, {-, 1, nullkey}]",
)]
fn nested_tables_are_updated(#[case] pairs: &[(&str, &str)], #[case] steps: &str, #[case] expected: &str) {
    let values = tables(&["1.1.a,2.1.b,1.1.dup", "1.1.A,3.-.c", "-", "-.1.nullkey,3.-.c2", "1.0.old", "-,1.1.x"]);
    assert_eq!(result("nested_update", table(), pairs, &values, steps), expected);
}

#[rstest]
#[case(
    "+0 +1 | +1 ~0 | =3 | =2 | +3",
    "[{1, 1, A}, {2, 7, b}] [{1, 1, A}, {2, 7, b}] [-, {1, -, x}, {1, 5, -}] - [-, {1, -, x}, {1, 5, -}]"
)]
#[case("+3 +0 +1 | +1 +0 ~3 | +2 +0 | +2", "[{1, 1, A}, {2, 7, b}] [{1, 1, A}, {2, 7, b}] [{1, 1, -}, {2, -, b}] -")]
fn nested_tables_are_completed(#[case] steps: &str, #[case] expected: &str) {
    let values = tables(&["1.1.-,2.-.b", "1.-.A,2.7.-", "-", "-,1.-.x,1.5.-"]);
    assert_eq!(result("nested_partial_update", table(), &[("nested-key", "id")], &values, steps), expected);
}

#[rstest]
#[case("+0 +1 | +0 ~1", "{a: {2, y}, b: -, c: {3, -}} {a: {1, x}, c: {3, -}, b: -}")]
#[case("+2 +0 | +0 -1 | -0 | =3 | +3 | +0 -2 | =2", "{a: {1, x}, b: -} {b: -} - {} {} {a: {1, x}, b: -} -")]
fn maps_are_merged(#[case] steps: &str, #[case] expected: &str) {
    let values = timed_maps(&["a=1@x,b=-", "a=2@y,c=3@-", "-", ""]);
    assert_eq!(result("merge_map", timed(), &[], &values, steps), expected);
}

#[rstest]
#[case("+0 +1 +2", "{b: {2, 2024-01-03}, c: {2, 2020}}")]
#[case("+1 ~0 +2", "{b: {2, 2024-01-03}, c: {2, 2020}}")]
#[case(
    "=2 | +2 | +2 +3",
    "{a: -, b: {3, 2024-01-03}, e: {5, -}} {a: -, b: {3, 2024-01-03}, e: {5, -}} {a: {8, 2}, b: {3, \
     2024-01-03}, e: {5, -}}"
)]
#[case("+4 +5 | +5 +4", "{a: {1, \u{ffff}}} {a: {1, \u{ffff}}}")]
fn maps_are_merged_by_the_times_of_their_keys(#[case] steps: &str, #[case] expected: &str) {
    let values = timed_maps(&[
        "a=1@2024-01-02,b=1@2024-01-02,c=1@-",
        "a=2@2024-01-01,b=2@2024-01-03,c=2@2020,d=-",
        "a=-,b=3@2024-01-03,e=5@-",
        "a=8@2",
        // Java compares UTF-16 code units, so surrogates by their halves.
        "a=1@\u{ffff}",
        "a=2@\u{1d518}",
    ]);
    assert_eq!(result("merge_map_with_keytime", timed(), &[], &values, steps), expected);
}

#[rstest]
#[case("collect", TypeRoot::Int, &[])]
#[case("merge_map", ints(), &[])]
#[case(
    "merge_map_with_keytime",
    TypeRoot::Map(Box::new(DataType::required(STRING)), Box::new(nullable(TypeRoot::Int))),
    &[],
)]
#[case("nested_update", ints(), &[])]
#[case("nested_update", table(), &[("nested-key", "nope")])]
#[case("nested_update", table(), &[("nested-sequence-field", "sub")])]
#[case("nested_update", table(), &[("count-limit", "-1")])]
#[case("nested_partial_update", table(), &[])]
#[case("collect", ints(), &[("distinct", "maybe")])]
#[case("rbm32", STRING, &[])]
#[case("theta_sketch", TypeRoot::Binary(10), &[])]
fn invalid_types_and_options_are_rejected(
    #[case] function: &str,
    #[case] root: TypeRoot,
    #[case] pairs: &[(&str, &str)],
) {
    let error = aggregator(function, &field(root), &options(pairs)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.message().contains(function) || error.message().contains("fields.f."), "{error}");
}

#[rstest]
#[case("merge_map_with_keytime", timed(), timed_maps(&["a=1@2"]), &[])]
#[case("nested_partial_update", table(), tables(&["1.1.a"]), &[("nested-key", "id")])]
fn unsupported_retractions_are_errors(
    #[case] function: &str,
    #[case] root: TypeRoot,
    #[case] values: ArrayRef,
    #[case] pairs: &[(&str, &str)],
) {
    let mut aggregator = aggregator(function, &field(root.clone()), &options(pairs)).unwrap();
    assert_eq!(run(&mut *aggregator, &values, "+0 -0").unwrap_err().kind(), ErrorKind::Unsupported);
    let lenient = [pairs, &[("ignore-retract", "true")]].concat();
    assert_eq!(
        result(function, root.clone(), &lenient, &values, "+0 -0"),
        result(function, root, pairs, &values, "+0")
    );
}

#[rstest]
#[case("nested_update")]
#[case("nested_partial_update")]
fn other_ways_with_null_keys_are_refused(#[case] function: &str) {
    let of = |strategy| {
        let pairs = options(&[("nested-key", "id"), ("nested-key-null-strategy", strategy)]);
        aggregator(function, &field(table()), &pairs).map(|_| ())
    };
    of("merge").unwrap();
    assert_eq!(of("ignore").unwrap_err().kind(), ErrorKind::Unsupported);
}

#[test]
fn lists_of_several_batches_and_slices_are_told_apart() {
    let first = int_lists(&["1", "2,3", "4"]).slice(1, 2);
    let second = int_lists(&["5,6"]);
    let mut aggregator = aggregator("collect", &field(ints()), &options(&[("distinct", "true")])).unwrap();
    aggregator.begin();
    aggregator.add(&first, 0).unwrap();
    aggregator.add(&second, 0).unwrap();
    aggregator.add(&first, 1).unwrap();
    assert_eq!(aggregator.finish().unwrap().len(), 0);
    aggregator.add(&second, 0).unwrap();
    aggregator.append().unwrap();
    aggregator.replace(&first, 1).unwrap();
    aggregator.append().unwrap();
    assert_eq!(text(&aggregator.finish().unwrap()), "[2, 3, 5, 6, 4] [4]");
    assert_eq!(aggregator.add(&first, 2).unwrap_err().kind(), ErrorKind::Internal);
}

proptest! {
    /// Checks that an earlier record that arrives later changes only the order of rows, not the rows.
    #[test]
    fn order_of_arrival_does_not_matter(
        records in proptest::collection::vec(proptest::collection::vec((0u8..4, 0u8..3, 0u8..3), 0..4), 2..6),
        split in 1usize..6,
    ) {
        let shown = |value: u8| if value == 0 { "-".to_string() } else { value.to_string() };
        let rows = |record: &Vec<(u8, u8, u8)>| {
            let row = |(id, sub, v): &(u8, u8, u8)| format!("{id}.{}.{}", shown(*sub), shown(*v));
            record.iter().map(row).collect::<Vec<_>>().join(",")
        };
        let records: Vec<String> = records.iter().map(rows).collect();
        let values = tables(&records.iter().map(String::as_str).collect::<Vec<_>>());
        let split = split.min(values.len());
        let forward: Vec<String> = (0..values.len()).map(|row| format!("+{row}")).collect();
        let later = (split..values.len()).map(|row| format!("+{row}"));
        let mixed: Vec<String> = later.chain((0..split).rev().map(|row| format!("~{row}"))).collect();
        let sorted = |function: &str, steps: &[String]| {
            let text = result(function, table(), &[("nested-key", "id")], &values, &steps.join(" "));
            let rows = text.trim_matches(['[', ']']).split("}, ");
            let mut rows: Vec<String> = rows.map(|row| row.replace('}', "")).collect();
            rows.sort();
            rows
        };
        for function in ["nested_update", "nested_partial_update"] {
            prop_assert_eq!(sorted(function, &forward), sorted(function, &mixed), "{}", function);
        }
    }
}
