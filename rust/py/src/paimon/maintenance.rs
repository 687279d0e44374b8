//! Expiry and rollback of Paimon tables.

use frazil_core::clock::now_ms;
use frazil_core::error::Result;
use frazil_paimon::maintenance::expire::{ExpireRequest, expiring};
use frazil_paimon::maintenance::orphans::Listing;
use frazil_paimon::maintenance::reach::OwnedFile;
use frazil_paimon::maintenance::rollback;
use frazil_paimon::table::SnapshotChoice;
use pyo3::prelude::*;

use super::choice;
use super::table::PaimonTable;
use crate::arrow;
use crate::interrupt::interruptible;
use crate::maintenance::file_batch;

/// Ids of snapshots, and files as a `pyarrow.RecordBatch`.
type Expired<'py> = (Vec<i64>, Bound<'py, PyAny>);

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PaimonListing>()?;
    module.add_class::<PaimonExpiry>()?;
    module.add_class::<PaimonRollback>()
}

/// An expiry of snapshots; None for the options of the table.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct PaimonExpiry(ExpireRequest);

#[pymethods]
impl PaimonExpiry {
    /// Creates an expiry that does not depend on when it is carried out.
    #[new]
    #[pyo3(signature = (*, older_than_ms, retain_max, retain_min, max_deletes))]
    fn new(
        older_than_ms: Option<i64>,
        retain_max: Option<i64>,
        retain_min: Option<i64>,
        max_deletes: Option<i64>,
    ) -> Self {
        Self(ExpireRequest {
            older_than_ms,
            retain_max,
            retain_min,
            max_deletes,
            now_ms: now_ms(),
            end: None,
            latest: None,
        })
    }

    /// Returns the ids of the snapshots that expire, and the files that only they reference: `kind`, `location` and
    /// `size_bytes` of each, in the order in which they are deleted.
    fn plan<'py>(&self, py: Python<'py>, table: &PaimonTable) -> PyResult<Expired<'py>> {
        let (ids, files) = interruptible(py, |context| match expiring(&table.0, &self.0)? {
            None => Ok((Vec::new(), batch(&[])?)),
            Some(found) => Ok((found.ids.clone().collect(), batch(&found.files(&table.0, context)?)?)),
        })?;
        Ok((ids, arrow::record_batch(py, files)?))
    }

    /// Returns the ids of the snapshots that expire. `latest` is a snapshot that was just committed.
    fn due(&self, py: Python<'_>, table: &PaimonTable, latest: i64) -> PyResult<Vec<i64>> {
        let request = ExpireRequest { latest: Some(latest), ..self.0 };
        interruptible(py, |_| Ok(expiring(&table.0, &request)?.map_or(Vec::new(), |found| found.ids.collect())))
    }

    /// Deletes the snapshots that expire, up to `last` if it is given. Returns their ids, and the files that can be
    /// deleted then.
    fn apply<'py>(&self, py: Python<'py>, table: &PaimonTable, last: Option<i64>) -> PyResult<Expired<'py>> {
        let request = ExpireRequest { end: last.map(|last| last.saturating_add(1)), ..self.0 };
        let (ids, files) = interruptible(py, |context| match expiring(&table.0, &request)? {
            None => Ok((Vec::new(), batch(&[])?)),
            Some(found) => {
                let (ids, files) = found.apply(&table.0, context)?;
                Ok((ids, batch(&files)?))
            }
        })?;
        Ok((ids, arrow::record_batch(py, files)?))
    }
}

/// A rollback to an earlier state.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct PaimonRollback(SnapshotChoice);

#[pymethods]
impl PaimonRollback {
    /// Creates a rollback to a snapshot, a tag or the state at a time.
    #[new]
    fn new(snapshot: (String, Bound<'_, PyAny>)) -> PyResult<Self> {
        choice(Some(snapshot)).map(Self)
    }

    /// Returns the id of the snapshot that becomes the latest one, and the snapshots and tags that are deleted.
    fn plan(&self, py: Python<'_>, table: &PaimonTable) -> PyResult<(i64, Vec<i64>, Vec<String>)> {
        interruptible(py, |_| {
            let target = rollback::target(&table.0, &self.0)?;
            let found = rollback::plan(&table.0, &target)?;
            Ok((target.id, found.snapshot_ids, found.tags))
        })
    }

    /// Performs the rollback. Returns the id of the snapshot, and the deleted snapshots and tags.
    fn apply(&self, py: Python<'_>, table: &PaimonTable) -> PyResult<(i64, Vec<i64>, Vec<String>)> {
        interruptible(py, |context| {
            let target = rollback::target(&table.0, &self.0)?;
            let done = rollback::apply(&table.0, &target, context)?;
            Ok((target.id, done.snapshot_ids, done.tags))
        })
    }
}

/// The contents of the folder of a table.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct PaimonListing(Listing);

#[pymethods]
impl PaimonListing {
    /// Lists the folder of a table; files that were modified before `older_than_ms` may be orphan files.
    #[new]
    fn new(py: Python<'_>, table: &PaimonTable, older_than_ms: i64, workers: usize) -> PyResult<Self> {
        interruptible(py, |context| Listing::of(&table.0, older_than_ms, workers, context)).map(Self)
    }

    fn __len__(&self) -> usize {
        self.0.files
    }

    /// Returns the total size of all files in bytes.
    #[getter]
    fn size_bytes(&self) -> u64 {
        self.0.bytes
    }

    /// Returns the old files that nothing references: `kind`, `location` and `size_bytes` of each. The table must have
    /// been loaded after the listing.
    fn orphans<'py>(&self, py: Python<'py>, table: &PaimonTable) -> PyResult<Bound<'py, PyAny>> {
        let found = interruptible(py, |context| {
            let files = self.0.orphans(&table.0, context)?;
            let kinds = files.iter().map(|_| "orphan");
            file_batch(kinds, files.iter().map(|file| &*file.location), files.iter().map(|file| file.size_bytes))
        })?;
        arrow::record_batch(py, found)
    }
}

fn batch(files: &[OwnedFile]) -> Result<arrow_array::RecordBatch> {
    let kinds = files.iter().map(|file| file.kind.name());
    file_batch(kinds, files.iter().map(|file| &*file.location), files.iter().map(|file| file.size_bytes))
}
