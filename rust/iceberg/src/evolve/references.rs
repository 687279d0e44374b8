//! Changes branches and tags (spec: "Snapshot References"; Java: `SnapshotManager`).

use std::collections::BTreeMap;
use std::sync::Arc;

use frazil_core::error::{Error, ErrorKind, Result};
use serde::Deserialize;

use crate::commit::update::TableUpdate;
use crate::spec::snapshot::{MAIN_BRANCH, RefKind, Snapshot, SnapshotRef};
use crate::spec::table_metadata::TableMetadata;

/// A list of operations on branches and tags, applied in order.
///
/// Some operations move a reference away from its snapshot: replace, remove, rename, roll back and set. Such an
/// operation fails with `CommitConflict` if another writer moved the reference in the meantime, because it would undo a
/// commit that the user has not seen.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ManageSnapshots {
    /// The operations.
    pub operations: Vec<ReferenceOperation>,
    /// The history of each reference that is moved off its snapshot, latest first, as of the first attempt.
    #[serde(skip)]
    seen: BTreeMap<String, Vec<i64>>,
}

/// The retention settings of a reference; None means that the table's properties apply.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub struct Retention {
    /// The maximum age of the reference in milliseconds.
    pub max_ref_age_ms: Option<i64>,
    /// For branches: the maximum age of snapshots in milliseconds.
    pub max_snapshot_age_ms: Option<i64>,
    /// For branches: the minimum number of snapshots to keep.
    pub min_snapshots_to_keep: Option<i32>,
}

/// One operation on references. The default snapshot is the current one of `main`.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "operation", rename_all = "snake_case")]
#[expect(missing_docs, reason = "fields are named like the attributes of a reference")]
pub enum ReferenceOperation {
    /// Creates a branch.
    CreateBranch {
        name: String,
        snapshot_id: Option<i64>,
        #[serde(flatten)]
        retention: Retention,
    },
    /// Creates a tag.
    CreateTag {
        name: String,
        snapshot_id: Option<i64>,
        #[serde(flatten)]
        retention: Retention,
    },
    /// Points a branch to any other snapshot. Retention settings that are not given stay unchanged.
    ReplaceBranch {
        name: String,
        snapshot_id: i64,
        #[serde(flatten)]
        retention: Retention,
    },
    /// Points a tag to another snapshot. Retention settings that are not given stay unchanged.
    ReplaceTag {
        name: String,
        snapshot_id: i64,
        #[serde(flatten)]
        retention: Retention,
    },
    /// Removes a branch; its snapshots stay until they expire.
    RemoveBranch { name: String },
    /// Removes a tag.
    RemoveTag { name: String },
    /// Renames a branch.
    RenameBranch { name: String, new_name: String },
    /// Sets the retention of a branch or a tag. Settings that are not given stay unchanged.
    SetRetention {
        name: String,
        #[serde(flatten)]
        retention: Retention,
    },
    /// Rolls back to an ancestor of the current snapshot.
    RollbackToSnapshot { snapshot_id: i64 },
    /// Rolls back to the latest ancestor of the current snapshot that is older than this time, in milliseconds since
    /// the epoch.
    RollbackToTimestamp { timestamp_ms: i64 },
    /// Makes any snapshot current.
    SetCurrentSnapshot { snapshot_id: i64 },
    /// Makes the snapshot of a branch or a tag current.
    SetCurrentReference { name: String },
    /// Moves a branch to the snapshot of another reference, whose ancestor it must be. Creates the branch if it does
    /// not exist.
    FastForward { name: String, to: String },
    /// Makes a staged snapshot current.
    CherryPick { snapshot_id: i64 },
    /// Makes the snapshot that was staged under this `wap.id` current.
    PublishChanges { wap_id: String },
}

impl ManageSnapshots {
    /// Creates a change with these operations.
    pub fn new(operations: Vec<ReferenceOperation>) -> Self {
        Self { operations, seen: BTreeMap::new() }
    }

    /// Records the previous positions of references that moved between the state that the user knows and the latest
    /// one.
    pub(super) fn decided_on(&mut self, known: &TableMetadata, newest: &TableMetadata) {
        let head = |name: &String| newest.refs.get(name).map(|reference| reference.snapshot_id);
        let moved = known.refs.iter().filter(|&(name, reference)| head(name) != Some(reference.snapshot_id));
        let history = |id| known.ancestors(id).map(|snapshot| snapshot.snapshot_id).collect();
        self.seen = moved.map(|(name, reference)| (name.clone(), history(reference.snapshot_id))).collect();
    }

