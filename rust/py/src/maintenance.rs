//! Determines files of a table for maintenance.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray, UInt64Array};
use frazil_core::error::Result;
use frazil_iceberg::maintenance::expire::unreachable;
use frazil_iceberg::maintenance::orphans::{ListedFile, Listing as CoreListing};
use frazil_iceberg::maintenance::purge::files_of;
use frazil_iceberg::maintenance::reach::OwnedFile;
use frazil_iceberg::maintenance::rewrite::{self, FileGroup as CoreGroup, RewriteRules};
use pyo3::prelude::*;

use crate::arrow;
use crate::interrupt::interruptible;
use crate::scan::Plan;
use crate::table::Table;

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<FileGroup>()?;
    module.add_class::<Listing>()?;
    module.add_function(wrap_pyfunction!(owned_files, module)?)?;
    module.add_function(wrap_pyfunction!(unreachable_files, module)?)?;
    module.add_function(wrap_pyfunction!(file_groups, module)?)?;
    module.add_function(wrap_pyfunction!(unchanged_groups, module)?)
}

/// Returns every file of a table as a `pyarrow.RecordBatch` of `kind`, `location` and `size_bytes`.
#[pyfunction]
pub(crate) fn owned_files<'py>(py: Python<'py>, table: &Table, workers: usize) -> PyResult<Bound<'py, PyAny>> {
    let found = interruptible(py, |context| batch(&files_of(&table.0, workers, context)?))?;
    arrow::record_batch(py, found)
}

/// Returns the files that are not referenced in `after`, a later state of the same table; the columns are those of
/// [`owned_files`].
#[pyfunction]
pub(crate) fn unreachable_files<'py>(
    py: Python<'py>,
    before: &Table,
    after: &Table,
    workers: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let found = interruptible(py, |context| batch(&unreachable(&before.0, &after.0, workers, context)?))?;
    arrow::record_batch(py, found)
}

fn batch(files: &[OwnedFile]) -> Result<RecordBatch> {
    let kinds = files.iter().map(|file| file.kind.name());
    file_batch(kinds, files.iter().map(|file| &*file.location), files.iter().map(|file| file.size_bytes))
}

/// Returns files as rows.
pub(crate) fn file_batch<'a>(
    kinds: impl Iterator<Item = &'a str>,
    locations: impl Iterator<Item = &'a str>,
    sizes: impl Iterator<Item = u64>,
) -> Result<RecordBatch> {
    let kinds: ArrayRef = Arc::new(kinds.map(Some).collect::<StringArray>());
    let locations: ArrayRef = Arc::new(locations.map(Some).collect::<StringArray>());
    let sizes: ArrayRef = Arc::new(sizes.map(Some).collect::<UInt64Array>());
    Ok(RecordBatch::try_from_iter([("kind", kinds), ("location", locations), ("size_bytes", sizes)])?)
}

/// A group of data files that are rewritten together.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct FileGroup(CoreGroup);

#[pymethods]
impl FileGroup {
    /// Returns the positions of the files in the plan.
    #[getter]
    fn places(&self) -> Vec<usize> {
        self.0.places.clone()
    }

    /// Returns whether the files have a different spec than the new files, and may be in any of its partitions.
    #[getter]
    fn changes_spec(&self) -> bool {
        self.0.changes_spec
    }

    /// Returns the total size of the files in bytes.
    #[getter]
    fn input_bytes(&self) -> i64 {
        self.0.input_bytes
    }

    /// Returns the number of delete files that apply to the files.
    #[getter]
    fn delete_files(&self) -> usize {
        self.0.delete_files
    }

    /// Returns the expected number of new files.
    #[getter]
    fn output_files(&self) -> i64 {
        self.0.output_files
    }

    /// Returns the length at which a new file is closed.
    #[getter]
    fn output_file_bytes(&self) -> i64 {
        self.0.output_file_bytes
    }
}

/// The rules by which data files are selected for rewriting; see `frazil.iceberg.operations.rewrite`.
#[derive(FromPyObject)]
pub(crate) struct Rules {
    target_file_bytes: i64,
    min_file_bytes: i64,
    max_file_bytes: i64,
    min_input_files: usize,
    delete_file_threshold: usize,
    delete_ratio_threshold: f64,
    max_group_bytes: i64,
    rewrite_all: bool,
}

/// Returns the files of a plan that should be rewritten, in groups of one partition of a spec, or of all other specs.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts structs by value")]
pub(crate) fn file_groups(py: Python<'_>, plan: &Plan, rules: Rules, spec_id: i32) -> PyResult<Vec<FileGroup>> {
    let rules = RewriteRules {
        target_file_bytes: rules.target_file_bytes,
        min_file_bytes: rules.min_file_bytes,
        max_file_bytes: rules.max_file_bytes,
        min_input_files: rules.min_input_files,
        delete_file_threshold: rules.delete_file_threshold,
        delete_ratio_threshold: rules.delete_ratio_threshold,
        max_group_bytes: rules.max_group_bytes,
        rewrite_all: rules.rewrite_all,
    };
    let groups = interruptible(py, |context| rewrite::file_groups(plan.core(), &rules, spec_id, context))?;
    Ok(groups.into_iter().map(FileGroup).collect())
}

/// Returns whether a newer plan still has all files of each group, with the same deletes; see [`rewrite::unchanged`].
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts lists by value")]
pub(crate) fn unchanged_groups(
    py: Python<'_>,
    planned: &Plan,
    newer: &Plan,
    groups: Vec<PyRef<'_, FileGroup>>,
    passes_over_equality_deletes: bool,
) -> PyResult<Vec<bool>> {
    let groups: Vec<Vec<usize>> = groups.iter().map(|group| group.0.places.clone()).collect();
    interruptible(py, |_| {
        let places: Vec<&[usize]> = groups.iter().map(Vec::as_slice).collect();
        rewrite::unchanged(planned.core(), newer.core(), &places, passes_over_equality_deletes)
    })
}

/// The contents of a folder.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct Listing(CoreListing);

#[pymethods]
impl Listing {
    /// Lists a folder and its subfolders; files that were modified before `older_than_ms` may be orphan files.
    #[new]
    #[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts strings by value")]
    fn new(py: Python<'_>, table: &Table, folder: String, older_than_ms: i64, workers: usize) -> PyResult<Self> {
        interruptible(py, |context| CoreListing::of(&table.0, &folder, older_than_ms, workers, context)).map(Self)
    }

    fn __len__(&self) -> usize {
        self.0.files
    }

    /// Returns the total size of all files in bytes.
    #[getter]
    fn size_bytes(&self) -> u64 {
        self.0.bytes
    }

    /// Returns the old files that are not referenced in `table`, a state that was loaded after the listing; the columns
    /// are those of [`owned_files`].
    fn orphans<'py>(&self, py: Python<'py>, table: &Table, workers: usize) -> PyResult<Bound<'py, PyAny>> {
        let found = interruptible(py, |context| orphan_batch(&self.0.orphans(&table.0, workers, context)?))?;
        arrow::record_batch(py, found)
    }
}

fn orphan_batch(files: &[&ListedFile]) -> Result<RecordBatch> {
    let kinds = files.iter().map(|_| "orphan");
    file_batch(kinds, files.iter().map(|file| file.location.as_str()), files.iter().map(|file| file.size_bytes))
}
