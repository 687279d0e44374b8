use arrow_array::cast::AsArray;
use arrow_array::types::Int8Type;
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Float32Array, Int8Array, Int32Array, Int64Array, LargeStringArray, ListArray,
    NullArray, StringArray, StructArray, TimestampNanosecondArray, TimestampSecondArray, UInt32Array,
};
use arrow_buffer::NullBuffer;
use arrow_schema::Field;
use frazil_core::error::ErrorKind;

use super::*;

fn table(fields: &str) -> Align {
    Align::new(Arc::new(Schema::from_json(&format!(r#"{{"type": "struct", "fields": [{fields}]}}"#)).unwrap())).unwrap()
}

fn one(field_type: &str) -> Align {
    table(&format!(r#"{{"id": 1, "name": "a", "required": false, "type": {field_type}}}"#))
}

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true))).unwrap()
}

fn taken(field_type: &str, array: ArrayRef) -> Result<ArrayRef> {
    one(field_type).align(&batch(vec![("a", array)])).map(|rows| rows.column(0).clone())
}

#[test]
fn columns_are_found_by_name_and_put_in_the_order_of_the_table() {
    let mut table = table(
        r#"{"id": 1, "name": "a", "required": false, "type": "long"},
           {"id": 2, "name": "b", "required": false, "type": "string"},
           {"id": 3, "name": "c", "required": false, "type": "int", "initial-default": 1, "write-default": 7}"#,
    );
    let rows =
        batch(vec![("b", Arc::new(LargeStringArray::from(vec!["x"]))), ("a", Arc::new(Int8Array::from(vec![5])))]);
    let aligned = table.align(&rows).unwrap();
    assert_eq!(aligned.schema(), table.arrow().clone());
    assert_eq!(aligned.column(0).as_ref(), &Int64Array::from(vec![5]));
    assert_eq!(aligned.column(1).as_ref(), &StringArray::from(vec!["x"]));
    assert_eq!(aligned.column(2).as_ref(), &Int32Array::from(vec![7]));
}

#[test]
fn values_are_converted_only_if_that_keeps_them() {
    assert_eq!(
        taken(r#""long""#, Arc::new(UInt32Array::from(vec![u32::MAX]))).unwrap().as_ref(),
        &Int64Array::from(vec![4_294_967_295])
    );
    assert!(taken(r#""double""#, Arc::new(Float32Array::from(vec![1.5]))).is_ok());
    assert_eq!(taken(r#""int""#, Arc::new(Int64Array::from(vec![5]))).unwrap().as_ref(), &Int32Array::from(vec![5]));
    assert_eq!(taken(r#""string""#, Arc::new(Int64Array::from(vec![None, None]))).unwrap().null_count(), 2);
    assert_eq!(taken(r#""int""#, Arc::new(NullArray::new(2))).unwrap().null_count(), 2);
    let dictionary: DictionaryArray<Int8Type> = vec!["x", "y", "x"].into_iter().collect();
    assert_eq!(taken(r#""string""#, Arc::new(dictionary)).unwrap().as_ref(), &StringArray::from(vec!["x", "y", "x"]));
    for (field_type, array) in [
        (r#""int""#, Arc::new(Int64Array::from(vec![1 << 40])) as ArrayRef),
        (r#""float""#, Arc::new(Int32Array::from(vec![(1 << 24) + 1]))),
        (r#""string""#, Arc::new(Int32Array::from(vec![1]))),
        (r#""long""#, Arc::new(StringArray::from(vec!["1"]))),
        (r#""timestamptz""#, Arc::new(TimestampSecondArray::from(vec![1]))),
    ] {
        let error = taken(field_type, array).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{field_type}");
        assert!(error.message().contains("`a`"), "{error}");
    }
}

#[test]
fn timestamps_take_every_unit_that_loses_no_digit() {
    let seconds: ArrayRef = Arc::new(TimestampSecondArray::from(vec![1]));
    assert!(taken(r#""timestamp""#, seconds).is_ok());
    let exact: ArrayRef = Arc::new(TimestampNanosecondArray::from(vec![1_000, -2_000]));
    assert!(taken(r#""timestamp""#, exact).is_ok());
    let lossy: ArrayRef = Arc::new(TimestampNanosecondArray::from(vec![1_000, 1_001]));
    assert!(taken(r#""timestamp""#, lossy.clone()).unwrap_err().message().contains("row 1"));
    assert!(taken(r#""timestamp_ns""#, lossy).is_ok());
    let far: ArrayRef = Arc::new(TimestampSecondArray::from(vec![0, i64::MAX / 1_000]));
    assert!(taken(r#""timestamp""#, far).unwrap_err().message().contains("row 1"));
}

#[test]
fn null_in_a_required_column_is_named_with_its_row() {
    let mut table = table(r#"{"id": 1, "name": "a", "required": true, "type": "int"}"#);
    table.align(&batch(vec![("a", Arc::new(Int32Array::from(vec![1, 2])))])).unwrap();
    let error = table.align(&batch(vec![("a", Arc::new(Int32Array::from(vec![Some(1), None])))])).unwrap_err();
    assert!(error.message().contains("`a` is required, but NULL in row 3"), "{error}");
    let mut two = self::table(
        r#"{"id": 1, "name": "a", "required": true, "type": "int"}, {"id": 2, "name": "b", "required": false, "type": "int"}"#,
    );
    let missing = two.align(&batch(vec![("b", Arc::new(Int32Array::from(vec![1])))])).unwrap_err();
    assert!(missing.message().contains("`a` is required, but NULL in row 0"), "{missing}");
    let unknown = two.align(&batch(vec![("x", Arc::new(Int32Array::from(vec![1])))])).unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::InvalidArgument);
}

#[test]
fn a_required_field_of_a_null_struct_may_be_null() {
    let mut table = table(
        r#"{"id": 1, "name": "s", "required": false, "type": {"type": "struct", "fields": [
            {"id": 2, "name": "x", "required": true, "type": "long"}]}}"#,
    );
    let structs = |nulls: Vec<bool>| -> ArrayRef {
        let values: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None]));
        let fields = vec![arrow_schema::Field::new("x", DataType::Int32, true)];
        Arc::new(StructArray::new(fields.into(), vec![values], Some(NullBuffer::from(nulls))))
    };
    let rows = table.align(&batch(vec![("s", structs(vec![true, false]))])).unwrap();
    assert_eq!(rows.column(0).null_count(), 1);
    let error = table.align(&batch(vec![("s", structs(vec![true, true]))])).unwrap_err();
    assert!(error.message().contains("`s.x` is required"), "{error}");
}

#[test]
fn lists_and_maps_are_taken_element_by_element() {
    let lists = ListArray::from_iter_primitive::<Int8Type, _, _>([Some(vec![Some(1), None]), None]);
    let rows = taken(
        r#"{"type": "list", "element-id": 2, "element-required": false, "element": "long"}"#,
        Arc::new(lists.clone()),
    );
    assert_eq!(rows.unwrap().as_list::<i32>().values().data_type(), &DataType::Int64);
    let required =
        taken(r#"{"type": "list", "element-id": 2, "element-required": true, "element": "long"}"#, Arc::new(lists));
    assert!(required.unwrap_err().message().contains("`a.element` is required"));
}

#[test]
fn a_column_that_is_there_twice_is_refused() {
    let fields = vec![arrow_schema::Field::new("a", DataType::Int32, true); 2];
    let columns: Vec<ArrayRef> = vec![Arc::new(Int32Array::from(vec![1])), Arc::new(Int32Array::from(vec![2]))];
    let twice = RecordBatch::try_new(Arc::new(arrow_schema::Schema::new(fields)), columns).unwrap();
    assert!(one(r#""int""#).align(&twice).unwrap_err().message().contains("two columns"));
    let x: ArrayRef = Arc::new(Int32Array::from(vec![1]));
    let x_twice = StructArray::from(
        ["x", "x"].map(|name| (Arc::new(Field::new(name, DataType::Int32, true)), x.clone())).to_vec(),
    );
    let inside = r#"{"type": "struct", "fields": [{"id": 2, "name": "x", "required": false, "type": "int"}]}"#;
    assert!(taken(inside, Arc::new(x_twice)).unwrap_err().message().contains("two columns have the same name `a.x`"));
}

#[test]
fn a_null_inside_a_list_is_named_by_its_row() {
    let lists = [Some(vec![Some(1)]), Some(vec![]), None, Some(vec![Some(2), None])];
    let lists = ListArray::from_iter_primitive::<Int8Type, _, _>(lists);
    let list = r#"{"type": "list", "element-id": 2, "element-required": true, "element": "long"}"#;
    let error = taken(list, Arc::new(lists)).unwrap_err();
    assert!(error.message().contains("NULL in row 3"), "{error}");
}

#[test]
fn a_part_of_a_long_column_is_taken_from_its_first_value() {
    let texts = arrow_array::LargeStringArray::from(vec![Some("gone"), Some("a"), None, Some("b")]);
    let dictionary: ArrayRef = Arc::new(arrow_array::DictionaryArray::new(
        arrow_array::Int8Array::from(vec![3, 2, 1]),
        Arc::new(texts.clone()),
    ));
    for (values, expected) in [(Arc::new(texts.slice(1, 3)) as ArrayRef, ["a", "b"]), (dictionary, ["b", "a"])] {
        let taken = taken(r#""string""#, values).unwrap();
        let taken: Vec<_> = taken.as_string::<i32>().iter().collect();
        assert_eq!(taken, [Some(expected[0]), None, Some(expected[1])]);
    }
}

#[test]
fn a_part_without_rows_is_taken_wherever_it_begins() {
    let texts = LargeStringArray::from(vec!["a", "b"]);
    let bytes = arrow_array::LargeBinaryArray::from(vec![b"a".as_slice(), b"b"]);
    for start in 0..=2 {
        assert_eq!(taken(r#""string""#, Arc::new(texts.slice(start, 0))).unwrap().len(), 0);
        assert_eq!(taken(r#""binary""#, Arc::new(bytes.slice(start, 0))).unwrap().len(), 0);
    }
}
