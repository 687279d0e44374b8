//! Kernels of Iceberg's bucket transform on Arrow arrays.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Decimal128Array, Int64Array, StringArray};
use frazil_benches::random::Random;
use frazil_iceberg::spec::transform::Transform;
use frazil_iceberg::spec::types::PrimitiveType;

use super::Work;

pub(super) fn integers(rows: usize) -> Work {
    let mut random = Random::new(1);
    let values = Int64Array::from_iter_values((0..rows).map(|_| random.number() as i64));
    bucket(Arc::new(values), PrimitiveType::Long)
}

/// Creates a kernel for strings of 16 bytes.
pub(super) fn texts(rows: usize) -> Work {
    let mut random = Random::new(2);
    let values = StringArray::from_iter_values((0..rows).map(|_| format!("{:016x}", random.number())));
    bucket(Arc::new(values), PrimitiveType::String)
}

pub(super) fn decimals(rows: usize) -> Work {
    let mut random = Random::new(3);
    let values = Decimal128Array::from_iter_values((0..rows).map(|_| i128::from(random.number() as i64 >> 8)));
    let values = values.with_precision_and_scale(18, 2).unwrap();
    bucket(Arc::new(values), PrimitiveType::Decimal { precision: 18, scale: 2 })
}

fn bucket(values: ArrayRef, source: PrimitiveType) -> Work {
    Box::new(move || Transform::Bucket(64).apply(&values, &source).unwrap().len())
}
