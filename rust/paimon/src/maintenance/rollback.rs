//! Rolls a branch back to an earlier state (Java's `RollbackHelper`): newer snapshots and tags are deleted, and the files
//! that only they reference.

use frazil_core::context::Context;
use frazil_core::error::{Error, ErrorKind, Result};

use super::reach::References;
use crate::spec::manifest::ADD;
use crate::spec::options::Options;
use crate::spec::snapshot::Snapshot;
use crate::table::{SnapshotChoice, Table};

/// What is deleted by going back to a state.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rollback {
    /// The deleted snapshots, newest first.
    pub snapshot_ids: Vec<i64>,
    /// The deleted tags.
    pub tags: Vec<String>,
}

/// Returns the snapshot to go back to.
///
/// # Errors
/// `NoSuchSnapshot` naming the snapshots or tags that exist; `InvalidArgument` for a table without snapshots.
pub fn target(table: &Table, choice: &SnapshotChoice) -> Result<Snapshot> {
    let found = table.choose(choice, &Options::default())?;
    found.ok_or_else(|| Error::invalid("the table has no snapshot to go back to"))
}

/// Returns what going back to a snapshot deletes.
///
/// # Errors
/// The errors of the storage.
pub fn plan(table: &Table, target: &Snapshot) -> Result<Rollback> {
    let mut snapshot_ids = table.snapshot_ids()?;
    snapshot_ids.retain(|id| *id > target.id);
    snapshot_ids.reverse();
    let newer = table.tags()?.into_iter().filter(|(_, tag)| tag.id > target.id);
    Ok(Rollback { snapshot_ids, tags: newer.map(|(name, _)| name).collect() })
}

/// Goes back to a snapshot, which is created again if only a tag has kept it.
///
/// # Errors
/// The errors of reading metadata of the deleted states; then nothing is deleted.
pub fn apply(table: &Table, target: &Snapshot, context: &Context) -> Result<Rollback> {
    let planned = plan(table, target)?;
    let mut gone = References::new();
    let mut before = target.id;
    for id in planned.snapshot_ids.iter().rev() {
        context.check()?;
        let snapshot = table.snapshot(*id)?;
        let [_, delta] = table.find_metadata(&snapshot, &mut gone, context)?;
        if *id == before + 1 {
            table.find_changed(&delta, ADD, &mut gone, context)?;
        } else {
            // Snapshots between a tag and the earliest snapshot have expired.
            table.find_live(&snapshot, &mut gone, context)?;
        }
        before = *id;
        table.find_changelog(&snapshot, &mut gone, context)?;
    }
    for name in &planned.tags {
        context.check()?;
        table.find_files(&table.tag(name)?, &mut gone, context)?;
    }
    let mut changelogs = table.changelog_ids()?;
    changelogs.retain(|id| *id > target.id);
    for id in &changelogs {
        context.check()?;
        table.find_changelog_without_snapshot(&table.changelog(*id)?, &mut gone, context)?;
    }
    let files = table.files();
    let has_target = match table.snapshot(target.id) {
        Err(error) if error.kind() == ErrorKind::NoSuchSnapshot => false,
        found => found.map(|_| true)?,
    };
    let hint = |name: &str| files.put(&format!("{}/{name}", table.snapshot_folder()), target.id.to_string().into());
    if !has_target {
        files.put(&table.snapshot_location(target.id), target.to_json().into())?;
        let _ = hint("EARLIEST");
    }
    for id in &planned.snapshot_ids {
        files.delete(&table.snapshot_location(*id))?;
    }
    for name in &planned.tags {
        files.delete(&table.tag_location(name))?;
    }
    let _ = hint("LATEST");
    for id in changelogs.iter().rev() {
        files.delete(&table.changelog_location(*id))?;
    }
    if !changelogs.is_empty() {
        // Without hints, readers list the folder.
        table.changelog_hints().iter().try_for_each(|hint| files.delete(hint))?;
    }
    table.delete_unreferenced(gone, context)?;
    Ok(planned)
}
