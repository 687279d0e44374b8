use std::collections::BTreeMap;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array};
use arrow_schema::{DataType, Field, Schema as ArrowSchema};

use super::*;

const METADATA: &str = r#"{"format-version": 2, "table-uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1",
    "location": "memory:/t", "last-sequence-number": 0, "last-updated-ms": 1, "last-column-id": 2,
    "current-schema-id": 0, "schemas": [{"type": "struct", "schema-id": 0, "fields": [
        {"id": 1, "name": "a", "required": false, "type": "long"},
        {"id": 2, "name": "p", "required": false, "type": "long"}]}],
    "default-spec-id": SPEC, "partition-specs": [
        {"spec-id": 0, "fields": [{"name": "p", "transform": "identity", "source-id": 2, "field-id": 1000}]},
        {"spec-id": 1, "fields": []}],
    "last-partition-id": 1000, "default-sort-order-id": ORDER, "sort-orders": [{"order-id": 0, "fields": []},
        {"order-id": 3, "fields": [
            {"transform": "identity", "source-id": 1, "direction": "desc", "null-order": "nulls-last"}]}]}"#;

fn writer(order: i32, options: &RowOptions) -> RowWriter {
    writer_of(order, 0, options)
}

fn writer_of(order: i32, spec_id: i32, options: &RowOptions) -> RowWriter {
    let json = METADATA.replace("ORDER", &order.to_string()).replace("SPEC", &spec_id.to_string());
    RowWriter::new(&TableMetadata::parse(json.as_bytes()).unwrap(), options).unwrap()
}

fn batch(rows: impl Iterator<Item = (i64, i64)>) -> RecordBatch {
    let (a, p): (Vec<_>, Vec<_>) = rows.unzip();
    let columns: [(&str, ArrayRef); 2] = [("a", Arc::new(Int64Array::from(a))), ("p", Arc::new(Int64Array::from(p)))];
    RecordBatch::try_from_iter(columns).unwrap()
}

/// Returns the rows of each partition in the order in which they are returned, and the number of rows that did not
/// wait.
fn written(writer: &mut RowWriter, batches: Vec<RecordBatch>) -> (usize, Vec<usize>, BTreeMap<i64, Vec<i64>>) {
    let mut parts = Vec::new();
    for batch in batches {
        parts.extend(writer.split(&batch).unwrap());
    }
    let at_once = parts.iter().map(|(_, rows)| rows.num_rows()).sum();
    let mut order = Vec::new();
    while let Some(more) = writer.next_sorted(1_000).unwrap() {
        order.extend(more.iter().map(|(partition, _)| *partition));
        parts.extend(more);
    }
    order.dedup();
    let mut rows: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    for (_, part) in parts {
        let [a, p] = [0, 1].map(|i| part.column(i).as_primitive::<Int64Type>().values().to_vec());
        a.into_iter().zip(p).for_each(|(a, p)| rows.entry(p).or_default().push(a));
    }
    (at_once, order, rows)
}

#[test]
fn first_partitions_are_written_at_once_and_the_others_one_after_another() {
    let mut writer = writer(0, &RowOptions { memory_bytes: 10_000, ..RowOptions::default() });
    let batches = (0..20).map(|b| batch((0..1_000).map(move |i| (b * 1_000 + i, (i * 7) % 500)))).collect();
    let (at_once, order, rows) = written(&mut writer, batches);
    assert_eq!(at_once, 20_000 / 500 * MAX_OPEN_PARTITIONS);
    let mut once = order.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!((once.len(), order.len()), (500 - MAX_OPEN_PARTITIONS, 500 - MAX_OPEN_PARTITIONS));
    assert_eq!(rows.len(), 500);
    // Rows of a partition keep their order.
    assert!(rows.values().all(|rows| rows.len() == 40 && rows.is_sorted()));
}

#[test]
fn all_rows_of_a_sorted_table_wait_and_are_sorted_in_each_partition() {
    for memory_bytes in [1, usize::MAX] {
        let mut writer = writer(3, &RowOptions { memory_bytes, ..RowOptions::default() });
        let batches = (0..5).map(|b| batch((0..400).map(move |i| ((i * 7_919 + b) % 1_009, i % 3)))).collect();
        let (at_once, order, rows) = written(&mut writer, batches);
        assert_eq!((at_once, order.len()), (0, 3));
        assert_eq!(rows.values().map(Vec::len).sum::<usize>(), 2_000);
        assert!(rows.values().all(|rows| rows.is_sorted_by(|a, b| a >= b)));
    }
}

#[test]
fn files_record_their_sort_order_and_spec() {
    for (order, spec_id) in [(0, 0), (3, 0), (3, 1)] {
        let mut writer = writer_of(order, spec_id, &RowOptions::default());
        written(&mut writer, vec![batch([(1, 1), (2, 1)].into_iter())]);
        writer.close(0, WrittenFile { path: "f".into(), format: "PARQUET".into(), ..WrittenFile::default() }).unwrap();
        assert_eq!(writer.files[0].sort_order_id, Some(order));
        assert_eq!(writer.added().unwrap()[0].spec_id, spec_id);
    }
}

#[test]
fn lineage_is_in_the_files_and_not_in_the_metrics() {
    let mut writer = writer(
        0,
        &RowOptions {
            lineage: Some(CommittedIds { next_row_id: 100, last_sequence_number: 100 }),
            ..RowOptions::default()
        },
    );
    assert_eq!(writer.schema().leaf_ids(), [1, 2, 2_147_483_540, 2_147_483_539]);
    written(&mut writer, vec![batch([(1, 1)].into_iter())]);
    writer.close(0, WrittenFile { path: "f".into(), format: "PARQUET".into(), ..WrittenFile::default() }).unwrap();
    assert_eq!(writer.files[0].metrics.value_counts.keys().copied().collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn ids_that_are_not_assigned_yet_are_not_recorded() {
    let columns =
        ["id", "_row_id", "_last_updated_sequence_number"].map(|name| Field::new(name, DataType::Int64, true));
    let column = |values: [Option<i64>; 3]| Arc::new(Int64Array::from(values.to_vec())) as ArrayRef;
    let columns = Arc::new(ArrowSchema::new(columns.to_vec()));
    let ids = [column([Some(1); 3]), column([Some(9), Some(10), None]), column([Some(4), Some(3), Some(5)])];
    let rows = RecordBatch::try_new(columns, ids.to_vec()).unwrap();
    let kept = CommittedIds { next_row_id: 10, last_sequence_number: 3 }.keep(&rows).unwrap();
    let values = |column: usize| kept.column(column).as_primitive::<Int64Type>().iter().collect::<Vec<_>>();
    assert_eq!(values(1), [Some(9), None, None]);
    assert_eq!(values(2), [None, Some(3), None]);
}
