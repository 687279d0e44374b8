use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use frazil_core::storage::MemoryStorage;
use serde_json::json;

use super::tests::{ROOT, change, files_of, key_index, live};
use super::*;
use crate::schema::create::{Definition, create};
use crate::spec::entries_builder::{BucketOf, EntriesBuilder};
use crate::spec::hash_index;
use crate::spec::index_manifest::IndexEntry;
use crate::spec::testing::{NO_FIELDS, new_file};

/// Creates a table with dynamic buckets.
fn created() -> (Arc<MemoryStorage>, Table) {
    let definition = json!({
        "fields": [{"id": 0, "name": "k", "type": "INT NOT NULL"}, {"id": 1, "name": "v", "type": "INT"}],
        "primaryKeys": ["k"], "options": {"overwrite-upgrade": "false"},
    });
    let storage = Arc::new(MemoryStorage::default());
    let definition = Definition::parse(definition.to_string().as_bytes()).unwrap();
    (storage.clone(), create(&files_of(storage), ROOT, definition).unwrap())
}

/// Returns new rows of a bucket by a writer that read the snapshot `base`, and the indexes that it added and replaced.
fn in_bucket(
    bucket: i32,
    base: Option<i64>,
    name: &str,
    added: Option<IndexEntry>,
    removed: Option<&IndexEntry>,
) -> BucketChange {
    let mut entries = EntriesBuilder::default();
    entries.push(BucketOf { partition: &NO_FIELDS, bucket, total_buckets: -1 }, new_file(name, 10));
    let mut append = Increment { added: entries.finish().unwrap(), ..Increment::empty().unwrap() };
    append.index_added = added.into_iter().collect();
    append.index_removed = removed.cloned().into_iter().collect();
    let home = Home { partition: NO_FIELDS.into(), bucket };
    BucketChange {
        home,
        total_buckets: -1,
        base_snapshot: base,
        upper_files: None,
        append,
        compact: Increment::empty().unwrap(),
    }
}

fn rows(base: Option<i64>, name: &str, added: Option<&IndexEntry>, removed: Option<&IndexEntry>) -> BucketChange {
    in_bucket(0, base, name, added.cloned(), removed)
}

/// Writes an index file with these hashes, and returns its entry.
fn index(table: &Table, bucket: i32, name: &str, hashes: &[i32]) -> IndexEntry {
    let size = i64::try_from(hashes.len()).unwrap();
    let entry = IndexEntry { file_size: 4 * size, row_count: size, ..key_index(bucket, name) };
    let content = hash_index::encode(hashes.iter().copied());
    table.files().put(&table.index_location(&entry).unwrap(), content).unwrap();
    entry
}

fn made(table: &Table, change: BucketChange) -> Result<Committed> {
    commit(table, &Request::append("me"), &[change], &NoLock, &Context::default())
}

fn entries(table: &Table) -> Vec<IndexEntry> {
    let Some(snapshot) = table.latest_snapshot().unwrap() else { return Vec::new() };
    table.index_entries(&snapshot, &Context::default()).unwrap()
}

fn indexes(table: &Table) -> Vec<String> {
    entries(table).into_iter().map(|entry| entry.file_name).collect()
}

/// Returns the sorted hashes of the keys of each bucket.
fn keys(table: &Table) -> Vec<(i32, Vec<i32>)> {
    let mut found: Vec<(i32, Vec<i32>)> = entries(table)
        .iter()
        .map(|entry| {
            let mut hashes = table.key_hashes(entry).unwrap();
            hashes.sort_unstable();
            (entry.bucket, hashes)
        })
        .collect();
    found.sort();
    found
}

/// Returns the number of index files that exist.
fn index_files(storage: &MemoryStorage) -> usize {
    storage.locations().iter().filter(|name| name.contains("/index/")).count()
}

