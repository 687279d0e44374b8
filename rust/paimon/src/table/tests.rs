use bytes::Bytes;
use frazil_core::storage::{MemoryStorage, Storage};
use rstest::rstest;

use super::*;
use crate::spec::options::Options;
use crate::spec::snapshot::CommitKind;

const ROOT: &str = "s3://bucket/d.db/t";

/// A table of files: `path` or `path=content`. The end of a path determines the default content.
struct Made {
    storage: Arc<MemoryStorage>,
    files: Files,
}

fn files(entries: &[&str]) -> Made {
    let storage = Arc::new(MemoryStorage::default());
    let files = Files::below(storage.clone(), ROOT).unwrap();
    let made = Made { storage, files };
    for entry in entries {
        made.put(entry);
    }
    made
}

impl Made {
    fn put(&self, entry: &str) {
        let (path, content) = match entry.split_once('=') {
            Some((path, content)) => (path, content.to_string()),
            None => (entry, default_content(entry)),
        };
        self.storage.put(&format!("{ROOT}/{path}"), Bytes::from(content)).unwrap();
    }

    fn delete(&self, path: &str) {
        self.storage.delete(&format!("{ROOT}/{path}")).unwrap();
    }

    fn open(&self) -> Table {
        Table::open(&self.files, ROOT, None).unwrap()
    }
}

fn default_content(path: &str) -> String {
    let number = path.rsplit_once('-').and_then(|(_, number)| number.parse().ok()).unwrap_or(1);
    if path.contains("schema/") { schema(number, "v") } else { snapshot(number, "APPEND", "") }
}

fn schema(id: i64, column: &str) -> String {
    format!(
        r#"{{"version": 3, "id": {id}, "highestFieldId": 0, "partitionKeys": [], "primaryKeys": [],
            "fields": [{{"id": 0, "name": "{column}", "type": "INT"}}], "options": {{"o": "{id}"}}}}"#
    )
}

/// Returns a snapshot whose commit time is 1000 times its id.
fn snapshot(id: i64, kind: &str, more: &str) -> String {
    format!(
        r#"{{"version": 3, "id": {id}, "schemaId": 0, "baseManifestList": "b{id}", "deltaManifestList": "d{id}",
            "commitUser": "u", "commitIdentifier": {id}, "commitKind": "{kind}", "timeMillis": {id}000{more}}}"#
    )
}

fn options(given: &[(&str, &str)]) -> Options {
    Options::new(given.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect())
}

fn latest(table: &Table) -> Option<i64> {
    table.latest_snapshot().unwrap().map(|snapshot| snapshot.id)
}

#[test]
fn a_table_is_where_a_schema_file_is() {
    let table = files(&["schema/schema-0", "schema/schema-2", "schema/schema-10", "schema/.schema-11.tmp"]).open();
    assert_eq!((table.schema().id, table.branch(), table.location()), (10, "main", ROOT));
    assert_eq!(table.schema_ids().unwrap(), [0, 2, 10]);
    for nothing in [&[][..], &["snapshot/snapshot-1"], &["schema/schema-x"], &["schema/schema-01"]] {
        let error = Table::open(&files(nothing).files, ROOT, None).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NoSuchTable, "{nothing:?}");
    }
    assert_eq!(Table::open(&files(&["schema/schema-0"]).files, &format!("{ROOT}/"), None).unwrap().location(), ROOT);
}

#[rstest]
#[case::empty("schema/schema-1=")]
#[case::torn("schema/schema-1={\"version\": 3, \"id\"")]
#[case::of_another_id("schema/schema-1={\"version\":3,\"id\":0,\"fields\":[],\"highestFieldId\":-1}")]
fn the_newest_schema_counts_even_when_it_is_broken(#[case] entry: &str) {
    let error = Table::open(&files(&["schema/schema-0", entry]).files, ROOT, None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::CorruptMetadata);
    assert!(error.to_string().contains("schema-1"), "{error}");
}

