//! Shared helpers for the tests of rows and of statistics: predicates over an int `i`, a double `f` and a string `s`,
//! and rows of them.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int32Array, StringArray};
use proptest::prelude::*;

use super::bind::Columns;
use super::eval::RowColumns;
use super::{BoundColumn, ColumnName, CompareOp, Literal};
use crate::error::Result;
use crate::scalar::ScalarType;
use crate::sql::expression::Expression;

/// The columns of [`rows`].
pub(crate) const TYPES: [(&str, ScalarType); 3] =
    [("i", ScalarType::Int32), ("f", ScalarType::Float64), ("s", ScalarType::String)];

/// Arrays by id.
pub(crate) struct Rows(pub(crate) HashMap<i32, ArrayRef>);

impl RowColumns for Rows {
    fn column(&self, id: i32) -> Option<ArrayRef> {
        self.0.get(&id).cloned()
    }
}

/// Columns by name; the position is the id.
pub(crate) struct Names(pub(crate) Vec<(&'static str, ScalarType)>);

impl Columns for Names {
    fn column(&self, name: &ColumnName, _: bool) -> Result<Option<BoundColumn>> {
        let found = self.0.iter().zip(0..).find(|((known, _), _)| *known == name.0.join("."));
        Ok(found.map(|((name, data_type), id)| BoundColumn {
            id,
            name: (*name).into(),
            data_type: *data_type,
            nullable: true,
        }))
    }
}

/// Returns predicates of every type, with literals that are close to the values of [`rows`].
pub(crate) fn predicates() -> impl Strategy<Value = Expression> {
    use CompareOp::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    let numbers = || {
        let digits = vec!["-1", "0", "1", "2", "0.5", "-0.0", "1.5", "3e9", "-3e9", "nan", "inf", "-inf"];
        prop_oneof![
            8 => prop::sample::select(digits).prop_map(|digits| Literal::Number(digits.into())),
            1 => Just(Literal::Null)
        ]
    };
    let texts = || {
        prop_oneof![
            8 => "[ab]{0,2}".prop_map(Literal::String),
            1 => Just(Literal::Null)
        ]
    };
    let column = |name: &str| ColumnName(vec![name.to_string()]);
    let name = move || prop::sample::select(vec!["i", "f"]).prop_map(column);
    let op = || prop::sample::select(vec![Eq, Gt, GtEq, Lt, LtEq, NotEq]);
    let leaf = prop_oneof![
        (name(), op(), numbers()).prop_map(|(name, op, literal)| Expression::compare(name, op, literal)),
        (op(), texts()).prop_map(move |(op, literal)| Expression::compare(column("s"), op, literal)),
        (name(), prop::collection::vec(numbers(), 0..4)).prop_map(|(name, list)| Expression::is_in(name, list)),
        prop::collection::vec(texts(), 0..4).prop_map(move |list| Expression::is_in(column("s"), list)),
        prop::sample::select(vec!["i", "f", "s"]).prop_map(move |name| Expression::is_null(column(name))),
        name()
            .prop_map(Expression::is_nan)
            .prop_filter("of a float", |p| *p == Expression::is_nan(ColumnName(vec!["f".into()]))),
        "[ab%_]{0,4}".prop_map(move |pattern| Expression::like(column("s"), &pattern).unwrap()),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(Expression::And),
            prop::collection::vec(inner.clone(), 1..4).prop_map(Expression::Or),
            inner.prop_map(|inner| Expression::Not(Box::new(inner))),
        ]
    })
}

/// Values of `i`, `f` and `s`.
pub(crate) type Row = (Option<i32>, Option<f64>, Option<String>);

/// Returns rows with NULLs, NaNs and both zeros.
pub(crate) fn rows() -> impl Strategy<Value = Vec<Row>> {
    let floats = vec![-1.0, -0.0, 0.0, 0.5, 1.5, f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
    let row =
        (prop::option::of(-2..3_i32), prop::option::of(prop::sample::select(floats)), prop::option::of("[ab]{0,3}"));
    prop::collection::vec(row, 0..70)
}

/// Returns the rows as arrays, by the ids of [`Names`].
pub(crate) fn columns(rows: &[Row]) -> Rows {
    let ints: Int32Array = rows.iter().map(|row| row.0).collect();
    let floats: Float64Array = rows.iter().map(|row| row.1).collect();
    let texts: StringArray = rows.iter().map(|row| row.2.as_deref()).collect();
    Rows([(0, Arc::new(ints) as ArrayRef), (1, Arc::new(floats)), (2, Arc::new(texts))].into())
}
