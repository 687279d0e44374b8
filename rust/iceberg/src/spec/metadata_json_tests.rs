use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::snapshot::RefKind;
use super::*;

/// Returns a v2 table with two snapshots, a branch and a tag.
fn table() -> Value {
    json!({
        "format-version": 2,
        "table-uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1",
        "location": "s3://bucket/t",
        "last-sequence-number": 2,
        "last-updated-ms": 1_602_638_573_590_i64,
        "last-column-id": 2,
        "current-schema-id": 1,
        "schemas": [
            {"type": "struct", "schema-id": 0, "fields": [
                {"id": 1, "name": "x", "required": true, "type": "long"},
                {"id": 2, "name": "y", "required": true, "type": "date"}]},
            {"type": "struct", "schema-id": 1, "fields": [{"id": 1, "name": "x", "required": true, "type": "long"}]}],
        "default-spec-id": 0,
        "partition-specs": [{"spec-id": 0, "fields": [
            {"name": "y", "transform": "identity", "source-id": 2, "field-id": 1000},
            {"name": "z", "transform": "identity", "source-id": 3, "field-id": 1001}]}],
        "last-partition-id": 1001,
        "default-sort-order-id": 0,
        "sort-orders": [{"order-id": 0, "fields": []}],
        "properties": {"owner": "me"},
        "current-snapshot-id": 20,
        "snapshots": [
            {"snapshot-id": 10, "sequence-number": 1, "timestamp-ms": 100, "manifest-list": "m1", "schema-id": 0,
             "summary": {"operation": "append"}},
            {"snapshot-id": 20, "parent-snapshot-id": 10, "sequence-number": 2, "timestamp-ms": 200,
             "manifest-list": "m2"}],
        "snapshot-log": [{"snapshot-id": 10, "timestamp-ms": 100}, {"snapshot-id": 20, "timestamp-ms": 200}],
        "metadata-log": [{"metadata-file": "s3://bucket/t/metadata/v1.metadata.json", "timestamp-ms": 50}],
        "refs": {"main": {"snapshot-id": 20, "type": "branch"}, "old": {"snapshot-id": 10, "type": "tag"}}
    })
}

/// Returns the minimal metadata that the first releases wrote.
fn v1_minimal() -> Value {
    json!({
        "format-version": 1, "location": "/t", "last-updated-ms": 5, "last-column-id": 1,
        "schema": {"type": "struct", "fields": [{"id": 1, "name": "c", "required": false, "type": "string"}]},
        "partition-spec": [{"name": "c", "transform": "identity", "source-id": 1}],
        "current-snapshot-id": 7,
        "snapshots": [{"snapshot-id": 7, "timestamp-ms": 5, "manifests": ["m0", "m1"]}]
    })
}

fn read(table: &Value) -> Result<TableMetadata> {
    TableMetadata::parse(table.to_string().as_bytes())
}

