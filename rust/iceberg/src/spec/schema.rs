//! Schemas (spec: "Schemas and Data Types"; JSON: appendix C, "Schemas").

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use frazil_core::error::{Error, Result};
use frazil_core::scalar::ScalarType;
use frazil_core::sql::predicate::{BoundColumn, ColumnName};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;

use super::json::{self, At, Object, shown};
use super::type_json::read_fields;
use super::types::{NestedField, StructType, Type};

/// The highest field id of a column; higher ids are reserved for metadata columns (spec: "Reserved Field IDs").
pub(crate) const MAX_FIELD_ID: i32 = 2_147_483_447;

/// A schema of a table, whose field ids are unique over the table's lifetime.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Schema {
    /// The id by which snapshots and `current-schema-id` reference it.
    pub schema_id: i32,
    /// The columns.
    pub fields: StructType,
    /// The columns that identify a row.
    pub identifier_field_ids: Vec<i32>,
}

/// A field with its ancestors, outermost first; `fields` is never empty.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldPath<'a> {
    fields: Vec<&'a NestedField>,
    field: &'a NestedField,
}

/// An index of the fields of a schema by id, for many look-ups.
#[derive(Debug, Clone)]
pub struct SchemaIndex<'a> {
    by_id: HashMap<i32, IndexEntry<'a>>,
}

#[derive(Debug, Clone, Copy)]
struct IndexEntry<'a> {
    field: &'a NestedField,
    parent_id: Option<i32>,
}

impl Schema {
    /// Parses a schema from its JSON.
    ///
    /// # Errors
    /// `CorruptMetadata` for violations of the spec, two fields with the same id, and siblings with the same name;
    /// `LimitExceeded` for types that are nested more than a hundred levels deep.
    pub fn from_json(text: &str) -> Result<Self> {
        let at = At::root("schema");
        Self::read(json::parse(text, &at)?, &at)
    }

    /// Returns the schema for rows that were written with any of `schemas`: a field is optional if it is optional in
    /// one of them.
    #[must_use]
    pub fn optional_as_in(&self, schemas: &[Arc<Self>]) -> Self {
        fn note(field: &NestedField, optional: &mut HashSet<i32>) {
            if !field.required {
                optional.insert(field.id);
            }
            field.field_type.children().into_iter().for_each(|child| note(child, optional));
        }
        fn relax(field: &mut NestedField, optional: &HashSet<i32>) {
            field.required &= !optional.contains(&field.id);
            field.field_type.children_mut().into_iter().for_each(|child| relax(child, optional));
        }
        let mut optional = HashSet::new();
        schemas.iter().flat_map(|schema| &schema.fields.fields).for_each(|field| note(field, &mut optional));
        let mut relaxed = self.clone();
        relaxed.fields.fields.iter_mut().for_each(|field| relax(field, &optional));
        relaxed
    }

    /// Returns the JSON form of the spec, on one line.
    pub fn to_json(&self) -> String {
        json::to_text(self)
    }

    pub(crate) fn read(raw: &RawValue, at: &At<'_>) -> Result<Self> {
        let object = Object::parse(raw.get(), at)?;
        let name: String = object.required("type", at)?;
        if name != "struct" {
            return Err(at.corrupt(format!("the type of a schema must be `struct`, found `{}`", shown(&name))));
        }
        let schema = Self {
            schema_id: object.optional("schema-id", at)?.unwrap_or(0),
            fields: read_fields(&object, at, 0)?,
            identifier_field_ids: object.optional("identifier-field-ids", at)?.unwrap_or_default(),
        };
        schema.check_unique().map_err(|message| at.corrupt(message))?;
        Ok(schema)
    }

    /// Returns a field at any depth.
    pub fn field(&self, id: i32) -> Option<&NestedField> {
        find_field(&self.fields, id)
    }