#[rstest]
#[case::right("3")]
#[case::with_white_space(" 3\n")]
#[case::stale("1")]
#[case::of_a_file_that_is_gone("2")]
#[case::beyond_the_end("9")]
#[case::empty("")]
#[case::garbage("three")]
#[case::torn("-")]
#[case::negative("-3")]
#[case::too_long("99999999999999999999")]
#[case::a_page("0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000003")]
#[case::greatest("9223372036854775807")]
#[case::no_text("\u{0}\u{1}")]
fn hints_never_change_the_result(#[case] hint: &str) {
    let made = files(&["schema/schema-0", "snapshot/snapshot-1", "snapshot/snapshot-3"]);
    let table = made.open();
    assert_eq!(latest(&table), Some(3), "no hint");
    assert_eq!(table.earliest_snapshot_id().unwrap(), Some(1), "no hint");
    made.put(&format!("snapshot/LATEST={hint}"));
    // `EARLIEST` is trusted if its file exists.
    made.put(&format!("snapshot/EARLIEST={}", if hint.trim() == "3" { "1" } else { hint }));
    if hint != "1" {
        assert_eq!(table.earliest_snapshot_id().unwrap(), Some(1));
    }
    // A hint of 1 would be valid if the next number did not exist: numbers have no gaps.
    made.put("snapshot/snapshot-2");
    assert_eq!(latest(&table), Some(3));
}

#[test]
fn a_hint_saves_the_listing_and_may_point_over_a_gap() {
    let made = files(&["schema/schema-0", "snapshot/snapshot-1", "snapshot/snapshot-3", "snapshot/LATEST=1"]);
    assert_eq!(latest(&made.open()), Some(1));
    made.put("snapshot/EARLIEST=3");
    assert_eq!(made.open().earliest_snapshot_id().unwrap(), Some(3));
}

#[test]
fn a_table_without_snapshots_has_none() {
    let made = files(&["schema/schema-0", "snapshot/LATEST=5", "snapshot/EARLIEST=5", "snapshot/.snapshot-1.x.tmp"]);
    let table = made.open();
    assert_eq!(latest(&table), None);
    assert_eq!(table.earliest_snapshot_id().unwrap(), None);
    assert_eq!(table.choose(&SnapshotChoice::Latest, &Options::default()).unwrap(), None);
    let error = table.snapshot(1).unwrap_err();
    assert_eq!((error.kind(), error.hint_text()), (ErrorKind::NoSuchSnapshot, Some("none exist")));
    assert_eq!(table.choose(&SnapshotChoice::AsOf(5), &Options::default()).unwrap_err().kind(), error.kind());
}

#[test]
fn a_snapshot_that_is_missing_names_the_range_that_exists() {
    let table = files(&["schema/schema-0", "snapshot/snapshot-4", "snapshot/snapshot-5", "snapshot/snapshot-6"]).open();
    assert_eq!(table.snapshot(5).unwrap().id, 5);
    for id in [3, 7, -1, i64::MIN] {
        let error = table.snapshot(id).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NoSuchSnapshot);
        assert!(error.to_string().contains("4 to 6"), "{error}");
    }
}

#[test]
fn a_file_holds_the_snapshot_of_its_name() {
    let wrong = format!("snapshot/snapshot-2={}", snapshot(1, "APPEND", ""));
    let table = files(&["schema/schema-0", &wrong, "snapshot/snapshot-3="]).open();
    for id in [2, 3] {
        let error = table.snapshot(id).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::CorruptMetadata);
        assert!(error.to_string().contains(&format!("snapshot-{id}")), "{error}");
    }
}

#[test]
fn branches_have_their_own_metadata() {
    let entries = [
        "schema/schema-0",
        "snapshot/snapshot-4",
        "tag/tag-t2",
        "branch/branch-b/schema/schema-1",
        "branch/branch-b/snapshot/snapshot-2",
        "branch/branch-b/tag/tag-t1",
        "branch/branch-x/snapshot/snapshot-2",
        "branch/branch-/schema/schema-0",
        "branch/b/schema/schema-0",
    ];
    let main = files(&entries).open();
    let branch = main.with_branch("b").unwrap();
    assert_eq!((branch.branch(), branch.location(), branch.schema().id), ("b", ROOT, 1));
    assert_eq!((latest(&main), latest(&branch)), (Some(4), Some(2)));
    assert!(branch.tag("t1").is_ok() && branch.tag("t2").is_err() && main.tag("t2").is_ok());
    assert_eq!(branch.with_branch("main").unwrap().schema().id, 0);
    assert_eq!(branch.branches().unwrap(), ["b"]);
    let error = main.with_branch("none").unwrap_err();
    assert_eq!((error.kind(), error.message()), (ErrorKind::NoSuchSnapshot, "there is no branch `none`"));
    for name in ["", " ", "../../other", "a/b", "a\\b"] {
        assert_eq!(main.with_branch(name).unwrap_err().kind(), ErrorKind::InvalidArgument, "{name}");
        assert_eq!(main.tag(name).unwrap_err().kind(), ErrorKind::InvalidArgument, "{name}");
    }
}

