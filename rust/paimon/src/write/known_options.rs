//! Validates the values of options (Java's `CoreOptions`, `OrcOptions` and the options of its Parquet writer).
//!
//! Java parses an option when it is first needed, sometimes only in the middle of a write: a table with an invalid
//! value can be created but not written. Here all values are validated before a table is created and before it is
//! written. Unknown options may have any value.

use frazil_core::error::{Error, Result};

use self::Kind::{
    Boolean, Count, Duration, FileName, Integer, Levels, Long, Number, OneOf, Size, StatsMode, StatsModes,
};
use super::stats::Mode;
use crate::spec::json::shown;
use crate::spec::options::Options;

/// The type of the value of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// `true` or `false`, case-insensitive.
    Boolean,
    /// A 32-bit integer.
    Integer,
    /// A 32-bit integer that is at least 1.
    Count,
    /// A 64-bit integer.
    Long,
    /// A number with an optional fraction.
    Number,
    /// A size such as `128 mb`.
    Size,
    /// A duration such as `10 s`.
    Duration,
    /// One of several words, case-insensitive.
    OneOf(&'static [&'static str]),
    /// A statistics mode of a column: `truncate(16)`.
    StatsMode,
    /// A statistics mode for each level: `0:none,1:full`.
    StatsModes,
    /// A value for each level: `0:avro,3:orc`.
    Levels,
    /// The prefix of a file name.
    FileName,
}

