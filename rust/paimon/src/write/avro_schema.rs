//! Converts Paimon types to Avro schemas, with the names of Java's `AvroSchemaConverter`.
//!
//! ```text
//! TIMESTAMP    timestamp-*          ... WITH LOCAL TIME ZONE   local-timestamp-*: not what the names say
//! MAP          map for keys that are texts, else an array of records `key`, `value`
//! nullable     ["null", type], with the default null for fields
//! ```

use std::collections::HashSet;

use frazil_core::error::{Error, Result};
use serde_json::{Value, json};

use crate::spec::json::shown;
use crate::spec::types::{DataField, DataType, TypeRoot};

const NAMESPACE: &str = "org.apache.paimon.avro.generated";
const ROOT: &str = "record";

/// Returns the schema of records with these columns, as JSON text.
///
/// # Errors
/// `Unsupported` naming a column whose type or name is not supported in Avro files.
pub fn avro_schema(fields: &[DataField]) -> Result<String> {
    let mut schema = Names::default().record(ROOT, fields)?;
    if let Some(members) = schema.as_object_mut() {
        members.insert("namespace".into(), json!(NAMESPACE));
    }
    Ok(schema.to_string())
}

/// The names of the records that are already defined.
#[derive(Default)]
struct Names(HashSet<String>);

impl Names {
    fn record(&mut self, name: &str, fields: &[DataField]) -> Result<Value> {
        if !self.0.insert(name.to_string()) {
            let message = format!(
                "writing two columns that both need the record `{}` to Avro files is not supported",
                shown(name)
            );
            return Err(Error::unsupported(message).hint("rename a column or a field, or set `file.format` to parquet"));
        }
        let fields = fields.iter().map(|field| {
            check_name(&field.name)?;
            let data_type = self.optional(&field.data_type, &format!("{name}_{}", field.name));
            let mut found = json!({"name": field.name, "type": data_type.map_err(|e| named(e, field))?});
            if let (true, Some(members)) = (field.data_type.nullable, found.as_object_mut()) {
                members.insert("default".into(), Value::Null);
            }
            Ok(found)
        });
        Ok(json!({"type": "record", "name": name, "fields": fields.collect::<Result<Vec<_>>>()?}))
    }

    /// Returns the schema of a nullable type; `name` is the name of a record in the type.
    fn optional(&mut self, data_type: &DataType, name: &str) -> Result<Value> {
        let value = self.value(data_type, name)?;
        Ok(if data_type.nullable { json!(["null", value]) } else { value })
    }

    fn value(&mut self, data_type: &DataType, name: &str) -> Result<Value> {
        use TypeRoot as T;
        Ok(match &data_type.root {
            T::Boolean => json!("boolean"),
            T::TinyInt | T::SmallInt | T::Int => json!("int"),
            T::BigInt => json!("long"),
            T::Float => json!("float"),
            T::Double => json!("double"),
            T::Char(_) | T::VarChar(_) => json!("string"),
            T::Binary(_) | T::VarBinary(_) => json!("bytes"),
            T::Decimal(precision, scale) => {
                json!({"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale})
            }
            T::Date => json!({"type": "int", "logicalType": "date"}),
            T::Time(0..=3) => json!({"type": "int", "logicalType": "time-millis"}),
            T::Timestamp(0..=3) => json!({"type": "long", "logicalType": "timestamp-millis"}),
            T::Timestamp(4..=6) => json!({"type": "long", "logicalType": "timestamp-micros"}),
            T::LocalZonedTimestamp(0..=3) => json!({"type": "long", "logicalType": "local-timestamp-millis"}),
            T::LocalZonedTimestamp(4..=6) => json!({"type": "long", "logicalType": "local-timestamp-micros"}),
            T::Row(fields) => self.record(name, fields)?,
            T::Array(element) => json!({"type": "array", "items": self.optional(element, name)?}),
            T::Map(key, value) if matches!(key.root, T::Char(_) | T::VarChar(_)) => {
                json!({"type": "map", "values": self.optional(value, name)?})
            }
            T::Map(key, value) => self.entries(key, value, name)?,
            T::Time(_) | T::Timestamp(_) | T::LocalZonedTimestamp(_) | T::Multiset(_) | T::Variant | T::Blob => {
                return Err(Error::unsupported(format!(
                    "writing columns of type {data_type} to Avro files is not supported"
                )));
            }
        })
    }

    fn entries(&mut self, key: &DataType, value: &DataType, name: &str) -> Result<Value> {
        let part = |name: &str, data_type: &DataType| DataField {
            id: 0,
            name: name.to_string(),
            data_type: data_type.clone(),
            description: None,
            default_value: None,
        };
        let mut items = self.record(name, &[part("key", key), part("value", value)])?;
        // Unlike other fields, keys have no default.
        if let Some(key) = items.pointer_mut("/fields/0").and_then(Value::as_object_mut) {
            key.remove("default");
        }
        Ok(json!({"type": "array", "logicalType": "map", "items": items}))
    }
}

fn named(error: Error, field: &DataField) -> Error {
    error.with("column", shown(&field.name))
}

/// Rejects invalid Avro names. Names begin with a letter or `_`, followed by letters, digits and `_`.
fn check_name(name: &str) -> Result<()> {
    let is_first = |c: char| c == '_' || c.is_alphabetic();
    let is_valid = name.chars().next().is_some_and(is_first) && name.chars().all(|c| is_first(c) || c.is_ascii_digit());
    if is_valid {
        return Ok(());
    }
    Err(Error::unsupported("the column name is not valid in Avro files").with("column", shown(name)).hint(
        "Avro names consist of letters, digits and `_`: rename the column, or set `file.format` to parquet or orc",
    ))
}

#[cfg(test)]
mod tests {
    use frazil_core::error::ErrorKind;

    use super::*;

    /// Types with their schemas in Java.
    const OF_JAVA: &str = include_str!("../../testdata/avro_schema.json");

    fn fields(json: &Value) -> Vec<DataField> {
        json.as_array().unwrap().iter().map(|field| DataField::parse_json(field).unwrap()).collect()
    }

    #[test]
    fn schemas_are_those_of_java() {
        let case: Value = serde_json::from_str(OF_JAVA).unwrap();
        let found: Value = serde_json::from_str(&avro_schema(&fields(&case["fields"])).unwrap()).unwrap();
        assert_eq!(found["fields"], case["avro"]);
        assert_eq!((&found["name"], &found["namespace"]), (&json!("record"), &json!(NAMESPACE)));
    }

    #[test]
    fn columns_unsupported_by_avro_are_named() {
        let row = |id: i32, name: &str, kind: &Value| json!({"id": id, "name": name, "type": kind});
        let of = |fields: Value| json!({"type": "ROW", "fields": fields});
        let inner = of(json!([row(5, "x", &json!("INT"))]));
        for (columns, named) in [
            (json!([row(1, "a b", &json!("INT"))]), "column: a b"),
            (json!([row(1, "1", &json!("INT"))]), "column: 1"),
            (json!([row(1, "r", &of(json!([row(2, "a.b", &json!("INT"))])))]), "a.b"),
            (json!([row(1, "t", &json!("TIMESTAMP(7)"))]), "column: t"),
            (json!([row(1, "a_b", &inner), row(2, "a", &of(json!([row(3, "b", &inner)])))]), "`record_a_b`"),
        ] {
            let error = avro_schema(&fields(&columns)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported);
            assert!(error.to_string().contains(named), "{error}");
        }
        avro_schema(&fields(&json!([row(1, "_é1", &json!("INT"))]))).unwrap();
    }
}
