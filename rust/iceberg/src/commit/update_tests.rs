use serde_json::json;

use super::*;

fn table(version: u8) -> TableMetadata {
    let mut table = json!({
        "format-version": version, "table-uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1", "location": "/t",
        "last-sequence-number": 0, "last-updated-ms": 1_000_000, "last-column-id": 2, "current-schema-id": 0,
        "schemas": [{"type": "struct", "schema-id": 0, "fields": [
            {"id": 1, "name": "id", "required": true, "type": "long"},
            {"id": 2, "name": "ts", "required": false, "type": "timestamp"}]}],
        "default-spec-id": 0, "partition-specs": [{"spec-id": 0, "fields": []}], "last-partition-id": 999,
        "default-sort-order-id": 0, "sort-orders": [{"order-id": 0, "fields": []}], "properties": {}
    });
    if version == 3 {
        table["next-row-id"] = json!(0);
    } else if version == 1 {
        table["schema"] = table["schemas"][0].clone();
        table["partition-spec"] = json!([]);
    }
    TableMetadata::parse(table.to_string().as_bytes()).unwrap()
}

fn snapshot(id: i64, parent: Option<i64>, sequence_number: i64, timestamp_ms: i64) -> Snapshot {
    Snapshot {
        snapshot_id: id,
        parent_snapshot_id: parent,
        sequence_number,
        timestamp_ms,
        manifest_list: Some("m".into()),
        manifests: None,
        summary: crate::spec::snapshot::Summary::default(),
        schema_id: Some(0),
        first_row_id: None,
        added_rows: None,
        key_id: None,
    }
}

