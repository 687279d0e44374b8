use std::sync::Arc;

use frazil_core::storage::faulty::{Fault, FaultyStorage};
use frazil_core::storage::{MemoryStorage, Storage};
use serde_json::{Value, json};

use super::*;

const ROOT: &str = "memory://warehouse/d.db/t";

fn definition(changes: &Value) -> Definition {
    let mut value = json!({
        "fields": [{"id": 0, "name": "k", "type": "INT"}, {"id": 1, "name": "v", "type": "STRING"}],
        "partitionKeys": [], "primaryKeys": [], "options": {"file.format": "parquet"}, "comment": "rows",
    });
    for (key, member) in changes.as_object().unwrap() {
        value[key] = member.clone();
    }
    Definition::parse(value.to_string().as_bytes()).unwrap()
}

fn files(storage: Arc<dyn Storage>) -> Files {
    Files::below(storage, ROOT).unwrap()
}

#[test]
fn a_table_is_created_and_found() {
    let storage = Arc::new(MemoryStorage::default());
    let table = create(&files(storage.clone()), &format!("{ROOT}/"), definition(&json!({}))).unwrap();
    assert_eq!(storage.locations(), [format!("{ROOT}/schema/schema-0")]);
    let schema = table.schema();
    assert_eq!((schema.version, schema.id, schema.highest_field_id), (3, 0, 1));
    assert_eq!(schema.comment.as_deref(), Some("rows"));
    assert!(schema.time_ms > 1_700_000_000_000);
    assert_eq!(table.latest_snapshot().unwrap(), None);
    let again = create(&files(storage.clone()), ROOT, definition(&json!({}))).unwrap_err();
    assert_eq!(again.kind(), ErrorKind::AlreadyExists);
    assert_eq!(storage.locations().len(), 1);
}

#[test]
fn a_table_that_cannot_be_read_is_not_replaced() {
    for content in ["", "{", r#"{"version": 4}"#] {
        let storage = Arc::new(MemoryStorage::default());
        storage.put(&format!("{ROOT}/schema/schema-7"), Bytes::from(content)).unwrap();
        let error = create(&files(storage.clone()), ROOT, definition(&json!({}))).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{content}: {error}");
        assert_eq!(storage.locations().len(), 1);
    }
}

#[test]
fn columns_and_the_fields_in_them_are_numbered() {
    let row = json!({"type": "ROW", "fields": [{"id": 7, "name": "x", "type": "INT"},
        {"id": 9, "name": "y", "type": {"type": "ARRAY", "element": "ROW<`a` INT, `b` INT>"}}]});
    let map = json!({"type": "MAP", "key": "INT", "value": "ROW<`c` INT>"});
    let fields = json!([{"id": 5, "name": "a", "type": row}, {"id": 5, "name": "b", "type": map},
        {"id": 1, "name": "c", "type": "INT"}]);
    let mut fields = definition(&json!({"fields": fields})).fields;
    let mut highest = -1;
    for field in &mut fields {
        field.id = next_id(&mut highest);
        number_fields(&mut field.data_type, &mut highest);
    }
    assert_eq!((fields.iter().map(|field| field.id).collect::<Vec<_>>(), highest), (vec![0, 5, 7], 7));
    let TypeRoot::Row(inner) = &fields[0].data_type.root else { panic!("a row") };
    // As in Java, the fields in `y` have lower ids than `y`.
    assert_eq!(inner.iter().map(|field| field.id).collect::<Vec<_>>(), [1, 4]);
}

