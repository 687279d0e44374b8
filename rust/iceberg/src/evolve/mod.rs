//! Changes that write no data: table creation and replacement, schemas, partition specs, sort orders, properties and
//! references.
//!
//! Each change references its targets by name and is applied to the latest state at each attempt, so two writers that
//! add a column concurrently get two ids. The wire form is JSON, tagged by `update`. A cherry-pick moves a branch to a
//! snapshot or, if the branch has other commits, adds its files again with a snapshot change. A branch of a table without
//! snapshots begins with an empty one.

mod cherry_pick;
mod column_path;
mod columns;
pub mod create;
mod create_branch;
mod default;
mod expire;
mod follow;
mod promote;
mod properties;
mod property_values;
mod references;
pub mod replace;
mod sort_order;
mod statistics;
mod term;
mod tree;
mod union;
mod update_schema;
mod update_spec;

pub use column_path::ColumnPath;
pub use expire::{ExpireSnapshots, Expired};
pub use properties::UpdateProperties;
pub use references::{ManageSnapshots, ReferenceOperation, Retention};
pub use sort_order::{SortTerm, UpdateSortOrder};
pub use statistics::{StatisticsOperation, UpdateStatistics};
pub use term::Term;
pub use update_schema::{SchemaOperation, UpdateSchema};
pub use update_spec::{SpecOperation, UpdateSpec};

use frazil_core::context::Context;
use frazil_core::error::{Error, ErrorKind, Result};
use frazil_core::storage::Files;
use serde::Deserialize;

use self::cherry_pick::CherryPick;
use self::create_branch::CreateBranch;
use crate::commit::attempts::{Change, Revision};
use crate::spec::table_metadata::TableMetadata;

/// A metadata-only change.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "update", rename_all = "snake_case")]
pub enum Evolution {
    /// A change of the schema.
    Schema(UpdateSchema),
    /// A change of the partition spec.
    Spec(UpdateSpec),
    /// A change of the sort order.
    SortOrder(UpdateSortOrder),
    /// A change of properties, location or format version.
    Properties(UpdateProperties),
    /// A change of branches and tags.
    Snapshots(ManageSnapshots),
    /// An expiry of snapshots, branches and tags.
    Expire(ExpireSnapshots),
    /// A change of the registered statistics files.
    Statistics(UpdateStatistics),
}

impl Evolution {
    /// Reads a change from its wire form.
    ///
    /// # Errors
    /// `InvalidArgument` for JSON that is not a change.
    pub fn from_json(text: &str) -> Result<Self> {
        serde_json::from_str(text).map_err(|e| Error::invalid(format!("invalid table change: {e}")))
    }
}

impl Evolution {
    /// Records which state the user knows, before the change is made on the latest one. A change that would undo
    /// commits the user has not seen is then rejected.
    ///
    /// # Errors
    /// `CommitConflict` if the change references a column that another writer replaced.
    pub fn decided_on(mut self, known: &TableMetadata, newest: &TableMetadata) -> Result<Self> {
        columns::check(&self, known, newest)?;
        if let Self::Snapshots(change) = &mut self {
            change.decided_on(known, newest);
        }
        Ok(self)
    }

    /// Converts this into changes, in order. A cherry-pick and a new branch may have to add files through `files`.
    pub fn into_changes(self, files: &Files) -> Vec<Box<dyn Change>> {
        let Self::Snapshots(mut all) = self else { return vec![Box::new(self)] };
        let mut changes: Vec<Box<dyn Change>> = Vec::new();
        let mut run = Vec::new();
        for operation in std::mem::take(&mut all.operations) {
            let (own, after): (Box<dyn Change>, _) = match operation {
                ReferenceOperation::CreateBranch { name, snapshot_id: None, retention } => {
                    let (branch, retained) = CreateBranch::new(files.clone(), name, retention);
                    (Box::new(branch), Some(retained))
                }
                operation => match CherryPick::new(files.clone(), &operation) {
                    None => {
                        run.push(operation);
                        continue;
                    }
                    Some(pick) => (Box::new(pick), None),
                },
            };
            if !run.is_empty() {
                changes.push(Box::new(Self::Snapshots(all.with_operations(std::mem::take(&mut run)))));
            }
            changes.push(own);
            run.extend(after);
        }
        if !run.is_empty() {
            changes.push(Box::new(Self::Snapshots(all.with_operations(run))));
        }
        changes
    }
}

impl Change for Evolution {
    fn revise(&mut self, base: Option<&TableMetadata>, _: u32, _: &Context) -> Result<Revision> {
        let base = base.ok_or_else(|| Error::new(ErrorKind::NoSuchTable, "the table no longer exists"))?;
        let updates = match self {
            Self::Schema(change) => change.updates(base),
            Self::Spec(change) => change.updates(base),
            Self::SortOrder(change) => change.updates(base),
            Self::Properties(change) => change.updates(base),
            Self::Snapshots(change) => change.updates(base),
            Self::Expire(change) => change.updates(base),
            Self::Statistics(change) => change.updates(base),
        };
        updates.map(Revision::Update)
    }

    fn clean(&mut self, _: Option<&TableMetadata>) {}

    fn writes_files(&self) -> bool {
        false
    }
}

fn yes() -> bool {
    true
}

/// Returns whether two names are equal, with or without regard to case.
fn same_name(a: &str, b: &str, case_sensitive: bool) -> bool {
    if case_sensitive { a == b } else { a.to_lowercase() == b.to_lowercase() }
}

#[cfg(test)]
mod tests;
