use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use frazil_core::context::Context;
use frazil_core::storage::faulty::{Fault, FaultyStorage};
use frazil_core::storage::{MemoryStorage, Storage};

use super::super::attempts::{Change, Committed, Revision, commit};
use super::super::hadoop::HadoopPointer;
use super::super::update::TableUpdate;
use super::*;
use crate::evolve::create::CreateTable;
use crate::spec::partition::PartitionSpec;
use crate::spec::schema::Schema;
use crate::spec::sort::SortOrder;

const ROOT: &str = "memory://t/table";

/// The row of a table, and the number of calls to it.
#[derive(Debug, Default)]
struct Shared {
    named: Mutex<Option<String>>,
    calls: AtomicU64,
}

/// When a row fails, and what happens then.
#[derive(Debug, Clone, Copy)]
struct RowFault {
    fault: Fault,
    at_call: u64,
    /// Whether another writer commits on top immediately after the call that fails.
    overtaken: bool,
}

#[derive(Debug)]
struct Row {
    shared: Arc<Shared>,
    storage: Arc<dyn Storage>,
    fault: Option<RowFault>,
}

impl Row {
    fn call<T>(&self, work: impl Fn() -> T) -> Result<T> {
        let number = self.shared.calls.fetch_add(1, Ordering::Relaxed);
        let Some(due) = self.fault.filter(|fault| fault.at_call == number) else { return Ok(work()) };
        let kind = match due.fault {
            Fault::Fail(kind) => kind,
            Fault::FailAfterwards(kind) => {
                work();
                kind
            }
            // The request is sent twice, and the response is the second one.
            Fault::Truncate => {
                work();
                self.overtake(due, number);
                return Ok(work());
            }
        };
        self.overtake(due, number);
        Err(Error::new(kind, "injected fault"))
    }

    fn overtake(&self, due: RowFault, number: u64) {
        if due.overtaken && self.shared.named.lock().unwrap().is_some() {
            set(&self.storage, &self.shared, "other", &number.to_string()).unwrap();
        }
    }
}

impl CatalogRow for Row {
    fn location(&self) -> Result<Option<String>> {
        self.call(|| self.shared.named.lock().unwrap().clone())
    }

    fn replace(&self, expected: Option<&str>, new: &str) -> Result<bool> {
        self.call(|| {
            let mut named = self.shared.named.lock().unwrap();
            let is_expected = named.as_deref() == expected;
            if is_expected {
                *named = Some(new.to_string());
            }
            is_expected
        })
    }
}

#[derive(Debug)]
struct Updates(Vec<TableUpdate>);

impl Change for Updates {
    fn revise(&mut self, _: Option<&TableMetadata>, _: u32, _: &Context) -> Result<Revision> {
        Ok(Revision::Update(self.0.clone()))
    }

    fn clean(&mut self, _: Option<&TableMetadata>) {}
}

fn files(storage: &Arc<dyn Storage>) -> Files {
    Files::below(storage.clone(), ROOT).unwrap()
}

fn memory() -> Arc<dyn Storage> {
    Arc::new(MemoryStorage::default())
}

fn pointer(storage: &Arc<dyn Storage>, shared: &Arc<Shared>, fault: Option<RowFault>) -> CatalogPointer {
    let row = Row { shared: shared.clone(), storage: storage.clone(), fault };
    CatalogPointer::new(files(storage), Box::new(row))
}

fn table(properties: &[(&str, &str)]) -> CreateTable {
    let schema = r#"{"type": "struct", "fields": [{"id": 1, "name": "id", "required": false, "type": "long"}]}"#;
    let defaults = [("commit.retry.min-wait-ms", "1")];
    let properties = defaults.iter().chain(properties).map(|(key, value)| ((*key).to_string(), (*value).to_string()));
    CreateTable {
        format_version: 2,
        location: ROOT.into(),
        schema: Schema::from_json(schema).unwrap(),
        spec: PartitionSpec::default(),
        order: SortOrder::default(),
        properties: properties.collect(),
    }
}

