//! Rewrites files of one bucket: writes their rows to new files, which replace them.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, Int8Array, Int64Array, RecordBatch};
use arrow_schema::SchemaRef;
use frazil_core::align::filled;
use frazil_core::error::{Error, Result};
use frazil_core::storage::Files;

use super::changelog::{ChangelogOutput, added, images};
use super::vectors::BucketVectors;
use crate::merge::{Trace, with_nullable_values};
use crate::spec::columns::{ROW_KIND, SEQUENCE_NUMBER};
use crate::spec::entries_builder::{BucketOf, EntriesBuilder, NewFile};
use crate::spec::manifest::ManifestEntries;
use crate::spec::options::Options;
use crate::spec::partition_path::Naming;
use crate::spec::schema::TableSchema;
use crate::table::Table;
use crate::table::partition_folder;
use crate::task::SplitTask;
use crate::write::align::Align;
use crate::write::avro_schema::avro_schema;
use crate::write::change::{BucketChange, Home, Increment};
use crate::write::file::{EntrySettings, FileBuilder, FileSpec};
use crate::write::file_schema::FileSchema;
use crate::write::format::Blanks;
use crate::write::kinds;
use crate::write::path::DataFilePaths;
use crate::write::rows::FilesOf;
use crate::write::side_files::SideFiles;
use crate::write::upsert::Records;

/// The state that all rewrites of a table share.
#[derive(Debug)]
pub(super) struct Shared {
    schema: Arc<TableSchema>,
    options: Options,
    location: String,
    files: Files,
    snapshot: Option<i64>,
    entries: Arc<EntrySettings>,
    blanks: Blanks,
    naming: Naming,
}

impl Shared {
    pub(super) fn try_new(table: &Table, options: &Options, snapshot: Option<i64>, utc_offset_ms: i64) -> Result<Self> {
        let schema = table.schema();
        Ok(Self {
            // Merge engines may produce NULL even in NOT NULL columns.
            schema: with_nullable_values(schema.clone(), options),
            location: table.location().to_string(),
            files: table.files().clone(),
            snapshot,
            entries: Arc::new(EntrySettings::try_new(schema, options, utc_offset_ms)?),
            blanks: Blanks::try_new(schema, options)?,
            naming: Naming::from_options(options)?,
            options: options.clone(),
        })
    }
}

/// The files of one group, which are read and merged.
#[derive(Debug)]
pub(super) struct GroupRead {
    pub(super) read: SplitTask,
    /// Whether the rows are written to data files.
    pub(super) is_written: bool,
    /// For rows with a [`Trace`], whether those that only delete are left out.
    pub(super) drops_deletes: Option<bool>,
}

impl GroupRead {
    fn first_sequence(&self) -> i64 {
        self.read.split.files.iter().map(|file| file.min_sequence_number).min().unwrap_or(0)
    }
}

/// The part of a commit that replaces files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommitPart {
    /// Rows change: the replacement is committed like new rows.
    Append,
    /// Rows do not change.
    Compact,
}

/// One rewrite: accepts the rows of groups of files, returns rows for files, and collects the metadata of the files.
#[derive(Debug)]
pub struct CompactTask {
    shared: Arc<Shared>,
    groups: Vec<GroupRead>,
    home: Home,
    folder: String,
    removed: ManifestEntries,
    level: i32,
    spec: FileSpec,
    align: Align,
    /// The columns of files of primary-key tables, and the positions of the key columns.
    keyed: Option<(FileSchema, Vec<usize>)>,
    paths: DataFilePaths,
    side_files: SideFiles,
    /// The next sequence number of each group; not used in tables with a primary key.
    next_sequences: Vec<i64>,
    /// The files that are being written, by group.
    open: BTreeMap<usize, FileBuilder>,
    files: Vec<NewFile>,
    vectors: Option<BucketVectors>,
    changelog: Option<ChangelogOutput>,
    /// See [`BucketChange::upper_files`].
    upper_files: Option<u64>,
    part: CommitPart,
}

