//! One commit attempt: reads the latest snapshot, builds the next one and publishes it.

use std::borrow::Cow;
use std::collections::BTreeSet;

use bytes::Bytes;
use frazil_core::clock::now_ms;
use frazil_core::context::Context;
use frazil_core::error::{Error, ErrorKind, Result};
use frazil_core::storage::publish::{Swap, publish};

use super::changes::Changes;
use super::conflict;
use super::lock::SnapshotLock;
use super::manifests::MetadataWriter;
use super::merge::ManifestMerger;
use super::overwrite::Replaced;
use super::request::{BATCH_IDENTIFIER, Counts, Request};
use crate::spec::index_manifest::IndexEntry;
use crate::spec::json::{self, Object};
use crate::spec::manifest::{DELETE, ManifestEntries, WantedFields};
use crate::spec::option_rules::check_written_with;
use crate::spec::options::Options;
use crate::spec::schema::TableSchema;
use crate::spec::snapshot::{CommitKind, Snapshot};
use crate::table::{Table, present};
use crate::write::change::Home;
use crate::write::check::check_committable;
use crate::write::index_files::has_one_vector_file;
use crate::write::postponed::has_waiting_rows;

/// The maximum length of a statistics file that is read.
const LIMIT_BYTES: u64 = 2 << 30;

/// The version of the snapshot files that frazil writes.
const SNAPSHOT_VERSION: i32 = 3;

/// The id of the first snapshot of a table.
const FIRST_ID: i64 = 1;

/// The state that all attempts of a commit share.
#[derive(Debug)]
pub(super) struct Attempt<'a> {
    pub(super) table: &'a Table,
    pub(super) request: &'a Request,
    pub(super) changes: &'a Changes,
    pub(super) context: &'a Context,
}

/// The latest state of the table.
#[derive(Debug)]
pub(super) struct Base {
    schema_id: i64,
    pub(super) snapshot: Option<Snapshot>,
}

