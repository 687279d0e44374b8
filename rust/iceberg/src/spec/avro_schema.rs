//! Converts Iceberg types to Avro schemas (spec: appendix A, "Avro"), with Java's names.

use std::collections::HashSet;
use std::fmt::Write;

use frazil_core::error::{Error, Result};
use serde_json::{Value, json};

use super::types::{NestedField, PrimitiveType, StructType, Type};

/// Returns the schema of records of this type, as JSON text.
///
/// # Errors
/// `Unsupported` for types that Avro files cannot store.
pub fn avro_schema(name: &str, fields: &StructType) -> Result<String> {
    Names::default().record(name, fields).map(|schema| schema.to_string())
}

/// The names defined so far: after its definition, a type is referenced by its name only.
#[derive(Default)]
struct Names(HashSet<String>);

impl Names {
    fn record(&mut self, name: &str, fields: &StructType) -> Result<Value> {
        let fields = fields.fields.iter().map(|field| self.field(field)).collect::<Result<Vec<_>>>()?;
        Ok(json!({"type": "record", "name": name, "fields": fields}))
    }

    fn field(&mut self, field: &NestedField) -> Result<Value> {
        let name = avro_name(&field.name);
        let mut schema = json!({"name": name, "type": self.optional(field)?, "field-id": field.id});
        if let Some(members) = schema.as_object_mut() {
            if name != field.name {
                members.insert("iceberg-field-name".into(), json!(field.name));
            }
            if let Some(doc) = &field.doc {
                members.insert("doc".into(), json!(doc));
            }
            if !field.required {
                members.insert("default".into(), Value::Null);
            }
        }
        Ok(schema)
    }

    /// Returns the Avro type of a field: a union with null if the field is optional.
    fn optional(&mut self, field: &NestedField) -> Result<Value> {
        let value = self.value(&field.field_type, field.id)?;
        Ok(if field.required || value == json!("null") { value } else { json!(["null", value]) })
    }

    /// Returns the Avro type; `id` is that of the field with this type and makes record names unique.
    fn value(&mut self, field_type: &Type, id: i32) -> Result<Value> {
        match field_type {
            Type::Primitive(primitive) => self.primitive(primitive),
            Type::Struct(fields) => self.record(&format!("r{id}"), fields),
            Type::List(list) => {
                Ok(json!({"type": "array", "items": self.optional(&list.element)?, "element-id": list.element.id}))
            }
            Type::Map(map) if map.key.field_type == Type::Primitive(PrimitiveType::String) => Ok(json!({
                "type": "map", "values": self.optional(&map.value)?, "key-id": map.key.id, "value-id": map.value.id,
            })),
            // Avro maps support only string keys.
            Type::Map(map) => {
                let entry = StructType { fields: vec![map.key.clone(), map.value.clone()] };
                let items = self.record(&format!("k{}_v{}", map.key.id, map.value.id), &entry)?;
                Ok(json!({"type": "array", "logicalType": "map", "items": items}))
            }
        }
    }

    fn primitive(&mut self, primitive: &PrimitiveType) -> Result<Value> {
        let timestamp = |unit: &str, utc: bool| json!({"type": "long", "logicalType": format!("timestamp-{unit}"), "adjust-to-utc": utc});
        Ok(match primitive {
            PrimitiveType::Unknown => json!("null"),
            PrimitiveType::Boolean => json!("boolean"),
            PrimitiveType::Int => json!("int"),
            PrimitiveType::Long => json!("long"),
            PrimitiveType::Float => json!("float"),
            PrimitiveType::Double => json!("double"),
            PrimitiveType::Date => json!({"type": "int", "logicalType": "date"}),
            PrimitiveType::Time => json!({"type": "long", "logicalType": "time-micros"}),
            PrimitiveType::Timestamp => timestamp("micros", false),
            PrimitiveType::Timestamptz => timestamp("micros", true),
            PrimitiveType::TimestampNs => timestamp("nanos", false),
            PrimitiveType::TimestamptzNs => timestamp("nanos", true),
            PrimitiveType::String => json!("string"),
            PrimitiveType::Binary | PrimitiveType::Geometry(_) | PrimitiveType::Geography(..) => json!("bytes"),
            PrimitiveType::Uuid => self.fixed("uuid_fixed", 16, json!({"logicalType": "uuid"})),
            PrimitiveType::Fixed(length) => self.fixed(&format!("fixed_{length}"), *length, json!({})),
            PrimitiveType::Decimal { precision, scale } => {
                let logical = json!({"logicalType": "decimal", "precision": precision, "scale": scale});
                self.fixed(&format!("decimal_{precision}_{scale}"), decimal_bytes(*precision), logical)
            }
            PrimitiveType::Variant => return Err(Error::unsupported("variants in Avro files are not supported")),
        })
    }

