use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{ArrayRef, Float64Array, StructArray};
use arrow_buffer::NullBuffer;

use super::*;
use crate::spec::arrow::{arrow_fields, arrow_schema};
use crate::spec::partition::PartitionSpec;
use crate::spec::sort::SortField;
use crate::spec::transform::Transform;
use crate::spec::types::{StructType, Type};

/// Sorts doubles inside a struct, which is NULL if there is no value.
fn sorted(values: &[Option<f64>], descending: bool, nulls_first: bool) -> Vec<Option<u64>> {
    let schema = Schema::from_json(
        r#"{"type": "struct", "fields": [{"id": 1, "name": "s", "required": false, "type": {"type": "struct",
            "fields": [{"id": 2, "name": "d", "required": false, "type": "double"}]}}]}"#,
    )
    .unwrap();
    let spec = PartitionSpec::from_json(r#"{"spec-id": 0, "fields": []}"#).unwrap();
    let partitioner = Partitioner::new(&schema, &spec, &StructType::default()).unwrap();
    let field = SortField { source_ids: vec![2], transform: Transform::Identity, descending, nulls_first };
    let order = SortOrder { order_id: 1, fields: vec![field] };
    let mut sorter = RowSorter::new(&schema, &partitioner, &order, 1).unwrap();
    let Type::Struct(inner) = &schema.fields.fields[0].field_type else { panic!() };
    let nulls: NullBuffer = values.iter().map(Option::is_some).collect::<Vec<_>>().into();
    // Values under a NULL struct must be ignored.
    let doubles: ArrayRef = Arc::new(values.iter().map(|value| value.unwrap_or(5.0)).collect::<Float64Array>());
    let column: ArrayRef = Arc::new(StructArray::new(arrow_fields(inner), vec![doubles], Some(nulls)));
    let rows = RecordBatch::try_new(Arc::new(arrow_schema(&schema.fields)), vec![column]).unwrap();
    sorter.push(rows, &partitioner).unwrap();
    let rows = sorter.next_batch(1_000).unwrap().unwrap();
    assert!(sorter.next_batch(1_000).unwrap().is_none());
    let structs = rows.column(0).as_struct();
    let doubles = frazil_core::nested::child(structs, 0).unwrap();
    doubles.as_primitive::<Float64Type>().iter().map(|value| value.map(f64::to_bits)).collect()
}

#[test]
fn floats_have_the_order_of_the_spec() {
    let ordered = [-f64::NAN, f64::NEG_INFINITY, -1.0, -0.0, 0.0, 1.0, f64::INFINITY, f64::NAN].map(Some);
    let bits = |values: Vec<Option<f64>>| values.into_iter().map(|value| value.map(f64::to_bits)).collect::<Vec<_>>();
    let mixed: Vec<_> = [ordered.as_slice(), &[None]].concat().into_iter().rev().collect();
    let (up, down) = (ordered.to_vec(), ordered.iter().rev().copied().collect::<Vec<_>>());
    assert_eq!(sorted(&mixed, false, true), bits([vec![None], up.clone()].concat()));
    assert_eq!(sorted(&mixed, false, false), bits([up, vec![None]].concat()));
    assert_eq!(sorted(&mixed, true, true), bits([vec![None], down.clone()].concat()));
    assert_eq!(sorted(&mixed, true, false), bits([down, vec![None]].concat()));
}
