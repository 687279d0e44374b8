use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use bytes::Bytes;
use frazil_core::storage::faulty::{Fault, FaultyStorage};
use frazil_core::storage::{Files, MemoryStorage, Storage};
use serde_json::{Value, json};

use super::*;
use crate::schema::create::{Definition, create};
use crate::spec::entries_builder::{BucketOf, EntriesBuilder};
use crate::spec::index_manifest::{HASH, IndexEntry};
use crate::spec::manifest::{self, ADD, ManifestEntries, WantedFields};
use crate::spec::manifest_list;
use crate::spec::snapshot::CommitKind;
use crate::spec::testing::{NO_FIELDS, golden_files, new_file};

pub(super) const ROOT: &str = "memory://warehouse/d.db/t";

fn definition(options: &Value) -> Definition {
    let fields = json!([{"id": 0, "name": "k", "type": "INT"}]);
    let text = json!({"fields": fields, "options": options}).to_string();
    Definition::parse(text.as_bytes()).unwrap()
}

pub(super) fn files_of(storage: Arc<dyn Storage>) -> Files {
    Files::below(storage, ROOT).unwrap()
}

pub(super) fn created(options: &Value) -> (Arc<MemoryStorage>, Table) {
    let storage = Arc::new(MemoryStorage::default());
    let table = create(&files_of(storage.clone()), ROOT, definition(options)).unwrap();
    (storage, table)
}

pub(super) fn entries(names: &[&str]) -> ManifestEntries {
    let mut builder = EntriesBuilder::default();
    let bucket = BucketOf { partition: &NO_FIELDS, bucket: 0, total_buckets: -1 };
    for name in names {
        builder.push(bucket, new_file(name, 10));
    }
    builder.finish().unwrap()
}

pub(super) fn change(names: &[&str]) -> BucketChange {
    BucketChange {
        home: Home { partition: NO_FIELDS.into(), bucket: 0 },
        total_buckets: -1,
        base_snapshot: None,
        upper_files: None,
        append: Increment { added: entries(names), ..Increment::empty().unwrap() },
        compact: Increment::empty().unwrap(),
    }
}

/// Returns the index of the keys of a bucket of the table without partitions.
pub(super) fn key_index(bucket: i32, file_name: &str) -> IndexEntry {
    IndexEntry {
        kind: ADD,
        partition: NO_FIELDS.to_vec(),
        bucket,
        index_type: HASH.into(),
        file_name: file_name.into(),
        file_size: 4,
        row_count: 1,
        deletion_ranges: Vec::new(),
        external_path: None,
        global_index: None,
    }
}

pub(super) fn append(table: &Table, names: &[&str]) -> Result<Committed> {
    commit(table, &Request::append("me"), &[change(names)], &NoLock, &Context::default())
}

fn stream(table: &Table, user: &str, identifier: i64, names: &[&str]) -> Result<Committed> {
    let request = Request { identifier, ..Request::append(user) };
    let changes = if names.is_empty() { vec![] } else { vec![change(names)] };
    commit(table, &request, &changes, &NoLock, &Context::default())
}

/// Returns the names of the files of the latest snapshot.
pub(super) fn live(table: &Table) -> Vec<String> {
    let Some(snapshot) = table.latest_snapshot().unwrap() else { return Vec::new() };
    let read = |name: &str| table.files().read(&table.manifest_location(name), u64::MAX).unwrap();
    let context = Context::default();
    let mut parts = Vec::new();
    for list in [&snapshot.base_manifest_list, &snapshot.delta_manifest_list] {
        for manifest in manifest_list::read(read(list), &context).unwrap() {
            let content = read(&manifest.file_name);
            assert_eq!(manifest.file_size, i64::try_from(content.len()).unwrap());
            parts.push(manifest::read(content, WantedFields::ALL, &context).unwrap());
        }
    }
    let live = ManifestEntries::concat(&parts).unwrap().live().unwrap();
    let mut names: Vec<_> = live.file_names().iter().flatten().map(str::to_string).collect();
    let rows: i64 = live.row_counts().values().iter().sum();
    assert_eq!(snapshot.total_record_count, Some(rows), "rows of snapshot {}", snapshot.id);
    names.sort_unstable();
    names
}

