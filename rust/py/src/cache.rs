//! The cache of this process.

use frazil_core::cache::Cache;
use pyo3::prelude::*;

/// Returns hits, misses, evictions, entries and bytes.
#[pyfunction]
pub(crate) fn cache_stats(py: Python<'_>) -> (u64, u64, u64, u64, u64) {
    let stats = py.detach(|| Cache::of_process().stats());
    (stats.hits, stats.misses, stats.evictions, stats.entries, stats.bytes)
}

/// Removes all entries.
#[pyfunction]
pub(crate) fn cache_clear(py: Python<'_>) {
    py.detach(|| Cache::of_process().clear());
}

/// Sets the size limit in bytes and evicts entries that exceed it.
#[pyfunction]
pub(crate) fn cache_limit(py: Python<'_>, size_bytes: u64) {
    py.detach(|| Cache::of_process().set_limit_bytes(size_bytes));
}
