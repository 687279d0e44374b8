//! Serialises updates as JSON (REST specification, "TableUpdate"), and builds the updates that create a table.

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::update::{LAST_ADDED, TableUpdate};
use crate::spec::table_metadata::TableMetadata;

impl Serialize for TableUpdate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("action", self.action())?;
        match self {
            Self::AssignUuid(uuid) => map.serialize_entry("uuid", uuid)?,
            Self::UpgradeFormatVersion(version) => map.serialize_entry("format-version", version)?,
            Self::AddSchema(schema) => map.serialize_entry("schema", schema)?,
            Self::SetCurrentSchema(id) => map.serialize_entry("schema-id", id)?,
            Self::AddSpec(spec) => map.serialize_entry("spec", spec)?,
            Self::SetDefaultSpec(id) => map.serialize_entry("spec-id", id)?,
            Self::AddSortOrder(order) => map.serialize_entry("sort-order", order)?,
            Self::SetDefaultSortOrder(id) => map.serialize_entry("sort-order-id", id)?,
            Self::AddSnapshot(snapshot) => map.serialize_entry("snapshot", snapshot)?,
            Self::SetRef(name, reference) => {
                map.serialize_entry("ref-name", name)?;
                reference.serialize_members(&mut map)?;
            }
            Self::RemoveRef(name) => map.serialize_entry("ref-name", name)?,
            Self::RemoveSnapshots(ids) => map.serialize_entry("snapshot-ids", ids)?,
            Self::SetLocation(location) => map.serialize_entry("location", location)?,
            Self::SetProperties(properties) => map.serialize_entry("updates", properties)?,
            Self::RemoveProperties(keys) => map.serialize_entry("removals", keys)?,
            Self::SetStatistics(file) => {
                map.serialize_entry("snapshot-id", &file.snapshot_id)?;
                map.serialize_entry("statistics", file)?;
            }
            Self::SetPartitionStatistics(file) => map.serialize_entry("partition-statistics", file)?,
            Self::RemoveStatistics(id) | Self::RemovePartitionStatistics(id) => {
                map.serialize_entry("snapshot-id", id)?;
            }
        }
        map.end()
    }
}

impl TableUpdate {
    fn action(&self) -> &'static str {
        match self {
            Self::AssignUuid(_) => "assign-uuid",
            Self::UpgradeFormatVersion(_) => "upgrade-format-version",
            Self::AddSchema(_) => "add-schema",
            Self::SetCurrentSchema(_) => "set-current-schema",
            Self::AddSpec(_) => "add-spec",
            Self::SetDefaultSpec(_) => "set-default-spec",
            Self::AddSortOrder(_) => "add-sort-order",
            Self::SetDefaultSortOrder(_) => "set-default-sort-order",
            Self::AddSnapshot(_) => "add-snapshot",
            Self::SetRef(..) => "set-snapshot-ref",
            Self::RemoveRef(_) => "remove-snapshot-ref",
            Self::RemoveSnapshots(_) => "remove-snapshots",
            Self::SetLocation(_) => "set-location",
            Self::SetProperties(_) => "set-properties",
            Self::RemoveProperties(_) => "remove-properties",
            Self::SetStatistics(_) => "set-statistics",
            Self::RemoveStatistics(_) => "remove-statistics",
            Self::SetPartitionStatistics(_) => "set-partition-statistics",
            Self::RemovePartitionStatistics(_) => "remove-partition-statistics",
        }
    }

    /// Returns the updates that create a table with the metadata `table`, in the order in which a server applies them.
    pub fn creating(table: &TableMetadata) -> Vec<Self> {
        let mut updates: Vec<Self> = table.table_uuid.iter().cloned().map(Self::AssignUuid).collect();
        updates.push(Self::UpgradeFormatVersion(table.format_version));
        updates.extend(table.schemas.iter().map(|schema| Self::AddSchema(schema.as_ref().clone())));
        let last = table.schemas.last().map(|schema| schema.schema_id);
        updates.push(Self::SetCurrentSchema(chosen(table.current_schema_id, last)));
        updates.extend(table.partition_specs.iter().map(|spec| Self::AddSpec(spec.as_ref().clone())));
        let last = table.partition_specs.last().map(|spec| spec.spec_id);
        updates.push(Self::SetDefaultSpec(chosen(table.default_spec_id, last)));
        updates.extend(table.sort_orders.iter().cloned().map(Self::AddSortOrder));
        let last = table.sort_orders.last().map(|order| order.order_id);
        updates.push(Self::SetDefaultSortOrder(chosen(table.default_sort_order_id, last)));
        updates.push(Self::SetLocation(table.location.clone()));
        if !table.properties.is_empty() {
            updates.push(Self::SetProperties(table.properties.clone()));
        }
        updates.extend(table.snapshots.iter().map(|snapshot| Self::AddSnapshot(snapshot.as_ref().clone())));
        updates.extend(table.refs.iter().map(|(name, reference)| Self::SetRef(name.clone(), reference.clone())));
        updates.extend(table.statistics.iter().cloned().map(Self::SetStatistics));
        updates.extend(table.partition_statistics.iter().cloned().map(Self::SetPartitionStatistics));
        updates
    }
}

/// Returns the id to send: [`LAST_ADDED`] for the last added item, whose id the server assigns, and `id` for any other
/// item.
fn chosen(id: i32, last: Option<i32>) -> i32 {
    if last == Some(id) { LAST_ADDED } else { id }
}
