//! Converts variants: Python values to variants, and variants to JSON text.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_schema::{DataType, Field};
use frazil_core::error::Error;
use frazil_core::variant::{self, NewVariant};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

use crate::arrow::{self, ArrowArray};
use crate::errors::to_python;
use crate::interrupt::detached;

/// Converts an array of variants (structs of `metadata` and `value`) to JSON text.
#[pyfunction]
pub(crate) fn variant_to_json(py: Python<'_>, array: ArrowArray) -> PyResult<Py<PyAny>> {
    let ArrowArray(array, _) = array;
    let text = detached(py, || {
        let variants =
            array.as_struct_opt().ok_or_else(|| Error::invalid("variants must be structs of metadata and value"))?;
        variant::to_json_array(variants)
    })?;
    arrow::array(py, Arc::new(text), Arc::new(Field::new("", DataType::Utf8, true)))
}

/// Returns the metadata and the value of a variant: None, a bool, an int of 64 bits, a float, a str, bytes, a list, a
/// dict with str keys, or a tuple of a type and its parts: `("decimal", unscaled, scale)`, `("date", days)` or
/// `("timestamp", units, is_nanoseconds, is_instant)`.
#[pyfunction]
pub(crate) fn encode_variant<'py>(
    py: Python<'py>,
    value: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
    let (metadata, value) = variant::encode(&plain(value)?).map_err(|error| to_python(py, &error))?;
    Ok((PyBytes::new(py, &metadata), PyBytes::new(py, &value)))
}

fn plain(value: &Bound<'_, PyAny>) -> PyResult<NewVariant> {
    Ok(if value.is_none() {
        NewVariant::Null
    } else if value.is_instance_of::<PyBool>() {
        NewVariant::Boolean(value.extract()?)
    } else if value.is_instance_of::<PyInt>() {
        NewVariant::Int(value.extract()?)
    } else if value.is_instance_of::<PyFloat>() {
        NewVariant::Double(value.extract()?)
    } else if value.is_instance_of::<PyString>() {
        NewVariant::String(value.extract()?)
    } else if let Ok(bytes) = value.cast::<PyBytes>() {
        NewVariant::Binary(bytes.as_bytes().to_vec())
    } else if let Ok(list) = value.cast::<PyList>() {
        NewVariant::Array(list.iter().map(|element| plain(&element)).collect::<PyResult<_>>()?)
    } else if let Ok(fields) = value.cast::<PyDict>() {
        let field = |(name, field): (Bound<'_, PyAny>, Bound<'_, PyAny>)| Ok((name.extract()?, plain(&field)?));
        NewVariant::Object(fields.iter().map(field).collect::<PyResult<BTreeMap<String, NewVariant>>>()?)
    } else {
        typed(value.cast::<PyTuple>()?)?
    })
}

fn typed(value: &Bound<'_, PyTuple>) -> PyResult<NewVariant> {
    let name: String = value.get_item(0)?.extract()?;
    match name.as_str() {
        "decimal" => {
            let (_, unscaled, scale): (String, i128, u8) = value.extract()?;
            Ok(NewVariant::Decimal { unscaled, scale })
        }
        "date" => {
            let (_, days): (String, i32) = value.extract()?;
            Ok(NewVariant::Date(days))
        }
        "timestamp" => {
            let (_, value, nanos, utc): (String, i64, bool, bool) = value.extract()?;
            Ok(NewVariant::Timestamp { value, nanos, utc })
        }
        _ => Err(PyTypeError::new_err(format!("`{name}` is not a type of variants"))),
    }
}
