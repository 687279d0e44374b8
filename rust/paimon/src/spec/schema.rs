//! Table schemas (spec: "Schema"): `schema/schema-<id>`, JSON.

use std::collections::BTreeMap;

use super::types::DataField;

/// One state of a table's definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableSchema {
    /// The version of the file: 1 (Paimon up to 0.7), 2 (0.8), 3.
    pub version: i32,
    /// Its number.
    pub id: i64,
    /// The columns.
    pub fields: Vec<DataField>,
    /// No field ever had an id above it.
    pub highest_field_id: i32,
    /// Columns whose values are equal in a partition, outermost first.
    pub partition_keys: Vec<String>,
    /// Columns that name a row, partition keys included; empty for append tables.
    pub primary_keys: Vec<String>,
    /// All options as they were written.
    pub options: BTreeMap<String, String>,
    /// A comment on the table.
    pub comment: Option<String>,
    /// When it was made: milliseconds since the epoch; 0 where the file does not say.
    pub time_ms: i64,
}

impl TableSchema {
    /// The column of a name.
    pub fn field(&self, name: &str) -> Option<&DataField> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// The primary key without the partition keys: what names a row within a partition, in the order of the key.
    pub fn trimmed_primary_keys(&self) -> Vec<&str> {
        let keys = self.primary_keys.iter().filter(|key| !self.partition_keys.contains(key));
        keys.map(String::as_str).collect()
    }
}
