//! Creates a snapshot of a branch with added and removed files (spec: "Snapshots", "Sequence Numbers", "Commit Conflict
//! Resolution and Retry").
//!
//! Manifests of added files, filtered manifests and merged manifests are written only once. Each attempt writes a
//! manifest list of them and of the unchanged manifests of the latest snapshot.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex};

use arrow_array::{Array, BooleanArray, RecordBatch};
use arrow_select::filter::filter_record_batch;
use frazil_core::avro::{Codec, Writer};
use frazil_core::clock::now_ms;
use frazil_core::context::Context;
use frazil_core::error::{Error, ErrorKind, Result};
use frazil_core::ids;
use frazil_core::storage::Files;

use super::ids::snapshot_id;
use super::list::{NewManifest, list_rows};
use super::manifests::{Filtered, Manifests, MergePart, conflicting, runs_to_merge};
use super::removals::Sought;
use super::summary::{Counts, FileSign, Side};
use crate::commit::attempts::{Change, Revision};
use crate::commit::update::TableUpdate;
use crate::files::{AddedFiles, Removals, ReplacedPartitions};
use crate::properties;
use crate::scan::partition::PartitionTuples;
use crate::spec::avro_schema::avro_schema;
use crate::spec::manifest_entries::{Entries, file_partitions};
use crate::spec::manifest_list::{self, MANIFEST_LIMIT_BYTES, ManifestContent, ManifestFile};
use crate::spec::manifest_rows::{columns_for, read_list};
use crate::spec::manifest_type::manifest_file;
use crate::spec::snapshot::{MAIN_BRANCH, RefKind, Snapshot, SnapshotRef};
use crate::spec::table_metadata::TableMetadata;
use crate::validation::conflict::{Check, Validation};
use crate::write::contents::Contents;

/// The changes of a snapshot.
#[derive(Debug, Clone, Default)]
pub struct FileChanges {
    /// The data files to add.
    pub data: Vec<AddedFiles>,
    /// The contents of the new data files.
    pub contents: Vec<Contents>,
    /// The delete files and deletion vectors to add.
    pub deletes: Vec<AddedFiles>,
    /// The files to remove.
    pub removals: Removals,
    /// The conflict validation; None for an operation that does not depend on the table's rows.
    pub validation: Option<Validation>,
    /// The entries for the summary of the snapshot.
    pub properties: BTreeMap<String, String>,
    /// The operation of the snapshot; None to derive it from the files.
    pub operation: Option<&'static str>,
    /// The data sequence number of the added data files; None for that of the snapshot.
    pub data_sequence_number: Option<i64>,
    /// Whether small manifests are left unmerged.
    pub fast: bool,
    /// Whether the branch is created from `main` if it does not exist.
    pub creates_branch: bool,
    /// Whether a snapshot is also created without any changed file.
    pub is_kept_empty: bool,
}

impl FileChanges {
    /// Returns the partitions of the added data files, which are of the default spec of `table`.
    ///
    /// `CommitConflict` if the added files have another spec, because the partitions that they replace are then
    /// unknown.
    pub fn partitions_of(&self, table: &TableMetadata) -> Result<ReplacedPartitions> {
        let spec = table.spec(table.default_spec_id)?.clone();
        let partition = Arc::new(table.partition_type(&spec));
        let mut tuples = Vec::new();
        for AddedFiles { data_files, spec_id: own } in &self.data {
            if *own != spec.spec_id {
                let current = spec.spec_id;
                let message =
                    format!("the rows were written with the partition spec {own}, but that of the table is {current}");
                return Err(Error::new(ErrorKind::CommitConflict, message).hint("write the rows again"));
            }
            tuples.push(PartitionTuples::of_rows(file_partitions(data_files)?, &partition)?);
        }
        Ok(ReplacedPartitions { spec, tuples })
    }
}

/// The outcome of a snapshot change.
#[derive(Debug, Clone, Copy, Default)]
pub struct Outcome {
    /// The id of the snapshot; None if there was nothing to do.
    pub snapshot_id: Option<i64>,
    /// The added files.
    pub added: Side,
    /// The removed files.
    pub removed: Side,
}

/// A change that creates a snapshot.
#[derive(Debug)]
pub struct SnapshotChange {
    files: Files,
    branch: String,
    changes: FileChanges,
    snapshot_id: i64,
    commit_uuid: String,
    manifests: Manifests,
    /// The manifests of the added files, and the format version in which they were written.
    added: Option<(u8, Vec<NewManifest>)>,
    added_counts: Option<Counts>,
    /// The manifest list of each attempt.
    lists: Vec<String>,
    /// The manifests of this snapshot that the last attempt listed.
    used: HashSet<String>,
    /// The snapshots that need no further validation: those of the state that was read, and those that an attempt
    /// checked.
    seen: Option<HashSet<i64>>,
    outcome: Arc<Mutex<Outcome>>,
}

