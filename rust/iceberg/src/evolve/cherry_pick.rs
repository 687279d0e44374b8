//! Makes a staged snapshot current (Java: `CherryPickOperation`), either by moving `main` to it or, if `main` has moved
//! since it was staged, by repeating its changes.
//!
//! | the snapshot | is repeated if `main` has moved |
//! |---|---|
//! | is an append | always |
//! | replaced partitions | if no files in them were added, removed or given deletes since |
//! | is anything else | never |
//!
//! Java also allows concurrent deletes in these partitions if they only add delete files.

use std::collections::HashSet;
use std::sync::Arc;

use frazil_core::context::Context;
use frazil_core::error::{Error, ErrorKind, Result};
use frazil_core::sql::expression::Expression;
use frazil_core::storage::Files;

use super::references::{ManageSnapshots, Pick, ReferenceOperation, not_picked, staged_as};
use crate::commit::attempts::{Change, Revision};
use crate::files::{AddedFiles, RemovedFile, TouchedFiles};
use crate::scan::partition::partition_keys;
use crate::snapshot::change::{FileChanges, SnapshotChange};
use crate::spec::manifest::{ADDED, DELETED};
use crate::spec::manifest_entries::Entries;
use crate::spec::manifest_list::{self, MANIFEST_LIMIT_BYTES, ManifestContent};
use crate::spec::snapshot::{MAIN_BRANCH, Snapshot};
use crate::spec::table_metadata::TableMetadata;
use crate::validation::conflict::{Isolation, NewEqualityDeletes, Validation};

/// A cherry-pick of one snapshot.
#[derive(Debug)]
pub(super) struct CherryPick {
    files: Files,
    operation: ReferenceOperation,
    /// The change that repeats the snapshot, once it is needed.
    again: Option<SnapshotChange>,
}

impl CherryPick {
    /// Creates the cherry-pick if `operation` is a pick or a publication; None for other operations.
    pub(super) fn new(files: Files, operation: &ReferenceOperation) -> Option<Self> {
        match operation {
            ReferenceOperation::CherryPick { .. } | ReferenceOperation::PublishChanges { .. } => {
                Some(Self { files, operation: operation.clone(), again: None })
            }
            _ => None,
        }
    }

    fn picked<'a>(&self, base: &'a TableMetadata) -> Result<&'a Arc<Snapshot>> {
        match &self.operation {
            ReferenceOperation::CherryPick { snapshot_id } => base.snapshot(*snapshot_id),
            ReferenceOperation::PublishChanges { wap_id } => staged_as(base, wap_id),
            _ => Err(Error::internal("a cherry-pick does not reference a snapshot")),
        }
    }

    /// Returns a change that adds the files of a snapshot again. If the snapshot replaced partitions, the change also
    /// removes the existing files of these partitions.
    fn again(
        &self,
        picked: &Snapshot,
        replaces: bool,
        base: &TableMetadata,
        context: &Context,
    ) -> Result<SnapshotChange> {
        let id = picked.snapshot_id;
        let mut changes = FileChanges::default();
        changes.properties.insert("source-snapshot-id".to_string(), id.to_string());
        if let Some(wap_id) = picked.summary.value("wap.id") {
            changes.properties.insert("published-wap-id".to_string(), wap_id.to_string());
        }
        let mut partitions = HashSet::new();
        let list = picked
            .manifest_list
            .as_deref()
            .ok_or_else(|| Error::unsupported("a snapshot without a manifest list is not supported"))?;
        let manifests = manifest_list::read(self.files.read(list, MANIFEST_LIMIT_BYTES)?, context);
        for manifest in manifests.map_err(|e| e.with("file", list))? {
            if manifest.added_snapshot_id != Some(id) {
                continue;
            }
            let spec_id = manifest.partition_spec_id;
            let partition = Arc::new(base.partition_type(base.spec(spec_id)?));
            let bytes = self.files.read(&manifest.manifest_path, MANIFEST_LIMIT_BYTES)?;
            let entries = Entries::read(bytes, &partition, context);
            let entries = entries.map_err(|e| e.with("manifest", &manifest.manifest_path))?;
            let (added, removed) = (entries.own(ADDED, id)?, entries.own(DELETED, id)?);
            let gone = removed.paths()?.iter().flatten().map(str::to_string);
            match manifest.content {
                ManifestContent::Data => {
                    for files in [&added, &removed].into_iter().filter(|_| replaces) {
                        let keys = partition_keys(files.data_files()?, &partition)?;
                        partitions.extend((0..files.len()).map(|row| (spec_id, keys.row(row).to_vec())));
                    }
                    let gone = gone.filter(|_| replaces).map(|path| (path, RemovedFile { spec_id, manifest: None }));
                    changes.removals.data_files.extend(gone);
                    changes.data.push(AddedFiles { spec_id, data_files: added.data_files()?.clone() });
                }
                ManifestContent::Deletes if added.len() > 0 => {
                    return Err(not_picked(id, "it deletes rows of files that it does not remove"));
                }
                ManifestContent::Deletes => {
                    let gone = gone.zip(removed.file_long("content_offset")?);
                    changes.removals.delete_files.extend(gone.filter(|_| replaces));
                }
            }
        }
        if replaces {
            changes.operation = Some("overwrite");
            changes.validation = Some(Validation {
                planned_on: picked.parent_snapshot_id,
                isolation: Isolation::Snapshot,
                filter: Expression::TRUE,
                case_sensitive: true,
                refuses_new_deletes: true,
                refuses_new_files: true,
                refuses_removals: false,
                equality_deletes: NewEqualityDeletes::Conflict,
                touched: TouchedFiles { partitions, ..TouchedFiles::default() },
            });
        }
        SnapshotChange::new(self.files.clone(), MAIN_BRANCH, changes)
    }
}

impl Change for CherryPick {
    fn revise(&mut self, base: Option<&TableMetadata>, attempt: u32, context: &Context) -> Result<Revision> {
        let base = base.ok_or_else(|| Error::new(ErrorKind::NoSuchTable, "the table no longer exists"))?;
        let picked = self.picked(base)?;
        let pick = Pick::of(picked, base.main_snapshot_id(), base)?;
        if pick == Pick::Move {
            return ManageSnapshots::new(vec![self.operation.clone()]).updates(base).map(Revision::Update);
        }
        if self.again.is_none() {
            self.again = Some(self.again(picked, pick == Pick::Replace, base, context)?);
        }
        let again = self.again.as_mut().ok_or_else(|| Error::internal("the change of a cherry-pick is missing"))?;
        again.revise(Some(base), attempt, context).map_err(|error| match error.kind() {
            // Another attempt would fail in the same way.
            ErrorKind::CommitConflict | ErrorKind::CommitValidation => {
                let refused = not_picked(picked.snapshot_id, error.message()).hint("write its rows again");
                error.context().iter().fold(refused, |refused, (key, value)| refused.with(key, value))
            }
            _ => error,
        })
    }

    fn clean(&mut self, committed: Option<&TableMetadata>) {
        if let Some(again) = &mut self.again {
            again.clean(committed);
        }
    }

    fn writes_files(&self) -> bool {
        self.again.is_some()
    }
}
