//! Filters batches that were read in Python.

use frazil_core::sql::expression::Expression;
use frazil_paimon::read::filter;
use frazil_paimon::spec::schema::TableSchema;
use pyo3::prelude::*;

use crate::arrow::{self, ArrowBatch};
use crate::interrupt::detached;

/// Returns the rows that a filter keeps. The filter is bound to the columns of a Paimon schema; columns of the batch
/// are matched by name.
#[pyfunction]
#[pyo3(signature = (schema_json, row_filter, batch, *, case_sensitive))]
pub(crate) fn filter_batch<'py>(
    py: Python<'py>,
    schema_json: &str,
    row_filter: &str,
    batch: ArrowBatch,
    case_sensitive: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let ArrowBatch(batch) = batch;
    let rows = detached(py, || {
        let schema = TableSchema::parse(schema_json.as_bytes())?;
        filter::filter_batch(&schema, &Expression::filter(row_filter)?, &batch, case_sensitive)
    })?;
    arrow::record_batch(py, rows)
}
