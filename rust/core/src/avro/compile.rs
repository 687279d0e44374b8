//! Compiles the writer's schema and a projection to the nodes that decode the data.

use std::sync::Arc;

use arrow_buffer::NullBufferBuilder;
use arrow_schema::{DataType, Field, FieldRef, Fields};

use super::encoded::Encoded;
use super::leaf::Leaf;
use super::lookup::{EntryShape, Lookup, MapKey};
use super::natural;
use super::node::{Body, Branches, List, Node, Pairs, Slots, Step, Struct};
use super::projection::{Column, Kind, Projection, root};
use super::schema::{Record, Schema, Shape};
use super::skip::Skip;
use crate::error::{Error, Result};

/// Returns the node of the rows.
///
/// # Errors
/// `CorruptData` for a required field that the writer does not have, and for types that cannot be converted to the
/// requested ones; `Unsupported` for requested unions of several types.
pub(super) fn rows(schema: &Schema, projection: &Projection) -> Result<(Option<Branches>, Struct)> {
    Ok((branches(schema), record(root(schema)?, &projection.fields)?))
}

/// Returns the node for values of `schema`, requested as `kind`.
fn node(schema: &Schema, kind: &Kind) -> Result<Node> {
    let value = non_null(schema)?;
    let body = match kind {
        Kind::Encoded => Body::Encoded(Box::new(Encoded::new(value))),
        Kind::Natural => natural_body(value, &natural::data_type(value)?)?,
        Kind::NaturalWide => natural_body(value, &natural::wide(natural::data_type(value)?))?,
        Kind::Leaf(data_type) => leaf(value, data_type)?,
        _ if value.shape == Shape::Null => leaf(value, &missing_type(kind))?,
        Kind::Struct(columns) => match &value.shape {
            Shape::Record(inner) => Body::Struct(Box::new(record(inner, columns)?)),
            _ => return Err(mismatch(value, "a record")),
        },
        Kind::List(kind) => match &value.shape {
            Shape::Array(items) => {
                let node = node(items, kind)?;
                let element = Field::new("element", node.data_type(), true);
                Body::List(Box::new(list(items, node, Arc::new(element))))
            }
            _ => return Err(mismatch(value, "an array")),
        },
        Kind::Lookup { keys, value: wanted } => Body::Lookup(Box::new(lookup(value, keys, wanted)?)),
    };
    Ok(Node { branches: branches(schema), body })
}

fn record(record: &Record, columns: &[Column]) -> Result<Struct> {
    let found = columns.iter().map(|column| column.find(record)).collect::<Result<Vec<_>>>()?;
    let mut outputs = vec![None; columns.len()];
    let mut fields: Vec<Option<FieldRef>> = vec![None; columns.len()];
    let mut steps = Vec::new();
    let mut unwanted = Vec::new();
    for (index, written) in record.fields.iter().enumerate() {
        let mut wanted = (0..).zip(columns).zip(&found).filter(|(_, place)| **place == Some(index)).peekable();
        if wanted.peek().is_none() {
            unwanted.push(Skip::new(&written.schema));
            continue;
        }
        if !unwanted.is_empty() {
            steps.push(Step::Skip(Skip::all(unwanted.drain(..))));
        }
        while let Some(((output, column), _)) = wanted.next() {
            let node = node(&written.schema, &column.kind).map_err(|e| e.with("field", &column.name))?;
            set(&mut outputs, output, steps.len());
            set(&mut fields, output, Arc::new(field(column, Some(written), node.data_type())?));
            steps.push(if wanted.peek().is_some() { Step::Peek(node) } else { Step::Read(node) });
        }
    }
    if !unwanted.is_empty() {
        steps.push(Step::Skip(Skip::all(unwanted)));
    }
    let complete = |(slot, column): (Option<FieldRef>, &Column)| match slot {
        Some(field) => Ok(field),
        None if column.required => Err(Error::corrupt("a required field is missing").with("field", &column.name)),
        None => Ok(Arc::new(field(column, None, missing_type(&column.kind))?)),
    };
    let fields = fields.into_iter().zip(columns).map(complete).collect::<Result<Fields>>()?;
    Ok(Struct { steps, outputs, fields, nulls: NullBufferBuilder::new(0) })
}

