//! The files of a table: storage, relocation, confinement.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::cast::AsArray;
use bytes::Bytes;
use frazil_core::error::{Error, Result};
use frazil_core::parallel;
use frazil_core::storage::files::Files as CoreFiles;
use frazil_core::storage::options::is_option;
use frazil_core::storage::{PART_BYTES, Upload as CoreUpload};
use frazil_storage::{CredentialSource, Vended};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arrow::ArrowArray;
use crate::catalog::of_python;
use crate::errors::to_python;
use crate::interrupt::{detached, interruptible};

/// A `frazil.catalog._vended.VendedCredentials`. Python is attached only during calls.
#[derive(Debug)]
struct PythonCredentials(Py<PyAny>);

impl CredentialSource for PythonCredentials {
    fn current(&self) -> Result<Vended> {
        Python::attach(|py| {
            let answer = self.0.bind(py).call_method0("current").and_then(|answer| answer.extract());
            let (properties, renew_at_ms) = answer.map_err(|raised| of_python(py, raised))?;
            Ok(Vended { properties, renew_at_ms })
        })
    }
}

/// The files that one table handle may read.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct Files(pub(crate) CoreFiles);

#[pymethods]
impl Files {
    /// Creates the files. `root` and `allowed` are locations that may be read, and `relocate` maps recorded prefixes to
    /// actual locations. `credentials` returns properties that expire; see `frazil.catalog._vended`.
    #[new]
    #[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts lists and dictionaries by value")]
    #[pyo3(signature = (root, relocate, allowed, properties, credentials = None))]
    fn new(
        py: Python<'_>,
        root: &str,
        relocate: Vec<(String, String)>,
        mut allowed: Vec<String>,
        properties: BTreeMap<String, String>,
        credentials: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        detached(py, || {
            allowed.push(root.to_string());
            let credentials =
                credentials.map(|source| Arc::new(PythonCredentials(source)) as Arc<dyn CredentialSource>);
            CoreFiles::assemble(frazil_storage::open(root, &properties, credentials)?, &relocate, &allowed).map(Self)
        })
    }

    /// Returns the actual location of a recorded one, ready to be opened.
    fn openable(&self, py: Python<'_>, recorded: &str) -> PyResult<String> {
        detached(py, || self.0.openable(recorded))
    }

    /// Returns the actual location of a recorded one, for a file that is to be written.
    fn writable(&self, py: Python<'_>, recorded: &str) -> PyResult<String> {
        detached(py, || self.0.writable(recorded))
    }

    /// Writes a file if it does not exist.
    fn put(&self, py: Python<'_>, recorded: &str, content: &[u8]) -> PyResult<()> {
        let content = Bytes::copy_from_slice(content);
        detached(py, || self.0.put_if_absent(recorded, content))
    }

    /// Begins a file that is written in parts; None if files can only be written as a whole.
    fn upload(&self, py: Python<'_>, recorded: &str) -> PyResult<Option<Upload>> {
        let upload = detached(py, || self.0.upload(recorded))?;
        Ok(upload.map(|upload| Upload(Mutex::new(upload))))
    }

    /// Deletes a file; a missing file is not an error.
    fn delete(&self, py: Python<'_>, recorded: &str) -> PyResult<()> {
        detached(py, || self.0.delete(recorded))
    }

    /// Deletes files on at most `workers` threads; deletions begin in the given order. Returns the indices of the files
    /// that could not be deleted, with their errors.
    fn delete_all(&self, py: Python<'_>, recorded: ArrowArray, workers: usize) -> PyResult<Vec<(usize, PyErr)>> {
        let ArrowArray(recorded, _) = recorded;
        let deleted = interruptible(py, |context| {
            let recorded = recorded.as_string_opt::<i32>();
            let recorded = recorded.ok_or_else(|| Error::internal("the locations of files are not text"))?;
            let recorded: Vec<&str> = recorded.iter().map(Option::unwrap_or_default).collect();
            parallel::map(&recorded, workers, |file| context.check().map(|()| self.0.delete(file)))
        })?;
        let failures = deleted.into_iter().enumerate().filter_map(|(i, result)| Some((i, result.err()?)));
        Ok(failures.map(|(i, error)| (i, to_python(py, &error))).collect())
    }

    /// Returns the length of a file in bytes.
    fn size(&self, py: Python<'_>, recorded: &str) -> PyResult<u64> {
        detached(py, || self.0.size(recorded))
    }

    /// Returns the bytes `start..end` of a file.
    fn read_range<'py>(&self, py: Python<'py>, recorded: &str, start: u64, end: u64) -> PyResult<Bound<'py, PyBytes>> {
        let ranges = std::slice::from_ref(&(start..end)).to_vec();
        let buffers = detached(py, || self.0.read_ranges(recorded, &ranges))?;
        Ok(PyBytes::new(py, buffers.first().map(AsRef::as_ref).unwrap_or_default()))
    }

    /// Returns the names of the folders in a folder.
    fn folders(&self, py: Python<'_>, folder: &str) -> PyResult<Vec<String>> {
        detached(py, || self.0.folders(folder))
    }

    /// Returns the files of a folder: location, size in bytes, modification time in milliseconds.
    fn list(&self, py: Python<'_>, folder: &str) -> PyResult<Vec<(String, u64, i64)>> {
        let found = detached(py, || self.0.list(folder))?;
        Ok(found.into_iter().map(|object| (object.location, object.size_bytes, object.modified_ms)).collect())
    }
}

/// Returns whether a name is that of a store option, such as `s3.endpoint`.
#[pyfunction]
pub(crate) fn is_storage_option(name: &str) -> bool {
    is_option(name)
}

/// An upload of a file to an object store.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct Upload(Mutex<Box<dyn CoreUpload>>);

impl Upload {
    fn run(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut (dyn CoreUpload + 'static)) -> Result<()> + Send,
    ) -> PyResult<()> {
        detached(py, || work(self.0.lock().unwrap_or_else(PoisonError::into_inner).as_mut()))
    }
}

#[pymethods]
impl Upload {
    /// The length of parts, except for the last one.
    #[classattr]
    const PART_BYTES: usize = PART_BYTES;

    /// Sends the next part; returns before the store has received it.
    fn part(&self, py: Python<'_>, content: &[u8]) -> PyResult<()> {
        let content = Bytes::copy_from_slice(content);
        self.run(py, |upload| upload.part(content))
    }

    /// Completes the file from its parts.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        self.run(py, CoreUpload::finish)
    }

    /// Discards the parts.
    fn abort(&self, py: Python<'_>) -> PyResult<()> {
        self.run(py, CoreUpload::abort)
    }
}