/// The manifests of the previous snapshot that are kept, including rewritten ones.
struct Kept {
    rows: Option<RecordBatch>,
    manifests: Vec<ManifestFile>,
    rewritten: Vec<NewManifest>,
    counts: Counts,
}

impl SnapshotChange {
    /// Creates the change that applies `changes` to `branch`. Its files are read and written through `files`.
    pub fn new(files: Files, branch: &str, changes: FileChanges) -> Result<Self> {
        let (snapshot_id, commit_uuid) = (snapshot_id()?, ids::uuid()?);
        Ok(Self {
            manifests: Manifests::new(files.clone(), snapshot_id, commit_uuid.clone()),
            files,
            branch: branch.to_string(),
            changes,
            snapshot_id,
            commit_uuid,
            added: None,
            added_counts: None,
            lists: Vec::new(),
            used: HashSet::new(),
            seen: None,
            outcome: Arc::default(),
        })
    }

    /// Returns the outcome, which is set once the change is made.
    pub fn outcome(&self) -> Arc<Mutex<Outcome>> {
        self.outcome.clone()
    }

    /// Returns whether the snapshot is only staged: it has a `wap.id`, and the table has write-audit-publish enabled.
    fn is_staged(&self, base: &TableMetadata) -> bool {
        base.flag(&properties::WAP_ENABLED) && self.changes.properties.contains_key("wap.id")
    }

    /// Returns the manifests of the added files, and writes them the first time.
    fn added(&mut self, base: &TableMetadata) -> Result<Vec<NewManifest>> {
        let all = || [(ManifestContent::Data, &self.changes.data), (ManifestContent::Deletes, &self.changes.deletes)];
        if let Some((_, known)) = self.added.as_ref().filter(|(version, _)| *version == base.format_version) {
            // The manifests can be reused if the table still has the specs of the added files.
            let specs = all().into_iter().flat_map(|(_, files)| files).map(|files| files.spec_id);
            specs.into_iter().try_for_each(|id| base.spec(id).map(drop)).map_err(conflicting)?;
            return Ok(known.clone());
        }
        let mut manifests = Vec::new();
        for (content, files) in all() {
            if content == ManifestContent::Deletes && base.format_version < 2 && !files.is_empty() {
                return Err(Error::unsupported("delete files need format version 2"));
            }
            for AddedFiles { spec_id, data_files } in files.iter().filter(|files| !files.data_files.is_empty()) {
                let partition = base.partition_type(base.spec(*spec_id).map_err(conflicting)?);
                let number = if content == ManifestContent::Data { self.changes.data_sequence_number } else { None };
                let entries = Entries::added(data_files, &partition, self.snapshot_id, number)?;
                manifests.extend(self.manifests.write_new(entries, *spec_id, content, base)?);
            }
        }
        self.added = Some((base.format_version, manifests.clone()));
        Ok(manifests)
    }

    /// Returns the counts of the added files, which are the same at each attempt.
    fn added_counts(&mut self, base: &TableMetadata) -> Result<Counts> {
        if let Some(known) = &self.added_counts {
            return Ok(known.clone());
        }
        let mut counts = Counts::default();
        for AddedFiles { spec_id, data_files } in self.changes.data.iter().chain(&self.changes.deletes) {
            let partition = Arc::new(base.partition_type(base.spec(*spec_id).map_err(conflicting)?));
            counts.add(&Counts::of(data_files, *spec_id, &partition, FileSign::Added)?);
        }
        self.added_counts = Some(counts.clone());
        Ok(counts)
    }

    /// Reads the manifest list of the previous snapshot and drops the removed files from its manifests.
    fn kept(&mut self, base: &TableMetadata, parent: Option<&Snapshot>, context: &Context) -> Result<Kept> {
        let mut kept = Kept { rows: None, manifests: Vec::new(), rewritten: Vec::new(), counts: Counts::default() };
        let Some(parent) = parent else {
            refuse_missing(&Sought::new(&self.changes.removals))?;
            return Ok(kept);
        };
        let location = parent.manifest_list.as_deref().ok_or_else(|| {
            Error::unsupported("the current snapshot has no manifest list")
                .hint("rewrite the table with the engine that wrote it")
        })?;
        let bytes = self.files.read(location, MANIFEST_LIMIT_BYTES)?;
        let named = |e: Error| e.with("file", location);
        let rows = read_list(bytes, context).map_err(named)?;
        kept.manifests = manifest_list::of_rows(&rows).map_err(named)?;
        if self.changes.fast && self.changes.removals.is_empty() {
            kept.rows = Some(rows);
            return Ok(kept);
        }
        // Manifests without live files are not kept: they only record what the previous snapshot removed.
        let mut stays: Vec<bool> = kept.manifests.iter().map(|manifest| manifest.live_files_count != Some(0)).collect();
        let mut sought = Sought::new(&self.changes.removals);
        for place in self.order(&kept.manifests) {
            let Some(manifest) = kept.manifests.get(place) else { continue };
            if stays.get(place) == Some(&false) || !sought.may_be_in(manifest) {
                continue;
            }
            if let Some(Filtered { manifests, counts, removed }) =
                self.manifests.filtered(manifest, &self.changes.removals, base, context)?
            {
                stays.get_mut(place).into_iter().for_each(|stays| *stays = false);
                kept.rewritten.extend(manifests.iter().cloned());
                kept.counts.add(counts);
                for path in removed {
                    sought.found(path);
                }
            }
        }
        refuse_missing(&sought)?;
        let mut keep = stays.iter();
        kept.manifests.retain(|_| keep.next().copied().unwrap_or(true));
        kept.rows = Some(filter_record_batch(&rows, &BooleanArray::from(stays))?);
        Ok(kept)
    }

