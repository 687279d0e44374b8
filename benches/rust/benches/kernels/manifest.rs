//! Kernels that decode a manifest and plan from it. They are cold: no files are cached in memory.

#[allow(dead_code, reason = "the crate's tests use all of it")]
#[path = "../../../../rust/iceberg/tests/support/mod.rs"]
mod support;

use arrow_schema::DataType;
use bytes::Bytes;
use frazil_benches::random::Random;
use frazil_core::avro::{AvroFile, Column, Key, Kind, Projection};
use frazil_core::context::Context;
use frazil_core::storage::Storage;
use frazil_iceberg::scan::stream::planned_batch;
use frazil_iceberg::scan::table_scan::TableScan;
use serde_json::json;

use self::support::{Entry, Fixture, Manifest, UNPARTITIONED, at, options};
use super::Work;

const COLUMNS: i32 = 20;
const MANIFEST: &str = "m0.avro";

/// Creates a kernel that decodes every field of every entry to Arrow.
pub(super) fn all_columns(entries: usize) -> Work {
    let bytes = manifest(entries);
    Box::new(move || {
        let file = AvroFile::open(bytes.clone()).unwrap();
        file.read(&Projection::natural(file.schema()).unwrap(), &Context::default()).unwrap().num_rows()
    })
}

/// Creates a kernel that decodes the path, the row count and the bounds of one column.
pub(super) fn projected(entries: usize) -> Work {
    const STATUS: i32 = 0;
    const DATA_FILE: i32 = 2;
    let bytes = manifest(entries);
    let leaf = |id, name: &str, kind| Column::new(Key::Id(id), name, Kind::Leaf(kind));
    let bounds = |id, name: &str| {
        let lookup = Kind::Lookup { keys: vec![4], value: DataType::Binary };
        Column::new(Key::Id(id), name, lookup)
    };
    let file = vec![
        leaf(100, "file_path", DataType::Utf8),
        leaf(103, "record_count", DataType::Int64),
        bounds(125, "lower_bounds"),
        bounds(128, "upper_bounds"),
    ];
    let projection = Projection::new([
        leaf(STATUS, "status", DataType::Int32),
        Column::new(Key::Id(DATA_FILE), "data_file", Kind::Struct(file)),
    ]);
    Box::new(move || AvroFile::open(bytes.clone()).unwrap().read(&projection, &Context::default()).unwrap().num_rows())
}

/// Creates a kernel that plans a task for every file.
pub(super) fn plan_all(entries: usize) -> Work {
    plan(entries, "", entries)
}

/// Creates a kernel that plans no tasks, because the bounds exclude all files.
pub(super) fn plan_by_bounds(entries: usize) -> Work {
    plan(entries, "c4 = -1", 0)
}

fn plan(entries: usize, filter: &str, expected: usize) -> Work {
    let table = fixture(entries).open();
    let options = options(filter);
    Box::new(move || {
        let plan = TableScan::try_new(&table, &options).unwrap().plan(1, &Context::default()).unwrap();
        let rows = (0..plan.files().len()).map(|part| planned_batch(&plan, part).unwrap().num_rows()).sum();
        assert_eq!(rows, expected);
        rows
    })
}

fn manifest(entries: usize) -> Bytes {
    fixture(entries).storage.read(&at(MANIFEST), u64::MAX).unwrap()
}

/// Creates a table of one manifest, whose entries have bounds of twenty columns.
fn fixture(entries: usize) -> Fixture {
    let mut random = Random::new(4);
    let columns: Vec<_> = (1..=COLUMNS)
        .map(|id| json!({"id": id, "name": format!("c{id}"), "required": false, "type": "long"}))
        .collect();
    let specs = [0, UNPARTITIONED].map(|id| json!({"spec-id": id, "fields": []}));
    let mut entry = |number: usize| {
        let mut entry = Entry::data(&format!("data/00000-{number:07}-{:016x}.parquet", random.number()));
        for id in 1..=COLUMNS {
            let lower = random.below(1 << 39) as i64;
            let upper = lower + random.below(1 << 39) as i64;
            entry = entry.bounds(id, &lower.to_le_bytes(), &upper.to_le_bytes());
        }
        entry
    };
    let entries = (0..entries).map(&mut entry).collect();
    let mut fixture = Fixture::of(&columns, &specs);
    fixture.commit(1, "append", &[Manifest::data(MANIFEST, 1, entries)]);
    fixture
}
