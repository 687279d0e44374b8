//! Finds the rows that wait for buckets. They are read in the order in which they were written, and written again to
//! buckets by a commit that also removes the files in which they waited.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{BooleanArray, UInt32Array};
use frazil_core::context::Context;
use frazil_core::error::Result;

use super::bucket_reader::{Reads, read_context};
use super::plan::{CompactRequest, files, selected};
use crate::context::output::{MetadataColumn, Output};
use crate::read::scan_read::ScanRead;
use crate::scan::deletions::DeletionIndex;
use crate::spec::manifest::ManifestEntries;
use crate::spec::options::Options;
use crate::spec::partition_path::POSTPONED;
use crate::table::Table;
use crate::task::SplitTask;
use crate::write::change::{BucketChange, Home, Increment};
use crate::write::postponed::is_postponed;
use crate::write::rows::kind_column;

/// The rows that wait for buckets.
#[derive(Debug, Default)]
pub struct WaitingRows {
    /// The reads of the rows, one for each partition, with row kinds unless a column of the table has them.
    pub reads: Vec<SplitTask>,
    /// The removal of their files.
    pub removed: Vec<BucketChange>,
}

/// Returns the rows of the requested partitions that wait for buckets in the latest snapshot.
///
/// # Errors
/// `InvalidArgument` for partitions that do not exist; `CorruptManifest` for manifests that do not decode.
pub fn waiting_rows(table: &Table, request: &CompactRequest, context: &Context) -> Result<WaitingRows> {
    let mut found = WaitingRows::default();
    let schema = table.schema();
    let options = Options::new(schema.options.clone());
    let Some(latest) = table.latest_snapshot()?.filter(|_| is_postponed(&options).unwrap_or(false)) else {
        return Ok(found);
    };
    let live = files(table, Some(&latest), request, context)?;
    let read = read_context(table, &options, &live)?;
    let live = selected(&read, live, request)?;
    let waits: BooleanArray = live.buckets().values().iter().map(|bucket| Some(*bucket == POSTPONED)).collect();
    let live = live.filter(&waits)?;
    let metadata = if kind_column(schema, &options)?.is_none() { vec![MetadataColumn::RowKind] } else { Vec::new() };
    let output = Output { fields: schema.fields.clone(), metadata, images: false };
    let records = Arc::new(ScanRead::try_new(Arc::new(read.clone()), output)?);
    let reads = Reads::try_new(read, None, Some(latest.id))?;
    for (home, rows) in Home::rows(&live) {
        let files = in_order(&live, rows)?;
        let mut task = reads.task(&home, &files, records.clone(), &DeletionIndex::default())?;
        task.split.streaming = true;
        found.reads.push(task);
        let compact = Increment { removed: files, ..Increment::empty()? };
        found.removed.push(BucketChange {
            home,
            total_buckets: POSTPONED,
            base_snapshot: Some(latest.id),
            upper_files: None,
            append: Increment::empty()?,
            compact,
        });
    }
    Ok(found)
}

/// Returns files by their creation time. Files of the same time keep the order of the manifests.
fn in_order(live: &ManifestEntries, rows: Vec<u32>) -> Result<ManifestEntries> {
    let files = live.take(&UInt32Array::from(rows))?;
    let mut by_time: BTreeMap<Option<i64>, Vec<u32>> = BTreeMap::new();
    for (row, time) in (0_u32..).zip(files.creation_times_ms()) {
        by_time.entry(time).or_default().push(row);
    }
    files.take(&UInt32Array::from(by_time.into_values().flatten().collect::<Vec<_>>()))
}
