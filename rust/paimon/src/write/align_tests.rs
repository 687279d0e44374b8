use arrow_array::{
    BinaryArray, Int8Array, Int16Array, Int32Array, LargeStringArray, NullArray, StringArray, Time64MicrosecondArray,
    TimestampMicrosecondArray, TimestampNanosecondArray,
};
use arrow_schema::{Field, Schema as ArrowSchema};
use frazil_core::error::ErrorKind;
use serde_json::json;

use arrow_array::ArrayRef;

use super::*;

fn align(columns: &[(&str, &str)]) -> Align {
    let field = |(id, (name, text)): (usize, &(&str, &str))| json!({"id": id + 3, "name": name, "type": text});
    let fields: Vec<_> = columns.iter().enumerate().map(field).collect();
    let schema = json!({
        "version": 3, "id": 0, "highestFieldId": columns.len() + 2, "partitionKeys": [], "primaryKeys": [],
        "timeMillis": 1, "fields": fields, "options": {},
    });
    Align::new(Arc::new(TableSchema::parse(schema.to_string().as_bytes()).unwrap()))
}

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    let fields: Vec<_> =
        columns.iter().map(|(name, values)| Field::new(*name, values.data_type().clone(), true)).collect();
    let columns = columns.into_iter().map(|(_, values)| values).collect();
    RecordBatch::try_new(Arc::new(ArrowSchema::new(fields)), columns).unwrap()
}

/// Returns the error message for the second row of the second batch.
fn refused(text: &str, first: ArrayRef, second: ArrayRef) -> String {
    let mut align = align(&[("a", text)]);
    align.align(&batch(vec![("a", first)])).unwrap();
    let error = align.align(&batch(vec![("a", second)])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.to_string().contains("column: a"), "{error}");
    error.to_string()
}

#[test]
fn columns_are_found_by_name_and_widened() {
    let mut align = align(&[("a", "BIGINT NOT NULL"), ("b", "STRING"), ("c", "SMALLINT"), ("d", "DATE")]);
    let ids = align.arrow().fields().iter().map(|field| field.metadata()[FILE_FIELD_ID].clone());
    assert_eq!(ids.collect::<Vec<_>>(), ["3", "4", "5", "6"]);
    let rows = batch(vec![
        ("c", Arc::new(Int8Array::from(vec![7, 8]))),
        ("b", Arc::new(LargeStringArray::from(vec![Some("x"), None]))),
        ("a", Arc::new(Int32Array::from(vec![1, 2]))),
    ]);
    let rows = align.align(&rows).unwrap();
    assert_eq!(&rows.schema(), align.arrow());
    assert_eq!(rows.column(2).as_any().downcast_ref::<Int16Array>().unwrap().values(), &[7, 8]);
    assert_eq!((rows.column(1).null_count(), rows.column(3).null_count()), (1, 2));
    let nulls = batch(vec![("a", Arc::new(Int32Array::from(vec![1]))), ("b", Arc::new(NullArray::new(1)))]);
    assert_eq!(align.align(&nulls).unwrap().column(1).null_count(), 1);
}

#[test]
fn columns_that_do_not_fit_are_named() {
    let integers = || -> ArrayRef { Arc::new(Int32Array::from(vec![1])) };
    let message =
        |columns| align(&[("a", "INT NOT NULL"), ("b", "INT")]).align(&batch(columns)).unwrap_err().to_string();
    let unknown = message(vec![("a", integers()), ("A", integers())]);
    assert!(unknown.contains("no column `A`") && unknown.contains("`a`, `b`"), "{unknown}");
    assert!(message(vec![("a", integers()), ("a", integers())]).contains("two columns have the same name `a`"));
    assert!(message(vec![("b", integers())]).contains("`a` is NOT NULL, but NULL in row 0"));
    let text: ArrayRef = Arc::new(StringArray::from(vec!["1"]));
    let narrow = message(vec![("a", text)]);
    assert!(narrow.contains("`a` has the type utf8, which cannot be converted to INT NOT NULL"), "{narrow}");
}

