//! Fills required fields of NULL structs. Such a field has no value, which Parquet writers reject as a missing required
//! value.

use crate::array_data::with_parts;
use crate::error::Result;
use arrow_array::{ArrayRef, RecordBatch, make_array};
use arrow_data::ArrayData;
use arrow_schema::DataType;

/// Returns the same rows, with non-NULL values in required fields whose parent struct is NULL.
///
/// # Errors
/// `Internal` for inconsistent arrays.
pub fn filled(rows: RecordBatch) -> Result<RecordBatch> {
    if !rows.columns().iter().any(|column| is_open(&column.to_data(), false)) {
        return Ok(rows);
    }
    let columns = rows.columns().iter().map(|column| filled_array(column.to_data(), false));
    let columns = columns.collect::<Result<_>>()?;
    Ok(RecordBatch::try_new(rows.schema(), columns)?)
}

/// Returns, for each child of an array of this type, whether it is required: a field of a struct that is not nullable.
fn required(data_type: &DataType) -> Vec<bool> {
    match data_type {
        DataType::Struct(fields) => fields.iter().map(|field| !field.is_nullable()).collect(),
        DataType::List(_) | DataType::Map(..) => vec![false],
        _ => Vec::new(),
    }
}

/// Returns whether a required part is NULL anywhere. Callers have checked that its parent is NULL in the same rows.
fn is_open(data: &ArrayData, is_required: bool) -> bool {
    let parts = data.child_data().iter().zip(required(data.data_type()));
    (is_required && data.null_count() > 0) || parts.into_iter().any(|(part, is_required)| is_open(part, is_required))
}

fn filled_array(data: ArrayData, is_required: bool) -> Result<ArrayRef> {
    if !is_open(&data, is_required) {
        return Ok(make_array(data));
    }
    let required = required(data.data_type());
    let parts = data.child_data().iter().cloned().zip(required);
    let parts = parts.map(|(part, is_required)| Ok(filled_array(part, is_required)?.to_data()));
    let parts = parts.collect::<Result<Vec<_>>>()?;
    let nulls = data.nulls().cloned().filter(|_| !is_required);
    with_parts(data, nulls, parts)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::cast::AsArray;
    use arrow_array::{Array, new_null_array};
    use arrow_schema::{Field, Fields, Schema};

    use super::*;

    #[test]
    fn required_fields_of_a_null_have_values_that_nobody_sees() {
        let inner = Fields::from(vec![Field::new("y", DataType::Utf8, false), Field::new("z", DataType::Int32, true)]);
        let outer = Fields::from(vec![Field::new("x", DataType::Struct(inner), false)]);
        let list = DataType::List(Arc::new(Field::new("element", DataType::Struct(outer.clone()), true)));
        let schema = Schema::new(vec![Field::new("s", DataType::Struct(outer), true), Field::new("l", list, true)]);
        let columns = schema.fields().iter().map(|field| new_null_array(field.data_type(), 3)).collect();
        let rows = filled(RecordBatch::try_new(Arc::new(schema), columns).unwrap()).unwrap();
        let s = rows.column(0).as_struct();
        let x = s.column(0).as_struct();
        assert_eq!((s.null_count(), x.null_count()), (3, 0));
        assert_eq!((x.column(0).null_count(), x.column(1).null_count()), (0, 3));
        assert_eq!(rows.column(1).null_count(), 3);
    }
}