/// Options with the types of their values, sorted by name.
const KNOWN: &[(&str, Kind)] = &[
    ("aggregation.remove-record-on-delete", Boolean),
    ("async-file-write", Boolean),
    ("auto-create", Boolean),
    ("batch-scan-mode", OneOf(&["none", "compact"])),
    ("blob-as-descriptor", Boolean),
    ("blob.split-by-file-size", Boolean),
    ("blob.target-file-size", Size),
    ("bucket", Integer),
    ("bucket-append-ordered", Boolean),
    ("bucket-function.type", OneOf(&["default", "mod", "hive"])),
    ("cache-page-size", Size),
    ("chain-table.enabled", Boolean),
    ("changelog-file.prefix", FileName),
    ("changelog-file.stats-mode", StatsMode),
    ("changelog-producer", OneOf(&["none", "input", "full-compaction", "lookup"])),
    ("changelog-producer.lookup-wait", Boolean),
    ("changelog-producer.row-deduplicate", Boolean),
    ("changelog.num-retained.max", Integer),
    ("changelog.num-retained.min", Count),
    ("changelog.time-retained", Duration),
    ("clustering.history-partition.idle-to-full-sort", Duration),
    ("clustering.history-partition.limit", Integer),
    ("clustering.incremental", Boolean),
    ("clustering.incremental.mode", OneOf(&["global-sort", "local-sort"])),
    ("clustering.incremental.optimize-write", Boolean),
    ("commit.discard-duplicate-files", Boolean),
    ("commit.force-compact", Boolean),
    ("commit.force-create-snapshot", Boolean),
    ("commit.max-retries", Integer),
    ("commit.max-retry-wait", Duration),
    ("commit.min-retry-wait", Duration),
    ("commit.timeout", Duration),
    ("compaction.delete-ratio-threshold", Number),
    ("compaction.file-num-limit", Integer),
    ("compaction.force-rewrite-all-files", Boolean),
    ("compaction.force-up-level-0", Boolean),
    ("compaction.incremental-size-threshold", Size),
    ("compaction.max-size-amplification-percent", Integer),
    ("compaction.min.file-num", Integer),
    ("compaction.offpeak-ratio", Integer),
    ("compaction.offpeak.end.hour", Integer),
    ("compaction.offpeak.start.hour", Integer),
    ("compaction.optimization-interval", Duration),
    ("compaction.size-ratio", Integer),
    ("compaction.total-size-threshold", Size),
    ("consumer.changelog-only", Boolean),
    ("consumer.expiration-time", Duration),
    ("consumer.ignore-progress", Boolean),
    ("consumer.mode", OneOf(&["exactly-once", "at-least-once"])),
    ("continuous.discovery-interval", Duration),
    ("cross-partition-upsert.bootstrap-parallelism", Integer),
    ("cross-partition-upsert.index-ttl", Duration),
    ("data-evolution.enabled", Boolean),
    (
        "data-file.external-paths.strategy",
        OneOf(&["none", "specific-fs", "round-robin", "entropy-inject", "weight-robin"]),
    ),
    ("data-file.prefix", FileName),
    ("data-file.thin-mode", Boolean),
    ("deduplicate.ignore-delete", Boolean),
    ("delete-file.thread-num", Integer),
    ("delete.force-produce-changelog", Boolean),
    ("deletion-vector.index-file.target-size", Size),
    ("deletion-vectors.bitmap64", Boolean),
    ("deletion-vectors.enabled", Boolean),
    ("deletion-vectors.modifiable", Boolean),
    ("dynamic-bucket.assigner-parallelism", Integer),
    ("dynamic-bucket.initial-buckets", Integer),
    ("dynamic-bucket.max-buckets", Integer),
    ("dynamic-bucket.target-row-num", Long),
    ("dynamic-partition-overwrite", Boolean),
    ("end-input.check-partition-expire", Boolean),
    ("file-index.in-manifest-threshold", Size),
    ("file-index.read.enabled", Boolean),
    ("file-operation.thread-num", Integer),
    ("file-reader-async-threshold", Size),
    ("file.block-size", Size),
    ("file.compression.per.level", Levels),
    ("file.compression.zstd-level", Integer),
    ("file.format.per.level", Levels),
    ("file.suffix.include.compression", Boolean),
    ("first-row.ignore-delete", Boolean),
    ("force-lookup", Boolean),
    ("format-table.implementation", OneOf(&["paimon", "engine"])),
    ("full-compaction.delta-commits", Integer),
    ("global-index.build.max-parallelism", Integer),
    ("global-index.build.max-shard", Integer),
    ("global-index.column-update-action", OneOf(&["throw_error", "drop_partition_index"])),
    ("global-index.enabled", Boolean),
    ("global-index.row-count-per-shard", Long),
    ("global-index.thread-num", Integer),
    ("ignore-delete", Boolean),
    ("ignore-update-before", Boolean),
    ("incremental-between-scan-mode", OneOf(&["auto", "delta", "changelog", "diff"])),
    ("incremental-between-tag-to-snapshot", Boolean),
    ("index-file-in-data-file-dir", Boolean),
    ("key-value.sequence_number.enabled", Boolean),
    ("local-merge-buffer-size", Size),
    ("local-sort.max-num-file-handles", Integer),
    ("log.scan.timestamp-millis", Long),
    ("lookup-compact", OneOf(&["radical", "gentle"])),
    ("lookup-compact.max-interval", Integer),
    ("lookup-wait", Boolean),
    ("lookup.cache-file-retention", Duration),
    ("lookup.cache-max-disk-size", Size),
    ("lookup.cache-max-memory-size", Size),
    ("lookup.cache.bloom.filter.enabled", Boolean),
    ("lookup.cache.bloom.filter.fpp", Number),
    ("lookup.cache.high-priority-pool-ratio", Number),
    ("lookup.hash-load-factor", Number),
    ("lookup.merge-buffer-size", Size),
    ("lookup.merge-records-threshold", Integer),
    ("lookup.remote-file.enabled", Boolean),
    ("lookup.remote-file.level-threshold", Integer),
    ("manifest.delete-file-drop-stats", Boolean),
    ("manifest.full-compaction-threshold-size", Size),
    ("manifest.merge-min-count", Integer),
    ("manifest.target-file-size", Size),
    ("materialized-table.interval-freshness.time-unit", OneOf(&["second", "minute", "hour", "day"])),
    ("materialized-table.logical-refresh-mode", OneOf(&["continuous", "full", "automatic"])),
    ("materialized-table.refresh-mode", OneOf(&["continuous", "full", "automatic"])),
    ("materialized-table.refresh-status", OneOf(&["initializing", "activated", "suspended"])),
    ("merge-engine", OneOf(&["deduplicate", "partial-update", "aggregation", "first-row"])),
    ("metadata.stats-dense-store", Boolean),
    ("metadata.stats-keep-first-n-columns", Integer),
    ("metadata.stats-mode", StatsMode),
    ("metadata.stats-mode.per.level", StatsModes),
    ("metastore.partitioned-table", Boolean),
    ("metastore.tag-to-partition.preview", OneOf(&["none", "process-time", "watermark", "batch"])),
    ("num-levels", Integer),
    ("num-sorted-run.compaction-trigger", Integer),
    ("num-sorted-run.stop-trigger", Integer),
    ("orc.block.size", Long),
    ("orc.compress.size", Long),
    ("orc.dictionary.key.threshold", Number),
    ("orc.row.index.stride", Long),
    ("orc.stripe.size", Long),
    ("orc.timestamp-ltz.legacy.type", Boolean),
    ("orc.write.batch-size", Integer),
    ("overwrite-upgrade", Boolean),
    ("page-size", Size),
    ("parquet.block.size", Long),
    ("parquet.dictionary.page.size", Integer),
    ("parquet.page.row.count.limit", Integer),
    ("parquet.page.size", Integer),
    ("parquet.writer.max-padding", Integer),
    ("parquet.writer.version", OneOf(&["v1", "v2", "parquet_1_0", "parquet_2_0"])),
    ("partial-update.ignore-delete", Boolean),
    ("partial-update.remove-record-on-delete", Boolean),
    ("partition.expiration-batch-size", Integer),
    ("partition.expiration-check-interval", Duration),
    ("partition.expiration-max-num", Integer),
    ("partition.expiration-time", Duration),
    ("partition.idle-time-to-report-statistic", Duration),
    ("partition.legacy-name", Boolean),
    ("partition.sink-strategy", OneOf(&["none", "hash"])),
    ("partition.timestamp-format.strict", Boolean),
    ("pk-clustering-override", Boolean),
    ("postpone.batch-write-fixed-bucket", Boolean),
    ("postpone.batch-write-fixed-bucket.max-parallelism", Integer),
    ("postpone.default-bucket-num", Integer),
    ("query-auth.enabled", Boolean),
    ("read.batch-size", Integer),
    ("record-level.expire-time", Duration),
    ("row-tracking.enabled", Boolean),
    ("scan.bounded.watermark", Long),
    ("scan.creation-time-millis", Long),
    ("scan.file-creation-time-millis", Long),
    ("scan.ignore-corrupt-files", Boolean),
    ("scan.ignore-lost-files", Boolean),
    ("scan.manifest.parallelism", Integer),
    ("scan.max-splits-per-task", Integer),
    (
        "scan.mode",
        OneOf(&[
            "default",
            "latest-full",
            "full",
            "latest",
            "compacted-full",
            "from-timestamp",
            "from-creation-timestamp",
            "from-file-creation-time",
            "from-snapshot",
            "from-snapshot-full",
            "incremental",
        ]),
    ),
    ("scan.plan-sort-partition", Boolean),
    ("scan.snapshot-id", Long),
    ("scan.timestamp-millis", Long),
    ("scan.watermark", Long),
    ("sequence.field.sort-order", OneOf(&["ascending", "descending"])),
    ("snapshot.clean-empty-directories", Boolean),
    ("snapshot.expire.clean-empty-directories", Boolean),
    ("snapshot.expire.execution-mode", OneOf(&["sync", "async"])),
    ("snapshot.expire.limit", Integer),
    ("snapshot.ignore-empty-commit", Boolean),
    ("snapshot.num-retained.max", Integer),
    ("snapshot.num-retained.min", Count),
    ("snapshot.time-retained", Duration),
    ("snapshot.watermark-idle-timeout", Duration),
    ("sort-compaction.local-sample.magnification", Integer),
    ("sort-compaction.range-strategy", OneOf(&["size", "quantity"])),
    ("sort-engine", OneOf(&["min-heap", "loser-tree"])),
    ("sort-spill-buffer-size", Size),
    ("sort-spill-threshold", Integer),
    ("source.split.open-file-cost", Size),
    ("source.split.target-size", Size),
    ("spill-compression.zstd-level", Integer),
    ("stream-scan-mode", OneOf(&["none", "compact-bucket-table", "file-monitor"])),
    ("streaming-read-append-overwrite", Boolean),
    ("streaming-read-overwrite", Boolean),
    ("streaming.read.snapshot.delay", Duration),
    ("table-read.sequence-number.enabled", Boolean),
    ("tag.automatic-completion", Boolean),
    ("tag.automatic-creation", OneOf(&["none", "process-time", "watermark", "batch"])),
    ("tag.create-success-file", Boolean),
    ("tag.creation-delay", Duration),
    ("tag.creation-period", OneOf(&["daily", "hourly", "two-hours"])),
    ("tag.creation-period-duration", Duration),
    ("tag.default-time-retained", Duration),
    ("tag.num-retained-max", Integer),
    ("tag.period-formatter", OneOf(&["with_dashes", "without_dashes", "without_dashes_and_spaces"])),
    ("tag.time-expire-enabled", Boolean),
    ("target-file-size", Size),
    ("type", OneOf(&["table", "format-table", "materialized-table", "object-table", "lance-table", "iceberg-table"])),
    ("variant.inferShreddingSchema", Boolean),
    ("variant.shredding.maxInferBufferRow", Integer),
    ("variant.shredding.maxSchemaDepth", Integer),
    ("variant.shredding.maxSchemaWidth", Integer),
    ("variant.shredding.minFieldCardinalityRatio", Number),
    ("vector.target-file-size", Size),
    ("visibility-callback.check-interval", Duration),
    ("visibility-callback.enabled", Boolean),
    ("visibility-callback.timeout", Duration),
    ("write-buffer-for-append", Boolean),
    ("write-buffer-size", Size),
    ("write-buffer-spill.max-disk-size", Size),
    ("write-buffer-spillable", Boolean),
    ("write-max-writers-to-spill", Integer),
    ("write-only", Boolean),
    ("write.batch-memory", Size),
    ("write.batch-size", Integer),
    ("write.compaction-skip", Boolean),
    ("zorder.var-length-contribution", Integer),
];

