//! Compacts files of one bucket: writes their rows to new files, which replace them.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::SchemaRef;
use frazil_core::align::filled;
use frazil_core::error::{Error, Result};
use frazil_core::storage::Files;

use crate::merge::with_nullable_values;
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

/// One compaction: accepts the rows of a split, returns rows for files, and collects the metadata of the files.
#[derive(Debug)]
pub struct CompactTask {
    shared: Arc<Shared>,
    read: SplitTask,
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
    open: Option<FileBuilder>,
    files: Vec<NewFile>,
}

impl CompactTask {
    pub(super) fn try_new(
        shared: Arc<Shared>,
        read: SplitTask,
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
            read,
            home,
            removed,
            level,
            open: None,
            files: Vec::new(),
            shared,
        })
    }

    /// Returns the files to read.
    pub fn read(&self) -> &SplitTask {
        &self.read
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

    /// Converts rows of the split to rows of a file, and records them for the metadata of the file.
    ///
    /// # Errors
    /// `Internal` for rows that do not have the columns of the split.
    pub fn take(&mut self, batch: &RecordBatch) -> Result<RecordBatch> {
        let column = |name: &str| batch.column_by_name(name).ok_or_else(|| no_column(name));
        let names =
            self.shared.schema.fields.iter().map(|field| Ok((field.name.clone(), column(&field.name)?.clone())));
        let fields = names.collect::<Result<Vec<(String, ArrayRef)>>>()?;
        let values =
            RecordBatch::try_from_iter_with_nullable(fields.into_iter().map(|(name, values)| (name, values, true)))?;
        let values = self.align.align(&values)?;
        self.shared.blanks.check_keys(&values)?;
        let values = self.shared.blanks.trimmed(values)?;
        let entries = self.shared.entries.clone();
        let file = self.open.get_or_insert_with(|| FileBuilder::compacted(entries, self.level));
        let Some((schema, places)) = &self.keyed else {
            let count = i64::try_from(values.num_rows()).unwrap_or(i64::MAX);
            file.add(&values, self.next_sequence)?;
            self.next_sequence = self.next_sequence.saturating_add(count);
            return filled(values);
        };
        let sequences = column(SEQUENCE_NUMBER)?.as_primitive_opt().ok_or_else(|| no_column(SEQUENCE_NUMBER))?;
        let kinds = kinds::parse(ROW_KIND, column(ROW_KIND)?, 0, Some(kinds::INSERT))?;
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

    /// Ends the current file, which contains the rows added since the last call.
    ///
    /// # Errors
    /// `Internal` for a file without rows; `Storage` if the index of the file cannot be written.
    pub fn close(&mut self, path: &str, size_bytes: i64) -> Result<()> {
        let file = self.open.take().ok_or_else(|| Error::internal("a file has no rows"))?;
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

    /// Returns the change of the bucket for a commit: the removed files and the new files.
    ///
    /// # Errors
    /// As for [`EntriesBuilder::finish`].
    pub fn change(&self) -> Result<BucketChange> {
        let total_buckets = self.read.split.total_buckets;
        let mut entries = EntriesBuilder::default();
        for file in &self.files {
            let Home { partition, bucket } = &self.home;
            entries.push(BucketOf { partition, bucket: *bucket, total_buckets }, file.clone());
        }
        let compact = Increment { removed: self.removed.clone(), added: entries.finish()?, ..Increment::empty()? };
        Ok(BucketChange {
            home: self.home.clone(),
            total_buckets,
            base_snapshot: self.shared.snapshot,
            append: Increment::empty()?,
            compact,
        })
    }
}

fn no_column(name: &str) -> Error {
    Error::internal(format!("the rows of a compaction do not have the column `{name}`"))
}
