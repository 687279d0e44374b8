//! Assigns rows to the data files of Paimon tables.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use frazil_core::error::{Error, Result};
use frazil_paimon::write::file::FileSpec;
use frazil_paimon::write::rows::{FilesOf, RowWriter, WriteOptions};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::split::PaimonSplit;
use super::table::PaimonTable;
use crate::arrow::{self, ArrowBatch};
use crate::avro_writer::AvroWriter;
use crate::interrupt::{detached, interruptible};

/// Slots and their rows, as `pyarrow.RecordBatch`.
pub(super) type Parts<'py> = Vec<(usize, Bound<'py, PyAny>)>;

/// The encoding of data files.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct PaimonFileSpec(pub(super) FileSpec);

#[pymethods]
impl PaimonFileSpec {
    /// Returns the file format: `parquet`, `orc` or `avro`.
    #[getter]
    fn format(&self) -> &'static str {
        self.0.format.extension()
    }

    /// Returns the compression codec, by its name in the format's writer.
    #[getter]
    fn codec(&self) -> &'static str {
        self.0.codec
    }

    /// Returns the compression level; None for the default of the codec.
    #[getter]
    fn level(&self) -> Option<i64> {
        self.0.level
    }

    /// Returns the target size of a file in bytes.
    #[getter]
    fn target_file_bytes(&self) -> u64 {
        self.0.target_bytes
    }

    /// Returns the target size of a row group or a stripe in bytes.
    #[getter]
    fn row_group_bytes(&self) -> u64 {
        self.0.block_bytes
    }
}

/// A writer that accepts the rows of users and returns rows for files.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct PaimonRows {
    writer: Arc<Mutex<RowWriter>>,
    of: FilesOf,
}

impl PaimonRows {
    fn with<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut RowWriter) -> Result<R, Error> + Send,
    ) -> PyResult<R> {
        detached(py, || work(&mut *self.writer.lock().map_err(|_| Error::internal("an earlier write failed"))?))
    }
}

#[pymethods]
impl PaimonRows {
    /// Creates a writer for new rows of a table with its latest schema. About `memory_bytes` of waiting rows are held
    /// in memory. The clock of this machine is ahead of UTC by `utc_offset_ms`. An overwrite does not continue the
    /// existing contents of buckets. `assigns_buckets` is whether the rows waited for buckets and are assigned to them,
    /// which is a compaction. File names contain `name`, or a new UUID by default.
    #[new]
    #[pyo3(signature = (table, *, memory_bytes, utc_offset_ms, overwrites, assigns_buckets = false, name = None))]
    #[expect(clippy::too_many_arguments, reason = "the options of a write")]
    fn new(
        py: Python<'_>,
        table: &PaimonTable,
        memory_bytes: usize,
        utc_offset_ms: i64,
        overwrites: bool,
        assigns_buckets: bool,
        name: Option<String>,
    ) -> PyResult<Self> {
        let options = WriteOptions { memory_bytes, utc_offset_ms, overwrites, assigns_buckets, name };
        let writer = interruptible(py, |context| RowWriter::try_new(&table.0, &options, context))?;
        Ok(Self { writer: Arc::new(Mutex::new(writer)), of: FilesOf::Data })
    }

    /// Returns the changelog files of the write, whose rows are returned after each `next_sorted` of the data files.
    /// None if there are none.
    fn changelog(&self, py: Python<'_>) -> PyResult<Option<Self>> {
        let has = self.with(py, |writer| Ok(writer.file(FilesOf::Changelog).is_some()))?;
        Ok(has.then(|| Self { writer: self.writer.clone(), of: FilesOf::Changelog }))
    }

    /// Returns the encoding of the files.
    fn file(&self, py: Python<'_>) -> PyResult<PaimonFileSpec> {
        self.with(py, |writer| {
            let spec = writer.file(self.of).ok_or_else(|| Error::internal("the write has no changelog files"))?;
            Ok(PaimonFileSpec(spec.clone()))
        })
    }

    /// Returns the columns that `split` accepts, as a `pyarrow.Schema`.
    fn input_schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let schema = self.with(py, |writer| Ok(writer.input().clone()))?;
        arrow::schema(py, schema)
    }

    /// Begins an Avro file. Codecs have Avro's names.
    fn avro_writer(&self, py: Python<'_>, codec: &str, level: Option<i32>) -> PyResult<AvroWriter> {
        self.with(py, |writer| AvroWriter::begin(&writer.avro_schema()?, &[], codec, level))
    }

    /// Returns the columns of files, with field ids, as a `pyarrow.Schema`.
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let schema = self.with(py, |writer| Ok(writer.arrow().clone()))?;
        arrow::schema(py, schema)
    }

    /// Returns the columns and the snapshot of the keys that must be passed to `restore_keys` before the first row.
    /// None if keys cannot move to another partition.
    fn restored_keys(&self, py: Python<'_>) -> PyResult<Option<(Vec<String>, i64)>> {
        self.with(py, |writer| Ok(writer.restored_keys()))
    }

    /// Adds keys that were read from a split.
    fn restore_keys(&self, py: Python<'_>, split: &PaimonSplit, keys: ArrowBatch) -> PyResult<()> {
        let ArrowBatch(keys) = keys;
        let home = split.home();
        self.with(py, |writer| writer.restore_keys(&home, &keys))
    }

    /// Returns the rows of a batch as `(slot, pyarrow.RecordBatch)`.
    fn split<'py>(&self, py: Python<'py>, batch: ArrowBatch) -> PyResult<Parts<'py>> {
        let ArrowBatch(batch) = batch;
        let parts = self.with(py, |writer| writer.split(&batch))?;
        parts.into_iter().map(|(slot, rows)| Ok((slot, arrow::record_batch(py, rows)?))).collect()
    }

    /// Returns the next of the rows that waited until all rows were added; None after the last row.
    fn next_sorted<'py>(&self, py: Python<'py>, most_rows: usize) -> PyResult<Option<Parts<'py>>> {
        let next = |writer: &mut RowWriter| match self.of {
            FilesOf::Data => writer.next_sorted(most_rows),
            FilesOf::Changelog => writer.next_changelog(),
        };
        let Some(parts) = self.with(py, next)? else { return Ok(None) };
        let parts = parts.into_iter().map(|(slot, rows)| Ok((slot, arrow::record_batch(py, rows)?)));
        parts.collect::<PyResult<_>>().map(Some)
    }

    /// Returns a location for the next file of a slot.
    fn new_location(&self, py: Python<'_>, partition: usize, count: usize, extension: &str) -> PyResult<String> {
        let _ = count;
        self.with(py, |writer| writer.new_location(self.of, partition, extension))
    }

    /// Completes the file of a slot.
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
        self.with(py, |writer| writer.close(self.of, partition, path, size_bytes))
    }

    /// Deletes the files that were written here, which are indexes next to data files.
    fn abort(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |writer| {
            writer.abort();
            Ok(())
        })
    }

    /// Returns the numbers of written files, rows and bytes.
    fn written(&self, py: Python<'_>) -> PyResult<(usize, i64, i64)> {
        self.with(py, |writer| Ok(writer.written()))
    }

    /// Returns the written files as commit messages, one for each bucket.
    fn messages<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let messages = self.with(py, |writer| {
            writer.changes()?.iter().map(frazil_paimon::commit::BucketChange::seal).collect::<Result<Vec<_>>>()
        })?;
        Ok(messages.iter().map(|message| PyBytes::new(py, message)).collect())
    }
}
