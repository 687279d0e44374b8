//! Writes Iceberg tables: assigns rows to files, and commits.

use std::collections::{BTreeMap, HashSet};
use std::sync::Mutex;

use frazil_core::error::{Error, ErrorKind};
use frazil_iceberg::commit::attempts::commit;
use frazil_iceberg::evolve::UpdateSortOrder;
use frazil_iceberg::evolve::create::CreateTable;
use frazil_iceberg::files::AddedFiles;
use frazil_iceberg::spec::partition::PartitionSpec;
use frazil_iceberg::spec::schema::Schema;
use frazil_iceberg::table::Table as IcebergTable;
use frazil_iceberg::write::contents::Contents;
use frazil_iceberg::write::message::Message;
use frazil_iceberg::write::rows::{CommittedIds, RowOptions, RowWriter as CoreRowWriter, WrittenFile};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arrow::{self, ArrowBatch};
use crate::catalog::pointer_at;
use crate::errors::OrRaise;
use crate::files::Files;
use crate::interrupt::{detached, interruptible};
use crate::message::CommitMessages;
use crate::row_delta::RowDelta;
use crate::table::Table;

/// A sort column: column ids, transform, whether the order is descending, whether NULL is first.
type SortColumn = (Vec<i32>, String, bool, bool);

/// Partitions and their rows, as `pyarrow.RecordBatch`.
type WriteParts<'py> = Vec<(usize, Bound<'py, PyAny>)>;

/// A writer that accepts the rows of users and returns rows for the files of each partition.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct RowWriter(Mutex<CoreRowWriter>);

impl RowWriter {
    /// Returns the written files.
    pub(crate) fn added(&self, py: Python<'_>) -> PyResult<Vec<AddedFiles>> {
        self.with(py, |writer| writer.added())
    }

    /// Returns the contents of their rows.
    pub(crate) fn contents(&self, py: Python<'_>) -> PyResult<Contents> {
        self.with(py, |writer| Ok(writer.contents().clone()))
    }

    pub(crate) fn with<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut CoreRowWriter) -> Result<R, Error> + Send,
    ) -> PyResult<R> {
        detached(py, || {
            let mut writer = self.0.lock().map_err(|_| Error::internal("an earlier write failed"))?;
            work(&mut writer)
        })
    }
}

#[pymethods]
impl RowWriter {
    /// Creates a writer for new rows of a table, with its current schema and properties. `operation` is a task number
    /// and the id of the operation, which are part of the file names.
    #[new]
    #[pyo3(signature = (table, *, memory_bytes, lineage_of=None, operation=None))]
    fn new(
        py: Python<'_>,
        table: &Table,
        memory_bytes: usize,
        lineage_of: Option<&Table>,
        operation: Option<(u64, String)>,
    ) -> PyResult<Self> {
        let lineage = lineage_of.map(|committed| CommittedIds::of(committed.0.metadata()));
        let options = RowOptions { lineage, memory_bytes, operation };
        detached(py, || CoreRowWriter::new(table.0.metadata(), &options)).map(|writer| Self(Mutex::new(writer)))
    }

    /// Returns the sort order of the files.
    fn order(&self, py: Python<'_>) -> PyResult<Vec<SortColumn>> {
        self.with(py, |writer| {
            let fields = writer.order().fields.iter();
            Ok(fields.map(|f| (f.source_ids.clone(), f.transform.to_string(), f.descending, f.nulls_first)).collect())
        })
    }

    /// Rejects columns that cannot be read from data files of a format: `parquet`, `orc` or `avro`.
    fn check_format(&self, py: Python<'_>, file_format: &str) -> PyResult<()> {
        self.with(py, |writer| writer.check_format(file_format))
    }