fn create(pointer: &dyn Pointer, properties: &[(&str, &str)]) -> Result<Committed> {
    commit(pointer, None, &mut table(properties), &Context::default())
}

fn set_by(pointer: &dyn Pointer, key: &str, value: &str) -> Result<Committed> {
    let update = TableUpdate::SetProperties([(key.to_string(), value.to_string())].into());
    commit(pointer, None, &mut Updates(vec![update]), &Context::default())
}

fn set(storage: &Arc<dyn Storage>, shared: &Arc<Shared>, key: &str, value: &str) -> Result<Committed> {
    set_by(&pointer(storage, shared, None), key, value)
}

fn properties(storage: &Arc<dyn Storage>, shared: &Arc<Shared>) -> Option<BTreeMap<String, String>> {
    pointer(storage, shared, None).load().unwrap().map(|state| state.metadata.properties.clone())
}

fn metadata_files(storage: &Arc<dyn Storage>, folder: &str) -> Vec<String> {
    let listed = storage.list(folder).unwrap();
    listed.into_iter().map(|file| file.location.rsplit('/').next().unwrap().to_string()).collect()
}

#[test]
fn states_are_numbered_from_zero_and_named_by_the_row() {
    let (storage, shared) = (memory(), Arc::new(Shared::default()));
    let made = create(&pointer(&storage, &shared, None), &[("write.metadata.compression-codec", "gzip")]).unwrap();
    assert!(made.state.metadata_location.starts_with(&format!("{ROOT}/metadata/00000-")));
    assert!(made.state.metadata_location.ends_with(".gz.metadata.json"));
    set(&storage, &shared, "write.metadata.path", &format!("{ROOT}/elsewhere")).unwrap();
    let third = set(&storage, &shared, "write.metadata.compression-codec", "none").unwrap().state;
    assert!(third.metadata_location.starts_with(&format!("{ROOT}/elsewhere/00002-")), "{third:?}");
    assert!(!third.metadata_location.contains(".gz"));
    assert_eq!(third.metadata.metadata_log.first().unwrap().metadata_file, made.state.metadata_location);
    assert_eq!(shared.named.lock().unwrap().as_ref(), Some(&third.metadata_location));
}

#[test]
fn a_name_without_a_number_is_followed_by_zero() {
    let cases = [("/t/metadata/00041-a.metadata.json", 42), ("/t/99999-a.metadata.json", 100_000), ("/t/v3.json", 0)];
    for (location, next) in cases {
        assert_eq!(next_number(location), next, "{location}");
    }
    assert_eq!(next_number("18446744073709551615-a.metadata.json"), 0);
}

#[test]
fn of_two_creations_one_wins_and_the_other_leaves_nothing() {
    let (storage, shared) = (memory(), Arc::new(Shared::default()));
    let outcomes = std::thread::scope(|scope| {
        let make = || create(&pointer(&storage, &shared, None), &[]).map(|made| made.state.metadata_location);
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(make)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    let (made, refused): (Vec<_>, Vec<_>) = outcomes.into_iter().partition(Result::is_ok);
    assert_eq!((made.len(), refused.len()), (1, 3));
    assert!(refused.into_iter().all(|error| error.unwrap_err().kind() == ErrorKind::AlreadyExists));
    assert_eq!(metadata_files(&storage, &format!("{ROOT}/metadata")).len(), 1);
}

#[test]
fn a_concurrently_dropped_table_is_not_recreated() {
    let (storage, shared) = (memory(), Arc::new(Shared::default()));
    let base = create(&pointer(&storage, &shared, None), &[]).unwrap().state;
    *shared.named.lock().unwrap() = None;
    let mut change = Updates(vec![TableUpdate::SetProperties([("a".into(), "b".into())].into())]);
    let gone = commit(&pointer(&storage, &shared, None), Some(base), &mut change, &Context::default());
    assert_eq!(gone.unwrap_err().kind(), ErrorKind::NoSuchTable);
    assert_eq!(metadata_files(&storage, &format!("{ROOT}/metadata")).len(), 1);
}

#[test]
fn writers_at_the_same_time_lose_nothing() {
    const WRITERS: usize = 8;
    const COMMITS: usize = 10;
    let (storage, shared) = (memory(), Arc::new(Shared::default()));
    create(&pointer(&storage, &shared, None), &[]).unwrap();
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (storage, shared) = (&storage, &shared);
            scope.spawn(move || {
                for i in 0..COMMITS {
                    while let Err(error) = set(storage, shared, &format!("w{writer}-{i}"), "x") {
                        assert_eq!(error.kind(), ErrorKind::CommitConflict);
                    }
                }
            });
        }
    });
    let found = properties(&storage, &shared).unwrap();
    assert_eq!(found.keys().filter(|key| key.starts_with('w')).count(), WRITERS * COMMITS);
    assert_eq!(metadata_files(&storage, &format!("{ROOT}/metadata")).len(), WRITERS * COMMITS + 1);
}