#[test]
fn tags_consumers_and_changelogs_are_listed_by_name() {
    let made = files(&[
        "schema/schema-0",
        "tag/tag-v3 \u{e9}_x",
        "tag/tag-2024-05-14",
        "consumer/consumer-c-1={\"nextSnapshot\": 7}",
        "changelog/changelog-1",
        "changelog/changelog-2",
        "changelog/LATEST=2",
    ]);
    let table = made.open();
    let names: Vec<String> = table.tags().unwrap().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["2024-05-14", "v3 \u{e9}_x"]);
    assert_eq!(table.consumers().unwrap(), [("c-1".to_string(), Consumer { next_snapshot: 7 })]);
    assert_eq!(table.changelog_ids().unwrap(), [1, 2]);
    assert_eq!(table.changelog(2).unwrap().delta_manifest_list, "d2");
    assert!(table.changelog(3).unwrap_err().to_string().contains("1 to 2"));
    let error = table.tag("none").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoSuchSnapshot);
    assert!(error.to_string().contains("`2024-05-14`"), "{error}");
    made.put("tag/tag-bad={");
    assert!(table.tags().unwrap_err().to_string().contains("tag-bad"));
}

#[test]
fn time_travel_reads_columns_of_then_under_options_of_now() {
    let old = format!("schema/schema-0={}", schema(0, "old"));
    let table = files(&[&old, "schema/schema-1", "snapshot/snapshot-1"]).open();
    let snapshot = table.snapshot(1).unwrap();
    let then = table.read_schema(true, Some(&snapshot)).unwrap();
    assert_eq!((then.fields[0].name.as_str(), then.options["o"].as_str(), then.id), ("old", "1", 0));
    assert_eq!(table.read_schema(false, Some(&snapshot)).unwrap().fields[0].name, "v");
    assert_eq!(table.read_schema(true, None).unwrap().id, 1);
    assert_eq!(table.schema_by_id(7).unwrap_err().kind(), ErrorKind::CorruptMetadata);
}

