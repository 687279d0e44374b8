//! The files that the workers wrote.

use std::collections::HashSet;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use frazil_core::error::{Error, Result};
use frazil_iceberg::files::AddedFiles;
use frazil_iceberg::write::contents::Contents;
use frazil_iceberg::write::message::{Message, data_of};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::interrupt::detached;
use crate::table::Table;

/// The commit messages of the workers, to be committed.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct CommitMessages {
    messages: Vec<Message>,
    added: Vec<AddedFiles>,
    contents: Contents,
}

impl CommitMessages {
    /// Returns the contents of their rows, which are not part of the messages.
    pub(crate) fn contents(&self) -> &Contents {
        &self.contents
    }

    /// Returns the written files.
    pub(crate) fn added(&self) -> &[AddedFiles] {
        &self.added
    }

    pub(crate) fn get(&self, index: usize) -> Result<&Message> {
        self.messages.get(index).ok_or_else(|| Error::invalid(format!("commit message {index} does not exist")))
    }

    /// Returns the locations of the files.
    pub(crate) fn paths(&self) -> Result<HashSet<&str>> {
        let mut paths = HashSet::new();
        for files in &self.added {
            let column = files.data_files.column_by_name("file_path").and_then(|paths| paths.as_string_opt::<i32>());
            paths.extend(column.ok_or_else(|| Error::internal("the data files have no paths"))?.iter().flatten());
        }
        Ok(paths)
    }

    fn sum(&self, name: &str) -> i64 {
        let numbers = self.added.iter().filter_map(|files| files.data_files.column_by_name(name));
        let numbers = numbers.filter_map(|column| column.as_primitive_opt::<Int64Type>());
        numbers.flat_map(|column| column.iter().flatten()).fold(0, i64::saturating_add)
    }
}

#[pymethods]
impl CommitMessages {
    /// Deserialises and checks messages for a table.
    #[new]
    #[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts lists by value")]
    fn new(py: Python<'_>, table: &Table, messages: Vec<Vec<u8>>) -> PyResult<Self> {
        detached(py, || {
            let read = messages.iter().map(|bytes| Message::read(bytes, table.0.metadata()));
            let messages = read.collect::<Result<Vec<_>>>()?;
            let contents = Contents::unknown(table.0.metadata())?;
            let made = Self { added: data_of(messages.iter())?, messages, contents };
            let files: usize = made.added.iter().map(|files| files.data_files.len()).sum();
            if made.paths()?.len() != files {
                return Err(Error::corrupt("commit messages reference a data file twice"));
            }
            Ok(made)
        })
    }

    /// Rejects rows that the latest state of a table cannot read.
    fn check(&self, py: Python<'_>, table: &Table) -> PyResult<()> {
        detached(py, || self.contents.check(table.0.metadata()))
    }

    /// Returns which source rows of a merge matched in the message at `index`, one bit per row.
    fn matched<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyBytes>> {
        let message = detached(py, || self.get(index))?;
        Ok(PyBytes::new(py, &message.matched))
    }

    /// Returns the numbers of written files, rows and bytes.
    fn written(&self) -> (usize, i64, i64) {
        let files = self.added.iter().map(|files| files.data_files.len()).sum();
        (files, self.sum("record_count"), self.sum("file_size_in_bytes"))
    }
}