    /// Returns a field with its ancestors.
    pub fn path(&self, id: i32) -> Option<FieldPath<'_>> {
        let mut found = None;
        self.visit(&mut |parents, field| {
            if field.id == id {
                found = Some(FieldPath { fields: [parents, &[field]].concat(), field });
            }
        });
        found
    }

    /// Returns the name of a field with those of its ancestors: `a.b`, `list.element.x`, `map.value`.
    pub fn full_name(&self, id: i32) -> Option<String> {
        self.path(id).map(|path| path.full_name())
    }

    /// Returns all full names, outer fields before inner ones.
    pub fn full_names(&self) -> Vec<String> {
        let mut names = Vec::new();
        self.visit(&mut |parents, field| names.push(join(parents, field)));
        names
    }

    /// Returns the ids of the fields that hold values, in the order of the schema.
    pub fn leaf_ids(&self) -> Vec<i32> {
        let mut ids = Vec::new();
        self.visit(&mut |_, field| ids.extend(matches!(field.field_type, Type::Primitive(_)).then_some(field.id)));
        ids
    }

    /// Returns the highest field id; 0 if there are no fields.
    pub fn max_field_id(&self) -> i32 {
        let mut max = 0;
        self.visit(&mut |_, field| max = max.max(field.id));
        max
    }

    /// Returns an index of all fields by id, for more than a few look-ups.
    pub fn index(&self) -> SchemaIndex<'_> {
        let mut by_id = HashMap::new();
        self.visit(&mut |parents, field| {
            let parent_id = parents.last().map(|parent| parent.id);
            by_id.insert(field.id, IndexEntry { field, parent_id });
        });
        SchemaIndex { by_id }
    }

    /// Returns the field with this full name, as the user wrote it (`a.b`). A dot may separate fields or be part of a
    /// name. If no field matches, quotes are parsed as in SQL (`"q?"`).
    ///
    /// # Errors
    /// `InvalidArgument` if several fields have that name.
    pub fn find(&self, name: &str, case_sensitive: bool) -> Result<Option<FieldPath<'_>>> {
        if let Some(path) = only(name, self.all_named(name, case_sensitive))? {
            return Ok(Some(path));
        }
        match ColumnName::from_quoted(name) {
            Some(name) => self.find_parts(&name, case_sensitive),
            None => Ok(None),
        }
    }

    /// Returns the field whose full name consists of these parts. If several fields have the same full name, prefers
    /// the one whose names are exactly these parts: `a."b.c"` is not `a.b.c`.
    fn find_parts(&self, name: &ColumnName, case_sensitive: bool) -> Result<Option<FieldPath<'_>>> {
        let joined = name.0.join(".");
        let mut found = self.all_named(&joined, case_sensitive);
        if found.len() > 1 && found.iter().any(|path| path.has_names(&name.0, case_sensitive)) {
            found.retain(|path| path.has_names(&name.0, case_sensitive));
        }
        only(&joined, found)
    }

    /// Returns every field with this full name.
    fn all_named(&self, name: &str, case_sensitive: bool) -> Vec<FieldPath<'_>> {
        let wanted = fold(name, case_sensitive);
        let mut found = Vec::new();
        let mut parents = Vec::new();
        matching(&self.fields.fields.iter().collect::<Vec<_>>(), &wanted, case_sensitive, &mut parents, &mut found);
        found
    }

    /// Returns the column that a predicate references; None if it does not exist. Columns that cannot be compared
    /// (structs, lists, maps, variants, geometries) have the type `Null` and support only `IS NULL`.
    ///
    /// # Errors
    /// `InvalidArgument` if the name is ambiguous or refers to a field inside a list or a map.
    pub fn bound_column(&self, name: &ColumnName, case_sensitive: bool) -> Result<Option<BoundColumn>> {
        let Some(path) = self.find_parts(name, case_sensitive)? else { return Ok(None) };
        let full_name = path.full_name();
        if path.in_collection() {
            let message = format!("`{}` is inside a list or a map and has many values per row", shown(&full_name));
            return Err(Error::invalid(message));
        }
        let data_type = match &path.field.field_type {
            Type::Primitive(primitive) => primitive.scalar().unwrap_or(ScalarType::Null),
            _ => ScalarType::Null,
        };
        Ok(Some(BoundColumn { id: path.field.id, name: Arc::from(full_name), data_type, nullable: path.is_nullable() }))
    }

    /// Calls `visit` with every field and its ancestors, outer fields first.
    fn visit<'a>(&'a self, visit: &mut dyn FnMut(&[&'a NestedField], &'a NestedField)) {
        let mut parents = Vec::new();
        for field in &self.fields.fields {
            visit_field(field, &mut parents, visit);
        }
    }

    /// Checks that field ids are unique in a schema and names are unique among siblings; returns the first violation.
    fn check_unique(&self) -> Result<(), String> {
        let mut names_by_id: HashMap<i32, &str> = HashMap::new();
        let mut names: HashSet<(Option<i32>, &str)> = HashSet::new();
        let mut wrong = None;
        self.visit(&mut |parents, field| {
            let problem = match names_by_id.entry(field.id) {
                Entry::Occupied(first) => {
                    let (first, second) = (shown(first.get()), shown(&field.name));
                    Some(format!("fields `{first}` and `{second}` have the same id {}", field.id))
                }
                Entry::Vacant(entry) => {
                    entry.insert(&field.name);
                    let is_new = names.insert((parents.last().map(|parent| parent.id), &field.name));
                    if field.id > MAX_FIELD_ID {
                        Some(format!("field `{}` has the reserved id {}", shown(&field.name), field.id))
                    } else {
                        (!is_new).then(|| format!("two fields have the same name `{}`", shown(&field.name)))
                    }
                }
            };
            if wrong.is_none() {
                wrong = problem;
            }
        });
        wrong.map_or(Ok(()), Err)
    }
}

