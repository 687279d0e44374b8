//! Changes the rows of data files of a table without a primary key by a DELETE, UPDATE or MERGE.
//!
//! Files are changed one by one: first the positions of the changed rows are found by the columns that determine them.
//! Then deletion vectors mark these rows or, in tables without vectors, all rows are read and written again.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{BooleanArray, UInt32Array};
use frazil_core::bitmap::Positions;
use frazil_core::context::Context;
use frazil_core::error::{Error, ErrorKind, Result};
use frazil_core::sql::predicate::BoundPredicate;
use frazil_core::storage::Files;

use super::task::{CommitPart, CompactTask, GroupRead, Shared};
use super::vectors::RowVectors;
use crate::context::ReadContext;
use crate::context::output::{MetadataColumn, Output};
use crate::context::split::DataSplit;
use crate::deletion_vector;
use crate::read::scan_read::ScanRead;
use crate::scan::plan::Plan;
use crate::scan::table_scan::TableScan;
use crate::spec::data_file_meta::DeletionFile;
use crate::spec::index_manifest::IndexEntry;
use crate::spec::manifest::{ManifestEntries, WantedFields};
use crate::spec::options::Options;
use crate::table::Table;
use crate::task::SplitTask;
use crate::write::change::Home;
use crate::write::check::check_writable;

/// The data files of a scan, each of which may be rewritten.
#[derive(Debug)]
pub struct RewritePlan {
    state: Option<PlannedFiles>,
}

#[derive(Debug)]
struct PlannedFiles {
    shared: Arc<Shared>,
    /// The read of the columns that determine which rows change.
    find: Arc<ScanRead>,
    /// The read of all columns.
    whole: Arc<ScanRead>,
    /// The files as recorded in manifests, and the split of each.
    entries: ManifestEntries,
    splits: Vec<DataSplit>,
    /// The index files of the snapshot.
    indexes: Vec<IndexEntry>,
    table: Table,
    options: Options,
    snapshot: i64,
}

/// A data file that may be rewritten.
#[derive(Debug)]
pub struct FileRewrite {
    /// The read of the rows that match the filter of the scan: the columns of the scan, then the positions of the rows.
    pub find: SplitTask,
    /// The task that replaces the file. It reads all columns, then the positions of the rows.
    pub task: CompactTask,
    /// The changed rows of the file.
    pub changed: ChangedRows,
}

/// The positions of the changed rows of a file.
#[derive(Debug)]
pub struct ChangedRows {
    positions: Positions,
    /// The number of rows of the file that are not deleted.
    rows: u64,
    /// Whether all rows change; if so, `positions` is not complete.
    is_all: bool,
    /// The deletion vector of the file.
    vector: Option<DeletionFile>,
    storage: Files,
}

impl RewritePlan {
    /// Plans the files of a scan whose rows may match. `output` contains the columns that determine which rows change.
    ///
    /// # Errors
    /// `Unsupported` for tables that cannot be written; the errors of planning a scan.
    pub fn try_new(scan: &TableScan, output: &Output, utc_offset_ms: i64, context: &Context) -> Result<Self> {
        let table = scan.table();
        check_writable(table.schema())?;
        if !table.schema().primary_keys.is_empty() {
            return Err(Error::internal("data files of tables with a primary key are not rewritten one by one"));
        }
        let Some(snapshot) = scan.snapshot() else { return Ok(Self { state: None }) };
        let plan = scan.plan(1, context)?.rows;
        let mut planned = by_file(&plan)?;
        let live = table.live_files(snapshot, None, WantedFields::ALL, context)?;
        let (mut rows, mut splits) = (Vec::new(), Vec::new());
        for (home, of_home) in Home::rows(&live) {
            for row in of_home {
                let name = live.file_names().value(usize::try_from(row).unwrap_or(usize::MAX));
                if let Some(split) = planned.remove(&(home.clone(), name.to_string())) {
                    rows.push(row);
                    splits.push(split);
                }
            }
        }
        let read = plan.read();
        let whole = ReadContext { filter: BoundPredicate::True, ..read.as_ref().clone() };
        let all = with_positions(Output { fields: read.schema.fields.clone(), metadata: Vec::new(), images: false });
        let options = Options::new(table.schema().options.clone());
        Ok(Self {
            state: Some(PlannedFiles {
                shared: Arc::new(Shared::try_new(table, &options, Some(snapshot.id), utc_offset_ms)?),
                find: Arc::new(ScanRead::try_new(read.clone(), with_positions(output.clone()))?),
                whole: Arc::new(ScanRead::try_new(Arc::new(whole), all)?),
                entries: live.take(&UInt32Array::from(rows))?,
                splits,
                indexes: table.index_entries(snapshot, context)?,
                table: table.clone(),
                options,
                snapshot: snapshot.id,
            }),
        })
    }

    /// Returns the number of files.
    pub fn len(&self) -> usize {
        self.state.as_ref().map_or(0, |state| state.splits.len())
    }

    /// Returns whether there are no files.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns whether all rows of the file at `index` match the filter of the scan, as far as is known without reading
    /// the file.
    pub fn matches_all(&self, index: usize) -> bool {
        self.state.as_ref().is_some_and(|state| {
            let has_deleted_rows = |split: &DataSplit| split.deletion_files.iter().any(Option::is_some);
            state.find.context.filter == BoundPredicate::True
                && state.splits.get(index).is_some_and(|split| !has_deleted_rows(split))
        })
    }

