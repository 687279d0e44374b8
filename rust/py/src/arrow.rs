//! Arrow in and out by the PyCapsule interface; what leaves is made pyarrow's, which every user of frazil has.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{FieldRef, Schema, SchemaRef};
use frazil_core::error::Error;
use pyo3::prelude::*;
use pyo3_arrow::{PyArray, PyRecordBatch, PySchema};

use crate::errors::OrRaise;

/// A `pyarrow.RecordBatch`.
pub(crate) fn record_batch(py: Python<'_>, batch: RecordBatch) -> PyResult<Bound<'_, PyAny>> {
    PyRecordBatch::new(batch).into_pyarrow(py)
}

/// A `pyarrow.Schema`.
pub(crate) fn schema(py: Python<'_>, schema: SchemaRef) -> PyResult<Bound<'_, PyAny>> {
    PySchema::new(schema).into_pyarrow(py)
}

/// A `pyarrow.Array` of the type of `field`.
pub(crate) fn array(py: Python<'_>, array: ArrayRef, field: FieldRef) -> PyResult<Py<PyAny>> {
    let array = PyArray::try_new(array, field).map_err(Error::from).or_raise(py)?;
    Ok(array.to_pyarrow(py)?.unbind())
}

/// A `pyarrow.Array` of numbers.
pub(crate) fn int32_array(py: Python<'_>, values: arrow_array::Int32Array) -> PyResult<Py<PyAny>> {
    let field = arrow_schema::Field::new("", arrow_schema::DataType::Int32, true);
    array(py, Arc::new(values), Arc::new(field))
}

/// Rows of which no column is read.
pub(crate) fn rows_without_columns(row_count: usize) -> RecordBatch {
    let options = RecordBatchOptions::new().with_row_count(Some(row_count));
    let empty = || RecordBatch::new_empty(Arc::new(Schema::empty()));
    RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options).unwrap_or_else(|_| empty())
}
