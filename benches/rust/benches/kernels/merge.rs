//! Kernels that merge sorted runs of a Paimon table.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int8Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use frazil_benches::random::Random;
use frazil_core::context::Context;
use frazil_paimon::merge::{MergeSpec, Merger, Source, Step};
use frazil_paimon::spec::options::Options;
use frazil_paimon::spec::schema::TableSchema;
use serde_json::json;

use super::Work;

const RUNS: usize = 5;
const BATCH_ROWS: usize = 8192;

/// Creates a kernel that merges five runs. Each has half of all keys, so most keys are in several runs; the last record
/// of a key wins.
pub(super) fn deduplicate(rows: usize) -> Work {
    let spec = spec();
    let schema = schema();
    let runs: Vec<Vec<RecordBatch>> = (0..RUNS).map(|run| batches(&schema, run, rows / RUNS)).collect();
    Box::new(move || {
        let mut merger = Merger::try_new(&spec, schema.clone(), RUNS, &Context::default()).unwrap();
        let mut rest: Vec<_> = runs.iter().map(|batches| batches.iter()).collect();
        let mut merged = 0;
        loop {
            match merger.step().unwrap() {
                Step::Need(run) => {
                    let next = rest[run].next().cloned();
                    merger.push(run, next.map(|batch| (source(run), batch))).unwrap();
                }
                Step::Batch(batch) => merged += batch.num_rows(),
                Step::Done => return merged,
            }
        }
    })
}

/// Returns the file of a run.
fn source(run: usize) -> Source {
    let run = u32::try_from(run).unwrap();
    Source { level: 0, age: run, file: run }
}

fn spec() -> MergeSpec {
    let field = |id: i32, name: &str, kind: &str| json!({"id": id, "name": name, "type": kind});
    let schema = json!({
        "version": 3,
        "id": 0,
        "fields": [field(0, "k", "BIGINT NOT NULL"), field(1, "v", "DOUBLE"), field(2, "s", "STRING")],
        "highestFieldId": 2,
        "partitionKeys": [],
        "primaryKeys": ["k"],
        "options": {},
        "timeMillis": 0,
    });
    let schema = TableSchema::parse(schema.to_string().as_bytes()).unwrap();
    MergeSpec::try_new(&schema, &Options::new(schema.options.clone())).unwrap()
}

fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("k", DataType::Int64, false),
        Field::new("v", DataType::Float64, true),
        Field::new("s", DataType::Utf8, true),
        Field::new("_SEQUENCE_NUMBER", DataType::Int64, false),
        Field::new("_VALUE_KIND", DataType::Int8, false),
    ]))
}

fn batches(schema: &SchemaRef, run: usize, rows: usize) -> Vec<RecordBatch> {
    let mut random = Random::new(9 + run as u64);
    let keys: Vec<i64> = (0..2 * rows as i64).filter(|_| random.below(2) == 0).collect();
    let batch = |keys: &[i64]| {
        let columns: [ArrayRef; 5] = [
            Arc::new(Int64Array::from(keys.to_vec())),
            Arc::new(Float64Array::from_iter_values(keys.iter().map(|key| *key as f64 / 8.0))),
            Arc::new(StringArray::from_iter_values(keys.iter().map(|key| format!("word-{:05} run-{run}", key % 9973)))),
            Arc::new(Int64Array::from_iter_values(keys.iter().map(|key| key + (run * 2 * rows) as i64))),
            Arc::new(Int8Array::from(vec![0; keys.len()])),
        ];
        RecordBatch::try_new(schema.clone(), columns.to_vec()).unwrap()
    };
    keys.chunks(BATCH_ROWS).map(batch).collect()
}
