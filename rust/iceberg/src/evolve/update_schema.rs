//! Changes a table's schema (spec: "Schema Evolution", "Default values").

use std::collections::{BTreeMap, HashSet};

use frazil_core::error::{Error, ErrorKind, Result};
use serde::Deserialize;

use super::column_path::ColumnPath;
use super::tree::{Ids, field_mut, fields_in, fields_of};
use super::{default, follow, promote, same_name, union, yes};
use crate::commit::update::{LAST_ADDED, TableUpdate};
use crate::spec::schema::Schema;
use crate::spec::table_metadata::TableMetadata;
use crate::spec::transform::Transform;
use crate::spec::types::{NestedField, PrimitiveType, Type, Value};

/// A list of operations on a schema, applied in order: each operation sees the column names as changed by the previous
/// ones. After a rename, the old name still refers to the renamed column as long as no other column has that name.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UpdateSchema {
    /// Whether column names are case-sensitive.
    #[serde(default = "yes")]
    pub case_sensitive: bool,
    /// Whether a column may be made required, and a required column be added without a default. Existing rows may then
    /// hold NULL in a required column.
    #[serde(default)]
    pub allow_incompatible: bool,
    /// The operations.
    pub operations: Vec<SchemaOperation>,
}

/// One operation on the schema. Types are strings as users write them, or JSON; defaults are JSON values (spec:
/// appendix D).
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "operation", rename_all = "snake_case", deny_unknown_fields)]
#[expect(missing_docs, reason = "fields are named like the attributes of a column")]
pub enum SchemaOperation {
    /// Adds a column at the end of its struct. `default` becomes both its initial default and its write default.
    AddColumn {
        path: ColumnPath,
        #[serde(rename = "type")]
        field_type: String,
        #[serde(default)]
        required: bool,
        #[serde(default)]
        doc: Option<String>,
        #[serde(default)]
        default: Option<String>,
    },
    /// Drops a column and all its nested fields.
    DeleteColumn { path: ColumnPath },
    /// Renames a column; `name` is its own name, without parent names.
    RenameColumn { path: ColumnPath, name: String },
    /// Widens the type, or changes the nullability or the documentation; None leaves a setting unchanged.
    UpdateColumn {
        path: ColumnPath,
        #[serde(default, rename = "type")]
        field_type: Option<String>,
        #[serde(default)]
        required: Option<bool>,
        #[serde(default)]
        doc: Option<String>,
    },
    /// Sets the default of rows that are written from now on.
    SetWriteDefault { path: ColumnPath, default: Option<String> },
    /// Moves a column to the first position of its struct.
    MoveFirst { path: ColumnPath },
    /// Moves a column before another column of its struct.
    MoveBefore { path: ColumnPath, other: ColumnPath },
    /// Moves a column after another column of its struct.
    MoveAfter { path: ColumnPath, other: ColumnPath },
    /// Sets the columns that identify a row; empty to clear them.
    SetIdentifierFields { paths: Vec<ColumnPath> },
    /// Adds the columns of another schema (JSON) that are missing. Widens types and makes columns optional where the
    /// other schema requires it. Columns that the other schema lacks stay, and types never become narrower.
    UnionByName { schema: String },
}

impl UpdateSchema {
    pub(super) fn updates(&self, base: &TableMetadata) -> Result<Vec<TableUpdate>> {
        let original = base.current_schema()?.as_ref();
        let mut draft = Draft {
            base,
            original,
            schema: original.clone(),
            ids: Ids::after(base.last_column_id),
            added: HashSet::new(),
            case_sensitive: self.case_sensitive,
            allow_incompatible: self.allow_incompatible,
        };
        self.operations.iter().try_for_each(|operation| draft.apply(operation))?;
        let schema = draft.finish()?;
        if schema == *original {
            return Ok(Vec::new());
        }
        let (set, removed) = follow::renamed_properties(base, original, &schema)?;
        let mut updates = vec![TableUpdate::AddSchema(schema), TableUpdate::SetCurrentSchema(LAST_ADDED)];
        updates.extend((!removed.is_empty()).then_some(TableUpdate::RemoveProperties(removed)));
        updates.extend((!set.is_empty()).then_some(TableUpdate::SetProperties(set)));
        Ok(updates)
    }
}

/// A schema under construction.
pub(super) struct Draft<'a> {
    base: &'a TableMetadata,
    original: &'a Schema,
    schema: Schema,
    ids: Ids,
    /// The ids of the columns that this update added. Existing rows have no values for them.
    added: HashSet<i32>,
    pub(super) case_sensitive: bool,
    allow_incompatible: bool,
}

