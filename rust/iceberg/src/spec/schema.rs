//! Schemas (spec: "Schemas and Data Types").

use super::types::StructType;

/// A schema of a table: fields with ids that are unique in the table's life.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Schema {
    /// The id by which snapshots and `current-schema-id` name it.
    pub schema_id: i32,
    /// The columns.
    pub fields: StructType,
    /// The columns that identify a row.
    pub identifier_field_ids: Vec<i32>,
}
