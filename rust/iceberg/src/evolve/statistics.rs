//! Registers files with statistics of snapshots (spec: "Table Statistics"; Java: `SetStatistics`).

use frazil_core::error::{Error, Result};
use serde::Deserialize;

use crate::commit::update::TableUpdate;
use crate::spec::table_metadata::{StatisticsFile, TableMetadata};

/// A list of operations on the statistics files of a table, applied in order.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UpdateStatistics {
    /// The operations.
    pub operations: Vec<StatisticsOperation>,
}

/// One operation on statistics files.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "operation", rename_all = "snake_case")]
pub enum StatisticsOperation {
    /// Registers a file, which replaces that of the same snapshot.
    Set {
        /// The file, in the form of table metadata.
        file: serde_json::Value,
    },
    /// Removes the file of a snapshot, if it has one.
    Remove {
        /// The snapshot.
        snapshot_id: i64,
    },
}

impl UpdateStatistics {
    /// Returns the updates of the metadata.
    ///
    /// # Errors
    /// `InvalidArgument` for a file with a missing or wrong field; `NoSuchSnapshot` for a file with statistics of a
    /// snapshot that the table does not have.
    pub fn updates(&self, base: &TableMetadata) -> Result<Vec<TableUpdate>> {
        let update = |operation: &StatisticsOperation| match operation {
            StatisticsOperation::Set { file } => {
                let file: StatisticsFile = serde_json::from_str(&file.to_string())
                    .map_err(|error| Error::invalid(format!("invalid statistics file: {error}")))?;
                base.snapshot(file.snapshot_id)?;
                Ok(TableUpdate::SetStatistics(file))
            }
            StatisticsOperation::Remove { snapshot_id } => Ok(TableUpdate::RemoveStatistics(*snapshot_id)),
        };
        self.operations.iter().map(update).collect()
    }
}
