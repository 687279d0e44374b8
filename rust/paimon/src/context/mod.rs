//! What planning and reading share: the schema, the filter, the options and the files of a scan, its splits and its
//! columns.

pub(crate) mod altered;
pub mod file_format;
pub mod output;
pub mod split;

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::Arc;

use arrow_array::ArrayRef;
use frazil_core::error::{Error, ErrorKind, Result};
use frazil_core::predicate::bind::Columns;
use frazil_core::predicate::{BoundColumn, BoundPredicate, ColumnName};
use frazil_core::scalar::{Scalar, ScalarType};
use frazil_core::storage::files::Files;

use serde::{Deserialize, Serialize};

use crate::binary_row;
use crate::spec::options::Options;
use crate::spec::partition_path;
use crate::spec::schema::TableSchema;
use crate::spec::types::{DataField, DataType, TypeRoot, comparable};

/// What is read of a table (documentation: "System Tables").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum View {
    /// Its rows.
    #[default]
    Rows,
    /// `$ro`: of a primary-key table only the files that need no merge, so that the newest rows may be missing.
    ReadOptimized,
    /// `$audit_log`: rows with their kinds, those that only delete included.
    AuditLog,
    /// `$binlog`: the same, with lists of the images of a row for columns.
    Binlog,
    /// `$row_tracking`: rows with the columns `_ROW_ID` and `_SEQUENCE_NUMBER`.
    RowTracking,
}

impl View {
    /// Whether it has the column `rowkind`, and rows that only delete.
    pub fn has_kinds(self) -> bool {
        matches!(self, Self::AuditLog | Self::Binlog)
    }
}

impl FromStr for View {
    type Err = Error;

    /// Reads the name that the wire form has, too.
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

/// What all splits of a scan share. Immutable; part of the wire form of a split.
#[derive(Debug, Clone)]
pub struct ReadContext {
    /// Where files lie and which may be read.
    pub files: Files,
    /// The root folder of the table.
    pub table_location: String,
    /// The schema that names and types are taken from.
    pub schema: Arc<TableSchema>,
    /// The schemas by which files were written, and `schema` itself, by id.
    pub schemas: BTreeMap<i64, Arc<TableSchema>>,
    /// The options of the table with those of the scan over them.
    pub options: Options,
    /// Rows for which this is true are returned. Columns are field ids of `schema`.
    pub filter: BoundPredicate,
    /// What is read of the table.
    pub view: View,
}

impl ReadContext {
    /// The schema that a file was written by.
    ///
    /// # Errors
    /// `CorruptManifest` for one that planning did not see.
    pub fn file_schema(&self, id: i64) -> Result<&Arc<TableSchema>> {
        self.schemas.get(&id).ok_or_else(|| {
            Error::new(ErrorKind::CorruptManifest, "a file was written by a schema that the table does not have")
                .with("schema id", id)
        })
    }

    /// Whether rows are merged by key.
    pub fn has_primary_key(&self) -> bool {
        !self.schema.primary_keys.is_empty()
    }

    /// The columns of the trimmed primary key.
    pub fn key_fields(&self) -> Vec<&DataField> {
        self.schema.trimmed_primary_keys().iter().filter_map(|key| self.schema.field(key)).collect()
    }

    /// The types of the trimmed primary key.
    pub fn key_types(&self) -> Vec<DataType> {
        self.key_fields().iter().map(|field| field.data_type.clone()).collect()
    }

    /// The columns of a partition with their values as text, NULL as None. `partition` is a serialised row with its arity.
    ///
    /// # Errors
    /// `CorruptManifest` when it does not decode.
    pub fn partition_texts(&self, partition: &[u8]) -> Result<Vec<(String, Option<String>)>> {
        let fields = self.partition_fields();
        if fields.is_empty() {
            return Ok(Vec::new());
        }
        let values = binary_row::decode(partition, &self.partition_types());
        let values = values.map_err(|e| e.corrupt_as(ErrorKind::CorruptManifest))?;
        let text = |(field, value): (&&DataField, &ArrayRef)| {
            let scalar = match field.data_type.scalar() {
                Some(data_type) => Scalar::from_array(comparable(value)?.as_ref(), 0, data_type)?,
                None => None,
            };
            Ok((field.name.clone(), scalar.map(|scalar| scalar.to_string())))
        };
        fields.iter().zip(&values).map(text).collect()
    }

    /// The folder of a bucket, relative to the table; `folder` is the one of its partition, empty without partitions.
    ///
    /// # Errors
    /// As [`Options::data_directory`].
    pub fn bucket_path(&self, folder: &str, bucket: i32) -> Result<String> {
        partition_path::bucket_path(&self.options, folder, bucket)
    }

    /// The partition columns, outermost first.
    pub fn partition_fields(&self) -> Vec<&DataField> {
        self.schema.partition_keys.iter().filter_map(|key| self.schema.field(key)).collect()
    }

    /// The types of the partition columns.
    pub fn partition_types(&self) -> Vec<DataType> {
        self.partition_fields().iter().map(|field| field.data_type.clone()).collect()
    }
}

/// Names are looked up as whole names of columns first, points included, then as paths through rows. What has no order
/// (arrays, maps, rows, variants) can only be tested for NULL.
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

/// The field of a name; where case does not count, the only one.
///
/// # Errors
/// `InvalidArgument` where several differ from it in case alone.
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
            Err(Error::invalid(format!("`{name}` may be `{}` or `{}`", first.name, second.name))
                .hint("write the name as the table has it"))
        }
        (only, _) => Ok(only),
    }
}

/// A column. Its name is its path as SQL writes it, so that it binds to the same column again.
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
    use frazil_core::predicate::Predicate;
    use frazil_core::predicate::bind::bind;

    /// A column.
    pub(crate) fn field(id: i32, name: &str, root: TypeRoot) -> DataField {
        DataField { id, name: name.into(), data_type: DataType::nullable(root), description: None, default_value: None }
    }

    /// A table of these columns.
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
    fn a_whole_name_goes_before_a_path() {
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
    fn what_has_no_order_can_only_be_tested_for_null() {
        let bound = |text: &str| bind(&Predicate::parse(text).unwrap(), &nested(), true);
        assert!(bound("list IS NULL").is_ok());
        assert!(bound("a.c IS NOT NULL").is_ok());
        assert_eq!(bound("list = 1").unwrap_err().kind(), ErrorKind::InvalidArgument);
        assert!(bound("lst = 1").unwrap_err().to_string().contains("`list`"));
    }
}