#[test]
fn an_index_replaces_the_one_that_its_writer_read() {
    let (storage, table) = created();
    let (first, second) = (index(&table, 0, "i1", &[1]), index(&table, 0, "i2", &[1, 2]));
    made(&table, rows(None, "a", Some(&first), None)).unwrap();
    assert_eq!(indexes(&table), ["i1"]);
    let list = table.latest_snapshot().unwrap().unwrap().index_manifest.unwrap();
    assert!(list.starts_with("index-manifest-"), "{list}");
    // Rows of known keys leave the list as it is.
    made(&table, rows(Some(1), "b", None, None)).unwrap();
    assert_eq!(table.latest_snapshot().unwrap().unwrap().index_manifest, Some(list));
    made(&table, rows(Some(2), "c", Some(&second), Some(&first))).unwrap();
    assert_eq!((indexes(&table), live(&table)), (vec!["i2".to_string()], vec!["a".into(), "b".into(), "c".into()]));
    let lists = storage.locations().into_iter().filter(|name| name.contains("/index-manifest-")).count();
    assert_eq!((lists, index_files(&storage)), (2, 2));
}

#[test]
fn keys_that_other_writers_added_are_kept() {
    let (storage, table) = created();
    let first = index(&table, 0, "i1", &[1]);
    made(&table, rows(None, "a", Some(&first), None)).unwrap();
    made(&table, rows(Some(1), "b", Some(&index(&table, 0, "i2", &[1, 2])), Some(&first))).unwrap();
    // The writer read the first snapshot, and added a key to the same bucket.
    made(&table, rows(Some(1), "c", Some(&index(&table, 0, "i3", &[1, 3])), Some(&first))).unwrap();
    assert_eq!(keys(&table), [(0, vec![1, 2, 3])]);
    // The file of the writer is not part of the table.
    assert_eq!(index_files(&storage), 3);
    // Both writers added the same key to the same bucket.
    made(&table, rows(None, "d", Some(&index(&table, 0, "i4", &[3, 4])), None)).unwrap();
    // Known keys are still in their bucket.
    made(&table, rows(Some(1), "e", None, None)).unwrap();
    let other = in_bucket(1, Some(2), "f", Some(index(&table, 1, "i5", &[9])), None);
    made(&table, other).unwrap();
    assert_eq!(keys(&table), [(0, vec![1, 2, 3, 4]), (1, vec![9])]);
    assert_eq!(live(&table), ["a", "b", "c", "d", "e", "f"]);
}

#[test]
fn a_key_in_two_buckets_is_a_conflict() {
    let (storage, table) = created();
    let first = index(&table, 0, "i1", &[1]);
    made(&table, rows(None, "a", Some(&first), None)).unwrap();
    made(&table, rows(Some(1), "b", Some(&index(&table, 0, "i2", &[1, 2])), Some(&first))).unwrap();
    let late = index(&table, 1, "i3", &[5, 2]);
    let files = storage.locations().len();
    let error = made(&table, in_bucket(1, Some(1), "c", Some(late), None)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::CommitConflict, "{error}");
    assert!(error.to_string().contains("assigned a key to another bucket"), "{error}");
    assert_eq!((live(&table), keys(&table)), (vec!["a".to_string(), "b".into()], vec![(0, vec![1, 2])]));
    assert_eq!(storage.locations().len(), files);
}

#[test]
fn a_bucket_has_one_index() {
    let (_, table) = created();
    let first = index(&table, 0, "i1", &[1]);
    let mut twice = rows(None, "a", Some(&first), None);
    twice.append.index_added.push(index(&table, 0, "i2", &[1]));
    assert_eq!(made(&table, twice).unwrap_err().kind(), ErrorKind::CommitConflict);
    made(&table, rows(None, "a", Some(&first), None)).unwrap();
    let missing = rows(Some(1), "b", Some(&index(&table, 0, "i2", &[2])), Some(&key_index(0, "i0")));
    assert_eq!(made(&table, missing).unwrap_err().kind(), ErrorKind::CommitConflict);
}

