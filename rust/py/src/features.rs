//! The supported features of the specifications.

use frazil_core::feature::Feature;
use pyo3::prelude::*;

/// A section of a specification.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct SpecFeature(&'static Feature);

#[pymethods]
impl SpecFeature {
    /// Returns the name of the section.
    #[getter]
    fn section(&self) -> &'static str {
        self.0.section
    }

    /// Returns the modules that implement it.
    #[getter]
    fn modules(&self) -> Vec<&'static str> {
        self.0.modules.to_vec()
    }

    /// Returns the golden tables (`*` is a wildcard) or the tests that cover the feature.
    #[getter]
    fn proof(&self) -> Vec<&'static str> {
        self.0.proof.to_vec()
    }

    /// Returns a description of whether tables with the feature can be read.
    #[getter]
    fn read(&self) -> &'static str {
        self.0.read.describe()
    }

    /// Returns a description of whether the feature can be written.
    #[getter]
    fn write(&self) -> &'static str {
        self.0.write.describe()
    }
}

/// Returns the sections of the Iceberg specification.
#[pyfunction]
pub(crate) fn iceberg_features() -> Vec<SpecFeature> {
    frazil_iceberg::features::FEATURES.iter().map(SpecFeature).collect()
}

/// Returns the sections of the Paimon specification.
#[pyfunction]
pub(crate) fn paimon_features() -> Vec<SpecFeature> {
    frazil_paimon::features::FEATURES.iter().map(SpecFeature).collect()
}
