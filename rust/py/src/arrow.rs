//! Exchanges Arrow data with Python through the PyCapsule interface. Returned objects are pyarrow's, which every user
//! of frazil has.
//!
//! All Arrow data from Python passes through [`imported`]: arguments of native functions have the types
//! [`ArrowSchema`], [`ArrowArray`] and [`ArrowBatch`].

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi_and_data_type};
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use frazil_core::array_data::array_of;
use frazil_core::error::{Error, Result};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use pyo3_arrow::{PyArray, PyRecordBatch, PySchema};

use crate::errors::OrRaise;
use crate::interrupt::{guarded, guarded_call};

/// The maximum nesting depth of Arrow types. Deeper ones would exhaust the stack.
const MAX_DEPTH: usize = 128;

/// The maximum number of levels that pyarrow imports; the schema itself is the first.
const PYARROW_DEPTH: usize = 64;

/// An Arrow schema from Python.
pub(crate) struct ArrowSchema(pub(crate) SchemaRef);

/// An Arrow array from Python, with its field.
pub(crate) struct ArrowArray(pub(crate) ArrayRef, pub(crate) FieldRef);

/// A record batch from Python.
pub(crate) struct ArrowBatch(pub(crate) RecordBatch);

impl<'py> FromPyObject<'_, 'py> for ArrowSchema {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let capsule = object.call_method0("__arrow_c_schema__")?.cast_into::<PyCapsule>()?;
        let field = described(&capsule)?;
        let fields = match field.data_type() {
            DataType::Struct(fields) => Ok(fields.clone()),
            other => Err(Error::invalid(format!("an Arrow schema must be a struct of columns, not {other}"))),
        };
        let fields = fields.or_raise(object.py())?;
        Ok(Self(Arc::new(Schema::new_with_metadata(fields, field.metadata().clone()))))
    }
}

impl<'py> FromPyObject<'_, 'py> for ArrowArray {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        imported(object).map(|(array, field)| Self(array, Arc::new(field)))
    }
}

impl<'py> FromPyObject<'_, 'py> for ArrowBatch {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let (array, field) = imported(object)?;
        guarded(|| batch_of(&array, &field)).or_raise(object.py()).map(Self)
    }
}

fn batch_of(array: &ArrayRef, field: &Field) -> Result<RecordBatch> {
    let columns = array.as_struct_opt().filter(|columns| columns.null_count() == 0);
    let columns =
        columns.ok_or_else(|| Error::invalid("a record batch must be a struct of columns without NULL rows"))?;
    let schema = Schema::new_with_metadata(columns.fields().clone(), field.metadata().clone());
    let options = RecordBatchOptions::new().with_row_count(Some(columns.len()));
    let batch = RecordBatch::try_new_with_options(Arc::new(schema), columns.columns().to_vec(), &options);
    batch.map_err(|error| Error::invalid(format!("the rows are not valid Arrow data: {error}")))
}

/// Imports an Arrow array; panics during the import become errors.
#[expect(unsafe_code, reason = "the C data interface passes pointers, in capsules whose names identify their contents")]
fn imported(object: Borrowed<'_, '_, PyAny>) -> PyResult<(ArrayRef, Field)> {
    let capsules = object.call_method0("__arrow_c_array__")?;
    let (schema, array) = capsules.extract::<(Bound<'_, PyCapsule>, Bound<'_, PyCapsule>)>()?;
    let field = described(&schema)?;
    let pointer = array.pointer_checked(Some(c"arrow_array"))?.cast::<FFI_ArrowArray>();
    // SAFETY: the name of the capsule identifies its contents; the array is moved out of it, which marks it as
    // released.
    let array = unsafe { FFI_ArrowArray::from_raw(pointer.as_ptr()) };
    let imported = guarded(|| {
        // SAFETY: the exporter of an array guarantees that it follows the interface and has the type of its schema.
        let data = unsafe { from_ffi_and_data_type(array, field.data_type().clone()) };
        array_of(data.map_err(|error| Error::invalid(format!("the Arrow data cannot be imported: {error}")))?)
    });
    Ok((imported.or_raise(object.py())?, field))
}

