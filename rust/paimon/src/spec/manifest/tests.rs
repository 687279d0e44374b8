use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{BooleanArray, UInt32Array};
use bytes::Bytes;
use frazil_core::avro::{AvroFile, Projection};
use frazil_core::context::{Budget, Context};
use frazil_core::error::ErrorKind;
use serde_json::{Value as Json, json};

use super::super::testing::{avro, entry, manifest_fields, with};
use super::*;

const ORC: &[u8] = include_bytes!("../../../testdata/manifest.orc");

fn read_all(bytes: Bytes) -> Result<ManifestEntries> {
    read(bytes, WantedFields::ALL, &Context::default())
}

fn entries(records: &[Json]) -> ManifestEntries {
    read_all(avro(&manifest_fields("_WRITE_COLS"), records)).unwrap()
}

fn deleted(record: Json) -> Json {
    with(record, "/_KIND", 1)
}

/// Returns the names of files, with `-` before those of DELETE entries.
fn names(entries: &ManifestEntries) -> Vec<String> {
    let name = |row: usize| {
        let sign = if entries.kinds().value(row) == DELETE { "-" } else { "" };
        format!("{sign}{}", entries.file_names().value(row))
    };
    (0..entries.len()).map(name).collect()
}

#[test]
fn every_field_is_read() {
    let mut record = entry("a.parquet");
    for (field, value) in [
        ("_MIN_KEY", json!([0, 0, 0, 1])),
        ("_MAX_SEQUENCE_NUMBER", json!(12)),
        ("_LEVEL", json!(5)),
        ("_EXTRA_FILES", json!(["a.index", "b"])),
        ("_CREATION_TIME", json!(1_700_000_000_123_i64)),
        ("_DELETE_ROW_COUNT", json!(3)),
        ("_EMBEDDED_FILE_INDEX", json!([7])),
        ("_FILE_SOURCE", json!(1)),
        ("_VALUE_STATS_COLS", json!(["x"])),
        ("_EXTERNAL_PATH", json!("s3://b/a.parquet")),
        ("_FIRST_ROW_ID", json!(9)),
        ("_WRITE_COLS", json!([])),
    ] {
        record = with(record, &format!("/_FILE/{field}"), value);
    }
    record = with(record, "/_BUCKET", -2);
    record = with(record, "/_FILE/_VALUE_STATS/_NULL_COUNTS", json!([null, 4]));
    let entries = entries(&[record]);
    assert_eq!((entries.buckets().value(0), entries.total_buckets().value(0)), (-2, 1));
    assert_eq!(entries.partitions().value(0), [0; 12]);
    let counts = entries.value_stats().null_counts.value(0);
    assert_eq!(counts.as_primitive::<Int64Type>(), &Int64Array::from(vec![None, Some(4)]));
    assert!(entries.key_stats().null_counts.is_null(0));
    let expected = DataFileMeta {
        file_name: "a.parquet".into(),
        file_size_bytes: 1000,
        row_count: 10,
        min_key: vec![0, 0, 0, 1],
        max_key: vec![0; 12],
        min_sequence_number: 1,
        max_sequence_number: 12,
        schema_id: 0,
        level: 5,
        extra_files: vec!["a.index".into(), "b".into()],
        creation_time_ms: Some(1_700_000_000_123),
        delete_row_count: Some(3),
        embedded_file_index: Some(vec![7]),
        file_source: Some(1),
        value_stats_cols: Some(vec!["x".into()]),
        external_path: Some("s3://b/a.parquet".into()),
        first_row_id: Some(9),
        write_cols: Some(vec![]),
    };
    assert_eq!(entries.file(0).unwrap(), expected);
    assert!(entries.file(1).is_err());
}

#[test]
fn fields_that_a_release_did_not_have_are_null_and_later_ones_are_ignored() {
    for last in
        ["_EMBEDDED_FILE_INDEX", "_FILE_SOURCE", "_VALUE_STATS_COLS", "_EXTERNAL_PATH", "_FIRST_ROW_ID", "_LATER"]
    {
        let read = read_all(avro(&manifest_fields(last), &[entry("a")])).unwrap();
        assert_eq!(read.file(0).unwrap(), entries(&[entry("a")]).file(0).unwrap(), "{last}");
    }
    let missing = avro(&manifest_fields("_LEVEL"), &[entry("a")]);
    assert_eq!(read_all(missing).unwrap_err().kind(), ErrorKind::CorruptManifest);
}