/// Returns the table with members set, or removed if the value is null.
fn edited(mut table: Value, edits: &[(&str, Value)]) -> Value {
    for (pointer, value) in edits {
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        match (table.pointer_mut(parent).unwrap(), value) {
            (Value::Object(map), Value::Null) => drop(map.remove(key)),
            (Value::Object(map), value) => drop(map.insert(key.to_string(), value.clone())),
            (Value::Array(list), value) => list[key.parse::<usize>().unwrap()] = value.clone(),
            _ => unreachable!(),
        }
    }
    table
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn a_table_of_v2_is_read() {
    let metadata = read(&table()).unwrap();
    assert_eq!(metadata.current_schema().unwrap().fields.fields.len(), 1);
    assert_eq!(metadata.current_snapshot().unwrap().snapshot_id, 20);
    assert_eq!(metadata.schema_of(metadata.snapshot(10).unwrap()).unwrap().schema_id, 0);
    assert_eq!(metadata.schema_of(metadata.snapshot(20).unwrap()).unwrap().schema_id, 1);
    assert_eq!(metadata.snapshot_by_ref("old").unwrap().snapshot_id, 10);
    assert_eq!(metadata.refs["old"].kind, RefKind::Tag);
    assert_eq!(metadata.ancestors(20).map(|snapshot| snapshot.snapshot_id).collect::<Vec<_>>(), [20, 10]);
    assert_eq!(metadata.metadata_log[0].timestamp_ms, 50);
    assert!(metadata.name_mapping().unwrap().is_none());
}

#[test]
fn omitted_v1_fields_are_filled_in() {
    let metadata = read(&v1_minimal()).unwrap();
    assert_eq!((metadata.format_version, metadata.table_uuid.as_deref()), (1, None));
    assert_eq!(metadata.default_spec().unwrap().fields[0].field_id, 1000);
    assert_eq!((metadata.last_partition_id, metadata.last_sequence_number), (1000, 0));
    assert_eq!((metadata.sort_orders.len(), metadata.default_sort_order_id), (1, 0));
    assert_eq!(metadata.snapshot_by_ref("main").unwrap().manifests.as_ref().unwrap().len(), 2);
    let unpartitioned = edited(v1_minimal(), &[("/partition-spec", json!([]))]);
    assert_eq!(read(&unpartitioned).unwrap().last_partition_id, 999);
    // A list of schemas or specs next to the single one is used if it has a current id.
    let schema = json!({"type": "struct", "schema-id": 4, "fields": []});
    let both = edited(v1_minimal(), &[("/schemas", json!([schema])), ("/current-schema-id", json!(4))]);
    assert_eq!(read(&both).unwrap().current_schema_id, 4);
    let undecided = edited(v1_minimal(), &[("/schemas", json!([schema]))]);
    let undecided = read(&undecided).unwrap();
    assert_eq!((undecided.current_schema_id, undecided.schemas.len()), (0, 2));
    let specs = json!([{"spec-id": 1, "fields": []}, {"spec-id": 2, "fields": []}]);
    assert_eq!(read(&edited(v1_minimal(), &[("/partition-specs", specs)])).unwrap().default_spec_id, 2);
}

#[test]
fn no_current_snapshot_may_be_written_in_three_ways() {
    let empty = edited(table(), &[("/refs", json!({})), ("/snapshots", json!([])), ("/snapshot-log", json!([]))]);
    for current in [Value::Null, json!(-1)] {
        let metadata = read(&edited(empty.clone(), &[("/current-snapshot-id", current)])).unwrap();
        assert_eq!(metadata.current_snapshot_id, None);
        assert!(metadata.current_snapshot().is_none());
        assert_eq!(metadata.snapshot_by_ref("main").unwrap_err().kind(), ErrorKind::NoSuchSnapshot);
    }
    let text = empty.to_string().replace("\"current-snapshot-id\":20", "\"current-snapshot-id\":null");
    assert_eq!(TableMetadata::parse(text.as_bytes()).unwrap().current_snapshot_id, None);
}

#[test]
fn main_is_implied_when_refs_are_absent_or_omit_it() {
    for refs in [Value::Null, json!({}), json!({"old": {"snapshot-id": 10, "type": "tag"}})] {
        let metadata = read(&edited(table(), &[("/refs", refs)])).unwrap();
        assert_eq!(metadata.snapshot_by_ref("main").unwrap().snapshot_id, 20);
    }
}

#[test]
fn contradictions_are_refused_with_their_place() {
    let cases: [(&str, Value, &str); 26] = [
        ("/format-version", Value::Null, "`format-version` is missing"),
        ("/format-version", json!("two"), "format-version: expected i64, found string"),
        ("/current-schema-id", json!(4242), "current-schema-id: no schema has the id 4242"),
        ("/current-schema-id", Value::Null, "`current-schema-id` is missing"),
        ("/schemas", Value::Null, "`schemas` is missing"),
        ("/default-spec-id", json!(4242), "default-spec-id: no partition spec has the id 4242"),
        ("/partition-specs", Value::Null, "`partition-specs` is missing"),
        ("/default-sort-order-id", json!(7), "default-sort-order-id: no sort order has the id 7"),
        ("/sort-orders", Value::Null, "`sort-orders` is missing"),
        ("/last-partition-id", Value::Null, "`last-partition-id` is missing"),
        ("/table-uuid", Value::Null, "`table-uuid` is missing"),
        ("/location", Value::Null, "`location` is missing"),
        ("/current-snapshot-id", json!(4242), "current-snapshot-id: no snapshot has the id 4242"),
        ("/current-snapshot-id", json!(10), "refs.main: differs from `current-snapshot-id`"),
        ("/current-snapshot-id", Value::Null, "refs.main: differs from `current-snapshot-id`"),
        ("/refs/main/snapshot-id", json!(4242), "refs.main: no snapshot has the id 4242"),
        ("/refs/old/snapshot-id", json!(4242), "refs.old: no snapshot has the id 4242"),
        ("/refs/old/type", json!("frob"), "refs.old: the type of a reference must be `branch` or `tag`, found `frob`"),
        ("/last-sequence-number", json!(1), "last-sequence-number: 1 is less than the sequence number 2 of a snapshot"),
        ("/snapshots/0/snapshot-id", json!(20), "snapshots: duplicate id 20"),
        (
            "/snapshots/1/timestamp-ms",
            json!(18_446_744_073_709_551_615_u64),
            "snapshots[1].timestamp-ms: expected i64, found integer",
        ),
        ("/schemas/1/schema-id", json!(0), "schemas: duplicate id 0"),
        ("/schemas/0/fields/1/id", json!(1), "schemas[0]: fields `x` and `y` have the same id 1"),
        ("/schemas/0/fields/1/type", json!("int128"), "schemas[0].fields[1].type: unknown type `int128`"),
        ("/properties", json!(["AKIASECRET"]), "properties: expected a map, found sequence"),
        ("/properties/p", json!({"k": "AKIASECRET"}), "properties: expected a string, found map"),
    ];
    for (pointer, value, message) in cases {
        let error = read(&edited(table(), &[(pointer, value)])).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::CorruptMetadata, "{pointer}");
        let separator = if message.starts_with('`') { ":" } else { "" };
        assert_eq!(error.to_string(), format!("table metadata{separator} {message}"));
    }
}

