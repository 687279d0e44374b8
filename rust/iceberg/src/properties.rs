//! Table properties (Java: `TableProperties`): their keys, values and defaults. Checks, writers, the Python package and
//! the documentation page all use this list.

use std::str::FromStr;

use frazil_core::error::{Error, Result};

/// A table property.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Property {
    /// The key; with [`Scope::Column`], the part before the column name.
    pub key: &'static str,
    /// Whether the key ends with a column name.
    pub scope: Scope,
    /// The values that the property accepts.
    pub values: Values,
    /// The default value; empty if there is none.
    pub default: &'static str,
    /// Whether this library or other engines use the property.
    pub effect: Effect,
    /// A description in one sentence.
    pub doc: &'static str,
}

/// The scope of a property.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The whole table.
    Table,
    /// One column, whose name follows the key.
    Column,
}

/// The values that a property accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Values {
    /// `true` or `false`, in any case.
    Boolean,
    /// An integer of at least this value.
    Number(i64),
    /// A number above 0 and below 1.
    Fraction,
    /// One of these values, in any case.
    OneOf(&'static [&'static str]),
    /// `none`, `counts`, `full` or `truncate(n)`.
    MetricsMode,
    /// Any string.
    Text,
}

/// The user of a property.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Used by this library.
    Used,
    /// Used by other engines; this library checks the value and keeps it.
    Kept,
}

use Effect::{Kept, Used};
use Values::{Boolean, Fraction, Number, OneOf, Text};

const FORMATS: Values = OneOf(&["parquet", "orc", "avro"]);
const MODES: Values = OneOf(&["copy-on-write", "merge-on-read"]);
const ISOLATION: Values = OneOf(&["serializable", "snapshot"]);
const DISTRIBUTION: Values = OneOf(&["none", "hash", "range"]);
const PARQUET_CODECS: Values = OneOf(&["zstd", "snappy", "gzip", "lz4", "lz4_raw", "brotli", "uncompressed"]);
const ORC_CODECS: Values = OneOf(&["none", "zlib", "snappy", "lz4", "zstd", "lzo"]);
const AVRO_CODECS: Values = OneOf(&["uncompressed", "gzip", "snappy", "zstd"]);

macro_rules! properties {
    ($($name:ident = $key:literal $scope:ident $values:expr, $default:literal, $effect:ident, $doc:literal;)*) => {
        $(pub(crate) const $name: Property = Property {
            key: $key, scope: Scope::$scope, values: $values, default: $default, effect: $effect, doc: $doc,
        };)*

        /// All properties, in the order of their keys.
        pub const PROPERTIES: &[Property] = &[$($name),*];
    };
}