#[test]
fn statistics_that_are_not_wanted_are_null() {
    let record = with(entry("a"), "/_FILE/_VALUE_STATS_COLS", json!([]));
    let file = avro(&manifest_fields("_LATER"), &[record]);
    let read = read(file, WantedFields::FILES, &Context::default()).unwrap();
    assert!(read.key_stats().min.is_null(0) && read.value_stats().max.is_null(0));
    assert!(read.value_stats().null_counts.is_null(0) && read.value_stats_cols().is_null(0));
    assert_eq!(names(&ManifestEntries::concat(&[read, entries(&[entry("b")])]).unwrap()), ["a", "b"]);
}

#[test]
fn invalid_index_manifest_entries_are_rejected() {
    for (path, value) in [
        ("/_KIND", json!(2)),
        ("/_KIND", json!(-1)),
        ("/_BUCKET", json!(-3)),
        ("/_BUCKET", json!(-1)),
        ("/_FILE/_FILE_SIZE", json!(-1)),
        ("/_FILE/_ROW_COUNT", json!(-1)),
        ("/_FILE/_LEVEL", json!(-1)),
        ("/_FILE/_DELETE_ROW_COUNT", json!(-1)),
        ("/_FILE/_FILE_NAME", json!("../b")),
        ("/_FILE/_EXTRA_FILES", json!(["b.index", "../b.index"])),
    ] {
        let error =
            read_all(avro(&manifest_fields("_LATER"), &[entry("a"), with(entry("b"), path, value)])).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::CorruptManifest, "{path}: {error}");
    }
    let version = avro(&manifest_fields("_LATER"), &[with(entry("a"), "/_VERSION", 1)]);
    assert_eq!(read_all(version).unwrap_err().kind(), ErrorKind::Unsupported);
    let mut fields = manifest_fields("_LATER");
    fields[1]["type"] = json!(["null", "int"]);
    let null = avro(&fields, &[with(entry("a"), "/_KIND", Json::Null)]);
    assert_eq!(read_all(null).unwrap_err().kind(), ErrorKind::CorruptManifest);
    for bytes in [&b""[..], b"Obj", b"ORC", b"PAR1", b"{}"] {
        assert_eq!(read_all(Bytes::from_static(bytes)).unwrap_err().kind(), ErrorKind::CorruptManifest, "{bytes:?}");
    }
}

#[test]
fn a_delete_takes_its_add_away() {
    let upgraded = |level: i32| with(entry("b"), "/_FILE/_LEVEL", level);
    let all = entries(&[entry("a"), upgraded(0), entry("c"), deleted(upgraded(0)), upgraded(5), deleted(entry("a"))]);
    let live = all.clone().live().unwrap();
    assert_eq!(names(&live), ["c", "b"]);
    assert_eq!(live.levels().values(), &[0, 5]);
    assert_eq!(names(&all.fold().unwrap()), ["c", "b"]);
    assert_eq!(names(&entries(&[entry("a"), deleted(entry("a")), entry("a")]).live().unwrap()), ["a"]);
    assert!(entries(&[]).live().unwrap().is_empty());
}

#[test]
fn a_delta_on_its_own_keeps_its_delete_entries() {
    let delta = entries(&[deleted(entry("a")), entry("b"), entry("c"), deleted(entry("b"))]);
    assert_eq!(names(&delta.clone().fold().unwrap()), ["-a", "c"]);
    let error = delta.live().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::CorruptManifest);
    assert!(error.to_string().contains("data_file: a"), "{error}");
}

