//! Table schemas (spec: "Schema"): `schema/schema-<id>`, JSON.
//!
//! ```text
//! { "version": 3, "id": 0, "fields": [{"id": 0, "name": "k", "type": "INT NOT NULL"}, ..], "highestFieldId": 2,
//!   "partitionKeys": [..], "primaryKeys": [..], "options": {..}, "comment": "..", "timeMillis": 1795238959567 }
//! ```
//!
//! | version | written by | an option that is absent means |
//! |---|---|---|
//! | none or 1 | Paimon up to 0.7 | `bucket` is 1, `file.format` is orc |
//! | 2 | 0.8 | `file.format` is orc |
//! | 3 | since 0.9 | what the documentation says |

use std::collections::BTreeMap;

use frazil_core::error::{Error, ErrorKind, Result};
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::json::{self, Object, shown};
use super::type_text::distinct;
use super::types::DataField;

/// The newest version of schema files that is read, and the one that is written.
pub(crate) const NEWEST_VERSION: i32 = 3;

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
    /// All options as they were written, and the defaults of old versions.
    pub options: BTreeMap<String, String>,
    /// A comment on the table.
    pub comment: Option<String>,
    /// When it was made: milliseconds since the epoch; 0 where the file does not say.
    pub time_ms: i64,
}

impl TableSchema {
    /// Reads a schema file.
    ///
    /// Ids of columns differ and are not above the highest. Fields inside a ROW are looked for within it, so that only
    /// there their ids must differ: some writers number them anew in every ROW.
    ///
    /// # Errors
    /// `CorruptMetadata`; `Unsupported` naming a newer version, or a type and its column.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        Self::read(bytes).map_err(|e| e.corrupt_as(ErrorKind::CorruptMetadata))
    }

    /// The file of this schema.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Return the content of its file as Java writes it.
    pub fn to_pretty_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// The column of a name.
    pub fn field(&self, name: &str) -> Option<&DataField> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// The primary key without the partition keys: what names a row within a partition, in the order of the key.
    pub fn trimmed_primary_keys(&self) -> Vec<&str> {
        let keys = self.primary_keys.iter().filter(|key| !self.partition_keys.contains(key));
        keys.map(String::as_str).collect()
    }

    fn read(bytes: &[u8]) -> Result<Self> {
        let value = json::parse(bytes, "schema")?;
        let object = Object::of(&value, "schema")?;
        let newest = i64::from(NEWEST_VERSION);
        let version = match object.long("version")?.unwrap_or(1) {
            version if (1..=newest).contains(&version) => version,
            version if version > newest => {
                return Err(Error::unsupported(format!("schema version {version}"))
                    .hint(format!("up to version {NEWEST_VERSION} is read")));
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
            return Err(Error::corrupt("the primary key has no column beside the partition keys"));
        }
        Ok(schema)
    }

    fn check_fields(&self) -> Result<()> {
        let highest = self.highest_field_id;
        match self.fields.iter().find(|field| field.id > highest || field.name.is_empty()) {
            None => Ok(()),
            Some(field) if field.name.is_empty() => Err(Error::corrupt(format!("field {} has no name", field.id))),
            Some(field) => Err(Error::corrupt(format!("field id {} is above the highest, {highest}", field.id))
                .with("column", shown(&field.name))),
        }
    }

    fn check_keys(&self, what: &str, keys: &[String]) -> Result<()> {
        for (i, key) in keys.iter().enumerate() {
            if self.field(key).is_none() {
                return Err(Error::corrupt(format!("the {what} `{}` is no column", shown(key))));
            }
            if keys.iter().skip(i + 1).any(|other| other == key) {
                return Err(Error::corrupt(format!("the {what} `{}` is there twice", shown(key))));
            }
        }
        Ok(())
    }
}

/// A table without any field has -1.
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
        // Java reads `null` as the text "null".
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
