//! Alters tables: `schema/schema-<n + 1>` (Java's `SchemaManager`).
//!
//! ```text
//! latest schema -> changes, in order -> checks of new tables -> schema-<n + 1>, unless it exists
//!       ^                                                                |
//!       +-------------------- another writer was first ------------------+
//! ```
//!
//! Fields keep their ids, by which readers find them in files of older schemas.

use bytes::Bytes;
use frazil_core::clock::now_ms;
use frazil_core::context::Context;
use frazil_core::error::{Error, ErrorKind, Result};
use frazil_core::storage::publish::{Swap, publish};

use super::change::{Change, Position};
use super::check::check_schema;
use super::create::{Definition, next_id, number_fields};
use super::nested::{PathTarget, position, siblings};
use super::renamed_options::{can_be_listed, renamed};
use super::switched_vectors::{check_needs_no_merge, is_switched_on};
use crate::cast::altered::check_cast;
use crate::commit::SnapshotLock;
use crate::spec::json::shown;
use crate::spec::option_rules::check_option;
use crate::spec::options::Options;
use crate::spec::schema::TableSchema;
use crate::spec::types::{DataField, DataType};
use crate::table::{MAIN_BRANCH, Table};
use crate::write::defaults::check_default;

/// Applies changes to the latest schema of the table's branch, publishes the result, and returns the table with it.
/// `lock` is held while the schema is published.
///
/// # Errors
/// As for [`altered`]; `NoSuchTable` if the table was dropped; `CommitConflict` if another table replaced it;
/// `CommitStateUnknown` if it is unknown whether the schema was published.
pub fn alter(table: &Table, changes: &[Change], lock: &dyn SnapshotLock, context: &Context) -> Result<Table> {
    loop {
        context.check()?;
        let latest = table.successor()?;
        let snapshot = latest.latest_snapshot()?;
        let has_snapshots = snapshot.is_some();
        let schema = altered(latest.schema(), changes, has_snapshots, now_ms())?;
        check_fallback(&latest, &Options::new(schema.options.clone()))?;
        let switched = if is_switched_on(latest.schema(), &schema)? { snapshot } else { None };
        if let Some(snapshot) = &switched {
            check_needs_no_merge(&latest, snapshot, context)?;
        }
        let checked = switched.map(|snapshot| snapshot.id);
        let content = Bytes::from(schema.to_pretty_json());
        let schema = TableSchema::parse(&content)?;
        let location = latest.schema_location(schema.id);
        let mut publication = || match latest.latest_snapshot() {
            // The options that cannot change once there are snapshots were not checked.
            Ok(Some(_)) if !has_snapshots => Swap::Lost,
            // Another writer changed the files that were checked.
            Ok(newest) if checked.is_some_and(|id| newest.as_ref().is_none_or(|one| one.id != id)) => Swap::Lost,
            Err(error) => Swap::Refused(error),
            Ok(_) => publish(latest.files(), &location, &content),
        };
        match lock.run(&mut publication)? {
            Swap::Done(_) => {
                return Ok(Table::with_schema(latest.files(), latest.location(), latest.branch(), schema.into()));
            }
            Swap::Lost => {}
            Swap::Refused(error) => return Err(error),
            Swap::Unknown(error) => {
                let message = format!("it is unknown whether the table was altered: {error}");
                return Err(Error::new(ErrorKind::CommitStateUnknown, message)
                    .with("table", latest.location())
                    .hint("load the table; make the change again if its schema does not have it"));
            }
        }
    }
}

/// Returns the schema after `changes`, which are applied in order.
///
/// # Errors
/// `InvalidArgument` naming the column or the option that cannot be changed; `Unsupported` naming a feature that cannot
/// be written.
pub fn altered(schema: &TableSchema, changes: &[Change], has_snapshots: bool, time_ms: i64) -> Result<TableSchema> {
    let mut next = Altered { old: schema, new: schema.clone(), has_snapshots };
    for change in changes {
        next.apply(change)?;
    }
    let TableSchema { fields, highest_field_id, partition_keys, primary_keys, options, comment, .. } = next.new;
    let definition = Definition { fields, partition_keys, primary_keys, options, comment };
    let id = schema.id.checked_add(1).ok_or_else(|| Error::invalid("the table has too many schemas"))?;
    let schema = definition.resolved()?.numbered(id, highest_field_id, time_ms);
    check_schema(&schema)?;
    Ok(schema)
}