#[test]
fn other_versions_are_named() {
    for version in [json!(0), json!(4), json!(99), json!(-1), json!(258)] {
        let error = read(&edited(table(), &[("/format-version", version.clone())])).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.to_string().contains(&format!("version {version}")), "{error}");
    }
    let view = read(&json!({"format-version": 1, "view-uuid": "x"})).unwrap_err();
    assert_eq!(view.kind(), ErrorKind::Unsupported);
}

#[test]
fn invalid_table_metadata_bytes_are_rejected() {
    let text = table().to_string();
    let twice = format!("{},\"format-version\":99}}", text.strip_suffix('}').unwrap());
    let mut invalid = text.clone().into_bytes();
    let at = text.find("\"me\"").unwrap();
    invalid[at + 1] = 0xff;
    let cases: [&[u8]; 9] = [
        b"",
        b"{}",
        b"[{}]",
        b"null",
        &text.as_bytes()[..text.len() / 2],
        twice.as_bytes(),
        &invalid,
        &gzip(text.as_bytes())[..100],
        b"\x1f\x8b",
    ];
    for bytes in cases {
        assert_eq!(TableMetadata::parse(bytes).unwrap_err().kind(), ErrorKind::CorruptMetadata);
    }
}

#[test]
fn gzip_and_byte_order_marks_are_seen_through() {
    let text = table().to_string();
    for bytes in [gzip(text.as_bytes()), [b"\xef\xbb\xbf", text.as_bytes()].concat(), format!(" {text}\n").into_bytes()]
    {
        assert_eq!(TableMetadata::parse(&bytes).unwrap().current_snapshot_id, Some(20));
    }
}

#[test]
fn decompression_bombs_are_rejected() {
    let text = table().to_string();
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text.strip_suffix('}').unwrap().as_bytes()).unwrap();
    let blanks = vec![b' '; 1 << 20];
    for _ in 0..100 {
        encoder.write_all(&blanks).unwrap();
    }
    encoder.write_all(b"}").unwrap();
    let bomb = encoder.finish().unwrap();
    assert_eq!(TableMetadata::parse(&bomb).unwrap_err().kind(), ErrorKind::LimitExceeded);
}

