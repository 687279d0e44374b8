//! What of Paimon this crate reads, as data for the documentation, and the check that refuses a table or a scan whose
//! options change reading in a way that is not supported. Options that only writers use are not looked at.

use frazil_core::error::{Error, Result};

use crate::spec::json::shown;
use crate::spec::options::Options;
use crate::spec::schema::TableSchema;
use crate::spec::types::{DataField, TypeRoot};

/// A feature of Paimon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeatureInfo {
    /// Its name, in the words of the documentation.
    pub name: &'static str,
    /// Whether tables with it can be read.
    pub read: Support,
    /// Whether it can be written.
    pub write: Support,
}

/// Whether something is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Support {
    /// It is.
    Yes,
    /// It is planned; until then a typed error names it.
    NotYet,
    /// It is not, and a typed error names it.
    No,
}

use Support::{No, NotYet, Yes};

const fn feature(name: &'static str, read: Support, write: Support) -> FeatureInfo {
    FeatureInfo { name, read, write }
}

/// Every feature, in the order of the documentation.
pub const FEATURES: &[FeatureInfo] = &[
    feature("primitive types", Yes, NotYet),
    feature("array, map, multiset, row", Yes, NotYet),
    feature("variant", Yes, NotYet),
    feature("blob", Yes, NotYet),
    feature("vector", No, No),
    feature("schema files of versions 1 to 3", Yes, NotYet),
    feature("snapshots of versions 1 to 3", Yes, NotYet),
    feature("manifests in Avro, ORC and Parquet", Yes, NotYet),
    feature("schema evolution", Yes, NotYet),
    feature("branches, tags, consumers", Yes, NotYet),
    feature("time travel", Yes, NotYet),
    feature("scan.fallback-branch", Yes, NotYet),
    feature("incremental reads", Yes, NotYet),
    feature("decoupled changelog", Yes, NotYet),
    feature("primary key tables", Yes, NotYet),
    feature("merge engine deduplicate", Yes, NotYet),
    feature("merge engine partial-update", Yes, NotYet),
    feature("merge engine aggregation", Yes, NotYet),
    feature("merge engine first-row", Yes, NotYet),
    feature("fixed, dynamic and postponed buckets", Yes, NotYet),
    feature("deletion vectors", Yes, NotYet),
    feature("changelog producers", Yes, NotYet),
    feature("primary key clustering override", No, No),
    feature("ordering by snapshot", No, No),
    feature("chain tables", No, No),
    feature("append tables", Yes, NotYet),
    feature("row tracking", Yes, NotYet),
    feature("data evolution", Yes, NotYet),
    feature("file indexes", Yes, NotYet),
    feature("external data paths", Yes, NotYet),
    feature("Parquet data files", Yes, NotYet),
    feature("ORC data files", Yes, NotYet),
    feature("Avro data files", Yes, NotYet),
    feature("mosaic, lance, vortex and row data files", No, No),
    feature("materialized tables", Yes, No),
    feature("format tables", Yes, NotYet),
    feature("object tables", Yes, No),
    feature("record-level expiry", Yes, NotYet),
    feature("query authorization", No, No),
    feature("blob descriptors", Yes, No),
    feature("blob descriptor fields and views", No, No),
];

/// Options that change what rows a read gives when they are `true`.
const REFUSED_WHEN_TRUE: &[(&str, &str)] = &[
    ("chain-table.enabled", "chain tables are not read"),
    ("pk-clustering-override", "files that are not sorted by their primary key cannot be merged"),
    ("query-auth.enabled", "only the catalog knows which rows and columns may be read"),
    ("scan.ignore-corrupt-files", "rows of corrupt files are never left out silently"),
    ("scan.ignore-lost-files", "rows of lost files are never left out silently"),
    ("sequence.snapshot-ordering", "rows of one key are ordered by their sequence numbers alone"),
];

/// Options that change what rows a read gives when they are there.
const REFUSED_WHEN_GIVEN: &[(&str, &str)] = &[
    ("blob-descriptor-field", "blobs that are stored as descriptors are not followed"),
    ("blob.stored-descriptor-fields", "blobs that are stored as descriptors are not followed"),
    ("blob-view-field", "blobs that are stored in another table are not followed"),
    ("scan.fallback-snapshot-branch", "chain tables are not read"),
    ("scan.fallback-delta-branch", "chain tables are not read"),
    ("scan.primary-branch", "a branch that comes first is not read"),
];

/// Options of which only some values are known.
const KNOWN_VALUES: &[(&str, &[&str])] = &[
    ("bucket-function.type", &["default", "mod", "hive"]),
    ("changelog-producer", &["none", "input", "full-compaction", "lookup"]),
];

const MERGE_ENGINES: &[&str] = &["deduplicate", "partial-update", "aggregation", "first-row"];

const FILE_FORMATS: &[&str] = &["parquet", "orc", "avro"];

/// Names that files give to columns of their own.
const RESERVED_COLUMNS: &[&str] = &["_SEQUENCE_NUMBER", "_VALUE_KIND", "_LEVEL", "_ROW_ID", "rowkind"];