    /// Returns the schema of the rows that `split` returns, with field ids, as a `pyarrow.Schema`.
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let schema = self.with(py, |writer| Ok(writer.arrow().clone()))?;
        arrow::schema(py, schema)
    }

    /// Returns the rows of a batch as `(partition, pyarrow.RecordBatch)`.
    fn split<'py>(&self, py: Python<'py>, batch: ArrowBatch) -> PyResult<WriteParts<'py>> {
        let ArrowBatch(batch) = batch;
        let parts = self.with(py, |writer| writer.split(&batch))?;
        parts.into_iter().map(|(partition, rows)| Ok((partition, arrow::record_batch(py, rows)?))).collect()
    }

    /// Returns the next of the rows that waited until all rows were added, by partition; None after the last row.
    fn next_sorted<'py>(&self, py: Python<'py>, most_rows: usize) -> PyResult<Option<WriteParts<'py>>> {
        let Some(parts) = self.with(py, |writer| writer.next_sorted(most_rows))? else { return Ok(None) };
        let parts = parts.into_iter().map(|(partition, rows)| Ok((partition, arrow::record_batch(py, rows)?)));
        parts.collect::<PyResult<_>>().map(Some)
    }

    /// Returns a location for the next file of a partition.
    fn new_location(&self, py: Python<'_>, partition: usize, count: usize, extension: &str) -> PyResult<String> {
        self.with(py, |writer| writer.new_location(partition, count, extension))
    }

    /// Completes the file of a partition.
    #[expect(clippy::too_many_arguments, reason = "the properties of a file that its writer knows")]
    fn close(
        &self,
        py: Python<'_>,
        partition: usize,
        path: String,
        file_format: String,
        size_bytes: i64,
        column_sizes: BTreeMap<i32, i64>,
        split_offsets: Option<Vec<i64>>,
    ) -> PyResult<()> {
        let written = WrittenFile { path, format: file_format, size_bytes, column_sizes, split_offsets };
        self.with(py, |writer| writer.close(partition, written))
    }

    /// Rejects rows that the latest state of a table cannot read.
    fn check(&self, py: Python<'_>, table: &Table) -> PyResult<()> {
        let contents = self.contents(py)?;
        detached(py, || contents.check(table.0.metadata()))
    }

    /// Returns a commit message of the written files, the deletions of `delta`, and the matched source rows of a merge.
    #[pyo3(signature = (delta=None, matched=Vec::new()))]
    fn message<'py>(
        &self,
        py: Python<'py>,
        delta: Option<&RowDelta>,
        matched: Vec<u8>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let data = self.added(py)?.pop();
        let bytes = detached(py, || {
            let deletions = delta.map_or(Ok(Vec::new()), |delta| delta.with(|delta| Ok(delta.deletions())))?;
            Message { data, deletions, matched }.write()
        })?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Deletes the files of all tasks of the operation, except those of `kept`, and returns their number.
    #[pyo3(signature = (files, kept=None))]
    fn sweep(&self, py: Python<'_>, files: &Files, kept: Option<&CommitMessages>) -> PyResult<usize> {
        let kept = kept.map_or(Ok(HashSet::new()), CommitMessages::paths).or_raise(py)?;
        interruptible(py, |_| {
            let writer = self.0.lock().map_err(|_| Error::internal("an earlier write failed"))?;
            Ok(writer.sweep(&files.0, &kept))
        })
    }

    /// Returns the numbers of written files, rows and bytes.
    fn written(&self, py: Python<'_>) -> PyResult<(usize, i64, i64)> {
        self.with(py, |writer| Ok(writer.written()))
    }
}

/// Returns a table to be created. Partition fields are texts with names; the sort order is an [`UpdateSortOrder`] as
/// JSON.
pub(crate) fn new_table(
    location: String,
    schema: &str,
    partition_by: &[(String, Option<String>)],
    sort_order: &str,
    format_version: u8,
    properties: BTreeMap<String, String>,
) -> Result<CreateTable, Error> {
    let schema = Schema::from_json(schema).map_err(|error| match error.kind() {
        ErrorKind::CorruptMetadata => Error::invalid(error.message()),
        _ => error,
    })?;
    let texts: Vec<&str> = partition_by.iter().map(|(text, _)| text.as_str()).collect();
    let mut spec = PartitionSpec::from_texts(&texts, &schema)?;
    for (field, (_, name)) in spec.fields.iter_mut().zip(partition_by) {
        if let Some(name) = name {
            field.name.clone_from(name);
        }
    }
    let order = UpdateSortOrder::from_json(sort_order)?.order(&schema)?;
    Ok(CreateTable { format_version, location, schema, spec, order, properties })
}

/// Creates a table in a folder without a table, or in a catalog whose `row` references no table; see [`new_table`].
#[pyfunction]
#[pyo3(signature = (files, location, schema, partition_by, sort_order, format_version, properties, row = None))]
#[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts lists by value")]
#[expect(clippy::too_many_arguments, reason = "the definition of a table")]
pub(crate) fn create_table(
    py: Python<'_>,
    files: &Files,
    location: String,
    schema: String,
    partition_by: Vec<(String, Option<String>)>,
    sort_order: String,
    format_version: u8,
    properties: BTreeMap<String, String>,
    row: Option<Py<PyAny>>,
) -> PyResult<Table> {
    interruptible(py, |context| {
        let mut create = new_table(location.clone(), &schema, &partition_by, &sort_order, format_version, properties)?;
        let pointer = pointer_at(&files.0, &location, row);
        let committed = commit(pointer.as_ref(), None, &mut create, context).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => {
                error.with("table", &location).hint("open it with load_table, or pass another location")
            }
            _ => error,
        })?;
        IcebergTable::at(committed.state, files.0.clone()).map(Table)
    })
}