#[test]
fn each_part_of_the_identity_tells_files_apart() {
    for (path, value) in [
        ("/_PARTITION", json!([0, 0, 0, 1])),
        ("/_BUCKET", json!(1)),
        ("/_FILE/_LEVEL", json!(1)),
        ("/_FILE/_FILE_NAME", json!("b")),
        ("/_FILE/_EXTRA_FILES", json!(["x"])),
        ("/_FILE/_EMBEDDED_FILE_INDEX", json!([])),
        ("/_FILE/_EXTERNAL_PATH", json!("")),
    ] {
        let other = with(entry("a"), path, value);
        assert_eq!(entries(&[entry("a"), other.clone()]).live().unwrap().len(), 2, "{path}");
        assert!(entries(&[entry("a"), deleted(other.clone())]).live().is_err(), "{path}");
        assert!(entries(&[other.clone(), other]).live().is_err(), "{path}");
    }
    let same = with(with(entry("a"), "/_FILE/_ROW_COUNT", 11), "/_TOTAL_BUCKETS", 4);
    assert!(entries(&[entry("a"), deleted(same)]).live().unwrap().is_empty());
}

#[test]
fn nothing_happens_twice() {
    for bad in [
        vec![entry("a"), entry("a")],
        vec![deleted(entry("a")), deleted(entry("a"))],
        vec![deleted(entry("a")), entry("a")],
    ] {
        let bad = entries(&bad);
        assert_eq!(bad.clone().fold().unwrap_err().kind(), ErrorKind::CorruptManifest);
        assert_eq!(bad.live().unwrap_err().kind(), ErrorKind::CorruptManifest);
    }
}

#[test]
fn entries_are_chosen_and_joined() {
    let all = entries(&[entry("a"), entry("b"), entry("c")]);
    let kept = all.filter(&BooleanArray::from(vec![true, false, true])).unwrap();
    assert_eq!(names(&kept), ["a", "c"]);
    assert_eq!(names(&all.take(&UInt32Array::from(vec![2, 0, 2])).unwrap()), ["c", "a", "c"]);
    assert!(all.take(&UInt32Array::from(vec![3])).is_err());
    assert_eq!(names(&all.slice(1..9).unwrap()), ["b", "c"]);
    assert_eq!(names(&ManifestEntries::concat(&[kept, all]).unwrap()), ["a", "c", "a", "b", "c"]);
    assert!(ManifestEntries::concat(&[]).unwrap().is_empty());
}

#[test]
fn orc_gives_the_same_columns() {
    let orc = read_all(Bytes::from_static(ORC)).unwrap();
    assert!(!orc.is_empty());
    assert_eq!(orc.batch.schema(), entries(&[]).batch.schema());
    let file = orc.file(0).unwrap();
    assert!(file.file_name.starts_with("data-") && file.creation_time_ms.is_some_and(|time| time > 1_700_000_000_000));
    for cut in (1..ORC.len()).step_by(97) {
        let _ = read_all(Bytes::from_static(&ORC[..cut])).unwrap_err();
    }
}

#[test]
fn parquet_gives_the_same_entries() {
    let avro = avro(
        &manifest_fields("_WRITE_COLS"),
        &[
            with(entry("a"), "/_FILE/_EXTRA_FILES", json!(["x", "y"])),
            with(deleted(entry("b")), "/_FILE/_VALUE_STATS/_NULL_COUNTS", json!([null, 3])),
            with(entry("c"), "/_FILE/_CREATION_TIME", 1_700_000_000_123_i64),
        ],
    );
    let file = AvroFile::open(avro.clone()).unwrap();
    let batch = file.read(&Projection::natural(file.schema()).unwrap(), &Context::default()).unwrap();
    let mut writer = parquet::arrow::ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    let parquet = Bytes::from(writer.into_inner().unwrap());
    let (from_avro, from_parquet) = (read_all(avro).unwrap(), read_all(parquet.clone()).unwrap());
    assert_eq!(from_avro.batch, from_parquet.batch);
    for cut in (1..parquet.len()).step_by(97) {
        let _ = read_all(parquet.slice(..cut)).unwrap_err();
    }
}

#[test]
fn budget_and_cancellation_are_respected() {
    let file = avro(&manifest_fields("_LATER"), &[entry("a")]);
    for bytes in [file, Bytes::from_static(ORC)] {
        let poor = Context::new(Budget::new(10));
        assert_eq!(read(bytes.clone(), WantedFields::ALL, &poor).unwrap_err().kind(), ErrorKind::LimitExceeded);
        let cancelled = Context::default();
        cancelled.cancel();
        assert_eq!(read(bytes, WantedFields::ALL, &cancelled).unwrap_err().kind(), ErrorKind::Cancelled);
    }
}
