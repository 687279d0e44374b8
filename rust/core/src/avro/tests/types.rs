//! Tests of types and attributes: writer's schemas and the resulting Arrow types.

use arrow_array::cast::AsArray;
use arrow_schema::{DataType, Field, TimeUnit};

use super::*;

/// Returns the natural field of a column of this type.
fn natural(kind: &str) -> Field {
    let schema = record(&format!(r#"{{"name":"a","field-id":7,"type":{kind}}}"#));
    let schema = AvroFile::open(header(&schema, "null")).unwrap().arrow_schema().unwrap();
    schema.field(0).clone()
}

fn id(field: &Field) -> Option<&str> {
    field.metadata().get(FIELD_ID_KEY).map(String::as_str)
}

#[test]
fn logical_types_become_arrow_types() {
    use TimeUnit::{Microsecond, Millisecond, Nanosecond};
    let utc = || Some("UTC".into());
    for (kind, expected) in [
        (r#"{"type":"int","logicalType":"date"}"#, DataType::Date32),
        (r#"{"type":"int","logicalType":"time-millis"}"#, DataType::Time32(Millisecond)),
        (r#"{"type":"long","logicalType":"time-micros"}"#, DataType::Time64(Microsecond)),
        (r#"{"type":"long","logicalType":"timestamp-millis"}"#, DataType::Timestamp(Millisecond, utc())),
        (
            r#"{"type":"long","logicalType":"timestamp-micros","adjust-to-utc":true}"#,
            DataType::Timestamp(Microsecond, utc()),
        ),
        (
            r#"{"type":"long","logicalType":"timestamp-micros","adjust-to-utc":false}"#,
            DataType::Timestamp(Microsecond, None),
        ),
        (
            r#"{"type":"long","logicalType":"timestamp-nanos","adjust-to-utc":false}"#,
            DataType::Timestamp(Nanosecond, None),
        ),
        (r#"{"type":"long","logicalType":"local-timestamp-micros"}"#, DataType::Timestamp(Microsecond, None)),
        (r#"{"type":"bytes","logicalType":"decimal","precision":9,"scale":2}"#, DataType::Decimal128(9, 2)),
        (r#"{"type":"bytes","logicalType":"decimal","precision":38}"#, DataType::Decimal128(38, 0)),
        (r#"{"type":"fixed","name":"d","size":12,"logicalType":"duration"}"#, DataType::FixedSizeBinary(12)),
        (r#"{"type":"string","logicalType":"uuid"}"#, DataType::FixedSizeBinary(16)),
        // Logical types that do not fit or are unknown are ignored.
        (r#"{"type":"long","logicalType":"date"}"#, DataType::Int64),
        (r#"{"type":"bytes","logicalType":"decimal","precision":2,"scale":3}"#, DataType::Binary),
        (r#"{"type":"bytes","logicalType":"decimal","scale":3}"#, DataType::Binary),
        (r#"{"type":"string","logicalType":"color"}"#, DataType::Utf8),
        (r#"{"type":{"type":"int"},"logicalType":"date"}"#, DataType::Date32),
        (r#"{"type":"fixed","name":"f","size":0}"#, DataType::Binary),
        (r#"["null"]"#, DataType::Null),
    ] {
        let field = natural(kind);
        assert_eq!(field.data_type(), &expected, "{kind}");
        assert_eq!(id(&field), Some("7"), "{kind}");
    }
    let uuid = natural(r#"["null",{"type":"fixed","name":"u","size":16,"logicalType":"uuid"}]"#);
    assert_eq!(uuid.metadata().get("ARROW:extension:name").map(String::as_str), Some("arrow.uuid"));
    assert!(uuid.is_nullable());
}

#[test]
fn ids_of_parts_travel_along() {
    let list = natural(r#"{"type":"array","items":["null","int"],"element-id":8}"#);
    let DataType::List(element) = list.data_type() else { panic!("{list}") };
    assert_eq!((element.name().as_str(), id(element), element.is_nullable()), ("element", Some("8"), true));

    let text_map = r#"{"type":"map","values":"int","key-id":8,"value-id":9}"#;
    let int_map = r#"{"type":"array","logicalType":"map","items":{"type":"record","name":"k8_v9","fields":[
        {"name":"k","type":"int","field-id":8},{"name":"v","type":["null","int"],"field-id":9}]}}"#;
    for (kind, key_type, nullable) in [(text_map, DataType::Utf8, false), (int_map, DataType::Int32, true)] {
        let map = natural(kind);
        let DataType::Map(entries, false) = map.data_type() else { panic!("{map}") };
        let DataType::Struct(parts) = entries.data_type() else { panic!("{map}") };
        let [key, value] = parts.as_ref() else { panic!("{map}") };
        assert_eq!((key.name().as_str(), id(key), key.data_type()), ("key", Some("8"), &key_type));
        assert_eq!((value.name().as_str(), id(value), value.is_nullable()), ("value", Some("9"), nullable));
    }
}

#[test]
fn a_variant_is_its_two_parts() {
    let variant = natural(
        r#"{"type":"record","name":"v","logicalType":"variant","fields":[
            {"name":"metadata","type":"bytes"},{"name":"value","type":"bytes"}]}"#,
    );
    let parts = [Field::new("metadata", DataType::Binary, false), Field::new("value", DataType::Binary, false)];
    assert_eq!(variant.data_type(), &DataType::Struct(parts.into_iter().collect()));
}

#[test]
fn names_resolve_in_their_namespaces() {
    let fixed = |name: &str, size: u32| format!(r#"{{"type":"fixed","name":"{name}","size":{size}}}"#);
    let schema = format!(
        r#"{{"type":"record","name":"a.b.row","fields":[
            {{"name":"x","type":{}}},{{"name":"y","type":"f"}},{{"name":"z","type":"a.b.f"}},
            {{"name":"inner","type":{{"type":"record","name":"r","namespace":"c","fields":[
                {{"name":"x","type":{}}},{{"name":"y","type":"f"}},{{"name":"z","type":"a.b.f"}}]}}}},
            {{"name":"last","type":"c.f"}},
            {{"name":"redefined","type":{}}},{{"name":"again","type":"f"}}]}}"#,
        fixed("f", 1),
        fixed("f", 2),
        fixed("f", 3),
    );
    let schema = Schema::parse(schema.as_bytes()).unwrap();
    let widths = |record: &Record| record.fields.iter().map(|f| f.schema.min_width_bytes()).collect::<Vec<_>>();
    let row = schema.as_record().unwrap();
    assert_eq!(row.name, "a.b.row");
    assert_eq!(widths(row), [1, 1, 1, 5, 2, 3, 3]);
    assert_eq!(widths(row.fields[3].schema.as_record().unwrap()), [2, 2, 1]);
}

#[test]
fn unions_of_several_types_are_refused_only_where_wanted() {
    let schema = record(r#"{"name":"u","type":["null","int","string"]},{"name":"a","type":"int"}"#);
    let payload = [long(2), sized("text"), long(5), long(1), long(8), long(6)].concat();
    let bytes = file(&schema, 2, &payload);
    let (kind, text) = error(read(&bytes));
    assert_eq!((kind, text.contains('u')), (ErrorKind::Unsupported, true), "{text}");
    let file = AvroFile::open(bytes).unwrap();
    assert_eq!(error(file.arrow_schema()).0, ErrorKind::Unsupported);
    let projection = Projection::natural_columns(file.schema(), &[1]).unwrap();
    let batch = file.read(&projection, &Context::default()).unwrap();
    assert_eq!(batch.column(0).as_primitive::<arrow_array::types::Int32Type>().values(), &[5, 6]);
}

#[test]
fn decimals_of_more_than_38_digits_are_unsupported_where_wanted() {
    let kind = r#"{"type":"bytes","logicalType":"decimal","precision":39,"scale":2}"#;
    let schema = record(&format!(r#"{{"name":"a","type":{kind}}}"#));
    let bytes = file(&schema, 1, &sized([1]));
    assert_eq!(error(read(&bytes)).0, ErrorKind::Unsupported);
    assert_eq!(project(&bytes, []).unwrap().num_rows(), 1);
}

#[test]
fn rows_wrapped_in_a_union_are_read_unless_null() {
    let schema = format!(r#"["null",{}]"#, record(r#"{"name":"a","type":"int"}"#));
    let batch = read(&file(&schema, 2, &[long(1), long(3), long(1), long(4)].concat())).unwrap();
    assert_eq!(batch.column(0).as_primitive::<arrow_array::types::Int32Type>().values(), &[3, 4]);
    corrupt(read(&file(&schema, 2, &[long(1), long(3), long(0)].concat())), "a row is null");
    corrupt(read(&file(&schema, 1, &[long(2), long(3)].concat())), "no such branch");
}
