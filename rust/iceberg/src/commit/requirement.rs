//! What must still hold of a table when a change is committed (REST specification, "TableRequirement").

use frazil_core::error::{Error, ErrorKind, Result};

use crate::spec::table_metadata::TableMetadata;

/// One thing that must hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Requirement {
    /// There is no such table yet.
    NotThere,
    /// The table has this id.
    Uuid(String),
    /// The branch or tag names this snapshot, or does not exist.
    RefSnapshot(String, Option<i64>),
    /// No column was added since.
    LastColumnId(i32),
    /// No partition field was added since.
    LastPartitionId(i32),
    /// The current schema is this one.
    CurrentSchema(i32),
    /// The default partition spec is this one.
    DefaultSpec(i32),
    /// The default sort order is this one.
    DefaultSortOrder(i32),
}

impl Requirement {
    /// Checks it against the newest metadata, None where there is no table.
    ///
    /// # Errors
    /// `CommitConflict` saying what is otherwise; `AlreadyExists` for a table that was to be made; `NoSuchTable`.
    pub fn check(&self, metadata: Option<&TableMetadata>) -> Result<()> {
        let Some(metadata) = metadata else {
            return match self {
                Self::NotThere => Ok(()),
                _ => Err(Error::new(ErrorKind::NoSuchTable, "the table is not there any more")),
            };
        };
        match self {
            Self::NotThere => Err(Error::new(ErrorKind::AlreadyExists, "the table exists already")),
            Self::Uuid(uuid) => {
                let own = metadata.table_uuid.as_deref().unwrap_or_default();
                let same = own.eq_ignore_ascii_case(uuid);
                if same { Ok(()) } else { Err(conflict(format!("the table was replaced: {uuid} is now {own}"))) }
            }
            Self::RefSnapshot(name, expected) => {
                let found = metadata.refs.get(name).map(|reference| reference.snapshot_id);
                equal(&format!("the snapshot of `{name}`"), expected.as_ref(), found.as_ref())
            }
            Self::LastColumnId(id) => equal("the last column id", Some(id), Some(&metadata.last_column_id)),
            Self::LastPartitionId(id) => {
                equal("the last partition field id", Some(id), Some(&metadata.last_partition_id))
            }
            Self::CurrentSchema(id) => equal("the current schema", Some(id), Some(&metadata.current_schema_id)),
            Self::DefaultSpec(id) => equal("the default partition spec", Some(id), Some(&metadata.default_spec_id)),
            Self::DefaultSortOrder(id) => {
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
    Err(conflict(format!("{what} was {} and is {}", shown(expected), shown(found))))
}

fn conflict(message: String) -> Error {
    Error::new(ErrorKind::CommitConflict, message).hint("load the table anew and try again")
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
        let main = || "main".to_string();
        let holds = [
            Requirement::Uuid("9c12D441-03fe-4693-9a96-a0705ddf69c1".into()),
            Requirement::RefSnapshot(main(), Some(20)),
            Requirement::RefSnapshot("dev".into(), None),
            Requirement::LastColumnId(7),
            Requirement::LastPartitionId(999),
            Requirement::CurrentSchema(0),
            Requirement::DefaultSpec(0),
            Requirement::DefaultSortOrder(0),
        ];
        for requirement in holds {
            assert!(requirement.check(Some(&table)).is_ok(), "{requirement:?}");
            assert_eq!(requirement.check(None).unwrap_err().kind(), ErrorKind::NoSuchTable);
        }
        let fails = [
            Requirement::Uuid("other".into()),
            Requirement::RefSnapshot(main(), Some(19)),
            Requirement::RefSnapshot(main(), None),
            Requirement::RefSnapshot("dev".into(), Some(20)),
            Requirement::LastColumnId(6),
            Requirement::LastPartitionId(1000),
            Requirement::CurrentSchema(1),
            Requirement::DefaultSpec(1),
            Requirement::DefaultSortOrder(1),
        ];
        for requirement in fails {
            let error = requirement.check(Some(&table)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::CommitConflict, "{requirement:?}");
        }
        assert!(Requirement::NotThere.check(None).is_ok());
        assert_eq!(Requirement::NotThere.check(Some(&table)).unwrap_err().kind(), ErrorKind::AlreadyExists);
    }
}
