//! Creates tables: `schema/schema-0` (spec: "Schema").
//!
//! ```text
//! definition -> keys of options, NOT NULL of keys, field ids -> checks -> schema-0, unless it exists
//! ```
//!
//! The rules are those of Java's `Schema`, `TableSchema` and `SchemaValidation`.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use frazil_core::clock::now_ms;
use frazil_core::error::{Error, ErrorKind, Result};
use frazil_core::storage::Files;
use frazil_core::storage::publish::{Swap, settle};

use super::check::{check_keys, check_names, check_schema};
use crate::spec::json::{self, Object, shown};
use crate::spec::options::Options;
use crate::spec::schema::{NEWEST_VERSION, TableSchema};
use crate::spec::types::{DataField, DataType, TypeRoot};
use crate::table::{MAIN_BRANCH, Table};

/// The definition of a new table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Definition {
    /// The columns. Their ids are ignored: columns and nested fields are numbered from 0.
    pub fields: Vec<DataField>,
    /// The partition columns, outermost first.
    pub partition_keys: Vec<String>,
    /// The columns that identify a row, including partition keys; empty for append tables.
    pub primary_keys: Vec<String>,
    /// The options. `partition` and `primary-key` define the keys if they are not specified.
    pub options: BTreeMap<String, String>,
    /// The comment on the table.
    pub comment: Option<String>,
}

impl Definition {
    /// Parses a definition: a JSON object with the members `fields`, `partitionKeys`, `primaryKeys`, `options` and
    /// `comment` of a schema file.
    ///
    /// # Errors
    /// `InvalidArgument` for anything else; `Unsupported` naming an unknown type and its column.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let parse = || -> Result<Self> {
            let value = json::parse(bytes, "definition")?;
            let object = Object::of(&value, "definition")?;
            Ok(Self {
                fields: object.array("fields")?.iter().map(DataField::parse_json).collect::<Result<_>>()?,
                partition_keys: object.texts("partitionKeys")?,
                primary_keys: object.texts("primaryKeys")?,
                options: object.text_map("options")?.unwrap_or_default(),
                comment: object.text("comment")?.map(str::to_string),
            })
        };
        parse().map_err(|error| error.corrupt_as(ErrorKind::InvalidArgument))
    }

    /// Returns the first schema of the table.
    ///
    /// # Errors
    /// `InvalidArgument` for invalid names and keys; `Unsupported` naming a feature that cannot be written.
    pub fn schema(self, time_ms: i64) -> Result<TableSchema> {
        let mut schema = self.resolved()?.numbered(0, -1, time_ms);
        for field in &mut schema.fields {
            field.id = next_id(&mut schema.highest_field_id);
            number_fields(&mut field.data_type, &mut schema.highest_field_id);
        }
        check_schema(&schema)?;
        check_fallback(&Options::new(schema.options.clone()))?;
        Ok(schema)
    }

    /// Returns the definition with the keys of its options, whose columns are NOT NULL.
    ///
    /// # Errors
    /// `InvalidArgument` for invalid names and keys.
    pub(super) fn resolved(mut self) -> Result<Self> {
        self.primary_keys = self.keys("primary-key", "primary key")?;
        self.partition_keys = self.keys("partition", "partition key")?;
        check_names(&self.fields)?;
        for (what, keys) in [("partition key", &self.partition_keys), ("primary key", &self.primary_keys)] {
            check_keys(&self.fields, what, keys)?;
        }
        if !self.primary_keys.is_empty() && self.primary_keys.iter().all(|key| self.partition_keys.contains(key)) {
            return Err(Error::invalid("the primary key has no column besides the partition keys")
                .hint("a partition would hold one row; add a column to the primary key"));
        }
        for field in &mut self.fields {
            field.data_type.nullable &= !self.primary_keys.contains(&field.name);
        }
        Ok(self)
    }

    /// Returns the schema with an id and the highest field id.
    pub(super) fn numbered(self, id: i64, highest_field_id: i32, time_ms: i64) -> TableSchema {
        TableSchema {
            version: NEWEST_VERSION,
            id,
            fields: self.fields,
            highest_field_id,
            partition_keys: self.partition_keys,
            primary_keys: self.primary_keys,
            options: self.options,
            comment: self.comment,
            time_ms,
        }
    }

    /// Returns the specified keys, or the keys in an option, which is then removed. `what` describes the keys in
    /// errors.
    fn keys(&mut self, option: &str, what: &str) -> Result<Vec<String>> {
        let keys = if option == "partition" { &self.partition_keys } else { &self.primary_keys };
        let Some(text) = self.options.remove(option) else { return Ok(keys.clone()) };
        if !keys.is_empty() {
            return Err(Error::invalid(format!(
                "the {what} is specified twice, as columns and by the option `{option}`"
            ))
            .hint("remove one of them"));
        }
        Ok(text.split(',').map(str::trim).filter(|key| !key.is_empty()).map(str::to_string).collect())
    }
}