/// Returns the field described by the capsule of a schema.
#[expect(unsafe_code, reason = "the C data interface passes pointers, in capsules whose names identify their contents")]
fn described(capsule: &Bound<'_, PyCapsule>) -> PyResult<Field> {
    let pointer = capsule.pointer_checked(Some(c"arrow_schema"))?.cast::<FFI_ArrowSchema>();
    // SAFETY: the name of the capsule identifies its contents, and the capsule outlives this function.
    let schema = unsafe { pointer.as_ref() };
    let field = guarded(|| {
        check_depth(schema)?;
        Field::try_from(schema).map_err(|error| Error::invalid(format!("the Arrow type is not supported: {error}")))
    });
    field.or_raise(capsule.py())
}

/// Checks the nesting depth before the type is built, which recurses.
fn check_depth(schema: &FFI_ArrowSchema) -> Result<()> {
    let mut waiting = vec![(schema, 0)];
    while let Some((schema, depth)) = waiting.pop() {
        if depth > MAX_DEPTH {
            return Err(Error::invalid(format!("Arrow types are nested more than {MAX_DEPTH} levels deep")));
        }
        waiting.extend(schema.children().chain(schema.dictionary()).map(|child| (child, depth + 1)));
    }
    Ok(())
}

/// Returns a `pyarrow.RecordBatch`.
pub(crate) fn record_batch(py: Python<'_>, batch: RecordBatch) -> PyResult<Bound<'_, PyAny>> {
    guarded_call(py, || PyRecordBatch::new(batch).into_pyarrow(py))
}

/// Returns a `pyarrow.Schema`.
pub(crate) fn schema(py: Python<'_>, schema: SchemaRef) -> PyResult<Bound<'_, PyAny>> {
    guarded(|| schema.fields().iter().try_for_each(|field| check_pyarrow(field))).or_raise(py)?;
    guarded_call(py, || PySchema::new(schema).into_pyarrow(py))
}

/// Checks that the nesting depth does not exceed [`PYARROW_DEPTH`], the limit of pyarrow.
fn check_pyarrow(column: &Field) -> Result<()> {
    let mut waiting = vec![(column, 2)];
    while let Some((field, level)) = waiting.pop() {
        if level > PYARROW_DEPTH {
            let message = format!("the type is nested more than {PYARROW_DEPTH} levels deep, the limit of pyarrow");
            return Err(Error::unsupported(message).with("column", column.name()).hint("exclude the column"));
        }
        match field.data_type() {
            DataType::Struct(fields) => waiting.extend(fields.iter().map(|part| (&**part, level + 1))),
            DataType::List(part) | DataType::Map(part, _) => waiting.push((part, level + 1)),
            _ => {}
        }
    }
    Ok(())
}

/// Returns a `pyarrow.Array` with the type of `field`.
pub(crate) fn array(py: Python<'_>, array: ArrayRef, field: FieldRef) -> PyResult<Py<PyAny>> {
    guarded_call(py, || {
        let array = PyArray::try_new(array, field).map_err(Error::from).or_raise(py)?;
        Ok(array.to_pyarrow(py)?.unbind())
    })
}

/// Returns a `pyarrow.Array` of integers.
pub(crate) fn int32_array(py: Python<'_>, values: arrow_array::Int32Array) -> PyResult<Py<PyAny>> {
    let field = Field::new("", DataType::Int32, true);
    array(py, Arc::new(values), Arc::new(field))
}

/// Returns rows without columns.
pub(crate) fn rows_without_columns(row_count: usize) -> RecordBatch {
    let options = RecordBatchOptions::new().with_row_count(Some(row_count));
    let empty = || RecordBatch::new_empty(Arc::new(Schema::empty()));
    RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options).unwrap_or_else(|_| empty())
}