impl CompactTask {
    pub(super) fn try_new(
        shared: Arc<Shared>,
        groups: Vec<GroupRead>,
        home: Home,
        removed: ManifestEntries,
        level: i32,
    ) -> Result<Self> {
        let schema = &shared.schema;
        let align = Align::new(schema.clone());
        let keyed = (!schema.primary_keys.is_empty()).then(|| -> Result<_> {
            let keys = schema.trimmed_primary_keys().into_iter();
            let places = keys.filter_map(|key| schema.fields.iter().position(|field| field.name == key)).collect();
            Ok((FileSchema::try_new(schema, align.arrow(), &shared.options)?, places))
        });
        let spec_level = (!schema.primary_keys.is_empty()).then_some(level);
        Ok(Self {
            spec: FileSpec::from_options(&shared.options, spec_level)?,
            keyed: keyed.transpose()?,
            folder: partition_folder(schema, &home.partition, &shared.naming)?,
            paths: DataFilePaths::try_new(&shared.files, &shared.location, &shared.options)?,
            side_files: SideFiles::new(&shared.files),
            next_sequences: groups.iter().map(GroupRead::first_sequence).collect(),
            align,
            groups,
            home,
            removed,
            level,
            open: BTreeMap::new(),
            files: Vec::new(),
            vectors: None,
            changelog: None,
            upper_files: None,
            part: CommitPart::Compact,
            shared,
        })
    }

    /// Returns this task with deletion vectors, which mark the records that the merged ones replace.
    pub(super) fn with_vectors(self, vectors: BucketVectors) -> Self {
        Self { vectors: Some(vectors), ..self }
    }

    /// Returns this task with changelog files.
    pub(super) fn with_changelog(self, changelog: ChangelogOutput) -> Self {
        Self { changelog: Some(changelog), ..self }
    }

    /// Returns this task, whose result depends on the files above level 0 of the bucket.
    pub(super) fn above(self, upper_files: Option<u64>) -> Self {
        Self { upper_files, ..self }
    }

    /// Returns this task as a part of a commit.
    pub(super) fn committed_as(self, part: CommitPart) -> Self {
        Self { part, ..self }
    }

    /// Returns the files to read, group by group.
    pub fn reads(&self) -> impl Iterator<Item = &SplitTask> {
        self.groups.iter().map(|group| &group.read)
    }

    /// Returns the encoding of files, or None for changelog files of a compaction without them.
    pub fn file(&self, of: FilesOf) -> Option<&FileSpec> {
        match of {
            FilesOf::Data => Some(&self.spec),
            FilesOf::Changelog => self.changelog.as_ref().map(ChangelogOutput::spec),
        }
    }

    /// Returns the columns of files, with field ids.
    pub fn arrow(&self) -> &SchemaRef {
        self.keyed.as_ref().map_or_else(|| self.align.arrow(), |(files, _)| files.arrow())
    }

    /// Returns the columns of files as an Avro schema.
    ///
    /// # Errors
    /// As for [`avro_schema`].
    pub fn avro_schema(&self) -> Result<String> {
        avro_schema(self.keyed.as_ref().map_or(&self.shared.schema.fields, |(files, _)| files.columns()))
    }