fn schema(fields: &str) -> Schema {
    Schema::from_json(&format!(r#"{{"type": "struct", "schema-id": 77, "fields": [{fields}]}}"#)).unwrap()
}

fn spec(fields: &str) -> PartitionSpec {
    PartitionSpec::from_json(&format!(r#"{{"spec-id": 77, "fields": [{fields}]}}"#)).unwrap()
}

fn applied(metadata: TableMetadata, updates: impl IntoIterator<Item = TableUpdate>) -> Result<TableMetadata> {
    let mut builder = MetadataBuilder::new(metadata, 2_000_000);
    for update in updates {
        builder.apply(update)?;
    }
    // The built state is read back unchanged: a state that our own reader rejects must never be written.
    let (built, _) = builder.build(None)?;
    let bytes = built.to_bytes(crate::spec::metadata_write::MetadataCodec::None)?;
    TableMetadata::parse(&bytes)
}

fn commit(id: i64, parent: Option<i64>, sequence_number: i64, timestamp_ms: i64) -> [TableUpdate; 2] {
    let set = TableUpdate::SetRef(MAIN_BRANCH.to_string(), SnapshotRef::branch(id));
    [TableUpdate::AddSnapshot(snapshot(id, parent, sequence_number, timestamp_ms)), set]
}

#[test]
fn a_commit_moves_main_and_is_logged() {
    let table = applied(table(2), commit(10, None, 1, 1_500_000)).unwrap();
    let table = applied(table, commit(20, Some(10), 2, 1_600_000)).unwrap();
    assert_eq!((table.current_snapshot_id, table.last_sequence_number), (Some(20), 2));
    assert_eq!(table.last_updated_ms, 2_000_000);
    let log: Vec<_> = table.snapshot_log.iter().map(|entry| (entry.timestamp_ms, entry.snapshot_id)).collect();
    assert_eq!(log, [(1_500_000, 10), (1_600_000, 20)]);
    // Setting an old snapshot again is logged with the time of the change, so that "as of" queries find it.
    let back = applied(table, [TableUpdate::SetRef(MAIN_BRANCH.into(), SnapshotRef::branch(10))]).unwrap();
    assert_eq!(back.snapshot_as_of(2_000_000).unwrap().snapshot_id, 10);
    assert_eq!(back.snapshot_as_of(1_999_999).unwrap().snapshot_id, 20);
}

#[test]
fn intermediate_snapshots_of_a_commit_are_not_logged() {
    let both = commit(10, None, 1, 1_500_000).into_iter().chain(commit(20, Some(10), 2, 1_500_000));
    let table = applied(table(2), both).unwrap();
    assert_eq!(table.snapshots.len(), 2);
    assert_eq!(table.snapshot_log.iter().map(|entry| entry.snapshot_id).collect::<Vec<_>>(), [20]);
}

#[test]
fn snapshots_that_cannot_follow_are_refused() {
    let one = applied(table(2), commit(10, None, 1, 1_500_000)).unwrap();
    let refused = |snapshot: Snapshot| {
        let error = applied(one.clone(), [TableUpdate::AddSnapshot(snapshot)]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::CommitValidation);
        error.to_string()
    };
    assert!(refused(snapshot(10, Some(10), 2, 1_600_000)).contains("the table already has a snapshot with this id"));
    assert!(refused(snapshot(20, Some(10), 1, 1_600_000)).contains("sequence number 1 is not greater than 1"));
    assert!(
        refused(snapshot(20, Some(10), 2, 1_000)).contains("timestamp 1000 ms is before that of the current snapshot")
    );
    let main = TableUpdate::SetRef(MAIN_BRANCH.into(), SnapshotRef::branch(99));
    assert_eq!(applied(one, [main]).unwrap_err().kind(), ErrorKind::NoSuchSnapshot);
}

#[test]
fn row_ids_of_v3_are_given_out_once() {
    let with_rows = |id, parent, first, added| {
        let mut snapshot = snapshot(id, parent, id / 10, 1_500_000);
        (snapshot.first_row_id, snapshot.added_rows) = (Some(first), Some(added));
        TableUpdate::AddSnapshot(snapshot)
    };
    let one = applied(table(3), [with_rows(10, None, 0, 5)]).unwrap();
    assert_eq!(one.next_row_id, Some(5));
    assert_eq!(applied(one.clone(), [with_rows(20, Some(10), 5, 2)]).unwrap().next_row_id, Some(7));
    for refused in [with_rows(20, Some(10), 4, 2), with_rows(20, Some(10), 5, -1), with_rows(20, Some(10), i64::MAX, 1)]
    {
        assert_eq!(applied(one.clone(), [refused]).unwrap_err().kind(), ErrorKind::CommitValidation);
    }
    let without = TableUpdate::AddSnapshot(snapshot(20, Some(10), 2, 1_500_000));
    assert_eq!(applied(one, [without]).unwrap_err().kind(), ErrorKind::CommitValidation);
}

#[test]
fn format_version_can_only_be_upgraded() {
    let upgraded = applied(table(1), [TableUpdate::UpgradeFormatVersion(2)]).unwrap();
    assert_eq!((upgraded.format_version, upgraded.next_row_id), (2, None));
    let upgraded = applied(upgraded, [TableUpdate::UpgradeFormatVersion(3)]).unwrap();
    assert_eq!((upgraded.format_version, upgraded.next_row_id), (3, Some(0)));
    let down = applied(upgraded.clone(), [TableUpdate::UpgradeFormatVersion(2)]).unwrap_err();
    assert_eq!(down.kind(), ErrorKind::InvalidArgument);
    let beyond = applied(upgraded, [TableUpdate::UpgradeFormatVersion(4)]).unwrap_err();
    assert_eq!(beyond.kind(), ErrorKind::Unsupported);
}

#[test]
fn equal_schemas_and_specs_keep_their_ids() {
    let wider = r#"{"id": 1, "name": "id", "required": true, "type": "long"},
        {"id": 2, "name": "ts", "required": false, "type": "timestamp"},
        {"id": 5, "name": "x", "required": false, "type": "int"}"#;
    let original = table(2);
    let first = original.current_schema().unwrap().as_ref().clone();
    let add = |schema| [TableUpdate::AddSchema(schema), TableUpdate::SetCurrentSchema(LAST_ADDED)];
    let changed = applied(original, add(schema(wider))).unwrap();
    assert_eq!((changed.current_schema_id, changed.last_column_id, changed.schemas.len()), (1, 5, 2));
    let back = applied(changed, add(first)).unwrap();
    assert_eq!((back.current_schema_id, back.last_column_id, back.schemas.len()), (0, 5, 2));

    let bucket = r#"{"name": "b", "transform": "bucket[4]", "source-id": 1, "field-id": 1000}"#;
    let add = |spec| [TableUpdate::AddSpec(spec), TableUpdate::SetDefaultSpec(LAST_ADDED)];
    let changed = applied(back, add(spec(bucket))).unwrap();
    assert_eq!((changed.default_spec_id, changed.last_partition_id), (1, 1000));
    let back = applied(changed, add(spec(""))).unwrap();
    assert_eq!((back.default_spec_id, back.partition_specs.len(), back.last_partition_id), (0, 2, 1000));
}

#[test]
fn specs_of_v1_count_their_fields_from_1000() {
    let gap = r#"{"name": "b", "transform": "bucket[4]", "source-id": 1, "field-id": 1001}"#;
    assert!(applied(table(2), [TableUpdate::AddSpec(spec(gap))]).is_ok());
    let error = applied(table(1), [TableUpdate::AddSpec(spec(gap))]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
}

#[test]
fn a_column_that_a_partition_needs_cannot_be_dropped() {
    let bucket = r#"{"name": "b", "transform": "bucket[4]", "source-id": 1, "field-id": 1000}"#;
    let updates = [
        TableUpdate::AddSpec(spec(bucket)),
        TableUpdate::SetDefaultSpec(LAST_ADDED),
        TableUpdate::AddSchema(schema(r#"{"id": 2, "name": "ts", "required": false, "type": "timestamp"}"#)),
        TableUpdate::SetCurrentSchema(LAST_ADDED),
    ];
    assert_eq!(applied(table(2), updates).unwrap_err().kind(), ErrorKind::InvalidArgument);
}

#[test]
fn removed_snapshots_take_references_statistics_and_history_with_them() {
    let mut now = table(2);
    for (id, parent) in [(10, None), (20, Some(10)), (30, Some(20)), (40, Some(30))] {
        now = applied(now, commit(id, parent, id / 10, 1_500_000 + id)).unwrap();
    }
    let tag = SnapshotRef { kind: RefKind::Tag, ..SnapshotRef::branch(20) };
    let statistics = PartitionStatisticsFile { snapshot_id: 20, path: "p".into(), file_size_bytes: 1 };
    now =
        applied(now, [TableUpdate::SetRef("t".into(), tag), TableUpdate::SetPartitionStatistics(statistics)]).unwrap();
    let after = applied(now.clone(), [TableUpdate::RemoveSnapshots(vec![20])]).unwrap();
    assert_eq!(after.snapshots.iter().map(|s| s.snapshot_id).collect::<Vec<_>>(), [10, 30, 40]);
    assert_eq!(after.snapshot_log.iter().map(|entry| entry.snapshot_id).collect::<Vec<_>>(), [30, 40]);
    assert!(!after.refs.contains_key("t") && after.partition_statistics.is_empty());
    let current = applied(now, [TableUpdate::RemoveSnapshots(vec![40])]).unwrap_err();
    assert_eq!(current.kind(), ErrorKind::InvalidArgument);
}

#[test]
fn the_log_of_earlier_states_is_kept_short() {
    let mut now = table(2);
    now.properties.insert("write.metadata.previous-versions-max".into(), "2".into());
    let mut fallen = Vec::new();
    for i in 0..4 {
        let previous = MetadataLogEntry { timestamp_ms: i, metadata_file: format!("v{i}") };
        let (built, dropped) = MetadataBuilder::new(now, 5).build(Some(previous)).unwrap();
        fallen.extend(dropped.into_iter().map(|entry| entry.metadata_file));
        now = built;
    }
    assert_eq!(fallen, ["v0", "v1"]);
    assert_eq!(now.metadata_log.iter().map(|entry| entry.metadata_file.as_str()).collect::<Vec<_>>(), ["v2", "v3"]);
    assert_eq!(now.last_updated_ms, 1_000_000, "never back in time");
}

#[test]
fn the_id_of_a_table_never_changes() {
    let same = "9C12D441-03FE-4693-9A96-A0705DDF69C1".to_string();
    assert!(applied(table(2), [TableUpdate::AssignUuid(same)]).is_ok());
    let other = applied(table(2), [TableUpdate::AssignUuid("other".into())]).unwrap_err();
    assert_eq!(other.kind(), ErrorKind::InvalidArgument);
}
