//! Validates the changes of concurrent commits since an operation read the table (spec: "Commit Conflict Resolution and
//! Retry"; the rules are those of Java's operations).
//!
//! | other commits since the snapshot that was read | serializable | snapshot |
//! |---|---|---|
//! | added rows that may match the filter | conflict | |
//! | removed a data file that this operation removes or adds deletes for | conflict | conflict |
//! | added deletes that apply to a data file that this operation rewrites | conflict | conflict |
//! | added equality deletes that also apply to the rewritten data file | | |
//! | added a deletion vector for a data file that gets one in this operation | conflict | conflict |
//! | added data files to partitions that this operation replaces as they were read | conflict | conflict |
//! | removed any row, and this operation writes rows again that it read | conflict | conflict |
//! | assigned the first row ids after an upgrade to v3, and this operation moves rows | conflict | conflict |

use std::collections::HashSet;
use std::str::FromStr;
use std::sync::Arc;

use arrow_array::Array;
use frazil_core::context::Context;
use frazil_core::error::{Error, ErrorKind, Result};
use frazil_core::sql::expression::Expression;
use frazil_core::sql::predicate::bind::bind;
use frazil_core::storage::Files;

use crate::files::{Removals, TouchedFiles};
use crate::scan::context::ReadContext;
use crate::scan::output::Output;
use crate::scan::partition::partition_keys;
use crate::scan::plan::{Plan, PlanRequest, Selection, manifests_of};
use crate::spec::manifest::{ADDED, DELETED, FileContent};
use crate::spec::manifest_entries::{Entries, file_int, file_text};
use crate::spec::manifest_list::{MANIFEST_LIMIT_BYTES, ManifestContent, ManifestFile};
use crate::spec::snapshot::Snapshot;
use crate::spec::table_metadata::TableMetadata;

/// The isolation level of an operation (`write.*.isolation-level`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Isolation {
    /// Operations take effect as if they ran one after the other.
    #[default]
    Serializable,
    /// Rows that concurrent commits add are ignored.
    Snapshot,
}

impl FromStr for Isolation {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text.trim().to_ascii_lowercase().as_str() {
            "serializable" => Ok(Self::Serializable),
            "snapshot" => Ok(Self::Snapshot),
            _ => {
                Err(Error::invalid(format!("invalid isolation level `{text}`"))
                    .hint("expected serializable or snapshot"))
            }
        }
    }
}

/// The handling of equality deletes that concurrent commits add.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NewEqualityDeletes {
    /// They conflict, like other deletes.
    #[default]
    Conflict,
    /// They also apply to the new data files, which have the sequence number of the snapshot that was read.
    Apply,
}

/// The data that an operation read, and the rules for concurrent changes to it.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "independent rules")]
pub struct Validation {
    /// The snapshot of the branch that was read; None if it had none.
    pub planned_on: Option<i64>,
    /// The isolation level.
    pub isolation: Isolation,
    /// The filter of the rows that were read, with the names of the current schema.
    pub filter: Expression,
    /// Whether names in the filter are case-sensitive.
    pub case_sensitive: bool,
    /// Whether deletes that concurrent commits add also conflict for data files that stay. Set if rows are updated, not
    /// only deleted.
    pub refuses_new_deletes: bool,
    /// Whether data files that concurrent commits add to the partitions of `touched` conflict. Set if the operation
    /// replaces these partitions based on the rows that it read.
    pub refuses_new_files: bool,
    /// Whether every row that a concurrent commit removes is a conflict. Set if the operation writes again rows that it
    /// read.
    pub refuses_removals: bool,
    /// Whether equality deletes that concurrent commits add conflict.
    pub equality_deletes: NewEqualityDeletes,
    /// The data files from which rows are deleted.
    pub touched: TouchedFiles,
}

/// The validation of commits to a branch since it was read.
pub(crate) struct Check<'a> {
    pub(crate) validation: &'a Validation,
    pub(crate) removals: &'a Removals,
    pub(crate) base: &'a TableMetadata,
    pub(crate) files: &'a Files,
    pub(crate) context: &'a Context,
}