    /// Converts rows of a group to rows of a file, and records them for the metadata of the file. Returns None if no row
    /// remains.
    ///
    /// # Errors
    /// `Internal` for rows that do not have the columns of the group.
    pub fn take(&mut self, group: usize, batch: &RecordBatch) -> Result<Option<RecordBatch>> {
        let unknown = || Error::internal(format!("a compaction has no group {group}"));
        let GroupRead { read, is_written, drops_deletes } = self.groups.get(group).ok_or_else(unknown)?;
        let is_written = *is_written;
        let Some(drops_deletes) = *drops_deletes else {
            let records = self.records(batch)?;
            return self.put(group, &records).map(Some);
        };
        let (rows, trace) = Trace::split_off(batch)?;
        if let Some(vectors) = &mut self.vectors {
            vectors.mark(&read.split.files, &trace)?;
        }
        let mut records = self.records(&rows)?;
        if self.changelog.is_some() {
            self.log(group, &records, &trace)?;
        }
        if drops_deletes {
            let is_added = records.kinds.iter().map(|kind| kind.map(|kind| kind & 1 == 0)).collect();
            records = records.filter(&is_added)?;
        }
        if !is_written || records.values.num_rows() == 0 {
            return Ok(None);
        }
        self.put(group, &records).map(Some)
    }

    /// Writes the changes of merged rows to the changelog.
    fn log(&mut self, group: usize, after: &Records, trace: &Trace) -> Result<()> {
        let images = images(trace)?;
        let before = Records { kinds: added(images.num_rows()), ..self.values_of(&images)? };
        let (Some(changelog), Some((schema, places))) = (&mut self.changelog, &self.keyed) else { return Ok(()) };
        let changes = changelog.changes(&before, after, trace)?;
        if changes.values.num_rows() == 0 {
            return Ok(());
        }
        let keys: Vec<ArrayRef> = places.iter().map(|place| changes.values.column(*place).clone()).collect();
        let rows = filled(schema.rows(&changes, keys.clone())?)?;
        changelog.push(group, &changes, &keys, rows)
    }

    /// Returns the records in rows, as they are written.
    fn records(&mut self, batch: &RecordBatch) -> Result<Records> {
        let records = self.values_of(batch)?;
        if self.keyed.is_none() {
            return Ok(records);
        }
        let kinds = kinds::parse(ROW_KIND, column(batch, ROW_KIND)?, 0, Some(kinds::INSERT))?;
        Ok(Records { kinds, ..records })
    }

    /// Returns the values in rows, and their sequence numbers if the table has a primary key.
    fn values_of(&mut self, batch: &RecordBatch) -> Result<Records> {
        let names =
            self.shared.schema.fields.iter().map(|field| Ok((field.name.clone(), column(batch, &field.name)?.clone())));
        let fields = names.collect::<Result<Vec<(String, ArrayRef)>>>()?;
        let values =
            RecordBatch::try_from_iter_with_nullable(fields.into_iter().map(|(name, values)| (name, values, true)))?;
        let values = self.align.align(&values)?;
        self.shared.blanks.check_keys(&values)?;
        let values = self.shared.blanks.trimmed(values)?;
        let mut sequences = Int64Array::from_iter_values([]);
        if self.keyed.is_some() {
            let numbers = column(batch, SEQUENCE_NUMBER)?;
            sequences = numbers.as_primitive_opt().ok_or_else(|| no_column(SEQUENCE_NUMBER))?.clone();
        }
        Ok(Records { slot: 0, values, sequences, kinds: Int8Array::from(Vec::<i8>::new()) })
    }

    /// Adds records to the current file of a group, and returns the rows of the file.
    fn put(&mut self, group: usize, records: &Records) -> Result<RecordBatch> {
        let entries = self.shared.entries.clone();
        let (part, level) = (self.part, self.level);
        let file = self.open.entry(group).or_insert_with(|| match part {
            CommitPart::Append => FileBuilder::new(entries),
            CommitPart::Compact => FileBuilder::compacted(entries, level),
        });
        let Some((schema, places)) = &self.keyed else {
            let count = i64::try_from(records.values.num_rows()).unwrap_or(i64::MAX);
            let next = self.next_sequences.get_mut(group).ok_or_else(|| Error::internal("a group has no number"))?;
            file.add(&records.values, *next)?;
            *next = next.saturating_add(count);
            return filled(records.values.clone());
        };
        let keys: Vec<ArrayRef> = places.iter().map(|place| records.values.column(*place).clone()).collect();
        file.add_records(records, &keys)?;
        filled(schema.rows(records, keys)?)
    }

