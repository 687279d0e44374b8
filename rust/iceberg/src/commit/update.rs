//! Defines changes of table metadata (REST specification, "TableUpdate") and applies each to a given state.
//!
//! A transaction is a list of updates together with their [requirements](super::requirement). Both can be applied again
//! to newer metadata when another writer was first.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use frazil_core::error::{Error, ErrorKind, Result};

use crate::properties;
use crate::spec::partition::PartitionSpec;
use crate::spec::schema::Schema;
use crate::spec::snapshot::{MAIN_BRANCH, RefKind, Snapshot, SnapshotRef};
use crate::spec::sort::SortOrder;
use crate::spec::table_metadata::{
    MetadataLogEntry, PartitionStatisticsFile, SnapshotLogEntry, StatisticsFile, TableMetadata,
};
use crate::validation::check;

/// The maximum difference between the clocks of writers. A snapshot that is older than the last one by more than this
/// is refused.
const MAX_CLOCK_SKEW_MS: i64 = 60_000;

/// The highest format version that is written.
const NEWEST_VERSION: u8 = 3;

/// A placeholder for the id of the schema, spec or sort order that was added last.
pub const LAST_ADDED: i32 = -1;

/// One change to a table's metadata.
#[derive(Debug, Clone)]
pub enum TableUpdate {
    /// Assigns the table's id, which never changes.
    AssignUuid(String),
    /// Upgrades the format version to 2 or 3; downgrades are not possible.
    UpgradeFormatVersion(u8),
    /// Adds a schema. Its id is reassigned: the id of an equal schema, or the next free one.
    AddSchema(Schema),
    /// Sets the current schema by id, or to [`LAST_ADDED`].
    SetCurrentSchema(i32),
    /// Adds a partition spec. Its id is reassigned: the id of an equal spec, or the next free one.
    AddSpec(PartitionSpec),
    /// Sets the default partition spec by id, or to [`LAST_ADDED`].
    SetDefaultSpec(i32),
    /// Adds a sort order. Its id is reassigned: the id of an equal order, 0 for an unsorted order, or the next free
    /// one.
    AddSortOrder(SortOrder),
    /// Sets the default sort order by id, or to [`LAST_ADDED`].
    SetDefaultSortOrder(i32),
    /// Adds a snapshot that no branch or tag references yet.
    AddSnapshot(Snapshot),
    /// Creates a branch or a tag, or points it to another snapshot.
    SetRef(String, SnapshotRef),
    /// Removes a branch or a tag.
    RemoveRef(String),
    /// Removes snapshots, with their statistics and the branches and tags that reference them.
    RemoveSnapshots(Vec<i64>),
    /// Sets the location of new files.
    SetLocation(String),
    /// Sets properties and leaves other properties unchanged.
    SetProperties(BTreeMap<String, String>),
    /// Removes properties.
    RemoveProperties(Vec<String>),
    /// Sets the statistics of a snapshot.
    SetStatistics(StatisticsFile),
    /// Removes the statistics of a snapshot.
    RemoveStatistics(i64),
    /// Sets the partition statistics of a snapshot.
    SetPartitionStatistics(PartitionStatisticsFile),
    /// Removes the partition statistics of a snapshot.
    RemovePartitionStatistics(i64),
}

/// A builder of a new table state.
#[derive(Debug, Clone)]
pub struct MetadataBuilder {
    metadata: TableMetadata,
    now_ms: i64,
    last_added_schema: Option<i32>,
    last_added_spec: Option<i32>,
    last_added_order: Option<i32>,
    /// The snapshots that this change added.
    added_snapshots: HashSet<i64>,
    has_new_schema: bool,
    changed: bool,
    /// The updates that had an effect.
    effective: Vec<TableUpdate>,
}

impl MetadataBuilder {
    /// Creates a builder that starts from `metadata`; `now_ms` is the time at which the new state is written
    /// (milliseconds since the epoch).
    pub fn new(metadata: TableMetadata, now_ms: i64) -> Self {
        Self {
            metadata,
            now_ms,
            last_added_schema: None,
            last_added_spec: None,
            last_added_order: None,
            added_snapshots: HashSet::new(),
            has_new_schema: false,
            changed: false,
            effective: Vec::new(),
        }
    }

    /// Returns the state so far, which must not be written: only [`MetadataBuilder::build`] sets its time and its
    /// metadata log.
    ///
    /// # Errors
    /// See [`MetadataBuilder::build`].
    pub fn into_metadata(self) -> Result<TableMetadata> {
        self.check()?;
        Ok(self.metadata)
    }

