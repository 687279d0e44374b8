//! Lists the Paimon features that this crate reads and writes, as data for the documentation, and rejects tables and
//! scans with unsupported options that change reading. Options that only writers use are not checked.

use frazil_core::error::{Error, Result};
use frazil_core::feature::Feature;
use frazil_core::feature::Support::{No, Yes};

use crate::spec::columns::is_reserved;
use crate::spec::json::shown;
use crate::spec::options::Options;
use crate::spec::schema::TableSchema;
use crate::spec::types::{DataField, TypeRoot};

macro_rules! features {
    ($($name:ident = $section:literal, $modules:expr, $proof:expr, $read:expr, $write:expr;)*) => {
        $(pub(crate) const $name: Feature =
            Feature { section: $section, modules: $modules, proof: $proof, read: $read, write: $write };)*

        /// All features, in the order of the specification.
        pub const FEATURES: &[Feature] = &[$($name),*];
    };
}

features! {
    FILE_LAYOUTS = "File layouts", &["paimon/src/table.rs", "paimon/src/table/numbered.rs", "paimon/src/write/path.rs"], &["*"], Yes("hints `LATEST` and `EARLIEST` may be stale or absent"), Yes("in the main branch");
    SCHEMA = "Schema", &["paimon/src/spec/schema.rs", "paimon/src/spec/type_text.rs", "paimon/src/spec/types.rs", "paimon/src/schema"], &["evo_*", "old_0_9_0_evolved", "tests/behavior/test_paimon_alter.py"], Yes("versions 1 to 3"), Yes("`create_table`, `update_schema`, `set_properties`");
    DATA_TYPES = "Data types", &["paimon/src/spec/types.rs", "paimon/src/read/convert.rs", "paimon/src/write/align.rs"], &["append_types_*", "pk_types_*", "append_variant"], Yes("all except VECTOR"), Yes("all except BLOB, as far as the file \
        format supports them");
    SNAPSHOT = "Snapshot", &["paimon/src/spec/snapshot.rs", "paimon/src/spec/snapshot_write.rs", "paimon/src/commit", "paimon/src/maintenance"], &["*"], Yes("versions 1 to 3"), Yes("APPEND, OVERWRITE, COMPACT; expiry, rollback and orphan files");
    TAGS_BRANCHES_CONSUMERS = "Tags, branches, consumers", &["paimon/src/table.rs", "paimon/src/table/texts.rs", "paimon/src/references/mod.rs", "paimon/src/spec/consumer.rs"], &["tags_*", "branches_pk", "branch_*", "cl_consumer"], Yes(""), Yes("");
    TIME_TRAVEL = "Time travel", &["paimon/src/table/choice.rs"], &["tags_pk", "expire_pk"], Yes("`scan.creation-time-millis` refused"), No("only read");
    MANIFEST_LIST_MANIFEST = "Manifest list, manifest", &["paimon/src/spec/manifest_list.rs", "paimon/src/spec/manifest.rs", "paimon/src/spec/manifest_list_write.rs", "paimon/src/spec/manifest_write.rs", "paimon/src/spec/meta_file.rs", "core/src/avro", "core/src/orc"], &["pk_manifest_*", "old_*_orc_manifest"], Yes("Avro, ORC, Parquet"), Yes("Avro");
    STATISTICS_IN_MANIFESTS = "Statistics in manifests", &["paimon/src/spec/stats.rs", "paimon/src/write/stats.rs", "paimon/src/scan/prune.rs", "paimon/src/scan/layout.rs"], &["append_stats_*", "wide_200", "special_columns"], Yes("of evolved schemas too"), Yes("");
    ROW_FORMAT = "Row format", &["paimon/src/binary_row"], &["pk_multi_key", "bucket_null_slots", "pk_wide_57"], Yes(""), Yes("");
    PARTITIONS = "Partitions", &["paimon/src/spec/partition_path.rs", "paimon/src/scan/partitions.rs"], &["part_*"], Yes("all; bytes and nested types refused"), Yes("");
    DATA_DISTRIBUTION = "Data distribution", &["paimon/src/bucket", "paimon/src/scan/buckets.rs"], &["bucket_*", "dynamic_bucket_max", "postpone_*"], Yes("default, mod, hive; fixed, dynamic, postponed"), Yes("");
    SCAN_PLANNING = "Scan planning", &["paimon/src/scan"], &["pk_levels_*"], Yes(""), No("only read");
    LSM_TREES = "LSM trees", &["paimon/src/merge/section.rs", "paimon/src/scan/split.rs", "paimon/src/merge/runs.rs", "paimon/src/merge/merger.rs"], &["pk_levels_*"], Yes(""), Yes("level 0, and full compactions");
    DATA_FILES = "Data files", &["paimon/src/read/file_reader.rs", "paimon/src/read/projection.rs", "python/frazil/files/read/open.py", "paimon/src/write/file.rs", "paimon/src/write/format.rs", "paimon/src/write/avro_schema.rs", "python/frazil/files/write"], &["pk_per_level_format", "evo_types_orc", "pk_codec_*", "pk_thin_*"], Yes("Parquet, ORC, Avro; others refused"), Yes("Parquet, ORC, Avro, by level too");
    SCHEMA_EVOLUTION = "Schema evolution", &["paimon/src/read/projection.rs", "paimon/src/cast", "paimon/src/schema/alter.rs"], &["evo_*", "cast_*", "tests/behavior/test_paimon_alter.py"], Yes(""), Yes("in one schema per change; NULL to NOT NULL only if an option allows it");
    MERGE_ENGINE_SEQUENCE_AND_ROW_KIND = "Merge engine, sequence and row kind", &["paimon/src/merge"], &["pk_seq_*", "pk_rowkind*", "pu_*", "first_row_*", "cross_partition_*"], Yes("all four; `sequence.snapshot-ordering` refused"), Yes("");
    AGGREGATION = "Aggregation", &["paimon/src/merge/aggregate"], &["agg_*"], Yes("all functions of release 1.4"), Yes("");
    DELETION_VECTORS = "Deletion vectors", &["paimon/src/deletion_vector.rs", "paimon/src/spec/index_manifest.rs", "paimon/src/scan/deletions.rs", "paimon/src/compact/vectors.rs"], &["pk_dv_*", "append_dv_*", "tests/behavior/test_paimon_lookup.py", "tests/behavior/test_paimon_append_rows.py"], Yes("both versions"), Yes("both versions");
    CHANGELOG_PRODUCER_INCREMENTAL_QUERY = "Changelog producer, incremental query", &["paimon/src/scan/incremental.rs", "paimon/src/read/difference.rs"], &["cl_*", "tags_pk", "tests/behavior/test_paimon_lookup.py"], Yes("batch reads only"), Yes("");
    FILE_INDEX = "File index", &["paimon/src/file_index"], &["bloom_filter_*", "bitmap_*", "bsi_*", "range_bitmap_*", "index_*"], Yes("all four types"), Yes("bytes as Java writes them, except the order in bitmaps");
    GLOBAL_INDEXES = "Global indexes", &["paimon/src/spec/index_manifest.rs"], &["tests/interop/test_paimon_tables.py"], Yes("not used"), No("not written");
    ROW_TRACKING_DATA_EVOLUTION = "Row tracking, data evolution", &["paimon/src/read/evolution.rs", "paimon/src/read/zip.rs"], &["row_tracking_*", "data_evolution*"], Yes(""), No("not written");
    BLOB_STORAGE = "Blob storage", &["paimon/src/read/blob.rs"], &["tests/behavior/test_blobs.py"], Yes("bytes, descriptors; descriptor fields and views refused"), No("not written");
    EXTERNAL_DATA_PATHS = "External data paths", &["paimon/src/context/split.rs", "paimon/src/write/external.rs"], &["append_external_path", "tests/behavior/test_paimon_external_paths.py"], Yes("where confinement allows"), Yes("where confinement allows");
    STATISTICS_FILES = "Statistics files", &[], &["statistics"], Yes("listed, not used"), No("not written");
    FORMAT_TABLES = "Format tables", &["python/frazil/paimon/_format_*.py", "python/frazil/paimon/_text_*.py"], &["format_*", "tests/interop/test_java_format_tables.py"], Yes("CSV, JSON, TEXT, Parquet, ORC, Avro"), Yes("CSV, JSON, TEXT, Parquet, ORC, Avro");
    OBJECT_TABLES = "Object tables", &["python/frazil/paimon/_object_table.py"], &["tests/catalog/test_paimon_golden.py", "tests/interop/test_java_format_tables.py"], Yes(""), No("created in catalogs; read-only");
    MATERIALIZED_TABLES = "Materialized tables", &["python/frazil/paimon/_table.py"], &["materialized_options"], Yes("as any table"), No("not written");
    CATALOGS = "Catalogs", &["python/frazil/catalog/_paimon*.py"], &["tests/catalog/test_paimon.py", "tests/catalog/test_paimon_jdbc.py"], Yes("file system, JDBC"), Yes("file system, JDBC");
    SYSTEM_TABLES = "System tables", &["paimon/src/inspect/mod.rs", "paimon/src/context/mod.rs", "paimon/src/read/images.rs"], &["cl_*", "pk_levels_*", "row_tracking_*", "tags_pk"], Yes(""), No("only read");
    VIEWS_FUNCTIONS_CHAIN_TABLES_QUERY_AUTHORIZATION = "Views, functions, chain tables, query authorization", &[], &["tests/behavior/test_paimon_errors.py"], No("not read"), No("not written");
}