/// The options `fields.<column>.<name>`.
const OF_COLUMNS: &[(&str, Kind)] =
    &[("count-limit", Integer), ("distinct", Boolean), ("ignore-retract", Boolean), ("stats-mode", StatsMode)];

/// Rejects options with values that Java cannot parse.
///
/// # Errors
/// `InvalidArgument` naming the option, its value, and the expected form.
pub(super) fn check_values(options: &Options) -> Result<()> {
    for (name, text) in options.all() {
        let Some(kind) = kind_of(name) else { continue };
        if !kind.accepts(options, name, text)? {
            let message = format!("the option `{name}` is `{}`, expected {}", shown(text), kind.expected());
            return Err(Error::invalid(message));
        }
    }
    Ok(())
}

fn kind_of(name: &str) -> Option<Kind> {
    let find = |table: &[(&str, Kind)], name: &str| {
        table.binary_search_by_key(&name, |(known, _)| known).ok().and_then(|at| table.get(at)).map(|(_, kind)| *kind)
    };
    match name.strip_prefix("fields.").and_then(|rest| rest.rsplit_once('.')) {
        Some((_, name)) => find(OF_COLUMNS, name),
        None => find(KNOWN, name),
    }
}

impl Kind {
    /// Returns whether an option of this type accepts a value.
    ///
    /// # Errors
    /// `InvalidArgument` if a parser reports a problem.
    fn accepts(self, options: &Options, name: &str, text: &str) -> Result<bool> {
        Ok(match self {
            Boolean => is_one_of(text, &["true", "false"]),
            Integer => text.parse::<i32>().is_ok(),
            Count => text.parse::<i32>().is_ok_and(|number| number >= 1),
            Long => text.parse::<i64>().is_ok(),
            Number => text.trim().parse::<f64>().is_ok_and(f64::is_finite),
            Size => options.size_bytes(name)?.is_some(),
            Duration => options.duration(name)?.is_some(),
            OneOf(words) => is_one_of(text, words),
            StatsMode => Mode::parse(name, text).map(|_| true)?,
            StatsModes => levels(text, |value| Mode::parse(name, value).is_ok()),
            Levels => levels(text, |value| !value.is_empty()),
            FileName => !text.contains(|c: char| matches!(c, '/' | '\\' | ':') || c.is_control()),
        })
    }