#[test]
fn a_commit_makes_a_snapshot() {
    let (storage, table) = created(&json!({}));
    let committed = append(&table, &["a", "b"]).unwrap();
    assert_eq!((committed.snapshots, committed.attempts), (vec![1], 1));
    let counts = Counts { added_files: 2, added_rows: 20, added_bytes: 200, ..Counts::default() };
    assert_eq!(committed.counts, counts);
    assert_eq!(live(&table), ["a", "b"]);
    let text = storage.read(&format!("{ROOT}/snapshot/snapshot-1"), u64::MAX).unwrap();
    let snapshot: Value = serde_json::from_slice(&text).unwrap();
    let keys: Vec<&str> = snapshot.as_object().unwrap().keys().map(String::as_str).collect();
    let expected = [
        "baseManifestList",
        "baseManifestListSize",
        "commitIdentifier",
        "commitKind",
        "commitUser",
        "deltaManifestList",
        "deltaManifestListSize",
        "deltaRecordCount",
        "id",
        "nextRowId",
        "schemaId",
        "timeMillis",
        "totalRecordCount",
        "uuid",
        "version",
    ];
    assert_eq!(keys, expected);
    assert_eq!((&snapshot["version"], &snapshot["commitKind"]), (&json!(3), &json!("APPEND")));
    assert_eq!((&snapshot["commitUser"], &snapshot["commitIdentifier"]), (&json!("me"), &json!(i64::MAX)));
    for hint in ["LATEST", "EARLIEST"] {
        assert_eq!(storage.read(&format!("{ROOT}/snapshot/{hint}"), 9).unwrap(), "1");
    }
    for (list, size) in [("baseManifestList", "baseManifestListSize"), ("deltaManifestList", "deltaManifestListSize")] {
        let path = table.manifest_location(snapshot[list].as_str().unwrap());
        assert_eq!(storage.size(&path).unwrap(), snapshot[size].as_u64().unwrap());
    }
}

#[test]
fn snapshots_follow_each_other() {
    let (storage, table) = created(&json!({}));
    let request = Request {
        watermark: Some(7),
        properties: [("k".to_string(), "v".to_string())].into(),
        ..Request::append("me")
    };
    commit(&table, &request, &[change(&["a"])], &NoLock, &Context::default()).unwrap();
    let request = Request { watermark: Some(5), properties: BTreeMap::new(), ..request };
    commit(&table, &request, &[change(&["b"]), change(&["c"])], &NoLock, &Context::default()).unwrap();
    assert_eq!(live(&table), ["a", "b", "c"]);
    let (first, second) = (table.snapshot(1).unwrap(), table.snapshot(2).unwrap());
    assert_eq!((first.watermark, second.watermark), (Some(7), Some(7)));
    assert_eq!((first.properties.len(), second.properties.len()), (1, 0));
    assert_eq!((second.total_record_count, second.delta_record_count), (Some(30), Some(20)));
    assert_ne!(first.uuid, second.uuid);
    assert!(second.time_ms >= first.time_ms);
    // Snapshots keep features of other writers' tables: indexes, row ids and unknown future fields.
    let mut later: Value = serde_json::from_str(&second.to_json()).unwrap();
    (later["id"], later["indexManifest"], later["nextRowId"]) = (json!(3), json!("index-manifest-0"), json!(9));
    later["timeMillis"] = json!(9_000_000_000_000_i64);
    storage.put(&table.snapshot_location(3), later.to_string().into()).unwrap();
    append(&table, &["d"]).unwrap();
    let last = table.snapshot(4).unwrap();
    assert_eq!((last.index_manifest.as_deref(), last.next_row_id), (Some("index-manifest-0"), Some(9)));
    assert_eq!(last.time_ms, 9_000_000_000_000);
}