/// Options that change the rows of a read when they are `true`.
const REFUSED_WHEN_TRUE: &[(&str, &str)] = &[
    ("chain-table.enabled", "chain tables are not supported"),
    ("pk-clustering-override", "files that are not sorted by their primary key cannot be merged"),
    ("query-auth.enabled", "the rows and columns that may be read are known only to the catalog"),
    ("scan.ignore-corrupt-files", "frazil never skips corrupt files silently"),
    ("scan.ignore-lost-files", "frazil never skips lost files silently"),
    ("sequence.snapshot-ordering", "rows of one key are ordered only by their sequence numbers"),
];

/// Options that change the rows of a read when they are set to any value.
const REFUSED_WHEN_GIVEN: &[(&str, &str)] = &[
    ("blob-descriptor-field", "blobs that are stored as descriptors cannot be read"),
    ("blob.stored-descriptor-fields", "blobs that are stored as descriptors cannot be read"),
    ("blob-view-field", "blobs that are stored in another table cannot be read"),
    ("scan.fallback-snapshot-branch", "chain tables are not supported"),
    ("scan.fallback-delta-branch", "chain tables are not supported"),
    ("scan.primary-branch", "reading a primary branch first is not supported"),
];

/// Options of which only some values are supported.
const KNOWN_VALUES: &[(&str, &[&str])] = &[
    ("bucket-function.type", &["default", "mod", "hive"]),
    ("changelog-producer", &["none", "input", "full-compaction", "lookup"]),
];