impl Attempt<'_> {
    /// Reads the latest state.
    ///
    /// # Errors
    /// `NoSuchTable` if the table was dropped; `CommitConflict` if another table replaced it, or the files do not fit its
    /// latest schema.
    pub(super) fn base(&self) -> Result<Base> {
        let newest = self.table.successor()?;
        check_written_with(self.table.schema(), newest.schema())?;
        check_committable(newest.schema())?;
        Ok(Base { schema_id: newest.schema().id, snapshot: newest.latest_snapshot()? })
    }

    /// Returns the snapshot of a streaming commit that was committed before. `newest` is the latest snapshot; the
    /// snapshots up to `checked` were checked before.
    ///
    /// # Errors
    /// `CommitValidation` if the user has committed a greater identifier, but not this one.
    pub(super) fn committed_before(&self, newest: Option<&Snapshot>, checked: i64) -> Result<Option<i64>> {
        let is_written = self.changes.kind != CommitKind::Compact;
        let Some(newest) = newest.filter(|_| is_written && !self.request.is_batch()) else { return Ok(None) };
        let mut later = None;
        let mut id = newest.id;
        while id > checked {
            self.context.check()?;
            let read;
            let snapshot = if id == newest.id {
                newest
            } else {
                match self.table.snapshot(id) {
                    // This snapshot and those before it have expired.
                    Err(error) if error.kind() == ErrorKind::NoSuchSnapshot => break,
                    found => {
                        read = found?;
                        &read
                    }
                }
            };
            id -= 1;
            if snapshot.commit_user != self.request.user || snapshot.commit_identifier == BATCH_IDENTIFIER {
                continue;
            }
            if snapshot.commit_identifier < self.request.identifier {
                break;
            }
            if snapshot.commit_identifier == self.request.identifier {
                // Compactions reuse the identifier of the append before them.
                if snapshot.commit_kind != CommitKind::Compact {
                    return Ok(Some(snapshot.id));
                }
                continue;
            }
            later = later.max(Some(snapshot.commit_identifier));
        }
        let Some(later) = later else { return Ok(None) };
        let message = format!(
            "commit identifier {} of user `{}` is less than {later}, which the user has already committed",
            self.request.identifier,
            json::shown(&self.request.user)
        );
        Err(Error::new(ErrorKind::CommitValidation, message)
            .hint("identifiers of a user must increase; use another user for another stream"))
    }

    /// Returns the changes, which for an overwrite include the removal of the replaced files of the latest snapshot, and
    /// the list of index files if it changes. `indexes` are the index files of the latest snapshot.
    ///
    /// # Errors
    /// `CommitConflict` for changes that conflict with the latest snapshot.
    fn checked(
        &self,
        before: Option<&Snapshot>,
        indexes: &[IndexEntry],
        writer: &mut MetadataWriter<'_>,
    ) -> Result<(Cow<'_, Changes>, Option<Vec<IndexEntry>>)> {
        let changes = self.changes;
        let (table, schema) = (self.table, self.table.schema());
        let has_one_vector_file = has_one_vector_file(schema, &Options::new(schema.options.clone()))?;
        let live = |partitions: Option<&BTreeSet<Vec<u8>>>, wanted: WantedFields| match before {
            Some(before) => table.live_files(before, partitions, wanted, self.context),
            None => ManifestEntries::concat(&[]),
        };
        let Some(overwrite) = self.request.overwrite.as_ref().filter(|_| changes.kind == CommitKind::Overwrite) else {
            let mut of_indexes = Cow::Borrowed(&changes.indexes);
            if changes.kind == CommitKind::Append && has_dynamic_buckets(schema)? {
                writer.delete_key_indexes();
                let write = |home: &Home, hashes| writer.key_index(home, hashes);
                of_indexes = Cow::Owned(changes.indexes.reconciled(table, before, self.context, write)?);
            }
            let checks_append = self.request.checks_append || has_waiting_rows(schema)?;
            let after = of_indexes.applied(indexes, None, has_one_vector_file)?;
            if changes.kind != CommitKind::Append || checks_append {
                let live = live(Some(&changes.partitions()), WantedFields::FILES)?;
                conflict::check(schema, &live, changes)?;
                conflict::check_vectors(&live, changes, after.as_deref().unwrap_or(indexes))?;
            }
            return Ok((Cow::Borrowed(changes), after));
        };
        let replaced = Replaced::try_new(schema, overwrite, changes.added.partitions())?;
        let partitions = matches!(replaced, Replaced::These(_)).then(|| changes.partitions());
        let files = live(partitions.as_ref(), WantedFields::ALL)?;
        let removed = files.filter(&replaced.of(files.partitions())?)?.with_kind(DELETE)?;
        let changes = Changes { removed, ..changes.clone() };
        conflict::check(schema, &files, &changes)?;
        let after = changes.indexes.applied(indexes, Some(&replaced), has_one_vector_file)?;
        Ok((Cow::Owned(changes), after))
    }

    /// Writes the manifest lists of the snapshot after `base`, and returns the snapshot with its changes.
    ///
    /// # Errors
    /// As for [`Attempt::checked`]; `CorruptManifest` for lists that do not decode; `LimitExceeded` for more rows than
    /// a snapshot can count.
    pub(super) fn snapshot(
        &self,
        base: &Base,
        writer: &mut MetadataWriter<'_>,
        merger: &mut ManifestMerger<'_>,
    ) -> Result<(Snapshot, Counts)> {
        let before = base.snapshot.as_ref();
        let manifests = before.map_or(Ok(Vec::new()), |snapshot| self.table.manifests(snapshot, self.context))?;
        let is_read = self.changes.kind != CommitKind::Append || !self.changes.indexes.is_empty();
        let indexes = before.filter(|_| is_read);
        let indexes = indexes.map_or(Ok(Vec::new()), |before| self.table.index_entries(before, self.context))?;
        let (changes, indexes) = self.checked(before, &indexes, writer)?;
        let delta = writer.delta(&changes.entries()?)?;
        let changelog = writer.changelog(&changes.changelog)?;
        let index_manifest = match indexes {
            Some(entries) => Some(writer.indexes(&entries)?),
            None => before.and_then(|snapshot| snapshot.index_manifest.clone()),
        };
        let manifests = merger.merge(manifests, writer)?;
        let list = writer.list(&manifests)?;
        let too_many = || Error::new(ErrorKind::LimitExceeded, "the table would have more than 2^63 rows or snapshots");
        let total_before = match before {
            None => 0,
            Some(snapshot) => snapshot.total_record_count.ok_or_else(|| {
                Error::unsupported("a commit after a snapshot without a record count is not supported")
                    .with("snapshot", snapshot.id)
            })?,
        };
        let sum = |entries: &ManifestEntries| {
            let rows = entries.row_counts().values().iter();
            rows.copied().try_fold(0_i64, i64::checked_add).ok_or_else(too_many)
        };
        let rows = sum(&changes.added)?.saturating_sub(sum(&changes.removed)?);
        let watermark = before.and_then(|snapshot| snapshot.watermark);
        let snapshot = Snapshot {
            version: SNAPSHOT_VERSION,
            id: before.map_or(Some(FIRST_ID), |snapshot| snapshot.id.checked_add(1)).ok_or_else(too_many)?,
            uuid: Some(writer.uuid().to_string()),
            schema_id: base.schema_id,
            base_manifest_list: list.name,
            base_manifest_list_size_bytes: Some(list.size_bytes),
            delta_manifest_list: delta.name,
            delta_manifest_list_size_bytes: Some(delta.size_bytes),
            changelog_manifest_list: changelog.as_ref().map(|list| list.name.clone()),
            changelog_manifest_list_size_bytes: changelog.as_ref().map(|list| list.size_bytes),
            index_manifest,
            commit_user: self.request.user.clone(),
            commit_identifier: self.request.identifier,
            commit_kind: changes.kind,
            // Snapshots are looked up by time, which must not decrease even if the clocks of writers differ.
            time_ms: now_ms().max(before.map_or(0, |snapshot| snapshot.time_ms)),
            total_record_count: Some(total_before.checked_add(rows).ok_or_else(too_many)?),
            delta_record_count: Some(rows),
            changelog_record_count: changelog.map(|_| sum(&changes.changelog)).transpose()?,
            watermark: self.request.watermark.max(watermark),
            statistics: self.statistics(base)?,
            properties: self.request.properties.clone(),
            next_row_id: Some(before.and_then(|snapshot| snapshot.next_row_id).unwrap_or(0)),
            operation: None,
            writer_version: None,
            tag_create_time_us: None,
            tag_time_retained_ms: None,
        };
        Ok((snapshot, Counts::of(&changes)))
    }

    /// Returns the statistics of the request, or those of the previous snapshot if they belong to the latest schema.
    fn statistics(&self, base: &Base) -> Result<Option<String>> {
        if let Some((schema_id, name)) = &self.request.statistics {
            if *schema_id != base.schema_id {
                let message = "the table was altered while it was analyzed";
                return Err(Error::new(ErrorKind::CommitConflict, message).hint("analyze it again"));
            }
            return Ok(Some(name.clone()));
        }
        let Some(name) = base.snapshot.as_ref().and_then(|snapshot| snapshot.statistics.as_ref()) else {
            return Ok(None);
        };
        let path = format!("{}/statistics/{name}", self.table.location());
        let bytes = match self.table.files().read(&path, LIMIT_BYTES) {
            Err(error) if error.kind() == ErrorKind::MissingFile => return Ok(None),
            found => found?,
        };
        let schema_id = || Object::of(&json::parse(&bytes, "statistics")?, "statistics")?.required_long("schemaId");
        let schema_id = schema_id().map_err(|e: Error| e.corrupt_as(ErrorKind::CorruptMetadata).with("file", &path))?;
        Ok((schema_id == base.schema_id).then(|| name.clone()))
    }

    /// Publishes a snapshot, unless the table was altered since `base` was read.
    ///
    /// # Errors
    /// The errors of the lock. In that case nothing was published.
    pub(super) fn publish(&self, snapshot: &Snapshot, base: &Base, lock: &dyn SnapshotLock) -> Result<Swap> {
        let location = self.table.snapshot_location(snapshot.id);
        let content = Bytes::from(snapshot.to_json());
        let next_schema = self.table.schema_location(base.schema_id.saturating_add(1));
        lock.run(&mut || match present(self.table.files().size(&next_schema)) {
            // The files may not fit the new schema.
            Ok(Some(_)) => Swap::Lost,
            Err(error) => Swap::Refused(error),
            Ok(None) => publish(self.table.files(), &location, &content),
        })
    }

    /// Deletes the index files that were replaced by files that also have the keys of other writers.
    pub(super) fn delete_replaced_indexes(&self, writer: &MetadataWriter<'_>) {
        for entry in self.changes.indexes.added.iter().filter(|entry| !writer.lists_index(entry)) {
            if let Ok(location) = self.table.index_location(entry) {
                let _ = self.table.files().delete(&location);
            }
        }
    }

    /// Writes the hint files of the latest and, with the first snapshot, of the earliest snapshot. Readers work without
    /// the files.
    pub(super) fn hint(&self, id: i64) {
        let names = if id == FIRST_ID { &["LATEST", "EARLIEST"][..] } else { &["LATEST"] };
        for name in names {
            let hint = format!("{}/{name}", self.table.snapshot_folder());
            let _ = self.table.files().put(&hint, id.to_string().into());
        }
    }
}

/// Returns whether keys are assigned to buckets by an index.
fn has_dynamic_buckets(schema: &TableSchema) -> Result<bool> {
    Ok(!schema.primary_keys.is_empty() && Options::new(schema.options.clone()).bucket()? == -1)
}
