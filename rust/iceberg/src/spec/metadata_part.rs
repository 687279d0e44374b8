//! Returns parts of table metadata as JSON in the form of the spec, for display.

use frazil_core::error::{Error, Result};
use serde::Serialize;

use super::metadata_write::Each;
use super::table_metadata::TableMetadata;

impl TableMetadata {
    /// Returns one field of the metadata as JSON text, by its name in the spec; `null` if the table does not have it.
    ///
    /// # Errors
    /// `InvalidArgument` for a name that is not one of these fields.
    pub fn part_json(&self, name: &str) -> Result<String> {
        match name {
            "format-version" => json(&self.format_version),
            "table-uuid" => json(&self.table_uuid),
            "location" => json(&self.location),
            "last-updated-ms" => json(&self.last_updated_ms),
            "last-sequence-number" => json(&self.last_sequence_number),
            "last-column-id" => json(&self.last_column_id),
            "last-partition-id" => json(&self.last_partition_id),
            "schemas" => json(&Each(&self.schemas)),
            "current-schema-id" => json(&self.current_schema_id),
            "partition-specs" => json(&Each(&self.partition_specs)),
            "default-spec-id" => json(&self.default_spec_id),
            "sort-orders" => json(&self.sort_orders),
            "default-sort-order-id" => json(&self.default_sort_order_id),
            "properties" => json(&self.properties),
            "current-snapshot-id" => json(&self.current_snapshot_id),
            "snapshots" => json(&Each(&self.snapshots)),
            "snapshot-log" => json(&self.snapshot_log),
            "metadata-log" => json(&self.metadata_log),
            "refs" => json(&self.refs),
            "statistics" => json(&self.statistics),
            "next-row-id" => json(&self.next_row_id),
            other => Err(Error::invalid(format!("table metadata has no field {other:?} to show"))),
        }
    }

    /// Returns one snapshot as JSON; `null` if the table does not have it.
    ///
    /// # Errors
    /// `Internal` if it cannot be written as JSON.
    pub fn snapshot_json(&self, id: i64) -> Result<String> {
        json(&self.find_snapshot(id).map(AsRef::as_ref))
    }
}

fn json(value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|e| Error::internal("metadata cannot be serialised").caused_by(e))
}
