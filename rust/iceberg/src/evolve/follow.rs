//! Updates properties that reference columns when columns are renamed (Java: `PropertyUtil.applySchemaChanges`,
//! `MappingUtil.update`).

use std::collections::BTreeMap;

use frazil_core::error::Result;

use crate::properties::{self, NAME_MAPPING};
use crate::spec::name_mapping::{MappedField, NameMapping};
use crate::spec::schema::Schema;
use crate::spec::table_metadata::TableMetadata;
use crate::spec::types::NestedField;

/// Returns the properties to set, and those to remove first, when the schema becomes `new`.
pub(super) fn renamed_properties(
    base: &TableMetadata,
    old: &Schema,
    new: &Schema,
) -> Result<(BTreeMap<String, String>, Vec<String>)> {
    let mut set = BTreeMap::new();
    let mut removed = Vec::new();
    for (key, value) in &base.properties {
        let Some((property, Some(column))) = properties::find(key) else { continue };
        let Some(path) = old.find(column, true).ok().flatten() else { continue };
        let now = new.full_name(path.field().id);
        if now.as_deref() != Some(column) {
            removed.push(key.clone());
            set.extend(now.map(|now| (format!("{}{now}", property.key), value.clone())));
        }
    }
    if let Some(mapping) = base.name_mapping()? {
        let fields: Vec<&NestedField> = new.fields.fields.iter().collect();
        let updated = mapped(&mapping, &fields, old);
        if updated != mapping {
            set.insert(NAME_MAPPING.key.to_string(), updated.to_json());
        }
    }
    Ok((set, removed))
}

/// Returns the entries of a name mapping, at one nesting level, for the fields of the new schema. Names must keep their
/// meaning in existing files: a name that belonged to another column stays with that column, even if the new column is
/// then left without a name.
fn mapped(mapping: &NameMapping, fields: &[&NestedField], old: &Schema) -> NameMapping {
    let mut updated = mapping.clone();
    for field in fields {
        let free = updated.field(&field.name).is_none();
        let children = field.field_type.children();
        match updated.fields.iter_mut().find(|known| known.field_id == Some(field.id)) {
            Some(known) => {
                known.names.extend(free.then(|| field.name.clone()));
                known.fields = mapped(&known.fields, &children, old);
            }
            // A mapping that omits an existing field does so on purpose.
            None if old.field(field.id).is_some() => {}
            None => updated.fields.push(MappedField {
                field_id: Some(field.id),
                names: free.then(|| field.name.clone()).into_iter().collect(),
                fields: mapped(&NameMapping::default(), &children, old),
            }),
        }
    }
    updated
}