#[test]
fn states_that_fall_out_of_the_log_are_deleted_where_the_table_asks() {
    for is_hadoop in [false, true] {
        for (collects, expected) in [("true", 3), ("false", 6), ("FALSE", 6)] {
            let (storage, shared) = (memory(), Arc::new(Shared::default()));
            let pointer: Box<dyn Pointer> = if is_hadoop {
                Box::new(HadoopPointer::new(files(&storage), ROOT))
            } else {
                Box::new(pointer(&storage, &shared, None))
            };
            let kept = ("write.metadata.previous-versions-max", "2");
            let deletes = ("write.metadata.delete-after-commit.enabled", "true");
            create(pointer.as_ref(), &[kept, deletes, ("gc.enabled", collects)]).unwrap();
            for i in 0..5 {
                set_by(pointer.as_ref(), "n", &i.to_string()).unwrap();
            }
            let state = pointer.load().unwrap().unwrap();
            assert_eq!(state.metadata.metadata_log.len(), 2);
            let left = metadata_files(&storage, &format!("{ROOT}/metadata"));
            assert_eq!(left.iter().filter(|name| name.ends_with(".metadata.json")).count(), expected, "{left:?}");
            for entry in &state.metadata.metadata_log {
                assert!(storage.size(&entry.metadata_file).is_ok());
            }
        }
    }
}

const KINDS: [ErrorKind; 6] = [
    ErrorKind::Storage,
    ErrorKind::Forbidden,
    ErrorKind::Unavailable,
    ErrorKind::AlreadyExists,
    ErrorKind::Catalog,
    ErrorKind::CommitStateUnknown,
];

/// Checks the table after an outcome: an acknowledged commit is present, a refused one is absent and left no file, and
/// the next writer succeeds.
fn check(storage: &Arc<dyn Storage>, shared: &Arc<Shared>, outcome: &Result<Committed>, case: &str) {
    let found = properties(storage, shared);
    let is_set = found.as_ref().is_some_and(|found| found.contains_key("b"));
    match outcome {
        Ok(_) => assert!(is_set, "{case}"),
        Err(error) if error.kind() == ErrorKind::CommitStateUnknown => {}
        Err(_) => {
            assert!(!is_set, "{case}: {outcome:?}");
            let named: Vec<String> = metadata_files(storage, &format!("{ROOT}/metadata"));
            let log = pointer(storage, shared, None).load().unwrap().map_or(0, |s| s.metadata.metadata_log.len() + 1);
            assert_eq!(named.len(), log, "{case}: {named:?}");
        }
    }
    if found.is_some() {
        set(storage, shared, "c", "3").unwrap();
        assert_eq!(properties(storage, shared).unwrap().contains_key("b"), is_set, "{case}");
    }
}

#[test]
fn a_fault_of_the_storage_leaves_the_table_before_or_after() {
    for kind in KINDS {
        for fault in [Fault::Fail(kind), Fault::FailAfterwards(kind)] {
            for at_call in 0.. {
                let (inner, shared) = (memory(), Arc::new(Shared::default()));
                create(&pointer(&inner, &shared, None), &[]).unwrap();
                let faulty = Arc::new(FaultyStorage::new(inner.clone(), fault, at_call));
                let storage: Arc<dyn Storage> = faulty.clone();
                let outcome = set(&storage, &shared, "b", "2");
                check(&inner, &shared, &outcome, &format!("{fault:?} at {at_call}"));
                if faulty.calls() <= at_call {
                    break;
                }
            }
        }
    }
}

