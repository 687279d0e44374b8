use frazil_core::error::ErrorKind;

use super::*;
use crate::spec::columns;
use crate::spec::types::DataType;

/// Creates a table with columns specified as `name TYPE`. If there are several, the first is the primary key.
fn schema(columns: &[&str], options: &[(&str, &str)]) -> TableSchema {
    let fields = columns.iter().zip(0..).map(|(column, id)| {
        let (name, data_type) = column.split_once(' ').unwrap();
        let data_type: DataType = data_type.parse().unwrap();
        DataField { id, name: name.to_string(), data_type, description: None, default_value: None }
    });
    let fields: Vec<DataField> = fields.collect();
    let option = |(name, value): &(&str, &str)| (name.to_string(), value.to_string());
    TableSchema {
        version: 3,
        id: 0,
        highest_field_id: 100,
        partition_keys: Vec::new(),
        primary_keys: if fields.len() > 1 { vec![fields[0].name.clone()] } else { Vec::new() },
        fields,
        options: options.iter().map(option).collect(),
        comment: None,
        time_ms: 0,
    }
}

fn check(schema: &TableSchema) -> Result<()> {
    check_readable(schema, &Options::new(schema.options.clone()))
}

#[test]
fn options_that_are_honoured_or_harmless_pass() {
    for (name, value) in [
        ("type", "table"),
        ("type", "MATERIALIZED-TABLE"),
        ("merge-engine", "partial-update"),
        ("merge-engine", "First-Row"),
        ("file.format", "ORC"),
        ("file.format.per.level", "0:avro, 3:parquet"),
        ("changelog-file.format", "avro"),
        ("bucket", "-2"),
        ("bucket-function.type", "hive"),
        ("changelog-producer", "lookup"),
        ("record-level.expire-time", "1 d"),
        ("row-tracking.enabled", "true"),
        ("data-evolution.enabled", "true"),
        ("deletion-vectors.enabled", "true"),
        ("query-auth.enabled", "false"),
        ("blob-view-field", " "),
        ("blob-as-descriptor", "true"),
        ("primary-key", "k"),
        ("scan.fallback-branch", "b"),
        ("write-buffer-size", "not even a size"),
        ("no-such-option", "x"),
    ] {
        assert!(check(&schema(&["k INT", "v INT"], &[(name, value)])).is_ok(), "{name} = {value}");
    }
}

#[test]
fn options_that_change_reading_are_refused_by_name() {
    for (name, value) in [
        ("type", "format-table"),
        ("type", "object-table"),
        ("type", "lance-table"),
        ("merge-engine", "mine"),
        ("file.format", "mosaic"),
        ("file.format", "lance"),
        ("file.format.per.level", "0:avro,3:vortex"),
        ("changelog-file.format", "csv"),
        ("bucket-function.type", "mine"),
        ("changelog-producer", "mine"),
        ("primary-key", "v"),
        ("primary-key", "k,v"),
        ("partition", "v"),
        ("chain-table.enabled", "true"),
        ("pk-clustering-override", "TRUE"),
        ("query-auth.enabled", "true"),
        ("scan.fallback-delta-branch", "d"),
        ("blob-descriptor-field", "v"),
        ("blob-view-field", "v"),
    ] {
        let error = check(&schema(&["k INT", "v INT"], &[(name, value)])).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{name} = {value}");
        assert!(error.message().contains(&format!("`{name}`")), "{error}");
    }
}

#[test]
fn values_that_do_not_parse_are_refused() {
    for (name, value) in [("bucket", "0"), ("bucket", "many"), ("query-auth.enabled", "yes")] {
        let error = check(&schema(&["k INT"], &[(name, value)])).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{name} = {value}");
    }
}

#[test]
fn scan_options_cannot_disable_table_requirements() {
    let table = schema(&["k INT"], &[("query-auth.enabled", "true")]);
    let options = Options::new([("query-auth.enabled".to_string(), "false".to_string())].into());
    assert_eq!(check_readable(&table, &options).unwrap_err().kind(), ErrorKind::Unsupported);
}

#[test]
fn append_tables_have_no_merge_engine() {
    assert!(check(&schema(&["k INT"], &[("merge-engine", "mine")])).is_ok());
}

#[test]
fn format_and_object_tables_say_where_they_are_read() {
    for (kind, function) in [("format-table", "format_table"), ("object-table", "object_table")] {
        let error = check(&schema(&["k INT"], &[("type", kind)])).unwrap_err();
        assert!(error.hint_text().unwrap().contains(function), "{error}");
    }
}

#[test]
fn columns_that_cannot_be_read_are_named() {
    for name in columns::RESERVED.iter().chain(&["_KEY_x"]) {
        let error = check(&schema(&[&format!("{name} INT")], &[])).unwrap_err();
        assert!(error.message().contains(name), "{error}");
    }
    for column in ["p VARBINARY(3)", "p BYTES", "p ARRAY<INT>", "p VARIANT"] {
        let mut table = schema(&[column], &[]);
        table.partition_keys = vec!["p".to_string()];
        assert_eq!(check(&table).unwrap_err().kind(), ErrorKind::Unsupported, "{column}");
    }
    assert!(check(&schema(&["b BLOB"], &[])).is_ok());
    assert_eq!(check(&schema(&["k INT", "b BLOB"], &[])).unwrap_err().context(), [("column", "b".to_string())]);
}
