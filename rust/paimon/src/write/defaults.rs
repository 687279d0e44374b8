//! What a column has where a row gives NULL, or does not give the column: the default of the schema (Java's
//! `DefaultValueRow`). Defaults of fields in a ROW are not looked at.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, Scalar, StringArray};
use arrow_select::zip::zip;
use frazil_core::error::{ErrorKind, Result};

use crate::cast::Caster;
use crate::spec::json::shown;
use crate::spec::schema::TableSchema;
use crate::spec::types::{DataField, DataType, TypeRoot};

/// The defaults of the columns of a table.
#[derive(Debug)]
pub(super) struct Defaults(Vec<Option<ArrayRef>>);

impl Defaults {
    /// # Errors
    /// `InvalidArgument` for the text of a default that does not cast to its column.
    pub(super) fn try_new(schema: &TableSchema) -> Result<Self> {
        schema.fields.iter().map(default).collect::<Result<_>>().map(Self)
    }

    /// The default of each column as an array of length 1.
    pub(super) fn columns(&self) -> &[Option<ArrayRef>] {
        &self.0
    }

    /// Return rows that have defaults in place of NULL.
    pub(super) fn filled(&self, rows: RecordBatch) -> Result<RecordBatch> {
        let is_used = |(default, column): (&Option<ArrayRef>, &ArrayRef)| default.is_some() && column.null_count() > 0;
        if !self.0.iter().zip(rows.columns()).any(is_used) {
            return Ok(rows);
        }
        let mut columns = rows.columns().to_vec();
        for (column, default) in columns.iter_mut().zip(&self.0) {
            if let (Some(default), Some(nulls)) = (default, column.logical_nulls()) {
                let is_given = BooleanArray::new(nulls.into_inner(), None);
                *column = zip(&is_given, column, &Scalar::new(default.clone()))?;
            }
        }
        Ok(RecordBatch::try_new(rows.schema(), columns)?)
    }
}

fn default(field: &DataField) -> Result<Option<ArrayRef>> {
    let Some(text) = &field.default_value else { return Ok(None) };
    let inner = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\''));
    let array: ArrayRef = Arc::new(StringArray::from(vec![inner.unwrap_or(text)]));
    let from = DataType::nullable(TypeRoot::VarChar(i32::MAX.unsigned_abs()));
    let cast = || match Caster::try_new(&from, &field.data_type)? {
        None => Ok(array),
        Some(caster) => caster.cast(&array),
    };
    let cast = cast().map_err(|error| {
        let error = error.corrupt_as(ErrorKind::InvalidArgument).with("default", shown(text));
        error.with("column", shown(&field.name))
    });
    cast.map(Some)
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int32Type;
    use serde_json::json;

    use super::*;

    fn schema(data_type: &str, default: &str) -> TableSchema {
        let schema = json!({
            "version": 3, "id": 0, "highestFieldId": 1, "partitionKeys": [], "primaryKeys": [], "timeMillis": 1,
            "fields": [{"id": 0, "name": "v", "type": data_type, "defaultValue": default}], "options": {},
        });
        TableSchema::parse(schema.to_string().as_bytes()).unwrap()
    }

    fn text(data_type: &str, default: &str) -> String {
        let found = Defaults::try_new(&schema(data_type, default)).unwrap();
        found.columns()[0].as_ref().unwrap().as_string::<i32>().value(0).to_string()
    }

    #[test]
    fn texts_are_cast_without_their_quotes() {
        // As `DefaultValueUtils` of Java 1.4.2 casts them.
        for (data_type, default, expected) in [
            ("STRING", "a", "a"),
            ("STRING", "'a'", "a"),
            ("STRING", "'a", "'a"),
            ("STRING", "''", ""),
            ("CHAR(3)", "'a'", "a  "),
            ("VARCHAR(3)", "'abcdef'", "abc"),
        ] {
            assert_eq!(text(data_type, default), expected, "{data_type} {default}");
        }
        let error = Defaults::try_new(&schema("INT", " 5 ")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.to_string().contains("column: v"), "{error}");
    }

    #[test]
    fn null_becomes_the_default() {
        let schema = schema("INT", "'5'");
        let column: ArrayRef = Arc::new(arrow_array::Int32Array::from(vec![Some(1), None, Some(3)]));
        let rows = RecordBatch::try_from_iter_with_nullable([("v", column, true)]).unwrap();
        let filled = Defaults::try_new(&schema).unwrap().filled(rows).unwrap();
        assert_eq!(filled.column(0).as_primitive::<Int32Type>().values(), &[1, 5, 3]);
    }
}