    /// Returns the next rows of changelog files, by group.
    pub fn next_changelog(&mut self) -> Option<(usize, RecordBatch)> {
        self.changelog.as_mut().and_then(ChangelogOutput::next)
    }

    /// Returns the location of the next file.
    ///
    /// # Errors
    /// As for [`DataFilePaths::next_location`].
    pub fn new_location(&mut self, of: FilesOf, extension: &str) -> Result<String> {
        match (of, &mut self.changelog) {
            (FilesOf::Changelog, Some(changelog)) => changelog.new_location(&self.folder, self.home.bucket, extension),
            _ => self.paths.next_location(&self.folder, self.home.bucket, extension),
        }
    }

    /// Ends the current file of a group, which contains the rows added since the last call.
    ///
    /// # Errors
    /// `Internal` for a file without rows; `Storage` if the index of the file cannot be written.
    pub fn close(&mut self, of: FilesOf, group: usize, path: &str, size_bytes: i64) -> Result<()> {
        if let (FilesOf::Changelog, Some(changelog)) = (of, &mut self.changelog) {
            return changelog.close(group, path, size_bytes, &mut self.side_files);
        }
        let file = self.open.remove(&group).ok_or_else(|| Error::internal("a file has no rows"))?;
        let mut file = self.side_files.finish(file, path, size_bytes)?;
        file.meta.external_path = self.paths.external_path(path);
        self.files.push(file);
        Ok(())
    }

    /// Deletes the index files that were written. Files that cannot be deleted remain as orphan files.
    pub fn abort(&mut self) {
        self.side_files.delete();
    }

    /// Returns the numbers of files, rows and bytes that were written.
    pub fn written(&self) -> (usize, i64, i64) {
        let sum = |of: fn(&NewFile) -> i64| self.files.iter().map(of).fold(0, i64::saturating_add);
        (self.files.len(), sum(|file| file.meta.row_count), sum(|file| file.meta.file_size_bytes))
    }

    /// Returns the change of the bucket for a commit: the removed files and the new files. Writes the deletion vectors.
    ///
    /// # Errors
    /// As for [`EntriesBuilder::finish`] and [`BucketVectors::finish`].
    pub fn change(&mut self) -> Result<BucketChange> {
        let total_buckets = self.groups.first().map_or(-1, |group| group.read.split.total_buckets);
        let entries = |files: &[NewFile]| {
            let mut entries = EntriesBuilder::default();
            for file in files {
                let Home { partition, bucket } = &self.home;
                entries.push(BucketOf { partition, bucket: *bucket, total_buckets }, file.clone());
            }
            entries.finish()
        };
        let changelog = self.changelog.as_ref().map_or(&[][..], |changelog| &changelog.files);
        let mut increment = Increment {
            removed: self.removed.clone(),
            added: entries(&self.files)?,
            changelog: entries(changelog)?,
            ..Increment::empty()?
        };
        if let Some(vectors) = &mut self.vectors {
            let rewritten: HashSet<&str> = self.removed.file_names().iter().flatten().collect();
            let put = |location: &str, content| self.side_files.put(location, content);
            (increment.index_removed, increment.index_added) = vectors.finish(&rewritten, put)?;
        }
        let (append, compact) = match self.part {
            CommitPart::Append => (increment, Increment::empty()?),
            CommitPart::Compact => (Increment::empty()?, increment),
        };
        Ok(BucketChange {
            home: self.home.clone(),
            total_buckets,
            base_snapshot: self.shared.snapshot,
            upper_files: self.upper_files,
            append,
            compact,
        })
    }
}

fn column<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a ArrayRef> {
    batch.column_by_name(name).ok_or_else(|| no_column(name))
}

fn no_column(name: &str) -> Error {
    Error::internal(format!("the rows of a compaction do not have the column `{name}`"))
}
