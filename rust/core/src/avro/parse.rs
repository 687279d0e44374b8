//! Parses the JSON of a schema (Avro specification, "Schema Declaration" and "Names").
//!
//! The parser accepts what other writers produce: a name may be defined twice (the later definition applies from there
//! on), and attributes that are unknown or have the wrong JSON type are ignored. It rejects schemas whose meaning is
//! unclear: unknown types, cycles, two fields with the same name, and negative sizes are errors.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_schema::TimeUnit;
use serde_json::{Map, Value};

use super::schema::{Field, Logical, MAX_DEPTH, MAX_NODES, PartIds, Record, Schema, Shape};
use crate::error::{Error, ErrorKind, Result};

type JsonObject = Map<String, Value>;

impl Schema {
    /// Parses the JSON text of a schema.
    ///
    /// # Errors
    /// `CorruptData` for an invalid Avro schema, cyclic types and JSON that is nested more than 128 levels deep;
    /// `LimitExceeded` above [`MAX_DEPTH`] or [`MAX_NODES`].
    pub fn parse(json: &[u8]) -> Result<Self> {
        let value: Value =
            serde_json::from_slice(json).map_err(|e| Error::corrupt("the Avro schema is not JSON").caused_by(e))?;
        Names::default().schema(&value, "")
    }
}

/// The named types so far, by full name; `None` while a definition is being parsed.
#[derive(Default)]
struct Names(HashMap<String, Option<Schema>>);

impl Names {
    fn schema(&mut self, json: &Value, namespace: &str) -> Result<Schema> {
        let schema = match json {
            Value::String(name) => self.named(name, namespace)?,
            Value::Array(branches) => self.union(branches, namespace)?,
            Value::Object(object) => self.object(object, namespace)?,
            _ => return Err(Error::corrupt("an Avro type is not a name, a list or an object")),
        };
        limited(schema)
    }

    /// Returns a primitive type, or a named type that is already defined.
    fn named(&self, name: &str, namespace: &str) -> Result<Schema> {
        if let Some(shape) = primitive(name) {
            return Ok(Schema::plain(shape));
        }
        match self.0.get(&full_name(name, namespace)).or_else(|| self.0.get(name)) {
            Some(Some(schema)) => Ok(schema.clone()),
            Some(None) => Err(Error::corrupt(format!("Avro type {} contains itself", shown(name)))),
            None => Err(Error::corrupt(format!("Avro type {} is not defined", shown(name)))),
        }
    }

    fn union(&mut self, branches: &[Value], namespace: &str) -> Result<Schema> {
        let branches = branches.iter().map(|json| self.schema(json, namespace)).collect::<Result<Vec<_>>>()?;
        if branches.iter().any(|branch| matches!(branch.shape, Shape::Union(_))) {
            return Err(Error::corrupt("an Avro union contains another union directly"));
        }
        if branches.iter().filter(|branch| branch.shape == Shape::Null).count() > 1 {
            return Err(Error::corrupt("an Avro union contains null twice"));
        }
        Ok(Schema::plain(Shape::Union(branches.into())))
    }

    fn object(&mut self, object: &JsonObject, namespace: &str) -> Result<Schema> {
        let mut schema = match object.get("type") {
            Some(Value::String(kind)) => match kind.as_str() {
                "record" | "error" => self.record(object, namespace)?,
                "fixed" | "enum" => return self.leaf_definition(kind, object, namespace),
                "array" => Schema::plain(Shape::Array(Arc::new(self.part(object, "items", namespace)?))),
                "map" => Schema::plain(Shape::Map(Arc::new(self.part(object, "values", namespace)?))),
                name => self.named(name, namespace)?,
            },
            Some(nested) => self.schema(nested, namespace)?,
            None => return Err(Error::corrupt("an Avro type has no \"type\"")),
        };
        annotate(&mut schema, object);
        Ok(schema)
    }

