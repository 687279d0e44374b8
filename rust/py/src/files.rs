//! Where files lie: storage, relocation, confinement.

use std::collections::BTreeMap;
use std::sync::Arc;

use frazil_core::error::Result;
use frazil_core::storage::Storage;
use frazil_core::storage::confinement::Confinement;
use frazil_core::storage::files::Files as CoreFiles;
use frazil_core::storage::relocation::Relocation;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::interrupt::detached;

/// The files that one table handle may read.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct Files(pub(crate) CoreFiles);

#[pymethods]
impl Files {
    /// `root` and `allowed` are locations that may be read, `relocate` maps recorded prefixes to where files lie now.
    #[new]
    #[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts lists and dictionaries by value")]
    #[pyo3(signature = (root, relocate, allowed, properties))]
    fn new(
        py: Python<'_>,
        root: &str,
        relocate: Vec<(String, String)>,
        allowed: Vec<String>,
        properties: BTreeMap<String, String>,
    ) -> PyResult<Self> {
        detached(py, || files(root, &relocate, &allowed, &properties).map(Self))
    }

    /// Where a recorded location lies now, ready to be opened.
    fn openable(&self, py: Python<'_>, recorded: &str) -> PyResult<String> {
        detached(py, || self.0.openable(recorded))
    }

    /// The length of a file in bytes.
    fn size(&self, py: Python<'_>, recorded: &str) -> PyResult<u64> {
        detached(py, || self.0.size(recorded))
    }

    /// Bytes `start..end` of a file.
    fn read_range<'py>(&self, py: Python<'py>, recorded: &str, start: u64, end: u64) -> PyResult<Bound<'py, PyBytes>> {
        let ranges = std::slice::from_ref(&(start..end)).to_vec();
        let buffers = detached(py, || self.0.read_ranges(recorded, &ranges))?;
        Ok(PyBytes::new(py, buffers.first().map(AsRef::as_ref).unwrap_or_default()))
    }

    /// The files of a folder: location, size in bytes, time of change in milliseconds.
    fn list(&self, py: Python<'_>, folder: &str) -> PyResult<Vec<(String, u64, i64)>> {
        let found = detached(py, || self.0.list(folder))?;
        Ok(found.into_iter().map(|object| (object.location, object.size_bytes, object.modified_ms)).collect())
    }
}

fn files(
    root: &str,
    relocate: &[(String, String)],
    allowed: &[String],
    properties: &BTreeMap<String, String>,
) -> Result<CoreFiles> {
    let storage: Arc<dyn Storage> = frazil_storage::open(root, properties)?;
    let mut relocation = Relocation::default();
    for (recorded, actual) in relocate {
        relocation.add(recorded, actual)?;
    }
    let mut confinement = Confinement::default();
    for location in allowed.iter().map(String::as_str).chain([root]) {
        confinement.allow(location)?;
    }
    Ok(CoreFiles::new(storage, relocation, confinement))
}
