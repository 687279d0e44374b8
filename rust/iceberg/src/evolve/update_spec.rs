//! Changes the partitioning of new rows (spec: "Partition Evolution"; Java: `BaseUpdatePartitionSpec`).

use frazil_core::error::{Error, Result};
use serde::Deserialize;

use super::term::{Resolved, Term};
use super::yes;
use crate::commit::update::{LAST_ADDED, TableUpdate};
use crate::spec::partition::{PartitionField, PartitionSpec};
use crate::spec::schema::Schema;
use crate::spec::table_metadata::TableMetadata;
use crate::spec::transform::Transform;

/// A list of operations on the partition spec of new files, applied in order. Existing files keep their spec.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UpdateSpec {
    /// Whether column names are case-sensitive.
    #[serde(default = "yes")]
    pub case_sensitive: bool,
    /// The operations.
    pub operations: Vec<SpecOperation>,
}

/// One operation on the partition spec.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "operation", rename_all = "snake_case", deny_unknown_fields)]
#[expect(missing_docs, reason = "fields are named like the attributes of a partition field")]
pub enum SpecOperation {
    /// Adds a field. Without a name, the field gets the name that Java would assign. A field that an earlier spec had
    /// gets its earlier id again.
    AddField {
        term: Term,
        #[serde(default)]
        name: Option<String>,
    },
    /// Removes a field, by name or by its term, such as `day(ts)`.
    RemoveField { name: String },
    /// Renames a field.
    RenameField { name: String, new_name: String },
}

impl UpdateSpec {
    pub(super) fn updates(&self, base: &TableMetadata) -> Result<Vec<TableUpdate>> {
        let current = base.default_spec()?;
        let mut draft = SpecDraft {
            base,
            schema: base.current_schema()?,
            case_sensitive: self.case_sensitive,
            slots: current.fields.iter().map(|field| SpecSlot { field: field.clone(), is_removed: false }).collect(),
            added: Vec::new(),
            last_id: base.last_partition_id,
        };
        for operation in &self.operations {
            match operation {
                SpecOperation::AddField { term, name } => draft.add(term, name.as_deref())?,
                SpecOperation::RemoveField { name } => draft.remove(name)?,
                SpecOperation::RenameField { name, new_name } => draft.rename(name, new_name)?,
            }
        }
        let fields = draft.finish();
        if fields == current.fields {
            return Ok(Vec::new());
        }
        let spec = PartitionSpec { spec_id: 0, fields };
        Ok(vec![TableUpdate::AddSpec(spec), TableUpdate::SetDefaultSpec(LAST_ADDED)])
    }
}

/// A field of the current spec.
struct SpecSlot {
    field: PartitionField,
    is_removed: bool,
}

struct SpecDraft<'a> {
    base: &'a TableMetadata,
    schema: &'a Schema,
    case_sensitive: bool,
    slots: Vec<SpecSlot>,
    added: Vec<PartitionField>,
    last_id: i32,
}