    fn part(&mut self, object: &JsonObject, key: &str, namespace: &str) -> Result<Schema> {
        let json = object.get(key).ok_or_else(|| Error::corrupt(format!("an Avro type has no \"{key}\"")))?;
        self.schema(json, namespace)
    }

    fn record(&mut self, object: &JsonObject, namespace: &str) -> Result<Schema> {
        let (name, namespace) = declared_name(object, namespace)?;
        let Some(Value::Array(items)) = object.get("fields") else {
            return Err(Error::corrupt(format!("the Avro record {} has no fields", shown(&name))));
        };
        self.0.insert(name.clone(), None);
        let fields = items.iter().map(|item| self.field(item, &namespace)).collect::<Result<Vec<_>>>()?;
        let mut seen = HashSet::new();
        if let Some(twice) = fields.iter().find(|field| !seen.insert(field.name.as_str())) {
            return Err(Error::corrupt(format!(
                "the Avro record {} has two fields named {}",
                shown(&name),
                shown(&twice.name)
            )));
        }
        let mut schema = Schema::plain(Shape::Record(Arc::new(Record::new(name.clone(), fields))));
        annotate(&mut schema, object);
        // The limits are checked before the type can be referenced by name, so that each reference to a type adds a
        // limited size.
        let schema = limited(schema)?;
        self.0.insert(name, Some(schema.clone()));
        Ok(schema)
    }

    fn field(&mut self, json: &Value, namespace: &str) -> Result<Field> {
        let (Some(name), Some(kind)) = (json.get("name").and_then(Value::as_str), json.get("type")) else {
            return Err(Error::corrupt("an Avro field has no \"name\" or \"type\""));
        };
        let schema = self.schema(kind, namespace).map_err(|e| e.with("field", shown(name)))?;
        let aliases = json.get("aliases").and_then(Value::as_array).into_iter().flatten();
        let aliases = aliases.filter_map(Value::as_str).map(str::to_owned).collect();
        Ok(Field { name: name.to_owned(), aliases, id: id(json.get("field-id")), schema })
    }

    fn leaf_definition(&mut self, kind: &str, object: &JsonObject, namespace: &str) -> Result<Schema> {
        let (name, _) = declared_name(object, namespace)?;
        let shape = if kind == "fixed" {
            let size = object.get("size").and_then(Value::as_u64).and_then(|size| usize::try_from(size).ok());
            Shape::Fixed(size.ok_or_else(|| Error::corrupt(format!("the Avro fixed {} has no size", shown(&name))))?)
        } else {
            let symbols = object.get("symbols").and_then(Value::as_array);
            let symbols = symbols.and_then(|list| list.iter().map(|s| s.as_str().map(str::to_owned)).collect());
            let symbols: Option<Vec<String>> = symbols;
            let symbols =
                symbols.ok_or_else(|| Error::corrupt(format!("the Avro enum {} has no symbols", shown(&name))))?;
            Shape::Enum(symbols.into())
        };
        let mut schema = Schema::plain(shape);
        annotate(&mut schema, object);
        self.0.insert(name, Some(schema.clone()));
        Ok(schema)
    }
}

fn limited(schema: Schema) -> Result<Schema> {
    let (depth, nodes) = (schema.depth(), schema.nodes());
    if depth > MAX_DEPTH {
        return Err(Error::new(
            ErrorKind::LimitExceeded,
            format!("Avro types are nested more than {MAX_DEPTH} levels deep"),
        ));
    }
    if nodes > MAX_NODES {
        return Err(Error::new(ErrorKind::LimitExceeded, format!("an Avro schema has more than {MAX_NODES} types")));
    }
    Ok(schema)
}

fn primitive(name: &str) -> Option<Shape> {
    Some(match name {
        "null" => Shape::Null,
        "boolean" => Shape::Boolean,
        "int" => Shape::Int,
        "long" => Shape::Long,
        "float" => Shape::Float,
        "double" => Shape::Double,
        "bytes" => Shape::Bytes,
        "string" => Shape::String,
        _ => return None,
    })
}

