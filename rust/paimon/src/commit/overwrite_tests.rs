use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, Date32Array, StringArray};
use frazil_core::storage::MemoryStorage;
use frazil_core::storage::faulty::{Fault, FaultyStorage};
use serde_json::{Value, json};

use super::tests::{ROOT, append, change, created, entries, files_of, live};
use super::*;
use crate::binary_row::{encode, with_arity};
use crate::schema::create::{Definition, create};
use crate::spec::entries_builder::{BucketOf, EntriesBuilder};
use crate::spec::snapshot::CommitKind;
use crate::spec::testing::new_file;
use crate::spec::types::{DataType, TypeRoot};

const DAYS: [i32; 2] = [19_000, 19_001];

/// Creates a table with the partition columns `day` (2022-01-08 and the next day) and `region`.
fn partitioned(options: &Value) -> (Arc<MemoryStorage>, Table) {
    let fields = json!([
        {"id": 0, "name": "k", "type": "INT"},
        {"id": 1, "name": "day", "type": "DATE"},
        {"id": 2, "name": "region", "type": "STRING"},
    ]);
    let text = json!({"fields": fields, "partitionKeys": ["day", "region"], "options": options}).to_string();
    let storage = Arc::new(MemoryStorage::default());
    let definition = Definition::parse(text.as_bytes()).unwrap();
    (storage.clone(), create(&files_of(storage), ROOT, definition).unwrap())
}

fn partition(day: i32, region: Option<&str>) -> Vec<u8> {
    let columns: [ArrayRef; 2] = [Arc::new(Date32Array::from(vec![day])), Arc::new(StringArray::from(vec![region]))];
    let types = [TypeRoot::Date, TypeRoot::VarChar(0x7fff_ffff)].map(DataType::nullable);
    with_arity(&encode(&columns, &types).unwrap(), 2).unwrap().value(0).to_vec()
}

fn in_partition(day: i32, region: Option<&str>, name: &str) -> BucketChange {
    of_buckets(&partition(day, region), -1, None, name)
}

fn of_buckets(partition: &[u8], total_buckets: i32, base_snapshot: Option<i64>, name: &str) -> BucketChange {
    let mut builder = EntriesBuilder::default();
    builder.push(BucketOf { partition, bucket: 0, total_buckets }, new_file(name, 10));
    let append = Increment { added: builder.finish().unwrap(), ..Increment::empty().unwrap() };
    let home = Home { partition: partition.into(), bucket: 0 };
    BucketChange { home, total_buckets, base_snapshot, upper_files: None, append, compact: Increment::empty().unwrap() }
}

fn made(table: &Table, overwrite: Option<Overwrite>, changes: &[BucketChange]) -> Result<Committed> {
    let request = Request { overwrite, ..Request::append("me") };
    commit(table, &request, changes, &NoLock, &Context::default())
}

fn spec(values: &[(&str, Option<&str>)]) -> BTreeMap<String, Option<String>> {
    values.iter().map(|(name, value)| ((*name).to_string(), value.map(str::to_string))).collect()
}

/// Creates a table with the files `a` and `b` of the first day in region `x` and NULL, and `c` and `d` of the second
/// day.
fn filled() -> (Arc<MemoryStorage>, Table) {
    let (storage, table) = partitioned(&json!({}));
    let regions = [Some("x"), None];
    let files = DAYS.into_iter().flat_map(|day| regions.map(|region| (day, region))).zip(["a", "b", "c", "d"]);
    let changes: Vec<_> = files.map(|((day, region), name)| in_partition(day, region, name)).collect();
    made(&table, None, &changes).unwrap();
    (storage, table)
}