impl Draft<'_> {
    fn apply(&mut self, operation: &SchemaOperation) -> Result<()> {
        use SchemaOperation as O;
        match operation {
            O::AddColumn { path, field_type, required, doc, default } => {
                self.add_column(path, field_type, *required, doc.as_deref(), default.as_deref())
            }
            O::DeleteColumn { path } => self.delete(path),
            O::RenameColumn { path, name } => self.rename(path, name),
            O::UpdateColumn { path, field_type, required, doc } => {
                let id = self.find(path)?;
                let named = |e: Error| e.with("column", path.text());
                if let Some(text) = field_type {
                    self.widen(id, &text.parse()?).map_err(named)?;
                }
                if let Some(required) = required {
                    self.set_required(id, *required).map_err(named)?;
                }
                if let Some(doc) = doc {
                    self.field_mut(id)?.doc = (!doc.is_empty()).then(|| doc.clone());
                }
                Ok(())
            }
            O::SetWriteDefault { path, default } => {
                let id = self.find(path)?;
                let parsed = self.default(&self.field(id)?.field_type.clone(), default.as_deref());
                self.field_mut(id)?.write_default = parsed.map_err(|e| e.with("column", path.text()))?;
                Ok(())
            }
            O::MoveFirst { path } => self.reorder(path, None, 0),
            O::MoveBefore { path, other } => self.reorder(path, Some(other), 0),
            O::MoveAfter { path, other } => self.reorder(path, Some(other), 1),
            O::SetIdentifierFields { paths } => {
                let mut ids = paths.iter().map(|path| self.find(path)).collect::<Result<Vec<_>>>()?;
                ids.sort_unstable();
                ids.dedup();
                self.schema.identifier_field_ids = ids;
                Ok(())
            }
            O::UnionByName { schema } => {
                let other = Schema::from_json(schema).map_err(|e| Error::invalid(e.message()))?;
                union::by_name(self, None, &other.fields.fields)
            }
        }
    }

    /// Returns the id of a column that may be changed.
    fn find(&self, path: &ColumnPath) -> Result<i32> {
        let id = if let Some(found) = path.find(&self.schema, self.case_sensitive)? {
            found.field().id
        } else {
            let before = path.find(self.original, self.case_sensitive)?.map(|found| found.field().id);
            let kept = before.filter(|&id| self.schema.field(id).is_some());
            kept.ok_or_else(|| self.schema.no_such_column(&path.text()))?
        };
        let found = self.schema.path(id).ok_or_else(|| Error::internal("a column has no path"))?;
        let of_key = found.fields().windows(2).any(|pair| match pair {
            [around, inside] => matches!(&around.field_type, Type::Map(map) if map.key.id == inside.id),
            _ => false,
        });
        if of_key {
            let message = format!("`{}` is the key of a map, which cannot be changed", path.text());
            return Err(Error::invalid(message).with("column", path.text()));
        }
        Ok(id)
    }

    pub(super) fn field(&self, id: i32) -> Result<&NestedField> {
        self.schema.field(id).ok_or_else(|| Error::internal(format!("no column has the id {id}")))
    }

    /// Returns whether a column is an identifier field, which cannot be NULL.
    pub(super) fn is_identifier(&self, id: i32) -> bool {
        self.schema.identifier_field_ids.contains(&id)
    }

    pub(super) fn field_mut(&mut self, id: i32) -> Result<&mut NestedField> {
        field_mut(&mut self.schema.fields, id).ok_or_else(|| Error::internal(format!("no column has the id {id}")))
    }

    /// Returns the parent of a struct field; None for top-level columns.
    fn parent(&self, id: i32, path: &ColumnPath) -> Result<Option<i32>> {
        let found = self.schema.path(id).ok_or_else(|| Error::internal("a column has no path"))?;
        match found.fields() {
            [.., parent, _] if matches!(parent.field_type, Type::Struct(_)) => Ok(Some(parent.id)),
            [.., _, _] => {
                let message = format!("`{}` is part of a list or a map and cannot be changed", path.text());
                Err(Error::invalid(message).with("column", path.text()))
            }
            _ => Ok(None),
        }
    }

    pub(super) fn sibling(&self, parent: Option<i32>, name: &str) -> Option<&NestedField> {
        fields_in(&self.schema, parent).iter().find(|field| same_name(&field.name, name, self.case_sensitive))
    }

    fn add_column(
        &mut self,
        path: &ColumnPath,
        field_type: &str,
        required: bool,
        doc: Option<&str>,
        default: Option<&str>,
    ) -> Result<()> {
        let (parent, name) = path.split()?;
        let named = |e: Error| e.with("column", path.text());
        let parent = match &parent {
            None => None,
            Some(parent) => Some(self.container(parent).map_err(named)?),
        };
        let field_type = field_type.parse::<Type>().map_err(named)?;
        let default = self.default(&field_type, default).map_err(named)?;
        self.check_required(&field_type, required, default.as_ref()).map_err(named)?;
        let field = NestedField {
            doc: doc.filter(|doc| !doc.is_empty()).map(ToString::to_string),
            initial_default: default.clone(),
            write_default: default,
            ..NestedField::new(0, name, field_type, required)
        };
        self.insert(parent, &field).map_err(named)
    }

    /// Appends a field, with new ids, to a struct.
    pub(super) fn insert(&mut self, parent: Option<i32>, field: &NestedField) -> Result<()> {
        if let Some(there) = self.sibling(parent, &field.name) {
            return Err(Error::invalid(format!("a column `{}` already exists", there.name)));
        }
        let id = self.ids.next()?;
        let field_type = self.ids.given(&field.field_type)?;
        self.added.insert(id);
        fields_of(&mut self.schema, parent)?.push(NestedField { id, field_type, ..field.clone() });
        Ok(())
    }

    /// Returns the struct to which a new column is added: the column itself, the elements of a list, or the values of a
    /// map.
    fn container(&self, path: &ColumnPath) -> Result<i32> {
        let id = self.find(path).map_err(|e| match path {
            ColumnPath::Dotted(_) => e.hint("pass the names as a tuple if a name contains a dot"),
            ColumnPath::Names(_) => e,
        })?;
        let field = self.field(id)?;
        let inside = match &field.field_type {
            Type::Struct(_) => Some(field),
            Type::List(list) => Some(&list.element),
            Type::Map(map) => Some(&map.value),
            Type::Primitive(_) => None,
        };
        let inside = inside.filter(|inside| matches!(inside.field_type, Type::Struct(_)));
        inside
            .map(|inside| inside.id)
            .ok_or_else(|| Error::invalid(format!("`{}` does not contain a struct", path.text())))
    }

    fn default(&self, field_type: &Type, text: Option<&str>) -> Result<Option<Value>> {
        let value = text.map_or(Ok(None), |text| default::parse(text, field_type))?;
        if value.is_some() && self.base.format_version < 3 {
            return Err(Error::unsupported("column defaults need format version 3")
                .hint("upgrade the table to format version 3"));
        }
        Ok(value)
    }

    fn check_required(&self, field_type: &Type, required: bool, default: Option<&Value>) -> Result<()> {
        if required && *field_type == Type::Primitive(PrimitiveType::Unknown) {
            return Err(Error::invalid("a column of type unknown is always optional"));
        }
        if !required || default.is_some() || self.allow_incompatible {
            return Ok(());
        }
        Err(Error::invalid("a required column without a default cannot be added: existing rows have no value")
            .hint("set a default (format version 3), or make the column optional"))
    }

    fn delete(&mut self, path: &ColumnPath) -> Result<()> {
        let id = self.find(path)?;
        let parent = self.parent(id, path)?;
        fields_of(&mut self.schema, parent)?.retain(|field| field.id != id);
        Ok(())
    }

    fn rename(&mut self, path: &ColumnPath, name: &str) -> Result<()> {
        let id = self.find(path)?;
        let parent = self.parent(id, path)?;
        if name.is_empty() {
            return Err(Error::invalid("the new name cannot be empty").with("column", path.text()));
        }
        if let Some(there) = self.sibling(parent, name).filter(|there| there.id != id) {
            let message = format!("a column `{}` already exists", there.name);
            return Err(Error::invalid(message).with("column", path.text()));
        }
        self.field_mut(id)?.name = name.to_string();
        Ok(())
    }

    pub(super) fn widen(&mut self, id: i32, to: &Type) -> Result<()> {
        let (base, field) = (self.base, self.field(id)?);
        let version = base.format_version;
        match (&field.field_type, to) {
            (Type::Primitive(from), Type::Primitive(to)) if from == to => Ok(()),
            (Type::Primitive(from), Type::Primitive(to)) if promote::promotes(from, to, version) => {
                promote::check_partitions(base, id, from)?;
                let field = self.field_mut(id)?;
                field.field_type = Type::Primitive(to.clone());
                for default in [&mut field.initial_default, &mut field.write_default] {
                    *default = default.as_ref().map(|value| promote::promoted(value, to)).transpose()?;
                }
                Ok(())
            }
            (Type::Primitive(PrimitiveType::Unknown), to) if version >= 3 => {
                let given = self.ids.given(to)?;
                self.field_mut(id)?.field_type = given;
                Ok(())
            }
            (from, to) => Err(Error::invalid(format!("the type {from} cannot be changed to {to}"))
                .hint("int widens to long, float to double, a decimal to more digits; in format version 3 also date to timestamp and timestamp_ns, and unknown to anything")),
        }
    }

    pub(super) fn set_required(&mut self, id: i32, required: bool) -> Result<()> {
        let (is_new, allowed) = (self.added.contains(&id), self.allow_incompatible);
        let field = self.field_mut(id)?;
        if required && !field.required {
            let is_filled = is_new && field.initial_default.is_some();
            if field.field_type == Type::Primitive(PrimitiveType::Unknown) {
                return Err(Error::invalid("a column of type unknown is always optional"));
            }
            if !(is_filled || allowed) {
                return Err(Error::invalid("an optional column cannot become required: existing rows may hold NULL")
                    .hint("allow incompatible changes if no row holds NULL"));
            }
        }
        field.required = required;
        Ok(())
    }

    /// Moves a column to `offset` positions after `other`, or to the beginning.
    fn reorder(&mut self, path: &ColumnPath, other: Option<&ColumnPath>, offset: usize) -> Result<()> {
        let id = self.find(path)?;
        let parent = self.parent(id, path)?;
        let other = other.map(|other| self.find(other).map(|id| (id, other))).transpose()?;
        let siblings = fields_of(&mut self.schema, parent)?;
        let Some(from) = siblings.iter().position(|field| field.id == id) else {
            return Err(Error::internal("a column is not in its struct"));
        };
        let field = siblings.remove(from);
        let to = match other {
            None => Some(0),
            Some((other, _)) => siblings.iter().position(|field| field.id == other).map(|at| at + offset),
        };
        let Some(to) = to else {
            let other = other.map(|(_, path)| path.text()).unwrap_or_default();
            let message =
                format!("`{}` cannot be moved next to `{other}`, which is not in the same struct", path.text());
            return Err(Error::invalid(message).with("column", path.text()));
        };
        siblings.insert(to, field);
        Ok(())
    }

    /// Checks and returns the new schema.
    fn finish(self) -> Result<Schema> {
        let schema = self.schema;
        let gone = |id: i32| schema.field(id).is_none();
        let name = |id: i32| self.original.full_name(id).unwrap_or_else(|| id.to_string());
        if let Some(&id) = schema.identifier_field_ids.iter().find(|&&id| gone(id)) {
            return Err(Error::invalid(format!("`{}` cannot be dropped: it is an identifier field", name(id)))
                .hint("set other identifier fields first"));
        }
        let refuse = |id: i32, what: &str| {
            let message = format!("`{}` cannot be dropped: {what} is computed from it", name(id));
            Err(Error::invalid(message).with("column", name(id)))
        };
        for field in self.base.default_spec()?.fields.iter().filter(|field| field.transform != Transform::Void) {
            if let Some(&id) = field.source_ids.iter().find(|&&id| gone(id)) {
                return refuse(id, &format!("the partition field `{}`", field.name));
            }
        }
        let orders = &self.base.sort_orders;
        let order = orders.iter().find(|order| order.order_id == self.base.default_sort_order_id);
        for id in order.iter().flat_map(|order| &order.fields).flat_map(|field| &field.source_ids) {
            if gone(*id) {
                return refuse(*id, "the sort order");
            }
        }
        // Duplicate names that the original schema already had are not rejected.
        if check_names(self.original, self.case_sensitive).is_ok() {
            check_names(&schema, self.case_sensitive)?;
        }
        // The schema reader checks uniqueness and the nesting depth of types.
        Schema::from_json(&schema.to_json()).map_err(|e| match e.kind() {
            ErrorKind::LimitExceeded => e,
            _ => Error::invalid(e.message()),
        })
    }
}

/// Rejects two columns with the same full name, because neither could be selected.
fn check_names(schema: &Schema, case_sensitive: bool) -> Result<()> {
    let mut seen: BTreeMap<String, String> = BTreeMap::new();
    for name in schema.full_names() {
        let key = if case_sensitive { name.clone() } else { name.to_lowercase() };
        if let Some(other) = seen.insert(key, name.clone()) {
            let otherwise = if other == name { String::new() } else { format!(", one of them as `{other}`") };
            return Err(Error::invalid(format!("two columns would have the name `{name}`{otherwise}")));
        }
    }
    Ok(())
}