/// A schema during its changes.
struct Altered<'a> {
    old: &'a TableSchema,
    new: TableSchema,
    has_snapshots: bool,
}

impl Altered<'_> {
    fn apply(&mut self, change: &Change) -> Result<()> {
        match change {
            Change::SetOption { name, value } => {
                check_option(&self.old.options, name, Some(value), self.has_snapshots)?;
                self.new.options.insert(name.clone(), value.clone());
            }
            Change::RemoveOption { name } => {
                check_option(&self.old.options, name, None, self.has_snapshots)?;
                self.new.options.remove(name);
            }
            Change::Comment(comment) => self.new.comment.clone_from(comment),
            Change::AddColumn { path, data_type, comment, default } => {
                self.add(&path.names(&self.new.fields), data_type, comment.as_ref(), default.as_ref())?;
            }
            Change::RenameColumn { path, name } => self.rename(&path.names(&self.new.fields), name)?,
            Change::DropColumn { path } => self.drop(&path.names(&self.new.fields))?,
            Change::ColumnType { path, data_type } => {
                self.retype(&path.names(&self.new.fields), data_type)?;
            }
            Change::Nullability { path, nullable } => self.set_nullable(&path.names(&self.new.fields), *nullable)?,
            Change::ColumnComment { path, comment } => {
                let path = path.names(&self.new.fields);
                PathTarget::find(&mut self.new.fields, &path)?.field(&path)?.description.clone_from(comment);
            }
            Change::Position { path, position } => self.place(&path.names(&self.new.fields), position)?,
            Change::Default { path, default } => {
                let path = path.names(&self.new.fields);
                let field = PathTarget::find(&mut self.new.fields, &path)?.field(&path)?;
                field.default_value.clone_from(default);
                check_default(field)?;
            }
        }
        Ok(())
    }

    fn add(
        &mut self,
        path: &[String],
        data_type: &DataType,
        comment: Option<&String>,
        default: Option<&String>,
    ) -> Result<()> {
        if !data_type.nullable {
            return Err(at(Error::invalid("a new column cannot be NOT NULL"), path)
                .hint("existing rows have no value for it; add it as nullable"));
        }
        let name = path.last().cloned().unwrap_or_default();
        let id = next_id(&mut self.new.highest_field_id);
        let mut data_type = data_type.clone();
        number_fields(&mut data_type, &mut self.new.highest_field_id);
        let field = DataField { id, name, data_type, description: comment.cloned(), default_value: default.cloned() };
        check_default(&field)?;
        let siblings = siblings(&mut self.new.fields, path)?;
        check_new_name(siblings, path)?;
        siblings.push(field);
        Ok(())
    }

    fn rename(&mut self, path: &[String], name: &str) -> Result<()> {
        check_not_key(path, "renamed", &self.new.partition_keys, "a partition key")?;
        let siblings = siblings(&mut self.new.fields, path)?;
        let index = position(siblings, path)?;
        let parents = path.iter().take(path.len().saturating_sub(1)).cloned();
        check_new_name(siblings, &parents.chain([name.to_string()]).collect::<Vec<_>>())?;
        if let Some(field) = siblings.get_mut(index) {
            name.clone_into(&mut field.name);
        }
        if let [old] = path {
            for key in self.new.primary_keys.iter_mut().filter(|key| *key == old) {
                name.clone_into(key);
            }
            let options = renamed(self.new.options.clone(), old, name);
            if options != self.new.options && !can_be_listed(name) {
                let message = "an option contains the name of the column, but cannot contain names with commas, brackets or \
                               spaces at the ends";
                return Err(at(Error::invalid(message).hint("choose another name"), path));
            }
            self.new.options = options;
        }
        Ok(())
    }

    fn drop(&mut self, path: &[String]) -> Result<()> {
        check_not_key(path, "dropped", &self.new.partition_keys, "a partition key")?;
        check_not_key(path, "dropped", &self.new.primary_keys, "a column of the primary key")?;
        let siblings = siblings(&mut self.new.fields, path)?;
        let index = position(siblings, path)?;
        if siblings.len() == 1 {
            let message = if path.len() == 1 { "the only column of a table" } else { "the only field of a ROW" };
            return Err(at(Error::invalid(format!("{message} cannot be dropped")), path));
        }
        siblings.remove(index);
        Ok(())
    }

    fn retype(&mut self, path: &[String], data_type: &DataType) -> Result<()> {
        check_not_key(path, "changed to another type", &self.new.partition_keys, "a partition key")?;
        check_not_key(path, "changed to another type", &self.new.primary_keys, "a column of the primary key")?;
        let old = Options::new(self.old.options.clone());
        let allows_explicit = !old.boolean("disable-explicit-type-casting", false)?;
        let mut target = PathTarget::find(&mut self.new.fields, path)?;
        check_cast(target.data_type(), data_type, allows_explicit).map_err(|error| at(error, path))?;
        target.data_type().root = data_type.root.clone();
        if let PathTarget::Field(field) = target {
            check_default(field)?;
        }
        Ok(())
    }

    fn set_nullable(&mut self, path: &[String], nullable: bool) -> Result<()> {
        if nullable {
            check_not_key(path, "made nullable", &self.new.primary_keys, "a column of the primary key")?;
        }
        let name = "alter-column-null-to-not-null.disabled";
        let is_disabled = Options::new(self.old.options.clone()).boolean(name, true)?;
        let mut target = PathTarget::find(&mut self.new.fields, path)?;
        let data_type = target.data_type();
        if is_disabled && data_type.nullable && !nullable {
            return Err(at(Error::invalid("a nullable column cannot become NOT NULL"), path)
                .hint(format!("if the column has no NULL, set the option `{name}` to false in an earlier change")));
        }
        data_type.nullable = nullable;
        Ok(())
    }

    fn place(&mut self, path: &[String], wanted: &Position) -> Result<()> {
        let other = match wanted {
            Position::Before(other) | Position::After(other) => Some(other.names(&self.new.fields)),
            Position::First | Position::Last => None,
        };
        let parent = |path: &[String]| path.split_last().map(|(_, parent)| parent.to_vec());
        if other.as_ref().is_some_and(|other| parent(other) != parent(path)) {
            return Err(at(Error::invalid("a column can only be moved within its ROW"), path));
        }
        let siblings = siblings(&mut self.new.fields, path)?;
        let from = position(siblings, path)?;
        let to = match (&other, wanted) {
            (Some(other), wanted) => {
                let found = position(siblings, other)?;
                // A column that precedes `other` leaves a gap, which `other` fills.
                match wanted {
                    Position::After(_) if found < from => found + 1,
                    Position::Before(_) if found > from => found - 1,
                    _ => found,
                }
            }
            (None, Position::Last) => siblings.len().saturating_sub(1),
            (None, _) => 0,
        };
        let is_same = other.as_ref().map_or(to == from, |other| other.last() == path.last());
        if is_same {
            return Err(at(Error::invalid("the column is already at this position"), path));
        }
        let field = siblings.remove(from);
        siblings.insert(to, field);
        Ok(())
    }
}