    fn fixed(&mut self, name: &str, size: u32, attributes: Value) -> Value {
        if !self.0.insert(name.to_string()) {
            return json!(name);
        }
        let mut schema = json!({"type": "fixed", "name": name, "size": size});
        if let (Some(members), Value::Object(attributes)) = (schema.as_object_mut(), attributes) {
            members.extend(attributes);
        }
        schema
    }
}

/// Returns the maximum number of bytes of a decimal's unscaled value (spec: appendix A).
pub fn decimal_bytes(precision: u8) -> u32 {
    let largest = 10_i128.checked_pow(u32::from(precision)).map_or(i128::MAX, |power| power - 1);
    u32::try_from(frazil_core::hash::twos_complement_len(largest)).unwrap_or(16)
}

/// Returns a valid Avro name: letters, digits and `_`; other characters become `_x` and their code, and a leading digit
/// gets the prefix `_`.
pub(crate) fn avro_name(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for (i, unit) in name.encode_utf16().enumerate() {
        match char::from_u32(u32::from(unit)) {
            Some(c) if c == '_' || c.is_alphabetic() || (i > 0 && c.is_numeric()) => out.push(c),
            Some(c) if c.is_numeric() => out.extend(['_', c]),
            // Writing to a string cannot fail.
            _ => drop(write!(out, "_x{unit:X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::schema::Schema;
    use super::*;

    #[test]
    fn names_are_sanitized_for_avro_and_the_originals_are_kept() {
        for (name, avro) in [("a", "a"), ("a.b", "a_x2Eb"), ("9x", "_9x"), ("x9", "x9"), ("a b", "a_x20b"), ("é", "é")]
        {
            assert_eq!(avro_name(name), avro);
        }
        let schema = Schema::from_json(
            r#"{"type": "struct", "fields": [{"id": 1, "name": "a.b", "required": true, "type": "int"}]}"#,
        );
        let avro: Value = serde_json::from_str(&avro_schema("t", &schema.unwrap().fields).unwrap()).unwrap();
        assert_eq!(
            avro["fields"][0],
            json!({"name": "a_x2Eb", "type": "int", "field-id": 1, "iceberg-field-name": "a.b"})
        );
    }

    #[test]
    fn a_named_type_is_defined_once() {
        let schema = Schema::from_json(
            r#"{"type": "struct", "fields": [
                {"id": 1, "name": "a", "required": true, "type": "uuid"},
                {"id": 2, "name": "b", "required": false, "type": "uuid"},
                {"id": 3, "name": "c", "required": true, "type": "decimal(9, 2)"},
                {"id": 4, "name": "d", "required": true, "type": "decimal(9, 3)"}]}"#,
        );
        let avro: Value = serde_json::from_str(&avro_schema("t", &schema.unwrap().fields).unwrap()).unwrap();
        assert_eq!(
            avro["fields"][0]["type"],
            json!({"type": "fixed", "name": "uuid_fixed", "size": 16, "logicalType": "uuid"})
        );
        assert_eq!(avro["fields"][1]["type"], json!(["null", "uuid_fixed"]));
        assert_eq!(
            (&avro["fields"][2]["type"]["size"], &avro["fields"][3]["type"]["name"]),
            (&json!(4), &json!("decimal_9_3"))
        );
    }

    #[test]
    fn decimals_take_the_bytes_that_their_digits_need() {
        for (precision, bytes) in [(1, 1), (2, 1), (3, 2), (4, 2), (9, 4), (10, 5), (18, 8), (19, 9), (38, 16)] {
            assert_eq!(decimal_bytes(precision), bytes, "{precision}");
        }
    }
}
