//! Reads the files of a bucket for rewriting: all columns of the latest schema, which may be newer than the files.

use std::collections::BTreeMap;
use std::sync::Arc;

use frazil_core::error::Result;
use frazil_core::sql::predicate::BoundPredicate;

use crate::context::output::Output;
use crate::context::split::DataSplit;
use crate::context::{ReadContext, View};
use crate::merge::Watch;
use crate::read::expiry::Expiry;
use crate::read::scan_read::ScanRead;
use crate::scan::deletions::DeletionIndex;
use crate::scan::live::add_schemas;
use crate::spec::columns::{ROW_KIND, SEQUENCE_NUMBER};
use crate::spec::data_file_meta::DataFileMeta;
use crate::spec::manifest::ManifestEntries;
use crate::spec::options::Options;
use crate::spec::partition_path::Naming;
use crate::table::Table;
use crate::table::partition_folder;
use crate::task::SplitTask;
use crate::write::change::Home;

/// The columns of records in addition to those of the table.
const OF_RECORDS: [&str; 2] = [ROW_KIND, SEQUENCE_NUMBER];

/// The reader of files of a snapshot.
#[derive(Debug)]
pub(super) struct Reads {
    snapshot: Option<i64>,
    naming: Naming,
    rows: Arc<ScanRead>,
    /// The scan that keeps rows that delete.
    records: Arc<ScanRead>,
}

impl Reads {
    /// Creates a reader of files that leaves out expired records.
    ///
    /// # Errors
    /// As for [`ScanRead::try_new`].
    pub(super) fn try_new(context: ReadContext, expiry: Option<Arc<Expiry>>, snapshot: Option<i64>) -> Result<Self> {
        let (schema, options) = (&context.schema, &context.options);
        let mut columns: Vec<String> = schema.fields.iter().map(|field| field.name.clone()).collect();
        if !schema.primary_keys.is_empty() {
            columns.extend(OF_RECORDS.map(str::to_string));
        }
        let output = Output::select(schema, (View::Rows, options), &columns, true)?;
        let naming = Naming::from_options(options)?;
        let records = ReadContext { view: View::AuditLog, ..context.clone() };
        Ok(Self {
            snapshot,
            naming,
            rows: Arc::new(ScanRead::try_new(Arc::new(context), output.clone())?.without_expired(expiry.clone())),
            records: Arc::new(ScanRead::try_new(Arc::new(records), output)?.without_expired(expiry)),
        })
    }

    /// Returns the read of merged rows, with or without those that only delete.
    pub(super) fn merged(&self, keeps_retracts: bool) -> Arc<ScanRead> {
        if keeps_retracts { self.records.clone() } else { self.rows.clone() }
    }

    /// Returns the read of merged rows with observations.
    pub(super) fn watched(&self, watch: Watch) -> Arc<ScanRead> {
        Arc::new(self.records.as_ref().clone().watching(watch))
    }

    /// Returns the task that reads files of a bucket without the rows of their deletion vectors.
    ///
    /// # Errors
    /// `CorruptManifest` for files and partitions that do not decode.
    pub(super) fn task(
        &self,
        home: &Home,
        files: &ManifestEntries,
        read: Arc<ScanRead>,
        deletions: &DeletionIndex,
    ) -> Result<SplitTask> {
        let context = &read.context;
        let folder = partition_folder(&context.schema, &home.partition, &self.naming)?;
        let metas = (0..files.len()).map(|row| files.file(row)).collect::<Result<Vec<DataFileMeta>>>()?;
        let vector = |file: &DataFileMeta| deletions.of(&home.partition, home.bucket, &file.file_name).cloned();
        let deletion_files = metas.iter().map(vector).collect();
        let split = DataSplit {
            // Only for messages; 0 before the first snapshot.
            snapshot_id: self.snapshot.unwrap_or(0),
            partition: home.partition.to_vec(),
            bucket: home.bucket,
            total_buckets: total_buckets(files),
            bucket_path: context.bucket_path(&folder, home.bucket)?,
            files: metas,
            deletion_files,
            raw_convertible: !context.has_primary_key(),
            streaming: false,
        };
        Ok(SplitTask { read, split, before: None })
    }
}

/// Returns the context that is shared by all reads of a compaction of the files `live`.
///
/// # Errors
/// `CorruptManifest` for files whose schema is not in the table.
pub(super) fn read_context(table: &Table, options: &Options, live: &ManifestEntries) -> Result<ReadContext> {
    let schema = table.schema();
    let mut schemas = BTreeMap::from([(schema.id, schema.clone())]);
    add_schemas(&mut schemas, table, live)?;
    Ok(ReadContext {
        files: table.files().clone(),
        table_location: table.location().to_string(),
        schema: schema.clone(),
        schemas,
        options: options.clone(),
        filter: BoundPredicate::True,
        view: View::Rows,
    })
}

/// Returns the number of buckets in the partition of files.
pub(super) fn total_buckets(files: &ManifestEntries) -> i32 {
    files.total_buckets().iter().flatten().next().unwrap_or(-1)
}