fn check_not_key(path: &[String], verb: &str, keys: &[String], what: &str) -> Result<()> {
    match path {
        [name] if keys.contains(name) => Err(at(Error::invalid(format!("{what} cannot be {verb}")), path)
            .hint("create a table with other keys and copy the rows")),
        _ => Ok(()),
    }
}

fn check_new_name(siblings: &[DataField], path: &[String]) -> Result<()> {
    let name = path.last().map(String::as_str).unwrap_or_default();
    if name.trim().is_empty() {
        return Err(Error::invalid("a column needs a name"));
    }
    if siblings.iter().any(|field| field.name == name) {
        return Err(at(Error::invalid("a column of this name already exists"), path));
    }
    Ok(())
}

/// Rejects a fallback branch that does not exist, because Java cannot open such a table.
fn check_fallback(table: &Table, options: &Options) -> Result<()> {
    match options.fallback_branch().filter(|branch| *branch != MAIN_BRANCH) {
        Some(branch) if !table.branches()?.iter().any(|known| known == branch) => Err(Error::invalid(format!(
            "the option `scan.fallback-branch` is `{}`, which is not a branch",
            shown(branch)
        ))
        .hint("create the branch first")),
        _ => Ok(()),
    }
}

fn at(error: Error, path: &[String]) -> Error {
    error.with("column", shown(&path.join(".")))
}

#[cfg(test)]
#[path = "alter_tests.rs"]
mod tests;
