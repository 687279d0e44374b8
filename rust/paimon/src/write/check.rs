//! Checks that a table can be written. Unsupported options and types that change what Java writes are rejected before a
//! file is created.

use frazil_core::error::{Error, Result};

use super::assign::BucketLimits;
use super::changelog::{has_changelog, of_changelog};
use super::external::ExternalPaths;
use super::format::check_formats;
use super::known_options::check_values;
use super::moving_keys::MovingKeys;
use super::postponed::default_count;
use super::rules::check_rules;
use crate::features::check_readable;
use crate::merge::MergeSpec;
use crate::spec::json::shown;
use crate::spec::options::Options;
use crate::spec::schema::TableSchema;
use crate::spec::types::{DataField, DataType, TypeRoot};

/// Options that change what is written when they are `true`.
const REFUSED_WHEN_TRUE: &[&str] = &[
    "add-column-before-partition",
    "blob-as-descriptor",
    "clustering.incremental",
    "commit.discard-duplicate-files",
    "data-evolution.enabled",
    "metastore.partitioned-table",
    "row-tracking.enabled",
    "tag.automatic-completion",
    "tag.create-success-file",
    "variant.inferShreddingSchema",
    "visibility-callback.enabled",
];

/// Options that change what is written when they are set.
const REFUSED_WHEN_GIVEN: &[&str] = &[
    "blob-external-storage-field",
    "blob-field",
    "clustering.columns",
    "commit.callbacks",
    "commit.strict-mode.last-safe-snapshot",
    "metastore.tag-to-partition",
    "tag.callbacks",
    "upsert-key",
    "variant.shreddingSchema",
    "vector-field",
    "vector.file.format",
];

/// Options that determine how records of a key are merged.
const OF_KEYS: &[&str] = &["rowkind.field", "sequence.field"];

/// Options for which only the default value is supported.
const ONLY_VALUES: &[(&str, &str)] = &[
    ("manifest.format", "avro"),
    ("metadata.iceberg.storage", "disabled"),
    ("tag.automatic-creation", "none"),
    ("type", "table"),
];

/// Rejects a table whose snapshots cannot be written as Java would write them.
///
/// # Errors
/// `Unsupported` naming the option; `InvalidArgument` for options that Java rejects.
pub fn check_committable(schema: &TableSchema) -> Result<()> {
    let options = Options::new(schema.options.clone());
    check_readable(schema, &options)?;
    check_keys(schema, &options)?;
    check_options(&options)?;
    check_values(&options)?;
    check_rules(schema, &options)
}

/// Rejects a table whose data files cannot be written as Java would write them.
///
/// # Errors
/// As for [`check_committable`]; `Unsupported` naming a codec, or a column that a file format does not support.
pub fn check_writable(schema: &TableSchema) -> Result<()> {
    check_committable(schema)?;
    let options = Options::new(schema.options.clone());
    schema.fields.iter().try_for_each(check_type)?;
    check_formats(schema, &options)?;
    if has_changelog(schema, &options) { check_formats(schema, &of_changelog(&options)) } else { Ok(()) }
}

fn check_keys(schema: &TableSchema, options: &Options) -> Result<()> {
    if schema.primary_keys.is_empty() {
        return match OF_KEYS.iter().find(|name| options.text(name).is_some_and(|text| !text.trim().is_empty())) {
            Some(name) => {
                Err(refused(name, options.text(name).unwrap_or_default()).hint("the option requires a primary key"))
            }
            None => Ok(()),
        };
    }
    BucketLimits::from_options(options)?;
    default_count(options)?;
    let is_floating = |name: &&str| schema.field(name).is_some_and(|field| field.data_type.arrow().is_floating());
    if options.boolean("deletion-vectors.enabled", false)?
        && let Some(key) = schema.trimmed_primary_keys().into_iter().find(|name| is_floating(name))
    {
        return Err(refused("deletion-vectors.enabled", "true")
            .hint(format!("the key column `{}` has the type FLOAT or DOUBLE", shown(key))));
    }
    if schema.moves_keys() && MovingKeys::deletes(options) && MergeSpec::try_new(schema, options)?.ignores_deletes() {
        return Err(refused("ignore-delete", "true").hint(
            "the primary key does not contain all partition columns, so keys are deleted in their old partition",
        ));
    }
    Ok(())
}

fn check_options(options: &Options) -> Result<()> {
    for name in REFUSED_WHEN_TRUE {
        if options.boolean(name, false)? {
            return Err(refused(name, "true"));
        }
    }
    let given = |name: &&&str| options.text(name).is_some_and(|text| !text.trim().is_empty());
    if let Some(name) = REFUSED_WHEN_GIVEN.iter().find(given) {
        return Err(refused(name, options.text(name).unwrap_or_default()));
    }
    for (name, value) in ONLY_VALUES {
        if let Some(text) = options.text(name).filter(|text| !text.trim().eq_ignore_ascii_case(value)) {
            return Err(refused(name, text).hint(format!("only `{value}` is supported")));
        }
    }
    ExternalPaths::try_new(options)?;
    let is_default = |name: &&String| name.starts_with("fields.") && name.ends_with(".default-value");
    match options.all().keys().find(is_default) {
        Some(name) => Err(refused(name, options.text(name).unwrap_or_default())),
        None => Ok(()),
    }
}