properties! {
    MANIFEST_MERGE_ENABLED = "commit.manifest-merge.enabled" Table Boolean, "true", Used, "Merge small manifests when a snapshot is committed.";
    MANIFEST_MIN_MERGE_COUNT = "commit.manifest.min-count-to-merge" Table Number(0), "100", Used, "Number of manifests from which small ones are merged.";
    MANIFEST_TARGET_BYTES = "commit.manifest.target-size-bytes" Table Number(1), "8388608", Used, "Size of a merged manifest in bytes.";
    RETRY_MAX_WAIT_MS = "commit.retry.max-wait-ms" Table Number(0), "60000", Used, "Longest wait before a commit is retried, in milliseconds.";
    RETRY_MIN_WAIT_MS = "commit.retry.min-wait-ms" Table Number(0), "100", Used, "Shortest wait before a commit is retried, in milliseconds.";
    RETRY_NUM_RETRIES = "commit.retry.num-retries" Table Number(0), "4", Used, "Number of times a commit is retried after a conflict.";
    RETRY_TOTAL_TIMEOUT_MS = "commit.retry.total-timeout-ms" Table Number(0), "1800000", Used, "Time after which a commit is not retried again, in milliseconds.";
    STATUS_CHECK_MAX_WAIT_MS = "commit.status-check.max-wait-ms" Table Number(0), "60000", Kept, "Longest wait before an unknown commit is checked again, in milliseconds.";
    STATUS_CHECK_MIN_WAIT_MS = "commit.status-check.min-wait-ms" Table Number(0), "1000", Kept, "Shortest wait before an unknown commit is checked again, in milliseconds.";
    STATUS_CHECK_NUM_RETRIES = "commit.status-check.num-retries" Table Number(0), "3", Kept, "Number of checks of an unknown commit.";
    STATUS_CHECK_TOTAL_TIMEOUT_MS = "commit.status-check.total-timeout-ms" Table Number(0), "1800000", Kept, "Time after which an unknown commit is not checked again, in milliseconds.";
    SNAPSHOT_ID_INHERITANCE = "compatibility.snapshot-id-inheritance.enabled" Table Boolean, "false", Kept, "Let manifests of format version 1 inherit snapshot ids.";
    ENCRYPTION_KEY_ID = "encryption.key-id" Table Text, "", Used, "Key of an encrypted table; such a table is not written.";
    FORMAT_VERSION = "format-version" Table Number(1), "", Kept, "Format version for Java's writers; `upgrade` changes that of a table.";
    GC_ENABLED = "gc.enabled" Table Boolean, "true", Used, "Allow deleting files of the table when it is purged or its metadata expires.";
    MAX_REF_AGE_MS = "history.expire.max-ref-age-ms" Table Number(1), "9223372036854775807", Used, "Age at which branches and tags expire, in milliseconds.";
    MAX_SNAPSHOT_AGE_MS = "history.expire.max-snapshot-age-ms" Table Number(1), "432000000", Used, "Age at which snapshots expire, in milliseconds.";
    MIN_SNAPSHOTS_TO_KEEP = "history.expire.min-snapshots-to-keep" Table Number(1), "1", Used, "Number of snapshots of a branch that never expire.";
    DATA_PLANNING_MODE = "read.data-planning-mode" Table OneOf(&["auto", "local", "distributed"]), "auto", Kept, "Where Spark plans data files.";
    DELETE_PLANNING_MODE = "read.delete-planning-mode" Table OneOf(&["auto", "local", "distributed"]), "auto", Kept, "Where Spark plans delete files.";
    READ_ORC_BATCH_ROWS = "read.orc.vectorization.batch-size" Table Number(1), "5000", Kept, "Number of rows in a batch that Java reads of ORC files.";
    READ_ORC_VECTORIZED = "read.orc.vectorization.enabled" Table Boolean, "false", Kept, "Let Java read batches of ORC files.";
    READ_PARQUET_BATCH_ROWS = "read.parquet.vectorization.batch-size" Table Number(1), "5000", Kept, "Number of rows in a batch that Java reads of Parquet files.";
    READ_PARQUET_VECTORIZED = "read.parquet.vectorization.enabled" Table Boolean, "true", Kept, "Let Java read batches of Parquet files.";
    SPLIT_ADAPTIVE = "read.split.adaptive-size.enabled" Table Boolean, "true", Kept, "Let Spark adapt the size of tasks to its parallelism.";
    SPLIT_METADATA_TARGET_BYTES = "read.split.metadata-target-size" Table Number(1), "33554432", Kept, "Size of a task that reads metadata, in bytes.";
    SPLIT_OPEN_FILE_COST = "read.split.open-file-cost" Table Number(0), "4194304", Used, "Minimum size in bytes that is assumed \
        for a file when tasks are packed.";
    SPLIT_PLANNING_LOOKBACK = "read.split.planning-lookback" Table Number(1), "10", Kept, "Number of bins that Java considers when it packs tasks.";
    SPLIT_TARGET_BYTES = "read.split.target-size" Table Number(1), "134217728", Used, "Size of a task, in bytes.";
    NAME_MAPPING = "schema.name-mapping.default" Table Text, "", Used, "JSON that maps column names to field ids, \
        for files without ids.";
    AVRO_CODEC = "write.avro.compression-codec" Table AVRO_CODECS, "gzip", Used, "Codec of Avro data files.";
    AVRO_LEVEL = "write.avro.compression-level" Table Number(i64::MIN), "", Used, "Level of the Avro codec.";
    DATA_PATH = "write.data.path" Table Text, "", Used, "Folder of new data files, `data` in the table unless it is set.";
    DELETE_AVRO_CODEC = "write.delete.avro.compression-codec" Table AVRO_CODECS, "", Kept, "Codec of Avro delete files.";
    DELETE_AVRO_LEVEL = "write.delete.avro.compression-level" Table Number(i64::MIN), "", Kept, "Level of the codec of Avro delete files.";
    DELETE_DISTRIBUTION = "write.delete.distribution-mode" Table DISTRIBUTION, "hash", Kept, "Distribution of rows that Spark's deletes write.";
    DELETE_FORMAT = "write.delete.format.default" Table FORMATS, "parquet", Kept, "Format of delete files.";
    DELETE_GRANULARITY = "write.delete.granularity" Table OneOf(&["file", "partition"]), "file", Used, "Whether a position delete file covers one data file or one partition.";
    DELETE_ISOLATION = "write.delete.isolation-level" Table ISOLATION, "serializable", Used, "Isolation level of deletes.";
    DELETE_MODE = "write.delete.mode" Table MODES, "copy-on-write", Used, "Whether deletes rewrite data files or write delete files.";
    DELETE_ORC_BLOCK_BYTES = "write.delete.orc.block-size-bytes" Table Number(1), "", Kept, "Size of a file system block of ORC delete files, in bytes.";
    DELETE_ORC_CODEC = "write.delete.orc.compression-codec" Table ORC_CODECS, "", Kept, "Codec of ORC delete files.";
    DELETE_ORC_STRATEGY = "write.delete.orc.compression-strategy" Table OneOf(&["speed", "compression"]), "", Kept, "Optimisation goal of the codec of ORC \
        delete files.";
    DELETE_ORC_STRIPE_BYTES = "write.delete.orc.stripe-size-bytes" Table Number(1), "", Kept, "Size of a stripe of ORC delete files, in bytes.";
    DELETE_ORC_BATCH_ROWS = "write.delete.orc.write-batch-size" Table Number(1), "", Kept, "Number of rows in a batch that Java writes to ORC delete files.";
    DELETE_PARQUET_CODEC = "write.delete.parquet.compression-codec" Table PARQUET_CODECS, "", Kept, "Codec of Parquet delete files.";
    DELETE_PARQUET_LEVEL = "write.delete.parquet.compression-level" Table Number(i64::MIN), "", Kept, "Level of the codec of Parquet delete files.";
    DELETE_PARQUET_DICT_BYTES = "write.delete.parquet.dict-size-bytes" Table Number(1), "", Kept, "Largest dictionary of a column of Parquet delete files, in bytes.";
    DELETE_PARQUET_PAGE_ROWS = "write.delete.parquet.page-row-limit" Table Number(1), "", Kept, "Largest number of rows in a page of Parquet delete files.";
    DELETE_PARQUET_PAGE_BYTES = "write.delete.parquet.page-size-bytes" Table Number(1), "", Kept, "Size of a page of Parquet delete files, in bytes.";
    DELETE_PARQUET_PAGE_VERSION = "write.delete.parquet.page-version" Table OneOf(&["v1", "v2"]), "", Kept, "Version of data pages of Parquet delete files.";
    DELETE_PARQUET_CHECK_MAX = "write.delete.parquet.row-group-check-max-record-count" Table Number(1), "", Kept, "Largest number of rows after which Java checks the size of a row group of delete files.";
    DELETE_PARQUET_CHECK_MIN = "write.delete.parquet.row-group-check-min-record-count" Table Number(1), "", Kept, "Smallest number of rows after which Java checks the size of a row group of delete files.";
    DELETE_PARQUET_GROUP_BYTES = "write.delete.parquet.row-group-size-bytes" Table Number(1), "", Kept, "Size of a row group of Parquet delete files, in bytes.";
    DELETE_TARGET_BYTES = "write.delete.target-file-size-bytes" Table Number(1), "67108864", Kept, "Size of a delete file, in bytes.";
    DISTRIBUTION_MODE = "write.distribution-mode" Table DISTRIBUTION, "", Used, "Distribution of rows that Spark writes.";
    FOLDER_STORAGE_PATH = "write.folder-storage.path" Table Text, "", Used, "Former name of `write.data.path`.";
    DEFAULT_FORMAT = "write.format.default" Table FORMATS, "parquet", Used, "Format of new data files.";
    LOCATION_PROVIDER = "write.location-provider.impl" Table Text, "", Used, "Java class that names data files; such a table is not written.";
    MANIFEST_LISTS_ENABLED = "write.manifest-lists.enabled" Table Boolean, "true", Kept, "Write manifest lists in format version 1.";
    MANIFEST_CODEC = "write.manifest.compression-codec" Table AVRO_CODECS, "gzip", Kept, "Codec of manifests; this library always \
        writes `gzip`.";
    MANIFEST_LEVEL = "write.manifest.compression-level" Table Number(i64::MIN), "", Kept, "Level of the codec of manifests.";
    MERGE_CARDINALITY_CHECK = "write.merge.cardinality-check.enabled" Table Boolean, "true", Kept, "Let Spark reject merges in which \
        several source rows match one row; this library always does.";
    MERGE_DISTRIBUTION = "write.merge.distribution-mode" Table DISTRIBUTION, "hash", Kept, "Distribution of rows that Spark's merges write.";
    MERGE_ISOLATION = "write.merge.isolation-level" Table ISOLATION, "serializable", Used, "Isolation level of merges.";
    MERGE_MODE = "write.merge.mode" Table MODES, "copy-on-write", Used, "Whether merges rewrite data files or write delete files.";
    METADATA_CODEC = "write.metadata.compression-codec" Table OneOf(&["none", "gzip"]), "none", Used, "Codec of metadata files.";
    METADATA_DELETE_AFTER_COMMIT = "write.metadata.delete-after-commit.enabled" Table Boolean, "false", Used, "Delete metadata files that are dropped \
        from the metadata log.";
    COLUMN_METRICS = "write.metadata.metrics.column." Column Values::MetricsMode, "", Used, "Metrics mode of the column, overriding \
        the default.";
    DEFAULT_METRICS = "write.metadata.metrics.default" Table Values::MetricsMode, "truncate(16)", Used, "Default metrics mode of columns in \
        manifests.";
    MAX_INFERRED_METRICS = "write.metadata.metrics.max-inferred-column-defaults" Table Number(0), "100", Used, "Number of columns that get metrics if `write.metadata.metrics.default` is not set.";
    METADATA_PATH = "write.metadata.path" Table Text, "", Used, "Folder of new metadata files, `metadata` in the table unless it is set.";
    METADATA_PREVIOUS_VERSIONS = "write.metadata.previous-versions-max" Table Number(0), "100", Used, "Number of older metadata files in the metadata log.";
    OBJECT_STORAGE_ENABLED = "write.object-storage.enabled" Table Boolean, "false", Used, "Spread data files over hashed folders.";
    OBJECT_STORAGE_PARTITIONED = "write.object-storage.partitioned-paths" Table Boolean, "true", Used, "Keep partition values in hashed locations.";
    OBJECT_STORAGE_PATH = "write.object-storage.path" Table Text, "", Used, "Former name of `write.data.path` for hashed locations.";
    ORC_BLOCK_BYTES = "write.orc.block-size-bytes" Table Number(1), "268435456", Kept, "Size of a file system block of ORC data files, in bytes.";
    ORC_BLOOM_COLUMNS = "write.orc.bloom.filter.columns" Table Text, "", Used, "Columns of ORC files with a Bloom filter, separated by commas.";
    ORC_BLOOM_FPP = "write.orc.bloom.filter.fpp" Table Fraction, "0.05", Used, "False positive rate of ORC Bloom filters.";
    ORC_CODEC = "write.orc.compression-codec" Table ORC_CODECS, "zlib", Used, "Codec of ORC data files; `lzo` is not written.";
    ORC_STRATEGY = "write.orc.compression-strategy" Table OneOf(&["speed", "compression"]), "speed", Used, "Optimisation goal of the ORC codec.";
    ORC_STRIPE_BYTES = "write.orc.stripe-size-bytes" Table Number(1), "67108864", Used, "Size of an ORC stripe, in bytes.";
    ORC_BATCH_ROWS = "write.orc.write-batch-size" Table Number(1), "1024", Kept, "Number of rows in a batch that Java writes to ORC data files.";
    PARQUET_BLOOM_ENABLED = "write.parquet.bloom-filter-enabled.column." Column Boolean, "false", Used, "Write a Bloom filter of the column.";
    PARQUET_BLOOM_FPP = "write.parquet.bloom-filter-fpp.column." Column Fraction, "0.01", Used, "False positive rate of the column's Bloom filter.";
    PARQUET_BLOOM_MAX_BYTES = "write.parquet.bloom-filter-max-bytes" Table Number(32), "1048576", Used, "Largest Bloom filter of a column, in bytes.";
    PARQUET_BLOOM_NDV = "write.parquet.bloom-filter-ndv.column." Column Number(1), "", Used, "Expected number of distinct values in \
        the column's Bloom filter.";
    PARQUET_CODEC = "write.parquet.compression-codec" Table PARQUET_CODECS, "zstd", Used, "Codec of Parquet data files.";
    PARQUET_LEVEL = "write.parquet.compression-level" Table Number(i64::MIN), "", Used, "Level of the Parquet codec.";
    PARQUET_DICT_BYTES = "write.parquet.dict-size-bytes" Table Number(1), "2097152", Used, "Largest dictionary of a column, in bytes.";
    PARQUET_PAGE_ROWS = "write.parquet.page-row-limit" Table Number(1), "20000", Used, "Largest number of rows in a page.";
    PARQUET_PAGE_BYTES = "write.parquet.page-size-bytes" Table Number(1), "1048576", Used, "Size of a page, in bytes.";
    PARQUET_PAGE_VERSION = "write.parquet.page-version" Table OneOf(&["v1", "v2"]), "v1", Used, "Version of data pages.";
    PARQUET_CHECK_MAX = "write.parquet.row-group-check-max-record-count" Table Number(1), "10000", Kept, "Largest number of rows after which Java checks the size of a row group.";
    PARQUET_CHECK_MIN = "write.parquet.row-group-check-min-record-count" Table Number(1), "100", Kept, "Smallest number of rows after which Java checks the size of a row group.";
    PARQUET_GROUP_ROWS = "write.parquet.row-group-limit" Table Number(1), "1048576", Kept, "Largest number of rows in a row group that PyIceberg writes.";
    PARQUET_GROUP_BYTES = "write.parquet.row-group-size-bytes" Table Number(1), "134217728", Used, "Size of a row group in memory, in bytes.";
    PARQUET_SHRED_VARIANTS = "write.parquet.shred-variants" Table Boolean, "false", Kept, "Shred variants; this library never \
        shreds them.";
    PARQUET_STATISTICS = "write.parquet.stats-enabled.column." Column Boolean, "true", Used, "Write statistics of the column into Parquet files.";
    PARQUET_VARIANT_ROWS = "write.parquet.variant-inference-buffer-size" Table Number(1), "100", Kept, "Number of rows from which Java infers how to shred variants.";
    PY_LOCATION_PROVIDER = "write.py-location-provider.impl" Table Text, "", Kept, "Python class that names data files in PyIceberg.";
    SPARK_ACCEPT_ANY_SCHEMA = "write.spark.accept-any-schema" Table Boolean, "false", Kept, "Let Spark write rows whose columns \
        differ from those of the table.";
    SPARK_PARTITION_BYTES = "write.spark.advisory-partition-size-bytes" Table Number(1), "", Kept, "Size of a partition of rows that Spark writes, in bytes.";
    SPARK_FANOUT = "write.spark.fanout.enabled" Table Boolean, "false", Kept, "Let Spark keep a file open for each partition.";
    SUMMARY_PARTITION_LIMIT = "write.summary.partition-limit" Table Number(0), "0", Kept, "Maximum number of partitions that are \
        described individually in a snapshot summary.";
    TARGET_FILE_BYTES = "write.target-file-size-bytes" Table Number(1), "536870912", Used, "Target size of a data file, in bytes.";
    UPDATE_DISTRIBUTION = "write.update.distribution-mode" Table DISTRIBUTION, "hash", Kept, "Distribution of rows that Spark's updates write.";
    UPDATE_ISOLATION = "write.update.isolation-level" Table ISOLATION, "serializable", Used, "Isolation level of updates.";
    UPDATE_MODE = "write.update.mode" Table MODES, "copy-on-write", Used, "Whether updates rewrite data files or write delete files.";
    UPSERT_ENABLED = "write.upsert.enabled" Table Boolean, "false", Kept, "Let Flink write rows as upserts.";
    WAP_ENABLED = "write.wap.enabled" Table Boolean, "false", Used, "Only stage snapshots that have a `wap.id`.";
}