#[test]
fn unknown_members_are_kept_at_the_top_and_ignored_below() {
    let future = json!({"a": [1]});
    let edits =
        ["", "/schemas/0", "/schemas/0/fields/0", "/partition-specs/0", "/snapshots/0", "/refs/old", "/snapshot-log/0"];
    let edits: Vec<_> = edits.iter().map(|at| (format!("{at}/x-future"), future.clone())).collect();
    let edits: Vec<_> = edits.iter().map(|(at, value)| (at.as_str(), value.clone())).collect();
    let metadata = read(&edited(table(), &edits)).unwrap();
    let unknown: Vec<_> = metadata.unknown.iter().map(|(key, raw)| (key.as_str(), raw.get())).collect();
    assert_eq!(unknown, [("x-future", r#"{"a":[1]}"#)]);
    let deep = format!(
        "{},\"x\":{}{}}}",
        table().to_string().strip_suffix('}').unwrap(),
        "[".repeat(200_000),
        "]".repeat(200_000)
    );
    assert!(TableMetadata::parse(deep.as_bytes()).is_ok());
}

#[test]
fn ids_given_out_are_never_below_ids_in_use() {
    let metadata = read(&edited(table(), &[("/last-column-id", json!(0)), ("/last-partition-id", json!(5))])).unwrap();
    assert_eq!((metadata.last_column_id, metadata.last_partition_id), (2, 1001));
}

#[test]
fn statistics_are_advisory() {
    let good = json!({"snapshot-id": 20, "statistics-path": "gone.stats", "file-size-in-bytes": 10, "file-footer-size-in-bytes": 5,
        "blob-metadata": [{"type": "future-v9", "snapshot-id": 20, "sequence-number": 2, "fields": [1]}]});
    let partition = json!({"snapshot-id": 20, "statistics-path": "p.parquet", "file-size-in-bytes": 10});
    let edits =
        [("/statistics", json!([good, {"snapshot-id": "x"}, 5])), ("/partition-statistics", json!([partition]))];
    let metadata = read(&edited(table(), &edits)).unwrap();
    assert_eq!(metadata.statistics.len(), 1);
    assert_eq!(metadata.statistics[0].blobs[0].blob_type, "future-v9");
    assert_eq!(metadata.partition_statistics[0].path, "p.parquet");
    assert!(read(&edited(table(), &[("/statistics", json!("broken"))])).unwrap().statistics.is_empty());
}

#[test]
fn time_travel_follows_the_log_and_not_the_snapshots() {
    let log = json!([{"snapshot-id": 20, "timestamp-ms": 100}, {"snapshot-id": 10, "timestamp-ms": 200},
        {"snapshot-id": 99, "timestamp-ms": 300}]);
    let metadata = read(&edited(table(), &[("/snapshot-log", log)])).unwrap();
    for (at_ms, expected) in [(100, Some(20)), (199, Some(20)), (200, Some(10)), (99, None), (300, None)] {
        let found = metadata.snapshot_as_of(at_ms);
        match expected {
            Some(id) => assert_eq!(found.unwrap().snapshot_id, id),
            None => assert_eq!(found.unwrap_err().kind(), ErrorKind::NoSuchSnapshot),
        }
    }
}

#[test]
fn a_snapshot_that_is_its_own_ancestor_ends_the_walk() {
    let metadata = read(&edited(table(), &[("/snapshots/0/parent-snapshot-id", json!(20))])).unwrap();
    assert_eq!(metadata.ancestors(20).count(), 2);
    assert_eq!(metadata.ancestors(99).count(), 0);
}

#[test]
fn a_dropped_column_keeps_the_type_that_an_older_schema_gives_it() {
    let metadata = read(&table()).unwrap();
    let partition = metadata.partition_type(metadata.spec(0).unwrap());
    let types: Vec<_> = partition.fields.iter().map(|field| field.field_type.to_string()).collect();
    assert_eq!(types, ["date", "unknown"]);
}

#[test]
fn an_invalid_name_mapping_fails_on_access() {
    let with =
        |text: &str| read(&edited(table(), &[("/properties/schema.name-mapping.default", json!(text))])).unwrap();
    assert!(with(r#"[{"field-id": 1, "names": ["x"]}]"#).name_mapping().unwrap().is_some());
    assert_eq!(with("{not json").name_mapping().unwrap_err().kind(), ErrorKind::CorruptMetadata);
}

#[test]
fn v3_members_are_read() {
    let edits = [
        ("/format-version", json!(3)),
        ("/next-row-id", json!(12)),
        ("/encryption-keys", json!([{"key-id": "k", "encrypted-key-metadata": "AA=="}])),
        ("/snapshots/1/first-row-id", json!(4)),
        ("/snapshots/1/added-rows", json!(8)),
    ];
    let metadata = read(&edited(table(), &edits)).unwrap();
    assert_eq!(metadata.next_row_id, Some(12));
    assert!(metadata.encryption_keys.is_some() && metadata.unknown.is_empty());
    assert_eq!(metadata.current_snapshot().unwrap().first_row_id, Some(4));
}

#[test]
fn secrets_in_properties_are_never_printed() {
    let secret = "AKIAMUTATEDSECRET";
    let with = edited(table(), &[("/properties/s3.secret-access-key", json!(secret))]);
    assert!(!format!("{:?}", read(&with).unwrap()).contains(secret));
    let broken = edited(with, &[("/schemas/0/fields/0/type", json!("int128"))]);
    let error = read(&broken).unwrap_err();
    assert!(!format!("{error} {error:?}").contains(secret));
}

proptest! {
    #[test]
    fn damaged_bytes_are_read_or_refused(at in 0_usize..2_000, byte in any::<u8>(), cut in 0_usize..2_000) {
        let mut bytes = table().to_string().into_bytes();
        let length = bytes.len();
        bytes[at % length] = byte;
        let _ = TableMetadata::parse(&bytes);
        bytes.truncate(cut % length);
        prop_assert_eq!(TableMetadata::parse(&bytes).unwrap_err().kind(), ErrorKind::CorruptMetadata);
    }
}