fn set<T>(slots: &mut [Option<T>], at: usize, value: T) {
    if let Some(slot) = slots.get_mut(at) {
        *slot = Some(value);
    }
}

/// Returns the output field of a column, with the writer's metadata if the writer's type is requested.
fn field(column: &Column, written: Option<&super::schema::Field>, data_type: DataType) -> Result<Field> {
    let nullable = !column.required;
    match (&column.kind, written) {
        (Kind::Natural, Some(written)) => {
            let field = natural::field(&written.name, written.id, &written.schema)?;
            Ok(field.with_name(&column.name).with_nullable(nullable))
        }
        (Kind::NaturalWide, Some(written)) => {
            let field = natural::field(&written.name, written.id, &written.schema)?;
            Ok(field.with_name(&column.name).with_nullable(nullable).with_data_type(data_type))
        }
        _ => Ok(Field::new(&column.name, data_type, nullable)),
    }
}

/// Returns the Arrow type of a column that the writer does not have, whose values are all NULL.
fn missing_type(kind: &Kind) -> DataType {
    match kind {
        Kind::Leaf(data_type) => data_type.clone(),
        Kind::Struct(columns) => {
            let field = |column: &Column| Field::new(&column.name, missing_type(&column.kind), !column.required);
            DataType::Struct(columns.iter().map(field).collect())
        }
        Kind::List(kind) => DataType::List(Arc::new(Field::new("element", missing_type(kind), true))),
        Kind::Lookup { keys, value } => DataType::Struct(lookup_fields(keys, value)),
        Kind::Encoded => Encoded::DATA_TYPE,
        Kind::Natural | Kind::NaturalWide => DataType::Null,
    }
}

fn lookup_fields(keys: &[i32], value: &DataType) -> Fields {
    keys.iter().map(|key| Field::new(key.to_string(), value.clone(), true)).collect()
}

fn lookup(schema: &Schema, keys: &[i32], wanted: &DataType) -> Result<Lookup> {
    let (key, value, entry) = match &schema.shape {
        Shape::Map(values) => (MapKey::Text, values.as_ref(), EntryShape::map(values)),
        Shape::Array(items) => {
            // Some writers make the entries, and even the keys, optional.
            let (item, null_item) = optional(items);
            let Shape::Record(record) = &item.shape else { return Err(mismatch(schema, "a map")) };
            let [key, value] = record.fields.as_slice() else { return Err(mismatch(schema, "a map")) };
            let (number, null_key) = optional(&key.schema);
            if !matches!(number.shape, Shape::Int | Shape::Long) {
                return Err(mismatch(schema, "a map with int keys"));
            }
            (
                MapKey::Number,
                &value.schema,
                EntryShape { null_item, null_key, min_width_bytes: items.min_width_bytes() },
            )
        }
        _ => return Err(mismatch(schema, "a map")),
    };
    let kind = Kind::Leaf(wanted.clone());
    let values = keys.iter().map(|_| node(value, &kind)).collect::<Result<_>>()?;
    Lookup::new(key, keys, lookup_fields(keys, wanted), values, Skip::new(value), entry)
}

/// Returns the schema of non-null values, and the branch of null if values may be null.
fn optional(schema: &Schema) -> (&Schema, Option<i64>) {
    match &schema.shape {
        Shape::Union(branches) => match branches.as_ref() {
            [null, other] if matches!(null.shape, Shape::Null) => (other, Some(0)),
            [other, null] if matches!(null.shape, Shape::Null) => (other, Some(1)),
            _ => (schema, None),
        },
        _ => (schema, None),
    }
}

