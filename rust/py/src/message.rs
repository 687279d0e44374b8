//! What workers wrote.

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

/// What workers wrote, on its way to a commit.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct CommitMessages {
    messages: Vec<Message>,
    added: Vec<AddedFiles>,
    contents: Contents,
}

impl CommitMessages {
    /// What their rows hold, which the messages do not say.
    pub(crate) fn contents(&self) -> &Contents {
        &self.contents
    }

    /// The files that are written.
    pub(crate) fn added(&self) -> &[AddedFiles] {
        &self.added
    }

    pub(crate) fn get(&self, index: usize) -> Result<&Message> {
        self.messages.get(index).ok_or_else(|| Error::invalid(format!("no commit message {index}")))
    }

    /// Where the files lie.
    pub(crate) fn paths(&self) -> Result<HashSet<&str>> {
        let mut paths = HashSet::new();
        for files in &self.added {
            let column = files.data_files.column_by_name("file_path").and_then(|paths| paths.as_string_opt::<i32>());
            paths.extend(column.ok_or_else(|| Error::internal("data files without paths"))?.iter().flatten());
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
    /// Checks the bytes of messages for a table.
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
                return Err(Error::corrupt("commit messages name a data file twice"));
            }
            Ok(made)
        })
    }

    /// Refuses rows that a table in its newest state may not read.
    fn check(&self, py: Python<'_>, table: &Table) -> PyResult<()> {
        detached(py, || self.contents.check(table.0.metadata()))
    }

    /// Which rows of the source of a merge matched for the message at `index`, a bit for each.
    fn matched<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyBytes>> {
        let message = detached(py, || self.get(index))?;
        Ok(PyBytes::new(py, &message.matched))
    }

    /// How many files, rows and bytes are written.
    fn written(&self) -> (usize, i64, i64) {
        let files = self.added.iter().map(|files| files.data_files.len()).sum();
        (files, self.sum("record_count"), self.sum("file_size_in_bytes"))
    }
}
