//! MERGE and UPDATE of Iceberg tables: computes changed rows from batches.

use std::sync::{Arc, RwLock};

use arrow_array::{BooleanArray, UInt32Array};
use arrow_schema::{DataType, Field, Schema};
use frazil_core::error::{Error, Result};
use frazil_core::merge::merger::Merger as CoreMerger;
use frazil_core::merge::update::Updater as CoreUpdater;
use frazil_core::merge::{Action, Clause, MergePlan as CoreMergePlan, When};
use frazil_core::sql::expression::Expression;
use frazil_iceberg::write::align;
use pyo3::prelude::*;

use crate::arrow::{self, ArrowBatch, ArrowSchema};
use crate::interrupt::detached;
use crate::table::Table;

/// The definition of a MERGE by a user.
#[derive(FromPyObject)]
struct MergePlan {
    /// The ON condition, or the columns that exist on both sides.
    on: On,
    target_alias: String,
    source_alias: String,
    clauses: Vec<MergeClause>,
}

impl MergePlan {
    fn into_core(self, source: &Schema, now_micros: i64) -> Result<CoreMergePlan> {
        let Self { on, target_alias, source_alias, clauses } = self;
        let on = match on {
            On::Text(text) => Expression::parse(&text)?,
            On::Columns(columns) => CoreMergePlan::on_columns(&columns, source, &target_alias, &source_alias)?,
        };
        let clauses = clauses.into_iter().map(clause).collect::<Result<_>>()?;
        Ok(CoreMergePlan { target_alias, source_alias, on, clauses, unique_source: false, now_micros })
    }
}

/// A clause of a MERGE.
#[derive(FromPyObject)]
struct MergeClause {
    when: String,
    condition: Option<String>,
    action: String,
    /// The SQL text of each column.
    assignments: Vec<(String, String)>,
    /// The columns that `update_all` and `insert_all` exclude.
    except_columns: Vec<String>,
}

/// `(untouched, deleted, updated, rows)`.
type ProbeParts<'py> = (Py<PyAny>, Py<PyAny>, Py<PyAny>, Bound<'py, PyAny>, bool);

/// A MERGE that matches the rows of a source with those of a target.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct Merger(RwLock<CoreMerger>);

impl Merger {
    fn read<R: Send>(&self, py: Python<'_>, work: impl FnOnce(&CoreMerger) -> Result<R> + Send) -> PyResult<R> {
        detached(py, || work(&*self.0.read().map_err(|_| failed())?))
    }

    fn write<R: Send>(&self, py: Python<'_>, work: impl FnOnce(&mut CoreMerger) -> Result<R> + Send) -> PyResult<R> {
        detached(py, || work(&mut *self.0.write().map_err(|_| failed())?))
    }
}

#[pymethods]
impl Merger {
    /// Creates a merger for rows of two schemas. `now_us` is the current time of the statement, in microseconds since
    /// the epoch.
    #[new]
    #[pyo3(signature = (plan, target_schema, source_schema, *, now_us))]
    fn new(
        py: Python<'_>,
        plan: MergePlan,
        target_schema: ArrowSchema,
        source_schema: ArrowSchema,
        now_us: i64,
    ) -> PyResult<Self> {
        let (ArrowSchema(target), ArrowSchema(source)) = (target_schema, source_schema);
        detached(py, || CoreMerger::new(&plan.into_core(&source, now_us)?, target, source))
            .map(|merger| Self(RwLock::new(merger)))
    }

    /// Creates a merger for an upsert by columns that exist on both sides.
    #[staticmethod]
    #[pyo3(signature = (join_columns, *, update, insert, target_schema, source_schema))]
    #[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts lists by value")]
    fn upsert(
        py: Python<'_>,
        join_columns: Vec<String>,
        update: bool,
        insert: bool,
        target_schema: ArrowSchema,
        source_schema: ArrowSchema,
    ) -> PyResult<Self> {
        let (ArrowSchema(target), ArrowSchema(source)) = (target_schema, source_schema);
        detached(py, || {
            CoreMerger::new(&CoreMergePlan::upsert(&join_columns, update, insert, &source)?, target, source)
        })
        .map(|merger| Self(RwLock::new(merger)))
    }