#[test]
fn a_fault_of_the_catalog_leaves_the_table_before_or_after() {
    let kinds = KINDS.into_iter().flat_map(|kind| [Fault::Fail(kind), Fault::FailAfterwards(kind)]);
    for fault in kinds.chain([Fault::Truncate]) {
        for overtaken in [false, true] {
            for creates in [false, true] {
                for at_call in 0.. {
                    let (storage, shared) = (memory(), Arc::new(Shared::default()));
                    if !creates {
                        create(&pointer(&storage, &shared, None), &[]).unwrap();
                    }
                    shared.calls.store(0, Ordering::Relaxed);
                    let faulty = pointer(&storage, &shared, Some(RowFault { fault, at_call, overtaken }));
                    let outcome = if creates { create(&faulty, &[("b", "2")]) } else { set_by(&faulty, "b", "2") };
                    let calls = shared.calls.load(Ordering::Relaxed);
                    let case = format!("{fault:?} at {at_call}, overtaken {overtaken}, creates {creates}");
                    check(&storage, &shared, &outcome, &case);
                    // Only a row that may still change leaves the outcome unknown.
                    let is_unknown = outcome.is_err_and(|e| e.kind() == ErrorKind::CommitStateUnknown);
                    let may_be = matches!(fault, Fault::Fail(kind) if !is_definite(kind));
                    let says_so = fault == Fault::FailAfterwards(ErrorKind::CommitStateUnknown);
                    assert!(!is_unknown || may_be || says_so, "{case}");
                    if calls <= at_call {
                        break;
                    }
                }
            }
        }
    }
}

/// The outcome is unknown while the latest state cannot be read.
#[test]
fn a_commit_that_may_be_below_another_one_is_not_called_lost() {
    let (storage, shared) = (memory(), Arc::new(Shared::default()));
    create(&pointer(&storage, &shared, None), &[]).unwrap();
    let own = pointer(&storage, &shared, None);
    let base = own.load().unwrap().unwrap();
    let proposal = Proposal { base: Some(&base), next: &base.metadata, updates: &[] };
    let written = own.write(&proposal).unwrap().unwrap();
    *shared.named.lock().unwrap() = Some(written.location.clone());
    set(&storage, &shared, "n", "1").unwrap();
    let fault = Fault::Fail(ErrorKind::Unavailable);
    let faulty: Arc<dyn Storage> = Arc::new(FaultyStorage::new(storage.clone(), fault, 0));
    let swap = pointer(&faulty, &shared, None).lost(&written);
    assert!(matches!(swap, Swap::Unknown(_)), "{swap:?}");
    let swap = own.lost(&written);
    assert!(matches!(swap, Swap::Done(_)), "{swap:?}");
    assert!(storage.size(&written.location).is_ok());
}

/// The log is too short to determine which commit was first.
#[test]
fn a_commit_that_fell_out_of_the_log_is_not_called_lost() {
    let (storage, shared) = (memory(), Arc::new(Shared::default()));
    create(&pointer(&storage, &shared, None), &[("write.metadata.previous-versions-max", "1")]).unwrap();
    let pointer = pointer(&storage, &shared, None);
    let base = pointer.load().unwrap().unwrap();
    let proposal = Proposal { base: Some(&base), next: &base.metadata, updates: &[] };
    let written = pointer.write(&proposal).unwrap().unwrap();
    for i in 0..3 {
        set(&storage, &shared, "n", &i.to_string()).unwrap();
    }
    let swap = pointer.settle(&written, Error::new(ErrorKind::Unavailable, "lost"));
    assert!(matches!(swap, Swap::Unknown(_)), "{swap:?}");
    assert!(storage.size(&written.location).is_ok());
}
