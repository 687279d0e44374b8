//! Tests of projections: by id and by name, conversions, nested records, lookups.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int8Type, Int32Type, Int64Type, Time64MicrosecondType, TimestampNanosecondType};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, TimeUnit};
use proptest::prelude::*;

use super::*;

fn column(bytes: &[u8], column: Column) -> Result<ArrayRef> {
    project(bytes, [column]).map(|batch| batch.column(0).clone())
}

/// Returns one row of a column `a` of this type, converted to `wanted`.
fn convert(kind: &str, payload: &[u8], wanted: DataType) -> Result<ArrayRef> {
    let bytes = file(&record(&format!(r#"{{"name":"a","type":{kind}}}"#)), 1, payload);
    column(&bytes, by_name("a", Kind::Leaf(wanted)))
}

#[test]
fn fields_are_found_by_id_name_or_alias() {
    let schema = record(
        r#"{"name":"old_name","field-id":3,"type":"int"},{"name":"b","field-id":"4","type":"int"},
           {"name":"c","aliases":["c_before"],"type":"int"}"#,
    );
    let bytes = file(&schema, 1, &[long(1), long(2), long(3)].concat());
    let int = || Kind::Leaf(DataType::Int32);
    let wanted = [
        by_id(3, "new_name", int()),
        by_name("c_before", int()),
        by_id(99, "fallback", int()).or(Key::Name("b".into())),
        // An id that is not a number is ignored.
        by_id(4, "gone", int()),
        // A name matches only the current name, not earlier names of other fields.
        by_name("old_name", Kind::Leaf(DataType::Int64)).required(),
    ];
    let batch = project(&bytes, wanted).unwrap();
    let names: Vec<_> = batch.schema().fields().iter().map(|f| (f.name().clone(), f.is_nullable())).collect();
    let name = |name: &str, nullable| (name.to_owned(), nullable);
    let expected = ["new_name", "c_before", "fallback", "gone"].map(|n| name(n, true));
    assert_eq!(names[..4], expected);
    assert_eq!(names[4], name("old_name", false));
    let int = |i: usize| batch.column(i).as_primitive::<Int32Type>().clone();
    assert_eq!((int(0).value(0), int(1).value(0), int(2).value(0)), (1, 3, 2));
    assert_eq!(int(3).null_count(), 1);
    assert_eq!(batch.column(4).as_primitive::<Int64Type>().value(0), 1);
}

#[test]
fn one_id_on_two_fields_is_corrupt() {
    let schema = record(r#"{"name":"a","field-id":3,"type":"int"},{"name":"b","field-id":3,"type":"int"}"#);
    let bytes = file(&schema, 1, &[long(1), long(2)].concat());
    corrupt(column(&bytes, by_id(3, "x", Kind::Leaf(DataType::Int32))), "two fields have the id 3");
    assert!(column(&bytes, by_name("a", Kind::Leaf(DataType::Int32))).is_ok());
}

#[test]
fn required_fields_must_be_there_and_not_null() {
    let schema = record(r#"{"name":"a","type":["int","null"]}"#);
    let some = file(&schema, 1, &[long(0), long(5)].concat());
    let none = file(&schema, 1, &long(1));
    let wanted = |name: &str| by_name(name, Kind::Leaf(DataType::Int32)).required();
    assert_eq!(column(&some, wanted("a")).unwrap().null_count(), 0);
    corrupt(column(&none, wanted("a")), "a required field is null (field: a)");
    corrupt(column(&some, wanted("b")), "a required field is missing (field: b)");
    assert_eq!(column(&none, by_name("a", Kind::Leaf(DataType::Int32))).unwrap().null_count(), 1);
}

#[test]
fn values_are_converted_while_decoding() {
    let five = long(5);
    assert_eq!(*convert(r#""int""#, &five, DataType::Int64).unwrap().as_primitive::<Int64Type>().values(), [5]);
    assert_eq!(*convert(r#""long""#, &five, DataType::Int32).unwrap().as_primitive::<Int32Type>().values(), [5]);
    assert_eq!(*convert(r#""int""#, &five, DataType::Int8).unwrap().as_primitive::<Int8Type>().values(), [5]);
    let half = convert(r#""float""#, &0.5_f32.to_le_bytes(), DataType::Float64).unwrap();
    assert_eq!(half.as_primitive::<Float64Type>().value(0).to_bits(), 0.5_f64.to_bits());
    let text = convert(r#""bytes""#, &sized("ä"), DataType::Utf8).unwrap();
    assert_eq!(text.as_string::<i32>().value(0), "ä");
    let bytes = convert(r#""string""#, &sized("ä"), DataType::Binary).unwrap();
    assert_eq!(bytes.as_binary::<i32>().value(0), "ä".as_bytes());
    let bytes = convert(r#"{"type":"fixed","name":"f","size":2}"#, b"xy", DataType::Binary).unwrap();
    assert_eq!(bytes.as_binary::<i32>().value(0), b"xy");
    let bytes = convert(r#""bytes""#, &sized("xy"), DataType::FixedSizeBinary(2)).unwrap();
    assert_eq!(bytes.as_fixed_size_binary().value(0), b"xy");
    let time = convert(r#"{"type":"int","logicalType":"time-millis"}"#, &five, DataType::Time64(TimeUnit::Microsecond));
    assert_eq!(*time.unwrap().as_primitive::<Time64MicrosecondType>().values(), [5000]);
    let zone = DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into()));
    let instant = convert(r#"{"type":"long","logicalType":"local-timestamp-micros"}"#, &five, zone.clone()).unwrap();
    assert_eq!(*instant.as_primitive::<TimestampNanosecondType>().values(), [5000]);
    assert_eq!(instant.data_type(), &zone);
    assert_eq!(convert(r#"["null"]"#, &long(0), DataType::Utf8).unwrap().null_count(), 1);
    let list = DataType::new_list(DataType::Int8, true);
    assert_eq!(convert(r#""null""#, &[], list).unwrap().logical_null_count(), 1);
}

#[test]
fn values_that_cannot_be_converted_are_refused() {
    let micros = DataType::Timestamp(TimeUnit::Microsecond, None);
    for (kind, payload, wanted) in [
        // Values that do not fit.
        (r#""long""#, long(1 << 31), DataType::Int32),
        (r#""int""#, long(128), DataType::Int8),
        (r#""int""#, long(1 << 31), DataType::Int64),
        (r#""bytes""#, sized([0xff]), DataType::Utf8),
        (r#""bytes""#, sized("xyz"), DataType::FixedSizeBinary(2)),
        (r#"{"type":"long","logicalType":"timestamp-millis"}"#, long(i64::MAX), micros.clone()),
        // Types that cannot be converted.
        (r#"{"type":"long","logicalType":"timestamp-nanos"}"#, long(1), micros.clone()),
        (r#"{"type":"long","logicalType":"time-micros"}"#, long(1), micros),
        (r#""string""#, sized("1"), DataType::Int32),
        (r#""double""#, vec![0; 8], DataType::Float32),
        (r#"{"type":"fixed","name":"f","size":2}"#, vec![0; 2], DataType::FixedSizeBinary(3)),
        (r#"{"type":"bytes","logicalType":"decimal","precision":9,"scale":2}"#, sized([1]), DataType::Decimal128(9, 3)),
        (r#"{"type":"array","items":"int"}"#, long(0), DataType::Int32),
        (&record(""), vec![], DataType::Utf8),
    ] {
        corrupt(convert(kind, &payload, wanted), "field: a");
    }
}

#[test]
fn nested_records_are_projected_by_their_own_keys() {
    let inner = record(
        r#"{"name":"skipped","type":{"type":"array","items":"string"}},
           {"name":"x","field-id":5,"type":"long"},{"name":"y","field-id":6,"type":["null","string"]}"#,
    );
    let schema = format!(
        r#"{{"type":"record","name":"top","fields":[{{"name":"before","type":"string"}},
            {{"name":"inner","field-id":2,"type":["null",{inner}]}},
            {{"name":"items","field-id":3,"type":{{"type":"array","items":"row"}}}}]}}"#
    );
    let value = |x: i64, y: &str| [long(2), sized("p"), sized("q"), long(0), long(x), long(1), sized(y)].concat();
    let first = [sized("b"), long(1), value(7, "seven"), long(2), value(1, "one"), value(2, "two"), long(0)].concat();
    let second = [sized(""), long(0), long(0)].concat();
    let bytes = file(&schema, 2, &[first, second].concat());

    let parts = || {
        vec![
            by_id(6, "text", Kind::Leaf(DataType::Utf8)),
            by_id(77, "missing", Kind::Leaf(DataType::Boolean)),
            by_id(5, "number", Kind::Leaf(DataType::Int64)).required(),
        ]
    };
    let wanted = [
        by_id(3, "items", Kind::List(Box::new(Kind::Struct(parts())))),
        by_id(2, "inner", Kind::Struct(parts())),
        by_id(2, "natural", Kind::Natural),
        by_id(88, "nothing", Kind::Struct(parts())),
    ];
    let batch = project(&bytes, wanted).unwrap();
    let inner = batch.column(1).as_struct();
    assert!(inner.is_valid(0) && inner.is_null(1));
    assert_eq!(inner.column(0).as_string::<i32>().value(0), "seven");
    assert_eq!(inner.column(1).null_count(), 2);
    assert_eq!(inner.column(2).as_primitive::<Int64Type>().value(0), 7);
    let items = batch.column(0).as_list::<i32>();
    assert_eq!((items.value_length(0), items.value_length(1)), (2, 0));
    assert_eq!(items.values().as_struct().column(2).as_primitive::<Int64Type>().values(), &[1, 2]);
    // The same field may be read in two ways.
    let natural = batch.column(2).as_struct();
    assert_eq!(natural.column(2).as_string::<i32>().value(0), "seven");
    assert_eq!(batch.column(3).null_count(), 2);
    assert_eq!(batch.column(3).data_type(), inner.data_type());
}

#[test]
fn a_null_in_a_required_part_of_a_record_is_corrupt() {
    let inner = record(r#"{"name":"x","type":["null","long"]}"#);
    let schema = format!(r#"{{"type":"record","name":"top","fields":[{{"name":"inner","type":["null",{inner}]}}]}}"#);
    let wanted = || by_name("inner", Kind::Struct(vec![by_name("x", Kind::Leaf(DataType::Int64)).required()]));
    let rows = |rows: &[Vec<u8>]| file(&schema, i64::try_from(rows.len()).unwrap(), &rows.concat());
    let (absent, full, hollow) = (long(0), [long(1), long(1), long(9)].concat(), [long(1), long(0)].concat());
    assert!(column(&rows(&[absent.clone(), full.clone()]), wanted()).is_ok());
    corrupt(column(&rows(&[absent, full, hollow]), wanted()), "field: x");
}

const INT_MAP: &str = r#"{"type":"array","logicalType":"map","items":{"type":"record","name":"k1_v2","fields":[
    {"name":"key","type":"int","field-id":1},{"name":"value","type":"bytes","field-id":2}]}}"#;

/// The entries of a map, or null.
type MapRow = Option<Vec<(i32, Vec<u8>)>>;

/// Encodes maps as blocks of at most three entries, with or without the block size.
fn maps(rows: &[MapRow], text: bool, sizes: bool) -> Vec<u8> {
    let kind = if text { r#"{"type":"map","values":"bytes"}"# } else { INT_MAP };
    let schema = record(&format!(r#"{{"name":"m","type":[{kind},"null"]}}"#));
    let mut payload = Vec::new();
    for row in rows {
        let Some(entries) = row else {
            payload.extend(long(1));
            continue;
        };
        payload.extend(long(0));
        for chunk in entries.chunks(3) {
            let entry = |(key, value): &(i32, Vec<u8>)| {
                let key = if text { sized(key.to_string()) } else { long(i64::from(*key)) };
                [key, sized(value)].concat()
            };
            let block: Vec<u8> = chunk.iter().flat_map(entry).collect();
            let count = i64::try_from(chunk.len()).unwrap();
            if sizes {
                payload.extend([long(-count), sized(block)].concat());
            } else {
                payload.extend([long(count), block].concat());
            }
        }
        payload.extend(long(0));
    }
    file(&schema, i64::try_from(rows.len()).unwrap(), &payload)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn lookups_agree_with_the_whole_map(
        rows in prop::collection::vec(prop::option::of(prop::collection::btree_map(0_i32..12, ".{0,5}", 0..9)), 0..9),
        keys in prop::sample::subsequence((0..14).chain([i32::MAX - 100]).collect::<Vec<_>>(), 0..5).prop_shuffle(),
        text in any::<bool>(),
        sizes in any::<bool>(),
    ) {
        let entries = |row: &std::collections::BTreeMap<i32, String>| {
            row.iter().map(|(key, value)| (*key, value.clone().into_bytes())).collect()
        };
        let rows: Vec<MapRow> = rows.iter().map(|row| row.as_ref().map(entries)).collect();
        let kind = Kind::Lookup { keys: keys.clone(), value: DataType::Binary };
        let found = column(&maps(&rows, text, sizes), by_name("m", kind)).unwrap();
        let found = found.as_struct();
        prop_assert_eq!(found.column_names(), keys.iter().map(ToString::to_string).collect::<Vec<_>>());
        for (i, row) in rows.iter().enumerate() {
            prop_assert_eq!(found.is_null(i), row.is_none());
            for (key, values) in keys.iter().zip(found.columns()) {
                let expected = row.iter().flatten().find(|(k, _)| k == key).map(|(_, value)| value.as_slice());
                let values = values.as_binary::<i32>();
                prop_assert_eq!(values.is_valid(i).then(|| values.value(i)), expected);
            }
        }
    }
}

#[test]
fn a_key_twice_in_a_map_is_corrupt_where_it_is_wanted() {
    let bytes = maps(&[Some(vec![(1, b"a".to_vec()), (2, b"b".to_vec()), (1, b"c".to_vec())])], false, false);
    let wanted = |key| by_name("m", Kind::Lookup { keys: vec![key], value: DataType::Binary });
    corrupt(column(&bytes, wanted(1)), "a map has a duplicate key");
    assert_eq!(column(&bytes, wanted(2)).unwrap().as_struct().column(0).as_binary::<i32>().value(0), b"b");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Rows with only a few layouts, so that most have the layout of the previous row.
    #[test]
    fn a_lookup_follows_maps_that_look_alike_and_notices_those_that_do_not(
        layouts in prop::collection::vec(prop::collection::vec((0_i32..80, 0_usize..90), 0..6), 1..4),
        choices in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40),
        keys in prop::collection::btree_set(0_i32..80, 0..4),
        sizes in any::<bool>(),
    ) {
        let rows: Vec<MapRow> = choices.iter().map(|(choice, fill)| {
            let mut seen = std::collections::BTreeSet::new();
            let entries = choice.get(&layouts).iter().filter(|(key, _)| seen.insert(*key));
            Some(entries.map(|&(key, length)| (key, vec![*fill % 100; length])).collect())
        }).collect();
        let keys: Vec<i32> = keys.into_iter().collect();
        let kind = Kind::Lookup { keys: keys.clone(), value: DataType::Binary };
        let found = column(&maps(&rows, false, sizes), by_name("m", kind)).unwrap();
        for (key, values) in keys.iter().zip(found.as_struct().columns()) {
            let values = values.as_binary::<i32>();
            for (i, row) in rows.iter().enumerate() {
                let expected = row.iter().flatten().find(|(k, _)| k == key).map(|(_, value)| value.as_slice());
                prop_assert_eq!(values.is_valid(i).then(|| values.value(i)), expected);
            }
        }
    }
}

#[test]
fn a_lookup_in_a_non_map_is_corrupt() {
    let bytes = file(&record(r#"{"name":"m","type":{"type":"array","items":"int"}}"#), 1, &long(0));
    let wanted = || by_name("m", Kind::Lookup { keys: vec![1], value: DataType::Binary });
    corrupt(column(&bytes, wanted()), "cannot be converted to a map");
    let missing = column(&bytes, Column { keys: vec![], ..wanted() }).unwrap();
    assert_eq!((missing.null_count(), missing.as_struct().num_columns()), (1, 1));
}