    /// Checks that a table has no branch or tag with this name.
    pub(super) fn check_new(name: &str, base: &TableMetadata) -> Result<()> {
        check_new(name, &base.refs)
    }

    /// Returns the same change with only these operations.
    pub(super) fn with_operations(&self, operations: Vec<ReferenceOperation>) -> Self {
        Self { operations, seen: self.seen.clone() }
    }

    pub(super) fn updates(&mut self, base: &TableMetadata) -> Result<Vec<TableUpdate>> {
        let mut draft = ReferencesDraft { base, seen: &mut self.seen, refs: base.refs.clone() };
        self.operations.iter().try_for_each(|operation| draft.apply(operation))?;
        let removed = base.refs.keys().filter(|&name| !draft.refs.contains_key(name));
        let mut updates: Vec<TableUpdate> = removed.map(|name| TableUpdate::RemoveRef(name.clone())).collect();
        let changed = draft.refs.into_iter().filter(|(name, reference)| base.refs.get(name) != Some(reference));
        updates.extend(changed.map(|(name, reference)| TableUpdate::SetRef(name, reference)));
        Ok(updates)
    }
}

struct ReferencesDraft<'a> {
    base: &'a TableMetadata,
    seen: &'a mut BTreeMap<String, Vec<i64>>,
    refs: BTreeMap<String, SnapshotRef>,
}

