//! Metadata tables: the contents of a table as tables, with the columns of Java (1.11).

mod entries;
mod history;
mod manifests;
mod partition_type;
mod partitions;
mod position_deletes;
mod readable_metrics;

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use frazil_core::context::Context;
use frazil_core::error::{Error, Result};
use frazil_core::virtual_table::{Part, PartBatches, TableInfo, VirtualTable, find};

use crate::spec::manifest_list::ManifestContent;
use crate::table::{SnapshotChoice, Table};

/// All metadata tables.
pub static TABLES: [TableInfo; 16] = [
    info("snapshots", "The snapshots of the table that have not expired.", false),
    info("history", "The history of current snapshots, with the time at which each became current.", false),
    info("metadata_log_entries", "The metadata files of the table, with the latest snapshot of each.", false),
    info("refs", "The branches and tags.", false),
    info("manifests", "The manifests of a snapshot.", true),
    info("all_manifests", "The manifests of all snapshots: a row for each snapshot and manifest.", false),
    info("entries", "The entries of the manifests of a snapshot, including those of deleted files.", true),
    info("all_entries", "The entries of the manifests of all snapshots.", false),
    info("files", "The data files and delete files of a snapshot.", true),
    info("data_files", "The data files of a snapshot.", true),
    info("delete_files", "The delete files of a snapshot.", true),
    info("all_files", "The data files and delete files of all snapshots; a file may occur in several rows.", false),
    info("all_data_files", "The data files of all snapshots; a file may occur in several rows.", false),
    info("all_delete_files", "The delete files of all snapshots; a file may occur in several rows.", false),
    info("partitions", "The partitions of a snapshot, with the rows and files in each.", true),
    info(
        "position_deletes",
        "The rows that are deleted by the position deletes and deletion vectors of a snapshot.",
        true,
    ),
];

const fn info(name: &'static str, doc: &'static str, time_travel: bool) -> TableInfo {
    TableInfo { name, doc, time_travel }
}

/// Opens the metadata table with this name.
///
/// # Errors
/// `InvalidArgument` for an unknown name, and if a snapshot is chosen for a table that shows all of them;
/// `NoSuchSnapshot`.
pub fn open(table: &Table, name: &str, choice: &SnapshotChoice) -> Result<Arc<dyn VirtualTable>> {
    let info = find(&TABLES, name)?;
    if !info.time_travel && *choice != SnapshotChoice::Current {
        return Err(Error::invalid(format!("the metadata table `{name}` does not support a snapshot selection"))
            .hint("omit snapshot_id, ref and as_of"));
    }
    let metadata = table.metadata();
    let snapshots = || Ok::<_, Error>(table.choose(choice)?.0.into_iter().collect::<Vec<_>>());
    let files =
        |content: Option<ManifestContent>, snapshots| entries::FilesTable::new(table, snapshots, content, false);
    let all = || metadata.snapshots.clone();
    let (data, deletes) = (Some(ManifestContent::Data), Some(ManifestContent::Deletes));
    Ok(match info.name {
        "snapshots" => Arc::new(Rows(history::snapshots(metadata)?)),
        "history" => Arc::new(Rows(history::history(metadata)?)),
        "metadata_log_entries" => Arc::new(Rows(history::metadata_log_entries(table)?)),
        "refs" => Arc::new(Rows(history::refs(metadata)?)),
        "manifests" => Arc::new(manifests::ManifestsTable::new(table, snapshots()?, false)),
        "all_manifests" => Arc::new(manifests::ManifestsTable::new(table, all(), true)),
        "entries" => Arc::new(entries::FilesTable::new(table, snapshots()?, None, true)?),
        "all_entries" => Arc::new(entries::FilesTable::new(table, all(), None, true)?),
        "files" => Arc::new(files(None, snapshots()?)?),
        "data_files" => Arc::new(files(data, snapshots()?)?),
        "delete_files" => Arc::new(files(deletes, snapshots()?)?),
        "all_files" => Arc::new(files(None, all())?),
        "all_data_files" => Arc::new(files(data, all())?),
        "all_delete_files" => Arc::new(files(deletes, all())?),
        "partitions" => Arc::new(partitions::PartitionsTable::new(table, snapshots()?)?),
        "position_deletes" => {
            Arc::new(position_deletes::PositionDeletesTable::new(table, files(deletes, snapshots()?)?)?)
        }
        other => return Err(Error::internal(format!("the metadata table {other} cannot be opened"))),
    })
}

/// The rows of a table that needs only the metadata file, as one part.
#[derive(Debug)]
struct Rows(RecordBatch);

impl VirtualTable for Rows {
    fn schema(&self) -> &SchemaRef {
        self.0.schema_ref()
    }

    fn parts(&self, _: &Context) -> Result<Vec<Part>> {
        Ok(vec![Part::new()])
    }

    fn read(&self, _: &[u8], columns: &[usize], _: &Context) -> Result<PartBatches> {
        Ok(Box::new(std::iter::once(Ok(self.0.project(columns)?))))
    }
}
