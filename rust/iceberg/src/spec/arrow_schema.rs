//! Builds schemas of new tables from Arrow schemas.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields};
use frazil_core::error::{Error, Result};

use super::arrow::primitive_of;
use super::schema::Schema;
use super::types::{ListType, MapType, NestedField, StructType, Type};

impl Schema {
    /// Returns the schema for rows of an Arrow schema, with the same names, types and nullability. New ids are
    /// assigned, first to the columns themselves.
    ///
    /// # Errors
    /// `InvalidArgument` for types without an Iceberg equivalent, and for a duplicate name.
    pub fn from_arrow(fields: &Fields) -> Result<Self> {
        let mut last_id = 0;
        let fields = given_ids(fields, &mut last_id)?;
        let schema = Self { schema_id: 0, fields, identifier_field_ids: Vec::new() };
        // The schema reader checks uniqueness.
        Self::from_json(&schema.to_json()).map_err(|e| Error::invalid(e.message()))
    }
}

impl Type {
    /// Returns the type for values of an Arrow type.
    ///
    /// # Errors
    /// See [`Schema::from_arrow`].
    pub(crate) fn of_arrow(data_type: &DataType) -> Result<Self> {
        typed(&Field::new("", data_type.clone(), true), &mut 0)
    }
}

fn given_ids(fields: &Fields, last_id: &mut i32) -> Result<StructType> {
    let first = *last_id + 1;
    let count = i32::try_from(fields.len()).map_err(|_| Error::invalid("too many columns"))?;
    *last_id = last_id.checked_add(count).ok_or_else(|| Error::invalid("too many columns"))?;
    let fields = (first..).zip(fields).map(|(id, field)| {
        let field_type = typed(field, last_id).map_err(|e| e.with("column", field.name()))?;
        let doc = field.metadata().get("doc").cloned();
        Ok(NestedField { doc, ..NestedField::new(id, field.name(), field_type, !field.is_nullable()) })
    });
    Ok(StructType { fields: fields.collect::<Result<_>>()? })
}

fn typed(field: &Field, last_id: &mut i32) -> Result<Type> {
    use DataType as D;
    match field.data_type() {
        D::Struct(fields) => given_ids(fields, last_id).map(Type::Struct),
        D::List(element)
        | D::LargeList(element)
        | D::ListView(element)
        | D::LargeListView(element)
        | D::FixedSizeList(element, _) => {
            let element = part("element", element, last_id)?;
            Ok(Type::List(Arc::new(ListType { element })))
        }
        D::Map(entries, _) => {
            let D::Struct(parts) = entries.data_type() else { return Err(Error::invalid("a map has no entries")) };
            let [key, value] = parts.as_ref() else { return Err(Error::invalid("a map has no key and value")) };
            let key = NestedField { required: true, ..part("key", key, last_id)? };
            let value = part("value", value, last_id)?;
            Ok(Type::Map(Arc::new(MapType { key, value })))
        }
        _ => primitive_of(field).map(Type::Primitive),
    }
}

fn part(name: &str, field: &Field, last_id: &mut i32) -> Result<NestedField> {
    *last_id += 1;
    let id = *last_id;
    Ok(NestedField::new(id, name, typed(field, last_id)?, !field.is_nullable()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_have_the_first_ids() {
        let inner = Fields::from(vec![Field::new("x", DataType::Int64, false), Field::new("y", DataType::Utf8, true)]);
        let fields = Fields::from(vec![
            Field::new("s", DataType::Struct(inner), true),
            Field::new("l", DataType::List(Arc::new(Field::new("item", DataType::Int8, true))), true),
            Field::new("k", DataType::LargeUtf8, false),
        ]);
        let schema = Schema::from_arrow(&fields).unwrap();
        let names: Vec<_> = schema
            .full_names()
            .into_iter()
            .map(|name| {
                let id = schema.find(&name, true).unwrap().unwrap().field().id;
                format!("{id} {name}")
            })
            .collect();
        assert_eq!(names, ["1 s", "4 s.x", "5 s.y", "2 l", "6 l.element", "3 k"]);
        assert!(schema.field(3).unwrap().required);
    }

    #[test]
    fn arrow_types_unsupported_by_iceberg_are_rejected_with_their_column() {
        let duration = Field::new("d", DataType::Duration(arrow_schema::TimeUnit::Second), true);
        assert!(Schema::from_arrow(&vec![duration].into()).unwrap_err().to_string().contains("column: d"));
        let twice = vec![Field::new("a", DataType::Int32, true), Field::new("a", DataType::Int32, true)];
        assert!(Schema::from_arrow(&twice.into()).is_err());
    }
}