    /// Returns whether an update changed anything.
    pub fn is_changed(&self) -> bool {
        self.changed
    }

    /// Applies an update.
    ///
    /// # Errors
    /// `InvalidArgument` if the update contradicts the metadata; `Unsupported` if the format version lacks the feature;
    /// `CommitValidation` for a snapshot that cannot follow the current one.
    pub fn apply(&mut self, update: TableUpdate) -> Result<()> {
        self.changed = true;
        let effective = match update {
            TableUpdate::AssignUuid(uuid) => self.assign_uuid(uuid)?,
            TableUpdate::UpgradeFormatVersion(version) => self.upgrade(version)?,
            TableUpdate::AddSchema(schema) => self.add_schema(schema)?,
            TableUpdate::SetCurrentSchema(id) => self.set_current_schema(id)?,
            TableUpdate::AddSpec(spec) => self.add_spec(spec)?,
            TableUpdate::SetDefaultSpec(id) => self.set_default_spec(id)?,
            TableUpdate::AddSortOrder(order) => self.add_sort_order(order)?,
            TableUpdate::SetDefaultSortOrder(id) => self.set_default_sort_order(id)?,
            TableUpdate::AddSnapshot(snapshot) => {
                self.add_snapshot(snapshot.clone())?;
                Some(TableUpdate::AddSnapshot(snapshot))
            }
            TableUpdate::SetRef(name, reference) => self.set_ref(name, reference)?,
            TableUpdate::RemoveRef(name) => {
                self.remove_ref(&name)?;
                Some(TableUpdate::RemoveRef(name))
            }
            TableUpdate::RemoveSnapshots(ids) => {
                self.remove_snapshots(&ids)?;
                Some(TableUpdate::RemoveSnapshots(ids))
            }
            TableUpdate::SetLocation(location) => self.set_location(&location)?,
            TableUpdate::SetProperties(properties) => self.set_properties(properties),
            TableUpdate::RemoveProperties(keys) => self.remove_properties(keys),
            of_statistics => Some(self.set_statistics(of_statistics)),
        };
        self.effective.extend(effective);
        Ok(())
    }

    /// Returns the updates that had an effect, with the assigned ids. Applied to the same metadata they have the same
    /// effect, even on a server that refuses [`LAST_ADDED`] for a schema, spec or sort order that the table already
    /// had.
    pub fn effective(&self) -> &[TableUpdate] {
        &self.effective
    }

    fn set_properties(&mut self, mut properties: BTreeMap<String, String>) -> Option<TableUpdate> {
        properties.retain(|key, value| self.metadata.properties.get(key) != Some(value));
        self.metadata.properties.extend(properties.clone());
        (!properties.is_empty()).then_some(TableUpdate::SetProperties(properties))
    }

    fn remove_properties(&mut self, mut keys: Vec<String>) -> Option<TableUpdate> {
        keys.retain(|key| self.metadata.properties.remove(key).is_some());
        (!keys.is_empty()).then_some(TableUpdate::RemoveProperties(keys))
    }

    fn set_statistics(&mut self, update: TableUpdate) -> TableUpdate {
        let metadata = &mut self.metadata;
        match &update {
            TableUpdate::SetStatistics(file) => {
                metadata.statistics.retain(|known| known.snapshot_id != file.snapshot_id);
                metadata.statistics.push(file.clone());
            }
            TableUpdate::RemoveStatistics(id) => metadata.statistics.retain(|known| known.snapshot_id != *id),
            TableUpdate::SetPartitionStatistics(file) => {
                metadata.partition_statistics.retain(|known| known.snapshot_id != file.snapshot_id);
                metadata.partition_statistics.push(file.clone());
            }
            TableUpdate::RemovePartitionStatistics(id) => {
                metadata.partition_statistics.retain(|known| known.snapshot_id != *id);
            }
            _ => {}
        }
        update
    }

    /// Returns the new state, whose log references `previous`, the metadata file of the previous state. Also returns
    /// the log entries that were dropped because there are more than `write.metadata.previous-versions-max`.
    ///
    /// # Errors
    /// `InvalidArgument` if rows cannot be partitioned: a source column of the default spec was dropped or has another
    /// type.
    pub fn build(mut self, previous: Option<MetadataLogEntry>) -> Result<(TableMetadata, Vec<MetadataLogEntry>)> {
        self.check()?;
        let metadata = &mut self.metadata;
        // Neither Java nor this crate accepts a timestamp that goes backwards, but clocks do go backwards.
        metadata.last_updated_ms = self.now_ms.max(metadata.last_updated_ms);
        let kept = previous_versions_max(metadata)?;
        metadata.metadata_log.extend(previous);
        let dropped = metadata.metadata_log.len().saturating_sub(kept);
        let dropped = metadata.metadata_log.drain(..dropped).collect();
        Ok((self.metadata, dropped))
    }

