//! Creates Paimon tables.

use frazil_paimon::schema::create::{Definition, create};
use pyo3::prelude::*;

use super::table::PaimonTable;
use crate::files::Files;
use crate::interrupt::interruptible;

/// Creates a table in a folder without a table. The definition is JSON with the members `fields`, `partitionKeys`,
/// `primaryKeys`, `options` and `comment` of a schema file.
#[pyfunction]
pub(crate) fn paimon_create(py: Python<'_>, files: &Files, location: &str, definition: &str) -> PyResult<PaimonTable> {
    interruptible(py, |_| create(&files.0, location, Definition::parse(definition.as_bytes())?)).map(PaimonTable)
}
