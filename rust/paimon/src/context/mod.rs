//! The state that planning and reading share: the schema, filter, options and files of a scan, its splits and its
//! columns.

pub(crate) mod altered_columns;
pub mod file_format;
pub mod output;
pub mod split;

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::Arc;

use arrow_array::ArrayRef;
use frazil_core::error::{Error, ErrorKind, Result};
use frazil_core::scalar::{Scalar, ScalarType};
use frazil_core::sql::predicate::bind::Columns;
use frazil_core::sql::predicate::{BoundColumn, BoundPredicate, ColumnName};
use frazil_core::storage::files::Files;

use serde::{Deserialize, Serialize};

use crate::binary_row;
use crate::spec::options::Options;
use crate::spec::partition_path;
use crate::spec::schema::TableSchema;
use crate::spec::types::{DataField, DataType, TypeRoot, comparable};

/// The view of a table that is read (documentation: "System Tables").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum View {
    /// The rows of the table.
    #[default]
    Rows,
    /// `$ro`: for primary-key tables only the files that need no merge, so the latest rows may be missing.
    ReadOptimized,
    /// `$audit_log`: rows with their kinds, including rows that only delete.
    AuditLog,
    /// `$binlog`: like `$audit_log`, but each column is a list of the images of a row.
    Binlog,
    /// `$row_tracking`: rows with the columns `_ROW_ID` and `_SEQUENCE_NUMBER`.
    RowTracking,
}

impl View {
    /// Returns whether the view has the column `rowkind` and rows that only delete.
    pub fn has_kinds(self) -> bool {
        matches!(self, Self::AuditLog | Self::Binlog)
    }
}

impl FromStr for View {
    type Err = Error;

    /// Parses the name of a view, as in the wire form of a split.
    fn from_str(name: &str) -> Result<Self> {
        match name {
            "rows" => Ok(Self::Rows),
            "read-optimized" => Ok(Self::ReadOptimized),
            "audit-log" => Ok(Self::AuditLog),
            "binlog" => Ok(Self::Binlog),
            "row-tracking" => Ok(Self::RowTracking),
            other => Err(Error::invalid(format!("unknown view of a table: {other}"))),
        }
    }
}

/// The state that all splits of a scan share. It is immutable and part of the wire form of a split.
#[derive(Debug, Clone)]
pub struct ReadContext {
    /// Access to files, restricted to those that may be read.
    pub files: Files,
    /// The root folder of the table.
    pub table_location: String,
    /// The schema that defines names and types.
    pub schema: Arc<TableSchema>,
    /// The schemas that files were written with, and `schema` itself, by id.
    pub schemas: BTreeMap<i64, Arc<TableSchema>>,
    /// The options of the table, overridden by those of the scan.
    pub options: Options,
    /// The filter of the returned rows. Columns are field ids of `schema`.
    pub filter: BoundPredicate,
    /// The view of the table that is read.
    pub view: View,
}

impl ReadContext {
    /// Returns the schema that a file was written with.
    ///
    /// # Errors
    /// `CorruptManifest` for a schema that planning did not find.
    pub fn file_schema(&self, id: i64) -> Result<&Arc<TableSchema>> {
        self.schemas.get(&id).ok_or_else(|| {
            Error::new(ErrorKind::CorruptManifest, "a file was written with a schema that is not in the table")
                .with("schema id", id)
        })
    }

    /// Returns whether the table has a primary key, so that rows are merged by key.
    pub fn has_primary_key(&self) -> bool {
        !self.schema.primary_keys.is_empty()
    }

    /// Returns the columns of the trimmed primary key.
    pub fn key_fields(&self) -> Vec<&DataField> {
        self.schema.trimmed_primary_keys().iter().filter_map(|key| self.schema.field(key)).collect()
    }

    /// Returns the types of the trimmed primary key.
    pub fn key_types(&self) -> Vec<DataType> {
        self.key_fields().iter().map(|field| field.data_type.clone()).collect()
    }

