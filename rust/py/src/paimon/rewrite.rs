//! Data files of tables without a primary key whose rows change.

use std::sync::{Arc, Mutex};

use arrow_array::Int64Array;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_schema::{DataType, Field};
use frazil_core::error::{Error, Result};
use frazil_paimon::compact::rewrite::{ChangedRows as CoreChangedRows, RewritePlan};
use frazil_paimon::compact::vectors::RowVectors;
use frazil_paimon::write::change::BucketChange;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::compact::PaimonCompaction;
use super::split::PaimonSplit;
use crate::arrow::{self, ArrowArray};
use crate::interrupt::detached;

/// The data files of a scan, each of which may be rewritten.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct PaimonRewrites {
    plan: RewritePlan,
    vectors: Mutex<Option<RowVectors>>,
}

impl PaimonRewrites {
    pub(crate) fn new(plan: RewritePlan) -> Self {
        Self { vectors: Mutex::new(plan.vectors()), plan }
    }

    /// Changes the deletion vectors; there are none without files.
    fn with<R: Send + Default>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut RowVectors) -> Result<R> + Send,
    ) -> PyResult<R> {
        detached(py, || {
            let mut vectors =
                self.vectors.lock().map_err(|_| Error::internal("an earlier call for these vectors failed"))?;
            vectors.as_mut().map_or(Ok(R::default()), work)
        })
    }
}

#[pymethods]
impl PaimonRewrites {
    /// Returns the number of files.
    fn __len__(&self) -> usize {
        self.plan.len()
    }

    /// Returns whether all rows of a file match the filter of the scan, as far as is known without reading the file.
    fn matches_all(&self, index: usize) -> bool {
        self.plan.matches_all(index)
    }

    /// Returns a file: the split with the columns of the scan and the positions of its rows, the task that replaces the
    /// file, and its changed rows. The task reads the whole rows and their positions.
    fn file(&self, py: Python<'_>, index: usize) -> PyResult<(PaimonSplit, PaimonCompaction, ChangedRows)> {
        let file = detached(py, || self.plan.file(index))?;
        let changed = ChangedRows(Mutex::new(file.changed));
        Ok((PaimonSplit::new(file.find), PaimonCompaction::new(file.task), changed))
    }

    /// Returns whether deletion vectors mark the changed rows. Otherwise the files are rewritten.
    fn marks_rows(&self, py: Python<'_>) -> PyResult<bool> {
        detached(py, || self.plan.marks_rows())
    }

    /// Marks the changed rows of a file as deleted.
    fn mark(&self, py: Python<'_>, index: usize, changed: &ChangedRows) -> PyResult<()> {
        self.with(py, |vectors| {
            let changed = changed.0.lock().map_err(|_| Error::internal("an earlier call for these rows failed"))?;
            self.plan.mark(vectors, index, &changed)
        })
    }

    /// Removes the vector of a file that is removed or rewritten.
    fn remove(&self, py: Python<'_>, index: usize) -> PyResult<()> {
        self.with(py, |vectors| self.plan.remove(vectors, index))
    }

    /// Writes the vectors. Returns the commit messages of their buckets.
    fn messages<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let messages = self.with(py, |vectors| vectors.changes()?.iter().map(BucketChange::seal).collect())?;
        let messages: Vec<Vec<u8>> = messages;
        Ok(messages.iter().map(|message| PyBytes::new(py, message)).collect())
    }

    /// Deletes the written files of vectors.
    fn abort(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |vectors| {
            vectors.abort();
            Ok(())
        })
    }
}

/// The positions of the changed rows of a data file.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct ChangedRows(Mutex<CoreChangedRows>);

impl ChangedRows {
    fn with<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut CoreChangedRows) -> Result<R> + Send,
    ) -> PyResult<R> {
        detached(py, || {
            work(&mut *self.0.lock().map_err(|_| Error::internal("an earlier call for these rows failed"))?)
        })
    }
}

#[pymethods]
impl ChangedRows {
    /// Adds positions.
    fn add(&self, py: Python<'_>, positions: ArrowArray) -> PyResult<()> {
        let ArrowArray(positions, _) = positions;
        self.with(py, |rows| rows.add(values(&*positions)?.values()))
    }

    /// Adds positions of rows that were selected in an earlier read, none of which may be deleted.
    fn add_selected(&self, py: Python<'_>, positions: ArrowArray) -> PyResult<()> {
        let ArrowArray(positions, _) = positions;
        self.with(py, |rows| rows.add_selected(values(&*positions)?.values()))
    }

    /// Adds the positions of all rows.
    fn add_all(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |rows| {
            rows.add_all();
            Ok(())
        })
    }

    /// Returns which of the rows at these positions change, as a Boolean array.
    fn mask(&self, py: Python<'_>, positions: ArrowArray) -> PyResult<Py<PyAny>> {
        let ArrowArray(positions, _) = positions;
        let mask = self.with(py, |rows| Ok(rows.mask(values(&*positions)?.values())))?;
        arrow::array(py, Arc::new(mask), Arc::new(Field::new("", DataType::Boolean, true)))
    }

    /// Returns whether all rows of the file change.
    fn is_whole(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |rows| Ok(rows.is_whole()))
    }

    /// Returns the number of changed rows.
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.with(py, |rows| Ok(usize::try_from(rows.len()).unwrap_or(usize::MAX)))
    }
}

fn values(positions: &dyn arrow_array::Array) -> Result<&Int64Array> {
    let positions = positions.as_primitive_opt::<Int64Type>();
    positions.ok_or_else(|| Error::invalid("positions must be 64-bit integers"))
}
