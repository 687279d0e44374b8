//! Maps the columns of a fallback branch (option `scan.fallback-branch`) to those of the main branch.
//!
//! The branches change independently: columns are renamed, moved, dropped and added again, and both branches assign new
//! ids. Columns are matched by name, else by id, else by position. A column that has the name of another column of the
//! main branch is not considered. Types must be equal except for NOT NULL.

use std::sync::Arc;

use frazil_core::error::{Error, Result};
use frazil_core::sql::predicate::{BoundColumn, BoundPredicate, ColumnName};

use crate::context::output::Output;
use crate::spec::schema::TableSchema;
use crate::spec::types::{DataField, DataType, TypeRoot};

/// The schemas of two branches.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Branches<'a> {
    /// The branch that is read.
    pub main: &'a TableSchema,
    /// The branch that has the partitions missing from the main one.
    pub fallback: &'a TableSchema,
}

impl<'a> Branches<'a> {
    /// Returns the columns of the fallback branch with the names and nullability of the main one.
    ///
    /// # Errors
    /// `Unsupported` naming a column that the fallback branch does not have with this type.
    pub(crate) fn output(self, output: &Output) -> Result<Output> {
        let column = |field: &DataField| Ok(DataField { id: self.partner(field.id)?.id, ..field.clone() });
        Ok(Output {
            fields: output.fields.iter().map(column).collect::<Result<_>>()?,
            metadata: output.metadata.clone(),
            images: output.images,
        })
    }

    /// Translates the filter to the columns of the fallback branch.
    ///
    /// # Errors
    /// As for [`Branches::output`].
    pub(super) fn filter(self, filter: &BoundPredicate) -> Result<BoundPredicate> {
        let each = |parts: &[BoundPredicate]| parts.iter().map(|part| self.filter(part)).collect::<Result<Vec<_>>>();
        Ok(match filter {
            BoundPredicate::And(parts) => BoundPredicate::and(each(parts)?),
            BoundPredicate::Or(parts) => BoundPredicate::or(each(parts)?),
            BoundPredicate::Leaf(column, test) => BoundPredicate::Leaf(self.column(column)?, test.clone()),
            BoundPredicate::Condition(condition) => {
                BoundPredicate::Condition(Arc::new(condition.with_columns(|column| self.column(column))?))
            }
            constant @ (BoundPredicate::True | BoundPredicate::False) => constant.clone(),
        })
    }

    fn column(self, column: &BoundColumn) -> Result<BoundColumn> {
        let lost = || Error::internal("a filter column is not in the schema").with("column", &column.name);
        let path = path_to(&self.main.fields, column.id).ok_or_else(lost)?;
        let (top, inside) = path.split_first().ok_or_else(lost)?;
        let partner = self.partner(top.id)?;
        let names = std::iter::once(partner).chain(inside.iter().copied()).map(|field| field.name.clone());
        let id = if inside.is_empty() { partner.id } else { column.id };
        let nullable = column.nullable || partner.data_type.nullable;
        Ok(BoundColumn { id, name: ColumnName(names.collect()).to_string().into(), nullable, ..column.clone() })
    }

    /// Returns the column of the fallback branch that corresponds to the top-level column `id` of the main one.
    fn partner(self, id: i32) -> Result<&'a DataField> {
        let place = self.main.fields.iter().position(|field| field.id == id);
        let field = place.and_then(|place| self.main.fields.get(place));
        let field = field.ok_or_else(|| Error::internal("a column is not in the schema").with("field id", id))?;
        let free = |other: &&DataField| self.main.field(&other.name).is_none();
        let by_id = || self.fallback.fields.iter().find(|other| other.id == id).filter(free);
        let by_place = || place.and_then(|place| self.fallback.fields.get(place)).filter(free);
        let partner = self.fallback.field(&field.name).or_else(by_id).or_else(by_place);
        partner.filter(|other| same(&field.data_type, &other.data_type)).ok_or_else(|| {
            Error::unsupported(
                "the schema of the fallback branch does not match the main branch, which is not supported",
            )
            .with("column", &field.name)
        })
    }
}

/// Returns the fields from the top level down to the field with an id.
fn path_to(fields: &[DataField], id: i32) -> Option<Vec<&DataField>> {
    fields.iter().find_map(|field| {
        if field.id == id {
            return Some(vec![field]);
        }
        let TypeRoot::Row(inner) = &field.data_type.root else { return None };
        path_to(inner, id).map(|path| std::iter::once(field).chain(path).collect())
    })
}

/// Returns whether two types are equal except for NOT NULL.
fn same(a: &DataType, b: &DataType) -> bool {
    match (&a.root, &b.root) {
        (TypeRoot::Array(a), TypeRoot::Array(b)) | (TypeRoot::Multiset(a), TypeRoot::Multiset(b)) => same(a, b),
        (TypeRoot::Map(key, value), TypeRoot::Map(other_key, other)) => same(key, other_key) && same(value, other),
        (TypeRoot::Row(a), TypeRoot::Row(b)) => {
            let fields =
                |(a, b): (&DataField, &DataField)| a.id == b.id && a.name == b.name && same(&a.data_type, &b.data_type);
            a.len() == b.len() && a.iter().zip(b).all(fields)
        }
        (a, b) => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::tests::{field, schema};
    use crate::spec::types::TypeRoot::{BigInt, Int};

    fn partners(main: &[(i32, &str)], fallback: &[(i32, &str)]) -> Vec<Option<i32>> {
        let of = |columns: &[(i32, &str)]| {
            schema(0, columns.iter().map(|(id, name)| field(*id, name, Int)).collect(), &[], &[])
        };
        let (main, fallback) = (of(main), of(fallback));
        let branches = Branches { main: &main, fallback: &fallback };
        main.fields.iter().map(|field| branches.partner(field.id).ok().map(|partner| partner.id)).collect()
    }

    #[test]
    fn columns_are_found_by_name_then_by_id_then_by_place() {
        assert_eq!(partners(&[(0, "a"), (1, "b")], &[(0, "a"), (1, "b")]), [Some(0), Some(1)]);
        assert_eq!(partners(&[(0, "a"), (2, "b")], &[(0, "a"), (1, "b")]), [Some(0), Some(1)], "added again");
        assert_eq!(partners(&[(1, "b"), (0, "a")], &[(0, "a"), (1, "b")]), [Some(1), Some(0)], "moved");
        assert_eq!(partners(&[(0, "x"), (1, "b")], &[(0, "a"), (1, "b")]), [Some(0), Some(1)], "renamed");
        assert_eq!(partners(&[(1, "x"), (0, "a")], &[(0, "a"), (1, "b")]), [Some(1), Some(0)], "renamed and moved");
        assert_eq!(partners(&[(0, "a"), (1, "x")], &[(0, "a"), (2, "y")]), [Some(0), Some(2)], "in one place");
        assert_eq!(partners(&[(0, "a"), (1, "x")], &[(0, "a")]), [Some(0), None]);
    }

    #[test]
    fn types_must_be_equal_but_for_not_null() {
        let required = |root| DataType { root, nullable: false };
        assert!(same(&required(Int), &DataType::nullable(Int)));
        assert!(!same(&required(Int), &required(BigInt)));
        let row = |name| DataType::nullable(TypeRoot::Row(vec![field(3, name, Int)]));
        assert!(same(&row("a"), &row("a")));
        assert!(!same(&row("a"), &row("b")));
    }
}