/// Returns the property for a key, and the column name if the key has one.
pub fn find(key: &str) -> Option<(&'static Property, Option<&str>)> {
    PROPERTIES.iter().find_map(|property| match property.scope {
        Scope::Table => (property.key == key).then_some((property, None)),
        Scope::Column => key.strip_prefix(property.key).map(|column| (property, Some(column))),
    })
}

impl Property {
    /// Checks a value of the property.
    ///
    /// # Errors
    /// `InvalidArgument` with the accepted values.
    pub fn check(&self, value: &str) -> Result<()> {
        let is_taken = match self.values {
            Boolean => ["true", "false"].iter().any(|text| value.eq_ignore_ascii_case(text)),
            Number(least) => value.parse::<i64>().is_ok_and(|number| number >= least),
            Fraction => value.parse::<f64>().is_ok_and(|number| number > 0.0 && number < 1.0),
            OneOf(texts) => texts.iter().any(|text| value.eq_ignore_ascii_case(text)),
            Values::MetricsMode => return value.parse::<MetricsMode>().map(drop),
            Text => true,
        };
        if is_taken {
            return Ok(());
        }
        let message = format!("invalid value `{value}` for the table property `{}`", self.key);
        Err(Error::invalid(message).hint(format!("expected {}", self.values.describe())))
    }
}

