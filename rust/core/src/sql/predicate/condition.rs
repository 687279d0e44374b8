//! Conditions that statistics do not decide, because they compute values or compare columns with each other.

use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions, new_null_array};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};
use arrow_schema::{DataType, Field, Schema};

use super::eval::RowColumns;
use super::print::unambiguous;
use super::{BoundColumn, ColumnName};
use crate::error::{Error, Result};
use crate::sql::expression::bind::{Bound, Scope};
use crate::sql::expression::rows::{Relation, Rows};
use crate::sql::expression::{Expression, Printed};

/// A condition on several columns, or on values computed from columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    /// The condition, whose columns have the names `c0`, `c1` and so on.
    expression: Expression,
    columns: Vec<BoundColumn>,
    schema: Arc<Schema>,
    bound: Bound,
}

impl Condition {
    /// Binds a condition. `column` returns the column of a name, or None if there is none; `missing` returns the
    /// error for a missing column.
    ///
    /// # Errors
    /// The errors of `column`; `InvalidArgument` for operands whose types do not fit.
    pub(super) fn bind(
        expression: Expression,
        column: &dyn Fn(&ColumnName) -> Result<Option<BoundColumn>>,
        missing: &dyn Fn(&ColumnName) -> Error,
    ) -> Result<Self> {
        let mut columns: Vec<BoundColumn> = Vec::new();
        let mut place = |found: BoundColumn| {
            let known = columns.iter().position(|known| known.id == found.id && known.name == found.name);
            let place = known.unwrap_or(columns.len());
            if known.is_none() {
                columns.push(found);
            }
            Expression::Column(positional(place))
        };
        let expression = expression.map_leaves(&mut |part| match part {
            Expression::Word(name, literal) => Ok(column(&name)?.map_or(Expression::Literal(literal), &mut place)),
            Expression::Column(name) => Ok(place(column(&name)?.ok_or_else(|| missing(&name))?)),
            other => Ok(other),
        })?;
        Self::of(expression, columns)
    }

    /// Returns the condition that [`Condition::sql`] returned the text of.
    ///
    /// # Errors
    /// `InvalidArgument` for a text that does not parse, or that needs other columns.
    pub fn parse(sql: &str, columns: Vec<BoundColumn>) -> Result<Self> {
        Self::of(Expression::parse(sql)?, columns)
    }

    fn of(expression: Expression, columns: Vec<BoundColumn>) -> Result<Self> {
        let field =
            |(place, column): (usize, &BoundColumn)| Field::new(format!("c{place}"), column.data_type.arrow(), true);
        let schema = Arc::new(Schema::new(columns.iter().enumerate().map(field).collect::<Vec<_>>()));
        let bound = Scope::new(vec![("", Some(schema.as_ref()))], 0).bind_condition(&expression);
        let bound =
            bound.map_err(|error| error.with("condition", Printed(&expression, &|name| named(name, &columns))))?;
        Ok(Self { expression, columns, schema, bound })
    }

    /// Returns the columns, each once.
    pub fn columns(&self) -> &[BoundColumn] {
        &self.columns
    }

    /// Returns the condition as SQL, in which columns are named by their positions: `c0`, `c1` and so on.
    pub fn sql(&self) -> String {
        Printed(&self.expression, &ToString::to_string).to_string()
    }

    /// Returns the same condition on other columns, in the order of [`Condition::columns`].
    ///
    /// # Errors
    /// The errors of `column`; `InvalidArgument` for a column of another type that the condition does not accept.
    pub fn with_columns(&self, column: impl FnMut(&BoundColumn) -> Result<BoundColumn>) -> Result<Self> {
        let columns = self.columns.iter().map(column).collect::<Result<_>>()?;
        Self::of(self.expression.clone(), columns)
    }

    /// Returns whether it is an AND or OR, which needs parentheses within another one.
    pub(super) fn is_connective(&self) -> bool {
        matches!(self.expression, Expression::And(_) | Expression::Or(_))
    }

    /// Returns the value of a condition without columns: whether it is TRUE; None for other conditions.
    ///
    /// # Errors
    /// As for [`Bound::evaluate`].
    pub(super) fn constant(&self) -> Result<Option<bool>> {
        if !self.columns.is_empty() {
            return Ok(None);
        }
        self.bound.holds(&Rows::new(1, vec![None])).map(|rows| Some(rows.value(0)))
    }

    /// Returns the rows of `within` for which the condition is TRUE. Other rows are not evaluated, because they could
    /// fail.
    ///
    /// # Errors
    /// `Internal` if a column is missing; the errors of [`Bound::evaluate`].
    pub(super) fn evaluate(&self, rows: &dyn RowColumns, within: &BooleanBuffer) -> Result<BooleanBuffer> {
        let length = within.len();
        if within.count_set_bits() == 0 {
            return Ok(within.clone());
        }
        let mut arrays = Vec::with_capacity(self.columns.len());
        let mut fields = Vec::with_capacity(self.columns.len());
        for (column, field) in self.columns.iter().zip(self.schema.fields()) {
            let array = rows.column(column.id).ok_or_else(|| {
                Error::internal("a column of the condition was not read").with("column", &column.name)
            })?;
            let array = match array.data_type() {
                DataType::Null => new_null_array(field.data_type(), array.len()),
                _ => array,
            };
            fields.push(Field::new(field.name(), array.data_type().clone(), true));
            arrays.push(array);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(length));
        let batch = RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options)?;
        if within.count_set_bits() == length {
            return self.bound.holds(&Rows::new(length, vec![Some(Relation::whole(&batch))]));
        }
        let places: Vec<u32> = within.set_indices_u32().collect();
        let rows = Rows::new(places.len(), vec![Some(Relation::at(&batch, places.clone()))]);
        let found = self.bound.holds(&rows)?;
        let mut all = BooleanBufferBuilder::new(length);
        all.append_n(length, false);
        for place in found.set_indices().filter_map(|index| places.get(index)) {
            all.set_bit(usize::try_from(*place).unwrap_or(usize::MAX), true);
        }
        Ok(all.finish())
    }
}

impl Display for Condition {
    /// Writes SQL with the names of the columns.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Printed(&self.expression, &|name| named(name, &self.columns)).fmt(f)
    }
}

fn positional(place: usize) -> ColumnName {
    ColumnName(vec![format!("c{place}")])
}

/// Returns the name of the column at a position.
fn named(name: &ColumnName, columns: &[BoundColumn]) -> String {
    let place = (0..columns.len()).find(|place| positional(*place) == *name);
    place
        .and_then(|place| columns.get(place))
        .map_or_else(|| name.to_string(), |column| unambiguous(&column.name).into_owned())
}
