//! Converts deletion vector blobs to masks and back.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, BooleanArray, Int64Array};
use arrow_schema::{DataType, Field};
use frazil_core::bitmap::Positions;
use frazil_core::error::Error;
use frazil_iceberg::deletes::vector;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arrow::{self, ArrowArray};
use crate::interrupt::detached;

/// Returns the mask of the rows that a blob does not delete.
#[pyfunction]
pub(crate) fn kept_rows(py: Python<'_>, blob: &[u8], row_count: usize) -> PyResult<Py<PyAny>> {
    let kept = detached(py, || vector::kept(blob, row_count))?;
    arrow::array(py, Arc::new(BooleanArray::new(kept, None)), Arc::new(Field::new("", DataType::Boolean, true)))
}

/// Returns the positions in a blob, in ascending order.
#[pyfunction]
pub(crate) fn deleted_positions(py: Python<'_>, blob: &[u8]) -> PyResult<Py<PyAny>> {
    let positions = detached(py, || {
        let positions = vector::decode(blob, None)?;
        Ok(Int64Array::from_iter_values(positions.iter().map(u64::cast_signed)))
    })?;
    arrow::array(py, Arc::new(positions), Arc::new(Field::new("", DataType::Int64, true)))
}

/// Encodes positions as a blob.
#[pyfunction]
pub(crate) fn encode_positions(py: Python<'_>, positions: ArrowArray) -> PyResult<Bound<'_, PyBytes>> {
    let ArrowArray(positions, _) = positions;
    let blob = detached(py, || {
        let positions = positions.as_primitive_opt::<Int64Type>().filter(|positions| positions.null_count() == 0);
        let positions = positions.ok_or_else(|| Error::invalid("positions must be 64-bit integers without NULL"))?;
        let mut set = Positions::new();
        set.insert_all(positions.values())?;
        vector::encode(&set)
    })?;
    Ok(PyBytes::new(py, &blob))
}
