//! Kernels of Iceberg deletes, from decoded input to masks of rows.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, StringArray};
use arrow_schema::DataType;
use frazil_benches::random::Random;
use frazil_core::bitmap::Positions;
use frazil_iceberg::deletes::equality::EqualityKeysBuilder;
use frazil_iceberg::deletes::position::PositionDeletesBuilder;
use frazil_iceberg::deletes::vector;

use super::Work;

const PATHS: usize = 10;
const ROWS_PER_KEY: usize = 20;

/// Creates a kernel that converts the blob of a deletion vector with a tenth of the rows to the mask of the remaining
/// rows.
pub(super) fn vector(rows: usize) -> Work {
    let mut random = Random::new(5);
    let mut deleted = Positions::new();
    let chosen: Vec<i64> = (0..rows as i64).filter(|_| random.below(10) == 0).collect();
    deleted.insert_all(&chosen).unwrap();
    let blob = vector::encode(&deleted).unwrap();
    let count = chosen.len() as i64;
    Box::new(move || vector::decode(&blob, Some(count)).unwrap().kept(0, rows).len())
}

/// Creates a kernel that converts a position delete file to masks. It is sorted as the specification requires, and
/// references ten data files.
pub(super) fn positions(rows: usize) -> Work {
    let each = rows / PATHS;
    let path = |number: usize| format!("s3://bucket/warehouse/db/table/data/00000-{number:07}-0c0ffee.parquet");
    let paths = StringArray::from_iter_values((0..rows).map(|row| path(row / each)));
    let mut random = Random::new(6);
    let mut position = 0;
    let positions = Int64Array::from_iter_values((0..rows).map(|row| {
        position = if row % each == 0 { 0 } else { position + 1 + random.below(19) as i64 };
        position
    }));
    Box::new(move || {
        let mut builder = PositionDeletesBuilder::new();
        builder.push(&paths, &positions).unwrap();
        let deletes = builder.finish();
        let masks = (0..PATHS).map(|number| deletes.for_path(&path(number)).unwrap().kept(0, each * 10));
        masks.map(|mask| mask.count_set_bits()).sum()
    })
}

pub(super) fn equality_integers(rows: usize) -> Work {
    let mut random = Random::new(7);
    let values: Vec<i64> = (0..rows).map(|_| random.number() as i64).collect();
    let keys = Int64Array::from_iter_values(values.iter().copied().step_by(ROWS_PER_KEY));
    equality(DataType::Int64, Arc::new(keys), Arc::new(Int64Array::from(values)))
}

/// Creates a kernel for strings of 16 bytes.
pub(super) fn equality_texts(rows: usize) -> Work {
    let mut random = Random::new(8);
    let values: Vec<String> = (0..rows).map(|_| format!("{:016x}", random.number())).collect();
    let keys = StringArray::from_iter_values(values.iter().step_by(ROWS_PER_KEY));
    equality(DataType::Utf8, Arc::new(keys), Arc::new(StringArray::from(values)))
}

/// Creates a kernel that builds a hash table of the keys and looks up every row.
fn equality(kind: DataType, keys: ArrayRef, rows: ArrayRef) -> Work {
    let (keys, rows) = ([keys], [rows]);
    Box::new(move || {
        let mut builder = EqualityKeysBuilder::new(std::slice::from_ref(&kind)).unwrap();
        builder.push(&keys, 2).unwrap();
        let deleted = builder.finish().deleted(&rows, 1).unwrap().count_set_bits();
        assert_eq!(deleted, keys[0].len());
        deleted
    })
}
