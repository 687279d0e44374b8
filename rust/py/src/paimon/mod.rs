//! Paimon tables, scans, plans, splits.

mod filter;
mod plan;
mod reader;
mod scan;
mod split;
mod table;

use pyo3::prelude::*;

pub(crate) use scan::choice;
pub(crate) use table::PaimonTable;

/// Adds the classes of Paimon to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<table::PaimonTable>()?;
    module.add_class::<scan::PaimonScan>()?;
    module.add_class::<plan::PaimonPlan>()?;
    module.add_class::<split::PaimonSplit>()?;
    module.add_class::<split::PaimonDataFile>()?;
    module.add_class::<split::PaimonDeletionFile>()?;
    module.add_class::<reader::SplitReader>()?;
    module.add_function(wrap_pyfunction!(filter::filter_batch, module)?)?;
    Ok(())
}