#[test]
fn the_files_of_named_partitions_are_replaced() {
    type Spec<'a> = &'a [(&'a str, Option<&'a str>)];
    let cases: &[(&[Spec<'_>], &[&str])] = &[
        (&[&[("day", Some("2022-01-08"))]], &["c", "d"]),
        (&[&[("region", Some("x"))]], &["b", "d"]),
        (&[&[("region", None)]], &["a", "c"]),
        // The folder name of NULL is an ordinary string.
        (&[&[("region", Some("__DEFAULT_PARTITION__"))]], &["a", "b", "c", "d"]),
        (&[&[("region", None), ("day", Some("2022-01-09"))]], &["a", "b", "c"]),
        (&[&[("region", None)], &[("day", Some("2022-01-09"))]], &["a"]),
        (&[&[("region", Some("y"))]], &["a", "b", "c", "d"]),
    ];
    for (specs, left) in cases {
        let (_, table) = filled();
        let specs = specs.iter().map(|values| spec(values)).collect();
        let committed = made(&table, Some(Overwrite::Partitions(specs)), &[]).unwrap();
        assert_eq!(live(&table), *left);
        let removed = 4 - left.len();
        assert_eq!((committed.counts.removed_files, committed.counts.added_files), (removed as u64, 0));
        let snapshot = table.snapshot(2).unwrap();
        let rows = i64::try_from(removed).unwrap() * 10;
        assert_eq!((snapshot.commit_kind, snapshot.delta_record_count), (CommitKind::Overwrite, Some(-rows)));
        assert_eq!(committed.counts.removed_rows, rows);
    }
}

#[test]
fn the_first_commit_is_checked_too() {
    let (storage, table) = partitioned(&json!({}));
    let overwrite = Some(Overwrite::Partitions(vec![spec(&[("day", Some("2022-01-08"))])]));
    let error = made(&table, overwrite, &[in_partition(DAYS[1], None, "a")]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    let mut removal = in_partition(DAYS[0], None, "a");
    removal.append = Increment { removed: removal.append.added, ..Increment::empty().unwrap() };
    assert_eq!(made(&table, None, &[removal]).unwrap_err().kind(), ErrorKind::CommitConflict);
    assert_eq!(storage.locations().len(), 1);
}

#[test]
fn an_overwrite_with_rows_of_other_partitions_is_refused() {
    let (storage, table) = filled();
    let before = storage.locations();
    let day = |text: &str| Some(Overwrite::Partitions(vec![spec(&[("day", Some(text))])]));
    let outside = in_partition(DAYS[1], None, "e");
    let error = made(&table, day("2022-01-08"), std::slice::from_ref(&outside)).unwrap_err();
    assert!(error.kind() == ErrorKind::InvalidArgument && error.to_string().contains("not overwritten"), "{error}");
    for (overwrite, named) in [
        (Overwrite::Partitions(vec![]), "needs at least one partition"),
        (Overwrite::Partitions(vec![spec(&[])]), "needs at least one partition"),
        (Overwrite::Partitions(vec![spec(&[("k", Some("1"))])]), "`k` is not a partition key"),
        (Overwrite::Partitions(vec![spec(&[("day", Some("x"))])]), "`x` is not a value"),
        (Overwrite::Partitions(vec![spec(&[("day", Some("2022-01-08 10:00:00"))])]), "is not a value"),
    ] {
        let error = made(&table, Some(overwrite), &[]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        assert!(error.to_string().contains(named), "{named}: {error}");
    }
    assert_eq!((storage.locations(), live(&table).len()), (before, 4));
    made(&table, day("2022-01-09"), &[outside]).unwrap();
    assert_eq!(live(&table), ["a", "b", "e"]);
}

#[test]
fn partitions_of_numbers_are_named_by_their_values() {
    for (data_type, value, same, others) in [
        ("INT", "7", "7", ["8", "7.5"]),
        ("DECIMAL(5, 2)", "1.5", "1.50", ["1.501", "1501e-3"]),
        ("TIMESTAMP(3)", "2024-02-29 01:02:03", "2024-02-29 01:02:03.000", ["2024-02-29 01:02:03.0001", ""]),
        ("BOOLEAN", "true", "true", ["no", "2"]),
        ("CHAR(3)", "ab", "ab", ["abcd", "AB"]),
    ] {
        let fields = json!([
            {"id": 0, "name": "k", "type": "INT"}, {"id": 1, "name": "p", "type": data_type},
        ]);
        let text = json!({"fields": fields, "partitionKeys": ["p"], "options": {}}).to_string();
        let storage = Arc::new(MemoryStorage::default());
        let definition = Definition::parse(text.as_bytes()).unwrap();
        let table = create(&files_of(storage), ROOT, definition).unwrap();
        let named = |text: &str| Some(Overwrite::Partitions(vec![spec(&[("p", Some(text))])]));
        let column = table.schema().field("p").unwrap();
        let values = overwrite::parsed(value, &column.data_type).unwrap();
        let row = encode(&[values], std::slice::from_ref(&column.data_type)).unwrap();
        let row = with_arity(&row, 1).unwrap().value(0).to_vec();
        made(&table, None, &[of_buckets(&row, -1, None, "a")]).unwrap();
        for other in others {
            // The string identifies another partition or is invalid, but never this partition.
            let _ = made(&table, named(other), &[]);
            assert_eq!(live(&table), ["a"], "{other}");
        }
        made(&table, named(same), &[]).unwrap();
        assert_eq!(live(&table), [""; 0], "{data_type}");
    }
}

#[test]
fn removed_files_make_an_overwrite() {
    let (_, table) = created(&json!({}));
    append(&table, &["a", "b"]).unwrap();
    let of = |removed: &[&str], added: &[&str]| {
        let (removed, added) = (entries(removed), entries(added));
        BucketChange { append: Increment { removed, added, ..Increment::empty().unwrap() }, ..change(&[]) }
    };
    let committed = made(&table, None, &[of(&["a"], &["c"])]).unwrap();
    assert_eq!((committed.counts.removed_files, committed.counts.removed_bytes), (1, 100));
    assert_eq!(live(&table), ["b", "c"]);
    let snapshot = table.snapshot(2).unwrap();
    assert_eq!((snapshot.commit_kind, snapshot.delta_record_count), (CommitKind::Overwrite, Some(0)));
    let again = made(&table, None, &[of(&["a"], &["d"])]).unwrap_err();
    assert_eq!(again.kind(), ErrorKind::CommitConflict, "{again}");
    let checked = Request { checks_append: true, ..Request::append("me") };
    let twice = commit(&table, &checked, &[change(&["b"])], &NoLock, &Context::default()).unwrap_err();
    assert_eq!(twice.kind(), ErrorKind::CommitConflict);
    assert_eq!(live(&table), ["b", "c"]);
}

#[test]
fn each_call_of_an_overwrite_may_fail_before_and_after_its_effect() {
    let request = Request { overwrite: Some(Overwrite::Table), ..Request::append("me") };
    let mut unknown = 0;
    for fault in [Fault::Fail(ErrorKind::Storage), Fault::FailAfterwards(ErrorKind::Storage)] {
        for call in 0.. {
            let (storage, healthy) = created(&json!({}));
            append(&healthy, &["a"]).unwrap();
            let before = storage.locations();
            let faulty = Arc::new(FaultyStorage::new(storage.clone(), fault, u64::MAX));
            let opening = Table::open(&files_of(faulty.clone()), ROOT, None).map(|_| faulty.calls()).unwrap();
            let faulty = Arc::new(FaultyStorage::new(storage.clone(), fault, opening + call));
            let table = Table::open(&files_of(faulty.clone()), ROOT, None).unwrap();
            let outcome = commit(&table, &request, &[change(&["b"])], &NoLock, &Context::default());
            let there = live(&healthy);
            let what = format!("{fault:?} of call {call}: {outcome:?}");
            match outcome {
                Ok(_) => {
                    assert_eq!(there, ["b"], "{what}");
                    assert_eq!(storage.locations().len(), before.len() + 4, "{what}");
                }
                Err(error) if error.kind() == ErrorKind::CommitStateUnknown => unknown += 1,
                Err(_) => assert_eq!((there, storage.locations()), (vec!["a".to_string()], before), "{what}"),
            }
            if faulty.calls() <= opening + call {
                assert!(call > 10, "{call} calls");
                break;
            }
        }
    }
    assert!(unknown > 0, "no outcome was unknown");
}