    /// Returns the columns of a partition with their values as strings, or None for NULL. `partition` is a serialized
    /// row with its arity.
    ///
    /// # Errors
    /// `CorruptManifest` if `partition` does not decode.
    pub fn partition_texts(&self, partition: &[u8]) -> Result<Vec<(String, Option<String>)>> {
        self.texts_of_partition(partition, |field, value| {
            let scalar = match field.data_type.scalar() {
                Some(data_type) => Scalar::from_array(comparable(value)?.as_ref(), 0, data_type)?,
                None => None,
            };
            Ok(scalar.map(|scalar| scalar.to_string()))
        })
    }

    /// Returns the names and values of the partition columns as an overwrite accepts them, with None for NULL.
    ///
    /// # Errors
    /// As for [`ReadContext::partition_texts`].
    pub fn partition_values(&self, partition: &[u8]) -> Result<Vec<(String, Option<String>)>> {
        self.texts_of_partition(partition, |field, value| {
            partition_path::value_text(value, 0, &field.data_type.root, false)
        })
    }

    fn texts_of_partition(
        &self,
        partition: &[u8],
        text: impl Fn(&DataField, &ArrayRef) -> Result<Option<String>>,
    ) -> Result<Vec<(String, Option<String>)>> {
        let fields = self.partition_fields();
        if fields.is_empty() {
            return Ok(Vec::new());
        }
        let values = binary_row::decode(partition, &self.partition_types());
        let values = values.map_err(|e| e.corrupt_as(ErrorKind::CorruptManifest))?;
        let of = |(field, value): (&&DataField, &ArrayRef)| Ok((field.name.clone(), text(field, value)?));
        fields.iter().zip(&values).map(of).collect()
    }

    /// Returns the folder of a bucket, relative to the table. `folder` is that of its partition, empty without
    /// partitions.
    ///
    /// # Errors
    /// As for [`Options::data_directory`].
    pub fn bucket_path(&self, folder: &str, bucket: i32) -> Result<String> {
        partition_path::bucket_path(&self.options, folder, bucket)
    }

    /// Returns the partition columns, outermost first.
    pub fn partition_fields(&self) -> Vec<&DataField> {
        self.schema.partition_keys.iter().filter_map(|key| self.schema.field(key)).collect()
    }

    /// Returns the types of the partition columns.
    pub fn partition_types(&self) -> Vec<DataType> {
        self.partition_fields().iter().map(|field| field.data_type.clone()).collect()
    }
}

/// Names are looked up first as complete column names, including dots, then as paths through rows. Types without an
/// order (arrays, maps, rows, variants) can only be tested for NULL.
impl Columns for TableSchema {
    fn column(&self, name: &ColumnName, case_sensitive: bool) -> Result<Option<BoundColumn>> {
        let whole = name.0.join(".");
        if let Some(field) = find(&self.fields, &whole, case_sensitive)? {
            return Ok(Some(bound(&[], field)));
        }
        let mut fields = self.fields.as_slice();
        let mut path = Vec::with_capacity(name.0.len());
        for part in &name.0 {
            let Some(field) = find(fields, part, case_sensitive)? else { return Ok(None) };
            path.push(field);
            fields = if let TypeRoot::Row(inner) = &field.data_type.root { inner } else { &[] };
        }
        Ok(path.split_last().map(|(last, parents)| bound(parents, last)))
    }

    fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        collect_names(&self.fields, "", &mut names);
        names
    }

    fn comparable(&self, column: &BoundColumn) -> bool {
        column.data_type != ScalarType::Null
    }
}

/// Returns the field with a name, or None. A case-insensitive lookup must match exactly one field.
///
/// # Errors
/// `InvalidArgument` if several fields differ from the name only by case.
pub(crate) fn find<'a>(fields: &'a [DataField], name: &str, case_sensitive: bool) -> Result<Option<&'a DataField>> {
    if let Some(exact) = fields.iter().find(|field| field.name == name) {
        return Ok(Some(exact));
    }
    if case_sensitive {
        return Ok(None);
    }
    let folded = name.to_lowercase();
    let mut matching = fields.iter().filter(|field| field.name.to_lowercase() == folded);
    match (matching.next(), matching.next()) {
        (Some(first), Some(second)) => {
            Err(Error::invalid(format!("`{name}` is ambiguous: `{}` or `{}`", first.name, second.name))
                .hint("write the name with the case of the table"))
        }
        (only, _) => Ok(only),
    }
}

