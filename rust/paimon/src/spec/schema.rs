//! Parses table schemas (spec: "Schema"): `schema/schema-<id>`, JSON.
//!
//! ```text
//! { "version": 3, "id": 0, "fields": [{"id": 0, "name": "k", "type": "INT NOT NULL"}, ..], "highestFieldId": 2,
//!   "partitionKeys": [..], "primaryKeys": [..], "options": {..}, "comment": "..", "timeMillis": 1795238959567 }
//! ```
//!
//! | version | written by | meaning of an absent option |
//! |---|---|---|
//! | none or 1 | Paimon up to 0.7 | `bucket` is 1, `file.format` is orc |
//! | 2 | 0.8 | `file.format` is orc |
//! | 3 | since 0.9 | as in the documentation |

use std::collections::BTreeMap;

use frazil_core::error::{Error, ErrorKind, Result};
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::json::{self, Object, shown};
use super::type_text::distinct;
use super::types::DataField;

/// The latest version of schema files that is supported, and the version that is written.
pub(crate) const NEWEST_VERSION: i32 = 3;

/// The definition of a table at one point in time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableSchema {
    /// The version of the file: 1 (Paimon up to 0.7), 2 (0.8), 3.
    pub version: i32,
    /// The id of the schema.
    pub id: i64,
    /// The columns.
    pub fields: Vec<DataField>,
    /// The highest field id ever assigned.
    pub highest_field_id: i32,
    /// The partition columns, outermost first.
    pub partition_keys: Vec<String>,
    /// The columns that identify a row, including partition keys; empty for append tables.
    pub primary_keys: Vec<String>,
    /// All options as they were written, plus the defaults of old versions.
    pub options: BTreeMap<String, String>,
    /// The comment on the table.
    pub comment: Option<String>,
    /// The creation time in milliseconds since the epoch; 0 if it is not recorded.
    pub time_ms: i64,
}

impl TableSchema {
    /// Parses a schema file.
    ///
    /// Column ids are unique and not above the highest. Fields inside a ROW are looked up within that ROW, so only
    /// there their ids must be unique: some writers number them separately in every ROW.
    ///
    /// # Errors
    /// `CorruptMetadata`; `Unsupported` naming a newer version, or a type and its column.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        Self::read(bytes).map_err(|e| e.corrupt_as(ErrorKind::CorruptMetadata))
    }

    /// Returns the content of the schema file.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Returns the content of the schema file in Java's layout.
    pub fn to_pretty_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// Returns the column with a name, or None.
    pub fn field(&self, name: &str) -> Option<&DataField> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// Returns the primary key without the partition keys, which identifies a row within a partition, in key order.
    pub fn trimmed_primary_keys(&self) -> Vec<&str> {
        let keys = self.primary_keys.iter().filter(|key| !self.partition_keys.contains(key));
        keys.map(String::as_str).collect()
    }

    /// Returns whether the partition of a row is not determined by its key, so that a key can move to another partition.
    pub fn moves_keys(&self) -> bool {
        !self.primary_keys.is_empty() && self.partition_keys.iter().any(|key| !self.primary_keys.contains(key))
    }

    fn read(bytes: &[u8]) -> Result<Self> {
        let value = json::parse(bytes, "schema")?;
        let object = Object::of(&value, "schema")?;
        let newest = i64::from(NEWEST_VERSION);
        let version = match object.long("version")?.unwrap_or(1) {
            version if (1..=newest).contains(&version) => version,
            version if version > newest => {
                return Err(Error::unsupported(format!("schema version {version} is not supported"))
                    .hint(format!("the latest supported version is {NEWEST_VERSION}")));
            }
            _ => return Err(object.wrong("version", "a version")),
        };
        object.required("fields")?;
        let schema = Self {
            version: i32::try_from(version).map_err(|_| object.wrong("version", "a version"))?,
            id: object.required_count("id")?,
            fields: object
                .array("fields")?
                .iter()
                .map(DataField::parse_json)
                .collect::<Result<_>>()
                .and_then(distinct)?,
            highest_field_id: highest_field_id(&object)?,
            partition_keys: object.texts("partitionKeys")?,
            primary_keys: object.texts("primaryKeys")?,
            options: with_old_defaults(object.text_map("options")?.unwrap_or_default(), version),
            comment: object.text("comment")?.map(str::to_string),
            time_ms: object.long("timeMillis")?.unwrap_or(0),
        };
        schema.check_fields()?;
        schema.check_keys("partition key", &schema.partition_keys)?;
        schema.check_keys("primary key", &schema.primary_keys)?;
        if !schema.primary_keys.is_empty() && schema.trimmed_primary_keys().is_empty() {
            return Err(Error::corrupt("the primary key has no columns besides the partition keys"));
        }
        Ok(schema)
    }

    fn check_fields(&self) -> Result<()> {
        let highest = self.highest_field_id;
        match self.fields.iter().find(|field| field.id > highest || field.name.is_empty()) {
            None => Ok(()),
            Some(field) if field.name.is_empty() => Err(Error::corrupt(format!("field {} has no name", field.id))),
            Some(field) => Err(Error::corrupt(format!("field id {} is above the highest id, {highest}", field.id))
                .with("column", shown(&field.name))),
        }
    }

    fn check_keys(&self, what: &str, keys: &[String]) -> Result<()> {
        for (i, key) in keys.iter().enumerate() {
            if self.field(key).is_none() {
                return Err(Error::corrupt(format!("the {what} `{}` is not a column", shown(key))));
            }
            if keys.iter().skip(i + 1).any(|other| other == key) {
                return Err(Error::corrupt(format!("the {what} `{}` occurs twice", shown(key))));
            }
        }
        Ok(())
    }
}

/// Returns the highest field id, which is -1 for a table without fields.
fn highest_field_id(object: &Object<'_>) -> Result<i32> {
    let id = object.required_long("highestFieldId")?;
    let id = i32::try_from(id).ok().filter(|id| *id >= -1);
    id.ok_or_else(|| object.wrong("highestFieldId", "a field id"))
}

fn with_old_defaults(mut options: BTreeMap<String, String>, version: i64) -> BTreeMap<String, String> {
    let mut default = |name: &str, value: &str| {
        options.entry(name.to_string()).or_insert_with(|| value.to_string());
    };
    if version <= 1 {
        default("bucket", "1");
    }
    if version <= 2 {
        default("file.format", "orc");
    }
    options
}

impl Serialize for TableSchema {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("version", &self.version)?;
        map.serialize_entry("id", &self.id)?;
        map.serialize_entry("fields", &self.fields)?;
        map.serialize_entry("highestFieldId", &self.highest_field_id)?;
        map.serialize_entry("partitionKeys", &self.partition_keys)?;
        map.serialize_entry("primaryKeys", &self.primary_keys)?;
        map.serialize_entry("options", &self.options)?;
        // The member is omitted if the table has no comment, because Java reads `null` as the string "null".
        if let Some(comment) = &self.comment {
            map.serialize_entry("comment", comment)?;
        }
        map.serialize_entry("timeMillis", &self.time_ms)?;
        map.end()
    }
}

#[cfg(test)]
#[path = "schema_tests.rs"]
mod tests;
