//! Applies partition transforms to Arrow arrays.

use std::sync::Arc;

use arrow_schema::Field;
use frazil_core::error::Error;
use frazil_iceberg::spec::arrow::{arrow_primitive, primitive_of};
use frazil_iceberg::spec::transform::Transform;
use pyo3::prelude::*;

use crate::arrow::{self, ArrowArray};
use crate::interrupt::detached;

/// Applies a transform, by its text in the spec, to an Arrow array.
#[pyfunction]
pub(crate) fn apply_transform(py: Python<'_>, transform: &str, array: ArrowArray) -> PyResult<Py<PyAny>> {
    let ArrowArray(array, field) = array;
    let (result, data_type) = detached(py, || {
        let transform = Transform::parse(transform);
        let source = primitive_of(&field)?;
        let result_type = transform
            .result_type(&source)
            .ok_or_else(|| Error::invalid(format!("the transform {transform} does not apply to the type {source}")))?;
        Ok((transform.apply(array.as_ref(), &source)?, arrow_primitive(&result_type)))
    })?;
    arrow::array(py, result, Arc::new(Field::new("", data_type, true)))
}
