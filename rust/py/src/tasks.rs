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

/// A group of tasks, as a plan that was made elsewhere.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct Tasks(Arc<[CoreTask]>);

impl Tasks {
    pub(crate) fn core(&self) -> &Arc<[CoreTask]> {
        &self.0
    }

    fn get(&self, index: usize) -> Result<CoreTask> {
        self.0.get(index).cloned().ok_or_else(|| Error::invalid(format!("task {index} of {}", self.0.len())))
    }
}

#[pymethods]
impl Tasks {
    /// Reads the tasks of a wire form; files are read through the storage of `files`.
    #[new]
    fn new(py: Python<'_>, content: &[u8], files: &Files) -> PyResult<Self> {
        let budget = limited(py)?.budget;
        let tasks = detached(py, || wire::read(content, files.0.storage().clone(), budget))?;
        Ok(Self(tasks.into()))
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// The task of one data file.
    fn task(&self, py: Python<'_>, index: usize) -> PyResult<FileScanTask> {
        self.get(index).or_raise(py).map(FileScanTask::new)
    }

    /// Whether every row matches by its partition: who planned the tasks has looked.
    #[expect(clippy::unused_self, reason = "as a plan has it")]
    fn is_whole(&self, index: usize) -> bool {
        let _ = index;
        false
    }

    /// The task of one data file for another scan of the same table: its columns and its filter.
    fn task_for(&self, py: Python<'_>, index: usize, scan: &Scan) -> PyResult<FileScanTask> {
        let task = self.get(index).or_raise(py)?;
        Ok(FileScanTask::new(CoreTask { read: scan.read().clone(), ..task }))
    }
}