impl Serialize for Schema {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", "struct")?;
        map.serialize_entry("schema-id", &self.schema_id)?;
        if !self.identifier_field_ids.is_empty() {
            map.serialize_entry("identifier-field-ids", &self.identifier_field_ids)?;
        }
        map.serialize_entry("fields", &self.fields.fields)?;
        map.end()
    }
}

impl<'a> FieldPath<'a> {
    /// Returns the field itself.
    pub fn field(&self) -> &'a NestedField {
        self.field
    }

    /// Returns the field and its ancestors, outermost first.
    pub fn fields(&self) -> &[&'a NestedField] {
        &self.fields
    }

    /// Returns the names, joined by dots.
    pub fn full_name(&self) -> String {
        self.fields.iter().map(|field| field.name.as_str()).collect::<Vec<_>>().join(".")
    }

    /// Returns the quoted names, joined by dots: `"a"."b.c"`.
    fn quoted_name(&self) -> String {
        let quoted = |field: &&NestedField| format!("\"{}\"", field.name.replace('"', "\"\""));
        self.fields.iter().map(quoted).collect::<Vec<_>>().join(".")
    }

    fn has_names(&self, names: &[String], case_sensitive: bool) -> bool {
        let same =
            |(field, name): (&&NestedField, &String)| fold(&field.name, case_sensitive) == fold(name, case_sensitive);
        self.fields.len() == names.len() && self.fields.iter().zip(names).all(same)
    }

    /// Returns whether the field is inside a list or a map, so that it has many values per row.
    pub fn in_collection(&self) -> bool {
        let around = self.fields.split_last().map_or(&[][..], |(_, around)| around);
        around.iter().any(|field| matches!(field.field_type, Type::List(_) | Type::Map(_)))
    }

    /// Returns whether it may be NULL: itself optional, or inside an optional field.
    pub fn is_nullable(&self) -> bool {
        self.fields.iter().any(|field| !field.required)
    }
}

impl<'a> SchemaIndex<'a> {
    /// Returns a field at any depth.
    pub fn field(&self, id: i32) -> Option<&'a NestedField> {
        self.by_id.get(&id).map(|entry| entry.field)
    }

    /// Returns the parent of a field; None for top-level columns and unknown ids.
    pub fn parent(&self, id: i32) -> Option<&'a NestedField> {
        self.field(self.by_id.get(&id)?.parent_id?)
    }

    /// Returns a field with its ancestors.
    pub fn path(&self, id: i32) -> Option<FieldPath<'a>> {
        let field = self.field(id)?;
        let mut fields: Vec<_> = std::iter::successors(Some(field), |field| self.parent(field.id)).collect();
        fields.reverse();
        Some(FieldPath { fields, field })
    }
}

