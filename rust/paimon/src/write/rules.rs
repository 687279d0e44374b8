//! Checks combinations of options (Java's `SchemaValidation`, and the checks at the start of its writers). Java cannot
//! open or write a table that breaks such a rule.

use frazil_core::error::{Error, ErrorKind, Result};

use crate::spec::json::shown;
use crate::spec::options::Options;
use crate::spec::partition_path::POSTPONED;
use crate::spec::schema::TableSchema;
use crate::spec::types::TypeRoot;
use crate::table::SnapshotChoice;

/// Options that may be `true` only for tables with a primary key.
const NEED_KEYS: &[&str] = &["streaming-read-overwrite", "table-read.sequence-number.enabled"];

/// The minimum number of pages of a buffer in which Java sorts the rows of a write.
const LEAST_PAGES: u64 = 3;

/// Rejects options that contradict each other, or the columns and keys of the table.
///
/// # Errors
/// `InvalidArgument` naming the options.
pub(super) fn check_rules(schema: &TableSchema, options: &Options) -> Result<()> {
    check_named_columns(schema, options)?;
    check_single_columns(schema, options)?;
    check_sequence(schema, options)?;
    check_moving_keys(schema, options)?;
    check_retained(options)?;
    check_scan(options)?;
    check_directory(options)?;
    if schema.partition_keys.is_empty() && options.text("partition.expiration-time").is_some() {
        return Err(Error::invalid("the option `partition.expiration-time` is set on a table without partitions")
            .hint("remove it, or create the table with partition keys"));
    }
    if schema.primary_keys.is_empty() { check_without_keys(options) } else { check_with_keys(options) }
}

/// Rejects options `fields.<columns>.<what>` of columns that do not exist (`validateFieldsPrefix`).
fn check_named_columns(schema: &TableSchema, options: &Options) -> Result<()> {
    for option in options.all().keys() {
        let Some(rest) = option.strip_prefix("fields.") else { continue };
        for name in rest.split('.').next().unwrap_or_default().split(',') {
            if name != "default-aggregate-function" && schema.field(name).is_none() {
                return Err(not_a_column(option, name));
            }
        }
    }
    Ok(())
}

/// Rejects options whose value is not a column of the right type.
fn check_single_columns(schema: &TableSchema, options: &Options) -> Result<()> {
    let option = "rowkind.field";
    if let Some(name) = options.text(option) {
        let field = schema.field(name).ok_or_else(|| not_a_column(option, name))?;
        if !matches!(field.data_type.root, TypeRoot::Char(_) | TypeRoot::VarChar(_)) {
            return Err(Error::invalid(format!(
                "the option `{option}` references a column of type {}",
                field.data_type
            ))
            .with("column", shown(name))
            .hint("specify a column of type STRING"));
        }
    }
    let option = "record-level.time-field";
    let Some(name) = options.text(option) else { return Ok(()) };
    let field = schema.field(name).ok_or_else(|| not_a_column(option, name))?;
    let is_time = matches!(
        field.data_type.root,
        TypeRoot::Int | TypeRoot::BigInt | TypeRoot::Timestamp(_) | TypeRoot::LocalZonedTimestamp(_)
    );
    if !is_time {
        let message = format!("the option `{option}` references a column of type {}", field.data_type);
        return Err(Error::invalid(message)
            .with("column", shown(name))
            .hint("specify a column of type INT, BIGINT or TIMESTAMP"));
    }
    Ok(())
}

fn check_sequence(schema: &TableSchema, options: &Options) -> Result<()> {
    let option = "sequence.field";
    let Some(text) = options.text(option) else { return Ok(()) };
    let mut seen = Vec::new();
    // Empty parts at the end are dropped, as in Java's `split`.
    for name in text.trim_end_matches(',').split(',').map(str::trim) {
        if schema.field(name).is_none() {
            return Err(not_a_column(option, name));
        }
        if seen.contains(&name) {
            return Err(Error::invalid(format!("the option `{option}` contains the column `{}` twice", shown(name)))
                .hint("specify each column once"));
        }
        let function = format!("fields.{name}.aggregate-function");
        if options.text(&function).is_some() {
            let message = format!("the option `{}` applies to a column of the option `{option}`", shown(&function));
            return Err(Error::invalid(message).hint("remove it: sequence fields are not aggregated"));
        }
        seen.push(name);
    }
    Ok(())
}