    fn expected(self) -> String {
        match self {
            Boolean => "true or false".to_string(),
            Integer => "a 32-bit integer".to_string(),
            Count => "an integer that is at least 1".to_string(),
            Long => "a 64-bit integer".to_string(),
            Number => "a number".to_string(),
            Size => "a size such as 128 mb".to_string(),
            Duration => "a duration such as 10 s".to_string(),
            OneOf(words) => format!("one of {}", words.join(", ")),
            StatsMode => "a statistics mode".to_string(),
            StatsModes => "levels with statistics modes, such as 0:none,1:full".to_string(),
            Levels => "levels with their values, such as 0:avro,5:parquet".to_string(),
            FileName => "the prefix of a file name, without `/`, `\\`, `:` and control characters".to_string(),
        }
    }
}

fn is_one_of(text: &str, words: &[&str]) -> bool {
    words.iter().any(|word| word.eq_ignore_ascii_case(text))
}

/// Returns whether a string has a value for each of several distinct levels.
fn levels(text: &str, is_value: impl Fn(&str) -> bool) -> bool {
    let mut seen = Vec::new();
    let entries = text.split(',').map(str::trim).filter(|entry| !entry.is_empty());
    entries.into_iter().all(|entry| {
        let parts = entry.split_once(':').map(|(level, value)| (level.trim().parse::<i32>(), value.trim()));
        let Some((Ok(level), value)) = parts else { return false };
        let is_new = !seen.contains(&level);
        seen.push(level);
        is_new && !value.contains(':') && is_value(value)
    })
}

