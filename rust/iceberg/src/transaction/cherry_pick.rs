//! Makes a staged snapshot current (Java: `CherryPickOperation`): by moving `main` to it, or, where `main` has moved on
//! since it was staged, by adding its files again.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{Array, BooleanArray};
use frazil_core::context::Context;
use frazil_core::error::{Error, ErrorKind, Result};
use frazil_core::storage::Files;

use super::commit::{Change, Revision};
use super::entries::Entries;
use super::evolve::{ManageSnapshots, Pick, ReferenceOperation, staged_as};
use super::snapshot_change::{AddedFiles, FileChanges, SnapshotChange};
use crate::spec::manifest::ADDED;
use crate::spec::manifest_list::{self, MANIFEST_LIMIT_BYTES, ManifestContent};
use crate::spec::snapshot::{MAIN_BRANCH, Snapshot};
use crate::spec::table_metadata::TableMetadata;

/// The pick of one snapshot.
#[derive(Debug)]
pub struct CherryPick {
    files: Files,
    operation: ReferenceOperation,
    /// What adds its files again, once that is needed.
    again: Option<SnapshotChange>,
}

impl CherryPick {
    /// `operation` is a pick or a publication; None for others.
    pub fn new(files: Files, operation: &ReferenceOperation) -> Option<Self> {
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
            _ => Err(Error::internal("a pick of no snapshot")),
        }
    }

    /// The append that a snapshot was, as a change.
    fn append(&self, picked: &Snapshot, base: &TableMetadata, context: &Context) -> Result<SnapshotChange> {
        let properties = BTreeMap::from([("source-snapshot-id".to_string(), picked.snapshot_id.to_string())]);
        let mut changes = FileChanges { properties, ..FileChanges::default() };
        if let Some(wap_id) = picked.summary.value("wap.id") {
            changes.properties.insert("published-wap-id".to_string(), wap_id.to_string());
        }
        let list = picked.manifest_list.as_deref().ok_or_else(|| Error::unsupported("a snapshot without a list"))?;
        let manifests = manifest_list::read(self.files.read(list, MANIFEST_LIMIT_BYTES)?, context);
        for manifest in manifests.map_err(|e| e.with("file", list))? {
            if manifest.content != ManifestContent::Data || manifest.added_snapshot_id != Some(picked.snapshot_id) {
                continue;
            }
            let partition = base.partition_type(base.spec(manifest.partition_spec_id)?);
            let bytes = self.files.read(&manifest.manifest_path, MANIFEST_LIMIT_BYTES)?;
            let entries = Entries::read(bytes, &partition, context);
            let entries = entries.map_err(|e| e.with("manifest", &manifest.manifest_path))?;
            let (status, ids) = (entries.status()?, entries.long("snapshot_id")?);
            let own = (0..entries.len()).map(|row| {
                let id = ids.is_valid(row).then(|| ids.value(row));
                Some(status.value(row) == ADDED && id.is_none_or(|id| id == picked.snapshot_id))
            });
            let data_files = entries.filter(&own.collect::<BooleanArray>())?.data_files()?.clone();
            changes.data.push(AddedFiles { spec_id: manifest.partition_spec_id, data_files });
        }
        SnapshotChange::new(self.files.clone(), MAIN_BRANCH, changes)
    }
}

impl Change for CherryPick {
    fn revise(&mut self, base: Option<&TableMetadata>, attempt: u32, context: &Context) -> Result<Revision> {
        let base = base.ok_or_else(|| Error::new(ErrorKind::NoSuchTable, "the table is not there any more"))?;
        let picked = self.picked(base)?;
        if Pick::of(picked, base.main_snapshot_id(), base)? == Pick::Move {
            return ManageSnapshots::new(vec![self.operation.clone()]).updates(base).map(Revision::Update);
        }
        if self.again.is_none() {
            self.again = Some(self.append(picked, base, context)?);
        }
        let again = self.again.as_mut().ok_or_else(|| Error::internal("a pick went missing"))?;
        again.revise(Some(base), attempt, context)
    }

    fn clean(&mut self, committed: Option<&TableMetadata>) {
        if let Some(again) = &mut self.again {
            again.clean(committed);
        }
    }

    fn writes_files(&self) -> bool {
        false
    }
}
