use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, Float64Array, Int64Array, StringArray};
use proptest::prelude::*;

use super::*;
use crate::spec::arrow::arrow_schema;

fn schema(fields: &str) -> Schema {
    Schema::from_json(&format!(r#"{{"type": "struct", "fields": [{fields}]}}"#)).unwrap()
}

fn partitioner(schema: &Schema, fields: &str) -> Partitioner {
    let spec = PartitionSpec::from_json(&format!(r#"{{"spec-id": 0, "fields": [{fields}]}}"#)).unwrap();
    let partition = spec.partition_type(|id| schema.field(id).map(|field| &field.field_type));
    Partitioner::new(schema, &spec, &partition).unwrap()
}

const COLUMNS: &str = r#"{"id": 1, "name": "id", "required": false, "type": "long"},
    {"id": 2, "name": "s", "required": false, "type": "string"}"#;

fn batch(ids: Vec<Option<i64>>, texts: Vec<Option<&str>>) -> RecordBatch {
    let columns: Vec<ArrayRef> = vec![Arc::new(Int64Array::from(ids)), Arc::new(StringArray::from(texts))];
    RecordBatch::try_new(Arc::new(arrow_schema(&schema(COLUMNS).fields)), columns).unwrap()
}

fn ids(part: &Part, batch: &RecordBatch) -> Vec<Option<i64>> {
    part.take(batch).unwrap().column(0).as_primitive::<Int64Type>().iter().collect()
}

#[test]
fn rows_are_routed_to_their_partitions_in_order() {
    let schema = schema(COLUMNS);
    let by_text = partitioner(&schema, r#"{"name": "s", "transform": "identity", "source-id": 2, "field-id": 1000}"#);
    let rows = batch(vec![Some(1), Some(2), Some(3), Some(4), None], vec![Some("b"), None, Some("b"), Some(""), None]);
    let parts = by_text.split(&rows).unwrap();
    let found: Vec<_> = parts
        .iter()
        .map(|part| {
            let text = part.tuple.column(0).as_string::<i32>();
            (text.is_valid(0).then(|| text.value(0).to_string()), ids(part, &rows))
        })
        .collect();
    assert_eq!(
        found,
        [(Some("b".into()), vec![Some(1), Some(3)]), (None, vec![Some(2), None]), (Some(String::new()), vec![Some(4)]),]
    );
}

#[test]
fn without_fields_all_rows_are_one_partition() {
    let schema = schema(COLUMNS);
    let none = partitioner(&schema, "");
    let parts = none.split(&batch(vec![Some(1), None], vec![None, None])).unwrap();
    assert_eq!((parts.len(), parts[0].tuple.num_columns(), parts[0].rows.len()), (1, 0, 2));
    assert!(none.split(&batch(vec![], vec![])).unwrap().is_empty());
    let void = partitioner(&schema, r#"{"name": "v", "transform": "void", "source-id": 9, "field-id": 1000}"#);
    assert_eq!(void.split(&batch(vec![Some(1), None], vec![None, None])).unwrap().len(), 1);
}

#[test]
fn nan_is_one_partition_and_the_two_zeros_are_two() {
    let schema = schema(r#"{"id": 1, "name": "f", "required": false, "type": "double"}"#);
    let by = partitioner(&schema, r#"{"name": "f", "transform": "identity", "source-id": 1, "field-id": 1000}"#);
    let other_nan = f64::from_bits(f64::NAN.to_bits() | 1);
    let values: ArrayRef = Arc::new(Float64Array::from(vec![f64::NAN, 0.0, other_nan, -0.0, -f64::NAN]));
    let rows = RecordBatch::try_new(Arc::new(arrow_schema(&schema.fields)), vec![values]).unwrap();
    let sizes: Vec<_> = by.split(&rows).unwrap().iter().map(|part| part.rows.len()).collect();
    assert_eq!(sizes, [3, 1, 1]);
}

#[test]
fn a_null_struct_gives_a_null_partition_value() {
    let schema = schema(
        r#"{"id": 1, "name": "s", "required": false, "type": {"type": "struct", "fields": [
            {"id": 2, "name": "x", "required": true, "type": "long"}]}}"#,
    );
    let by = partitioner(&schema, r#"{"name": "b", "transform": "bucket[4]", "source-id": 2, "field-id": 1000}"#);
    let arrow = arrow_schema(&schema.fields);
    let arrow_schema::DataType::Struct(inner) = arrow.field(0).data_type().clone() else { panic!() };
    let nulls = arrow_buffer::NullBuffer::from(vec![false, true]);
    let structs = StructArray::new(inner, vec![Arc::new(Int64Array::from(vec![34, 34]))], Some(nulls));
    let rows = RecordBatch::try_new(Arc::new(arrow), vec![Arc::new(structs)]).unwrap();
    let parts = by.split(&rows).unwrap();
    let buckets: Vec<_> =
        parts.iter().map(|part| part.tuple.column(0).as_primitive::<Int32Type>().iter().next().unwrap()).collect();
    assert_eq!(buckets, [None, Some(3)]);
}

#[test]
fn tuples_do_not_keep_the_rows_that_they_were_found_in() {
    let schema = schema(COLUMNS);
    let by = partitioner(&schema, r#"{"name": "i", "transform": "identity", "source-id": 1, "field-id": 1000}"#);
    let parts = by.split(&batch(vec![Some(7); 10_000], vec![None; 10_000])).unwrap();
    assert_eq!(parts.len(), 1);
    assert!(parts[0].tuple.get_array_memory_size() < 1_000, "{}", parts[0].tuple.get_array_memory_size());
}

proptest! {
    /// Every row is in exactly one part, whose tuple equals the result of the transforms for the row.
    #[test]
    fn parts_are_a_partition_of_the_rows(values in prop::collection::vec(prop::option::of(-50_i64..50), 0..60)) {
        let schema = schema(COLUMNS);
        let by = partitioner(&schema, r#"{"name": "b", "transform": "bucket[3]", "source-id": 1, "field-id": 1000},
            {"name": "t", "transform": "truncate[10]", "source-id": 1, "field-id": 1001}"#);
        let rows = batch(values.clone(), vec![None; values.len()]);
        let parts = by.split(&rows).unwrap();
        let mut keys: Vec<_> = parts.iter().map(|part| part.key.clone()).collect();
        keys.sort();
        keys.dedup();
        prop_assert_eq!(keys.len(), parts.len());
        for part in &parts {
            let again = by.split(&part.take(&rows).unwrap()).unwrap();
            prop_assert_eq!(again.len(), 1);
            prop_assert_eq!(&again[0].tuple, &part.tuple);
        }
        let mut all: Vec<_> = parts.iter().flat_map(|part| ids(part, &rows)).collect();
        let mut expected = values;
        all.sort_unstable();
        expected.sort_unstable();
        prop_assert_eq!(all, expected);
    }
}
