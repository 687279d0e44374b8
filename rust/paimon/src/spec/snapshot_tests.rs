use serde_json::json;

use super::*;

const TAG: &str = r#"{"version" : 3, "uuid": "7d5f", "id" : 2, "schemaId" : 1,
  "baseManifestList" : "manifest-list-a-0", "baseManifestListSize" : 1113,
  "deltaManifestList" : "manifest-list-a-1", "deltaManifestListSize" : 1114,
  "changelogManifestList" : "manifest-list-a-2", "changelogManifestListSize": 9, "indexManifest": "index-manifest-0",
  "commitUser" : "golden", "commitIdentifier" : 9223372036854775807, "commitKind" : "OVERWRITE",
  "timeMillis" : 1795238958115, "logOffsets": {"0": 5}, "totalRecordCount" : 10, "deltaRecordCount" : -5,
  "changelogRecordCount": 3, "watermark": 77, "statistics": "stat-0", "properties": {"a": "b"}, "nextRowId" : 0,
  "operation": "MERGE", "writerVersion": "2.0",
  "tagCreateTime" : [ 2026, 11, 21, 5, 29, 18, 314260304 ], "tagTimeRetained" : 0.001000000}"#;

/// Returns the tag with replaced members; `null` removes a member.
fn with(changes: &Value) -> Result<Snapshot> {
    let mut tag: Value = serde_json::from_str(TAG).unwrap();
    for (key, value) in changes.as_object().unwrap() {
        tag[key] = value.clone();
    }
    Snapshot::parse(tag.to_string().as_bytes())
}

#[test]
fn every_member_is_read() {
    let text = |text: &str| text.to_string();
    let expected = Snapshot {
        version: 3,
        id: 2,
        uuid: Some(text("7d5f")),
        schema_id: 1,
        base_manifest_list: text("manifest-list-a-0"),
        base_manifest_list_size_bytes: Some(1113),
        delta_manifest_list: text("manifest-list-a-1"),
        delta_manifest_list_size_bytes: Some(1114),
        changelog_manifest_list: Some(text("manifest-list-a-2")),
        changelog_manifest_list_size_bytes: Some(9),
        index_manifest: Some(text("index-manifest-0")),
        commit_user: text("golden"),
        commit_identifier: i64::MAX,
        commit_kind: CommitKind::Overwrite,
        time_ms: 1_795_238_958_115,
        total_record_count: Some(10),
        delta_record_count: Some(-5),
        changelog_record_count: Some(3),
        watermark: Some(77),
        statistics: Some(text("stat-0")),
        properties: [(text("a"), text("b"))].into(),
        next_row_id: Some(0),
        operation: Some(text("MERGE")),
        writer_version: Some(text("2.0")),
        tag_create_time_us: Some(1_795_238_958_314_260),
        tag_time_retained_ms: Some(1),
    };
    assert_eq!(Snapshot::parse(TAG.as_bytes()).unwrap(), expected);
}

#[test]
fn the_first_releases_wrote_less() {
    let text = br#"{"id": 1, "schemaId": 0, "baseManifestList": "b", "deltaManifestList": "d", "commitUser": "u",
        "commitIdentifier": 1, "commitKind": "APPEND", "timeMillis": 5, "logOffsets": {}}"#;
    let snapshot = Snapshot::parse(text).unwrap();
    assert_eq!((snapshot.version, snapshot.total_record_count, snapshot.index_manifest), (1, None, None));
    assert_eq!(with(&json!({"version": 2, "totalRecordCount": null})).unwrap().version, 2);
}

#[test]
fn minimum_watermark_is_none() {
    assert_eq!(with(&json!({"watermark": i64::MIN})).unwrap().watermark, None);
    assert_eq!(with(&json!({"watermark": -1})).unwrap().watermark, Some(-1));
}

#[test]
fn commit_kinds_have_names() {
    for kind in [CommitKind::Append, CommitKind::Compact, CommitKind::Overwrite, CommitKind::Analyze] {
        assert_eq!(with(&json!({"commitKind": kind.name()})).unwrap().commit_kind, kind);
    }
}

#[test]
fn times_of_tags_have_three_to_seven_parts() {
    let day_us = 86_400_000_000;
    for (value, us) in [
        (json!([1970, 1, 2]), day_us),
        (json!([1970, 1, 2, 0, 0]), day_us),
        (json!([1970, 1, 2, 3, 4]), day_us + (3 * 60 + 4) * 60_000_000),
        (json!([1970, 1, 1, 0, 0, 7]), 7_000_000),
        (json!([1970, 1, 1, 0, 0, 0, 1_999]), 1),
        (json!([1969, 12, 31, 23, 59, 59, 999_999_999]), -1),
        (json!("1970-01-01T00:00:00.25"), 250_000),
    ] {
        assert_eq!(with(&json!({"tagCreateTime": value})).unwrap().tag_create_time_us, Some(us), "{value}");
    }
    for (value, ms) in [(json!(315_360_000.0), 315_360_000_000), (json!(5), 5000), (json!("PT1H30M"), 5_400_000)] {
        assert_eq!(with(&json!({"tagTimeRetained": value})).unwrap().tag_time_retained_ms, Some(ms), "{value}");
    }
}

#[test]
fn newer_versions_and_kinds_are_named() {
    let error = with(&json!({"version": 4})).unwrap_err();
    assert_eq!((error.kind(), error.message()), (ErrorKind::Unsupported, "snapshot version 4 is not supported"));
    let error = with(&json!({"commitKind": "MERGE"})).unwrap_err();
    assert_eq!((error.kind(), error.message()), (ErrorKind::Unsupported, "the commit kind `MERGE` is not supported"));
}

#[test]
fn snapshots_violating_the_specification_are_corrupt() {
    for changes in [
        json!({"version": 0}),
        json!({"version": "3"}),
        json!({"id": -1}),
        json!({"id": null}),
        json!({"schemaId": null}),
        json!({"schemaId": -1}),
        json!({"baseManifestList": null}),
        json!({"deltaManifestList": ""}),
        json!({"baseManifestList": "../../other/manifest/m"}),
        json!({"indexManifest": ".."}),
        json!({"statistics": 5}),
        json!({"timeMillis": 1.5}),
        json!({"timeMillis": null}),
        json!({"commitKind": null}),
        json!({"totalRecordCount": "10"}),
        json!({"properties": [1]}),
        json!({"tagCreateTime": [2026, 13, 1]}),
        json!({"tagCreateTime": [2026]}),
        json!({"tagCreateTime": [2026, 1, 1, 0, 0, 0, 0, 0]}),
        json!({"tagCreateTime": [99999, 1, 1]}),
        json!({"tagCreateTime": 5}),
        json!({"tagTimeRetained": "soon"}),
        json!({"tagTimeRetained": 1e300}),
        json!({"tagTimeRetained": []}),
    ] {
        let error = with(&changes).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::CorruptMetadata, "{changes}: {error}");
    }
    for end in 0..TAG.len() {
        assert_eq!(Snapshot::parse(&TAG.as_bytes()[..end]).unwrap_err().kind(), ErrorKind::CorruptMetadata);
    }
}