    /// Checks that the default spec fits a new current schema. Updates may set them one after the other, so this runs
    /// at the end.
    fn check(&self) -> Result<()> {
        if !self.has_new_schema {
            return Ok(());
        }
        let metadata = &self.metadata;
        check::spec(metadata.default_spec()?, metadata.current_schema()?, &metadata.partition_specs)
    }

    /// Returns the id in the last effective update for which `id` returns one; None if no update does.
    fn last_added(&self, id: impl Fn(&TableUpdate) -> Option<i32>) -> Option<i32> {
        self.effective.iter().rev().find_map(id)
    }

    fn assign_uuid(&mut self, uuid: String) -> Result<Option<TableUpdate>> {
        match &self.metadata.table_uuid {
            Some(own) if !own.eq_ignore_ascii_case(&uuid) => {
                Err(Error::invalid(format!("the table already has the id {own}, which cannot change")))
            }
            Some(_) => Ok(None),
            None => {
                self.metadata.table_uuid = Some(uuid.clone());
                Ok(Some(TableUpdate::AssignUuid(uuid)))
            }
        }
    }

    fn upgrade(&mut self, version: u8) -> Result<Option<TableUpdate>> {
        let current = self.metadata.format_version;
        if version < current {
            let message = format!("a table of format version {current} cannot be downgraded to version {version}");
            return Err(Error::invalid(message));
        }
        if version > NEWEST_VERSION {
            return Err(unsupported_version(version));
        }
        if version >= 3 && current < 3 {
            self.metadata.next_row_id = Some(0);
        }
        self.metadata.format_version = version;
        Ok((version > current).then_some(TableUpdate::UpgradeFormatVersion(version)))
    }

    fn add_schema(&mut self, mut schema: Schema) -> Result<Option<TableUpdate>> {
        check::schema(&schema, self.metadata.format_version)?;
        let properties = &self.metadata.properties;
        // If another writer has already nested columns beyond the limit, changes of other columns are still allowed.
        if self.metadata.current_schema().is_ok_and(|current| check::depth(current, properties).is_ok()) {
            check::depth(&schema, properties)?;
        }
        let equal =
            self.metadata.schemas.iter().find(|known| {
                known.fields == schema.fields && known.identifier_field_ids == schema.identifier_field_ids
            });
        if let Some(equal) = equal {
            self.last_added_schema = Some(equal.schema_id);
            return Ok(None);
        }
        schema.schema_id = next_id(self.metadata.schemas.iter().map(|known| known.schema_id), 0)?;
        self.metadata.last_column_id = self.metadata.last_column_id.max(schema.max_field_id());
        self.last_added_schema = Some(schema.schema_id);
        self.metadata.schemas.push(Arc::new(schema.clone()));
        Ok(Some(TableUpdate::AddSchema(schema)))
    }

    fn set_current_schema(&mut self, id: i32) -> Result<Option<TableUpdate>> {
        let id = chosen(id, self.last_added_schema, "schema")?;
        let is_added_last = self.last_added(|update| match update {
            TableUpdate::AddSchema(schema) => Some(schema.schema_id),
            _ => None,
        }) == Some(id);
        self.metadata.schema(id).map_err(|e| no_longer_there(&e))?;
        let is_changed = std::mem::replace(&mut self.metadata.current_schema_id, id) != id;
        self.has_new_schema = true;
        Ok(is_changed.then_some(TableUpdate::SetCurrentSchema(if is_added_last { LAST_ADDED } else { id })))
    }

    fn add_spec(&mut self, mut spec: PartitionSpec) -> Result<Option<TableUpdate>> {
        let schema = self.metadata.current_schema()?;
        check::spec(&spec, schema, &self.metadata.partition_specs)?;
        if self.metadata.format_version == 1 && !(1000..).zip(&spec.fields).all(|(id, field)| field.field_id == id) {
            return Err(Error::invalid("the fields of a v1 partition spec must have the ids 1000, 1001 and so on")
                .hint(
                    "replace the transform of a dropped field with void to keep its position, or upgrade the table",
                ));
        }
        if let Some(equal) = self.metadata.partition_specs.iter().find(|known| known.fields == spec.fields) {
            self.last_added_spec = Some(equal.spec_id);
            return Ok(None);
        }
        spec.spec_id = next_id(self.metadata.partition_specs.iter().map(|known| known.spec_id), 0)?;
        let highest = spec.fields.iter().map(|field| field.field_id).max();
        self.metadata.last_partition_id = self.metadata.last_partition_id.max(highest.unwrap_or(0));
        self.last_added_spec = Some(spec.spec_id);
        self.metadata.partition_specs.push(Arc::new(spec.clone()));
        Ok(Some(TableUpdate::AddSpec(spec)))
    }

