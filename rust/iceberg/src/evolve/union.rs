//! Extends a schema so that it can hold the rows of another one (Java: `unionByNameWith`).

use frazil_core::error::{Error, Result};

use super::promote::promotes;
use super::update_schema::Draft;
use crate::spec::types::{NestedField, PrimitiveType, Type};

/// Adds the `fields` that are missing to a struct of `draft`, or to the table for None.
pub(super) fn by_name(draft: &mut Draft<'_>, parent: Option<i32>, fields: &[NestedField]) -> Result<()> {
    for field in fields {
        let merged = match draft.sibling(parent, &field.name).map(|there| there.id) {
            // Existing rows have no value for the new column, so it is optional.
            None => draft.insert(parent, &NestedField { required: false, ..field.clone() }),
            Some(id) => merge(draft, id, field),
        };
        merged.map_err(|e| e.with("column", &field.name))?;
    }
    Ok(())
}

fn merge(draft: &mut Draft<'_>, id: i32, field: &NestedField) -> Result<()> {
    // Arrow columns are nullable by default, which is not a reason to drop an identifier field.
    if !field.required && !draft.is_identifier(id) {
        draft.set_required(id, false)?;
    }
    if field.doc.is_some() {
        draft.field_mut(id)?.doc.clone_from(&field.doc);
    }
    let own = draft.field(id)?.field_type.clone();
    match (&own, &field.field_type) {
        (Type::Struct(_), Type::Struct(fields)) => by_name(draft, Some(id), &fields.fields),
        (Type::List(own), Type::List(list)) => merge(draft, own.element.id, &list.element),
        (Type::Map(own), Type::Map(map)) => {
            if !holds(&own.key.field_type, &map.key.field_type) {
                return Err(Error::invalid("the key of a map cannot be changed"));
            }
            merge(draft, own.value.id, &map.value)
        }
        (own, other) if holds(own, other) => Ok(()),
        (_, other) => draft.widen(id, other),
    }
}

/// Returns whether a column of type `own` accepts values of type `other` unchanged.
fn holds(own: &Type, other: &Type) -> bool {
    match (own, other) {
        (Type::Primitive(own), Type::Primitive(other)) => own == other || promotes(other, own, 3),
        (_, Type::Primitive(PrimitiveType::Unknown)) => true,
        (own, other) => own.to_string() == other.to_string(),
    }
}