    /// Adds rows of the source.
    fn source(&self, py: Python<'_>, batch: ArrowBatch) -> PyResult<()> {
        let ArrowBatch(batch) = batch;
        self.write(py, |merger| merger.source(batch))
    }

    /// Completes the source.
    fn seal(&self, py: Python<'_>) -> PyResult<()> {
        self.write(py, CoreMerger::seal)
    }

    /// Returns whether unmatched target rows may change, in which case the filter must not be used.
    fn changes_unmatched(&self, py: Python<'_>) -> PyResult<bool> {
        self.read(py, |merger| Ok(merger.changes_unmatched()))
    }

    /// Returns the target columns that `probe` needs for partial rows.
    fn target_columns(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.read(py, |merger| Ok(merger.target_columns().into_iter().map(str::to_string).collect()))
    }

    /// Returns a filter for the target rows that can match.
    fn filter(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.read(py, |merger| Ok(merger.filter()?.map(|filter| filter.to_string())))
    }

    /// Returns the columns of target and source that ON compares for equality; None for a side that is computed.
    fn compared_columns(&self, py: Python<'_>) -> PyResult<Vec<(Option<String>, Option<String>)>> {
        self.read(py, |merger| {
            let owned = |(target, source): (Option<&str>, Option<&str>)| {
                (target.map(str::to_string), source.map(str::to_string))
            };
            Ok(merger.compared_columns().into_iter().map(owned).collect())
        })
    }

    /// Returns whether ON has parts other than equalities between target and source.
    fn has_other_conditions(&self, py: Python<'_>) -> PyResult<bool> {
        self.read(py, |merger| Ok(merger.has_other_conditions()))
    }

    /// Returns the changes to target rows; with `partial`, columns that are not needed may be missing.
    #[pyo3(signature = (batch, *, partial = false))]
    fn probe<'py>(&self, py: Python<'py>, batch: ArrowBatch, partial: bool) -> PyResult<ProbeParts<'py>> {
        let ArrowBatch(batch) = batch;
        let probe =
            self.read(py, |merger| if partial { merger.probe_partial(&batch) } else { merger.probe(&batch) })?;
        let untouched = Arc::new(BooleanArray::new(probe.untouched, None));
        let untouched = arrow::array(py, untouched, Arc::new(Field::new("", DataType::Boolean, true)))?;
        let places = |places: Vec<u32>| {
            let field = Arc::new(Field::new("", DataType::UInt32, true));
            arrow::array(py, Arc::new(UInt32Array::from(places)), field)
        };
        let rows = arrow::record_batch(py, probe.rows)?;
        Ok((untouched, places(probe.deleted)?, places(probe.updated)?, rows, probe.has_matches))
    }

    /// Returns the rows to insert, with the columns that are set.
    fn inserts<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let batches = self.read(py, CoreMerger::inserts)?;
        batches.into_iter().map(|batch| arrow::record_batch(py, batch)).collect()
    }

    /// Returns which source rows have matched so far, one bit per row.
    fn matched(&self, py: Python<'_>) -> PyResult<Vec<u8>> {
        self.read(py, CoreMerger::matched)
    }

    /// Adds the result of `matched` from another merger of the same source.
    #[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts lists by value")]
    fn merge_matched(&self, py: Python<'_>, bits: Vec<u8>) -> PyResult<()> {
        self.read(py, |merger| merger.merge_matched(&bits))
    }
}

/// An updater, which replaces some columns of rows.
#[pyclass(frozen, module = "frazil._native")]
pub(crate) struct Updater(CoreUpdater);