    fn set_default_spec(&mut self, id: i32) -> Result<Option<TableUpdate>> {
        let id = chosen(id, self.last_added_spec, "partition spec")?;
        let is_added_last = self.last_added(|update| match update {
            TableUpdate::AddSpec(spec) => Some(spec.spec_id),
            _ => None,
        }) == Some(id);
        self.metadata.spec(id).map_err(|e| no_longer_there(&e))?;
        let is_changed = std::mem::replace(&mut self.metadata.default_spec_id, id) != id;
        Ok(is_changed.then_some(TableUpdate::SetDefaultSpec(if is_added_last { LAST_ADDED } else { id })))
    }

    fn add_sort_order(&mut self, mut order: SortOrder) -> Result<Option<TableUpdate>> {
        check::order(&order, self.metadata.current_schema()?)?;
        let orders = &self.metadata.sort_orders;
        order.order_id = match orders.iter().find(|known| known.fields == order.fields) {
            Some(equal) => equal.order_id,
            None if order.is_unsorted() => 0,
            None => next_id(orders.iter().map(|known| known.order_id), 1)?,
        };
        self.last_added_order = Some(order.order_id);
        let is_new = orders.iter().all(|known| known.order_id != order.order_id);
        if is_new {
            self.metadata.sort_orders.push(order.clone());
        }
        Ok(is_new.then_some(TableUpdate::AddSortOrder(order)))
    }

    fn set_default_sort_order(&mut self, id: i32) -> Result<Option<TableUpdate>> {
        let id = chosen(id, self.last_added_order, "sort order")?;
        let is_added_last = self.last_added(|update| match update {
            TableUpdate::AddSortOrder(order) => Some(order.order_id),
            _ => None,
        }) == Some(id);
        if id != 0 && self.metadata.sort_orders.iter().all(|order| order.order_id != id) {
            return Err(Error::invalid(format!("no sort order has the id {id}")));
        }
        let is_changed = std::mem::replace(&mut self.metadata.default_sort_order_id, id) != id;
        Ok(is_changed.then_some(TableUpdate::SetDefaultSortOrder(if is_added_last { LAST_ADDED } else { id })))
    }

    fn add_snapshot(&mut self, snapshot: Snapshot) -> Result<()> {
        let metadata = &mut self.metadata;
        let id = snapshot.snapshot_id;
        if metadata.snapshot(id).is_ok() {
            return Err(invalid_snapshot(id, "the table already has a snapshot with this id"));
        }
        if metadata.format_version > 1 {
            let last = metadata.last_sequence_number;
            if snapshot.sequence_number <= last && snapshot.parent_snapshot_id.is_some() {
                let message = format!("its sequence number {} is not greater than {last}", snapshot.sequence_number);
                return Err(invalid_snapshot(id, &message));
            }
            metadata.last_sequence_number = last.max(snapshot.sequence_number);
        }
        let newest = metadata.snapshot_log.last().map(|entry| entry.timestamp_ms);
        if let Some(newest) = newest.filter(|newest| snapshot.timestamp_ms < newest - MAX_CLOCK_SKEW_MS) {
            let message = format!(
                "its timestamp {} ms is before that of the current snapshot, {newest} ms",
                snapshot.timestamp_ms
            );
            return Err(invalid_snapshot(id, &message));
        }
        if metadata.format_version >= 3 {
            let next = metadata.next_row_id.unwrap_or(0);
            let (Some(first), Some(added)) = (snapshot.first_row_id, snapshot.added_rows) else {
                return Err(invalid_snapshot(id, "it assigns no row ids, which format version 3 requires"));
            };
            if first < next || added < 0 {
                let message = format!(
                    "its row ids begin at {first}, which must be at least {next}, or its row count {added} is negative"
                );
                return Err(invalid_snapshot(id, &message));
            }
            let end = first.checked_add(added).ok_or_else(|| invalid_snapshot(id, "its row ids overflow"))?;
            metadata.next_row_id = Some(end);
        }
        self.added_snapshots.insert(id);
        metadata.snapshots.push(Arc::new(snapshot));
        Ok(())
    }

