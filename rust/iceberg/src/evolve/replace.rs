//! Replaces the definition of an existing table and keeps its history (Java: `TableMetadata.buildReplacement`).

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use frazil_core::context::Context;
use frazil_core::error::{Error, ErrorKind, Result};

use super::property_values;
use super::tree::Ids;
use crate::commit::attempts::{Change, Revision};
use crate::commit::update::{LAST_ADDED, TableUpdate};
use crate::spec::partition::{PartitionField, PartitionSpec};
use crate::spec::schema::Schema;
use crate::spec::snapshot::MAIN_BRANCH;
use crate::spec::sort::SortOrder;
use crate::spec::table_metadata::TableMetadata;
use crate::spec::transform::Transform;
use crate::spec::types::{ListType, MapType, NestedField, StructType, Type};

/// The new definition of a table. The table has no rows afterwards; earlier snapshots and other branches keep theirs.
///
/// A column reuses the id of the existing column with its name, unless a partition spec does not accept its type. A
/// partition field reuses the id of the field with the same transform.
#[derive(Debug, Clone)]
pub struct ReplaceTable {
    /// The format version; None keeps the current one.
    pub format_version: Option<u8>,
    /// The folder; None keeps the current one.
    pub location: Option<String>,
    /// The schema, with any ids.
    pub schema: Schema,
    /// The partition spec, with the ids of `schema`.
    pub spec: PartitionSpec,
    /// The sort order, with the ids of `schema`.
    pub order: SortOrder,
    /// The properties to set; other properties stay unchanged.
    pub properties: BTreeMap<String, String>,
}

impl ReplaceTable {
    fn updates(&self, base: &TableMetadata) -> Result<Vec<TableUpdate>> {
        let ids = column_ids(&self.schema, base)?;
        let schema = with_ids(&self.schema, &ids);
        self.properties.iter().try_for_each(|(key, value)| property_values::check(key, value, &schema))?;
        let wanted = self
            .spec
            .fields
            .iter()
            .map(|field| PartitionField { source_ids: mapped(&field.source_ids, &ids), ..field.clone() });
        let fields = partition_fields(wanted.collect(), base)?;
        let mut order = self.order.clone();
        order.fields.iter_mut().for_each(|field| field.source_ids = mapped(&field.source_ids, &ids));

        let mut updates = Vec::new();
        updates.extend(self.format_version.map(TableUpdate::UpgradeFormatVersion));
        if base.refs.contains_key(MAIN_BRANCH) {
            updates.push(TableUpdate::RemoveRef(MAIN_BRANCH.to_string()));
        }
        updates.extend([
            TableUpdate::AddSchema(schema),
            TableUpdate::SetCurrentSchema(LAST_ADDED),
            TableUpdate::AddSpec(PartitionSpec { spec_id: 0, fields }),
            TableUpdate::SetDefaultSpec(LAST_ADDED),
            TableUpdate::AddSortOrder(order),
            TableUpdate::SetDefaultSortOrder(LAST_ADDED),
        ]);
        updates.extend(self.location.clone().map(TableUpdate::SetLocation));
        updates.push(TableUpdate::SetProperties(self.properties.clone()));
        Ok(updates)
    }
}

impl Change for ReplaceTable {
    fn revise(&mut self, base: Option<&TableMetadata>, _: u32, _: &Context) -> Result<Revision> {
        let base = base.ok_or_else(|| Error::new(ErrorKind::NoSuchTable, "the table no longer exists"))?;
        self.updates(base).map(Revision::Update)
    }

    fn clean(&mut self, _: Option<&TableMetadata>) {}

    fn writes_files(&self) -> bool {
        false
    }
}

/// Returns the new id of each column of a new schema: that of the existing column with its full name, or a new one.
fn column_ids(schema: &Schema, base: &TableMetadata) -> Result<HashMap<i32, i32>> {
    let current = base.current_schema()?;
    let mut known: HashMap<String, i32> =
        in_order(&current.fields).into_iter().filter_map(|id| current.full_name(id).map(|name| (name, id))).collect();
    let mut new = Ids::after(base.last_column_id);
    let given = in_order(&schema.fields).into_iter().map(|id| {
        // Column names that contain dots can give two columns the same full name. Only the first one reuses the id.
        let same = schema.full_name(id).and_then(|name| known.remove(&name));
        let same = same.filter(|same| schema.field(id).is_some_and(|field| fits_specs(field, *same, base)));
        Ok((id, same.map_or_else(|| new.next(), Ok)?))
    });
    given.collect()
}

