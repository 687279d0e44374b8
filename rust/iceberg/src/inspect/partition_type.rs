//! Computes the partition type of a table: the fields of all its specs, as one struct.

use std::collections::BTreeMap;

use crate::spec::table_metadata::TableMetadata;
use crate::spec::transform::Transform;
use crate::spec::types::{NestedField, StructType};

/// Returns the fields of all specs by id, with the latest name of each.
///
/// Fields whose source column was dropped are omitted. A `void` field has the type that another spec gives to the
/// field.
pub(super) fn partition_type(metadata: &TableMetadata) -> StructType {
    let mut specs: Vec<_> = metadata.partition_specs.iter().collect();
    specs.sort_by_key(|spec| std::cmp::Reverse(spec.spec_id));
    let current = metadata.current_schema().ok();
    let known = |id: &i32| current.is_some_and(|schema| schema.field(*id).is_some());
    let mut fields: BTreeMap<i32, (NestedField, bool)> = BTreeMap::new();
    for spec in specs {
        for (field, typed) in spec.fields.iter().zip(metadata.partition_type(spec).fields) {
            if !field.source_ids.iter().all(known) {
                continue;
            }
            let void = field.transform == Transform::Void;
            let (kept, was_void) = fields.entry(field.field_id).or_insert_with(|| (typed.clone(), void));
            if *was_void && !void {
                kept.field_type = typed.field_type;
                *was_void = false;
            }
        }
    }
    StructType { fields: fields.into_values().map(|(field, _)| field).collect() }
}
