//! Compacts files of one bucket: writes their rows to new files, which replace them.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::SchemaRef;
use arrow_select::filter::filter_record_batch;
use frazil_core::align::filled;
use frazil_core::error::{Error, Result};
use frazil_core::storage::Files;

use super::bucket_reader::total_buckets;
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
use crate::write::side_files::SideFiles;
use crate::write::upsert::Records;

/// The state that all compactions of a table share.
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
    /// For rows with a [`Trace`], whether those that only delete are left out.
    pub(super) drops_deletes: Option<bool>,
}

/// One compaction: accepts the rows of groups of files, returns rows for files, and collects the metadata of the files.
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
    next_sequence: i64,
    /// The files that are being written, by group.
    open: BTreeMap<usize, FileBuilder>,
    files: Vec<NewFile>,
    vectors: Option<BucketVectors>,
    /// See [`BucketChange::upper_files`].
    upper_files: Option<u64>,
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
            next_sequence: removed.min_sequence_numbers().values().iter().copied().min().unwrap_or(0),
            align,
            groups,
            home,
            removed,
            level,
            open: BTreeMap::new(),
            files: Vec::new(),
            vectors: None,
            upper_files: None,
            shared,
        })
    }

    /// Returns this task with deletion vectors, which mark the records that the merged ones replace.
    pub(super) fn with_vectors(self, vectors: BucketVectors) -> Self {
        Self { vectors: Some(vectors), ..self }
    }

    /// Returns this task, whose result depends on the files above level 0 of the bucket.
    pub(super) fn above(self, upper_files: Option<u64>) -> Self {
        Self { upper_files, ..self }
    }

    /// Returns the files to read, group by group.
    pub fn reads(&self) -> impl Iterator<Item = &SplitTask> {
        self.groups.iter().map(|group| &group.read)
    }

    /// Returns the encoding of files.
    pub fn file(&self) -> &FileSpec {
        &self.spec
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
        let GroupRead { read, drops_deletes } = self.groups.get(group).ok_or_else(unknown)?;
        let Some(drops_deletes) = *drops_deletes else { return self.put(group, batch).map(Some) };
        let (mut rows, trace) = Trace::split_off(batch)?;
        if let Some(vectors) = &mut self.vectors {
            vectors.mark(&read.split.files, &trace)?;
        }
        if drops_deletes {
            let kinds = kinds::parse(ROW_KIND, column(&rows, ROW_KIND)?, 0, Some(kinds::INSERT))?;
            rows = filter_record_batch(&rows, &kinds.iter().map(|kind| kind.map(|kind| kind & 1 == 0)).collect())?;
        }
        if rows.num_rows() == 0 { Ok(None) } else { self.put(group, &rows).map(Some) }
    }

    fn put(&mut self, group: usize, batch: &RecordBatch) -> Result<RecordBatch> {
        let names =
            self.shared.schema.fields.iter().map(|field| Ok((field.name.clone(), column(batch, &field.name)?.clone())));
        let fields = names.collect::<Result<Vec<(String, ArrayRef)>>>()?;
        let values =
            RecordBatch::try_from_iter_with_nullable(fields.into_iter().map(|(name, values)| (name, values, true)))?;
        let values = self.align.align(&values)?;
        self.shared.blanks.check_keys(&values)?;
        let values = self.shared.blanks.trimmed(values)?;
        let entries = self.shared.entries.clone();
        let file = self.open.entry(group).or_insert_with(|| FileBuilder::compacted(entries, self.level));
        let Some((schema, places)) = &self.keyed else {
            let count = i64::try_from(values.num_rows()).unwrap_or(i64::MAX);
            file.add(&values, self.next_sequence)?;
            self.next_sequence = self.next_sequence.saturating_add(count);
            return filled(values);
        };
        let numbers = column(batch, SEQUENCE_NUMBER)?;
        let sequences = numbers.as_primitive_opt().ok_or_else(|| no_column(SEQUENCE_NUMBER))?;
        let kinds = kinds::parse(ROW_KIND, column(batch, ROW_KIND)?, 0, Some(kinds::INSERT))?;
        let records = Records { slot: 0, values, sequences: sequences.clone(), kinds };
        let keys: Vec<ArrayRef> = places.iter().map(|place| records.values.column(*place).clone()).collect();
        file.add_records(&records, &keys)?;
        filled(schema.rows(&records, keys)?)
    }

    /// Returns the location of the next file.
    ///
    /// # Errors
    /// As for [`DataFilePaths::next_location`].
    pub fn new_location(&mut self, extension: &str) -> Result<String> {
        self.paths.next_location(&self.folder, self.home.bucket, extension)
    }

    /// Ends the current file of a group, which contains the rows added since the last call.
    ///
    /// # Errors
    /// `Internal` for a file without rows; `Storage` if the index of the file cannot be written.
    pub fn close(&mut self, group: usize, path: &str, size_bytes: i64) -> Result<()> {
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
        let total_buckets = total_buckets(&self.removed);
        let mut entries = EntriesBuilder::default();
        for file in &self.files {
            let Home { partition, bucket } = &self.home;
            entries.push(BucketOf { partition, bucket: *bucket, total_buckets }, file.clone());
        }
        let mut compact = Increment { removed: self.removed.clone(), added: entries.finish()?, ..Increment::empty()? };
        if let Some(vectors) = &mut self.vectors {
            let rewritten: HashSet<&str> = self.removed.file_names().iter().flatten().collect();
            let put = |location: &str, content| self.side_files.put(location, content);
            (compact.index_removed, compact.index_added) = vectors.finish(&rewritten, put)?;
        }
        Ok(BucketChange {
            home: self.home.clone(),
            total_buckets,
            base_snapshot: self.shared.snapshot,
            upper_files: self.upper_files,
            append: Increment::empty()?,
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