#[cfg(test)]
mod tests {
    use frazil_core::error::ErrorKind;

    use super::*;

    fn checked(name: &str, value: &str) -> Result<()> {
        check_values(&Options::new([(name.to_string(), value.to_string())].into()))
    }

    #[test]
    fn names_are_sorted() {
        for table in [KNOWN, OF_COLUMNS] {
            assert!(table.iter().map(|(name, _)| name).is_sorted_by(|a, b| a < b));
        }
    }

    #[test]
    fn values_are_those_that_java_parses() {
        for (name, accepted, refused) in [
            ("write-only", vec!["true", "FALSE"], vec!["yes", "", " true", "1"]),
            ("num-levels", vec!["3", "+3"], vec!["x", "", " 3", "3.0", "2147483648"]),
            ("snapshot.num-retained.min", vec!["1"], vec!["0", "-1", "many"]),
            ("scan.snapshot-id", vec!["9223372036854775807"], vec!["9223372036854775808", "a"]),
            ("compaction.delete-ratio-threshold", vec!["0.2", "1", "1e-3"], vec!["x", "", "NaN", "0,2"]),
            ("write-buffer-size", vec!["256 mb", "1", " 1GB "], vec!["lots", "", "-1", "1.5 mb", "9000000 tb"]),
            ("snapshot.time-retained", vec!["1 h", "5", "2DAYS"], vec!["soon", "", "-1 s", "1 week"]),
            ("merge-engine", vec!["Deduplicate", "first-row"], vec!["mine", "", "first_row"]),
            ("metadata.stats-mode", vec!["none", "FULL", "truncate(1)"], vec!["truncate(0)", "truncate(-1)", "most"]),
            ("changelog-file.stats-mode", vec!["counts"], vec!["truncate(0)", "truncate()"]),
            ("fields.a.b.stats-mode", vec!["counts"], vec!["truncate(99999999999)"]),
            ("fields.a.ignore-retract", vec!["True"], vec!["perhaps"]),
            ("fields.a,b.sequence-group", vec!["anything"], vec![]),
            (
                "metadata.stats-mode.per.level",
                vec!["0:none, 1:full", ""],
                vec!["none", "x:none", "0:most", "0:full,0:full"],
            ),
            ("file.format.per.level", vec!["0:avro,3 : orc"], vec!["avro", "a:avro", "0:avro:orc", "0:"]),
            ("data-file.prefix", vec!["data-", "", "ü %"], vec!["a/b-", "/", "a:b", "a\\b", "a\nb", "../"]),
            ("changelog-file.prefix", vec!["c-"], vec!["c/d"]),
            ("parquet.page.size", vec!["1024"], vec!["x", "1 kb"]),
            ("no-such-option", vec!["anything", ""], vec![]),
            ("owner", vec!["x/y"], vec![]),
        ] {
            for value in accepted {
                checked(name, value).unwrap_or_else(|error| panic!("{name} = {value}: {error}"));
            }
            for value in refused {
                let error = checked(name, value).expect_err(&format!("{name} = {value}"));
                assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{name} = {value}: {error}");
                assert!(error.to_string().contains(&format!("`{name}`")), "{error}");
            }
        }
    }
}
