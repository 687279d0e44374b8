//! Rows for the data files of Paimon tables.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use frazil_core::error::{Error, Result};
use frazil_paimon::write::file::FileSpec;
use frazil_paimon::write::rows::{FilesOf, RowWriter, WriteOptions};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::table::PaimonTable;
use crate::arrow::{self, ArrowBatch};
use crate::avro_writer::AvroWriter;
use crate::interrupt::{detached, interruptible};

/// Slots with rows of them, as `pyarrow.RecordBatch`.
type Parts<'py> = Vec<(usize, Bound<'py, PyAny>)>;

/// How data files are encoded.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct PaimonFileSpec(pub(super) FileSpec);

#[pymethods]
impl PaimonFileSpec {
    /// The file format: `parquet`, `orc` or `avro`.
    #[getter]
    fn format(&self) -> &'static str {
        self.0.format.extension()
    }

    /// The compression codec, as the writer of the format names it.
    #[getter]
    fn codec(&self) -> &'static str {
        self.0.codec
    }

    /// The compression level; None for the default of the codec.
    #[getter]
    fn level(&self) -> Option<i64> {
        self.0.level
    }

    /// The target size of a file in bytes.
    #[getter]
    fn target_file_bytes(&self) -> u64 {
        self.0.target_bytes
    }

    /// The target size of a row group or a stripe in bytes.
    #[getter]
    fn row_group_bytes(&self) -> u64 {
        self.0.block_bytes
    }
}

/// Takes rows as users have them and returns rows for files.
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
        detached(py, || work(&mut *self.writer.lock().map_err(|_| Error::internal("a write failed before"))?))
    }
}

#[pymethods]
impl PaimonRows {
    /// Return one for new rows of a table with its newest schema. About `memory_bytes` of rows wait in memory. The clock
    /// of this machine is ahead of UTC by `utc_offset_ms`. An overwrite does not continue what buckets had before. Names of files
    /// contain `name`, or else a new UUID.
    #[new]
    #[pyo3(signature = (table, *, memory_bytes, utc_offset_ms, overwrites, name = None))]
    fn new(
        py: Python<'_>,
        table: &PaimonTable,
        memory_bytes: usize,
        utc_offset_ms: i64,
        overwrites: bool,
        name: Option<String>,
    ) -> PyResult<Self> {
        let options = WriteOptions { memory_bytes, utc_offset_ms, overwrites, name };
        let writer = interruptible(py, |context| RowWriter::try_new(&table.0, &options, context))?;
        Ok(Self { writer: Arc::new(Mutex::new(writer)), of: FilesOf::Data })
    }

    /// The changelog files of the write: their rows come after each `next_sorted` of the data files. None without them.
    fn changelog(&self, py: Python<'_>) -> PyResult<Option<Self>> {
        let has = self.with(py, |writer| Ok(writer.file(FilesOf::Changelog).is_some()))?;
        Ok(has.then(|| Self { writer: self.writer.clone(), of: FilesOf::Changelog }))
    }

    /// Return how files are encoded.
    fn file(&self, py: Python<'_>) -> PyResult<PaimonFileSpec> {
        self.with(py, |writer| {
            let spec = writer.file(self.of).ok_or_else(|| Error::internal("a write without changelog files"))?;
            Ok(PaimonFileSpec(spec.clone()))
        })
    }

    /// The columns that `split` takes, as a `pyarrow.Schema`.
    fn input_schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let schema = self.with(py, |writer| Ok(writer.input().clone()))?;
        arrow::schema(py, schema)
    }

    /// Begins an Avro file. Codecs are named as Avro names them.
    fn avro_writer(&self, py: Python<'_>, codec: &str, level: Option<i32>) -> PyResult<AvroWriter> {
        self.with(py, |writer| AvroWriter::begin(&writer.avro_schema()?, &[], codec, level))
    }

    /// The columns of files, with field ids, as a `pyarrow.Schema`.
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let schema = self.with(py, |writer| Ok(writer.arrow().clone()))?;
        arrow::schema(py, schema)
    }

    /// The rows of a batch as `(slot, pyarrow.RecordBatch)`.
    fn split<'py>(&self, py: Python<'py>, batch: ArrowBatch) -> PyResult<Parts<'py>> {
        let ArrowBatch(batch) = batch;
        let parts = self.with(py, |writer| writer.split(&batch))?;
        parts.into_iter().map(|(slot, rows)| Ok((slot, arrow::record_batch(py, rows)?))).collect()
    }

    /// The next of the rows that waited until all were there; None after the last.
    fn next_sorted<'py>(&self, py: Python<'py>, most_rows: usize) -> PyResult<Option<Parts<'py>>> {
        let next = |writer: &mut RowWriter| match self.of {
            FilesOf::Data => writer.next_sorted(most_rows),
            FilesOf::Changelog => writer.next_changelog(),
        };
        let Some(parts) = self.with(py, next)? else { return Ok(None) };
        let parts = parts.into_iter().map(|(slot, rows)| Ok((slot, arrow::record_batch(py, rows)?)));
        parts.collect::<PyResult<_>>().map(Some)
    }

    /// A location for the next file of a slot.
    fn new_location(&self, py: Python<'_>, partition: usize, count: usize, extension: &str) -> PyResult<String> {
        let _ = count;
        self.with(py, |writer| writer.new_location(self.of, partition, extension))
    }

    /// Ends the file of a slot.
    #[expect(clippy::too_many_arguments, reason = "what a writer knows of a file")]
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
        // Manifests of Paimon do not have these.
        let _ = (file_format, column_sizes, split_offsets);
        self.with(py, |writer| writer.close(self.of, partition, path, size_bytes))
    }

    /// Deletes the files that were written here: indexes next to data files.
    fn abort(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |writer| {
            writer.abort();
            Ok(())
        })
    }

    /// How many files, rows and bytes are written.
    fn written(&self, py: Python<'_>) -> PyResult<(usize, i64, i64)> {
        self.with(py, |writer| Ok(writer.written()))
    }

    /// What was written as commit messages, one for each bucket.
    fn messages<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let messages = self.with(py, |writer| {
            writer.changes()?.iter().map(frazil_paimon::commit::BucketChange::seal).collect::<Result<Vec<_>>>()
        })?;
        Ok(messages.iter().map(|message| PyBytes::new(py, message)).collect())
    }
}