    /// Returns the positions of `manifests`, reordered so that manifests known to list removed files are read first.
    fn order(&self, manifests: &[ManifestFile]) -> Vec<usize> {
        let removed = self.changes.removals.data_files.values();
        let known: HashSet<&str> = removed.filter_map(|file| file.manifest.as_deref()).collect();
        let mut places: Vec<usize> = (0..manifests.len()).collect();
        places.sort_by_key(|&place| !manifests.get(place).is_some_and(|m| known.contains(&*m.manifest_path)));
        places
    }

    /// Merges small manifests if there are many.
    fn merged(
        &mut self,
        new: Vec<NewManifest>,
        kept: &mut Kept,
        base: &TableMetadata,
        context: &Context,
    ) -> Result<Vec<NewManifest>> {
        if self.changes.fast {
            return Ok(new);
        }
        let count = new.len();
        let parts: Vec<MergePart> = new
            .into_iter()
            .map(MergePart::New)
            .chain(std::mem::take(&mut kept.manifests).into_iter().map(MergePart::Kept))
            .collect();
        let mut gone = vec![false; parts.len()];
        let mut merged = Vec::new();
        for run in runs_to_merge(&parts, base)? {
            let members: Vec<MergePart> = run.iter().filter_map(|&place| parts.get(place).cloned()).collect();
            merged.extend(self.manifests.merge(&members, base, context)?);
            for place in run {
                gone.get_mut(place).into_iter().for_each(|gone| *gone = true);
            }
        }
        let of_kept: BooleanArray = gone.iter().skip(count).map(|gone| Some(!gone)).collect();
        if let Some(rows) = &kept.rows {
            kept.rows = Some(filter_record_batch(rows, &of_kept)?);
        }
        let stays = parts.into_iter().zip(gone).filter(|(_, gone)| !gone).filter_map(|(part, _)| match part {
            MergePart::New(manifest) => Some(manifest),
            MergePart::Kept(_) => None,
        });
        Ok(stays.chain(merged).collect())
    }

    /// Writes the manifest list of an attempt. Returns its location and the number of row ids that the snapshot uses.
    fn write_list(
        &mut self,
        base: &TableMetadata,
        parent: Option<&Snapshot>,
        new: &[NewManifest],
        kept: Option<RecordBatch>,
        attempt: u32,
    ) -> Result<(String, i64)> {
        let first_row_id = (base.format_version > 2).then(|| base.next_row_id.unwrap_or(0));
        let sequence_number = next_sequence_number(base);
        let list = list_rows(new, kept, sequence_number, first_row_id)?;
        let id = self.snapshot_id;
        let location = format!("{}/snap-{id}-{attempt}-{}.avro", base.metadata_folder(), self.commit_uuid);
        let fields = manifest_file(base.format_version);
        let numbers = [
            ("snapshot-id", Some(id)),
            ("parent-snapshot-id", parent.map(|parent| parent.snapshot_id)),
            ("sequence-number", (base.format_version > 1).then_some(sequence_number)),
            ("first-row-id", first_row_id),
            ("format-version", Some(i64::from(base.format_version))),
        ];
        let texts: Vec<(&str, String)> =
            numbers.iter().filter_map(|(key, number)| Some((*key, (*number)?.to_string()))).collect();
        let metadata: Vec<(&str, &str)> = texts.iter().map(|(key, text)| (*key, text.as_str())).collect();
        let mut writer =
            Writer::new(&avro_schema("manifest_file", &fields)?, &metadata, Codec::Deflate, ids::random()?)?;
        writer.write(&columns_for(&list.rows, &fields)?)?;
        let content = writer.finish()?;
        self.lists.push(location.clone());
        self.files.put_if_absent(&location, content)?;
        Ok((location, list.added_rows))
    }
}

