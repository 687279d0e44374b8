//! Schemas of Iceberg tables as JSON, the form used in Python.

use frazil_iceberg::evolve::create::typed_schema;
use frazil_iceberg::spec::arrow::arrow_schema;
use frazil_iceberg::spec::schema::Schema;
use pyo3::prelude::*;

use crate::arrow::{self, ArrowSchema};
use crate::interrupt::detached;

/// Returns the JSON of the Iceberg schema for the rows of an Arrow schema, with new ids.
#[pyfunction]
pub(crate) fn schema_json(py: Python<'_>, schema: ArrowSchema) -> PyResult<String> {
    let ArrowSchema(schema) = schema;
    detached(py, || Schema::from_arrow(schema.fields()).map(|schema| schema.to_json()))
}

/// Returns the JSON of the schema of columns with these names and types, with new ids.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts lists by value")]
pub(crate) fn typed_schema_json(py: Python<'_>, columns: Vec<(String, String)>) -> PyResult<String> {
    detached(py, || typed_schema(&columns).map(|schema| schema.to_json()))
}

/// Returns the JSON of the schema with only these columns, selected like `selected_fields` of a scan.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts lists by value")]
pub(crate) fn selected_schema_json(
    py: Python<'_>,
    schema: &str,
    names: Vec<String>,
    case_sensitive: bool,
) -> PyResult<String> {
    detached(py, || {
        let mut schema = Schema::from_json(schema)?;
        schema.fields = schema.project(&names, case_sensitive)?;
        let kept: Vec<i32> =
            schema.identifier_field_ids.iter().copied().filter(|&id| schema.field(id).is_some()).collect();
        schema.identifier_field_ids = kept;
        Ok(schema.to_json())
    })
}

/// Returns the Arrow schema of the rows of a schema as a `pyarrow.Schema`.
#[pyfunction]
pub(crate) fn schema_arrow<'py>(py: Python<'py>, schema: &str) -> PyResult<Bound<'py, PyAny>> {
    let schema = detached(py, || Schema::from_json(schema).map(|schema| arrow_schema(&schema.fields)))?;
    arrow::schema(py, schema.into())
}
