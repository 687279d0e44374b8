//! Computes values for columns, or for fields of their structs, as UPDATE sets them.

use arrow_schema::{DataType, Field, FieldRef, Fields, Schema};

use super::Expression;
use super::bind::Scope;
use super::bound::{Bound, BoundNode};
use super::types::shown;
use crate::error::{Error, Result};
use crate::sql::predicate::ColumnName;

/// The names that lead to a field of a column (empty for the column itself), and its value.
type Assignment<'a> = (Vec<String>, &'a Expression);

impl Scope<'_> {
    /// Returns the value of each column of `target`, whose rows have the alias `alias`; None for columns that are not
    /// set.
    ///
    /// A name references a column or a field of structs (`s.x`): the other fields of `s` keep their values. If `s` is
    /// NULL, it becomes a struct whose other fields are NULL, as in Spark.
    ///
    /// # Errors
    /// `InvalidArgument` for a column or field that does not exist or is set twice, and the errors of
    /// [`Bound::assign`].
    pub fn assign(&self, set: &[(String, Expression)], target: &Schema, alias: &str) -> Result<Vec<Option<Bound>>> {
        let mut assigned: Vec<Vec<Assignment<'_>>> = target.fields().iter().map(|_| Vec::new()).collect();
        for (name, value) in set {
            let (index, path) = place(name, target, alias)
                .ok_or_else(|| Error::invalid(format!("the table has no column `{name}`")).with("column", name))?;
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

    /// Returns the new value of a field, given the assignments to the field and to its nested fields. `name` is the
    /// name by which expressions reference the field.
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
            return Err(Error::invalid(format!("the column `{own}` of type {shown} has no fields")));
        };
        let unknown = set.iter().filter_map(|(path, _)| path.first()).find(|first| fields.find(first).is_none());
        if let Some(unknown) = unknown {
            return Err(Error::invalid(format!("the struct `{own}` has no field `{unknown}`")));
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
        Ok(Bound::new(BoundNode::Struct(parts), DataType::Struct(fields.clone()), "".into()))
    }
}

/// Returns the column that a name references, and the names of nested fields.
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