#[test]
fn tables_of_java_are_continued() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/paimon/d.db/cast_not_null");
    let storage = Arc::new(MemoryStorage::default());
    for (path, content) in golden_files(|_| true) {
        if let Ok(name) = path.strip_prefix(&folder) {
            storage.put(&format!("{ROOT}/{}", name.to_str().unwrap()), content.into()).unwrap();
        }
    }
    let table = Table::open(&files_of(storage), ROOT, None).unwrap();
    let before = live(&table);
    append(&table, &["z"]).unwrap();
    assert_eq!(live(&table), [before, vec!["z".to_string()]].concat());
    let snapshot = table.snapshot(3).unwrap();
    assert_eq!((snapshot.schema_id, snapshot.total_record_count), (1, Some(12)));
}

#[test]
fn nothing_to_commit_makes_a_snapshot_of_streams_only() {
    let (storage, table) = created(&json!({}));
    let nothing = commit(&table, &Request::append("me"), &[change(&[])], &NoLock, &Context::default()).unwrap();
    assert_eq!((nothing.attempts, nothing.snapshots, storage.locations().len()), (0, vec![], 1));
    assert_eq!(stream(&table, "me", 1, &[]).unwrap().snapshots, [1]);
    assert_eq!(live(&table), [""; 0]);
    assert_eq!(table.snapshot(1).unwrap().delta_record_count, Some(0));
    let (_, table) = created(&json!({"snapshot.ignore-empty-commit": "false"}));
    assert_eq!(append(&table, &[]).unwrap().snapshots, [1]);
}

#[test]
fn a_streaming_commit_is_made_once() {
    let (storage, table) = created(&json!({}));
    assert_eq!(stream(&table, "s", 1, &["a"]).unwrap().snapshots, [1]);
    append(&table, &["x"]).unwrap();
    assert_eq!(stream(&table, "s", 2, &["b"]).unwrap().snapshots, [3]);
    assert_eq!(stream(&table, "t", 1, &["c"]).unwrap().snapshots, [4]);
    let before = storage.locations();
    for (identifier, snapshot) in [(2, 3), (1, 1)] {
        let again = stream(&table, "s", identifier, &["again"]).unwrap();
        assert_eq!((again.snapshots, again.attempts, again.counts), (vec![snapshot], 0, Counts::default()));
    }
    assert_eq!(storage.locations(), before);
    let error = stream(&table, "s", 0, &["late"]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::CommitValidation);
    assert!(error.to_string().contains("commit identifier 0 of user `s` is less than 2"), "{error}");
    assert_eq!(storage.locations(), before);
    assert_eq!(live(&table), ["a", "b", "c", "x"]);
    // Batch writers have no sequence: each of their commits is a new one.
    append(&table, &["y"]).unwrap();
    append(&table, &["z"]).unwrap();
    assert_eq!(live(&table), ["a", "b", "c", "x", "y", "z"]);
}

#[test]
fn expired_snapshots_end_the_search_for_a_streaming_commit() {
    let (storage, table) = created(&json!({}));
    stream(&table, "s", 1, &["a"]).unwrap();
    append(&table, &["x"]).unwrap();
    append(&table, &["y"]).unwrap();
    for id in [1, 2] {
        storage.delete(&table.snapshot_location(id)).unwrap();
    }
    assert_eq!(stream(&table, "s", 2, &["b"]).unwrap().snapshots, [4]);
}

#[test]
fn many_writers_lose_nothing() {
    let (_, table) = created(&json!({}));
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let table = &table;
            scope.spawn(move || {
                for number in 0..10 {
                    append(table, &[format!("{writer}-{number}").as_str()]).unwrap();
                }
            });
        }
    });
    let mut expected: Vec<_> = (0..8).flat_map(|w| (0..10).map(move |n| format!("{w}-{n}"))).collect();
    expected.sort_unstable();
    assert_eq!(live(&table), expected);
    assert_eq!(table.snapshot_ids().unwrap(), (1..=80).collect::<Vec<_>>());
}

#[test]
fn writers_of_one_stream_commit_it_once() {
    let (_, table) = created(&json!({}));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert_eq!(stream(&table, "s", 1, &["a"]).unwrap().snapshots, [1]));
        }
    });
    assert_eq!(live(&table), ["a"]);
}