impl ReferencesDraft<'_> {
    fn apply(&mut self, operation: &ReferenceOperation) -> Result<()> {
        use ReferenceOperation as O;
        match operation {
            O::CreateBranch { name, snapshot_id, retention } => {
                self.create(name, RefKind::Branch, *snapshot_id, *retention)
            }
            O::CreateTag { name, snapshot_id, retention } => self.create(name, RefKind::Tag, *snapshot_id, *retention),
            O::ReplaceBranch { name, snapshot_id, retention } => {
                self.replace(name, RefKind::Branch, *snapshot_id, *retention)
            }
            O::ReplaceTag { name, snapshot_id, retention } => {
                self.replace(name, RefKind::Tag, *snapshot_id, *retention)
            }
            O::RemoveBranch { name } => self.remove(name, RefKind::Branch).map(drop),
            O::RemoveTag { name } => self.remove(name, RefKind::Tag).map(drop),
            O::RenameBranch { name, new_name } => {
                self.check_new(new_name)?;
                let reference = self.remove(name, RefKind::Branch)?;
                self.refs.insert(new_name.clone(), reference);
                Ok(())
            }
            O::SetRetention { name, retention } => {
                let reference = self.reference(name)?.clone();
                self.refs.insert(name.clone(), kept(&reference, *retention)?);
                Ok(())
            }
            O::RollbackToSnapshot { snapshot_id } => {
                self.base.snapshot(*snapshot_id)?;
                if !self.is_ancestor(*snapshot_id, self.current()?) {
                    let message = format!("snapshot {snapshot_id} is not an ancestor of the current snapshot");
                    return Err(Error::invalid(message).hint("set_current_snapshot accepts any snapshot"));
                }
                self.set_current(*snapshot_id)
            }
            O::RollbackToTimestamp { timestamp_ms } => {
                let mut ancestors = self.base.ancestors(self.current()?);
                let found = ancestors.find(|snapshot| snapshot.timestamp_ms < *timestamp_ms);
                let id = found.map(|snapshot| snapshot.snapshot_id).ok_or_else(|| {
                    let message = format!("no ancestor of the current snapshot is older than {timestamp_ms} ms");
                    Error::new(ErrorKind::NoSuchSnapshot, message)
                })?;
                self.set_current(id)
            }
            O::SetCurrentSnapshot { snapshot_id } => self.set_current(*snapshot_id),
            O::SetCurrentReference { name } => {
                let id = self.reference(name)?.snapshot_id;
                self.set_current(id)
            }
            O::FastForward { name, to } => self.fast_forward(name, to),
            O::CherryPick { snapshot_id } => self.cherry_pick(self.base.snapshot(*snapshot_id)?),
            O::PublishChanges { wap_id } => self.cherry_pick(staged_as(self.base, wap_id)?),
        }
    }

    fn create(&mut self, name: &str, kind: RefKind, snapshot_id: Option<i64>, retention: Retention) -> Result<()> {
        self.check_new(name)?;
        let snapshot_id = snapshot_id.map_or_else(|| self.current(), Ok)?;
        self.base.snapshot(snapshot_id)?;
        if name == MAIN_BRANCH && kind == RefKind::Tag {
            return Err(Error::invalid("`main` must be a branch and cannot be a tag"));
        }
        let reference = SnapshotRef { kind, ..SnapshotRef::branch(snapshot_id) };
        self.refs.insert(name.to_string(), kept(&reference, retention)?);
        Ok(())
    }

    fn replace(&mut self, name: &str, kind: RefKind, snapshot_id: i64, retention: Retention) -> Result<()> {
        let reference = self.reference_of(name, kind)?.clone();
        self.base.snapshot(snapshot_id)?;
        self.check_unmoved(name)?;
        self.refs.insert(name.to_string(), kept(&SnapshotRef { snapshot_id, ..reference }, retention)?);
        Ok(())
    }

    fn remove(&mut self, name: &str, kind: RefKind) -> Result<SnapshotRef> {
        self.reference_of(name, kind)?;
        if name == MAIN_BRANCH {
            return Err(Error::invalid("the branch `main` cannot be removed or renamed"));
        }
        self.check_unmoved(name)?;
        self.refs.remove(name).ok_or_else(|| Error::internal("a reference is missing"))
    }

    fn fast_forward(&mut self, name: &str, to: &str) -> Result<()> {
        let target = self.reference(to)?.snapshot_id;
        let Some(branch) = self.refs.get(name) else {
            return self.create(name, RefKind::Branch, Some(target), Retention::default());
        };
        if branch.kind == RefKind::Tag {
            return Err(Error::invalid(format!("`{name}` is a tag and cannot be fast-forwarded")));
        }
        if !self.is_ancestor(branch.snapshot_id, target) {
            let message = format!("`{name}` cannot be fast-forwarded: it is not an ancestor of `{to}`");
            return Err(Error::invalid(message).hint("replace_branch can move it to any snapshot"));
        }
        let reference = SnapshotRef { snapshot_id: target, ..branch.clone() };
        self.refs.insert(name.to_string(), reference);
        Ok(())
    }

    fn cherry_pick(&mut self, picked: &Snapshot) -> Result<()> {
        match Pick::of(picked, self.refs.get(MAIN_BRANCH).map(|main| main.snapshot_id), self.base)? {
            Pick::Move => self.move_main(picked.snapshot_id),
            Pick::Append | Pick::Replace => {
                return Err(Error::internal("a cherry-pick that writes files must be a separate change"));
            }
        }
        Ok(())
    }

    fn set_current(&mut self, snapshot_id: i64) -> Result<()> {
        self.base.snapshot(snapshot_id)?;
        self.check_unmoved(MAIN_BRANCH)?;
        self.move_main(snapshot_id);
        Ok(())
    }

    fn move_main(&mut self, snapshot_id: i64) {
        let main = self.refs.remove(MAIN_BRANCH).unwrap_or_else(|| SnapshotRef::branch(snapshot_id));
        self.refs.insert(MAIN_BRANCH.to_string(), SnapshotRef { snapshot_id, ..main });
    }

    /// Returns the current snapshot of `main`.
    fn current(&self) -> Result<i64> {
        let main = self.refs.get(MAIN_BRANCH).map(|main| main.snapshot_id);
        main.ok_or_else(|| Error::new(ErrorKind::NoSuchSnapshot, "the table has no snapshot yet"))
    }

    fn reference(&self, name: &str) -> Result<&SnapshotRef> {
        match self.refs.get(name) {
            Some(reference) => Ok(reference),
            None => match self.base.snapshot_by_ref(name) {
                Err(error) => Err(error),
                Ok(_) => Err(Error::new(ErrorKind::NoSuchSnapshot, format!("`{name}` was removed by this update"))),
            },
        }
    }

    fn reference_of(&self, name: &str, kind: RefKind) -> Result<&SnapshotRef> {
        let reference = self.reference(name)?;
        if reference.kind == kind {
            return Ok(reference);
        }
        let (is, not) = match kind {
            RefKind::Branch => ("a tag", "a branch"),
            RefKind::Tag => ("a branch", "a tag"),
        };
        Err(Error::invalid(format!("`{name}` is {is}, not {not}")))
    }

    fn check_new(&self, name: &str) -> Result<()> {
        check_new(name, &self.refs)
    }

    /// Rejects the operation if another writer moved the reference after the user decided on it. The latest snapshot
    /// may belong to the same transaction; on a retry, snapshots of other writers come before it.
    fn check_unmoved(&mut self, name: &str) -> Result<()> {
        let head = self.base.refs.get(name).map(|reference| reference.snapshot_id);
        let history = head.into_iter().flat_map(|head| self.base.ancestors(head));
        let now: Vec<i64> = history.map(|snapshot| snapshot.snapshot_id).collect();
        let seen = self.seen.entry(name.to_string()).or_insert_with(|| now.clone());
        // A snapshot at the end of the history may have expired in the meantime.
        if now.first() == seen.first() && seen.starts_with(&now) {
            return Ok(());
        }
        Err(Error::new(ErrorKind::CommitConflict, format!("another writer moved `{name}` in the meantime"))
            .hint("load the table again and check the new snapshots before you retry"))
    }

    fn is_ancestor(&self, id: i64, of: i64) -> bool {
        self.base.ancestors(of).any(|snapshot| snapshot.snapshot_id == id)
    }
}

