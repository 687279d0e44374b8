//! What is supported of the specifications.

use frazil_core::feature::Feature;
use pyo3::prelude::*;

/// A section of a specification.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct SpecFeature(&'static Feature);

#[pymethods]
impl SpecFeature {
    /// The name of the section.
    #[getter]
    fn section(&self) -> &'static str {
        self.0.section
    }

    /// The modules that implement it.
    #[getter]
    fn modules(&self) -> Vec<&'static str> {
        self.0.modules.to_vec()
    }

    /// The golden tables (`*` stands for any text) or the tests that prove it.
    #[getter]
    fn proof(&self) -> Vec<&'static str> {
        self.0.proof.to_vec()
    }

    /// Whether tables with it can be read, in words.
    #[getter]
    fn read(&self) -> &'static str {
        self.0.read.describe()
    }

    /// Whether it can be written, in words.
    #[getter]
    fn write(&self) -> &'static str {
        self.0.write.describe()
    }
}

/// The sections of the Iceberg specification.
#[pyfunction]
pub(crate) fn iceberg_features() -> Vec<SpecFeature> {
    frazil_iceberg::features::FEATURES.iter().map(SpecFeature).collect()
}

/// The sections of the Paimon specification.
#[pyfunction]
pub(crate) fn paimon_features() -> Vec<SpecFeature> {
    frazil_paimon::features::FEATURES.iter().map(SpecFeature).collect()
}
