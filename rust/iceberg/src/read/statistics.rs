//! placeholder
use arrow_array::ArrayRef;
use arrow_schema::DataType;
use crate::spec::types::PrimitiveType;
/// placeholder
pub fn bounds_array(_: &PrimitiveType, _: &DataType, _: &str, _: &[Option<&[u8]>]) -> Option<ArrayRef> { None }