/// Checks the options of a table whose keys can move to another partition.
fn check_moving_keys(schema: &TableSchema, options: &Options) -> Result<()> {
    let missing = schema.partition_keys.iter().find(|key| !schema.primary_keys.contains(key));
    let Some(key) = missing.filter(|_| schema.moves_keys()) else { return Ok(()) };
    let refused = |option: &str, value: &str| {
        Error::invalid(format!(
            "the option `{option}` = `{}` needs all partition columns in the primary key, which lacks `{}`",
            shown(value),
            shown(key)
        ))
    };
    let bucket = options.bucket()?;
    if bucket != -1 {
        return Err(refused("bucket", &bucket.to_string())
            .hint("set `bucket` to -1, or add the partition columns to the primary key"));
    }
    match options.text("sequence.field").filter(|text| !text.trim().is_empty()) {
        Some(text) => {
            Err(refused("sequence.field", text)
                .hint("remove the option, or add the partition columns to the primary key"))
        }
        None => Ok(()),
    }
}

/// Checks the options that limit the number of retained snapshots and changelogs.
fn check_retained(options: &Options) -> Result<()> {
    let number = |name: &str, default: i32| Ok::<_, Error>(options.integer_32(name)?.unwrap_or(default));
    let least = number("snapshot.num-retained.min", 10)?;
    let most = number("snapshot.num-retained.max", i32::MAX)?;
    check_order("snapshot.num-retained", least, most)?;
    check_order(
        "changelog.num-retained",
        number("changelog.num-retained.min", least)?,
        number("changelog.num-retained.max", most)?,
    )
}

fn check_order(prefix: &str, least: i32, most: i32) -> Result<()> {
    if least <= most {
        return Ok(());
    }
    let message = format!("the option `{prefix}.min` ({least}) is greater than `{prefix}.max` ({most})");
    Err(Error::invalid(message).hint(format!("set `{prefix}.min` to at most {most}")))
}

/// Checks the options that determine what scans read.
fn check_scan(options: &Options) -> Result<()> {
    match SnapshotChoice::from_options(options) {
        // An unsupported scan mode is not a contradiction, so only invalid options are rejected.
        Err(error) if error.kind() == ErrorKind::InvalidArgument => Err(error),
        _ => Ok(()),
    }
}

/// Rejects a directory of data files that is outside of the table, or invalid in file systems.
fn check_directory(options: &Options) -> Result<()> {
    let directory = options.data_directory()?;
    if directory.split('/').any(|segment| segment == "..") || directory.contains(char::is_control) {
        let message = format!("the option `data-file.path-directory` is `{}`", shown(&directory));
        return Err(
            Error::invalid(message).hint("specify a directory in the table, without `..` and control characters")
        );
    }
    Ok(())
}

fn check_without_keys(options: &Options) -> Result<()> {
    let needs = |name: &str, value: &str| {
        Error::invalid(format!("the option `{name}` is `{}` on a table without a primary key", shown(value)))
            .hint("remove it, or create the table with a primary key")
    };
    let producer = "changelog-producer";
    if let Some(text) = options.text(producer).filter(|text| !text.eq_ignore_ascii_case("none")) {
        return Err(needs(producer, text));
    }
    for name in NEED_KEYS {
        if options.boolean(name, false)? {
            return Err(needs(name, "true"));
        }
    }
    if options.bucket()? == POSTPONED {
        return Err(needs("bucket", "-2"));
    }
    let commits = "full-compaction.delta-commits";
    if options.bucket()? == -1 && options.text(commits).is_some() {
        return Err(Error::invalid(format!(
            "the option `{commits}` is set on a table without a fixed number of buckets"
        ))
        .hint("remove it, or set the option `bucket` to the number of buckets"));
    }
    Ok(())
}

