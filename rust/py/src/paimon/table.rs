//! Paimon tables.

use frazil_core::error::Error;
use frazil_paimon::spec::options::Options;
use frazil_paimon::table::Table;
use pyo3::prelude::*;
use pyo3_arrow::PyRecordBatch;

use crate::arrow;
use crate::files::Files;
use crate::interrupt::{detached, interruptible};

/// A table at one state of its schema.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct PaimonTable(pub(crate) Table);