/// Returns whether the transforms that the table's specs apply to column `id` accept the new type of the column. Java
/// reuses the id without this check and then cannot read the table any more.
fn fits_specs(field: &NestedField, id: i32, base: &TableMetadata) -> bool {
    let fields = base.partition_specs.iter().flat_map(|spec| &spec.fields);
    let mut of_column = fields.filter(|part| part.source_ids.contains(&id) && part.transform != Transform::Void);
    match &field.field_type {
        Type::Primitive(primitive) => of_column.all(|part| part.transform.result_type(primitive).is_some()),
        _ => of_column.next().is_none(),
    }
}

/// Returns the ids of all fields, a struct's own fields before the fields inside them, as Java numbers them.
fn in_order(fields: &StructType) -> Vec<i32> {
    fn visit(fields: &[&NestedField], found: &mut Vec<i32>) {
        found.extend(fields.iter().map(|field| field.id));
        for field in fields {
            visit(&field.field_type.children(), found);
        }
    }
    let mut found = Vec::new();
    visit(&fields.fields.iter().collect::<Vec<_>>(), &mut found);
    found
}

fn with_ids(schema: &Schema, ids: &HashMap<i32, i32>) -> Schema {
    Schema {
        schema_id: 0,
        fields: struct_with_ids(&schema.fields, ids),
        identifier_field_ids: mapped(&schema.identifier_field_ids, ids),
    }
}

fn struct_with_ids(fields: &StructType, ids: &HashMap<i32, i32>) -> StructType {
    StructType { fields: fields.fields.iter().map(|field| field_with_ids(field, ids)).collect() }
}

fn field_with_ids(field: &NestedField, ids: &HashMap<i32, i32>) -> NestedField {
    let field_type = match &field.field_type {
        Type::Primitive(primitive) => Type::Primitive(primitive.clone()),
        Type::Struct(fields) => Type::Struct(struct_with_ids(fields, ids)),
        Type::List(list) => Type::List(Arc::new(ListType { element: field_with_ids(&list.element, ids) })),
        Type::Map(map) => {
            let (key, value) = (field_with_ids(&map.key, ids), field_with_ids(&map.value, ids));
            Type::Map(Arc::new(MapType { key, value }))
        }
    };
    NestedField { id: new_id(field.id, ids), field_type, ..field.clone() }
}

fn mapped(from: &[i32], ids: &HashMap<i32, i32>) -> Vec<i32> {
    from.iter().map(|id| new_id(*id, ids)).collect()
}

/// Returns the new id of a field. An id that the schema does not have stays, and is rejected when the spec or the order
/// is checked.
fn new_id(id: i32, ids: &HashMap<i32, i32>) -> i32 {
    ids.get(&id).copied().unwrap_or(id)
}

/// Returns the fields of the new spec with ids that match those of earlier specs. In v1 each field of the current spec
/// keeps its position, as void if it was dropped, because readers identify fields by position.
fn partition_fields(mut wanted: Vec<PartitionField>, base: &TableMetadata) -> Result<Vec<PartitionField>> {
    let is_same = |a: &PartitionField, b: &PartitionField| a.source_ids == b.source_ids && a.transform == b.transform;
    let mut last_id = base.last_partition_id;
    let mut next_id = || {
        last_id = last_id.checked_add(1).ok_or_else(|| Error::invalid("no field ids are left"))?;
        Ok::<_, Error>(last_id)
    };
    let mut fields = Vec::new();
    if base.format_version == 1 {
        let names: Vec<String> = wanted.iter().map(|field| field.name.clone()).collect();
        for old in &base.default_spec()?.fields {
            if let Some(place) = wanted.iter().position(|field| is_same(field, old)) {
                fields.push(PartitionField { field_id: old.field_id, ..wanted.remove(place) });
            } else {
                let is_taken = names.contains(&old.name);
                let name = if is_taken { format!("{}_{}", old.name, old.field_id) } else { old.name.clone() };
                fields.push(PartitionField { name, transform: Transform::Void, ..old.clone() });
            }
        }
        for field in wanted {
            fields.push(PartitionField { field_id: next_id()?, ..field });
        }
        return Ok(fields);
    }
    let known = || base.partition_specs.iter().flat_map(|spec| &spec.fields);
    for field in wanted {
        let same = known().filter(|old| is_same(old, &field)).map(|old| old.field_id).max();
        fields.push(PartitionField { field_id: same.map_or_else(&mut next_id, Ok)?, ..field });
    }
    Ok(fields)
}

#[cfg(test)]
#[path = "replace_tests.rs"]
mod tests;