impl Type {
    fn children_mut(&mut self) -> Vec<&mut NestedField> {
        match self {
            Self::Primitive(_) => Vec::new(),
            Self::Struct(fields) => fields.fields.iter_mut().collect(),
            Self::List(list) => vec![&mut Arc::make_mut(list).element],
            Self::Map(map) => {
                let map = Arc::make_mut(map);
                vec![&mut map.key, &mut map.value]
            }
        }
    }

    /// Returns the child fields: the fields of a struct, the element of a list, the key and value of a map.
    pub fn children(&self) -> Vec<&NestedField> {
        match self {
            Self::Primitive(_) => Vec::new(),
            Self::Struct(fields) => fields.fields.iter().collect(),
            Self::List(list) => vec![&list.element],
            Self::Map(map) => vec![&map.key, &map.value],
        }
    }
}

fn find_field(fields: &StructType, id: i32) -> Option<&NestedField> {
    fn inside(field: &NestedField, id: i32) -> Option<&NestedField> {
        if field.id == id {
            return Some(field);
        }
        match &field.field_type {
            Type::Primitive(_) => None,
            Type::Struct(fields) => find_field(fields, id),
            Type::List(list) => inside(&list.element, id),
            Type::Map(map) => inside(&map.key, id).or_else(|| inside(&map.value, id)),
        }
    }
    fields.fields.iter().find_map(|field| inside(field, id))
}

fn visit_field<'a>(
    field: &'a NestedField,
    parents: &mut Vec<&'a NestedField>,
    visit: &mut dyn FnMut(&[&'a NestedField], &'a NestedField),
) {
    visit(parents, field);
    parents.push(field);
    for child in field.field_type.children() {
        visit_field(child, parents, visit);
    }
    parents.pop();
}

/// Returns the only field in `found`, or None if it is empty. Several fields are an error: `name` is ambiguous.
fn only<'a>(name: &str, mut found: Vec<FieldPath<'a>>) -> Result<Option<FieldPath<'a>>> {
    if let [first, second, ..] = found.as_slice() {
        let (first_name, second_name) = (first.quoted_name(), second.quoted_name());
        let message = format!(
            "`{}` is ambiguous: it matches {} (field {}) and {} (field {})",
            shown(name),
            shown(&first_name),
            first.field.id,
            shown(&second_name),
            second.field.id
        );
        let error = Error::invalid(message);
        let is_told_apart = first_name != second_name && first.full_name() == second.full_name();
        return Err(if is_told_apart { error.hint("quote the parts of the name as shown") } else { error });
    }
    Ok(found.pop())
}

/// Collects the fields whose names, joined by dots, equal `wanted`.
fn matching<'a>(
    fields: &[&'a NestedField],
    wanted: &str,
    case_sensitive: bool,
    parents: &mut Vec<&'a NestedField>,
    found: &mut Vec<FieldPath<'a>>,
) {
    for &field in fields {
        let name = fold(&field.name, case_sensitive);
        let Some(rest) = wanted.strip_prefix(name.as_ref()) else { continue };
        parents.push(field);
        if rest.is_empty() {
            found.push(FieldPath { fields: parents.clone(), field });
        } else if let Some(rest) = rest.strip_prefix('.') {
            matching(&field.field_type.children(), rest, case_sensitive, parents, found);
        }
        parents.pop();
    }
}

fn fold(name: &str, case_sensitive: bool) -> std::borrow::Cow<'_, str> {
    if case_sensitive { name.into() } else { name.to_lowercase().into() }
}

fn join(parents: &[&NestedField], field: &NestedField) -> String {
    let mut name: String = parents.iter().flat_map(|parent| [parent.name.as_str(), "."]).collect();
    name.push_str(&field.name);
    name
}

#[cfg(test)]
#[path = "schema_tests.rs"]
mod tests;