/// Returns a bound column. Its name is its path in SQL notation, so that it binds to the same column again.
fn bound(parents: &[&DataField], field: &DataField) -> BoundColumn {
    let path = || parents.iter().copied().chain([field]);
    BoundColumn {
        id: field.id,
        name: ColumnName(path().map(|field| field.name.clone()).collect()).to_string().into(),
        data_type: field.data_type.scalar().unwrap_or(ScalarType::Null),
        nullable: path().any(|field| field.data_type.nullable),
    }
}

fn collect_names(fields: &[DataField], prefix: &str, names: &mut Vec<String>) {
    for field in fields {
        let name = format!("{prefix}{}", field.name);
        if let TypeRoot::Row(inner) = &field.data_type.root {
            collect_names(inner, &format!("{name}."), names);
        }
        names.push(name);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use frazil_core::sql::expression::Expression;
    use frazil_core::sql::predicate::bind::bind;

    /// Creates a column.
    pub(crate) fn field(id: i32, name: &str, root: TypeRoot) -> DataField {
        DataField { id, name: name.into(), data_type: DataType::nullable(root), description: None, default_value: None }
    }

    /// Creates a table of these columns.
    pub(crate) fn schema(
        id: i64,
        fields: Vec<DataField>,
        partition_keys: &[&str],
        primary_keys: &[&str],
    ) -> TableSchema {
        let names = |names: &[&str]| names.iter().map(ToString::to_string).collect();
        TableSchema {
            version: 3,
            id,
            highest_field_id: fields.iter().map(|field| field.id).max().unwrap_or(0),
            fields,
            partition_keys: names(partition_keys),
            primary_keys: names(primary_keys),
            options: BTreeMap::new(),
            comment: None,
            time_ms: 0,
        }
    }

    fn nested() -> TableSchema {
        let inner = vec![field(3, "b", TypeRoot::BigInt), field(4, "c", TypeRoot::Variant)];
        let fields = vec![
            field(0, "a.b", TypeRoot::Int),
            field(1, "a", TypeRoot::Row(inner)),
            field(2, "A", TypeRoot::Int),
            field(5, "list", TypeRoot::Array(Box::new(DataType::nullable(TypeRoot::Int)))),
        ];
        schema(0, fields, &[], &[])
    }

    fn id(text: &str, case_sensitive: bool) -> Result<Option<i32>> {
        let name = ColumnName(text.split('/').map(str::to_string).collect());
        Ok(nested().column(&name, case_sensitive)?.map(|column| column.id))
    }

    #[test]
    fn an_exact_name_takes_precedence_over_a_path() {
        assert_eq!(id("a/b", true).unwrap(), Some(0));
        assert_eq!(id("a.b", true).unwrap(), Some(0));
        assert_eq!(id("a/c", true).unwrap(), Some(4));
        assert_eq!(id("a/x", true).unwrap(), None);
        assert_eq!(id("list/element", true).unwrap(), None);
        assert_eq!(id("LIST", true).unwrap(), None);
        assert_eq!(id("LIST", false).unwrap(), Some(5));
        assert_eq!(id("A", false).unwrap(), Some(2), "the exact name is meant");
    }

    #[test]
    fn unordered_types_support_only_null_checks() {
        let bound = |text: &str| bind(&Expression::filter(text).unwrap(), &nested(), true);
        assert!(bound("list IS NULL").is_ok());
        assert!(bound("a.c IS NOT NULL").is_ok());
        assert_eq!(bound("list = 1").unwrap_err().kind(), ErrorKind::InvalidArgument);
        assert!(bound("lst = 1").unwrap_err().to_string().contains("`list`"));
    }
}
