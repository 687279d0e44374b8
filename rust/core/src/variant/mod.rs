//! Variants in the Parquet binary encoding.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, StructArray};
use arrow_schema::{DataType, Field, Fields};

use crate::error::{Error, Result};

/// Columns `metadata`, `value` and perhaps `typed_value` of a Parquet variant as plain `metadata` and `value`.
pub fn unshred(array: &StructArray) -> Result<StructArray> {
    if array.column_by_name("typed_value").is_some() {
        return Err(Error::unsupported("shredded variants"));
    }
    let column = |name: &str| -> Result<ArrayRef> {
        let column = array.column_by_name(name).ok_or_else(|| Error::corrupt(format!("a variant without {name}")))?;
        Ok(arrow_cast::cast(column, &DataType::Binary)?)
    };
    let fields = ["metadata", "value"].map(|name| Arc::new(Field::new(name, DataType::Binary, false)));
    let columns = vec![column("metadata")?, column("value")?];
    Ok(StructArray::try_new(Fields::from_iter(fields), columns, array.nulls().cloned())?)
}
