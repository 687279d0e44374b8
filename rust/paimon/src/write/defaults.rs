//! Replaces NULL and missing columns in rows by the default of the schema (Java's `DefaultValueRow`). Defaults of
//! fields in a ROW are ignored.

use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, Scalar};
use arrow_select::zip::zip;
use frazil_core::align::align_column;
use frazil_core::error::{Error, ErrorKind, Result};

use super::align::{RULES, target_of};
use crate::cast::parse_nested::parse;
use crate::spec::json::shown;
use crate::spec::schema::TableSchema;
use crate::spec::types::DataField;

/// The defaults of the columns of a table.
#[derive(Debug)]
pub(super) struct Defaults(Vec<Option<ArrayRef>>);

impl Defaults {
    /// # Errors
    /// `InvalidArgument` for a default that cannot be cast to the type of its column.
    pub(super) fn try_new(schema: &TableSchema) -> Result<Self> {
        schema.fields.iter().map(default).collect::<Result<_>>().map(Self)
    }

    /// Returns the default of each column as an array of length 1.
    pub(super) fn columns(&self) -> &[Option<ArrayRef>] {
        &self.0
    }

    /// Returns the rows with NULLs replaced by defaults.
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

/// Rejects a default that is not a value of its column.
///
/// # Errors
/// `InvalidArgument` naming the column.
pub(crate) fn check_default(field: &DataField) -> Result<()> {
    let mut nullable = field.clone();
    nullable.data_type.nullable = true;
    match default(&nullable)? {
        Some(value) if value.null_count() > 0 => {
            let text = shown(field.default_value.as_deref().unwrap_or_default());
            let message = format!("the default `{text}` does not fit {}", field.data_type);
            Err(Error::invalid(message).with("column", shown(&field.name)))
        }
        _ => Ok(()),
    }
}

fn default(field: &DataField) -> Result<Option<ArrayRef>> {
    let Some(text) = &field.default_value else { return Ok(None) };
    let inner = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\''));
    let cast = parse(&[Some(inner.unwrap_or(text).to_owned())], &field.data_type);
    let cast = cast.and_then(|value| align_column(&target_of(field), &RULES, &value, 0)).map_err(|error| {
        let error = error.corrupt_as(ErrorKind::InvalidArgument).with("default", shown(text));
        error.with("column", shown(&field.name))
    });
    cast.map(Some)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

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
        // Expected values are the casts of `DefaultValueUtils` in Java 1.4.2.
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
    fn arrays_maps_and_rows_are_read_as_java_reads_them() {
        let shown = |data_type: serde_json::Value, default: &str| {
            let schema = json!({
                "version": 3, "id": 0, "highestFieldId": 9, "partitionKeys": [], "primaryKeys": [], "timeMillis": 1,
                "fields": [{"id": 0, "name": "v", "type": data_type, "defaultValue": default}], "options": {},
            });
            let schema = TableSchema::parse(schema.to_string().as_bytes()).unwrap();
            let found = Defaults::try_new(&schema)?;
            let value = found.columns()[0].clone().unwrap();
            let options = arrow_cast::display::FormatOptions::default().with_null("NULL");
            Ok::<_, frazil_core::error::Error>(
                arrow_cast::display::ArrayFormatter::try_new(&value, &options).unwrap().value(0).to_string(),
            )
        };
        let array = |element: &str| json!({"type": "ARRAY", "element": element});
        let nested = json!({"type": "ARRAY", "element": array("INT")});
        let map = |value: &str| json!({"type": "MAP", "key": "STRING NOT NULL", "value": value});
        let row = json!({"type": "ROW", "fields": [
            {"id": 1, "name": "a", "type": "INT"}, {"id": 2, "name": "b", "type": "STRING"},
            {"id": 3, "name": "c", "type": array("INT")},
        ]});
        for (data_type, default, expected) in [
            (array("INT"), "[1, null,3]", "[1, NULL, 3]"),
            (array("INT"), "'[1]'", "[1]"),
            (array("INT"), " array ( 1 , 2 ) ", "[1, 2]"),
            (array("INT"), "[]", "[]"),
            (array("INT"), "ARRAY()", "[]"),
            (array("INT"), "[1,,2]", "[1, 2]"),
            (array("STRING"), r#"[a, "b, c", d e]"#, r#"[a, "b, c", d e]"#),
            (nested, "[[1, 2], [], null]", "[[1, 2], [], NULL]"),
            (map("INT"), r#"{"a": 1, "b": null}"#, "{a: 1, b: NULL}"),
            (map("INT"), "{a -> 1, a -> null}", "{a: NULL}"),
            (map("INT"), "{a=1}", "{a: 1}"),
            (map("STRING"), "{a:x}", "{a: x}"),
            (map("STRING"), r#"{"a": 1e3}"#, "{a: 1000.0}"),
            (map("INT"), " ", "{}"),
            (map("INT"), "{}", "{}"),
            (row.clone(), "{1, x, [2, 3]}", "{a: 1, b: x, c: [2, 3]}"),
            (row.clone(), "STRUCT(null, null, null)", "{a: NULL, b: NULL, c: NULL}"),
            (row.clone(), "{}", "{a: NULL, b: NULL, c: NULL}"),
        ] {
            let found = shown(data_type.clone(), default).unwrap();
            // The entries of a map are unordered.
            let sorted = |text: &str| text.chars().collect::<std::collections::BTreeSet<_>>();
            let is_map = data_type["type"] == "MAP";
            assert!(found == expected || is_map && sorted(&found) == sorted(expected), "{default}: {found}");
        }
        for (data_type, default) in [
            (array("INT"), "1, 2"),
            (array("INT"), "[x]"),
            (array("INT NOT NULL"), "[null]"),
            (map("INT"), "{a -> 1, b}"),
            (map("INT"), "{null -> 1}"),
            (map("INT"), "[1]"),
            (row.clone(), "{1, x}"),
            (row, "1, x, []"),
        ] {
            let error = shown(data_type, default).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{default}");
            assert!(error.to_string().contains("column: v"), "{error}");
        }
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