#[test]
fn names_and_keys_that_no_table_has_are_invalid() {
    let field = |name: &str| json!({"id": 0, "name": name, "type": "INT"});
    let cases = [
        (json!({"options": {"fields.nope.stats-mode": "full"}}), "references `nope`, which is not a column"),
        (json!({"options": {"fields.k,nope.sequence-group": "v"}}), "references `nope`"),
        (
            json!({"primaryKeys": ["k"], "options": {
                "bucket": "1", "merge-engine": "partial-update", "fields.v.sequence-group": "w",
            }}),
            "unknown column `w`",
        ),
        (json!({"primaryKeys": ["k"], "options": {"bucket": "1", "sequence.field": "w"}}), "`w`"),
        (json!({"fields": []}), "a table needs at least one column"),
        (json!({"fields": [field("")]}), "needs a name"),
        (json!({"fields": [field("  ")]}), "needs a name"),
        (json!({"fields": [field("a"), field("a")]}), "column: a"),
        (json!({"fields": [field("_SEQUENCE_NUMBER")]}), "column: _SEQUENCE_NUMBER"),
        (json!({"fields": [field("_VALUE_KIND")]}), "column: _VALUE_KIND"),
        (json!({"fields": [field("_LEVEL")]}), "column: _LEVEL"),
        (json!({"fields": [field("_ROW_ID")]}), "column: _ROW_ID"),
        (json!({"fields": [field("rowkind")]}), "column: rowkind"),
        (json!({"fields": [field("_KEY_k")]}), "column: _KEY_k"),
        (json!({"partitionKeys": ["q"]}), "partition key `q` is not a column"),
        (json!({"primaryKeys": ["K"]}), "primary key `K` is not a column"),
        (json!({"primaryKeys": ["k", "k"]}), "primary key `k` is specified twice"),
        (json!({"partitionKeys": ["k"], "primaryKeys": ["k"]}), "besides the partition keys"),
        (json!({"primaryKeys": ["k"], "options": {"primary-key": "k"}}), "`primary-key`"),
        (json!({"partitionKeys": ["k"], "options": {"partition": "k"}}), "`partition`"),
        (json!({"options": {"bucket": "many"}}), "bucket"),
        (json!({"options": {"bucket": "-2"}}), "without a primary key"),
        (json!({"options": {"bucket": "3"}}), "needs the option `bucket-key`"),
        (json!({"options": {"bucket-key": "k"}}), "has no effect without buckets"),
        (json!({"options": {"bucket": "3", "bucket-key": "x"}}), "the bucket key `x` is not a column"),
        (json!({"options": {"bucket": "3", "bucket-key": "k", "partition": "k"}}), "is a partition key"),
        (json!({"options": {"bucket-key": ""}}), "has no effect without buckets"),
        (json!({"options": {"metadata.stats-mode": "most"}}), "`metadata.stats-mode`"),
        (json!({"options": {"metadata.stats-mode": "truncate(0)"}}), "`metadata.stats-mode`"),
        (json!({"options": {"manifest.compression": "lzo"}}), "`manifest.compression`"),
        (json!({"options": {"manifest.full-compaction-threshold-size": "0"}}), "full-compaction-threshold-size"),
        (json!({"options": {"scan.fallback-branch": "b"}}), "`scan.fallback-branch`"),
        (json!({"options": {"write-only": "yes"}}), "`write-only`"),
        (json!({"options": {"data-file.prefix": "a/b-"}}), "`data-file.prefix`"),
        (
            json!({"primaryKeys": ["k"], "options": {
                "bucket": "1", "merge-engine": "aggregation", "fields.v.aggregate-function": "bool_and",
            }}),
            "`bool_and`",
        ),
        (json!({"options": {"fields.k.stats-mode": "truncate(x)"}}), "`fields.k.stats-mode`"),
    ];
    for (changes, named) in cases {
        let storage = Arc::new(MemoryStorage::default());
        let error = create(&files(storage.clone()), ROOT, definition(&changes)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{changes}: {error}");
        assert!(error.to_string().contains(named), "{changes}: {error}");
        assert!(storage.locations().is_empty(), "{changes}");
    }
    for text in ["", "[]", r#"{"fields": 5}"#, r#"{"fields": [{"name": "a", "type": "INT"}]}"#] {
        assert_eq!(Definition::parse(text.as_bytes()).unwrap_err().kind(), ErrorKind::InvalidArgument, "{text}");
    }
}

#[test]
fn unsupported_table_definitions_are_rejected_by_name() {
    let nested = json!([{"id": 0, "name": "k", "type": {"type": "ARRAY", "element": "INT"}}]);
    let cases = [
        (json!({"fields": nested, "partitionKeys": ["k"]}), "partition key of type"),
        (json!({"options": {"manifest.compression": "bzip2"}}), "`manifest.compression`"),
    ];
    for (changes, named) in cases {
        let error = definition(&changes).schema(1).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{changes}: {error}");
        assert!(error.to_string().contains(named), "{changes}: {error}");
    }
}

#[test]
fn one_of_many_writers_creates_the_table() {
    let storage = Arc::new(MemoryStorage::default());
    let made = std::thread::scope(|scope| {
        let tasks: Vec<_> =
            (0..8).map(|_| scope.spawn(|| create(&files(storage.clone()), ROOT, definition(&json!({}))))).collect();
        tasks.into_iter().map(|task| task.join().unwrap()).collect::<Vec<_>>()
    });
    assert_eq!(made.iter().filter(|made| made.is_ok()).count(), 1);
    assert!(made.into_iter().filter_map(Result::err).all(|error| error.kind() == ErrorKind::AlreadyExists));
}

#[test]
fn each_call_may_fail_before_and_after_its_effect() {
    for kind in [ErrorKind::Storage, ErrorKind::Forbidden] {
        for fault in [Fault::Fail(kind), Fault::FailAfterwards(kind)] {
            for call in 0.. {
                let storage = Arc::new(MemoryStorage::default());
                let faulty = Arc::new(FaultyStorage::new(storage.clone(), fault, call));
                let made = create(&files(faulty.clone()), ROOT, definition(&json!({})));
                if faulty.calls() <= call {
                    made.unwrap();
                    break;
                }
                let exists = !storage.locations().is_empty();
                match made {
                    Ok(_) => assert!(exists),
                    Err(error) if exists => assert_eq!(error.kind(), ErrorKind::CommitStateUnknown, "{call}: {error}"),
                    Err(error) => assert!([kind, ErrorKind::CommitStateUnknown].contains(&error.kind()), "{error}"),
                }
            }
        }
    }
}
