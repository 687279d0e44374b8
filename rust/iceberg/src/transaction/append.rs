//! Adds data files to a branch (spec: "Snapshots", operation `append`).
//!
//! The manifests of the new files are written once; each attempt writes a manifest list of them and of those that the
//! newest snapshot has.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, Int32Array, Int64Array, RecordBatch, StructArray, new_null_array};
use arrow_row::{RowConverter, SortField};
use arrow_schema::DataType;
use bytes::Bytes;
use frazil_core::avro::{Codec, Writer};
use frazil_core::context::Context;
use frazil_core::error::{Error, ErrorKind, Result};
use frazil_core::storage::Files;

use super::commit::{Change, Revision, now_ms};
use super::ids;
use super::list::{NewManifest, list_rows};
use super::summary::Counts;
use super::update::TableUpdate;
use crate::spec::avro_schema::avro_schema;
use crate::spec::manifest_list::ManifestContent;
use crate::spec::manifest_rows::{columns_for, read_list, rows_schema};
use crate::spec::manifest_type::{manifest_entry, manifest_file};
use crate::spec::manifest_write::{ManifestHeader, ManifestWriter};
use crate::spec::snapshot::{MAIN_BRANCH, RefKind, Snapshot, SnapshotRef};
use crate::spec::table_metadata::TableMetadata;

/// Manifest lists are not read when they are longer than this.
const LIST_LIMIT_BYTES: u64 = 1 << 30;

/// New data files of one partition spec: rows of `data_file` as [`manifest_rows`](crate::spec::manifest_rows) has them.
#[derive(Debug, Clone)]
pub struct AddedFiles {
    /// The spec of their partition tuples.
    pub spec_id: i32,
    /// The files.
    pub data_files: StructArray,
}

/// An append that can be committed.
#[derive(Debug)]
pub struct Append {
    files: Files,
    branch: String,
    added: Vec<AddedFiles>,
    counts: Counts,
    snapshot_id: i64,
    commit_uuid: String,
    properties: BTreeMap<String, String>,
    manifests: Vec<NewManifest>,
    /// The manifest list of each attempt.
    lists: Vec<String>,
}

impl Append {
    /// Adds `added` to `branch`; `properties` go into the snapshot's summary.
    pub fn new(
        files: Files,
        branch: &str,
        added: Vec<AddedFiles>,
        properties: BTreeMap<String, String>,
    ) -> Result<Self> {
        Ok(Self {
            files,
            branch: branch.to_string(),
            counts: counts(&added)?,
            added,
            snapshot_id: ids::snapshot_id()?,
            commit_uuid: ids::uuid()?,
            properties,
            manifests: Vec::new(),
            lists: Vec::new(),
        })
    }

    /// The id of the snapshot that it makes, by which its outcome can be looked up.
    pub fn snapshot_id(&self) -> i64 {
        self.snapshot_id
    }

    /// Writes the manifests of the new files, the first time.
    fn write_manifests(&mut self, base: &TableMetadata) -> Result<()> {
        if !self.manifests.is_empty() {
            // What was written stays good if the specs of its files are still there.
            return self.added.iter().try_for_each(|added| base.spec(added.spec_id).map(drop)).map_err(conflicting);
        }
        for (number, added) in self.added.iter().enumerate() {
            let spec = base.spec(added.spec_id).map_err(conflicting)?;
            let partition = base.partition_type(spec);
            let header = ManifestHeader {
                version: base.format_version,
                content: ManifestContent::Data,
                schema: base.current_schema()?,
                spec,
                partition: &partition,
            };
            let mut writer = ManifestWriter::new(&header, Codec::Deflate, ids::random()?)?;
            writer.write(&self.entries(added, base)?)?;
            let (content, counts) = writer.finish()?;
            let path = format!("{}/{}-m{number}.avro", metadata_folder(base), self.commit_uuid);
            let manifest = NewManifest {
                path,
                length: content.len(),
                spec_id: added.spec_id,
                content: ManifestContent::Data,
                snapshot_id: self.snapshot_id,
                counts,
            };
            // Remembered first: a failed write may have left something.
            self.manifests.push(manifest.clone());
            self.files.put_if_absent(&manifest.path, content)?;
        }
        Ok(())
    }

    /// The entries of new files: added by this snapshot, with a sequence number that they inherit.
    fn entries(&self, added: &AddedFiles, base: &TableMetadata) -> Result<RecordBatch> {
        let len = added.data_files.len();
        let spec = base.spec(added.spec_id)?;
        let schema = rows_schema(&manifest_entry(3, base.partition_type(spec)));
        let expected = schema.field_with_name("data_file")?.data_type();
        if expected != added.data_files.data_type() {
            return Err(
                Error::internal("new files have other fields than entries").with("found", added.data_files.data_type())
            );
        }
        let null = || new_null_array(&DataType::Int64, len);
        let columns: Vec<arrow_array::ArrayRef> = vec![
            Arc::new(Int32Array::from_value(1, len)),
            Arc::new(Int64Array::from_value(self.snapshot_id, len)),
            null(),
            null(),
            Arc::new(added.data_files.clone()),
        ];
        Ok(RecordBatch::try_new(Arc::new(schema), columns)?)
    }