#[test]
fn each_call_may_fail_before_and_after_its_effect() {
    let mut unknown = 0;
    for kind in [ErrorKind::Storage, ErrorKind::Forbidden] {
        for fault in [Fault::Fail(kind), Fault::FailAfterwards(kind)] {
            for call in 0.. {
                let (storage, healthy) = created(&json!({}));
                append(&healthy, &["a"]).unwrap();
                let before = storage.locations();
                let faulty = Arc::new(FaultyStorage::new(storage.clone(), fault, u64::MAX));
                let opening = Table::open(&files_of(faulty.clone()), ROOT, None).map(|_| faulty.calls()).unwrap();
                let faulty = Arc::new(FaultyStorage::new(storage.clone(), fault, opening + call));
                let table = Table::open(&files_of(faulty.clone()), ROOT, None).unwrap();
                let outcome = append(&table, &["b"]);
                let there = live(&healthy);
                let what = format!("{fault:?} of call {call}: {outcome:?}");
                match outcome {
                    Ok(_) => {
                        assert_eq!(there, ["a", "b"], "{what}");
                        // A manifest, two manifest lists and a snapshot.
                        assert_eq!(storage.locations().len(), before.len() + 4, "{what}");
                    }
                    Err(error) if error.kind() == ErrorKind::CommitStateUnknown => unknown += 1,
                    Err(_) => {
                        assert_eq!(there, ["a"], "{what}");
                        assert_eq!(storage.locations(), before, "{what}");
                    }
                }
                if !there.contains(&"b".to_string()) {
                    append(&healthy, &["b"]).unwrap();
                }
                assert_eq!(live(&healthy), ["a", "b"], "{what}");
                if faulty.calls() <= opening + call {
                    assert!(call > 8, "{call} calls");
                    break;
                }
            }
        }
    }
    assert!(unknown > 0, "no outcome was unknown");
}

/// Another writer that commits this many times while the tested writer holds the lock.
#[derive(Debug)]
struct Rival {
    table: Table,
    left: AtomicU32,
}

impl SnapshotLock for Rival {
    fn run(&self, publish: &mut dyn FnMut() -> Swap) -> Result<Swap> {
        let left = self.left.load(Ordering::Relaxed);
        if left > 0 {
            self.left.store(left - 1, Ordering::Relaxed);
            append(&self.table, &[format!("rival-{left}").as_str()]).unwrap();
        }
        Ok(publish())
    }
}

#[test]
fn a_lost_attempt_is_made_again_on_the_newest_snapshot() {
    let (storage, table) = created(&json!({"commit.min-retry-wait": "1 ms"}));
    let rival = Rival { table: table.clone(), left: AtomicU32::new(2) };
    let committed = commit(&table, &Request::append("me"), &[change(&["a"])], &rival, &Context::default()).unwrap();
    assert_eq!((committed.snapshots, committed.attempts), (vec![3], 3));
    assert_eq!(live(&table), ["a", "rival-1", "rival-2"]);
    // A schema and two hints, and for each commit a manifest, two manifest lists and a snapshot.
    assert_eq!(storage.locations().len(), 3 + 3 * 4);
}

#[test]
fn a_commit_that_loses_too_often_leaves_nothing() {
    for (retries, attempts) in [("0", 1), ("2", 3)] {
        let (storage, table) = created(&json!({"commit.max-retries": retries, "commit.min-retry-wait": "1 ms"}));
        let rival = Rival { table: table.clone(), left: AtomicU32::new(u32::MAX) };
        let error = commit(&table, &Request::append("me"), &[change(&["a"])], &rival, &Context::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::CommitConflict);
        assert!(error.to_string().contains(&format!("attempts: {attempts}")), "{error}");
        assert_eq!((live(&table).len(), storage.locations().len()), (attempts, 3 + attempts * 4));
    }
}

#[derive(Debug)]
struct NeverFree;

impl SnapshotLock for NeverFree {
    fn run(&self, _: &mut dyn FnMut() -> Swap) -> Result<Swap> {
        Err(Error::new(ErrorKind::Unavailable, "the lock is taken"))
    }
}

