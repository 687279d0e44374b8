//! Table properties of Iceberg: keys, values and defaults.

use frazil_iceberg::properties::{self, Effect, Property, Scope};
use pyo3::prelude::*;

use crate::errors::OrRaise;

/// A table property.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct TableProperty(Property);

#[pymethods]
impl TableProperty {
    /// The key; of a property of columns, the part before the name of the column.
    #[getter]
    fn key(&self) -> &'static str {
        self.0.key
    }

    /// Whether the key ends with the name of a column.
    #[getter]
    fn is_of_column(&self) -> bool {
        self.0.scope == Scope::Column
    }

    /// The value where the property is not set, or None.
    #[getter]
    fn default(&self) -> Option<&'static str> {
        Some(self.0.default).filter(|text| !text.is_empty())
    }

    /// The values that it takes, in words.
    #[getter]
    fn values(&self) -> String {
        self.0.values.describe()
    }

    /// Whether frazil acts on it; otherwise its value is checked and kept for other engines.
    #[getter]
    fn is_used(&self) -> bool {
        self.0.effect == Effect::Used
    }

    /// What it does.
    #[getter]
    fn doc(&self) -> &'static str {
        self.0.doc
    }

    /// Check a value of the property.
    fn check(&self, py: Python<'_>, value: &str) -> PyResult<()> {
        self.0.check(value).map_err(|error| error.with("property", self.0.key)).or_raise(py)
    }
}

/// All table properties, by key.
#[pyfunction]
pub(crate) fn table_properties() -> Vec<TableProperty> {
    properties::PROPERTIES.iter().copied().map(TableProperty).collect()
}

/// The table property that a key means, or None.
#[pyfunction]
pub(crate) fn table_property(key: &str) -> Option<TableProperty> {
    properties::find(key).map(|(property, _)| TableProperty(*property))
}