    /// Writes the manifest list of an attempt. Returns where it lies and how many row ids the snapshot takes.
    fn write_list(
        &mut self,
        base: &TableMetadata,
        parent: Option<&Snapshot>,
        attempt: u32,
        context: &Context,
    ) -> Result<(String, i64)> {
        let kept = match parent {
            None => None,
            Some(snapshot) => {
                let location = snapshot.manifest_list.as_deref().ok_or_else(|| {
                    Error::unsupported("the current snapshot lists its manifests without a manifest list")
                        .hint("rewrite the table with the engine that wrote it")
                })?;
                let list = read_list(self.files.read(location, LIST_LIMIT_BYTES)?, context);
                Some(list.map_err(|e| e.with("file", location))?)
            }
        };
        let first_row_id = (base.format_version > 2).then(|| base.next_row_id.unwrap_or(0));
        let sequence_number = next_sequence_number(base);
        let list = list_rows(&self.manifests, kept, sequence_number, first_row_id)?;
        let id = self.snapshot_id;
        let location = format!("{}/snap-{id}-{attempt}-{}.avro", metadata_folder(base), self.commit_uuid);
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
        let content: Bytes = writer.finish()?;
        self.lists.push(location.clone());
        self.files.put_if_absent(&location, content)?;
        Ok((location, list.added_rows))
    }
}

impl Change for Append {
    fn revise(&mut self, base: Option<&TableMetadata>, attempt: u32, context: &Context) -> Result<Revision> {
        let base = base.ok_or_else(|| Error::new(ErrorKind::NoSuchTable, "the table is not there any more"))?;
        if self.added.iter().all(|added| added.data_files.is_empty()) {
            return Ok(Revision::Update(Vec::new()));
        }
        let parent = branch_head(base, &self.branch)?;
        self.write_manifests(base)?;
        let (manifest_list, added_rows) = self.write_list(base, parent, attempt, context)?;
        let previous = parent.map(|parent| &parent.summary);
        let summary = self.counts.summary("append", previous, &self.properties);
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
        let reference = match base.refs.get(&self.branch) {
            Some(reference) => SnapshotRef { snapshot_id: self.snapshot_id, ..reference.clone() },
            None => SnapshotRef::branch(self.snapshot_id),
        };
        let set = TableUpdate::SetRef(self.branch.clone(), reference);
        Ok(Revision::Update(vec![TableUpdate::AddSnapshot(snapshot), set]))
    }

    fn clean(&mut self, committed: Option<&TableMetadata>) {
        let own = committed.and_then(|metadata| metadata.snapshot(self.snapshot_id).ok());
        let used = own.and_then(|snapshot| snapshot.manifest_list.as_deref());
        let lists = self.lists.iter().filter(|list| Some(list.as_str()) != used);
        let manifests = self.manifests.iter().filter(|_| own.is_none()).map(|manifest| &manifest.path);
        // What cannot be deleted is an orphan, not a failure.
        lists.chain(manifests).for_each(|location| drop(self.files.delete(location)));
    }
}

fn counts(added: &[AddedFiles]) -> Result<Counts> {
    let mut counts = Counts::default();
    for AddedFiles { data_files: files, .. } in added {
        let sum = |name: &str| {
            let column = files.column_by_name(name).and_then(|column| column.as_primitive_opt::<Int64Type>());
            column.map(|column| column.iter().flatten().sum::<i64>()).ok_or_else(|| Error::internal("no such column"))
        };
        counts.added_data_files += i64::try_from(files.len()).unwrap_or(i64::MAX);
        counts.added_records += sum("record_count")?;
        counts.added_files_bytes += sum("file_size_in_bytes")?;
        counts.changed_partitions += partitions(files)?;
    }
    Ok(counts)
}

/// How many partitions files of one spec are in.
fn partitions(files: &StructArray) -> Result<i64> {
    let tuples = files.column_by_name("partition").and_then(|tuples| tuples.as_struct_opt());
    let Some(tuples) = tuples.filter(|tuples| tuples.num_columns() > 0) else {
        return Ok(i64::from(!files.is_empty()));
    };
    let fields = tuples.columns().iter().map(|column| SortField::new(column.data_type().clone())).collect();
    let keys = RowConverter::new(fields)?.convert_columns(tuples.columns())?;
    let distinct: HashSet<&[u8]> = keys.iter().map(|key| key.data()).collect();
    Ok(i64::try_from(distinct.len()).unwrap_or(i64::MAX))
}

/// The snapshot that a branch names; None for `main` of an empty table.
///
/// # Errors
/// `NoSuchSnapshot` for other branches that do not exist, `InvalidArgument` for tags.
fn branch_head<'a>(base: &'a TableMetadata, branch: &str) -> Result<Option<&'a Snapshot>> {
    match base.refs.get(branch) {
        Some(reference) if reference.kind == RefKind::Tag => {
            Err(Error::invalid(format!("`{branch}` is a tag, which never changes")))
        }
        None if branch == MAIN_BRANCH => Ok(None),
        _ => base.snapshot_by_ref(branch).map(|snapshot| Some(snapshot.as_ref())),
    }
}

/// The sequence number of the next snapshot; 0 in v1, which has none.
fn next_sequence_number(base: &TableMetadata) -> i64 {
    if base.format_version > 1 { base.last_sequence_number + 1 } else { 0 }
}

/// The folder of new metadata files.
fn metadata_folder(base: &TableMetadata) -> String {
    let own = base.properties.get("write.metadata.path").map(|path| path.trim_end_matches('/').to_string());
    own.unwrap_or_else(|| format!("{}/metadata", base.location.trim_end_matches('/')))
}

fn conflicting(error: Error) -> Error {
    Error::new(ErrorKind::CommitConflict, "the partition specs of the table changed").caused_by(error)
}

#[cfg(test)]
#[path = "append_tests.rs"]
mod tests;
