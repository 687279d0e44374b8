//! Conditions on a table that must still hold when a change is committed (REST specification, "TableRequirement").

use frazil_core::error::{Error, ErrorKind, Result};
use serde::Serialize;

use super::update::TableUpdate;
use crate::spec::table_metadata::TableMetadata;

/// One condition on the table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "kebab-case")]
#[expect(missing_docs, reason = "fields of the specification, described by their variants")]
pub enum Requirement {
    /// The table does not exist yet.
    AssertCreate,
    /// The table has this id.
    AssertTableUuid { uuid: String },
    /// The branch or tag references this snapshot, or does not exist.
    AssertRefSnapshotId {
        #[serde(rename = "ref")]
        name: String,
        snapshot_id: Option<i64>,
    },
    /// No column was added in the meantime.
    AssertLastAssignedFieldId { last_assigned_field_id: i32 },
    /// No partition field was added in the meantime.
    AssertLastAssignedPartitionId { last_assigned_partition_id: i32 },
    /// The current schema is this one.
    AssertCurrentSchemaId { current_schema_id: i32 },
    /// The default partition spec is this one.
    AssertDefaultSpecId { default_spec_id: i32 },
    /// The default sort order is this one.
    AssertDefaultSortOrderId { default_sort_order_id: i32 },
}

impl Requirement {
    /// Returns the conditions on the latest metadata under which `updates`, which were created for `base`, have the
    /// same effect on it. `base` is None for a table that the updates create.
    pub fn of(base: Option<&TableMetadata>, updates: &[TableUpdate]) -> Vec<Self> {
        let Some(base) = base else { return vec![Self::AssertCreate] };
        let uuid = base.table_uuid.iter().cloned();
        let mut found: Vec<Self> = uuid.map(|uuid| Self::AssertTableUuid { uuid }).collect();
        for update in updates {
            for requirement in Self::of_update(base, update) {
                if !found.contains(&requirement) {
                    found.push(requirement);
                }
            }
        }
        found
    }

    fn of_update(base: &TableMetadata, update: &TableUpdate) -> Vec<Self> {
        match update {
            TableUpdate::AddSchema(_) => {
                vec![Self::AssertLastAssignedFieldId { last_assigned_field_id: base.last_column_id }]
            }
            // The files of a snapshot were written with this schema.
            TableUpdate::SetCurrentSchema(_) | TableUpdate::AddSnapshot(_) => {
                vec![Self::AssertCurrentSchemaId { current_schema_id: base.current_schema_id }]
            }
            TableUpdate::AddSpec(_) => {
                vec![Self::AssertLastAssignedPartitionId { last_assigned_partition_id: base.last_partition_id }]
            }
            TableUpdate::SetDefaultSpec(_) => {
                vec![Self::AssertDefaultSpecId { default_spec_id: base.default_spec_id }]
            }
            TableUpdate::SetDefaultSortOrder(_) => {
                vec![Self::AssertDefaultSortOrderId { default_sort_order_id: base.default_sort_order_id }]
            }
            TableUpdate::SetRef(name, _) | TableUpdate::RemoveRef(name) => vec![Self::of_ref(base, name)],
            // A referenced snapshot must not be removed.
            TableUpdate::RemoveSnapshots(_) => base.refs.keys().map(|name| Self::of_ref(base, name)).collect(),
            _ => Vec::new(),
        }
    }

    fn of_ref(base: &TableMetadata, name: &str) -> Self {
        let snapshot_id = base.refs.get(name).map(|reference| reference.snapshot_id);
        Self::AssertRefSnapshotId { name: name.to_string(), snapshot_id }
    }

