//! Checks which types, defaults and transforms may be written in a format version (spec: "Schemas and Data Types",
//! "Partition Transforms", "Sorting").

use std::collections::BTreeMap;
use std::sync::Arc;

use frazil_core::error::{Error, Result};

use crate::properties::DEFAULT_FORMAT;
use crate::spec::depth;
use crate::spec::partition::{PartitionField, PartitionSpec};
use crate::spec::schema::Schema;
use crate::spec::sort::SortOrder;
use crate::spec::transform::Transform;
use crate::spec::types::{NestedField, PrimitiveType, Type};

/// Rejects a schema that readers of `version` would not support.
///
/// # Errors
/// `Unsupported` with the column and the required version; `InvalidArgument` for invalid identifier fields.
pub(crate) fn schema(schema: &Schema, version: u8) -> Result<()> {
    for field in &schema.fields.fields {
        check_field(field, &field.name, version)?;
    }
    schema.identifier_field_ids.iter().try_for_each(|&id| check_identifier(schema, id))
}

/// Rejects a schema whose columns could not be read from data files in the table's write format.
///
/// # Errors
/// `Unsupported` with the column.
pub(crate) fn depth(schema: &Schema, properties: &BTreeMap<String, String>) -> Result<()> {
    let format = properties.get(DEFAULT_FORMAT.key).map_or(DEFAULT_FORMAT.default, String::as_str);
    depth::check(&schema.fields, &format.to_ascii_lowercase())
}

fn check_field(field: &NestedField, name: &str, version: u8) -> Result<()> {
    let since = match &field.field_type {
        Type::Primitive(
            PrimitiveType::TimestampNs
            | PrimitiveType::TimestamptzNs
            | PrimitiveType::Unknown
            | PrimitiveType::Variant
            | PrimitiveType::Geometry(_)
            | PrimitiveType::Geography(..),
        ) => 3,
        _ => 1,
    };
    let upgrade = "upgrade the table to format version 3";
    if since > version {
        let message = format!("the type {} needs format version {since}", field.field_type);
        return Err(Error::unsupported(message).with("column", name).hint(upgrade));
    }
    if field.initial_default.is_some() && version < 3 {
        return Err(Error::unsupported("an initial default needs format version 3").with("column", name).hint(upgrade));
    }
    field
        .field_type
        .children()
        .into_iter()
        .try_for_each(|child| check_field(child, &format!("{name}.{}", child.name), version))
}

/// Checks that an identifier field is a required primitive that is not floating point, nested only in required structs.
fn check_identifier(schema: &Schema, id: i32) -> Result<()> {
    let path = schema.path(id).ok_or_else(|| Error::invalid(format!("no column has the identifier field id {id}")))?;
    let name = path.full_name();
    let refused =
        |why: &str| Err(Error::invalid(format!("`{name}` cannot be an identifier field: {why}")).with("column", &name));
    match &path.field().field_type {
        Type::Primitive(PrimitiveType::Float | PrimitiveType::Double) => {
            return refused("it is a floating-point number");
        }
        Type::Primitive(_) => {}
        _ => return refused("it does not have a primitive type"),
    }
    if path.in_collection() {
        return refused("it is inside a list or a map");
    }
    if path.is_nullable() { refused("it may be NULL") } else { Ok(()) }
}

/// Rejects a spec that this version cannot compute.
///
/// # Errors
/// `Unsupported` for unknown transforms and those of several columns, unless a spec of `known` has the same field;
/// `InvalidArgument` for a transform that does not apply to its column, a missing column, and a duplicate name.
pub(crate) fn spec(spec: &PartitionSpec, schema: &Schema, known: &[Arc<PartitionSpec>]) -> Result<()> {
    for (i, field) in spec.fields.iter().enumerate() {
        let checked = if is_foreign(field) && known.iter().flat_map(|spec| &spec.fields).any(|old| is_same(old, field))
        {
            let gone = field.source_ids.iter().find(|&&id| schema.field(id).is_none());
            gone.map_or(Ok(()), |id| Err(Error::invalid(format!("no column has the id {id}"))))
        } else {
            source(&field.source_ids, &field.transform, schema)
        };
        checked.map_err(|e| e.with("partition field", &field.name))?;
        if spec.fields.iter().take(i).any(|other| other.name == field.name) {
            return Err(Error::invalid(format!("two partition fields have the same name `{}`", field.name)));
        }
        // A column with the name of the partition field is allowed only if both have the same values, because the name
        // would otherwise be ambiguous.
        let column = schema.find(&field.name, true)?.map(|path| path.field().id);
        let same = field.transform == Transform::Identity && column == field.source_ids.first().copied();
        if column.is_some() && !same && field.transform != Transform::Void {
            let message = format!("the partition field `{}` has the same name as a column", field.name);
            return Err(Error::invalid(message).hint("use a different name for it"));
        }
    }
    Ok(())
}

/// Returns whether this version cannot compute a partition field.
fn is_foreign(field: &PartitionField) -> bool {
    matches!(field.transform, Transform::Unknown(_)) || field.source_ids.len() > 1
}

fn is_same(a: &PartitionField, b: &PartitionField) -> bool {
    a.field_id == b.field_id && a.source_ids == b.source_ids && a.transform == b.transform
}