fn check_with_keys(options: &Options) -> Result<()> {
    let levels = options.levels()?;
    if levels < 2 {
        return Err(Error::invalid(format!("the option `num-levels` is {levels}, but must be at least 2")));
    }
    check_changelog(options)?;
    let page = options.size_bytes("page-size")?.unwrap_or(64 << 10);
    let buffer = options.size_bytes("write-buffer-size")?.unwrap_or(256 << 20);
    if page == 0 || i32::try_from(page).is_err() {
        return Err(Error::invalid(format!(
            "the option `page-size` is {page} bytes, but must be between 1 byte and 2 GiB"
        )));
    }
    if buffer / page < LEAST_PAGES {
        let message =
            format!("the option `write-buffer-size` ({buffer} bytes) is less than three pages ({page} bytes)");
        return Err(Error::invalid(message).hint("raise `write-buffer-size`, or lower `page-size`"));
    }
    Ok(())
}

/// Rejects changelog producers that the merge engine or deletion vectors exclude.
fn check_changelog(options: &Options) -> Result<()> {
    let is = |name: &str, value: &str| options.text(name).is_some_and(|text| text.trim().eq_ignore_ascii_case(value));
    let (is_first_row, vectors) = (is("merge-engine", "first-row"), "deletion-vectors.enabled");
    let has_vectors = options.boolean(vectors, false)?;
    if is_first_row && has_vectors {
        return Err(Error::invalid(format!(
            "the option `{vectors}` is set on a table with `merge-engine` = `first-row`"
        ))
        .hint("remove it, because no row of such a table is replaced"));
    }
    let refused: &[&str] = match (is_first_row, has_vectors) {
        (true, _) => &["input", "full-compaction"],
        (false, true) => &["full-compaction"],
        (false, false) => &[],
    };
    let Some(producer) = refused.iter().find(|producer| is("changelog-producer", producer)) else { return Ok(()) };
    let other = if is_first_row { "`merge-engine` = `first-row`" } else { "`deletion-vectors.enabled` = `true`" };
    Err(Error::invalid(format!("the option `changelog-producer` = `{producer}` cannot be combined with {other}"))
        .hint("use `changelog-producer` = `lookup`"))
}