/// Rejects a fallback branch: a new table has no branches, and Java cannot open a table whose fallback branch is
/// missing.
fn check_fallback(options: &Options) -> Result<()> {
    match options.fallback_branch().filter(|branch| *branch != MAIN_BRANCH) {
        None => Ok(()),
        Some(branch) => {
            let message = format!("the option `scan.fallback-branch` references the branch `{}`", shown(branch));
            Err(Error::invalid(format!("{message}, which a new table does not have"))
                .hint("set the option after the branch is created"))
        }
    }
}

/// Assigns ids to the fields of rows. Nested fields precede their parent, as in Java (`ReassignFieldId`).
pub(super) fn number_fields(data_type: &mut DataType, highest: &mut i32) {
    match &mut data_type.root {
        TypeRoot::Array(element) | TypeRoot::Multiset(element) => number_fields(element, highest),
        TypeRoot::Map(key, value) => {
            number_fields(key, highest);
            number_fields(value, highest);
        }
        TypeRoot::Row(fields) => {
            for field in fields {
                number_fields(&mut field.data_type, highest);
                field.id = next_id(highest);
            }
        }
        _ => {}
    }
}

/// Returns the next field id, which becomes the highest.
pub(super) fn next_id(highest: &mut i32) -> i32 {
    *highest = highest.saturating_add(1);
    *highest
}

/// Creates a table in the folder `location`, and returns it.
///
/// # Errors
/// As for [`Definition::schema`]; `AlreadyExists` if the folder already has a table; `CommitStateUnknown` if it is
/// unknown whether the table was created.
pub fn create(files: &Files, location: &str, definition: Definition) -> Result<Table> {
    let location = location.trim_end_matches('/');
    let schema = definition.schema(now_ms())?;
    let exists =
        || Error::new(ErrorKind::AlreadyExists, "a Paimon table already exists in this folder").with("table", location);
    match Table::open(files, location, None) {
        Err(error) if error.kind() == ErrorKind::NoSuchTable => {}
        // The table exists even if its schema cannot be read.
        Ok(_) => return Err(exists()),
        Err(error) if matches!(error.kind(), ErrorKind::CorruptMetadata | ErrorKind::Unsupported) => {
            return Err(exists().caused_by(error));
        }
        Err(error) => return Err(error),
    }
    let file = format!("{location}/schema/schema-0");
    let content = Bytes::from(schema.to_pretty_json());
    let schema = TableSchema::parse(&content)?;
    match files.put_if_absent(&file, content.clone()) {
        Ok(()) => {}
        // Another writer may have created the table with an identical schema.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Err(exists()),
        Err(error) => match settle(files, &file, &content, error) {
            Swap::Done(_) => {}
            Swap::Lost => return Err(exists()),
            Swap::Refused(error) => return Err(error),
            Swap::Unknown(error) => {
                let message = format!("it is unknown whether the table was created: {error}");
                return Err(Error::new(ErrorKind::CommitStateUnknown, message)
                    .with("table", location)
                    .hint("load the table; create it again if it does not exist"));
            }
        },
    }
    // The table is returned without reading it, because a failed read would hide that the table was created.
    Ok(Table::with_schema(files, location, MAIN_BRANCH, Arc::new(schema)))
}

#[cfg(test)]
#[path = "create_tests.rs"]
mod tests;
