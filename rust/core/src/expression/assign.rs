//! Values for columns, or for fields of structs in them, as UPDATE sets them.

use arrow_schema::{DataType, Field, FieldRef, Fields, Schema};

use super::Expression;
use super::bind::Scope;
use super::bound::{Bound, Node};
use super::types::shown;
use crate::error::{Error, Result};
use crate::predicate::ColumnName;

/// A field of a column, by the names that lead to it; none for the column itself. And its value.
type Assignment<'a> = (Vec<String>, &'a Expression);

impl Scope<'_> {
    /// The value of each column of `target`, whose rows are called `alias`; None for columns that are not set.
    ///
    /// A name is that of a column, or of a field of structs (`s.x`): the other fields of `s` keep their values. Where `s` is
    /// NULL it becomes a struct whose other fields are NULL, as in Spark.
    ///
    /// # Errors
    /// `InvalidArgument` for a column or field that is not there or is set twice, and as of [`Bound::assign`].
    pub fn assign(&self, set: &[(String, Expression)], target: &Schema, alias: &str) -> Result<Vec<Option<Bound>>> {
        let mut assigned: Vec<Vec<Assignment<'_>>> = target.fields().iter().map(|_| Vec::new()).collect();
        for (name, value) in set {
            let (index, path) = place(name, target, alias).ok_or_else(|| {
                Error::invalid(format!("the table has no column `{name}` to set")).with("column", name)
            })?;
            if let Some(own) = assigned.get_mut(index) {
                own.push((path, value));
            }
        }
        let column = |(field, set): (&FieldRef, Vec<Assignment<'_>>)| {
            if set.is_empty() {
                return Ok(None);
            }
            let name = ColumnName(vec![alias.to_string(), field.name().clone()]);
            self.assign_field(field, &name, &set).map(Some).map_err(|error| error.with("column", field.name()))
        };
        target.fields().iter().zip(assigned).map(column).collect()
    }

    /// The value of a field that expressions call `name`.
    fn assign_field(&self, field: &Field, name: &ColumnName, set: &[Assignment<'_>]) -> Result<Bound> {
        let own = field.name();
        if set.len() > 1 && set.iter().any(|(path, _)| path.is_empty()) {
            return Err(Error::invalid(format!("the column `{own}` is set twice")));
        }
        if let [(path, value)] = set
            && path.is_empty()
        {
            return self.bind(value)?.assign(field);
        }
        let DataType::Struct(fields) = field.data_type() else {
            let shown = shown(field.data_type());
            return Err(Error::invalid(format!("the column `{own}` of type {shown} has no fields that could be set")));
        };
        let unknown = set.iter().filter_map(|(path, _)| path.first()).find(|first| fields.find(first).is_none());
        if let Some(unknown) = unknown {
            return Err(Error::invalid(format!("the struct `{own}` has no field `{unknown}` to set")));
        }
        let parts = fields.iter().map(|field| {
            let inner = ColumnName([name.0.as_slice(), &[field.name().clone()]].concat());
            let set: Vec<Assignment<'_>> = set
                .iter()
                .filter_map(|(path, value)| match path.split_first() {
                    Some((first, rest)) if first == field.name() => Some((rest.to_vec(), *value)),
                    _ => None,
                })
                .collect();
            if set.is_empty() { self.bind(&Expression::Column(inner)) } else { self.assign_field(field, &inner, &set) }
        });
        let parts = parts.collect::<Result<Vec<_>>>()?;
        Ok(Bound::new(Node::Struct(parts), DataType::Struct(fields.clone()), "".into()))
    }
}

/// The column that a name leads to, and the names of fields behind it.
fn place(name: &str, target: &Schema, alias: &str) -> Option<(usize, Vec<String>)> {
    if let Some((index, _)) = target.column_with_name(name) {
        return Some((index, Vec::new()));
    }
    let Ok(Expression::Column(ColumnName(parts))) = Expression::parse(name) else { return None };
    let fields: &Fields = target.fields();
    let found = |parts: &[String]| {
        let (first, rest) = parts.split_first()?;
        Some((fields.find(first)?.0, rest.to_vec()))
    };
    found(&parts).or_else(|| match parts.split_first() {
        Some((first, rest)) if first == alias => found(rest),
        _ => None,
    })
}
