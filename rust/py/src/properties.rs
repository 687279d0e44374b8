//! Table properties of Iceberg and options of Paimon: keys, values and defaults.

use frazil_iceberg::properties::{self, Effect, Property, Scope};
use frazil_paimon::spec::options::Options;
use pyo3::prelude::*;

use crate::errors::OrRaise;

/// A table property.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct TableProperty(Property);

#[pymethods]
impl TableProperty {
    /// Returns the key; for a column property, the part before the column name.
    #[getter]
    fn key(&self) -> &'static str {
        self.0.key
    }

    /// Returns whether the key ends with a column name.
    #[getter]
    fn is_of_column(&self) -> bool {
        self.0.scope == Scope::Column
    }

    /// Returns the default value, or None.
    #[getter]
    fn default(&self) -> Option<&'static str> {
        Some(self.0.default).filter(|text| !text.is_empty())
    }

    /// Returns a description of the accepted values.
    #[getter]
    fn values(&self) -> String {
        self.0.values.describe()
    }

    /// Returns whether frazil uses it; otherwise its value is checked and kept for other engines.
    #[getter]
    fn is_used(&self) -> bool {
        self.0.effect == Effect::Used
    }

    /// Returns the description.
    #[getter]
    fn doc(&self) -> &'static str {
        self.0.doc
    }

    /// Checks a value of the property.
    fn check(&self, py: Python<'_>, value: &str) -> PyResult<()> {
        self.0.check(value).map_err(|error| error.with("property", self.0.key)).or_raise(py)
    }
}

/// Returns all table properties, by key.
#[pyfunction]
pub(crate) fn table_properties() -> Vec<TableProperty> {
    properties::PROPERTIES.iter().copied().map(TableProperty).collect()
}

/// Returns the names of the options of Paimon tables, without those of single columns.
#[pyfunction]
pub(crate) fn paimon_option_names() -> Vec<&'static str> {
    frazil_paimon::write::option_table::option_names().collect()
}

/// Returns the table property for a key, or None.
#[pyfunction]
pub(crate) fn table_property(key: &str) -> Option<TableProperty> {
    properties::find(key).map(|(property, _)| TableProperty(*property))
}

/// Returns the milliseconds of a duration such as `7 d`, in the notation of Paimon's options; `name` is for errors.
#[pyfunction]
pub(crate) fn paimon_duration_ms(py: Python<'_>, name: &str, text: String) -> PyResult<u64> {
    let found = Options::new([(name.to_string(), text)].into()).duration(name).or_raise(py)?;
    Ok(found.map_or(0, |found| u64::try_from(found.as_millis()).unwrap_or(u64::MAX)))
}