/// Returns the body for values of `schema`, which is not a union, in their natural type.
fn natural_body(schema: &Schema, data_type: &DataType) -> Result<Body> {
    match (&schema.shape, data_type) {
        (Shape::Record(record), DataType::Struct(fields)) => {
            let read = |(written, field): (&super::schema::Field, &FieldRef)| {
                natural_node(&written.schema, field.data_type()).map(Step::Read)
            };
            let steps = record.fields.iter().zip(fields).map(read).collect::<Result<Vec<_>>>()?;
            let outputs = (0..steps.len()).map(Some).collect();
            let (fields, nulls) = (fields.clone(), NullBufferBuilder::new(0));
            Ok(Body::Struct(Box::new(Struct { steps, outputs, fields, nulls })))
        }
        (Shape::Array(items), DataType::List(element)) => {
            let node = natural_node(items, element.data_type())?;
            Ok(Body::List(Box::new(list(items, node, element.clone()))))
        }
        (Shape::Array(_) | Shape::Map(_), DataType::Map(entries, _)) => natural_map(schema, entries),
        _ => leaf(schema, data_type),
    }
}

fn natural_node(schema: &Schema, data_type: &DataType) -> Result<Node> {
    Ok(Node { branches: branches(schema), body: natural_body(non_null(schema)?, data_type)? })
}

fn natural_map(schema: &Schema, entries: &FieldRef) -> Result<Body> {
    let text = Schema::plain(Shape::String);
    let (key, value, min_width_bytes) = match &schema.shape {
        Shape::Map(values) => (&text, values.as_ref(), values.min_width_bytes().saturating_add(1)),
        Shape::Array(items) => match items.as_record().map(|entry| entry.fields.as_slice()) {
            Some([key, value]) => (&key.schema, &value.schema, items.min_width_bytes()),
            _ => return Err(mismatch(schema, "a map")),
        },
        _ => return Err(mismatch(schema, "a map")),
    };
    let DataType::Struct(fields) = entries.data_type() else {
        return Err(Error::internal("a map has no entries field"));
    };
    let [key_field, value_field] = fields.as_ref() else {
        return Err(Error::internal("map entries do not have two fields"));
    };
    Ok(Body::Map(Box::new(Pairs {
        entries: entries.clone(),
        fields: fields.clone(),
        key: natural_node(key, key_field.data_type())?,
        value: natural_node(value, value_field.data_type())?,
        min_width_bytes,
        slots: Slots::default(),
    })))
}

fn list(items: &Schema, node: Node, element: FieldRef) -> List {
    List { element, items: node, min_width_bytes: items.min_width_bytes(), slots: Slots::default() }
}

fn leaf(schema: &Schema, data_type: &DataType) -> Result<Body> {
    Leaf::new(schema, data_type).map(Body::Leaf).ok_or_else(|| mismatch(schema, &data_type.to_string()))
}

fn branches(schema: &Schema) -> Option<Branches> {
    let Shape::Union(parts) = &schema.shape else { return None };
    let find = |null: bool| (0..).zip(parts.iter()).find(|(_, p)| (p.shape == Shape::Null) == null).map(|(i, _)| i);
    Some(Branches { null: find(true), value: find(false) })
}

fn non_null(schema: &Schema) -> Result<&Schema> {
    schema.non_null().ok_or_else(|| Error::unsupported("an Avro union of several types is not supported"))
}

#[cold]
fn mismatch(schema: &Schema, wanted: &str) -> Error {
    let found = match &schema.shape {
        Shape::Null => "null",
        Shape::Boolean => "boolean",
        Shape::Int => "int",
        Shape::Long => "long",
        Shape::Float => "float",
        Shape::Double => "double",
        Shape::Bytes => "bytes",
        Shape::String => "string",
        Shape::Fixed(_) | Shape::SizedFixed(_) => "fixed",
        Shape::Enum(_) => "enum",
        Shape::Record(_) => "record",
        Shape::Array(_) => "array",
        Shape::Map(_) => "map",
        Shape::Union(_) => "union",
    };
    let logical = schema.logical.map(|logical| format!(" ({logical:?})")).unwrap_or_default();
    Error::corrupt(format!("the Avro type {found}{logical} cannot be converted to {wanted}"))
}