/// How a staged snapshot is made current (Java: `CherryPickOperation`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pick {
    /// `main` is moved to it.
    Move,
    /// `main` has moved since it was staged; its files are added again.
    Append,
    /// `main` has moved and the snapshot replaced partitions; its files are added and the replaced ones removed again.
    Replace,
}

impl Pick {
    /// Returns how the snapshot is made current when `main` references `current`.
    ///
    /// # Errors
    /// `CommitValidation` for a snapshot that is already current or cannot be picked.
    pub(super) fn of(picked: &Snapshot, current: Option<i64>, base: &TableMetadata) -> Result<Self> {
        let id = picked.snapshot_id;
        let refused = |why| Err(not_picked(id, why));
        let wap_id = picked.summary.value("wap.id");
        for ancestor in current.into_iter().flat_map(|current| base.ancestors(current)) {
            if ancestor.snapshot_id == id {
                return refused("it is already an ancestor of the current snapshot");
            }
            if ancestor.summary.count("source-snapshot-id") == Some(id) {
                return refused("it was already picked");
            }
            let published = [ancestor.summary.value("wap.id"), ancestor.summary.value("published-wap-id")];
            if wap_id.is_some() && published.contains(&wap_id) {
                return refused("changes with its wap.id were already published");
            }
        }
        if picked.parent_snapshot_id == current {
            return Ok(Self::Move);
        }
        let replaces = picked.summary.value("replace-partitions").is_some_and(|text| text.eq_ignore_ascii_case("true"));
        match picked.operation() {
            Some("append") => Ok(Self::Append),
            Some("overwrite") if replaces => Ok(Self::Replace),
            _ => refused("it is not an append or a dynamic overwrite, and is not based on the current snapshot"),
        }
    }
}

/// Returns the error for a staged snapshot that cannot be made current.
pub(super) fn not_picked(snapshot_id: i64, why: &str) -> Error {
    Error::new(ErrorKind::CommitValidation, format!("snapshot {snapshot_id} cannot be cherry-picked: {why}"))
}

/// Returns the latest snapshot that was staged under a `wap.id`.
pub(super) fn staged_as<'a>(base: &'a TableMetadata, wap_id: &str) -> Result<&'a Arc<Snapshot>> {
    let found = base.snapshots.iter().rev().find(|snapshot| snapshot.summary.value("wap.id") == Some(wap_id));
    found.ok_or_else(|| {
        Error::new(ErrorKind::NoSuchSnapshot, format!("no snapshot was staged under the wap.id `{wap_id}`"))
    })
}

fn check_new(name: &str, refs: &BTreeMap<String, SnapshotRef>) -> Result<()> {
    if name.is_empty() {
        return Err(Error::invalid("the name of a branch or a tag cannot be empty"));
    }
    if refs.contains_key(name) {
        let message = format!("a branch or tag `{name}` already exists");
        return Err(Error::new(ErrorKind::AlreadyExists, message).hint("replace it, or choose another name"));
    }
    Ok(())
}

/// Returns a copy of `reference` with the retention settings that `retention` specifies; other settings are kept.
fn kept(reference: &SnapshotRef, retention: Retention) -> Result<SnapshotRef> {
    let Retention { max_ref_age_ms, max_snapshot_age_ms, min_snapshots_to_keep } = retention;
    let numbers = [max_ref_age_ms, max_snapshot_age_ms, min_snapshots_to_keep.map(i64::from)];
    if numbers.into_iter().flatten().any(|number| number <= 0) {
        return Err(Error::invalid("retention settings must be at least 1"));
    }
    if reference.kind == RefKind::Tag && (max_snapshot_age_ms.is_some() || min_snapshots_to_keep.is_some()) {
        return Err(Error::invalid("a tag references one snapshot: only max_ref_age_ms applies to it"));
    }
    Ok(SnapshotRef {
        max_ref_age_ms: max_ref_age_ms.or(reference.max_ref_age_ms),
        max_snapshot_age_ms: max_snapshot_age_ms.or(reference.max_snapshot_age_ms),
        min_snapshots_to_keep: min_snapshots_to_keep.or(reference.min_snapshots_to_keep),
        ..*reference
    })
}