impl Property {
    /// Parses a numeric value of the property.
    ///
    /// # Errors
    /// `InvalidArgument` if it is not an integer.
    pub(crate) fn parse(&self, text: &str) -> Result<u64> {
        text.trim().parse().map_err(|_| {
            let message = format!("the table property `{}` must be an integer, not `{text}`", self.key);
            Error::invalid(message).with("property", self.key)
        })
    }

    /// Returns the default of a numeric property.
    ///
    /// # Errors
    /// `InvalidArgument` if the default is not a number.
    pub(crate) fn number(&self) -> Result<u64> {
        self.parse(self.default)
    }
}

impl Values {
    /// Describes the accepted values for messages and the documentation.
    pub fn describe(self) -> String {
        match self {
            Boolean => "true or false".to_string(),
            Number(i64::MIN) => "an integer".to_string(),
            Number(least) => format!("an integer of at least {least}"),
            Fraction => "a number between 0 and 1".to_string(),
            OneOf(texts) => texts.join(", "),
            Values::MetricsMode => "none, counts, full or truncate(n)".to_string(),
            Text => "any string".to_string(),
        }
    }
}

/// The metrics of a column that are stored in manifests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricsMode {
    /// No metrics.
    None,
    /// Counts of values, NULLs and NaNs.
    Counts,
    /// Counts, and bounds that are truncated to this length.
    Truncate(u32),
    /// Counts, and untruncated bounds.
    Full,
}