    /// Checks the condition against the latest metadata, which is None if the table does not exist.
    ///
    /// # Errors
    /// `CommitConflict` with the difference; `AlreadyExists` for a table that was to be created; `NoSuchTable`.
    pub fn check(&self, metadata: Option<&TableMetadata>) -> Result<()> {
        let Some(metadata) = metadata else {
            return match self {
                Self::AssertCreate => Ok(()),
                _ => Err(Error::new(ErrorKind::NoSuchTable, "the table no longer exists")),
            };
        };
        match self {
            Self::AssertCreate => Err(Error::new(ErrorKind::AlreadyExists, "the table already exists")),
            Self::AssertTableUuid { uuid } => {
                let own = metadata.table_uuid.as_deref().unwrap_or_default();
                let same = own.eq_ignore_ascii_case(uuid);
                if same { Ok(()) } else { Err(conflict(format!("the table was replaced: {uuid} is now {own}"))) }
            }
            Self::AssertRefSnapshotId { name, snapshot_id } => {
                let found = metadata.refs.get(name).map(|reference| reference.snapshot_id);
                equal(&format!("the snapshot of `{name}`"), snapshot_id.as_ref(), found.as_ref())
            }
            Self::AssertLastAssignedFieldId { last_assigned_field_id: id } => {
                equal("the last column id", Some(id), Some(&metadata.last_column_id))
            }
            Self::AssertLastAssignedPartitionId { last_assigned_partition_id: id } => {
                equal("the last partition field id", Some(id), Some(&metadata.last_partition_id))
            }
            Self::AssertCurrentSchemaId { current_schema_id: id } => {
                equal("the current schema", Some(id), Some(&metadata.current_schema_id))
            }
            Self::AssertDefaultSpecId { default_spec_id: id } => {
                equal("the default partition spec", Some(id), Some(&metadata.default_spec_id))
            }
            Self::AssertDefaultSortOrderId { default_sort_order_id: id } => {
                equal("the default sort order", Some(id), Some(&metadata.default_sort_order_id))
            }
        }
    }
}

fn equal<T: PartialEq + std::fmt::Display>(what: &str, expected: Option<&T>, found: Option<&T>) -> Result<()> {
    if expected == found {
        return Ok(());
    }
    let shown = |id: Option<&T>| id.map_or_else(|| "none".to_string(), ToString::to_string);
    Err(conflict(format!("{what} was {} and is now {}", shown(expected), shown(found))))
}

fn conflict(message: String) -> Error {
    Error::new(ErrorKind::CommitConflict, message).hint("load the table again and retry the change")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = r#"{"format-version": 2, "table-uuid": "9C12d441-03fe-4693-9a96-a0705ddf69c1", "location": "/t",
        "last-sequence-number": 1, "last-updated-ms": 5, "last-column-id": 7, "current-schema-id": 0,
        "schemas": [{"type": "struct", "schema-id": 0, "fields": []}],
        "default-spec-id": 0, "partition-specs": [{"spec-id": 0, "fields": []}], "last-partition-id": 999,
        "default-sort-order-id": 0, "sort-orders": [{"order-id": 0, "fields": []}], "current-snapshot-id": 20,
        "snapshots": [{"snapshot-id": 20, "sequence-number": 1, "timestamp-ms": 4, "manifest-list": "m"}]}"#;

    #[test]
    fn each_holds_or_names_the_conflict() {
        let table = TableMetadata::parse(TABLE.as_bytes()).unwrap();
        let reference =
            |name: &str, snapshot_id| Requirement::AssertRefSnapshotId { name: name.to_string(), snapshot_id };
        let all = |uuid: &str, change: i32| {
            [
                Requirement::AssertTableUuid { uuid: uuid.to_string() },
                Requirement::AssertLastAssignedFieldId { last_assigned_field_id: 7 + change },
                Requirement::AssertLastAssignedPartitionId { last_assigned_partition_id: 999 + change },
                Requirement::AssertCurrentSchemaId { current_schema_id: change },
                Requirement::AssertDefaultSpecId { default_spec_id: change },
                Requirement::AssertDefaultSortOrderId { default_sort_order_id: change },
            ]
        };
        let refs = [reference("main", Some(20)), reference("dev", None)];
        for requirement in all("9c12D441-03fe-4693-9a96-a0705ddf69c1", 0).into_iter().chain(refs) {
            assert!(requirement.check(Some(&table)).is_ok(), "{requirement:?}");
            assert_eq!(requirement.check(None).unwrap_err().kind(), ErrorKind::NoSuchTable);
        }
        let refs = [reference("main", Some(19)), reference("main", None), reference("dev", Some(20))];
        for requirement in all("other", 1).into_iter().chain(refs) {
            let error = requirement.check(Some(&table)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::CommitConflict, "{requirement:?}");
        }
        assert!(Requirement::AssertCreate.check(None).is_ok());
        assert_eq!(Requirement::AssertCreate.check(Some(&table)).unwrap_err().kind(), ErrorKind::AlreadyExists);
    }
}