/// Fails if a file to be removed no longer exists.
fn refuse_missing(sought: &Sought<'_>) -> Result<()> {
    let Some(missing) = sought.missing() else { return Ok(()) };
    Err(Error::new(ErrorKind::CommitConflict, "a data file was removed or rewritten concurrently")
        .with("file", missing)
        .hint("load the table again and retry the operation"))
}

impl Change for SnapshotChange {
    fn revise(&mut self, base: Option<&TableMetadata>, attempt: u32, context: &Context) -> Result<Revision> {
        let base = base.ok_or_else(|| Error::new(ErrorKind::NoSuchTable, "the table no longer exists"))?;
        let creates = self.changes.creates_branch && !base.refs.contains_key(&self.branch);
        let parent = branch_head(base, if creates { MAIN_BRANCH } else { &self.branch })?;
        self.changes.contents.iter().try_for_each(|contents| contents.check(base))?;
        if let Some(validation) = &self.changes.validation {
            let check = Check { validation, removals: &self.changes.removals, base, files: &self.files, context };
            check.run(parent, &mut self.seen)?;
        }
        let mut counts = self.added_counts(base)?;
        let mut kept = self.kept(base, parent, context)?;
        counts.add(&kept.counts);
        let nothing = counts == Counts::default() && !self.changes.is_kept_empty;
        if let Ok(mut outcome) = self.outcome.lock() {
            let snapshot_id = (!nothing).then_some(self.snapshot_id);
            *outcome = Outcome { snapshot_id, added: counts.added, removed: counts.removed };
        }
        if nothing {
            return Ok(Revision::Update(Vec::new()));
        }
        let mut new = self.added(base)?;
        new.append(&mut kept.rewritten);
        let new = self.merged(new, &mut kept, base, context)?;
        let (manifest_list, added_rows) = self.write_list(base, parent, &new, kept.rows, attempt)?;
        self.used = new.into_iter().map(|manifest| manifest.path).collect();
        let previous = parent.map(|parent| &parent.summary);
        let operation = self.changes.operation.unwrap_or_else(|| counts.operation());
        let summary = counts.summary(operation, previous, &self.changes.properties);
        let snapshot = Snapshot {
            snapshot_id: self.snapshot_id,
            parent_snapshot_id: parent.map(|parent| parent.snapshot_id),
            sequence_number: next_sequence_number(base),
            timestamp_ms: now_ms().max(base.last_updated_ms),
            manifest_list: Some(manifest_list.into()),
            manifests: None,
            summary: summary.ok_or_else(|| Error::invalid("the properties of a snapshot are too long"))?,
            schema_id: Some(base.current_schema_id),
            first_row_id: (base.format_version > 2).then(|| base.next_row_id.unwrap_or(0)),
            added_rows: (base.format_version > 2).then_some(added_rows),
            key_id: None,
        };
        let add = TableUpdate::AddSnapshot(snapshot);
        if self.is_staged(base) {
            return Ok(Revision::Update(vec![add]));
        }
        let reference = match base.refs.get(&self.branch) {
            Some(reference) => SnapshotRef { snapshot_id: self.snapshot_id, ..reference.clone() },
            None => SnapshotRef::branch(self.snapshot_id),
        };
        let set = TableUpdate::SetRef(self.branch.clone(), reference);
        Ok(Revision::Update(vec![add, set]))
    }

    fn clean(&mut self, committed: Option<&TableMetadata>) {
        let own = committed.and_then(|metadata| metadata.snapshot(self.snapshot_id).ok());
        let used = own.and_then(|snapshot| snapshot.manifest_list.as_deref());
        let lists = self.lists.iter().filter(|list| Some(list.as_str()) != used);
        // A file that cannot be deleted is an orphan file, not a failure.
        lists.for_each(|location| drop(self.files.delete(location)));
        self.manifests.clean(own.map(|_| &self.used));
    }
}

/// Returns the snapshot that a branch references; None for `main` of an empty table.
///
/// # Errors
/// `NoSuchSnapshot` for other branches that do not exist, `InvalidArgument` for tags.
pub fn branch_head<'a>(base: &'a TableMetadata, branch: &str) -> Result<Option<&'a Snapshot>> {
    match base.refs.get(branch) {
        Some(reference) if reference.kind == RefKind::Tag => {
            Err(Error::invalid(format!("`{branch}` is a tag and cannot be changed")))
        }
        None if branch == MAIN_BRANCH => Ok(None),
        _ => base.snapshot_by_ref(branch).map(|snapshot| Some(snapshot.as_ref())),
    }
}

/// Returns the sequence number of the next snapshot; 0 in v1, which has no sequence numbers.
fn next_sequence_number(base: &TableMetadata) -> i64 {
    if base.format_version > 1 { base.last_sequence_number + 1 } else { 0 }
}

#[cfg(test)]
#[path = "change_tests.rs"]
mod tests;
