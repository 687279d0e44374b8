//! Creates a branch of the current snapshot, or of a new snapshot without files if the table has none (Java:
//! `SnapshotManager.createBranch`).

use frazil_core::context::Context;
use frazil_core::error::{Error, ErrorKind, Result};
use frazil_core::storage::Files;

use super::references::{ManageSnapshots, ReferenceOperation, Retention};
use crate::commit::attempts::{Change, Revision};
use crate::snapshot::change::{FileChanges, SnapshotChange};
use crate::spec::table_metadata::TableMetadata;

/// The creation of a branch whose snapshot is not given.
#[derive(Debug)]
pub(super) struct CreateBranch {
    files: Files,
    name: String,
    /// The change that creates the empty snapshot, once it is needed.
    empty: Option<SnapshotChange>,
}

impl CreateBranch {
    /// Creates the change, and the operation that sets the retention of the branch.
    pub(super) fn new(files: Files, name: String, retention: Retention) -> (Self, ReferenceOperation) {
        let retained = ReferenceOperation::SetRetention { name: name.clone(), retention };
        (Self { files, name, empty: None }, retained)
    }

    fn empty(&mut self) -> Result<&mut SnapshotChange> {
        if self.empty.is_none() {
            let changes = FileChanges {
                operation: Some("append"),
                fast: true,
                creates_branch: true,
                is_kept_empty: true,
                ..FileChanges::default()
            };
            self.empty = Some(SnapshotChange::new(self.files.clone(), &self.name, changes)?);
        }
        self.empty.as_mut().ok_or_else(|| Error::internal("the change of an empty branch is missing"))
    }
}

impl Change for CreateBranch {
    fn revise(&mut self, base: Option<&TableMetadata>, attempt: u32, context: &Context) -> Result<Revision> {
        let base = base.ok_or_else(|| Error::new(ErrorKind::NoSuchTable, "the table no longer exists"))?;
        let operation = ReferenceOperation::CreateBranch {
            name: self.name.clone(),
            snapshot_id: None,
            retention: Retention::default(),
        };
        if base.main_snapshot_id().is_some() {
            return ManageSnapshots::new(vec![operation]).updates(base).map(Revision::Update);
        }
        ManageSnapshots::check_new(&self.name, base)?;
        self.empty()?.revise(Some(base), attempt, context)
    }

    fn clean(&mut self, committed: Option<&TableMetadata>) {
        if let Some(empty) = &mut self.empty {
            empty.clean(committed);
        }
    }

    fn writes_files(&self) -> bool {
        self.empty.is_some()
    }
}