const MERGE_ENGINES: &[&str] = &["deduplicate", "partial-update", "aggregation", "first-row"];

const FILE_FORMATS: &[&str] = &["parquet", "orc", "avro"];

/// Rejects unsupported options and columns that change reading, before any row is read. `options` are those of the
/// schema, overridden by those of the scan. Unknown options are ignored.
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
        "format-table" => {
            Err(refused("type", &kind)
                .hint("open it with frazil.paimon.format_table, or with load_table of its catalog"))
        }
        "object-table" => {
            Err(refused("type", &kind)
                .hint("open it with frazil.paimon.object_table, or with load_table of its catalog"))
        }
        _ => Err(refused("type", &kind)),
    }
}

fn check_options(schema: &TableSchema, options: &Options) -> Result<()> {
    let of_table = Options::new(schema.options.clone());
    for (name, reason) in REFUSED_WHEN_TRUE {
        // A scan cannot disable what the table requires.
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
            return Err(refused(name, &value).hint(format!("supported values are {}", known.join(", "))));
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

/// Checks that keys in the options equal the keys of the schema, because keys in the options are otherwise ignored.
fn check_keys_in_options(schema: &TableSchema, options: &Options) -> Result<()> {
    for (name, keys) in [("primary-key", &schema.primary_keys), ("partition", &schema.partition_keys)] {
        if let Some(text) = options.text(name).filter(|_| !options.list(name).iter().eq(keys.iter())) {
            return Err(refused(name, text).hint("the schema has different keys"));
        }
    }
    Ok(())
}

fn check_columns(schema: &TableSchema) -> Result<()> {
    let reserved = |field: &&DataField| is_reserved(&field.name);
    if let Some(field) = schema.fields.iter().find(reserved) {
        return Err(Error::unsupported(format!("the column name `{}` is not supported", shown(&field.name)))
            .hint("Paimon reserves this name"));
    }
    let keys = || schema.partition_keys.iter().filter_map(|key| schema.field(key));
    // Java derives the folder names of such partitions from memory addresses.
    if let Some(field) = keys().find(|field| !is_simple(&field.data_type.root) || is_binary(&field.data_type.root)) {
        return Err(Error::unsupported(format!("partitioning by {} is not supported", field.data_type))
            .with("column", shown(&field.name)));
    }
    let is_blob = |field: &&DataField| field.data_type.root == TypeRoot::Blob;
    match schema.fields.iter().find(is_blob) {
        Some(field) if !schema.primary_keys.is_empty() => {
            Err(Error::unsupported("a BLOB column in a table with a primary key is not supported")
                .with("column", shown(&field.name)))
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

/// Returns the value of an option, trimmed and in lower case, for options with a fixed set of values.
fn value(options: &Options, name: &str) -> Option<String> {
    options.text(name).map(|text| text.trim().to_ascii_lowercase())
}

fn refused(name: &str, value: &str) -> Error {
    Error::unsupported(format!("the option `{name}` with the value `{}` is not supported", shown(value)))
}

#[cfg(test)]
#[path = "features_tests.rs"]
mod tests;
