//! Finds columns, the fields of ROWs, and the elements of arrays and maps by their paths.
//!
//! A path contains `element` after the name of an array and `value` after the name of a map, as in Java's
//! `SchemaManager`. Before the name of a field of a ROW they can be omitted.

use frazil_core::error::{Error, Result};

use crate::spec::json::shown;
use crate::spec::types::{DataField, DataType, TypeRoot};

/// The name of the elements of an array in a path.
const ELEMENT: &str = "element";

/// The name of the values of a map in a path.
const VALUE: &str = "value";

/// The target of a path.
#[derive(Debug)]
pub(super) enum PathTarget<'a> {
    /// A column or a field of a ROW.
    Field(&'a mut DataField),
    /// The type of the elements of an array or of the values of a map.
    Element(&'a mut DataType),
}

impl<'a> PathTarget<'a> {
    /// Finds the target of a path.
    ///
    /// # Errors
    /// `InvalidArgument` if the table does not have the column.
    pub(super) fn find(fields: &'a mut [DataField], path: &[String]) -> Result<Self> {
        find(fields, path).ok_or_else(|| missing(path))
    }

    /// Returns the type.
    pub(super) fn data_type(&mut self) -> &mut DataType {
        match self {
            Self::Field(field) => &mut field.data_type,
            Self::Element(data_type) => data_type,
        }
    }

    /// Returns the column or field; elements have neither a comment nor a default.
    ///
    /// # Errors
    /// `InvalidArgument` for the elements of an array or the values of a map.
    pub(super) fn field(self, path: &[String]) -> Result<&'a mut DataField> {
        match self {
            Self::Field(field) => Ok(field),
            Self::Element(_) => Err(not_a_field(path)),
        }
    }
}

/// Returns the columns of the table, or the fields of the ROW, that the last name of a path belongs to.
///
/// # Errors
/// `InvalidArgument` if the table does not have the enclosing column, or it is not a ROW.
pub(super) fn siblings<'a>(fields: &'a mut Vec<DataField>, path: &[String]) -> Result<&'a mut Vec<DataField>> {
    let Some((_, parent @ [_, ..])) = path.split_last() else { return Ok(fields) };
    let target = find(fields, parent).ok_or_else(|| missing(parent))?;
    let data_type = match target {
        PathTarget::Field(field) => &mut field.data_type,
        PathTarget::Element(data_type) => data_type,
    };
    // `a.element` is not a field even if the elements of `a` are ROWs.
    let reserved = match &data_type.root {
        TypeRoot::Array(_) => Some(ELEMENT),
        TypeRoot::Map(..) => Some(VALUE),
        _ => None,
    };
    if reserved.is_some_and(|name| path.last().is_some_and(|last| last == name)) {
        return Err(not_a_field(path));
    }
    row(data_type).ok_or_else(|| {
        Error::invalid("the column is not a ROW, so it has no fields").with("column", shown(&parent.join(".")))
    })
}

/// Returns the position of the last name of a path among its siblings.
///
/// # Errors
/// `InvalidArgument` if the table does not have the column.
pub(super) fn position(siblings: &[DataField], path: &[String]) -> Result<usize> {
    let found = path.last().and_then(|name| siblings.iter().position(|field| field.name == *name));
    found.ok_or_else(|| missing(path))
}

fn find<'a>(fields: &'a mut [DataField], path: &[String]) -> Option<PathTarget<'a>> {
    let (name, rest) = path.split_first()?;
    let field = fields.iter_mut().find(|field| field.name == *name)?;
    if rest.is_empty() { Some(PathTarget::Field(field)) } else { find_in(&mut field.data_type, rest) }
}

fn find_in<'a>(data_type: &'a mut DataType, path: &[String]) -> Option<PathTarget<'a>> {
    let (part, name) = match &mut data_type.root {
        TypeRoot::Row(fields) => return find(fields, path),
        TypeRoot::Array(element) => (element, ELEMENT),
        TypeRoot::Map(_, value) => (value, VALUE),
        _ => return None,
    };
    match path.split_first() {
        Some((first, [])) if first == name => Some(PathTarget::Element(part)),
        Some((first, rest)) if first == name => find_in(part, rest),
        _ => find_in(part, path),
    }
}

/// Returns the fields of a ROW, which may be the elements of arrays or the values of maps.
fn row(data_type: &mut DataType) -> Option<&mut Vec<DataField>> {
    match &mut data_type.root {
        TypeRoot::Row(fields) => Some(fields),
        TypeRoot::Array(part) | TypeRoot::Map(_, part) => row(part),
        _ => None,
    }
}

fn missing(path: &[String]) -> Error {
    Error::invalid(format!("the table has no column `{}`", shown(&path.join("."))))
}

fn not_a_field(path: &[String]) -> Error {
    Error::invalid("the elements of an array and the values of a map are not fields")
        .with("column", shown(&path.join(".")))
        .hint("change the enclosing column, or a field of a ROW")
}
