use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, Int64Array, StringArray, StructArray, new_null_array};
use frazil_core::sql::expression::Expression;
use frazil_core::storage::faulty::{Fault, FaultyStorage};
use frazil_core::storage::{MemoryStorage, Storage};

use super::*;
use crate::commit::attempts::{Attempts, Committed, commit};
use crate::commit::hadoop::HadoopPointer;
use crate::commit::pointer::Pointer;
use crate::commit::staged::Transaction;
use crate::evolve::Evolution;
use crate::evolve::create::CreateTable;
use crate::files::{RemovedFile, TouchedFiles};
use crate::spec::manifest_list;
use crate::spec::manifest_rows::rows_schema;
use crate::spec::manifest_type::data_file;
use crate::spec::partition::PartitionSpec;
use crate::spec::schema::Schema;
use crate::spec::sort::SortOrder;
use crate::spec::types::StructType;
use crate::validation::conflict::{Isolation, NewEqualityDeletes};

const ROOT: &str = "memory://t/table";

fn files(storage: &Arc<dyn Storage>) -> Files {
    Files::below(storage.clone(), ROOT).unwrap()
}

fn memory() -> Arc<dyn Storage> {
    Arc::new(MemoryStorage::default())
}

fn table(version: u8) -> CreateTable {
    let schema = r#"{"type": "struct", "fields": [{"id": 1, "name": "id", "required": false, "type": "long"}]}"#;
    CreateTable {
        format_version: version,
        location: ROOT.into(),
        schema: Schema::from_json(schema).unwrap(),
        spec: PartitionSpec::default(),
        order: SortOrder::default(),
        properties: [
            ("commit.retry.min-wait-ms".to_string(), "1".to_string()),
            ("commit.manifest.min-count-to-merge".to_string(), "2".to_string()),
        ]
        .into(),
    }
}

/// Returns unpartitioned data files of ten rows each.
fn added(names: &[String]) -> Vec<AddedFiles> {
    let schema = rows_schema(&data_file(3, StructType::default()));
    let column = |field: &Arc<arrow_schema::Field>| -> ArrayRef {
        match field.name().as_str() {
            "file_path" => {
                Arc::new(names.iter().map(|name| Some(format!("{ROOT}/data/{name}"))).collect::<StringArray>())
            }
            "file_format" => Arc::new(StringArray::from(vec!["PARQUET"; names.len()])),
            "content" => Arc::new(Int32Array::from(vec![0; names.len()])),
            "record_count" => Arc::new(Int64Array::from(vec![10; names.len()])),
            "file_size_in_bytes" => Arc::new(Int64Array::from(vec![1000; names.len()])),
            "partition" => Arc::new(StructArray::new_empty_fields(names.len(), None)),
            _ => new_null_array(field.data_type(), names.len()),
        }
    };
    let columns = schema.fields().iter().map(column).collect();
    vec![AddedFiles { spec_id: 0, data_files: StructArray::new(schema.fields().clone(), columns, None) }]
}

/// Returns an append that merges no manifests, so that each append stays visible.
fn appending(storage: &Arc<dyn Storage>, branch: &str, names: &[String]) -> SnapshotChange {
    let changes = FileChanges { data: added(names), fast: true, ..FileChanges::default() };
    SnapshotChange::new(files(storage), branch, changes).unwrap()
}

fn create(storage: &Arc<dyn Storage>, version: u8) -> Result<Committed> {
    let pointer = HadoopPointer::new(files(storage), ROOT);
    commit(&pointer, None, &mut table(version), &Context::default())
}

fn append(storage: &Arc<dyn Storage>, names: &[String]) -> Result<Committed> {
    let pointer = HadoopPointer::new(files(storage), ROOT);
    let context = Context::default();
    commit(&pointer, None, &mut appending(storage, MAIN_BRANCH, names), &context)
}