impl SpecDraft<'_> {
    fn add(&mut self, term: &Term, name: Option<&str>) -> Result<()> {
        let term = term.resolve(self.schema, self.case_sensitive)?;
        if let Some(slot) = self.slots.iter_mut().find(|slot| is_of(&slot.field, &term)) {
            if !slot.is_removed {
                return Err(duplicate(&slot.field, &term));
            }
            // Removed and added again: unchanged.
            slot.is_removed = false;
            return match name.filter(|name| *name != slot.field.name).map(ToString::to_string) {
                Some(new_name) => {
                    let name = slot.field.name.clone();
                    self.rename(&name, &new_name)
                }
                None => Ok(()),
            };
        }
        if let Some(there) = self.added.iter().find(|field| is_of(field, &term)) {
            return Err(duplicate(there, &term));
        }
        let times = |field: &&PartitionField| is_time(&field.transform) && field.source_ids == [term.source_id];
        if let Some(there) = self.added.iter().find(times).filter(|_| is_time(&term.transform)) {
            let message = format!(
                "{}({}) is redundant with the partition field `{}` ({})",
                term.transform, term.column, there.name, there.transform
            );
            return Err(Error::invalid(message).hint("keep the finer of the two: filters on either one use it"));
        }
        let field = self.recycled(&term, name).map_or_else(|| self.made(&term, name), Ok)?;
        self.free(&field.name)?;
        self.added.push(field);
        Ok(())
    }

    /// Returns the field of an earlier spec with this term (and name, if given), so that its values keep one id. Always
    /// None in v1, where readers identify fields by position.
    fn recycled(&self, term: &Resolved, name: Option<&str>) -> Option<PartitionField> {
        let fields = self.base.partition_specs.iter().flat_map(|spec| &spec.fields);
        let taken = |id: i32| self.slots.iter().any(|slot| slot.field.field_id == id && !slot.is_removed);
        let mut same = fields
            .filter(|field| is_of(field, term) && name.is_none_or(|name| name == field.name) && !taken(field.field_id));
        same.next().filter(|_| self.base.format_version > 1).cloned()
    }

    fn made(&mut self, term: &Resolved, name: Option<&str>) -> Result<PartitionField> {
        let name = name.map_or_else(|| term.default_name(), ToString::to_string);
        if name.is_empty() {
            return Err(Error::invalid("the name of a partition field cannot be empty"));
        }
        self.last_id = self.last_id.checked_add(1).ok_or_else(|| Error::invalid("no field ids are left"))?;
        let transform = term.transform.clone();
        Ok(PartitionField { source_ids: vec![term.source_id], field_id: self.last_id, name, transform })
    }

    /// Frees `name` for another field: a removed or void field that has the name is renamed. Any other field with the
    /// name is an error.
    fn free(&mut self, name: &str) -> Result<()> {
        if self.added.iter().any(|field| field.name == name) {
            return Err(there_is(name));
        }
        let Some(slot) = self.slots.iter_mut().find(|slot| slot.field.name == name) else { return Ok(()) };
        if !slot.is_removed && slot.field.transform != Transform::Void {
            return Err(there_is(name));
        }
        slot.field.name = format!("{name}_{}", slot.field.field_id);
        Ok(())
    }

    fn remove(&mut self, name: &str) -> Result<()> {
        let term = Term { column: None, transform: name.to_string() };
        let term = name.contains('(').then(|| term.resolve(self.schema, self.case_sensitive).ok()).flatten();
        let is_meant =
            |field: &PartitionField| field.name == name || term.as_ref().is_some_and(|term| is_of(field, term));
        if self.added.iter().any(is_meant) {
            return Err(Error::invalid(format!("the partition field `{name}` was added by this update")));
        }
        let slot = self.slots.iter_mut().find(|slot| !slot.is_removed && is_meant(&slot.field));
        slot.ok_or_else(|| no_field(self.base, name))?.is_removed = true;
        Ok(())
    }

    fn rename(&mut self, name: &str, new_name: &str) -> Result<()> {
        if new_name.is_empty() {
            return Err(Error::invalid("the name of a partition field cannot be empty"));
        }
        let find = |slot: &SpecSlot| !slot.is_removed && slot.field.name == name;
        if !self.slots.iter().any(find) {
            return Err(no_field(self.base, name));
        }
        if name == new_name {
            return Ok(());
        }
        self.free(new_name)?;
        if let Some(slot) = self.slots.iter_mut().find(|slot| find(slot)) {
            slot.field.name = new_name.to_string();
        }
        Ok(())
    }

    /// Returns the fields of the new spec. In v1 a removed field keeps its position, always NULL, because readers
    /// identify fields by position.
    fn finish(self) -> Vec<PartitionField> {
        let is_v1 = self.base.format_version == 1;
        let kept = self.slots.into_iter().filter_map(|SpecSlot { field, is_removed }| {
            let void = || is_v1.then(|| PartitionField { transform: Transform::Void, ..field.clone() });
            if is_removed { void() } else { Some(field) }
        });
        kept.chain(self.added).collect()
    }
}

fn is_of(field: &PartitionField, term: &Resolved) -> bool {
    field.source_ids == [term.source_id] && field.transform == term.transform
}

fn is_time(transform: &Transform) -> bool {
    matches!(transform, Transform::Year | Transform::Month | Transform::Day | Transform::Hour)
}

fn duplicate(there: &PartitionField, term: &Resolved) -> Error {
    Error::invalid(format!("{}({}) is already the partition field `{}`", term.transform, term.column, there.name))
}

fn there_is(name: &str) -> Error {
    Error::invalid(format!("a partition field `{name}` already exists"))
}

fn no_field(base: &TableMetadata, name: &str) -> Error {
    let names: Vec<String> =
        base.default_spec().iter().flat_map(|spec| &spec.fields).map(|field| format!("`{}`", field.name)).collect();
    let error = Error::invalid(format!("no partition field `{name}`"));
    if names.is_empty() { error } else { error.hint(format!("the partition fields are {}", names.join(", "))) }
}