fn not_a_column(option: &str, name: &str) -> Error {
    Error::invalid(format!("the option `{}` references `{}`, which is not a column", shown(option), shown(name)))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn checked(keys: &[&str], options: &Value) -> Result<()> {
        let schema = json!({
            "version": 3, "id": 0, "highestFieldId": 2, "partitionKeys": [], "primaryKeys": keys, "timeMillis": 1,
            "fields": [
                {"id": 0, "name": "k", "type": "INT NOT NULL"},
                {"id": 1, "name": "v", "type": "INT"},
                {"id": 2, "name": "s", "type": "STRING"},
            ],
            "options": options,
        });
        let schema = TableSchema::parse(schema.to_string().as_bytes()).unwrap();
        let options = Options::new(schema.options.clone());
        check_rules(&schema, &options)
    }

    #[test]
    fn options_that_contradict_each_other_are_refused() {
        for (keys, options, named) in [
            (vec!["k"], json!({"sequence.field": "v,v"}), "`v` twice"),
            (vec!["k"], json!({"sequence.field": "v, v"}), "`v` twice"),
            (vec!["k"], json!({"sequence.field": "v,,s"}), "``"),
            (vec!["k"], json!({"sequence.field": ""}), "`sequence.field`"),
            (vec!["k"], json!({"sequence.field": "v", "fields.v.aggregate-function": "sum"}), "aggregate-function"),
            (vec!["k"], json!({"rowkind.field": "nope"}), "`rowkind.field`"),
            (vec!["k"], json!({"rowkind.field": "v"}), "column: v"),
            (vec!["k"], json!({"num-levels": "1"}), "`num-levels`"),
            (vec!["k"], json!({"num-sorted-run.compaction-trigger": "0"}), "compaction-trigger"),
            (vec!["k"], json!({"page-size": "0"}), "`page-size`"),
            (vec!["k"], json!({"merge-engine": "first-row", "changelog-producer": "input"}), "`input`"),
            (vec!["k"], json!({"merge-engine": "first-row", "deletion-vectors.enabled": "true"}), "first-row"),
            (vec!["k"], json!({"deletion-vectors.enabled": "true", "changelog-producer": "full-compaction"}), "true"),
            (vec!["k"], json!({"write-buffer-size": "128 kb"}), "three pages"),
            (vec![], json!({"changelog-producer": "input"}), "`changelog-producer`"),
            (vec![], json!({"streaming-read-overwrite": "true"}), "streaming-read-overwrite"),
            (vec![], json!({"bucket": "-2"}), "`bucket` is `-2`"),
            (vec![], json!({"table-read.sequence-number.enabled": "true"}), "sequence-number"),
            (vec![], json!({"full-compaction.delta-commits": "3"}), "delta-commits"),
            (vec![], json!({"record-level.time-field": "nope"}), "`nope`"),
            (vec![], json!({"record-level.time-field": "s"}), "column: s"),
            (vec![], json!({"partition.expiration-time": "1 d"}), "without partitions"),
            (vec![], json!({"fields.nope.stats-mode": "full"}), "`nope`"),
            (vec![], json!({"snapshot.num-retained.min": "5", "snapshot.num-retained.max": "2"}), "(5)"),
            (vec![], json!({"snapshot.num-retained.max": "9"}), "(10)"),
            (vec![], json!({"changelog.num-retained.max": "9"}), "changelog.num-retained"),
            (vec![], json!({"snapshot.num-retained.min": "20", "changelog.num-retained.max": "15"}), "(20)"),
            (vec![], json!({"data-file.path-directory": "a/../../b"}), "data-file.path-directory"),
            (vec![], json!({"scan.snapshot-id": "1", "scan.tag-name": "t"}), "scan.tag-name"),
            (vec![], json!({"scan.mode": "from-snapshot"}), "scan.mode"),
        ] {
            let error = checked(&keys, &options).expect_err(&options.to_string());
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{options}: {error}");
            assert!(error.to_string().contains(named), "{options}: {error}");
        }
    }

    #[test]
    fn compatible_options_are_accepted() {
        for (keys, options) in [
            (vec!["k"], json!({"sequence.field": "v,s,"})),
            (vec!["k"], json!({"sequence.field": "v", "fields.default-aggregate-function": "sum"})),
            (vec!["k"], json!({"changelog-producer": "input", "streaming-read-overwrite": "true"})),
            (vec!["k"], json!({"num-levels": "2", "num-sorted-run.compaction-trigger": "1"})),
            (vec!["k"], json!({"write-buffer-size": "192 kb"})),
            (vec!["k"], json!({"merge-engine": "first-row", "changelog-producer": "lookup"})),
            (vec!["k"], json!({"deletion-vectors.enabled": "true", "changelog-producer": "lookup"})),
            (vec![], json!({"num-levels": "1", "write-buffer-size": "0", "changelog-producer": "NONE"})),
            (vec![], json!({"snapshot.num-retained.min": "2", "snapshot.num-retained.max": "2"})),
            (vec![], json!({"full-compaction.delta-commits": "3", "bucket": "2", "bucket-key": "k"})),
            (vec![], json!({"record-level.time-field": "v", "scan.mode": "from-creation-timestamp"})),
        ] {
            checked(&keys, &options).unwrap_or_else(|error| panic!("{options}: {error}"));
        }
    }
}
