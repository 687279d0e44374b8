//! Types and fields as JSON (spec: appendix C, "Schemas").
//!
//! ```text
//! primitive  "decimal(9, 2)"
//! struct     {"type": "struct", "fields": [{"id": 1, "name": "x", "required": false, "type": ..., "doc": "...",
//!                                           "initial-default": ..., "write-default": ...}, ...]}
//! list       {"type": "list", "element-id": 3, "element-required": true, "element": ...}
//! map        {"type": "map", "key-id": 4, "key": ..., "value-id": 5, "value-required": false, "value": ...}
//! ```

use std::borrow::Cow;
use std::sync::Arc;

use frazil_core::error::{ErrorKind, Result};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;

use super::json::{self, At, Object, shown};
use super::types::{ListType, MapType, NestedField, PrimitiveType, StructType, Type};
use super::value_json::read_value;

/// The maximum nesting depth of types. Real tables stay below the limit; deeper types could overflow the stack.
const MAX_TYPE_DEPTH: usize = 100;

/// Reads a type; `depth` is its nesting depth.
///
/// # Errors
/// `CorruptMetadata` for violations of the spec; `LimitExceeded` for more than a hundred levels.
pub(crate) fn read_type(raw: &RawValue, at: &At<'_>, depth: usize) -> Result<Type> {
    if depth > MAX_TYPE_DEPTH {
        let message = format!("a type is nested more than {MAX_TYPE_DEPTH} levels deep");
        // The location is omitted because it would have hundreds of steps.
        return Err(frazil_core::error::Error::new(ErrorKind::LimitExceeded, message));
    }
    if raw.get().starts_with('"') {
        let text: Cow<'_, str> = json::parse(raw.get(), at)?;
        let primitive: Result<PrimitiveType> = text.parse();
        return primitive.map(Type::Primitive).map_err(|error| at.corrupt(error.message()));
    }
    let object = Object::parse(raw.get(), at)?;
    let name: String = object.required("type", at)?;
    match name.to_ascii_lowercase().as_str() {
        "struct" => read_fields(&object, at, depth).map(Type::Struct),
        "list" => {
            let element = TypePart { id: "element-id", name: "element", required: Some("element-required") };
            Ok(Type::List(Arc::new(ListType { element: element.read(&object, at, depth)? })))
        }
        "map" => {
            let key = TypePart { id: "key-id", name: "key", required: None };
            let value = TypePart { id: "value-id", name: "value", required: Some("value-required") };
            let (key, value) = (key.read(&object, at, depth)?, value.read(&object, at, depth)?);
            Ok(Type::Map(Arc::new(MapType { key, value })))
        }
        _ => Err(at.corrupt(format!("unknown type `{}`", shown(&name)))),
    }
}

/// Reads the member `fields` of a struct or a schema.
pub(crate) fn read_fields(object: &Object<'_>, at: &At<'_>, depth: usize) -> Result<StructType> {
    let fields = object.list("fields", at, |raw, at| read_field(raw, at, depth))?;
    let fields = fields.ok_or_else(|| at.corrupt("`fields` is missing"))?;
    Ok(StructType { fields })
}

fn read_field(raw: &RawValue, at: &At<'_>, depth: usize) -> Result<NestedField> {
    let object = Object::parse(raw.get(), at)?;
    let field_type = read_type(object.required_raw("type", at)?, &at.key("type"), depth + 1)?;
    let default = |key| match object.raw(key, at)? {
        Some(raw) => read_value(raw, &field_type, &at.key(key)),
        None => Ok(None),
    };
    Ok(NestedField {
        id: object.required("id", at)?,
        name: object.required("name", at)?,
        required: object.required("required", at)?,
        doc: object.optional("doc", at)?,
        initial_default: default("initial-default")?,
        write_default: default("write-default")?,
        field_type,
    })
}

/// The keys of a part of a list or a map.
struct TypePart {
    id: &'static str,
    name: &'static str,
    /// The key that states whether the part is required; None if the part is always required.
    required: Option<&'static str>,
}

impl TypePart {
    fn read(&self, object: &Object<'_>, at: &At<'_>, depth: usize) -> Result<NestedField> {
        let id = object.required(self.id, at)?;
        let required = self.required.map_or(Ok(true), |key| object.required(key, at))?;
        let field_type = read_type(object.required_raw(self.name, at)?, &at.key(self.name), depth + 1)?;
        Ok(NestedField::new(id, self.name, field_type, required))
    }
}

impl Serialize for Type {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Primitive(primitive) => serializer.collect_str(primitive),
            Self::Struct(fields) => {
                let mut map = serializer.serialize_map(Some(2))?;
                map.serialize_entry("type", "struct")?;
                map.serialize_entry("fields", &fields.fields)?;
                map.end()
            }
            Self::List(list) => {
                let mut map = serializer.serialize_map(Some(4))?;
                map.serialize_entry("type", "list")?;
                map.serialize_entry("element-id", &list.element.id)?;
                map.serialize_entry("element-required", &list.element.required)?;
                map.serialize_entry("element", &list.element.field_type)?;
                map.end()
            }
            Self::Map(entries) => {
                let mut map = serializer.serialize_map(Some(6))?;
                map.serialize_entry("type", "map")?;
                map.serialize_entry("key-id", &entries.key.id)?;
                map.serialize_entry("key", &entries.key.field_type)?;
                map.serialize_entry("value-id", &entries.value.id)?;
                map.serialize_entry("value-required", &entries.value.required)?;
                map.serialize_entry("value", &entries.value.field_type)?;
                map.end()
            }
        }
    }
}

impl Serialize for NestedField {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("id", &self.id)?;
        map.serialize_entry("name", &self.name)?;
        map.serialize_entry("required", &self.required)?;
        map.serialize_entry("type", &self.field_type)?;
        if let Some(doc) = &self.doc {
            map.serialize_entry("doc", doc)?;
        }
        if let Some(default) = &self.initial_default {
            map.serialize_entry("initial-default", default)?;
        }
        if let Some(default) = &self.write_default {
            map.serialize_entry("write-default", default)?;
        }
        map.end()
    }
}
