//! Checks changes to options (Java's `SchemaManager`): files that were written under the old options must stay readable.

use std::collections::BTreeMap;

use frazil_core::error::{Error, ErrorKind, Result};

use crate::spec::json::shown;
use crate::spec::options::Options;
use crate::spec::schema::TableSchema;

/// Options that determine how files are laid out and merged, which cannot change once the table has a snapshot.
const IMMUTABLE: &[&str] = &[
    "aggregation.remove-record-on-delete",
    "blob-descriptor-field",
    "blob-external-storage-field",
    "blob-external-storage-path",
    "bucket-function.type",
    "bucket-key",
    "data-evolution.enabled",
    "data-file.path-directory",
    "force-lookup",
    "index-file-in-data-file-dir",
    "merge-engine",
    "partial-update.remove-record-on-delete",
    "partial-update.remove-record-on-sequence-group",
    "partition",
    "pk-clustering-override",
    "primary-key",
    "row-tracking.enabled",
    "rowkind.field",
];

/// Options of new tables that set columns of the schema.
const KEYS: &[&str] = &["partition", "primary-key"];

/// Options that cannot change from `true` to `false`: readers would expect records that were not written.
const NEVER_BACK: &[&str] = &["ignore-delete", "ignore-update-before"];

const VECTORS: &str = "deletion-vectors.enabled";
const VECTORS_MODIFIABLE: &str = "deletion-vectors.modifiable";

/// Rejects a change to an option; `value` is None if the option is removed. `options` are those of the latest schema.
///
/// # Errors
/// `InvalidArgument` naming the option.
pub(crate) fn check_option(
    options: &BTreeMap<String, String>,
    name: &str,
    value: Option<&str>,
    has_snapshots: bool,
) -> Result<()> {
    if name.eq_ignore_ascii_case("path") {
        return Err(refused(name, "the location of a table cannot change"));
    }
    if KEYS.contains(&name) {
        return Err(refused(
            name,
            "the keys of a table are set when it is created, and the option would have no effect",
        )
        .hint("create a table with this option and copy the rows"));
    }
    if !has_snapshots {
        return Ok(());
    }
    if IMMUTABLE.contains(&name) {
        return Err(refused(name, "the table has snapshots, which were written with the current value")
            .hint("create a table with this option and copy the rows"));
    }
    let old = Options::new(options.clone());
    let new = Options::new(value.map(|value| (name.to_string(), value.to_string())).into_iter().collect());
    match name {
        "bucket" if value.is_none() => Err(refused(name, "the table has snapshots, so it cannot be removed")),
        "bucket" if old.bucket()? == -1 || new.bucket()? == -1 => {
            Err(refused(name, "the table has snapshots, so it cannot change from or to -1"))
        }
        VECTORS if old.boolean(name, false)? != new.boolean(name, false)? => {
            if old.boolean(VECTORS_MODIFIABLE, false)? {
                return Ok(());
            }
            let reason = "the table has snapshots; without a full compaction, deleted rows would appear again";
            Err(refused(name, reason)
                .hint(format!("compact the table and set `{VECTORS_MODIFIABLE}` to true in an earlier change")))
        }
        _ if NEVER_BACK.contains(&name) && old.boolean(name, false)? && !new.boolean(name, false)? => {
            Err(refused(name, "the table has snapshots, so it cannot change from true to false"))
        }
        _ => Ok(()),
    }
}

/// Rejects files that were written with an older schema if they do not fit the latest one: another layout of buckets,
/// or a NULL in a column that no longer allows it.
///
/// # Errors
/// `CommitConflict` naming the option or the column.
pub(crate) fn check_written_with(written: &TableSchema, latest: &TableSchema) -> Result<()> {
    if written.id == latest.id {
        return Ok(());
    }
    let conflict = |message: String| {
        Error::new(ErrorKind::CommitConflict, message)
            .hint("another writer altered the table; load the table again and repeat the write")
    };
    if ids(written, &written.primary_keys) != ids(latest, &latest.primary_keys)
        || ids(written, &written.partition_keys) != ids(latest, &latest.partition_keys)
    {
        return Err(conflict("the keys of the table have changed".to_string()));
    }
    let layout = IMMUTABLE.iter().chain(&["bucket", VECTORS]);
    let value = |schema: &TableSchema, name: &str| {
        let columns = schema.options.get(name)?.split(',').map(|part| part.trim().to_string()).collect::<Vec<_>>();
        Some(ids(schema, &columns))
    };
    for name in layout {
        if value(written, name) != value(latest, name) {
            return Err(conflict(format!("the option `{name}` of the table has changed")));
        }
    }
    for field in &latest.fields {
        let old = written.fields.iter().find(|old| old.id == field.id);
        if !field.data_type.nullable && old.is_some_and(|old| old.data_type.nullable) {
            return Err(conflict("the column is NOT NULL now".to_string()).with("column", shown(&field.name)));
        }
    }
    Ok(())
}

/// Returns the ids of columns, which do not change when they are renamed. Other words are returned as they are.
fn ids(schema: &TableSchema, columns: &[String]) -> Vec<std::result::Result<i32, String>> {
    columns.iter().map(|column| schema.field(column).map(|field| field.id).ok_or_else(|| column.clone())).collect()
}

fn refused(name: &str, reason: &str) -> Error {
    Error::invalid(format!("the option `{}` cannot be changed: {reason}", shown(name)))
}