/// Creates a table with snapshots 3 to 6: a compaction at 4, watermarks 10 and 20 at 4 and 6, a tag of snapshot 1.
fn travelled() -> Made {
    let entries = [
        "schema/schema-0".to_string(),
        format!("snapshot/snapshot-3={}", snapshot(3, "APPEND", "")),
        format!("snapshot/snapshot-4={}", snapshot(4, "COMPACT", r#", "watermark": 10"#)),
        format!("snapshot/snapshot-5={}", snapshot(5, "APPEND", "")),
        format!("snapshot/snapshot-6={}", snapshot(6, "APPEND", r#", "watermark": 20"#)),
        format!("tag/tag-5={}", snapshot(1, "APPEND", "")),
        format!("tag/tag-t={}", snapshot(2, "APPEND", "")),
    ];
    files(&entries.each_ref().map(String::as_str))
}

#[rstest]
#[case(&[], 6)]
#[case(&[("scan.mode", "default")], 6)]
#[case(&[("scan.mode", "latest")], 6)]
#[case(&[("scan.mode", "Latest-Full")], 6)]
#[case(&[("scan.mode", "full")], 6)]
#[case(&[("scan.mode", "compacted-full")], 4)]
#[case(&[("scan.mode", "compacted-full"), ("full-compaction.delta-commits", "2")], 4)]
#[case(&[("scan.mode", "compacted-full"), ("full-compaction.delta-commits", "3")], 6)]
#[case(&[("scan.mode", "compacted-full"), ("changelog-producer", "full-compaction")], 4)]
#[case(&[("scan.snapshot-id", "3")], 3)]
#[case(&[("scan.mode", "from-snapshot"), ("scan.snapshot-id", "3")], 3)]
#[case(&[("scan.mode", "from-snapshot-full"), ("scan.snapshot-id", "5")], 5)]
#[case(&[("scan.mode", "from-snapshot"), ("scan.tag-name", "t")], 2)]
#[case(&[("scan.tag-name", "5")], 1)]
#[case(&[("scan.version", "5")], 1)]
#[case(&[("scan.version", "6")], 6)]
#[case(&[("scan.version", "t")], 2)]
#[case(&[("scan.version", "watermark-11")], 6)]
#[case(&[("scan.watermark", "-5")], 4)]
#[case(&[("scan.watermark", "10")], 4)]
#[case(&[("scan.watermark", "20")], 6)]
#[case(&[("scan.timestamp-millis", "3000")], 3)]
#[case(&[("scan.timestamp-millis", "4999")], 4)]
#[case(&[("scan.timestamp-millis", "99999999999")], 6)]
#[case(&[("scan.mode", "from-timestamp"), ("scan.timestamp-millis", "5000")], 5)]
#[case(&[("scan.timestamp", "1970-01-01 00:00:04")], 4)]
#[case(&[("scan.timestamp", "1970-01-01T00:00:05.999")], 5)]
#[case(&[("scan.timestamp", "1970-01-01T01:00:04+01:00")], 4)]
#[case(&[("scan.timestamp", "1970-01-02")], 6)]
#[case(&[("scan.mode", "from-file-creation-time"), ("scan.file-creation-time-millis", "0")], 6)]
fn options_choose_a_snapshot(#[case] given: &[(&str, &str)], #[case] expected: i64) {
    let chosen = travelled().open().choose(&SnapshotChoice::Latest, &options(given)).unwrap().unwrap();
    assert_eq!(chosen.id, expected, "{given:?}");
}

#[rstest]
#[case(&[("scan.snapshot-id", "2")], ErrorKind::NoSuchSnapshot)]
#[case(&[("scan.snapshot-id", "x")], ErrorKind::InvalidArgument)]
#[case(&[("scan.tag-name", "none")], ErrorKind::NoSuchSnapshot)]
#[case(&[("scan.version", "none")], ErrorKind::NoSuchSnapshot)]
#[case(&[("scan.version", "99")], ErrorKind::NoSuchSnapshot)]
#[case(&[("scan.version", "")], ErrorKind::InvalidArgument)]
#[case(&[("scan.timestamp-millis", "2999")], ErrorKind::NoSuchSnapshot)]
#[case(&[("scan.timestamp", "yesterday")], ErrorKind::InvalidArgument)]
#[case(&[("scan.watermark", "21")], ErrorKind::NoSuchSnapshot)]
#[case(&[("scan.mode", "sideways")], ErrorKind::Unsupported)]
#[case(&[("scan.mode", "from-creation-timestamp"), ("scan.creation-time-millis", "5")], ErrorKind::Unsupported)]
#[case(&[("scan.creation-time-millis", "5")], ErrorKind::Unsupported)]
#[case(&[("scan.mode", "from-timestamp")], ErrorKind::InvalidArgument)]
#[case(&[("scan.mode", "from-snapshot")], ErrorKind::InvalidArgument)]
#[case(&[("scan.mode", "from-snapshot-full"), ("scan.tag-name", "t")], ErrorKind::InvalidArgument)]
#[case(&[("scan.mode", "incremental")], ErrorKind::InvalidArgument)]
#[case(&[("scan.mode", "latest"), ("scan.snapshot-id", "3")], ErrorKind::InvalidArgument)]
#[case(&[("scan.mode", "compacted-full"), ("scan.tag-name", "t")], ErrorKind::InvalidArgument)]
#[case(&[("scan.mode", "from-timestamp"), ("scan.snapshot-id", "3")], ErrorKind::InvalidArgument)]
#[case(&[("scan.snapshot-id", "3"), ("scan.tag-name", "t")], ErrorKind::InvalidArgument)]
#[case(&[("scan.timestamp", "1970-01-02"), ("scan.timestamp-millis", "5")], ErrorKind::InvalidArgument)]
#[case(&[("scan.snapshot-id", "3"), ("incremental-between", "1,2")], ErrorKind::InvalidArgument)]
#[case(&[("scan.snapshot-id", "3"), ("scan.file-creation-time-millis", "5")], ErrorKind::InvalidArgument)]
#[case(&[("scan.file-creation-time-millis", "soon")], ErrorKind::InvalidArgument)]
#[case(&[("scan.mode", "compacted-full"), ("full-compaction.delta-commits", "0")], ErrorKind::InvalidArgument)]
fn options_that_choose_nothing_are_refused(#[case] given: &[(&str, &str)], #[case] expected: ErrorKind) {
    let error = travelled().open().choose(&SnapshotChoice::Latest, &options(given)).unwrap_err();
    assert_eq!(error.kind(), expected, "{given:?}: {error}");
}

#[test]
fn incremental_options_do_not_select_a_snapshot() {
    for given in
        [&[("incremental-between", "1,2")][..], &[("scan.mode", "incremental"), ("incremental-between", "1,2")]]
    {
        assert_eq!(SnapshotChoice::from_options(&options(given)).unwrap(), None);
    }
}

#[test]
fn arguments_and_options_agree_or_are_refused() {
    let by_id = options(&[("scan.snapshot-id", "3")]);
    assert_eq!(SnapshotChoice::Latest.or_options(&by_id).unwrap(), SnapshotChoice::Id(3));
    assert_eq!(SnapshotChoice::Id(3).or_options(&by_id).unwrap(), SnapshotChoice::Id(3));
    assert_eq!(SnapshotChoice::Id(4).or_options(&by_id).unwrap_err().kind(), ErrorKind::InvalidArgument);
    for (name, value) in
        [("scan.mode", "compacted-full"), ("incremental-between", "1,2"), ("scan.file-creation-time-millis", "5")]
    {
        let error = SnapshotChoice::Id(4).or_options(&options(&[(name, value)])).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{name}");
    }
    let latest_mode = options(&[("scan.mode", "latest")]);
    assert_eq!(SnapshotChoice::Id(4).or_options(&latest_mode).unwrap(), SnapshotChoice::Id(4));
    assert!(SnapshotChoice::Id(3).is_time_travel() && !SnapshotChoice::Latest.is_time_travel());
}

#[test]
fn a_snapshot_is_found_among_many() {
    let made = files(&["schema/schema-0"]);
    for id in 1..=150 {
        let more = if id >= 100 { r#", "watermark": 7"# } else { "" };
        let kind = if id == 2 { "COMPACT" } else { "APPEND" };
        made.put(&format!("snapshot/snapshot-{id}={}", snapshot(id, kind, more)));
    }
    let table = made.open();
    let choose = |name: &str, value: &str| {
        table.choose(&SnapshotChoice::Latest, &options(&[(name, value)])).unwrap().unwrap().id
    };
    assert_eq!(choose("scan.watermark", "7"), 100);
    assert_eq!(choose("scan.mode", "compacted-full"), 2);
    for id in [1, 2, 74, 149] {
        assert_eq!(choose("scan.timestamp-millis", &format!("{id}999")), id);
    }
}

#[test]
fn the_latest_of_equal_commit_times_is_read() {
    let made = files(&["schema/schema-0", "snapshot/snapshot-1", "snapshot/snapshot-4"]);
    for id in [2, 3] {
        let same = snapshot(id, "APPEND", "").replace(&format!("{id}000"), "1000");
        made.put(&format!("snapshot/snapshot-{id}={same}"));
    }
    let table = made.open();
    let as_of = |ms| table.choose(&SnapshotChoice::AsOf(ms), &Options::default()).map(|found| found.unwrap().id);
    assert_eq!((as_of(1000).unwrap(), as_of(3999).unwrap(), as_of(4000).unwrap()), (3, 3, 4));
    assert!(as_of(999).unwrap_err().to_string().contains("the earliest remaining snapshot is 1"));
}

#[test]
fn a_table_is_refreshed_and_keeps_its_branch() {
    let made = files(&["schema/schema-0", "branch/branch-b/schema/schema-0"]);
    let branch = made.open().with_branch("b").unwrap();
    made.put("branch/branch-b/schema/schema-1");
    assert_eq!((branch.schema().id, branch.refresh().unwrap().schema().id), (0, 1));
    made.delete("branch/branch-b/schema/schema-0");
    assert_eq!(branch.schema_by_id(0).unwrap().id, 0, "read once");
    assert_eq!(latest(&branch), None);
    assert_eq!(CommitKind::Append.name(), "APPEND");
}
