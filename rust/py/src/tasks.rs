//! Tasks that another process planned.

use std::sync::Arc;

use frazil_core::error::{Error, Result};
use frazil_iceberg::scan::task::FileScanTask as CoreTask;
use frazil_iceberg::scan::wire;
use pyo3::prelude::*;

use crate::errors::OrRaise;
use crate::files::Files;
use crate::interrupt::{detached, limited};
use crate::scan::Scan;
use crate::task::FileScanTask;

/// A group of tasks, used like a plan from another process.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct Tasks(Arc<[CoreTask]>);

impl Tasks {
    pub(crate) fn core(&self) -> &Arc<[CoreTask]> {
        &self.0
    }

    fn get(&self, index: usize) -> Result<CoreTask> {
        self.0
            .get(index)
            .cloned()
            .ok_or_else(|| Error::invalid(format!("task {index} is out of range for {} tasks", self.0.len())))
    }
}

#[pymethods]
impl Tasks {
    /// Deserialises tasks; files are read through the storage of `files`.
    #[new]
    fn new(py: Python<'_>, content: &[u8], files: &Files) -> PyResult<Self> {
        let budget = limited(py)?.budget;
        let tasks = detached(py, || wire::read(content, files.0.storage().clone(), budget))?;
        Ok(Self(tasks.into()))
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// Returns the task of one data file.
    fn task(&self, py: Python<'_>, index: usize) -> PyResult<FileScanTask> {
        self.get(index).or_raise(py).map(FileScanTask::new)
    }

    /// Returns whether every row matches by its partition, which was checked when the tasks were planned.
    #[expect(clippy::unused_self, reason = "same signature as in a plan")]
    fn is_whole(&self, index: usize) -> bool {
        let _ = index;
        false
    }

    /// Returns the task of one data file for another scan of the same table, with its columns and its filter.
    fn task_for(&self, py: Python<'_>, index: usize, scan: &Scan) -> PyResult<FileScanTask> {
        let task = self.get(index).or_raise(py)?;
        Ok(FileScanTask::new(CoreTask { read: scan.read().clone(), ..task }))
    }
}