/// Refuses what changes reading and is not supported, before any row is read. `options` are those of the schema with
/// those of the scan over them; an option that nothing here knows is nobody's business here.
///
/// # Errors
/// `Unsupported` naming the option, or the column; `InvalidArgument` for a value that does not parse.
pub fn check_readable(schema: &TableSchema, options: &Options) -> Result<()> {
    check_type(options)?;
    check_options(schema, options)?;
    check_formats(options)?;
    check_keys_in_options(schema, options)?;
    check_columns(schema)?;
    options.bucket().map(|_| ())
}

fn check_type(options: &Options) -> Result<()> {
    let kind = value(options, "type").unwrap_or_else(|| "table".to_string());
    match kind.as_str() {
        "table" | "materialized-table" => Ok(()),
        "format-table" => Err(refused("type", &kind).hint("open it with frazil.paimon.format_table")),
        "object-table" => Err(refused("type", &kind).hint("open it with frazil.paimon.object_table")),
        _ => Err(refused("type", &kind)),
    }
}

fn check_options(schema: &TableSchema, options: &Options) -> Result<()> {
    let of_table = Options::new(schema.options.clone());
    for (name, reason) in REFUSED_WHEN_TRUE {
        // What the table demands is not switched off by a scan.
        if of_table.boolean(name, false)? || options.boolean(name, false)? {
            return Err(refused(name, "true").hint(*reason));
        }
    }
    for (name, reason) in REFUSED_WHEN_GIVEN {
        if let Some(text) = options.text(name).filter(|text| !text.trim().is_empty()) {
            return Err(refused(name, text).hint(*reason));
        }
    }
    let engines: &[_] = if schema.primary_keys.is_empty() { &[] } else { &[("merge-engine", MERGE_ENGINES)] };
    for (name, known) in KNOWN_VALUES.iter().chain(engines) {
        if let Some(value) = value(options, name).filter(|value| !known.contains(&value.as_str())) {
            return Err(refused(name, &value).hint(format!("known are {}", known.join(", "))));
        }
    }
    Ok(())
}

fn check_formats(options: &Options) -> Result<()> {
    let check = |name: &str, format: &str| {
        let format = format.trim().to_ascii_lowercase();
        if FILE_FORMATS.contains(&format.as_str()) { Ok(()) } else { Err(refused(name, &format)) }
    };
    for name in ["file.format", "changelog-file.format"] {
        options.text(name).map_or(Ok(()), |format| check(name, format))?;
    }
    for entry in options.list("file.format.per.level") {
        let (_, format) = entry.split_once(':').unwrap_or(("", entry));
        check("file.format.per.level", format)?;
    }
    Ok(())
}

/// Keys belong to the schema: options that say otherwise would be ignored.
fn check_keys_in_options(schema: &TableSchema, options: &Options) -> Result<()> {
    for (name, keys) in [("primary-key", &schema.primary_keys), ("partition", &schema.partition_keys)] {
        if let Some(text) = options.text(name).filter(|_| !options.list(name).iter().eq(keys.iter())) {
            return Err(refused(name, text).hint("the keys of the schema are another"));
        }
    }
    Ok(())
}

fn check_columns(schema: &TableSchema) -> Result<()> {
    let reserved =
        |field: &&DataField| RESERVED_COLUMNS.contains(&field.name.as_str()) || field.name.starts_with("_KEY_");
    if let Some(field) = schema.fields.iter().find(reserved) {
        return Err(
            Error::unsupported(format!("the column name `{}`", shown(&field.name))).hint("Paimon keeps it for itself")
        );
    }
    let keys = || schema.partition_keys.iter().filter_map(|key| schema.field(key));
    // Writers name the folders of such partitions by an address in their memory.
    if let Some(field) = keys().find(|field| !is_simple(&field.data_type.root) || is_binary(&field.data_type.root)) {
        return Err(Error::unsupported(format!("partitions by {}", field.data_type)).with("column", shown(&field.name)));
    }
    let is_blob = |field: &&DataField| field.data_type.root == TypeRoot::Blob;
    match schema.fields.iter().find(is_blob) {
        Some(field) if !schema.primary_keys.is_empty() => {
            Err(Error::unsupported("BLOB in a table with a primary key").with("column", shown(&field.name)))
        }
        _ => Ok(()),
    }
}

fn is_simple(root: &TypeRoot) -> bool {
    !matches!(
        root,
        TypeRoot::Array(_) | TypeRoot::Map(..) | TypeRoot::Multiset(_) | TypeRoot::Row(_) | TypeRoot::Variant
    )
}

fn is_binary(root: &TypeRoot) -> bool {
    matches!(root, TypeRoot::Binary(_) | TypeRoot::VarBinary(_) | TypeRoot::Blob)
}

/// The value of an option that is one of some words.
fn value(options: &Options, name: &str) -> Option<String> {
    options.text(name).map(|text| text.trim().to_ascii_lowercase())
}

fn refused(name: &str, value: &str) -> Error {
    Error::unsupported(format!("the option `{name}` with the value `{}`", shown(value)))
}

#[cfg(test)]
#[path = "features_tests.rs"]
mod tests;
