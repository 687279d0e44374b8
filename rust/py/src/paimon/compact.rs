//! Compactions of Paimon tables.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use frazil_core::error::{Error, Result};
use frazil_core::sql::expression::Expression;
use frazil_paimon::compact::plan::{self, Appended, CompactRequest};
use frazil_paimon::compact::postponed;
use frazil_paimon::compact::task::CompactTask;
use frazil_paimon::write::change::BucketChange;
use frazil_paimon::write::rows::FilesOf;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use super::rows::{PaimonFileSpec, Parts};
use super::split::PaimonSplit;
use super::table::PaimonTable;
use crate::arrow::{self, ArrowBatch};
use crate::avro_writer::AvroWriter;
use crate::interrupt::{detached, interruptible};

fn partition_filter(text: &str) -> Result<Expression> {
    if text.is_empty() { Ok(Expression::TRUE) } else { Expression::filter(text) }
}

/// A task that rewrites some files of one bucket.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct PaimonCompaction {
    task: Arc<Mutex<CompactTask>>,
    of: FilesOf,
    /// The number of the split whose rows are written.
    group: AtomicUsize,
}

impl PaimonCompaction {
    pub(crate) fn new(task: CompactTask) -> Self {
        Self { task: Arc::new(Mutex::new(task)), of: FilesOf::Data, group: AtomicUsize::new(0) }
    }

    fn with<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut CompactTask) -> Result<R, Error> + Send,
    ) -> PyResult<R> {
        detached(py, || {
            work(&mut *self.task.lock().map_err(|_| Error::internal("an earlier call of this compaction failed"))?)
        })
    }
}