impl FromStr for MetricsMode {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let lower = text.trim().to_ascii_lowercase();
        let length = || lower.strip_prefix("truncate(")?.strip_suffix(')')?.trim().parse().ok();
        match lower.as_str() {
            "none" => Ok(Self::None),
            "counts" => Ok(Self::Counts),
            "full" => Ok(Self::Full),
            _ => match length() {
                Some(length @ 1..) => Ok(Self::Truncate(length)),
                _ => Err(Error::invalid(format!("invalid metrics mode `{text}`"))
                    .hint("expected none, counts, truncate(length) or full")),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_are_sorted_and_take_their_defaults() {
        assert!(PROPERTIES.is_sorted_by(|a, b| a.key < b.key));
        for property in PROPERTIES.iter().filter(|property| !property.default.is_empty()) {
            property.check(property.default).unwrap();
        }
    }

    #[test]
    fn keys_of_columns_end_with_the_column() {
        assert_eq!(find("write.parquet.stats-enabled.column.a.b"), Some((&PARQUET_STATISTICS, Some("a.b"))));
        assert_eq!(find("gc.enabled"), Some((&GC_ENABLED, None)));
        assert_eq!(find("owner"), None);
    }

    #[test]
    fn values_that_a_property_does_not_take_are_refused_with_those_that_it_takes() {
        let refused = DELETE_MODE.check("mor").unwrap_err();
        assert_eq!(refused.hint_text(), Some("expected copy-on-write, merge-on-read"));
        for (property, value) in [(PARQUET_BLOOM_FPP, "1"), (GC_ENABLED, "yes"), (RETRY_NUM_RETRIES, "-1")] {
            assert!(property.check(value).is_err(), "{}", property.key);
        }
    }
}