#[test]
fn without_the_lock_nothing_is_committed() {
    let (storage, table) = created(&json!({}));
    let failed = commit(&table, &Request::append("me"), &[change(&["a"])], &NeverFree, &Context::default());
    assert_eq!(failed.unwrap_err().kind(), ErrorKind::Unavailable);
    assert_eq!(storage.locations().len(), 1);
}

#[test]
fn a_cancelled_commit_leaves_nothing() {
    let (storage, table) = created(&json!({}));
    let context = Context::default();
    context.cancel();
    let failed = commit(&table, &Request::append("me"), &[change(&["a"])], &NoLock, &context);
    assert_eq!(failed.unwrap_err().kind(), ErrorKind::Cancelled);
    assert_eq!(storage.locations().len(), 1);
}

#[test]
fn a_table_that_was_dropped_or_replaced_gets_no_files() {
    let (storage, table) = created(&json!({}));
    storage.delete(&format!("{ROOT}/schema/schema-0")).unwrap();
    assert_eq!(append(&table, &["a"]).unwrap_err().kind(), ErrorKind::NoSuchTable);
    create(&files_of(storage.clone()), ROOT, definition(&json!({"owner": "another"}))).unwrap();
    let error = append(&table, &["a"]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::CommitConflict);
    assert!(error.to_string().contains("replaced"), "{error}");
    assert_eq!(storage.locations().len(), 1);
}

#[test]
fn snapshots_have_the_newest_schema() {
    let (storage, table) = created(&json!({}));
    let newer = crate::spec::schema::TableSchema { id: 1, ..table.schema().as_ref().clone() };
    storage.put(&format!("{ROOT}/schema/schema-1"), newer.to_pretty_json().into()).unwrap();
    append(&table, &["a"]).unwrap();
    assert_eq!(table.snapshot(1).unwrap().schema_id, 1);
    // The files of a missing schema cannot be read.
    storage.delete(&format!("{ROOT}/schema/schema-0")).unwrap();
    assert_eq!(append(&table, &["b"]).unwrap_err().kind(), ErrorKind::CommitConflict);
}

#[test]
fn statistics_are_kept_while_the_schema_is() {
    for (statistics, kept) in [(Some(0), true), (Some(1), false), (None, false)] {
        let (storage, table) = created(&json!({}));
        append(&table, &["a"]).unwrap();
        let mut snapshot: Value = serde_json::from_str(&table.snapshot(1).unwrap().to_json()).unwrap();
        snapshot["statistics"] = json!("stat-0");
        storage.put(&table.snapshot_location(1), snapshot.to_string().into()).unwrap();
        if let Some(schema_id) = statistics {
            let content = json!({"snapshotId": 1, "schemaId": schema_id}).to_string();
            storage.put(&format!("{ROOT}/statistics/stat-0"), content.into()).unwrap();
        }
        append(&table, &["b"]).unwrap();
        assert_eq!(table.snapshot(2).unwrap().statistics.is_some(), kept, "{statistics:?}");
    }
}

#[test]
fn long_manifests_are_split() {
    for (options, manifests) in
        [(json!({"manifest.target-file-size": "1 kb"}), 3), (json!({"manifest.compression": "snappy"}), 1)]
    {
        let (storage, table) = created(&options);
        let names: Vec<_> = (0..2500).map(|number| format!("{number:04}")).collect();
        append(&table, &names.iter().map(String::as_str).collect::<Vec<_>>()).unwrap();
        assert_eq!(live(&table), names);
        let is_manifest = |path: &&String| path.contains("/manifest-") && !path.contains("/manifest-list-");
        assert_eq!(storage.locations().iter().filter(is_manifest).count(), manifests);
    }
}