#[test]
fn values_that_do_not_fit_are_named_with_their_row() {
    let texts = |second| -> ArrayRef { Arc::new(StringArray::from(vec!["äöü", second])) };
    assert!(refused("VARCHAR(3)", texts("abc"), texts("abcd")).contains("row 3 does not fit VARCHAR(3)"));
    assert!(refused("CHAR(3)", texts("a"), texts("äöüß")).contains("row 3 does not fit CHAR(3)"));
    let bytes = |second: &[u8]| -> ArrayRef { Arc::new(BinaryArray::from(vec![&b"a"[..], second])) };
    assert!(refused("BINARY(2)", bytes(b"ab"), bytes(b"abc")).contains("row 3"));
    let nulls = |second| -> ArrayRef { Arc::new(Int32Array::from(vec![Some(1), second])) };
    assert!(refused("INT NOT NULL", nulls(Some(2)), nulls(None)).contains("NULL in row 3"));
    let times = |second| -> ArrayRef { Arc::new(Time64MicrosecondArray::from(vec![1_000_000, second])) };
    assert!(refused("TIME(3)", times(1_000), times(1)).contains("row 3 does not fit TIME(3)"));
    assert!(refused("TIME(0)", times(2_000_000), times(1_000)).contains("row 3 does not fit TIME(0)"));
    let moments = |second| -> ArrayRef { Arc::new(TimestampNanosecondArray::from(vec![0, second])) };
    assert!(refused("TIMESTAMP(6)", moments(1_000), moments(1)).contains("truncate"));
    assert!(refused("TIMESTAMP(4)", moments(100_000), moments(10_000)).contains("row 3"));
    let far: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![-1_000_000, -1]));
    assert!(refused("TIMESTAMP(0)", far.slice(0, 1), far).contains("row 2"));
}

/// Returns the ids of a field and its parts in files, as (name, id).
fn ids(field: &Field) -> Vec<(String, String)> {
    let mut found = vec![(field.name().clone(), field.metadata()[FILE_FIELD_ID].clone())];
    match field.data_type() {
        ArrowType::Struct(fields) => found.extend(fields.iter().flat_map(|field| ids(field))),
        ArrowType::List(element) => found.extend(ids(element)),
        ArrowType::Map(entries, _) => {
            let ArrowType::Struct(fields) = entries.data_type() else { panic!("entries") };
            found.extend(fields.iter().flat_map(|field| ids(field)));
        }
        _ => {}
    }
    found
}

#[test]
fn nested_fields_have_the_ids_that_java_gives_them() {
    // The columns of the golden table evo_nested_parquet, plus an array of arrays.
    let schema = json!({
        "version": 3, "id": 0, "highestFieldId": 20, "partitionKeys": [], "primaryKeys": [], "timeMillis": 1,
        "options": {}, "fields": [
            {"id": 1, "name": "r", "type": {"type": "ROW", "fields": [{"id": 2, "name": "x", "type": "BIGINT"}]}},
            {"id": 7, "name": "l", "type": {"type": "ARRAY", "element":
                {"type": "ROW", "fields": [{"id": 8, "name": "a", "type": "INT"}]}}},
            {"id": 10, "name": "m", "type": {"type": "MAP", "key": "STRING NOT NULL", "value": "INT"}},
            {"id": 12, "name": "ll", "type": {"type": "ARRAY", "element": {"type": "ARRAY", "element": "INT"}}},
        ],
    });
    let align = Align::new(Arc::new(TableSchema::parse(schema.to_string().as_bytes()).unwrap()));
    let found: Vec<_> = align.arrow().fields().iter().flat_map(|field| ids(field)).collect();
    let deep = STRUCTURED_ID_BASE + 12 * IDS_OF_FIELD;
    let expected = [
        ("r", 1),
        ("x", 2),
        ("l", 7),
        ("element", 536_878_080),
        ("a", 8),
        ("m", 10),
        ("key", 536_860_670),
        ("value", 536_881_152),
        ("ll", 12),
        ("element", deep + 1),
        ("element", deep + 2),
    ];
    assert_eq!(found, expected.map(|(name, id)| (name.to_string(), id.to_string())));
}