/// Returns the data files of the latest snapshot with their sequence numbers and first row ids, as scans read them.
fn live(storage: &Arc<dyn Storage>) -> Vec<(String, i64, Option<i64>)> {
    let (files, context) = (files(storage), Context::default());
    let state = HadoopPointer::new(files.clone(), ROOT).load().unwrap().unwrap();
    let Some(snapshot) = state.metadata.current_snapshot() else { return Vec::new() };
    let list = files.read(snapshot.manifest_list.as_deref().unwrap(), MANIFEST_LIMIT_BYTES).unwrap();
    let mut live = Vec::new();
    for manifest in manifest_list::read(list, &context).unwrap() {
        let bytes = files.read(&manifest.manifest_path, MANIFEST_LIMIT_BYTES).unwrap();
        assert_eq!(usize::try_from(manifest.manifest_length).unwrap(), bytes.len());
        let entries = crate::spec::manifest::read(bytes, &manifest, &[], &context).unwrap();
        for row in 0..entries.len() {
            let path = entries.paths().unwrap().value(row).rsplit('/').next().unwrap().to_string();
            let ids = entries.first_row_ids().unwrap();
            let first_row_id = ids.and_then(|ids| ids.is_valid(row).then(|| ids.value(row)));
            live.push((path, entries.sequence_numbers().unwrap().value(row), first_row_id));
        }
    }
    live.sort();
    live
}

fn names(prefix: &str, count: usize) -> Vec<String> {
    (0..count).map(|i| format!("{prefix}{i}")).collect()
}

#[test]
fn appended_files_are_found_with_the_number_of_their_commit() {
    for version in 1..=3 {
        let storage = memory();
        create(&storage, version).unwrap();
        assert_eq!(live(&storage), []);
        append(&storage, &names("a", 2)).unwrap();
        let second = append(&storage, &names("b", 1)).unwrap().state;
        let number = |n| if version == 1 { 0 } else { n };
        let first_row_id = |id| (version == 3).then_some(id);
        let expected = [
            ("a0".to_string(), number(1), first_row_id(0)),
            ("a1".to_string(), number(1), first_row_id(10)),
            ("b0".to_string(), number(2), first_row_id(20)),
        ];
        assert_eq!(live(&storage), expected, "v{version}");
        let metadata = &second.metadata;
        assert_eq!(metadata.next_row_id, first_row_id(30));
        let summary = &metadata.current_snapshot().unwrap().summary;
        assert_eq!((summary.count("total-records"), summary.count("added-records")), (Some(30), Some(10)));
        assert_eq!(summary.count("changed-partition-count"), Some(1));
        assert_eq!(metadata.metadata_log.len(), 2);
        assert!(second.metadata_location.ends_with("/metadata/v3.metadata.json"));
        let hint = storage.read(&format!("{ROOT}/metadata/version-hint.text"), 10).unwrap();
        assert_eq!(&hint[..], b"3");
    }
}

#[test]
fn nothing_to_append_commits_nothing() {
    let storage = memory();
    create(&storage, 2).unwrap();
    let committed = append(&storage, &[]).unwrap();
    assert!(committed.state.metadata.current_snapshot_id.is_none());
    assert!(committed.state.metadata_location.ends_with("v1.metadata.json"));
}

#[test]
fn a_table_is_made_once() {
    let storage = memory();
    create(&storage, 2).unwrap();
    assert_eq!(create(&storage, 2).unwrap_err().kind(), ErrorKind::AlreadyExists);
    assert_eq!(append(&memory(), &names("a", 1)).unwrap_err().kind(), ErrorKind::NoSuchTable);
}

#[test]
fn writers_at_the_same_time_lose_nothing() {
    const WRITERS: usize = 8;
    const COMMITS: usize = 10;
    let storage = memory();
    create(&storage, 2).unwrap();
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let storage = &storage;
            scope.spawn(move || {
                for i in 0..COMMITS {
                    while let Err(error) = append(storage, &[format!("w{writer}-{i}")]) {
                        assert_eq!(error.kind(), ErrorKind::CommitConflict);
                    }
                }
            });
        }
    });
    let live = live(&storage);
    assert_eq!(live.len(), WRITERS * COMMITS);
    let mut numbers: Vec<i64> = live.iter().map(|(_, number, _)| *number).collect();
    numbers.sort_unstable();
    assert!(numbers.iter().copied().eq(1..=80), "{numbers:?}");
    // The lists of failed attempts were deleted: one list and one manifest are left for each commit.
    let left = storage.list(&format!("{ROOT}/metadata")).unwrap();
    let count = |part: &str| left.iter().filter(|file| file.location.contains(part)).count();
    assert_eq!((count("/snap-"), count("-m0.avro")), (80, 80));
}