#[test]
fn an_overwrite_replaces_all_indexes() {
    let (_, table) = created();
    made(&table, rows(None, "a", Some(&index(&table, 0, "i1", &[1])), None)).unwrap();
    let overwrite = |change| {
        let request = Request { overwrite: Some(Overwrite::Table), ..Request::append("me") };
        commit(&table, &request, &[change], &NoLock, &Context::default()).unwrap();
    };
    overwrite(rows(None, "b", Some(&index(&table, 0, "i2", &[2])), None));
    assert_eq!((live(&table), keys(&table)), (vec!["b".to_string()], vec![(0, vec![2])]));
    // The rows of a writer that read the keys before they were removed would have no index.
    for late in [rows(Some(1), "c", None, None), rows(Some(1), "c", Some(&index(&table, 0, "i3", &[1, 3])), None)] {
        let error = made(&table, late).unwrap_err();
        assert!(error.to_string().contains("replaced the rows of a bucket"), "{error}");
        assert_eq!(error.kind(), ErrorKind::CommitConflict, "{error}");
    }
    overwrite(BucketChange { append: Increment::empty().unwrap(), ..change(&[]) });
    assert_eq!((live(&table).len(), entries(&table).len()), (0, 0));
    assert_eq!(made(&table, rows(Some(2), "c", None, None)).unwrap_err().kind(), ErrorKind::CommitConflict);
}

/// A lock in which another writer commits first, once.
#[derive(Debug)]
struct Overtaken<'a>(&'a Table, BucketChange, AtomicBool);

impl SnapshotLock for Overtaken<'_> {
    fn run(&self, publish: &mut dyn FnMut() -> Swap) -> Result<Swap> {
        if !self.2.swap(true, Ordering::Relaxed) {
            made(self.0, self.1.clone()).unwrap();
        }
        Ok(publish())
    }
}

#[test]
fn keys_are_checked_in_each_attempt() {
    let (storage, table) = created();
    let first = index(&table, 0, "i1", &[1]);
    made(&table, rows(None, "a", Some(&first), None)).unwrap();
    let overtaken = |change: BucketChange, by: BucketChange| {
        let lock = Overtaken(&table, by, AtomicBool::new(false));
        commit(&table, &Request::append("me"), &[change], &lock, &Context::default())
    };
    let second = index(&table, 0, "i2", &[1, 2]);
    let late = overtaken(rows(Some(1), "b", Some(&second), Some(&first)), rows(Some(1), "c", None, None)).unwrap();
    assert_eq!((late.snapshots, late.attempts, indexes(&table)), (vec![3], 2, vec!["i2".to_string()]));
    let (third, fourth) = (index(&table, 0, "i3", &[1, 2, 3]), index(&table, 0, "i4", &[1, 2, 4]));
    overtaken(rows(Some(3), "d", Some(&third), Some(&second)), rows(Some(3), "e", Some(&fourth), Some(&second)))
        .unwrap();
    assert_eq!((keys(&table), live(&table).len()), (vec![(0, vec![1, 2, 3, 4])], 5));
    // The indexes of four snapshots; the third index was replaced before it was committed.
    assert_eq!(index_files(&storage), 4);
    let before = table.latest_snapshot().unwrap().unwrap().id;
    let elsewhere = index(&table, 1, "i5", &[7]);
    let (seventh, current) = (index(&table, 0, "i6", &[1, 2, 3, 4, 7]), entries(&table).remove(0));
    let files = storage.locations().len();
    let by = rows(Some(before), "g", Some(&seventh), Some(&current));
    let lost = overtaken(in_bucket(1, Some(before), "f", Some(elsewhere), None), by);
    assert_eq!(lost.unwrap_err().kind(), ErrorKind::CommitConflict);
    assert_eq!((keys(&table), live(&table).len()), (vec![(0, vec![1, 2, 3, 4, 7])], 6));
    // The other writer left a snapshot, a manifest and three lists.
    assert_eq!(storage.locations().len(), files + 5);
}
