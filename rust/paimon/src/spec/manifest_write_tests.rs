use frazil_core::context::Context;

use super::super::manifest::{DELETE, WantedFields, read};
use super::super::testing::{entry, golden_files, manifest_fields, with};
use super::*;

fn all(bytes: Vec<u8>) -> ManifestEntries {
    read(bytes.into(), WantedFields::ALL, &Context::default()).unwrap()
}

fn written(entries: &ManifestEntries, codec: Codec) -> (ManifestFileMeta, Bytes) {
    let mut writer = ManifestWriter::try_new(codec).unwrap();
    // Entries are written in several batches.
    for start in (0..entries.len()).step_by(3) {
        writer.write(&entries.slice(start..start + 3).unwrap()).unwrap();
    }
    writer.finish("m".into(), SimpleStats::default()).unwrap()
}

fn is_manifest(name: &str) -> bool {
    name.starts_with("manifest-") && !name.starts_with("manifest-list-")
}

#[test]
fn golden_manifests_are_written_as_they_were_read() {
    let mut count = 0;
    for (path, bytes) in golden_files(is_manifest) {
        let entries = all(bytes);
        for codec in [Codec::Zstandard, Codec::Null] {
            let (_, bytes) = written(&entries, codec);
            assert_eq!(all(bytes.into()).batch(), entries.batch(), "{}", path.display());
        }
        count += 1;
    }
    assert!(count > 100, "{count} manifests");
}

#[test]
fn the_schema_is_that_of_java() {
    let (path, java) = golden_files(is_manifest)
        .into_iter()
        .find(|(path, _)| path.to_string_lossy().contains("cast_not_null"))
        .unwrap();
    let (_, ours) = written(&all(java.clone()), Codec::Zstandard);
    let text = |bytes: &[u8]| {
        let start = bytes.windows(8).position(|part| part == br#"{"type":"#).unwrap();
        let mut values = serde_json::Deserializer::from_slice(&bytes[start..]).into_iter::<serde_json::Value>();
        values.next().unwrap().unwrap()
    };
    assert_eq!(text(&ours), text(&java), "{}", path.display());
}

#[test]
fn deleted_files_keep_their_statistics() {
    let stats = serde_json::json!([null, 4]);
    let record = with(entry("a"), "/_FILE/_VALUE_STATS/_NULL_COUNTS", stats);
    let record = with(record, "/_FILE/_VALUE_STATS/_MIN_VALUES", serde_json::json!([0, 0, 0, 2, 7, 7]));
    let added = all(super::super::testing::avro(&manifest_fields("_WRITE_COLS"), &[record]).into());
    let deleted = added.with_kind(DELETE).unwrap();
    assert_eq!(deleted.kinds().values(), &[DELETE]);
    let (meta, bytes) = written(&deleted, Codec::Zstandard);
    assert_eq!((meta.num_added_files, meta.num_deleted_files), (0, 1));
    let read = all(bytes.into());
    assert_eq!(read.batch(), deleted.batch());
    assert_eq!(read.with_kind(ADD).unwrap().batch(), added.batch());
}

#[test]
fn entries_without_statistics_and_empty_manifests_are_not_written() {
    let file = super::super::testing::avro(&manifest_fields("_WRITE_COLS"), &[entry("a")]);
    let entries = read(file, WantedFields::FILES, &Context::default()).unwrap();
    let mut writer = ManifestWriter::try_new(Codec::Null).unwrap();
    assert!(writer.write(&entries).is_err());
    assert!(ManifestWriter::try_new(Codec::Null).unwrap().finish("m".into(), SimpleStats::default()).is_err());
}

#[test]
fn row_ids_are_listed_when_all_files_have_them() {
    let file = |name: &str, first: Option<i64>| with(entry(name), "/_FILE/_FIRST_ROW_ID", serde_json::json!(first));
    for (files, expected) in [
        (vec![file("a", Some(20)), file("b", Some(5))], (Some(5), Some(29))),
        (vec![file("a", Some(20)), file("b", None)], (None, None)),
    ] {
        let entries = all(super::super::testing::avro(&manifest_fields("_WRITE_COLS"), &files).into());
        let (meta, _) = written(&entries, Codec::Null);
        assert_eq!((meta.min_row_id, meta.max_row_id), expected);
    }
}
