//! A schema under construction: finds and changes fields by id, and assigns ids to new ones.

use std::sync::Arc;

use frazil_core::error::{Error, ErrorKind, Result};

use crate::spec::schema::{MAX_FIELD_ID, Schema};
use crate::spec::types::{ListType, MapType, NestedField, StructType, Type};

/// A generator of ids that the table never had.
#[derive(Debug)]
pub(super) struct Ids {
    last: i32,
}

impl Ids {
    pub(super) fn after(last: i32) -> Self {
        Self { last }
    }

    pub(super) fn next(&mut self) -> Result<i32> {
        let next = self.last.checked_add(1).filter(|&next| next <= MAX_FIELD_ID);
        self.last = next.ok_or_else(|| {
            Error::new(
                ErrorKind::LimitExceeded,
                format!("no column ids are left: the highest allowed id is {MAX_FIELD_ID}"),
            )
        })?;
        Ok(self.last)
    }

    /// Returns the same type with new ids: a struct's own fields before the fields inside them, as Java assigns them.
    pub(super) fn given(&mut self, field_type: &Type) -> Result<Type> {
        Ok(match field_type {
            Type::Primitive(primitive) => Type::Primitive(primitive.clone()),
            Type::Struct(fields) => Type::Struct(self.given_fields(fields)?),
            Type::List(list) => {
                let id = self.next()?;
                Type::List(Arc::new(ListType { element: self.field(&list.element, id)? }))
            }
            Type::Map(map) => {
                let (key, value) = (self.next()?, self.next()?);
                let (key, value) = (self.field(&map.key, key)?, self.field(&map.value, value)?);
                Type::Map(Arc::new(MapType { key, value }))
            }
        })
    }

    /// Returns the same fields with new ids, like [`Self::given`].
    pub(super) fn given_fields(&mut self, fields: &StructType) -> Result<StructType> {
        let ids: Vec<i32> = fields.fields.iter().map(|_| self.next()).collect::<Result<_>>()?;
        let fields = fields.fields.iter().zip(ids).map(|(field, id)| self.field(field, id));
        Ok(StructType { fields: fields.collect::<Result<_>>()? })
    }

    fn field(&mut self, field: &NestedField, id: i32) -> Result<NestedField> {
        Ok(NestedField { id, field_type: self.given(&field.field_type)?, ..field.clone() })
    }
}

/// Returns a field at any depth, for modification.
pub(super) fn field_mut(fields: &mut StructType, id: i32) -> Option<&mut NestedField> {
    fields.fields.iter_mut().find_map(|field| inside_mut(field, id))
}

fn inside_mut(field: &mut NestedField, id: i32) -> Option<&mut NestedField> {
    if field.id == id {
        return Some(field);
    }
    match &mut field.field_type {
        Type::Primitive(_) => None,
        Type::Struct(fields) => field_mut(fields, id),
        Type::List(list) => inside_mut(&mut Arc::make_mut(list).element, id),
        Type::Map(map) => {
            let map = Arc::make_mut(map);
            match inside_mut(&mut map.key, id) {
                Some(found) => Some(found),
                None => inside_mut(&mut map.value, id),
            }
        }
    }
}

/// Returns the fields of a struct by the id of its field, or those of the schema for None.
pub(super) fn fields_of(schema: &mut Schema, id: Option<i32>) -> Result<&mut Vec<NestedField>> {
    let Some(id) = id else { return Ok(&mut schema.fields.fields) };
    match field_mut(&mut schema.fields, id).map(|field| &mut field.field_type) {
        Some(Type::Struct(fields)) => Ok(&mut fields.fields),
        _ => Err(Error::internal(format!("no struct field has the id {id}"))),
    }
}

/// Returns the fields of a struct, like [`fields_of`].
pub(super) fn fields_in(schema: &Schema, id: Option<i32>) -> &[NestedField] {
    match id.map(|id| schema.field(id).map(|field| &field.field_type)) {
        None => &schema.fields.fields,
        Some(Some(Type::Struct(fields))) => &fields.fields,
        Some(_) => &[],
    }
}
