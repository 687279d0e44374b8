//! What maintenance finds out about the files of a table.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray, UInt64Array};
use frazil_core::error::Result;
use frazil_iceberg::maintenance::expire::unreachable;
use frazil_iceberg::maintenance::purge::files_of;
use frazil_iceberg::maintenance::reach::OwnedFile;
use pyo3::prelude::*;

use crate::arrow;
use crate::interrupt::interruptible;
use crate::table::Table;

/// Every file of a table as a `pyarrow.RecordBatch` of `kind`, `location` and `size_bytes`.
#[pyfunction]
pub(crate) fn owned_files<'py>(py: Python<'py>, table: &Table, workers: usize) -> PyResult<Bound<'py, PyAny>> {
    let found = interruptible(py, |context| batch(&files_of(&table.0, workers, context)?))?;
    arrow::record_batch(py, found)
}

/// The files that nothing in `after` names, a later state of the same table; columns are those of [`owned_files`].
#[pyfunction]
pub(crate) fn unreachable_files<'py>(
    py: Python<'py>,
    before: &Table,
    after: &Table,
    workers: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let found = interruptible(py, |context| batch(&unreachable(&before.0, &after.0, workers, context)?))?;
    arrow::record_batch(py, found)
}

fn batch(files: &[OwnedFile]) -> Result<RecordBatch> {
    let kinds: ArrayRef = Arc::new(files.iter().map(|file| Some(file.kind.name())).collect::<StringArray>());
    let locations: ArrayRef = Arc::new(files.iter().map(|file| Some(&*file.location)).collect::<StringArray>());
    let sizes: ArrayRef = Arc::new(files.iter().map(|file| Some(file.size_bytes)).collect::<UInt64Array>());
    Ok(RecordBatch::try_from_iter([("kind", kinds), ("location", locations), ("size_bytes", sizes)])?)
}