#[pymethods]
impl PaimonCompaction {
    /// Returns the compactions of the latest snapshot: those that are due, or with `full` all that reduce the number of
    /// files. Also returns commit messages of files whose level only changes. `partitions` are values of partition
    /// columns as text; empty for all partitions. `row_filter` applies to partition columns. `buckets` are commit messages,
    /// to whose buckets the compaction is limited; None for all. The files that they append are `added` to the bucket or
    /// `replacing` its files if they are not yet part of the table, else None. `of_writer` is whether their writer
    /// compacts, which it does not if the table leaves compaction to a dedicated job; `identifier` is the number of its
    /// commit.
    #[staticmethod]
    #[pyo3(signature = (table, *, full, partitions, row_filter, utc_offset_ms, buckets, appended, of_writer, identifier))]
    #[expect(clippy::too_many_arguments, reason = "the parameters of a compaction")]
    fn plan<'py>(
        py: Python<'py>,
        table: &PaimonTable,
        full: bool,
        partitions: Vec<BTreeMap<String, Option<String>>>,
        row_filter: &str,
        utc_offset_ms: i64,
        buckets: Option<Vec<PyBackedBytes>>,
        appended: Option<&str>,
        of_writer: bool,
        identifier: Option<i64>,
    ) -> PyResult<(Vec<Self>, Vec<Bound<'py, PyBytes>>)> {
        let appended = match appended {
            None => None,
            Some("added") => Some(Appended::Added),
            Some("replacing") => Some(Appended::Replacing),
            Some(other) => return Err(PyValueError::new_err(format!("invalid role of appended files: {other}"))),
        };
        let (tasks, upgrades) = interruptible(py, |context| {
            let opened = |messages: Vec<PyBackedBytes>| -> Result<Vec<BucketChange>> {
                messages.iter().map(|message| BucketChange::open(message)).collect()
            };
            let buckets = buckets.map(opened).transpose()?;
            let request = CompactRequest {
                full,
                buckets,
                appended,
                is_of_writer: of_writer,
                identifier,
                partitions,
                partition_filter: partition_filter(row_filter)?,
                utc_offset_ms,
            };
            let planned = plan::plan(&table.0, &request, context)?;
            let upgrades = planned.upgrades.iter().map(BucketChange::seal).collect::<Result<Vec<_>>>()?;
            Ok((planned.tasks, upgrades))
        })?;
        let tasks = tasks.into_iter().map(Self::new).collect();
        Ok((tasks, upgrades.iter().map(|message| PyBytes::new(py, message)).collect()))
    }

    /// Returns the reads of rows that wait for buckets, with one split for each partition, and the commit messages that
    /// remove their files. `partitions` and `row_filter` are as for `plan`.
    #[staticmethod]
    #[pyo3(signature = (table, *, partitions, row_filter))]
    fn waiting_rows<'py>(
        py: Python<'py>,
        table: &PaimonTable,
        partitions: Vec<BTreeMap<String, Option<String>>>,
        row_filter: &str,
    ) -> PyResult<(Vec<PaimonSplit>, Vec<Bound<'py, PyBytes>>)> {
        let (reads, removed) = interruptible(py, |context| {
            let request = CompactRequest {
                full: true,
                buckets: None,
                appended: None,
                is_of_writer: false,
                identifier: None,
                partitions,
                partition_filter: partition_filter(row_filter)?,
                utc_offset_ms: 0,
            };
            let found = postponed::waiting_rows(&table.0, &request, context)?;
            Ok((found.reads, found.removed.iter().map(BucketChange::seal).collect::<Result<Vec<_>>>()?))
        })?;
        let removed = removed.iter().map(|message| PyBytes::new(py, message)).collect();
        Ok((reads.into_iter().map(PaimonSplit::new).collect(), removed))
    }

    /// Returns the files to read, as one split for each group of files that become one sorted run.
    fn reads(&self, py: Python<'_>) -> PyResult<Vec<PaimonSplit>> {
        self.with(py, |task| Ok(task.reads().cloned().map(PaimonSplit::new).collect()))
    }

    /// Begins the rows of a split, by its number.
    fn begin(&self, group: usize) {
        self.group.store(group, Ordering::Relaxed);
    }

    /// Returns the changelog files of the compaction, whose rows are returned after each `split` of the data files. None
    /// if there are none.
    fn changelog(&self, py: Python<'_>) -> PyResult<Option<Self>> {
        let has = self.with(py, |task| Ok(task.file(FilesOf::Changelog).is_some()))?;
        let (task, of) = (self.task.clone(), FilesOf::Changelog);
        Ok(has.then(|| Self { task, of, group: AtomicUsize::new(0) }))
    }

    /// Returns the encoding of the files.
    fn file(&self, py: Python<'_>) -> PyResult<PaimonFileSpec> {
        self.with(py, |task| {
            let spec = task.file(self.of).ok_or_else(|| Error::internal("the compaction has no changelog files"))?;
            Ok(PaimonFileSpec(spec.clone()))
        })
    }

    /// Begins an Avro file. Codecs have Avro's names.
    fn avro_writer(&self, py: Python<'_>, codec: &str, level: Option<i32>) -> PyResult<AvroWriter> {
        self.with(py, |task| AvroWriter::begin(&task.avro_schema()?, &[], codec, level))
    }

    /// Returns the columns of files, with field ids, as a `pyarrow.Schema`.
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let schema = self.with(py, |task| Ok(task.arrow().clone()))?;
        arrow::schema(py, schema)
    }

    /// Returns rows of the current split as `(number of the split, pyarrow.RecordBatch)`.
    fn split<'py>(&self, py: Python<'py>, batch: ArrowBatch) -> PyResult<Parts<'py>> {
        let ArrowBatch(batch) = batch;
        let group = self.group.load(Ordering::Relaxed);
        let rows = self.with(py, |task| task.take(group, &batch))?;
        rows.map(|rows| Ok((group, arrow::record_batch(py, rows)?))).into_iter().collect()
    }

    /// Returns the next rows of changelog files as `(number of the split, pyarrow.RecordBatch)`. None if no rows wait.
    fn next_sorted<'py>(&self, py: Python<'py>, most_rows: usize) -> PyResult<Option<Parts<'py>>> {
        let _ = most_rows;
        if self.of == FilesOf::Data {
            return Ok(None);
        }
        let next = self.with(py, |task| Ok(task.next_changelog()))?;
        next.map(|(group, rows)| Ok(vec![(group, arrow::record_batch(py, rows)?)])).transpose()
    }

    /// Returns a location for the next file.
    fn new_location(&self, py: Python<'_>, partition: usize, count: usize, extension: &str) -> PyResult<String> {
        let _ = (partition, count);
        self.with(py, |task| task.new_location(self.of, extension))
    }

    /// Completes the file.
    #[expect(clippy::too_many_arguments, reason = "the properties of a file that its writer knows")]
    fn close(
        &self,
        py: Python<'_>,
        partition: usize,
        path: &str,
        file_format: &str,
        size_bytes: i64,
        column_sizes: BTreeMap<i32, i64>,
        split_offsets: Option<Vec<i64>>,
    ) -> PyResult<()> {
        // Paimon manifests do not store these.
        let _ = (file_format, column_sizes, split_offsets);
        self.with(py, |task| task.close(self.of, partition, path, size_bytes))
    }

    /// Deletes the files that were written here, which are indexes next to data files.
    fn abort(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |task| {
            task.abort();
            Ok(())
        })
    }

    /// Returns the numbers of written files, rows and bytes.
    fn written(&self, py: Python<'_>) -> PyResult<(usize, i64, i64)> {
        self.with(py, |task| Ok(task.written()))
    }

    /// Returns the commit message of the bucket.
    fn message<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let message = self.with(py, |task| task.change()?.seal())?;
        Ok(PyBytes::new(py, &message))
    }
}
