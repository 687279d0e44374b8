//! Changes a table's properties, location and format version.

use std::collections::BTreeMap;

use frazil_core::error::{Error, Result};
use frazil_core::ids;
use serde::Deserialize;

use super::property_values::check;
use crate::commit::update::TableUpdate;
use crate::spec::table_metadata::TableMetadata;

/// Reserved names, whose values are in other parts of the metadata (Java: `TableProperties.RESERVED_PROPERTIES`).
const RESERVED: [&str; 9] = [
    "format-version",
    "uuid",
    "snapshot-count",
    "current-snapshot-id",
    "current-snapshot-summary",
    "current-snapshot-timestamp-ms",
    "current-schema",
    "default-partition-spec",
    "default-sort-order",
];

/// The properties to set and to remove; other properties stay unchanged.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct UpdateProperties {
    /// The names and values to set.
    pub set: BTreeMap<String, String>,
    /// The names to remove; names that are not set are ignored.
    pub remove: Vec<String>,
    /// The location of new files.
    pub location: Option<String>,
    /// The new format version, 2 or 3; downgrades are not possible.
    pub format_version: Option<u8>,
}

impl UpdateProperties {
    pub(super) fn updates(&self, base: &TableMetadata) -> Result<Vec<TableUpdate>> {
        for key in self.set.keys().chain(&self.remove) {
            if RESERVED.contains(&key.as_str()) {
                let error = Error::invalid(format!("`{key}` is reserved and cannot be set")).with("property", key);
                return Err(if key == "format-version" { error.hint("upgrade the table instead") } else { error });
            }
        }
        if let Some(key) = self.remove.iter().find(|&key| self.set.contains_key(key)) {
            return Err(Error::invalid(format!("`{key}` is both set and removed")).with("property", key));
        }
        let schema = base.current_schema()?;
        self.set.iter().try_for_each(|(key, value)| check(key, value, schema).map_err(|e| e.with("property", key)))?;
        let mut updates = self.upgrade(base)?;
        let changed = self.set.iter().filter(|&(key, value)| base.properties.get(key) != Some(value));
        let changed: BTreeMap<String, String> = changed.map(|(key, value)| (key.clone(), value.clone())).collect();
        let removed: Vec<String> =
            self.remove.iter().filter(|&key| base.properties.contains_key(key)).cloned().collect();
        updates.extend((!changed.is_empty()).then_some(TableUpdate::SetProperties(changed)));
        updates.extend((!removed.is_empty()).then_some(TableUpdate::RemoveProperties(removed)));
        let location = self.location.as_ref().filter(|location| location.trim_end_matches('/') != base.location);
        updates.extend(location.map(|location| TableUpdate::SetLocation(location.clone())));
        Ok(updates)
    }

    fn upgrade(&self, base: &TableMetadata) -> Result<Vec<TableUpdate>> {
        let Some(version) = self.format_version.filter(|&version| version != base.format_version) else {
            return Ok(Vec::new());
        };
        // A v1 snapshot may list manifests directly, which later versions do not support.
        if let Some(snapshot) = base.snapshots.iter().find(|snapshot| snapshot.manifest_list.is_none()) {
            let message = format!(
                "snapshot {} has no manifest list, which format version {version} requires",
                snapshot.snapshot_id
            );
            return Err(Error::unsupported(message).hint("expire the snapshot first"));
        }
        let mut updates = vec![TableUpdate::UpgradeFormatVersion(version)];
        if base.table_uuid.is_none() {
            updates.push(TableUpdate::AssignUuid(ids::uuid()?));
        }
        Ok(updates)
    }
}
