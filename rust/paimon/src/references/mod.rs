//! Creates, replaces, renames and deletes tags, branches and consumers (documentation: "Manage Tags", "Manage Branches").
//!
//! A tag is a copy of a snapshot file, which keeps the snapshot's files after the snapshot expires. A branch is a folder
//! with copies of schemas, a snapshot and a tag. Operations of one change are applied in order, each as soon as the
//! previous one is complete: there is no transaction over several files.

mod branches;
mod consumers;
mod tags;

use frazil_core::context::Context;
use frazil_core::error::{Error, Result};
use serde::Deserialize;

use crate::table::Table;

/// A list of operations on tags, branches and consumers.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ManageReferences {
    /// The operations, in order.
    pub operations: Vec<ReferenceChange>,
}

/// An operation on a tag, a branch or a consumer.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "operation", rename_all = "snake_case", deny_unknown_fields)]
#[expect(missing_docs, reason = "fields are named like the arguments of the user")]
pub enum ReferenceChange {
    /// Creates a tag of a snapshot; None for the latest one.
    CreateTag { name: String, snapshot_id: Option<i64>, time_retained: Option<String> },
    /// Makes an existing tag one of another snapshot; None for the latest one.
    ReplaceTag { name: String, snapshot_id: Option<i64>, time_retained: Option<String> },
    /// Deletes a tag, and the files that only the tag kept.
    DeleteTag { name: String },
    /// Renames a tag.
    RenameTag { name: String, new_name: String },
    /// Creates a branch at a tag; an empty one for None.
    CreateBranch { name: String, tag: Option<String> },
    /// Deletes a branch, and the files that only the branch kept.
    DeleteBranch { name: String },
    /// Renames a branch.
    RenameBranch { name: String, new_name: String },
    /// Replaces the states of the main branch by those of a branch.
    FastForward { name: String },
    /// Sets the first snapshot that a consumer has not read.
    SetConsumer { name: String, next_snapshot: i64 },
    /// Deletes a consumer.
    DeleteConsumer { name: String },
}

impl ManageReferences {
    /// Reads a change from its wire form.
    ///
    /// # Errors
    /// `InvalidArgument` for JSON that is not a change.
    pub fn from_json(text: &str) -> Result<Self> {
        serde_json::from_str(text).map_err(|e| Error::invalid(format!("invalid change of tags and branches: {e}")))
    }

    /// Applies the operations. `local_us` is the time of the wall clock, in microseconds, which tags record.
    ///
    /// # Errors
    /// `InvalidArgument` for an invalid name, and for a new name that exists; `NoSuchSnapshot` for a missing snapshot,
    /// tag or branch; `CommitConflict` if a snapshot expires while a tag is created.
    pub fn apply(&self, table: &Table, local_us: i64, context: &Context) -> Result<()> {
        use ReferenceChange as R;
        self.operations.iter().try_for_each(|operation| match operation {
            R::CreateTag { name, snapshot_id, time_retained } => {
                table.create_tag(name, *snapshot_id, time_retained.as_deref(), local_us)
            }
            R::ReplaceTag { name, snapshot_id, time_retained } => {
                table.replace_tag(name, *snapshot_id, time_retained.as_deref(), local_us, context)
            }
            R::DeleteTag { name } => table.delete_tag(name, context),
            R::RenameTag { name, new_name } => table.rename_tag(name, new_name),
            R::CreateBranch { name, tag } => table.create_branch(name, tag.as_deref()),
            R::DeleteBranch { name } => table.delete_branch(name, context),
            R::RenameBranch { name, new_name } => table.rename_branch(name, new_name),
            R::FastForward { name } => table.fast_forward(name, context),
            R::SetConsumer { name, next_snapshot } => table.set_consumer(name, *next_snapshot),
            R::DeleteConsumer { name } => table.delete_consumer(name),
        })
    }
}

/// Checks the name of a new tag or branch. A number would be read as a snapshot.
fn check_new_name(what: &str, name: &str) -> Result<()> {
    crate::table::check_name(what, name)?;
    if name.chars().all(|digit| digit.is_ascii_digit()) {
        let message = format!("a {what} cannot have the name `{name}`, because numbers are the names of snapshots");
        return Err(Error::invalid(message).hint(format!("write `v{name}`, for example")));
    }
    if name.chars().any(char::is_control) {
        return Err(Error::invalid(format!("the name of a {what} contains a control character")));
    }
    Ok(())
}

fn exists(what: &str, name: &str, hint: &str) -> Error {
    Error::invalid(format!("the {what} `{name}` already exists")).hint(hint)
}
