//! Which columns of an ORC file hold timestamps of more than six digits: the file does not say, its schema does.

use std::collections::HashMap;
use std::hash::BuildHasher;

use crate::spec::types::{DataField, DataType, FIELD_ID_KEY, TypeRoot};

/// Whether the column of these attributes is a field of one of these ids.
pub fn is_one_of<S: BuildHasher>(attributes: &HashMap<String, String, S>, ids: &[i32]) -> bool {
    attributes.get(FIELD_ID_KEY).and_then(|id| id.parse().ok()).is_some_and(|id| ids.contains(&id))
}

/// The ids of fields that are timestamps of more than six digits, in ROWs too.
pub fn nanosecond_ids(fields: &[DataField]) -> Vec<i32> {
    let of = |field: &DataField| match &field.data_type.root {
        TypeRoot::Timestamp(7..) | TypeRoot::LocalZonedTimestamp(7..) => vec![field.id],
        _ => inner(&field.data_type),
    };
    fields.iter().flat_map(of).collect()
}

fn inner(data_type: &DataType) -> Vec<i32> {
    match &data_type.root {
        TypeRoot::Row(fields) => nanosecond_ids(fields),
        TypeRoot::Array(element) | TypeRoot::Multiset(element) => inner(element),
        TypeRoot::Map(key, value) => [inner(key), inner(value)].concat(),
        _ => Vec::new(),
    }
}
