//! What the properties of a table may say (Java: `TableProperties`). A bad value would fail every later write.

use frazil_core::error::{Error, Result};
use frazil_core::storage::options::is_option;

use crate::spec::name_mapping::NameMapping;
use crate::spec::schema::Schema;
use crate::spec::table_metadata::NAME_MAPPING_PROPERTY;
use crate::write::metrics_mode::MetricsMode;

/// The values that a property takes.
#[derive(Debug, Clone, Copy)]
enum Values {
    Boolean,
    /// A whole number, at least this one.
    Number(i64),
    /// Whatever the case.
    OneOf(&'static [&'static str]),
    MetricsMode,
}

use Values::{Boolean, Number, OneOf};

const FORMATS: Values = OneOf(&["parquet", "orc", "avro"]);
const MODES: Values = OneOf(&["copy-on-write", "merge-on-read"]);
const ISOLATION: Values = OneOf(&["serializable", "snapshot"]);
const DISTRIBUTION: Values = OneOf(&["none", "hash", "range"]);
const PARQUET_CODECS: Values = OneOf(&["zstd", "snappy", "gzip", "lz4", "lz4_raw", "brotli", "uncompressed"]);

const KNOWN: [(&str, Values); 57] = [
    ("commit.manifest-merge.enabled", Boolean),
    ("commit.manifest.min-count-to-merge", Number(0)),
    ("commit.manifest.target-size-bytes", Number(1)),
    ("commit.retry.max-wait-ms", Number(0)),
    ("commit.retry.min-wait-ms", Number(0)),
    ("commit.retry.num-retries", Number(0)),
    ("commit.retry.total-timeout-ms", Number(0)),
    ("commit.status-check.max-wait-ms", Number(0)),
    ("commit.status-check.min-wait-ms", Number(0)),
    ("commit.status-check.num-retries", Number(0)),
    ("commit.status-check.total-timeout-ms", Number(0)),
    ("compatibility.snapshot-id-inheritance.enabled", Boolean),
    ("gc.enabled", Boolean),
    ("history.expire.max-ref-age-ms", Number(1)),
    ("history.expire.max-snapshot-age-ms", Number(1)),
    ("history.expire.min-snapshots-to-keep", Number(1)),
    ("read.orc.vectorization.enabled", Boolean),
    ("read.parquet.vectorization.enabled", Boolean),
    ("read.split.metadata-target-size", Number(1)),
    ("read.split.open-file-cost", Number(0)),
    ("read.split.planning-lookback", Number(1)),
    ("read.split.target-size", Number(1)),
    ("write.delete.distribution-mode", DISTRIBUTION),
    ("write.delete.format.default", FORMATS),
    ("write.delete.granularity", OneOf(&["file", "partition"])),
    ("write.delete.isolation-level", ISOLATION),
    ("write.delete.mode", MODES),
    ("write.delete.target-file-size-bytes", Number(1)),
    ("write.distribution-mode", DISTRIBUTION),
    ("write.format.default", FORMATS),
    ("write.manifest-lists.enabled", Boolean),
    ("write.merge.distribution-mode", DISTRIBUTION),
    ("write.merge.isolation-level", ISOLATION),
    ("write.merge.mode", MODES),
    ("write.metadata.compression-codec", OneOf(&["none", "gzip"])),
    ("write.metadata.delete-after-commit.enabled", Boolean),
    ("write.metadata.metrics.default", Values::MetricsMode),
    ("write.metadata.metrics.max-inferred-column-defaults", Number(0)),
    ("write.metadata.previous-versions-max", Number(0)),
    ("write.object-storage.enabled", Boolean),
    ("write.object-storage.partitioned-paths", Boolean),
    ("write.parquet.bloom-filter-max-bytes", Number(1)),
    ("write.parquet.compression-codec", PARQUET_CODECS),
    ("write.parquet.compression-level", Number(i64::MIN)),
    ("write.parquet.dict-size-bytes", Number(1)),
    ("write.parquet.page-row-limit", Number(1)),
    ("write.parquet.page-size-bytes", Number(1)),
    ("write.parquet.row-group-size-bytes", Number(1)),
    ("write.spark.accept-any-schema", Boolean),
    ("write.spark.fanout.enabled", Boolean),
    ("write.summary.partition-limit", Number(0)),
    ("write.target-file-size-bytes", Number(1)),
    ("write.update.distribution-mode", DISTRIBUTION),
    ("write.update.isolation-level", ISOLATION),
    ("write.update.mode", MODES),
    ("write.wap.enabled", Boolean),
    ("write.parquet.shred-variants", Boolean),
];

/// Properties of columns: what stands before the column's name.
const OF_COLUMNS: [(&str, Values); 3] = [
    ("write.metadata.metrics.column.", Values::MetricsMode),
    ("write.parquet.bloom-filter-enabled.column.", Boolean),
    ("write.parquet.stats-enabled.column.", Boolean),
];

/// What options of other libraries' storage begin with; they hold credentials too.
const STORAGE_OF_OTHERS: [&str; 5] = ["fs.", "hadoop.", "spark.hadoop.", "oss.", "hdfs."];

/// Rejects options of the storage: whoever can read the table would read its credentials.
fn reject_storage_option(key: &str) -> Result<()> {
    let lower = key.to_ascii_lowercase();
    if !is_option(&lower) && !STORAGE_OF_OTHERS.iter().any(|prefix| lower.starts_with(prefix)) {
        return Ok(());
    }
    Err(Error::invalid(format!("`{key}` is an option of the storage, not a property of the table")).hint(
        "pass it as storage={...} to load_table or create_table, or to load_catalog; it is not written to the table",
    ))
}

/// Refuses a value that the property does not take; any value goes for properties that are not known.
///
/// # Errors
/// `InvalidArgument` saying what is expected; for options of the storage.
pub(in crate::transaction) fn check(key: &str, value: &str, schema: &Schema) -> Result<()> {
    reject_storage_option(key)?;
    if key == NAME_MAPPING_PROPERTY {
        return NameMapping::from_json(value).map(drop).map_err(|e| Error::invalid(e.message()));
    }
    for (prefix, values) in OF_COLUMNS {
        if let Some(column) = key.strip_prefix(prefix) {
            schema.find(column, true)?.ok_or_else(|| schema.no_such_column(column))?;
            return takes(values, key, value);
        }
    }
    KNOWN.iter().find(|(known, _)| *known == key).map_or(Ok(()), |(_, values)| takes(*values, key, value))
}

fn takes(values: Values, key: &str, value: &str) -> Result<()> {
    let is_taken = match values {
        Boolean => ["true", "false"].iter().any(|text| value.eq_ignore_ascii_case(text)),
        Number(least) => value.parse::<i64>().is_ok_and(|number| number >= least),
        OneOf(texts) => texts.iter().any(|text| value.eq_ignore_ascii_case(text)),
        Values::MetricsMode => return value.parse::<MetricsMode>().map(drop),
    };
    if is_taken {
        return Ok(());
    }
    let expected = match values {
        Number(i64::MIN) => "a whole number".to_string(),
        Number(least) => format!("a whole number from {least} on"),
        OneOf(texts) => texts.join(", "),
        Boolean | Values::MetricsMode => "true or false".to_string(),
    };
    Err(Error::invalid(format!("`{key}` does not take `{value}`")).hint(format!("it takes {expected}")))
}