#[pymethods]
impl Updater {
    /// Creates an updater from SQL text by column, for rows of a schema. `now_us` is the current time of the statement,
    /// in microseconds since the epoch.
    #[new]
    #[pyo3(signature = (assignments, schema, alias, *, now_us))]
    fn new(
        py: Python<'_>,
        assignments: Vec<(String, String)>,
        schema: ArrowSchema,
        alias: &str,
        now_us: i64,
    ) -> PyResult<Self> {
        let ArrowSchema(schema) = schema;
        detached(py, || CoreUpdater::new(&parsed(assignments)?, schema, alias, now_us)).map(Self)
    }

    /// Returns the rows with their new values.
    fn update<'py>(&self, py: Python<'py>, batch: ArrowBatch) -> PyResult<Bound<'py, PyAny>> {
        let ArrowBatch(batch) = batch;
        arrow::record_batch(py, detached(py, || self.0.update(&batch))?)
    }
}

/// Returns the rows of a merge in the types of the table's columns; with `exact`, a column that `append` rejects is an
/// error.
#[pyfunction]
#[pyo3(signature = (table, batches, *, exact))]
pub(crate) fn source_batches<'py>(
    py: Python<'py>,
    table: &Table,
    batches: Vec<ArrowBatch>,
    exact: bool,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let batches: Vec<_> = batches.into_iter().map(|ArrowBatch(batch)| batch).collect();
    let schema = || table.0.metadata().current_schema();
    let batches = detached(py, || align::source_batches(schema()?, &batches, exact))?;
    batches.into_iter().map(|batch| arrow::record_batch(py, batch)).collect()
}

/// Evaluates SQL text for each row of batches, which are referenced by their names.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts lists by value")]
pub(crate) fn evaluate_expression(
    py: Python<'_>,
    text: String,
    relations: Vec<(String, ArrowBatch)>,
) -> PyResult<Py<PyAny>> {
    let relations: Vec<_> = relations.into_iter().map(|(name, ArrowBatch(batch))| (name, batch)).collect();
    let (array, data_type) = detached(py, || {
        use frazil_core::sql::expression::bind::{Scope, now_micros};
        use frazil_core::sql::expression::rows::{Relation, Rows};
        let schemas: Vec<_> = relations.iter().map(|(_, batch)| batch.schema()).collect();
        let named = relations.iter().zip(&schemas).map(|((name, _), schema)| (name.as_str(), Some(&**schema)));
        let bound = Scope::new(named.collect(), now_micros()).bind(&Expression::parse(&text)?)?;
        let len = relations.first().map_or(1, |(_, batch)| batch.num_rows());
        let rows = Rows::new(len, relations.iter().map(|(_, batch)| Some(Relation::whole(batch))).collect());
        Ok((bound.evaluate(&rows)?, bound.data_type().clone()))
    })?;
    arrow::array(py, array, Arc::new(Field::new("", data_type, true)))
}

/// The criterion by which rows are matched.
#[derive(FromPyObject)]
enum On {
    Text(String),
    Columns(Vec<String>),
}

fn failed() -> Error {
    Error::internal("an earlier call of this merge failed")
}

fn parsed(set: Vec<(String, String)>) -> Result<Vec<(String, Expression)>> {
    let value = |(name, text): (String, String)| {
        let expression = Expression::parse(&text).map_err(|error| error.with("column", &name))?;
        Ok((name, expression))
    };
    set.into_iter().map(value).collect()
}

fn clause(given: MergeClause) -> Result<Clause> {
    let MergeClause { when, condition, action, assignments: set, except_columns: except } = given;
    let when = match when.as_str() {
        "matched" => When::Matched,
        "not_matched" => When::NotMatched,
        "not_matched_by_source" => When::NotMatchedBySource,
        other => return Err(Error::internal(format!("unknown clause type: {other}"))),
    };
    let action = match action.as_str() {
        "update" => Action::Update(parsed(set)?),
        "update_all" => Action::UpdateAll(except),
        "delete" => Action::Delete,
        "insert" => Action::Insert(parsed(set)?),
        "insert_all" => Action::InsertAll(except),
        other => return Err(Error::internal(format!("unknown action: {other}"))),
    };
    let condition = condition.map(|text| Expression::parse(&text)).transpose()?;
    Ok(Clause { when, condition, action })
}