#[test]
fn the_cost_of_a_commit_does_not_grow_with_the_table() {
    let counting = Arc::new(FaultyStorage::new(Arc::new(MemoryStorage::default()), Fault::Truncate, u64::MAX));
    let table = create(&files_of(counting.clone()), ROOT, definition(&json!({}))).unwrap();
    let mut calls = Vec::new();
    for number in 0..1060 {
        let before = counting.calls();
        append(&table, &[&format!("{number:04}")]).unwrap();
        calls.push(counting.calls() - before);
    }
    let most = |range: std::ops::Range<usize>| calls[range].iter().max().copied().unwrap();
    // A merge reads 30 manifests and writes one. Other commits read two manifest lists.
    assert!(most(1000..1060) <= most(40..100) && most(1000..1060) < 50, "{:?}", &calls[1000..]);
    assert!(calls[1000..].iter().filter(|calls| **calls > 20).count() <= 3, "{:?}", &calls[1000..]);
    assert_eq!(live(&table).len(), 1060);
    let lists = table.latest_snapshot().unwrap().unwrap().base_manifest_list;
    let base = table.files().read(&table.manifest_location(&lists), u64::MAX).unwrap();
    assert!(manifest_list::read(base, &Context::default()).unwrap().len() <= 30);
}

#[test]
fn contradictory_changes_are_rejected() {
    let (storage, table) = created(&json!({}));
    let nobody = commit(&table, &Request::append(""), &[change(&["a"])], &NoLock, &Context::default());
    assert_eq!(nobody.unwrap_err().kind(), ErrorKind::InvalidArgument);
    let elsewhere = BucketChange { home: Home { partition: NO_FIELDS.into(), bucket: 1 }, ..change(&["a"]) };
    let mixed = commit(&table, &Request::append("me"), &[elsewhere], &NoLock, &Context::default());
    assert_eq!(mixed.unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert_eq!(storage.locations().len(), 1);
}

#[test]
fn messages_travel_between_processes() {
    let compact = Increment { removed: entries(&["a", "b"]), added: entries(&["c"]), ..Increment::empty().unwrap() };
    let mut change = BucketChange { base_snapshot: Some(7), compact, ..change(&["x"]) };
    change.append.index_added = vec![key_index(0, "index-1")];
    change.compact.index_removed = vec![key_index(0, "index-0")];
    let message = change.seal().unwrap();
    let opened = BucketChange::open(&message).unwrap();
    assert_eq!((&opened.home, opened.total_buckets, opened.base_snapshot), (&change.home, -1, Some(7)));
    for (opened, sent) in opened.append.lists().into_iter().zip(change.append.lists()) {
        assert_eq!(opened.batch(), sent.batch());
    }
    for (opened, sent) in opened.compact.lists().into_iter().zip(change.compact.lists()) {
        assert_eq!(opened.batch(), sent.batch());
    }
    assert_eq!(opened.append.index_lists(), change.append.index_lists());
    assert_eq!(opened.compact.index_lists(), change.compact.index_lists());
    assert_eq!(BucketChange::open(b"").unwrap_err().kind(), ErrorKind::CorruptData);
    for at in (0..message.len()).step_by(7) {
        let mut damaged = message.clone();
        damaged[at] ^= 1;
        assert_eq!(BucketChange::open(&damaged).unwrap_err().kind(), ErrorKind::CorruptData, "byte {at}");
    }
    let elsewhere = BucketChange { home: Home { partition: NO_FIELDS.into(), bucket: 1 }, ..change };
    assert_eq!(BucketChange::open(&elsewhere.seal().unwrap()).unwrap_err().kind(), ErrorKind::CorruptData);
    let mut elsewhere = self::change(&[]);
    elsewhere.append.index_added = vec![key_index(1, "index-1")];
    assert_eq!(BucketChange::open(&elsewhere.seal().unwrap()).unwrap_err().kind(), ErrorKind::CorruptData);
}

#[test]
fn aborted_changes_leave_no_files() {
    let (storage, table) = created(&json!({}));
    let mut builder = EntriesBuilder::default();
    let mut file = new_file("b.parquet", 1);
    file.meta.extra_files = vec!["b.index".into()];
    let mut external = new_file("c.parquet", 1);
    external.meta.external_path = Some(format!("{ROOT}/elsewhere/c.parquet"));
    external.meta.extra_files = vec!["c.index".into()];
    let bucket = BucketOf { partition: &NO_FIELDS, bucket: 0, total_buckets: -1 };
    for file in [new_file("a.parquet", 1), file, external] {
        builder.push(bucket, file);
    }
    let index_added = vec![key_index(0, "index-0")];
    let append = Increment { added: builder.finish().unwrap(), index_added, ..Increment::empty().unwrap() };
    let kept = ["bucket-0/d.parquet", "bucket-1/a.parquet"];
    let written = [
        "bucket-0/a.parquet",
        "bucket-0/b.parquet",
        "bucket-0/b.index",
        "elsewhere/c.parquet",
        "elsewhere/c.index",
        "index/index-0",
    ];
    for name in kept.iter().chain(&written) {
        storage.put(&format!("{ROOT}/{name}"), Bytes::new()).unwrap();
    }
    assert_eq!(abort(&table, &[BucketChange { append, ..change(&[]) }]), 6);
    assert_eq!(storage.locations().len(), 1 + kept.len());
    assert!(kept.iter().all(|name| storage.size(&format!("{ROOT}/{name}")).is_ok()));
}

#[test]
fn an_aborted_change_of_level_deletes_no_file() {
    let (storage, table) = created(&json!({}));
    let append = change(&["a"]).append;
    let name = append.added.file(0).unwrap().file_name;
    let location = format!("{ROOT}/bucket-0/{name}");
    storage.put(&location, Bytes::new()).unwrap();
    let compact =
        Increment { added: append.added.at_level(5).unwrap(), removed: append.added, ..Increment::empty().unwrap() };
    assert_eq!(abort(&table, &[BucketChange { compact, ..change(&[]) }]), 0);
    assert!(storage.size(&location).is_ok());
}

#[test]
fn changelog_files_have_a_list_of_their_own() {
    let (storage, table) = created(&json!({}));
    let with_changelog = || {
        let changelog = change(&["c"]).append.added;
        let append = Increment { changelog, ..change(&["a"]).append };
        BucketChange { append, ..change(&[]) }
    };
    let done = commit(&table, &Request::append("me"), &[with_changelog()], &NoLock, &Context::default()).unwrap();
    assert_eq!((done.counts.added_files, done.counts.changelog_files, done.counts.changelog_rows), (1, 1, 10));
    let snapshot = table.latest_snapshot().unwrap().unwrap();
    assert_eq!((snapshot.total_record_count, snapshot.changelog_record_count), (Some(10), Some(10)));
    let list = snapshot.changelog_manifest_list.unwrap();
    let size = storage.size(&format!("{ROOT}/manifest/{list}")).unwrap();
    assert_eq!(snapshot.changelog_manifest_list_size_bytes, i64::try_from(size).ok());
    assert_eq!(live(&table), ["a"]);
    let request = request(Overwrite::Table);
    commit(&table, &request, &[with_changelog()], &NoLock, &Context::default()).unwrap();
    assert_eq!(table.latest_snapshot().unwrap().unwrap().changelog_manifest_list, None, "overwrites have none");
}

#[test]
fn retries_have_the_defaults_of_java() {
    let retry = retry(&Options::default()).unwrap();
    assert_eq!((retry.retries, retry.total), (10, Duration::MAX));
    assert_eq!((retry.min_wait, retry.max_wait), (Duration::from_millis(10), Duration::from_secs(10)));
}

fn request(overwrite: Overwrite) -> Request {
    Request { overwrite: Some(overwrite), ..Request::append("me") }
}

fn replace(table: &Table, names: &[&str]) -> Result<Committed> {
    commit(table, &request(Overwrite::Table), &[change(names)], &NoLock, &Context::default())
}

#[test]
fn an_overwrite_replaces_the_files_live_at_commit_time() {
    let (_, table) = created(&json!({}));
    append(&table, &["a", "b"]).unwrap();
    append(&table, &["c"]).unwrap();
    let done = replace(&table, &["d"]).unwrap();
    assert_eq!((done.snapshots, done.counts.added_files, done.counts.removed_files), (vec![3], 1, 3));
    let snapshot = table.latest_snapshot().unwrap().unwrap();
    assert_eq!((snapshot.commit_kind, snapshot.delta_record_count), (CommitKind::Overwrite, Some(-20)));
    assert_eq!(live(&table), ["d"]);
    let nothing = commit(&table, &request(Overwrite::Dynamic), &[change(&[])], &NoLock, &Context::default()).unwrap();
    assert_eq!((nothing.attempts, nothing.snapshots), (0, vec![]));
    let truncated = commit(&table, &request(Overwrite::Table), &[], &NoLock, &Context::default()).unwrap();
    assert_eq!((truncated.snapshots, truncated.counts.removed_rows), (vec![4], 10));
    assert!(live(&table).is_empty());
}

#[test]
fn a_lost_overwrite_replaces_the_files_of_the_winner_too() {
    let (_, table) = created(&json!({}));
    append(&table, &["a"]).unwrap();
    let lock = Interrupted { table: table.clone(), times: AtomicU32::new(2) };
    let done = commit(&table, &request(Overwrite::Table), &[change(&["z"])], &lock, &Context::default()).unwrap();
    assert_eq!((done.attempts, done.counts.removed_files), (3, 3));
    assert_eq!(live(&table), ["z"]);
}

/// A lock that appends before the first few snapshots are published.
#[derive(Debug)]
struct Interrupted {
    table: Table,
    times: AtomicU32,
}

impl SnapshotLock for Interrupted {
    fn run(&self, publish: &mut dyn FnMut() -> Swap) -> Result<Swap> {
        let left = self.times.load(Ordering::Relaxed);
        if left > 0 {
            self.times.store(left - 1, Ordering::Relaxed);
            append(&self.table, &[&format!("other{left}")]).unwrap();
        }
        Ok(publish())
    }
}

#[test]
fn compactions_are_snapshots_of_their_own_and_conflict_with_each_other() {
    let (_, table) = created(&json!({}));
    append(&table, &["a", "b"]).unwrap();
    let compact = |removed: &[&str], added: &[&str], appended: &[&str]| {
        let compact = Increment { removed: entries(removed), added: entries(added), ..Increment::empty().unwrap() };
        let change = BucketChange { compact, ..change(appended) };
        commit(&table, &Request::append("me"), &[change], &NoLock, &Context::default())
    };
    let done = compact(&["a", "b"], &["ab"], &["c"]).unwrap();
    assert_eq!((done.snapshots, done.compacted.removed_files), (vec![2, 3], 2));
    let snapshot = table.latest_snapshot().unwrap().unwrap();
    assert_eq!((snapshot.commit_kind, snapshot.delta_record_count), (CommitKind::Compact, Some(-10)));
    assert_eq!(live(&table), ["ab", "c"]);
    let done = compact(&["a"], &["aa"], &[]).unwrap();
    assert_eq!((done.snapshots, done.lost), (vec![], vec![0]));
    // The append is kept without the compaction, which lost.
    let done = compact(&["a"], &["aa"], &["d"]).unwrap();
    assert_eq!((done.snapshots, done.lost), (vec![4], vec![0]));
    assert_eq!(live(&table), ["ab", "c", "d"]);
}

#[test]
fn removed_files_must_be_live_and_new_ones_must_not() {
    let (_, table) = created(&json!({}));
    append(&table, &["a"]).unwrap();
    let removing = |names: &[&str]| {
        let append = Increment { removed: entries(names), ..Increment::empty().unwrap() };
        commit(&table, &Request::append("me"), &[BucketChange { append, ..change(&[]) }], &NoLock, &Context::default())
    };
    assert_eq!(removing(&["b"]).unwrap_err().kind(), ErrorKind::CommitConflict);
    let checked = Request { checks_append: true, ..Request::append("me") };
    let twice = commit(&table, &checked, &[change(&["a"])], &NoLock, &Context::default());
    assert_eq!(twice.unwrap_err().kind(), ErrorKind::CommitConflict);
    removing(&["a"]).unwrap();
    assert!(live(&table).is_empty());
    assert_eq!(table.latest_snapshot().unwrap().unwrap().commit_kind, CommitKind::Overwrite);
}
