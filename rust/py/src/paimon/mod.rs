//! Paimon tables: scans, plans, splits, rows, commits.

mod analyze;
mod changes;
mod commit;
mod compact;
mod filter;
mod maintenance;
mod plan;
mod reader;
mod rewrite;
mod rows;
mod scan;
mod schema;
mod split;
mod table;

use pyo3::prelude::*;

pub(crate) use scan::choice;
pub(crate) use table::PaimonTable;

/// Adds the Paimon classes to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<table::PaimonTable>()?;
    module.add_class::<scan::PaimonScan>()?;
    module.add_class::<plan::PaimonPlan>()?;
    module.add_class::<changes::PaimonChangeScan>()?;
    module.add_class::<changes::PaimonChangePlan>()?;
    module.add_class::<changes::PaimonChangeStage>()?;
    module.add_class::<split::PaimonSplit>()?;
    module.add_class::<split::PaimonDataFile>()?;
    module.add_class::<split::PaimonDeletionFile>()?;
    module.add_class::<reader::SplitReader>()?;
    module.add_class::<rows::PaimonFileSpec>()?;
    module.add_class::<rows::PaimonRows>()?;
    module.add_class::<analyze::PaimonAnalysis>()?;
    module.add_class::<commit::PaimonCommit>()?;
    module.add_class::<commit::PaimonCommitResult>()?;
    module.add_class::<compact::PaimonCompaction>()?;
    module.add_class::<rewrite::PaimonRewrites>()?;
    module.add_class::<rewrite::ChangedRows>()?;
    maintenance::register(module)?;
    module.add_function(wrap_pyfunction!(schema::paimon_create, module)?)?;
    module.add_function(wrap_pyfunction!(filter::filter_batch, module)?)?;
    Ok(())
}