    fn set_ref(&mut self, name: String, reference: SnapshotRef) -> Result<Option<TableUpdate>> {
        let metadata = &mut self.metadata;
        let timestamp_ms = metadata.snapshot(reference.snapshot_id)?.timestamp_ms;
        if name == MAIN_BRANCH {
            if reference.kind != RefKind::Branch {
                return Err(Error::invalid("`main` must be a branch and cannot be a tag"));
            }
            if metadata.current_snapshot_id != Some(reference.snapshot_id) {
                metadata.current_snapshot_id = Some(reference.snapshot_id);
                let is_new = self.added_snapshots.contains(&reference.snapshot_id);
                // A snapshot that was current only in the middle of this change was never visible.
                let added = &self.added_snapshots;
                metadata.snapshot_log.retain(|entry| !added.contains(&entry.snapshot_id));
                let timestamp_ms = if is_new { timestamp_ms } else { self.now_ms };
                metadata.snapshot_log.push(SnapshotLogEntry { timestamp_ms, snapshot_id: reference.snapshot_id });
            }
        }
        let is_changed = metadata.refs.insert(name.clone(), reference.clone()).as_ref() != Some(&reference);
        Ok(is_changed.then_some(TableUpdate::SetRef(name, reference)))
    }

    fn remove_ref(&mut self, name: &str) -> Result<()> {
        if self.metadata.refs.remove(name).is_none() {
            return Err(Error::new(ErrorKind::NoSuchSnapshot, format!("no branch or tag `{name}`")));
        }
        if name == MAIN_BRANCH {
            // The snapshot that was current before remains in the history of the table.
            self.metadata.current_snapshot_id = None;
        }
        Ok(())
    }

    fn remove_snapshots(&mut self, ids: &[i64]) -> Result<()> {
        let metadata = &mut self.metadata;
        let removed: HashSet<i64> = ids.iter().copied().collect();
        if metadata.current_snapshot_id.is_some_and(|current| removed.contains(&current)) {
            return Err(Error::invalid("the current snapshot cannot be removed"));
        }
        metadata.snapshots.retain(|snapshot| !removed.contains(&snapshot.snapshot_id));
        metadata.refs.retain(|_, reference| !removed.contains(&reference.snapshot_id));
        metadata.statistics.retain(|file| !removed.contains(&file.snapshot_id));
        metadata.partition_statistics.retain(|file| !removed.contains(&file.snapshot_id));
        // A history with gaps would answer "as of" queries wrongly, so everything up to the last gap is removed (spec:
        // "Snapshot log").
        let hole = metadata.snapshot_log.iter().rposition(|entry| removed.contains(&entry.snapshot_id));
        metadata.snapshot_log.drain(..hole.map_or(0, |hole| hole + 1));
        Ok(())
    }

    fn set_location(&mut self, location: &str) -> Result<Option<TableUpdate>> {
        let location = location.trim_end_matches('/').to_string();
        if location.is_empty() {
            return Err(Error::invalid("the location of a table cannot be empty"));
        }
        let is_changed = self.metadata.location != location;
        self.metadata.location.clone_from(&location);
        Ok(is_changed.then_some(TableUpdate::SetLocation(location)))
    }
}

/// Returns the number of earlier states in the metadata log (`write.metadata.previous-versions-max`, default 100, at
/// least 1).
fn previous_versions_max(metadata: &TableMetadata) -> Result<usize> {
    let count = metadata.number(&properties::METADATA_PREVIOUS_VERSIONS)?;
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    Ok(count.max(1))
}

fn next_id(used: impl Iterator<Item = i32>, first: i32) -> Result<i32> {
    let next = used.max().map_or(Some(first), |highest| highest.checked_add(1));
    next.map(|next| next.max(first)).ok_or_else(|| Error::new(ErrorKind::LimitExceeded, "no ids are left"))
}

fn chosen(id: i32, last_added: Option<i32>, what: &str) -> Result<i32> {
    if id != LAST_ADDED {
        return Ok(id);
    }
    last_added.ok_or_else(|| Error::invalid(format!("no {what} was added, so there is no last added one")))
}

/// Returns the error for an unsupported format version.
pub(crate) fn unsupported_version(version: u8) -> Error {
    Error::unsupported(format!("format version {version} is not supported, expected 1, 2 or 3"))
}

/// Converts the error for a missing id to `InvalidArgument`, because the id is from the caller and not from the
/// metadata.
fn no_longer_there(error: &Error) -> Error {
    Error::invalid(error.message())
}

fn invalid_snapshot(id: i64, message: &str) -> Error {
    Error::new(ErrorKind::CommitValidation, format!("snapshot {id} cannot be added: {message}"))
}

#[cfg(test)]
#[path = "update_tests.rs"]
mod tests;