impl Check<'_> {
    /// Validates the snapshots of the branch that are not in `seen`, and adds them to `seen`. On the first attempt,
    /// `seen` is None and becomes the history that the operation read. That history may end with a snapshot of the same
    /// transaction; on a retry, snapshots of other writers come before it.
    ///
    /// # Errors
    /// `CommitConflict` with the conflicting change; `CommitValidation` if the history does not lead back to the
    /// snapshot that was read.
    pub(crate) fn run(&self, head: Option<&Snapshot>, seen: &mut Option<HashSet<i64>>) -> Result<()> {
        let planned_on = self.validation.planned_on.into_iter();
        let seen = seen.get_or_insert_with(|| {
            planned_on.flat_map(|id| self.base.ancestors(id)).map(|snapshot| snapshot.snapshot_id).collect()
        });
        let since = self.since(head, seen)?;
        self.keeps_row_ids(&since)?;
        let list = |snapshot: Arc<Snapshot>| Ok((manifests_of(&snapshot, self.files, self.context)?, snapshot));
        let since = since.into_iter().map(list).collect::<Result<Vec<_>>>()?;
        if self.validation.isolation == Isolation::Serializable {
            self.no_new_rows(&since)?;
        }
        if let Some((_, newer)) = since.iter().find(|(manifests, newer)| removes_rows(manifests, newer))
            && self.validation.refuses_removals
        {
            let message = "a concurrent commit removed rows that this operation may have read and would write again";
            return Err(conflict(message).with("snapshot", newer.snapshot_id));
        }
        since
            .iter()
            .try_for_each(|(manifests, snapshot)| self.no_conflicting_files(manifests, snapshot.snapshot_id))?;
        seen.extend(since.iter().map(|(_, snapshot)| snapshot.snapshot_id));
        Ok(())
    }

    /// Checks that moved rows keep their row ids. After an upgrade to v3, the first snapshot assigns ids to the
    /// existing rows. Rows that were read before this snapshot have no ids, and would get different ids in new files.
    fn keeps_row_ids(&self, since: &[Arc<Snapshot>]) -> Result<()> {
        let Some(Ok(planned_on)) = self.validation.planned_on.map(|id| self.base.snapshot(id)) else { return Ok(()) };
        let moves = !self.removals.data_files.is_empty();
        match since.iter().find(|newer| newer.first_row_id.is_some()) {
            Some(newer) if moves && planned_on.first_row_id.is_none() => {
                let message = "a concurrent commit enabled row ids for the table";
                Err(conflict(message).with("snapshot", newer.snapshot_id))
            }
            _ => Ok(()),
        }
    }

    /// Returns the snapshots of the branch that are not in `seen`, latest first.
    fn since(&self, head: Option<&Snapshot>, seen: &HashSet<i64>) -> Result<Vec<Arc<Snapshot>>> {
        let Some(head) = head else { return Ok(Vec::new()) };
        let history: Vec<&Arc<Snapshot>> = self.base.ancestors(head.snapshot_id).collect();
        let leads_back = match self.validation.planned_on {
            Some(id) => history.iter().any(|snapshot| snapshot.snapshot_id == id),
            None => history.last().is_some_and(|first| first.parent_snapshot_id.is_none()),
        };
        if !leads_back {
            let message = "the branch no longer descends from the snapshot that was read, so its changes are unknown";
            return Err(
                Error::new(ErrorKind::CommitValidation, message).hint("load the table again and retry the operation")
            );
        }
        Ok(history.into_iter().filter(|snapshot| !seen.contains(&snapshot.snapshot_id)).cloned().collect())
    }

    fn no_new_rows(&self, since: &[(Vec<ManifestFile>, Arc<Snapshot>)]) -> Result<()> {
        let adds = |snapshot: &Snapshot| matches!(snapshot.operation(), Some("append" | "overwrite") | None);
        let adding: Vec<_> = since.iter().filter(|(_, snapshot)| adds(snapshot)).collect();
        if adding.is_empty() {
            return Ok(());
        }
        let schema = self.base.current_schema()?.clone();
        let validation = self.validation;
        let filter = bind(&validation.filter, schema.as_ref(), validation.case_sensitive)
            .map_err(|e| conflict("the columns of the filter changed concurrently").caused_by(e))?;
        let output = Output::select(&schema, self.base, &[], true)?;
        let read = Arc::new(ReadContext::try_new(self.base, schema, output, filter, self.files.clone())?);
        let ids = adding.iter().map(|(_, snapshot)| snapshot.snapshot_id).collect();
        let manifests = adding.iter().flat_map(|(manifests, _)| manifests.iter().cloned()).collect();
        let request = PlanRequest {
            snapshots: &[],
            selection: Selection::AddedBy(ids),
            limit: None,
            whole_files: false,
            workers: 1,
        };
        let plan = Plan::of_manifests(read, manifests, &request, self.context)?;
        if plan.is_empty() {
            return Ok(());
        }
        let path = plan.task(0)?.file.path;
        Err(conflict("a concurrent commit added rows that may match the filter of this operation").with("file", path))
    }

    fn no_conflicting_files(&self, manifests: &[ManifestFile], id: i64) -> Result<()> {
        // In data manifests, removed files can conflict, and added files only if `refuses_new_files` is set. In delete
        // manifests, added files can conflict.
        let matters = |manifest: &&ManifestFile| match manifest.content {
            ManifestContent::Data => self.validation.refuses_new_files || manifest.deleted_files_count != Some(0),
            ManifestContent::Deletes => manifest.live_files_count != Some(0),
        };
        let own = manifests.iter().filter(|manifest| manifest.added_snapshot_id == Some(id));
        own.filter(matters)
            .try_for_each(|manifest| self.no_conflicting_entries(manifest, id).map_err(|e| e.with("snapshot", id)))
    }

    fn no_conflicting_entries(&self, manifest: &ManifestFile, snapshot_id: i64) -> Result<()> {
        self.context.check()?;
        let (path, spec_id) = (&manifest.manifest_path, manifest.partition_spec_id);
        let spec = self.base.spec(spec_id)?;
        let partition = Arc::new(self.base.partition_type(spec));
        let bytes = self.files.read(path, MANIFEST_LIMIT_BYTES)?;
        let entries = Entries::read(bytes, &partition, self.context).map_err(|e| e.with("manifest", path))?;
        let is_data = manifest.content == ManifestContent::Data;
        if is_data {
            let needed = |path: &str| self.rewrites(path) || self.validation.touched.staying.contains(path);
            let removed = entries.own(DELETED, snapshot_id)?;
            if let Some(path) = removed.paths()?.iter().flatten().find(|path| needed(path)) {
                return Err(conflict("a data file was removed or rewritten concurrently").with("file", path));
            }
            if !self.validation.refuses_new_files {
                return Ok(());
            }
        }
        let added = entries.own(ADDED, snapshot_id)?;
        let (files, paths) = (added.data_files()?, added.paths()?);
        let keys = partition_keys(files, &partition)?;
        let is_touched = |row: usize| self.validation.touched.partitions.contains(&(spec_id, keys.row(row).to_vec()));
        if is_data {
            return match (0..added.len()).find(|&row| is_touched(row)) {
                None => Ok(()),
                Some(row) => {
                    Err(conflict("a concurrent commit added files to a partition that this operation replaces")
                        .with("file", paths.value(row)))
                }
            };
        }
        let (referenced, formats) = (file_text(files, "referenced_data_file")?, file_text(files, "file_format")?);
        let contents = file_int(files, "content")?;
        for row in 0..added.len() {
            let is_equality = contents.value(row) == FileContent::EqualityDeletes.code();
            if is_equality && self.validation.equality_deletes == NewEqualityDeletes::Apply {
                continue;
            }
            let target = referenced.is_valid(row).then(|| referenced.value(row));
            let conflicts = if let Some(target) = target {
                let vector = formats.value(row).eq_ignore_ascii_case("puffin");
                let matters = vector || self.validation.refuses_new_deletes;
                self.rewrites(target) || (matters && self.validation.touched.staying.contains(target))
            } else {
                let looked_at = !self.removals.is_empty() || self.validation.refuses_new_deletes;
                looked_at && (spec.is_unpartitioned() || is_touched(row))
            };
            if conflicts {
                let message = "a concurrent commit deleted rows of a data file that this operation changes";
                return Err(conflict(message).with("file", target.unwrap_or_else(|| paths.value(row))));
            }
        }
        Ok(())
    }

    fn rewrites(&self, path: &str) -> bool {
        self.removals.data_files.contains_key(path)
    }
}

/// Returns whether a snapshot may have removed rows of the table.
fn removes_rows(manifests: &[ManifestFile], snapshot: &Snapshot) -> bool {
    let own = |manifest: &&ManifestFile| manifest.added_snapshot_id == Some(snapshot.snapshot_id);
    let removes = |manifest: &ManifestFile| match manifest.content {
        ManifestContent::Data => manifest.deleted_files_count != Some(0),
        ManifestContent::Deletes => manifest.live_files_count != Some(0),
    };
    snapshot.operation() != Some("replace") && manifests.iter().filter(own).any(removes)
}

fn conflict(message: &str) -> Error {
    Error::new(ErrorKind::CommitConflict, message).hint("load the table again and retry the operation")
}