fn check_type(field: &DataField) -> Result<()> {
    check_parts(&field.data_type).map_err(|error| error.with("column", shown(&field.name)))
}

/// Rejects a type that cannot be written, at any depth.
fn check_parts(data_type: &DataType) -> Result<()> {
    match &data_type.root {
        TypeRoot::Array(part) | TypeRoot::Multiset(part) => check_parts(part),
        TypeRoot::Map(key, value) => check_parts(key).and_then(|()| check_parts(value)),
        TypeRoot::Row(fields) => fields.iter().try_for_each(|field| check_parts(&field.data_type)),
        TypeRoot::Blob => Err(Error::unsupported(format!("writing columns of type {data_type} is not supported"))),
        _ => Ok(()),
    }
}

fn refused(name: &str, value: &str) -> Error {
    Error::unsupported(format!(
        "writing tables with the option `{}` = `{}` is not supported",
        shown(name),
        shown(value)
    ))
}

#[cfg(test)]
mod tests {
    use frazil_core::error::ErrorKind;
    use serde_json::{Value, json};

    use super::*;

    fn checked(changes: &Value) -> Result<()> {
        let mut schema = json!({
            "version": 3, "id": 0, "highestFieldId": 1, "partitionKeys": [], "primaryKeys": [], "timeMillis": 1,
            "fields": [{"id": 0, "name": "k", "type": "INT NOT NULL"}, {"id": 1, "name": "v", "type": "STRING"}],
            "options": {},
        });
        for (key, value) in changes.as_object().unwrap() {
            schema[key] = value.clone();
        }
        check_writable(&TableSchema::parse(schema.to_string().as_bytes()).unwrap())
    }

    fn with_option(name: &str, value: &str) -> Result<()> {
        checked(&json!({"options": {name: value}}))
    }

    #[test]
    fn tables_without_keys_are_written() {
        checked(&json!({})).unwrap();
        checked(&json!({"partitionKeys": ["k"]})).unwrap();
        checked(&json!({"primaryKeys": ["k"], "options": {"bucket": "1", "sequence.field": "v"}})).unwrap();
        checked(&json!({"primaryKeys": ["k"]})).unwrap();
        checked(&json!({"primaryKeys": ["k"], "partitionKeys": ["v"]})).unwrap();
        for (name, value) in [
            ("merge-engine", "first-row"),
            ("force-lookup", "true"),
            ("deletion-vectors.enabled", "true"),
            ("changelog-producer", "lookup"),
            ("changelog-producer", "full-compaction"),
            ("bucket", "-2"),
        ] {
            checked(&json!({"primaryKeys": ["k"], "options": {name: value}})).unwrap();
        }
        for (name, value) in [
            ("bucket", "-1"),
            ("bucket", "4"),
            ("file.format", "PARQUET"),
            ("file.format", "orc"),
            ("file.format.per.level", "0:avro"),
            ("manifest.format", "avro"),
            ("write-only", "true"),
            ("deletion-vectors.enabled", "true"),
            ("row-tracking.enabled", "false"),
            ("commit.callbacks", ""),
            ("file-index.in-manifest-threshold", "1 kb"),
            ("file-index.bloom-filter.columns", "k"),
            ("owner", "me"),
            ("data-file.external-paths", "file:/x"),
            ("data-file.external-paths.strategy", "round-robin"),
        ] {
            with_option(name, value).unwrap();
        }
    }

    #[test]
    fn unsupported_write_features_are_named() {
        let tables = [
            (
                json!({"primaryKeys": ["k"], "partitionKeys": ["v"], "options": {"ignore-delete": "true"}}),
                "ignore-delete",
            ),
            (json!({"options": {"sequence.field": "v"}}), "sequence.field"),
            (json!({"fields": [{"id": 0, "name": "a", "type": {"type": "ARRAY", "element": "BLOB"}}]}), "column: a"),
            (
                json!({
                    "fields": [{"id": 0, "name": "t", "type": "TIMESTAMP(7)"}], "options": {"file.format": "avro"},
                }),
                "column: t",
            ),
        ];
        for (changes, named) in tables {
            let error = checked(&changes).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{changes}: {error}");
            assert!(error.to_string().contains(named), "{error}");
        }
        let values = [
            ("file.format", "csv"),
            ("manifest.format", "orc"),
            ("metadata.iceberg.storage", "table-location"),
            ("fields.k.default-value", "1"),
        ];
        let given = REFUSED_WHEN_GIVEN.iter().map(|name| (*name, "x"));
        let on = REFUSED_WHEN_TRUE.iter().map(|name| (*name, "true"));
        for (name, value) in values.into_iter().chain(given).chain(on) {
            let error = with_option(name, value).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{name}: {error}");
            assert!(error.to_string().contains(name), "{name}: {error}");
        }
        let external = "data-file.external-paths";
        let strategy = format!("{external}.strategy");
        let error = checked(&json!({"options": {external: "/x", strategy: "round-robin"}})).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    }
}