    /// Returns the deletion vectors of the changed rows.
    pub fn vectors(&self) -> Option<RowVectors> {
        let state = self.state.as_ref()?;
        Some(RowVectors::new(&state.table, &state.options, state.indexes.clone(), Some(state.snapshot)))
    }

    /// Returns whether deletion vectors mark the changed rows, and the files are not rewritten.
    ///
    /// # Errors
    /// `InvalidArgument` for an option that does not parse.
    pub fn marks_rows(&self) -> Result<bool> {
        self.state.as_ref().map_or(Ok(false), |state| state.options.boolean("deletion-vectors.enabled", false))
    }

    /// Marks the changed rows of the file at `index` as deleted.
    ///
    /// # Errors
    /// `InvalidArgument` if there is no such file; the errors of [`RowVectors::mark`].
    pub fn mark(&self, vectors: &mut RowVectors, index: usize, changed: &ChangedRows) -> Result<()> {
        let (_, split) = self.found(index)?;
        vectors.mark(split, &changed.positions)
    }

    /// Removes the vector of the file at `index`, which the operation removes.
    ///
    /// # Errors
    /// As for [`RewritePlan::mark`].
    pub fn remove(&self, vectors: &mut RowVectors, index: usize) -> Result<()> {
        let (_, split) = self.found(index)?;
        vectors.remove(split)
    }

    fn found(&self, index: usize) -> Result<(&PlannedFiles, &DataSplit)> {
        let found = self.state.as_ref().and_then(|state| Some((state, state.splits.get(index)?)));
        found.ok_or_else(|| Error::invalid(format!("the plan has no file {index}")))
    }

    /// Returns the file at `index`.
    ///
    /// # Errors
    /// `InvalidArgument` if there is no such file; as for [`CompactTask::try_new`].
    pub fn file(&self, index: usize) -> Result<FileRewrite> {
        let (state, split) = self.found(index)?;
        let read = |read: &Arc<ScanRead>| SplitTask { read: read.clone(), split: split.clone(), before: None };
        let group = GroupRead { read: read(&state.whole), is_written: true, drops_deletes: None };
        let home = Home { partition: split.partition.clone().into(), bucket: split.bucket };
        let removed = state.entries.slice(index..index.saturating_add(1))?;
        let task = CompactTask::try_new(state.shared.clone(), vec![group], home, removed, 0)?;
        let deleted = split.deletion_files.iter().flatten().filter_map(|file| file.cardinality).fold(0, i64::max);
        let recorded = split.files.iter().map(|file| file.row_count).fold(0, i64::saturating_add);
        Ok(FileRewrite {
            find: read(&state.find),
            task: task.committed_as(CommitPart::Append),
            changed: ChangedRows {
                positions: Positions::new(),
                rows: u64::try_from(recorded.saturating_sub(deleted)).unwrap_or(0),
                is_all: false,
                vector: split.deletion_files.iter().flatten().next().cloned(),
                storage: state.table.files().clone(),
            },
        })
    }
}

impl ChangedRows {
    /// Adds positions.
    ///
    /// # Errors
    /// `CorruptDeletes` for a negative position.
    pub fn add(&mut self, positions: &[i64]) -> Result<()> {
        self.positions.insert_all(positions)
    }

    /// Adds positions of rows that were selected in an earlier read.
    ///
    /// # Errors
    /// `CommitConflict` if one of the rows is deleted; `CorruptDeletes` for a negative position, or a vector that does not
    /// decode.
    pub fn add_selected(&mut self, positions: &[i64]) -> Result<()> {
        if let Some(vector) = &self.vector {
            let deleted = deletion_vector::read(&self.storage, vector)?;
            if positions.iter().any(|at| u64::try_from(*at).is_ok_and(|at| deleted.contains(at))) {
                let message = "another writer deleted rows after they were selected";
                return Err(Error::new(ErrorKind::CommitConflict, message).with("vector", &vector.path));
            }
        }
        self.add(positions)
    }

    /// Adds the positions of all rows.
    pub fn add_all(&mut self) {
        self.is_all = true;
    }

    /// Returns the number of changed rows.
    pub fn len(&self) -> u64 {
        if self.is_all { self.rows } else { self.positions.len() }
    }

    /// Returns whether no row changes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns whether all rows change.
    pub fn is_whole(&self) -> bool {
        self.len() == self.rows
    }

    /// Returns which of these rows change.
    pub fn mask(&self, positions: &[i64]) -> BooleanArray {
        let is_changed =
            |position: &i64| self.is_all || u64::try_from(*position).is_ok_and(|at| self.positions.contains(at));
        positions.iter().map(|position| Some(is_changed(position))).collect()
    }
}

/// Returns a separate split for each file of a plan, by bucket and name.
fn by_file(plan: &Plan) -> Result<HashMap<(Home, String), DataSplit>> {
    let mut found = HashMap::new();
    for index in 0..plan.len() {
        let split = plan.split(index)?;
        let home = Home { partition: split.partition.clone().into(), bucket: split.bucket };
        for (at, file) in split.files.iter().enumerate() {
            let single = DataSplit {
                files: vec![file.clone()],
                deletion_files: vec![split.deletion_files.get(at).cloned().flatten()],
                partition: split.partition.clone(),
                bucket_path: split.bucket_path.clone(),
                ..split
            };
            found.insert((home.clone(), file.file_name.clone()), single);
        }
    }
    Ok(found)
}

fn with_positions(output: Output) -> Output {
    Output { metadata: vec![MetadataColumn::Position], ..output }
}
