//! Expires snapshots, branches and tags (spec: "Snapshot Retention Policy"; Java: `RemoveSnapshots`).

use std::collections::{BTreeMap, BTreeSet, HashSet};

use frazil_core::error::{Error, Result};
use serde::Deserialize;

use crate::commit::update::TableUpdate;
use crate::properties;
use crate::spec::snapshot::{MAIN_BRANCH, RefKind, SnapshotRef};
use crate::spec::table_metadata::TableMetadata;

/// The criteria of an expiry, by age or by id.
///
/// Ages are those of the table's properties and of its branches and tags, unless `older_than_ms` or `retain_last`
/// override the properties. If only ids are given, nothing expires by age.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpireSnapshots {
    /// The time relative to which ages are measured, in milliseconds since the epoch.
    pub now_ms: i64,
    /// The time before which snapshots expire, in milliseconds since the epoch.
    pub older_than_ms: Option<i64>,
    /// The number of snapshots of a branch to keep regardless of age.
    pub retain_last: Option<u64>,
    /// The snapshots that expire regardless of age.
    #[serde(default)]
    pub snapshot_ids: Vec<i64>,
    /// The expiry that was planned on an earlier state. If set, only the snapshots, branches and tags in it can expire.
    pub planned: Option<Expired>,
}

/// The expired snapshots, branches and tags.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expired {
    /// The snapshots.
    pub snapshot_ids: BTreeSet<i64>,
    /// The branches and tags.
    pub refs: BTreeSet<String>,
}

impl ExpireSnapshots {
    pub(super) fn updates(&self, base: &TableMetadata) -> Result<Vec<TableUpdate>> {
        base.check_owns_files()
            .map_err(|e| e.hint("if no other table uses its files, set the property gc.enabled to true"))?;
        let Expired { snapshot_ids, refs } = self.expired(base)?;
        let mut updates: Vec<TableUpdate> = refs.into_iter().map(TableUpdate::RemoveRef).collect();
        if !snapshot_ids.is_empty() {
            updates.push(TableUpdate::RemoveSnapshots(snapshot_ids.into_iter().collect()));
        }
        Ok(updates)
    }

    /// Returns the snapshots, branches and tags that have expired in this state.
    ///
    /// # Errors
    /// `NoSuchSnapshot` for an id that the table does not have; `InvalidArgument` for the id of a snapshot that a
    /// branch or tag references. Neither is raised once the expiry is planned: such a snapshot stays.
    fn expired(&self, base: &TableMetadata) -> Result<Expired> {
        let by_age = self.snapshot_ids.is_empty() || self.older_than_ms.is_some() || self.retain_last.is_some();
        let refs = if by_age { self.expired_refs(base)? } else { BTreeSet::new() };
        let kept_refs: BTreeMap<&String, &SnapshotRef> =
            base.refs.iter().filter(|&(name, _)| !refs.contains(name)).collect();
        let heads: HashSet<i64> = kept_refs.values().map(|reference| reference.snapshot_id).collect();
        let mut snapshot_ids = if by_age { self.expired_by_age(base, &kept_refs)? } else { BTreeSet::new() };
        if self.planned.is_none() {
            self.check_ids(base, &kept_refs)?;
        }
        let known: HashSet<i64> = base.snapshots.iter().map(|snapshot| snapshot.snapshot_id).collect();
        snapshot_ids.extend(self.snapshot_ids.iter().filter(|&id| known.contains(id) && !heads.contains(id)));
        if let Some(planned) = &self.planned {
            snapshot_ids.retain(|id| planned.snapshot_ids.contains(id));
        }
        Ok(Expired { snapshot_ids, refs })
    }

    fn check_ids(&self, base: &TableMetadata, kept_refs: &BTreeMap<&String, &SnapshotRef>) -> Result<()> {
        for &id in &self.snapshot_ids {
            base.snapshot(id)?;
            if let Some((name, reference)) = kept_refs.iter().find(|(_, reference)| reference.snapshot_id == id) {
                let kind = if reference.kind == RefKind::Branch { "branch" } else { "tag" };
                let message = format!("snapshot {id} cannot expire: the {kind} `{name}` references it");
                return Err(
                    Error::invalid(message).hint("remove the branch or tag first, or point it to another snapshot")
                );
            }
        }
        Ok(())
    }

    /// Returns the branches and tags that are too old or reference a missing snapshot; never `main`.
    fn expired_refs(&self, base: &TableMetadata) -> Result<BTreeSet<String>> {
        let default_age = milliseconds(base.number(&properties::MAX_REF_AGE_MS)?);
        let is_expired = |reference: &SnapshotRef| {
            base.snapshot(reference.snapshot_id).ok().is_none_or(|snapshot| {
                let age = self.now_ms.saturating_sub(snapshot.timestamp_ms);
                age > reference.max_ref_age_ms.unwrap_or(default_age)
            })
        };
        let is_planned = |name: &String| self.planned.as_ref().is_none_or(|planned| planned.refs.contains(name));
        let found = base
            .refs
            .iter()
            .filter(|&(name, reference)| name != MAIN_BRANCH && is_planned(name) && is_expired(reference));
        Ok(found.map(|(name, _)| name.clone()).collect())
    }

    /// Returns the snapshots that are retained neither by a branch or tag nor by their age.
    fn expired_by_age(
        &self,
        base: &TableMetadata,
        kept_refs: &BTreeMap<&String, &SnapshotRef>,
    ) -> Result<BTreeSet<i64>> {
        let default_age = milliseconds(base.number(&properties::MAX_SNAPSHOT_AGE_MS)?);
        let cutoff_ms = self.older_than_ms.unwrap_or(self.now_ms.saturating_sub(default_age));
        let retain_last = self.retain_last.map_or_else(|| base.number(&properties::MIN_SNAPSHOTS_TO_KEEP), Ok)?;
        let (mut kept, mut referenced) = (HashSet::new(), HashSet::new());
        for reference in kept_refs.values() {
            kept.insert(reference.snapshot_id);
            referenced.insert(reference.snapshot_id);
            if reference.kind == RefKind::Tag {
                continue;
            }
            let cutoff_ms = reference.max_snapshot_age_ms.map_or(cutoff_ms, |age| self.now_ms.saturating_sub(age));
            let least = reference.min_snapshots_to_keep.map_or(retain_last, |count| u64::try_from(count).unwrap_or(0));
            let mut goes_on = true;
            for (before, snapshot) in (0_u64..).zip(base.ancestors(reference.snapshot_id)) {
                referenced.insert(snapshot.snapshot_id);
                // The first snapshot that is neither among the last ones nor recent enough ends the retained history of
                // the branch.
                goes_on = goes_on && (before < least || snapshot.timestamp_ms >= cutoff_ms);
                if goes_on {
                    kept.insert(snapshot.snapshot_id);
                }
            }
        }
        let is_expired =
            |id: i64, timestamp_ms: i64| !kept.contains(&id) && (referenced.contains(&id) || timestamp_ms < cutoff_ms);
        let found = base.snapshots.iter().filter(|one| is_expired(one.snapshot_id, one.timestamp_ms));
        Ok(found.map(|snapshot| snapshot.snapshot_id).collect())
    }
}

fn milliseconds(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