/// Rejects a sort order that this version cannot sort by.
///
/// # Errors
/// See [`spec`].
pub(crate) fn order(order: &SortOrder, schema: &Schema) -> Result<()> {
    order.fields.iter().try_for_each(|field| source(&field.source_ids, &field.transform, schema))
}

fn source(source_ids: &[i32], transform: &Transform, schema: &Schema) -> Result<()> {
    let &[id] = source_ids else {
        return Err(Error::unsupported("writing with transforms of several columns is not supported"));
    };
    // A void field keeps the position of a field whose column may have been dropped.
    if *transform == Transform::Void {
        return Ok(());
    }
    if let Transform::Unknown(text) = transform {
        return Err(Error::unsupported(format!("the transform `{text}` is not supported")));
    }
    let path = schema.path(id).ok_or_else(|| Error::invalid(format!("no column has the id {id}")))?;
    let name = path.full_name();
    if path.in_collection() {
        return Err(Error::invalid(format!("`{name}` is inside a list or a map")).with("column", &name));
    }
    let Type::Primitive(primitive) = &path.field().field_type else {
        return Err(Error::invalid(format!("`{name}` does not have a primitive type")).with("column", &name));
    };
    match transform.result_type(primitive) {
        Some(_) => Ok(()),
        None => {
            Err(Error::invalid(format!("{transform} does not apply to the type {primitive}")).with("column", &name))
        }
    }
}

#[cfg(test)]
mod tests {
    use frazil_core::error::ErrorKind;

    use super::*;

    fn parse(fields: &str) -> Schema {
        Schema::from_json(&format!(r#"{{"type": "struct", "fields": [{fields}]}}"#)).unwrap()
    }

    #[test]
    fn features_of_newer_format_versions_are_rejected_by_name() {
        for (field_type, since) in [
            (r#""int""#, 1),
            (r#""timestamp_ns""#, 3),
            (r#""variant""#, 3),
            (r#""geometry""#, 3),
            (r#"{"type": "list", "element-id": 2, "element-required": false, "element": "timestamptz_ns"}"#, 3),
        ] {
            let parsed = parse(&format!(r#"{{"id": 1, "name": "a", "required": false, "type": {field_type}}}"#));
            for version in 1..=3 {
                assert_eq!(schema(&parsed, version).is_ok(), version >= since, "{field_type} in v{version}");
            }
        }
        let default = parse(r#"{"id": 1, "name": "a", "required": false, "type": "int", "initial-default": 1}"#);
        assert_eq!(schema(&default, 2).unwrap_err().kind(), ErrorKind::Unsupported);
        assert!(schema(&default, 3).is_ok());
    }

    #[test]
    fn identifier_fields_are_required_and_comparable() {
        let fields = r#"{"id": 1, "name": "a", "required": true, "type": "long"},
            {"id": 2, "name": "b", "required": false, "type": "long"},
            {"id": 3, "name": "c", "required": true, "type": "double"},
            {"id": 4, "name": "s", "required": true, "type": {"type": "struct", "fields": [
                {"id": 5, "name": "x", "required": true, "type": "string"}]}}"#;
        for (id, ok) in [(1, true), (2, false), (3, false), (4, false), (5, true), (9, false)] {
            let mut parsed = parse(fields);
            parsed.identifier_field_ids = vec![id];
            assert_eq!(schema(&parsed, 2).is_ok(), ok, "{id}");
        }
    }

    #[test]
    fn partition_fields_must_apply_to_their_columns() {
        let columns = parse(
            r#"{"id": 1, "name": "a", "required": true, "type": "long"},
               {"id": 2, "name": "ts", "required": false, "type": "timestamp"}"#,
        );
        for (field, kind) in [
            (r#"{"name": "a_bucket", "transform": "bucket[4]", "source-id": 1, "field-id": 1000}"#, None),
            (r#"{"name": "a", "transform": "identity", "source-id": 1, "field-id": 1000}"#, None),
            (r#"{"name": "gone", "transform": "void", "source-id": 9, "field-id": 1000}"#, None),
            (
                r#"{"name": "ts", "transform": "identity", "source-id": 1, "field-id": 1000}"#,
                Some(ErrorKind::InvalidArgument),
            ),
            (
                r#"{"name": "d", "transform": "day", "source-id": 1, "field-id": 1000}"#,
                Some(ErrorKind::InvalidArgument),
            ),
            (
                r#"{"name": "d", "transform": "day", "source-id": 9, "field-id": 1000}"#,
                Some(ErrorKind::InvalidArgument),
            ),
            (
                r#"{"name": "d", "transform": "frob[2]", "source-id": 1, "field-id": 1000}"#,
                Some(ErrorKind::Unsupported),
            ),
            (
                r#"{"name": "d", "transform": "day", "source-ids": [1, 2], "field-id": 1000}"#,
                Some(ErrorKind::Unsupported),
            ),
        ] {
            let parsed = PartitionSpec::from_json(&format!(r#"{{"spec-id": 0, "fields": [{field}]}}"#)).unwrap();
            assert_eq!(spec(&parsed, &columns, &[]).err().map(|e| e.kind()), kind, "{field}");
        }
    }
}
