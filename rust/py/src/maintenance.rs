//! What maintenance finds out about the files of a table.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray, UInt64Array};
use frazil_iceberg::maintenance::purge::files_of;
use pyo3::prelude::*;

use crate::arrow;
use crate::interrupt::interruptible;
use crate::table::Table;

/// Every file of a table as a `pyarrow.RecordBatch` of `kind`, `location` and `size_bytes`.
#[pyfunction]
pub(crate) fn owned_files<'py>(py: Python<'py>, table: &Table, workers: usize) -> PyResult<Bound<'py, PyAny>> {
    let batch = interruptible(py, |context| {
        let files = files_of(&table.0, workers, context)?;
        let kinds: ArrayRef = Arc::new(files.iter().map(|file| Some(file.kind.name())).collect::<StringArray>());
        let locations: ArrayRef = Arc::new(files.iter().map(|file| Some(&*file.location)).collect::<StringArray>());
        let sizes: ArrayRef = Arc::new(files.iter().map(|file| Some(file.size_bytes)).collect::<UInt64Array>());
        Ok(RecordBatch::try_from_iter([("kind", kinds), ("location", locations), ("size_bytes", sizes)])?)
    })?;
    arrow::record_batch(py, batch)
}
