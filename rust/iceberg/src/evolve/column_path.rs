//! Finds the columns that a change references.

use frazil_core::error::{Error, Result};
use serde::Deserialize;

use super::same_name;
use crate::spec::schema::{FieldPath, Schema};
use crate::spec::types::{NestedField, Type};

/// A column path by name. The element of a list and the value of a map may be left out: `points.x` is
/// `points.element.x`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum ColumnPath {
    /// `a.b`: a dot separates fields or is part of a name, depending on the schema.
    Dotted(String),
    /// The name of each field, outermost first.
    Names(Vec<String>),
}

impl ColumnPath {
    /// Returns the names joined by dots, for messages.
    pub fn text(&self) -> String {
        match self {
            Self::Dotted(text) => text.clone(),
            Self::Names(names) => names.join("."),
        }
    }

    /// Splits the path of a new column into its parent field, which is None for a top-level column, and its name.
    pub(super) fn split(&self) -> Result<(Option<Self>, String)> {
        let (parent, name) = match self {
            Self::Dotted(text) => match text.rsplit_once('.') {
                Some((parent, name)) => (Some(Self::Dotted(parent.to_string())), name),
                None => (None, text.as_str()),
            },
            Self::Names(names) => match names.split_last() {
                Some((name, [])) => (None, name.as_str()),
                Some((name, parents)) => (Some(Self::Names(parents.to_vec())), name.as_str()),
                None => (None, ""),
            },
        };
        if name.is_empty() {
            return Err(Error::invalid(format!("`{}` is not a valid column name", self.text())));
        }
        Ok((parent, name.to_string()))
    }

    /// Returns the column in a schema; None if it does not exist.
    ///
    /// # Errors
    /// `InvalidArgument` for an ambiguous name.
    pub(super) fn find<'a>(&self, schema: &'a Schema, case_sensitive: bool) -> Result<Option<FieldPath<'a>>> {
        let id = match self {
            Self::Dotted(text) => match schema.find(text, case_sensitive)? {
                Some(path) => return Ok(Some(path)),
                None => walk(schema, &text.split('.').collect::<Vec<_>>(), case_sensitive)?,
            },
            Self::Names(names) => walk(schema, &names.iter().map(String::as_str).collect::<Vec<_>>(), case_sensitive)?,
        };
        Ok(id.and_then(|id| schema.path(id)))
    }
}

impl From<&str> for ColumnPath {
    fn from(text: &str) -> Self {
        Self::Dotted(text.to_string())
    }
}

fn walk(schema: &Schema, names: &[&str], case_sensitive: bool) -> Result<Option<i32>> {
    let mut inside: Vec<&NestedField> = schema.fields.fields.iter().collect();
    let mut found = None;
    for name in names {
        let here = named(&inside, name, case_sensitive)?;
        let field = match (here, found.map(|field: &NestedField| &field.field_type)) {
            (None, Some(Type::List(list))) => named(&list.element.field_type.children(), name, case_sensitive)?,
            (None, Some(Type::Map(map))) => named(&map.value.field_type.children(), name, case_sensitive)?,
            (here, _) => here,
        };
        let Some(field) = field else { return Ok(None) };
        inside = field.field_type.children();
        found = Some(field);
    }
    Ok(found.map(|field| field.id))
}

fn named<'a>(fields: &[&'a NestedField], name: &str, case_sensitive: bool) -> Result<Option<&'a NestedField>> {
    let mut matching = fields.iter().filter(|field| same_name(&field.name, name, case_sensitive));
    match (matching.next(), matching.next()) {
        (Some(a), Some(b)) => {
            Err(Error::invalid(format!("`{name}` is ambiguous: it matches both `{}` and `{}`", a.name, b.name)))
        }
        (found, _) => Ok(found.copied()),
    }
}
