//! Checks the schemas of new and altered tables (Java's `Schema` and `SchemaValidation`).

use std::collections::HashSet;
use std::sync::Arc;

use arrow_schema::Schema as ArrowSchema;
use frazil_core::context::Context;
use frazil_core::error::{Error, Result};

use crate::commit;
use crate::read::expiry::Expiry;
use crate::spec::columns::{ROW_KIND, is_reserved};
use crate::spec::json::shown;
use crate::spec::options::Options;
use crate::spec::schema::TableSchema;
use crate::spec::types::{DataField, DataType, TypeRoot, arrow_fields};
use crate::write::check::check_writable;
use crate::write::file::EntrySettings;
use crate::write::upsert::Upserts;

/// The memory limit of a sorter that is created only for validation and receives no rows.
const SORTED_BYTES: usize = 1 << 20;

/// Rejects a schema that cannot be written, or whose options contradict each other or the columns.
///
/// # Errors
/// `InvalidArgument` naming the option; `Unsupported` naming a feature that cannot be written.
pub(super) fn check_schema(schema: &TableSchema) -> Result<()> {
    check_writable(schema)?;
    if !schema.primary_keys.is_empty() && schema.fields.iter().any(|field| field.name == ROW_KIND) {
        let message = "in a table with a primary key, this column holds the kinds of appended rows";
        return Err(Error::invalid(message).with("column", ROW_KIND).hint("choose another name"));
    }
    let options = Options::new(schema.options.clone());
    check_buckets(schema, &options)?;
    commit::check_options(&options)?;
    // Rejects invalid statistics modes and file indexes.
    EntrySettings::try_new(schema, &options, 0)?;
    if !schema.primary_keys.is_empty() {
        // Rejects merge engines, aggregate functions and record expiration that would make every merge fail.
        let columns = ArrowSchema::new(arrow_fields(&schema.fields));
        Upserts::try_new(&Arc::new(schema.clone()), &columns, SORTED_BYTES, &Context::default())?;
        Expiry::from_options(schema, &options, schema.time_ms)?;
    }
    Ok(())
}

/// Rejects columns with invalid names, or with the same name.
pub(super) fn check_names(fields: &[DataField]) -> Result<()> {
    if fields.is_empty() {
        return Err(Error::invalid("a table needs at least one column"));
    }
    let mut names = HashSet::new();
    for field in fields {
        let name = field.name.as_str();
        let column = |message: &str| Error::invalid(message).with("column", shown(name));
        if name.trim().is_empty() {
            return Err(Error::invalid("a column needs a name"));
        }
        if has_nul(field) {
            return Err(column("the name of a column or of a field in it contains the character U+0000"));
        }
        if is_reserved(name) {
            return Err(column("Paimon reserves this column name").hint("rename the column"));
        }
        if !names.insert(name) {
            return Err(column("two columns have the same name").hint("rename one of them"));
        }
    }
    Ok(())
}

/// Returns whether a name contains the character U+0000, with which Arrow cannot pass a schema on.
fn has_nul(field: &DataField) -> bool {
    field.name.contains('\0') || has_nul_inside(&field.data_type)
}

fn has_nul_inside(data_type: &DataType) -> bool {
    match &data_type.root {
        TypeRoot::Row(fields) => fields.iter().any(has_nul),
        TypeRoot::Array(element) | TypeRoot::Multiset(element) => has_nul_inside(element),
        TypeRoot::Map(key, value) => has_nul_inside(key) || has_nul_inside(value),
        _ => false,
    }
}

/// Rejects keys that are not columns, occur twice, or are of a nested type. `what` describes the keys.
pub(super) fn check_keys(fields: &[DataField], what: &str, keys: &[String]) -> Result<()> {
    let mut seen = HashSet::new();
    for key in keys {
        let Some(field) = fields.iter().find(|field| field.name == *key) else {
            return Err(Error::invalid(format!("the {what} `{}` is not a column", shown(key))));
        };
        if !seen.insert(key) {
            return Err(Error::invalid(format!("the {what} `{}` is specified twice", shown(key))));
        }
        if is_nested(&field.data_type) {
            return Err(Error::unsupported(format!("a {what} of type {} is not supported", field.data_type))
                .with("column", shown(key)));
        }
    }
    Ok(())
}

/// Rejects bucket keys that are ineffective or incomplete.
fn check_buckets(schema: &TableSchema, options: &Options) -> Result<()> {
    let keys = options.list("bucket-key");
    match options.bucket()? {
        -1 if options.text("bucket-key").is_some() => {
            return Err(Error::invalid(format!(
                "`bucket-key` = `{}` has no effect without buckets",
                shown(&keys.join(","))
            ))
            .hint("set the option `bucket` to the number of buckets, or remove `bucket-key`"));
        }
        1.. if keys.is_empty() && schema.primary_keys.is_empty() => {
            return Err(Error::invalid("a table with a fixed number of buckets needs the option `bucket-key`")
                .hint("set `bucket-key` to the columns that determine the bucket of a row"));
        }
        _ => {}
    }
    for key in &keys {
        let error = |message: String| Error::invalid(message).with("option", "bucket-key");
        let field =
            schema.field(key).ok_or_else(|| error(format!("the bucket key `{}` is not a column", shown(key))))?;
        if schema.partition_keys.contains(&field.name) {
            return Err(error(format!("the bucket key `{}` is a partition key", shown(key)))
                .hint("all rows of a partition would have the same bucket"));
        }
        if !schema.primary_keys.is_empty() && !schema.primary_keys.contains(&field.name) {
            return Err(error(format!("the bucket key `{}` is not a column of the primary key", shown(key))));
        }
        if is_nested(&field.data_type) {
            return Err(error(format!("a bucket key of type {}", field.data_type)));
        }
    }
    Ok(())
}

fn is_nested(data_type: &DataType) -> bool {
    matches!(data_type.root, TypeRoot::Array(_) | TypeRoot::Map(..) | TypeRoot::Multiset(_) | TypeRoot::Row(_))
}