/// A change of a table with the files a0 and a1, and the files that remain after it.
type Case = (&'static str, fn(&Arc<dyn Storage>) -> SnapshotChange, &'static [&'static str]);

const CASES: [Case; 4] = [
    ("append", |storage| appending(storage, MAIN_BRANCH, &names("b", 1)), &["a0", "a1", "b0"]),
    ("append that merges manifests", merging, &["a0", "a1", "b0"]),
    ("removal", |storage| removing(storage, &["a1"], &[]), &["a0"]),
    ("replacement", |storage| removing(storage, &["a0", "a1"], &["b0"]), &["b0"]),
];

fn merging(storage: &Arc<dyn Storage>) -> SnapshotChange {
    let changes = FileChanges { data: added(&names("b", 1)), ..FileChanges::default() };
    SnapshotChange::new(files(storage), MAIN_BRANCH, changes).unwrap()
}

/// Returns a change that removes files of the latest snapshot and adds other files.
fn removing(storage: &Arc<dyn Storage>, gone: &[&str], come: &[&str]) -> SnapshotChange {
    let path = |name: &&str| format!("{ROOT}/data/{name}");
    let removed = |name: &&str| (path(name), RemovedFile { spec_id: 0, manifest: None });
    let removals = Removals { data_files: gone.iter().map(removed).collect(), ..Removals::default() };
    let names: Vec<String> = come.iter().map(|name| (*name).to_string()).collect();
    let data = if names.is_empty() { Vec::new() } else { added(&names) };
    let changes = FileChanges { data, removals, ..FileChanges::default() };
    SnapshotChange::new(files(storage), MAIN_BRANCH, changes).unwrap()
}

fn make(storage: &Arc<dyn Storage>, mut change: SnapshotChange) -> Result<Committed> {
    commit(&HadoopPointer::new(files(storage), ROOT), None, &mut change, &Context::default())
}

fn live_names(storage: &Arc<dyn Storage>) -> Vec<String> {
    live(storage).into_iter().map(|(name, _, _)| name).collect()
}

/// Returns a table with one manifest each for a0 and a1.
fn two_files(version: u8) -> Arc<dyn Storage> {
    let storage = memory();
    create(&storage, version).unwrap();
    append(&storage, &names("a", 1)).unwrap();
    append(&storage, &["a1".to_string()]).unwrap();
    storage
}

/// Every call of an operation fails once before and once after its effect. The table is in the state before or after
/// the operation, an acknowledged change is present, a refused one is absent, and a retry succeeds.
#[test]
fn a_fault_at_any_call_leaves_the_table_before_or_after() {
    for (what, change, after) in CASES {
        for kind in [ErrorKind::Storage, ErrorKind::Forbidden, ErrorKind::Unavailable, ErrorKind::AlreadyExists] {
            for fault in [Fault::Fail(kind), Fault::FailAfterwards(kind)] {
                for at_call in 0.. {
                    let inner = two_files(3);
                    let faulty = Arc::new(FaultyStorage::new(inner.clone(), fault, at_call));
                    let storage: Arc<dyn Storage> = faulty.clone();
                    let outcome = make(&storage, change(&storage));
                    let found = live_names(&inner);
                    match &outcome {
                        Ok(_) => assert_eq!(found, after, "{what}: {fault:?} at {at_call}"),
                        Err(error) if error.kind() == ErrorKind::CommitStateUnknown => {
                            assert!(found == ["a0", "a1"] || found == after, "{what}: {fault:?} at {at_call}");
                        }
                        Err(_) => assert_eq!(found, ["a0", "a1"], "{what}: {fault:?} at {at_call}: {outcome:?}"),
                    }
                    append(&inner, &names("c", 1)).unwrap();
                    assert_eq!(live(&inner).len(), found.len() + 1);
                    if faulty.calls() <= at_call {
                        break;
                    }
                }
            }
        }
    }
}

/// The same for any two calls, so that the clean-up or the check of a commit's outcome fails too.
#[test]
fn two_faults_leave_the_table_before_or_after() {
    let faults = [Fault::Fail(ErrorKind::Forbidden), Fault::FailAfterwards(ErrorKind::Unavailable)];
    let step = if std::env::var("FRAZIL_FAULTS").is_ok_and(|wanted| wanted == "all") { 1 } else { 4 };
    for (what, change, after) in CASES {
        for (first, second) in faults.into_iter().flat_map(|first| faults.map(|second| (first, second))) {
            for at_call in 0.. {
                let mut calls = u64::MAX;
                let mut later = at_call;
                while later < calls {
                    let inner = two_files(3);
                    let once = Arc::new(FaultyStorage::new(inner.clone(), first, at_call));
                    let twice = Arc::new(FaultyStorage::new(once.clone(), second, later + 1));
                    let storage: Arc<dyn Storage> = twice.clone();
                    let outcome = make(&storage, change(&storage));
                    let found = live_names(&inner);
                    let case = format!("{what}: {first:?} at {at_call}, {second:?} at {later}: {outcome:?}");
                    match &outcome {
                        Ok(_) => assert_eq!(found, after, "{case}"),
                        Err(error) if error.kind() == ErrorKind::CommitStateUnknown => {
                            assert!(found == ["a0", "a1"] || found == after, "{case}");
                        }
                        Err(_) => assert_eq!(found, ["a0", "a1"], "{case}"),
                    }
                    append(&inner, &names("c", 1)).unwrap();
                    assert_eq!(live(&inner).len(), found.len() + 1, "{case}");
                    calls = twice.calls();
                    later += step;
                }
                if calls <= at_call {
                    break;
                }
            }
        }
    }
}

#[test]
fn files_that_stay_keep_their_numbers_when_others_go() {
    for version in 1..=3 {
        let storage = memory();
        create(&storage, version).unwrap();
        append(&storage, &names("a", 3)).unwrap();
        let before = live(&storage);
        let state = make(&storage, removing(&storage, &["a1"], &["b0"])).unwrap().state;
        let after = live(&storage);
        assert_eq!(after[..2], [before[0].clone(), before[2].clone()], "v{version}");
        assert_eq!(after[2].1, i64::from(version > 1) * 2);
        let summary = &state.metadata.current_snapshot().unwrap().summary;
        assert_eq!(summary.value("operation"), Some("overwrite"));
        assert_eq!((summary.count("deleted-records"), summary.count("total-records")), (Some(10), Some(30)));
        assert_eq!(summary.count("total-data-files"), Some(3));
        let ids: HashSet<Option<i64>> = after.iter().map(|(_, _, id)| *id).collect();
        assert_eq!(ids.len(), if version == 3 { 3 } else { 1 }, "row ids never repeat");
        make(&storage, removing(&storage, &["a0", "a2", "b0"], &[])).unwrap();
        assert_eq!(live(&storage), []);
    }
}

#[test]
fn many_small_manifests_become_one_with_the_same_entries() {
    for version in 1..=3 {
        let storage = two_files(version);
        let fast = live(&storage);
        make(&storage, merging(&storage)).unwrap();
        assert_eq!(live(&storage)[..2], fast, "v{version}");
        let manifests = |storage: &Arc<dyn Storage>| {
            let files = files(storage);
            let state = HadoopPointer::new(files.clone(), ROOT).load().unwrap().unwrap();
            let snapshot = state.metadata.current_snapshot().unwrap().clone();
            let list = files.read(snapshot.manifest_list.as_deref().unwrap(), MANIFEST_LIMIT_BYTES).unwrap();
            manifest_list::read(list, &Context::default()).unwrap()
        };
        let merged = manifests(&storage);
        assert_eq!(merged.len(), 1);
        assert_eq!(merged[0].live_files_count, Some(3));
        // Intermediate files were deleted.
        let left = storage.list(&format!("{ROOT}/metadata")).unwrap();
        assert_eq!(left.iter().filter(|file| file.location.contains("-m")).count(), 3, "v{version}");
    }
}

#[test]
fn a_file_that_is_gone_already_is_a_conflict() {
    let storage = two_files(2);
    let (first, second) = (removing(&storage, &["a0"], &["b0"]), removing(&storage, &["a0"], &["c0"]));
    make(&storage, first).unwrap();
    assert_eq!(make(&storage, second).unwrap_err().kind(), ErrorKind::CommitConflict);
    assert_eq!(live_names(&storage), ["a1", "b0"]);
}

#[test]
fn concurrently_added_rows_conflict_only_under_serializable_isolation() {
    for (isolation, filter, ok) in [
        (Isolation::Serializable, "true", false),
        (Isolation::Serializable, "false", true),
        (Isolation::Snapshot, "true", true),
    ] {
        let storage = two_files(2);
        let state = HadoopPointer::new(files(&storage), ROOT).load().unwrap().unwrap();
        let mut change = removing(&storage, &["a0"], &["b0"]);
        change.changes.validation = Some(Validation {
            planned_on: state.metadata.current_snapshot_id,
            isolation,
            filter: Expression::filter(filter).unwrap(),
            case_sensitive: true,
            refuses_new_deletes: false,
            refuses_new_files: false,
            refuses_removals: false,
            equality_deletes: NewEqualityDeletes::Conflict,
            touched: TouchedFiles::default(),
        });
        append(&storage, &names("c", 1)).unwrap();
        let outcome = make(&storage, change);
        assert_eq!(outcome.is_ok(), ok, "{isolation:?} {filter}: {outcome:?}");
        let left: &[&str] = if ok { &["a1", "b0", "c0"] } else { &["a0", "a1", "c0"] };
        assert_eq!(live_names(&storage), left);
    }
}

/// The second change validates against a snapshot of the first, below which a snapshot of another writer is inserted.
#[test]
fn concurrent_commits_beneath_an_earlier_transaction_snapshot_are_validated() {
    for filter in ["true", "false"] {
        let storage = two_files(2);
        let (pointer, context) = (HadoopPointer::new(files(&storage), ROOT), Context::default());
        let mut transaction = Transaction::new(pointer.load().unwrap().unwrap());
        let first = appending(&storage, MAIN_BRANCH, &names("b", 1));
        transaction.add(Box::new(first), &context).unwrap();
        let mut second = removing(&storage, &["a0"], &[]);
        second.changes.validation = Some(Validation {
            planned_on: transaction.staged().current_snapshot_id,
            isolation: Isolation::Serializable,
            filter: Expression::filter(filter).unwrap(),
            case_sensitive: true,
            refuses_new_deletes: false,
            refuses_new_files: false,
            refuses_removals: false,
            equality_deletes: NewEqualityDeletes::Conflict,
            touched: TouchedFiles::default(),
        });
        transaction.add(Box::new(second), &context).unwrap();
        append(&storage, &names("c", 1)).unwrap();
        let outcome = transaction.commit(&pointer, &mut Attempts::default(), &context);
        let left: &[&str] = if filter == "true" {
            assert_eq!(outcome.unwrap_err().kind(), ErrorKind::CommitConflict);
            &["a0", "a1", "c0"]
        } else {
            outcome.unwrap();
            &["a1", "b0", "c0"]
        };
        assert_eq!(live_names(&storage), left);
    }
}

/// The branch then ends with the same snapshot as when the user decided to roll back.
#[test]
fn rollback_in_a_transaction_does_not_discard_concurrent_commits() {
    for others in [0, 1] {
        let storage = two_files(2);
        let (pointer, context) = (HadoopPointer::new(files(&storage), ROOT), Context::default());
        let mut transaction = Transaction::new(pointer.load().unwrap().unwrap());
        let first = transaction.base().metadata.snapshots[0].snapshot_id;
        let change = appending(&storage, MAIN_BRANCH, &names("b", 1));
        transaction.add(Box::new(change), &context).unwrap();
        let operation = format!(r#"{{"operation": "rollback_to_snapshot", "snapshot_id": {first}}}"#);
        let back = format!(r#"{{"update": "snapshots", "operations": [{operation}]}}"#);
        transaction.add(Box::new(Evolution::from_json(&back).unwrap()), &context).unwrap();
        append(&storage, &names("c", others)).unwrap();
        let outcome = transaction.commit(&pointer, &mut Attempts::default(), &context);
        let left: &[&str] = if others == 0 {
            outcome.unwrap();
            &["a0"]
        } else {
            assert_eq!(outcome.unwrap_err().kind(), ErrorKind::CommitConflict);
            &["a0", "a1", "c0"]
        };
        assert_eq!(live_names(&storage), left);
    }
}

/// A change that writes files.
#[derive(Debug)]
struct Writing;

impl Change for Writing {
    fn revise(&mut self, _: Option<&TableMetadata>, _: u32, _: &Context) -> Result<Revision> {
        let properties = [("written".to_string(), "true".to_string())].into();
        Ok(Revision::Update(vec![TableUpdate::SetProperties(properties)]))
    }

    fn clean(&mut self, _: Option<&TableMetadata>) {}
}

/// A partition of an int is different from that of the same number as a long.
#[test]
fn partitions_whose_type_another_writer_changes_are_a_conflict() {
    let spec =
        r#"{"spec-id": 0, "fields": [{"name": "p", "transform": "identity", "source-id": 1, "field-id": 1000}]}"#;
    let schema = r#"{"type": "struct", "fields": [{"id": 1, "name": "a", "required": false, "type": "int"},
        {"id": 2, "name": "b", "required": false, "type": "int"}]}"#;
    for (column, ok) in [("a", false), ("b", true)] {
        let storage = memory();
        let (pointer, context) = (HadoopPointer::new(files(&storage), ROOT), Context::default());
        let spec = PartitionSpec::from_json(spec).unwrap();
        let mut create = CreateTable { schema: Schema::from_json(schema).unwrap(), spec, ..table(2) };
        commit(&pointer, None, &mut create, &context).unwrap();
        let mut transaction = Transaction::new(pointer.load().unwrap().unwrap());
        transaction.add(Box::new(Writing), &context).unwrap();
        let operation = format!(r#"{{"operation": "update_column", "path": "{column}", "type": "long"}}"#);
        let widen = format!(r#"{{"update": "schema", "operations": [{operation}]}}"#);
        commit(&pointer, None, &mut Evolution::from_json(&widen).unwrap(), &context).unwrap();
        let outcome = transaction.commit(&pointer, &mut Attempts::default(), &context);
        assert_eq!(outcome.is_ok(), ok, "{outcome:?}");
    }
}

#[test]
fn partitions_of_another_spec_than_that_of_the_table_are_not_replaced() {
    let metadata = table(2).metadata().unwrap();
    let changes = |spec_id| {
        let data = added(&names("a", 1)).into_iter().map(|files| AddedFiles { spec_id, ..files });
        FileChanges { data: data.collect(), ..FileChanges::default() }
    };
    assert_eq!(changes(0).partitions_of(&metadata).unwrap().tuples.len(), 1);
    assert_eq!(changes(1).partitions_of(&metadata).unwrap_err().kind(), ErrorKind::CommitConflict);
}

/// Returns a removal that depends on all rows, in the state that `pointer` references.
fn looking(storage: &Arc<dyn Storage>, pointer: &dyn Pointer) -> Transaction {
    let mut transaction = Transaction::new(pointer.load().unwrap().unwrap());
    let mut change = removing(storage, &["a0"], &[]);
    change.changes.validation = Some(Validation {
        planned_on: transaction.staged().current_snapshot_id,
        isolation: Isolation::Serializable,
        filter: Expression::TRUE,
        case_sensitive: true,
        refuses_new_deletes: false,
        refuses_new_files: false,
        refuses_removals: false,
        equality_deletes: NewEqualityDeletes::Conflict,
        touched: TouchedFiles::default(),
    });
    transaction.add(Box::new(change), &Context::default()).unwrap();
    transaction
}

#[test]
fn attempts_are_counted_over_the_commits_that_a_change_takes() {
    let storage = two_files(2);
    let (pointer, context) = (HadoopPointer::new(files(&storage), ROOT), Context::default());
    let (mut attempts, first) = (Attempts::default(), looking(&storage, &pointer));
    append(&storage, &names("b", 1)).unwrap();
    let error = first.commit(&pointer, &mut attempts, &context).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::CommitConflict);
    assert_eq!(error.context().last(), Some(&("attempts", "1".to_string())), "it lost, because it met other rows");
    let newest = pointer.load().unwrap().unwrap();
    assert!(attempts.again(&pointer, &newest, &context).unwrap());
    let second = looking(&storage, &pointer);
    assert_eq!(second.commit(&pointer, &mut attempts, &context).unwrap().attempts, 2);
    assert_eq!(live_names(&storage), ["a1", "b0"]);
    let nothing = Transaction::new(pointer.load().unwrap().unwrap());
    assert_eq!(nothing.commit(&pointer, &mut Attempts::default(), &context).unwrap().attempts, 0);
}

#[test]
fn a_history_that_does_not_lead_back_is_refused() {
    let storage = two_files(2);
    let mut change = removing(&storage, &["a0"], &[]);
    change.changes.validation = Some(Validation {
        planned_on: Some(4711),
        isolation: Isolation::Snapshot,
        filter: Expression::TRUE,
        case_sensitive: true,
        refuses_new_deletes: false,
        refuses_new_files: false,
        refuses_removals: false,
        equality_deletes: NewEqualityDeletes::Conflict,
        touched: TouchedFiles::default(),
    });
    assert_eq!(make(&storage, change).unwrap_err().kind(), ErrorKind::CommitValidation);
}

#[test]
fn a_state_beyond_a_missing_one_is_not_overwritten() {
    let storage = memory();
    create(&storage, 2).unwrap();
    append(&storage, &names("a", 1)).unwrap();
    let newest = storage.read(&format!("{ROOT}/metadata/v2.metadata.json"), 1 << 20).unwrap();
    storage.put(&format!("{ROOT}/metadata/v5.metadata.json"), newest).unwrap();
    let error = append(&storage, &names("b", 1)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::CommitValidation, "{error}");
    assert_eq!(live(&storage).len(), 1);
}

#[test]
fn an_empty_file_in_the_place_of_the_next_state_is_named() {
    let storage = memory();
    create(&storage, 2).unwrap();
    let torn = format!("{ROOT}/metadata/v2.metadata.json");
    storage.put(&torn, Vec::new().into()).unwrap();
    let error = append(&storage, &names("a", 1)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::CommitConflict);
    assert!(error.to_string().contains(&torn), "{error}");
    storage.delete(&torn).unwrap();
    append(&storage, &names("a", 1)).unwrap();
    assert_eq!(live_names(&storage), ["a0"]);
}

#[test]
fn a_table_that_was_made_again_in_its_folder_is_not_overwritten() {
    for made_again in [true, false] {
        let storage = memory();
        let (pointer, context) = (HadoopPointer::new(files(&storage), ROOT), Context::default());
        let mut transaction = Transaction::new(create(&storage, 2).unwrap().state);
        let change = appending(&storage, MAIN_BRANCH, &names("a", 1));
        transaction.add(Box::new(change), &context).unwrap();
        for file in storage.list(&format!("{ROOT}/metadata")).unwrap() {
            storage.delete(&file.location).unwrap();
        }
        let new = made_again.then(|| create(&storage, 2).unwrap().state.metadata.table_uuid.clone());
        let error = transaction.commit(&pointer, &mut Attempts::default(), &context).unwrap_err();
        let expected = if made_again { ErrorKind::CommitConflict } else { ErrorKind::NoSuchTable };
        assert_eq!(error.kind(), expected, "{error}");
        assert_eq!(pointer.load().unwrap().map(|state| state.metadata.table_uuid.clone()), new);
    }
}

#[test]
fn a_concurrently_deleted_base_is_merely_stale() {
    let storage = memory();
    let mut table = table(2);
    for (key, value) in [("previous-versions-max", "1"), ("delete-after-commit.enabled", "true")] {
        table.properties.insert(format!("write.metadata.{key}"), value.to_string());
    }
    let (pointer, context) = (HadoopPointer::new(files(&storage), ROOT), Context::default());
    let base = commit(&pointer, None, &mut table, &context).unwrap().state;
    for name in ["a", "b", "c"] {
        append(&storage, &names(name, 1)).unwrap();
    }
    let mut change = appending(&storage, MAIN_BRANCH, &names("d", 1));
    commit(&pointer, Some(base), &mut change, &context).unwrap();
    assert_eq!(live_names(&storage), ["a0", "b0", "c0", "d0"]);
}

#[test]
fn a_branch_that_does_not_exist_and_a_tag_are_refused() {
    let storage = memory();
    create(&storage, 2).unwrap();
    append(&storage, &names("a", 1)).unwrap();
    let pointer = HadoopPointer::new(files(&storage), ROOT);
    let context = Context::default();
    let mut other = appending(&storage, "dev", &names("b", 1));
    let error = commit(&pointer, None, &mut other, &context).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoSuchSnapshot);
}

#[test]
fn a_branch_is_created_from_main_on_request() {
    for rows in [0, 1] {
        let storage = memory();
        create(&storage, 2).unwrap();
        let main = (rows > 0).then(|| append(&storage, &names("a", rows)).unwrap());
        let pointer = HadoopPointer::new(files(&storage), ROOT);
        let changes = FileChanges { data: added(&names("b", 1)), creates_branch: true, ..FileChanges::default() };
        let mut change = SnapshotChange::new(files(&storage), "dev", changes).unwrap();
        let state = commit(&pointer, None, &mut change, &Context::default()).unwrap().state;
        let head = state.metadata.snapshot_by_ref("dev").unwrap();
        let before = main.map(|committed| committed.state.metadata.current_snapshot_id.unwrap());
        assert_eq!((head.parent_snapshot_id, state.metadata.current_snapshot_id), (before, before));
    }
}