/// Returns the full name of a definition, and the namespace of the names inside it.
fn declared_name(object: &JsonObject, enclosing: &str) -> Result<(String, String)> {
    let name = object.get("name").and_then(Value::as_str);
    let name = name.ok_or_else(|| Error::corrupt("a named Avro type has no \"name\""))?;
    let namespace = object.get("namespace").and_then(Value::as_str).unwrap_or(enclosing);
    let full = full_name(name, namespace);
    let inner = full.rsplit_once('.').map_or("", |(namespace, _)| namespace).to_owned();
    Ok((full, inner))
}

fn full_name(name: &str, namespace: &str) -> String {
    if namespace.is_empty() || name.contains('.') { name.to_owned() } else { format!("{namespace}.{name}") }
}

/// Sets the attributes from `object`; missing ones stay unchanged.
fn annotate(schema: &mut Schema, object: &JsonObject) {
    if let Some(logical) = logical(&schema.shape, object) {
        schema.logical = Some(logical);
    }
    let ids = &mut schema.ids;
    *ids = PartIds {
        element: id(object.get("element-id")).or(ids.element),
        key: id(object.get("key-id")).or(ids.key),
        value: id(object.get("value-id")).or(ids.value),
    };
}

fn id(json: Option<&Value>) -> Option<i32> {
    json.and_then(Value::as_i64).and_then(|id| i32::try_from(id).ok())
}

/// Returns the logical type, if it is known and fits the shape.
fn logical(shape: &Shape, object: &JsonObject) -> Option<Logical> {
    let timestamp = |unit, local: bool| {
        let utc = !local && object.get("adjust-to-utc").and_then(Value::as_bool).unwrap_or(true);
        Some(Logical::Timestamp { unit, utc })
    };
    match (object.get("logicalType")?.as_str()?, shape) {
        ("date", Shape::Int) => Some(Logical::Date),
        ("time-millis", Shape::Int) => Some(Logical::Time(TimeUnit::Millisecond)),
        ("time-micros", Shape::Long) => Some(Logical::Time(TimeUnit::Microsecond)),
        ("timestamp-millis", Shape::Long) => timestamp(TimeUnit::Millisecond, false),
        ("timestamp-micros", Shape::Long) => timestamp(TimeUnit::Microsecond, false),
        ("timestamp-nanos", Shape::Long) => timestamp(TimeUnit::Nanosecond, false),
        ("local-timestamp-millis", Shape::Long) => timestamp(TimeUnit::Millisecond, true),
        ("local-timestamp-micros", Shape::Long) => timestamp(TimeUnit::Microsecond, true),
        ("local-timestamp-nanos", Shape::Long) => timestamp(TimeUnit::Nanosecond, true),
        ("decimal", Shape::Bytes | Shape::Fixed(_)) => decimal(object),
        ("uuid", Shape::Fixed(16) | Shape::String) => Some(Logical::Uuid),
        ("duration", Shape::Fixed(12)) => Some(Logical::Duration),
        ("map", Shape::Array(items)) => match &items.shape {
            Shape::Record(entry) if entry.fields.len() == 2 => Some(Logical::Map),
            _ => None,
        },
        ("variant", Shape::Record(_)) => Some(Logical::Variant),
        _ => None,
    }
}

fn decimal(object: &JsonObject) -> Option<Logical> {
    let number = |key| object.get(key).and_then(Value::as_u64).and_then(|n| u32::try_from(n).ok());
    let precision = number("precision").filter(|&precision| precision > 0)?;
    let scale = if object.contains_key("scale") { number("scale")? } else { 0 };
    (scale <= precision).then_some(Logical::Decimal { precision, scale })
}

/// Returns a name for use in errors, truncated because a file may contain names of any length.
fn shown(name: &str) -> String {
    let short: String = name.chars().take(80).collect();
    format!("{short:?}")
}
