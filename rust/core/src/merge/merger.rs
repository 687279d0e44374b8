//! Matches the rows of a source with the rows of a target.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Result};
use crate::join::{JoinBounds, JoinPairs, JoinTable, bounds};
use crate::scalar::{Scalar, ScalarType};
use crate::sql::expression::bind::{Bound, Scope};
use crate::sql::expression::rows::{Relation, Rows};
use crate::sql::expression::{Expression, normal_type};
use crate::sql::predicate::{ColumnName, CompareOp, Literal};
use arrow_array::{Array, ArrayRef, RecordBatch, new_null_array};
use arrow_buffer::BooleanBuffer;
use arrow_schema::{DataType, FieldRef, Schema, SchemaRef};
use arrow_select::concat::concat_batches;

use super::changes::Changes;
pub use super::changes::Probe;
use super::clause::{BoundAction, BoundClause, bind_clauses};
use super::rows::inserted;
use super::{MergePlan, When};

/// The maximum number of keys in an error message.
const NAMED_KEYS: usize = 5;
/// The maximum number of key values in a filter.
const LISTED_VALUES: usize = 200;
/// The number of rows in a batch of new rows.
const INSERT_ROWS: usize = 1 << 16;
const TARGET: usize = 0;
const SOURCE: usize = 1;

/// A MERGE in progress. After [`Merger::seal`], several threads can use it.
#[derive(Debug)]
pub struct Merger {
    target: SchemaRef,
    source: SchemaRef,
    keys: Vec<EqualKey>,
    residual: Vec<Bound>,
    matched: Vec<BoundClause>,
    not_matched: Vec<BoundClause>,
    not_matched_by_source: Vec<BoundClause>,
    unique_source: bool,
    /// Whether each target column is needed to decide which target rows change and how.
    needed: Vec<bool>,
    /// The target schema, in which the columns that are not needed may be NULL.
    completed: SchemaRef,
    batches: Vec<RecordBatch>,
    sealed: Option<Sealed>,
}

/// An equality between both sides, with a common type.
#[derive(Debug)]
struct EqualKey {
    target: Bound,
    source: Bound,
    null_safe: bool,
}

#[derive(Debug)]
struct Sealed {
    rows: RecordBatch,
    table: JoinTable,
    /// A bit for each source row that matched.
    matched: Vec<AtomicU64>,
}

impl Merger {
    /// Creates a merger for rows of these schemas.
    ///
    /// # Errors
    /// `InvalidArgument` for an invalid plan: see the functions of [`MergePlan`].
    pub fn new(plan: &MergePlan, target: SchemaRef, source: SchemaRef) -> Result<Self> {
        if plan.target_alias == plan.source_alias {
            return Err(Error::invalid(format!("both sides of the merge have the alias {}", plan.target_alias)));
        }
        if plan.clauses.is_empty() {
            return Err(Error::invalid("a merge without clauses has no effect")
                .hint("add a clause, for example when_matched_update_all()"));
        }
        let now = plan.now_micros;
        let relations =
            vec![(plan.target_alias.as_str(), Some(&*target)), (plan.source_alias.as_str(), Some(&*source))];
        let scope = Scope::new(relations, now);
        let (mut keys, mut residual) = (Vec::new(), Vec::new());
        for part in plan.on.clone().conjuncts() {
            let bound = scope.bind_condition(&part)?;
            match key(&bound) {
                Some(key) => keys.push(key),
                None => residual.push(bound),
            }
        }
        if keys.is_empty() {
            return Err(Error::invalid("the ON condition needs at least one equality between target and source").hint(
                format!(
                    "write on=\"{}.id = {}.id\", and add other conditions with AND",
                    plan.target_alias, plan.source_alias
                ),
            ));
        }
        let clauses = |when| bind_clauses(plan, when, &target, &source, now);
        let nullable = |field: &FieldRef| field.as_ref().clone().with_nullable(true);
        let completed = Schema::new(target.fields().iter().map(nullable).collect::<Vec<_>>());
        let (matched, not_matched_by_source) = (clauses(When::Matched)?, clauses(When::NotMatchedBySource)?);
        Ok(Self {
            needed: needed(&target, &keys, &residual, matched.iter().chain(&not_matched_by_source)),
            matched,
            not_matched: clauses(When::NotMatched)?,
            not_matched_by_source,
            completed: completed.into(),
            target,
            source,
            keys,
            residual,
            unique_source: plan.unique_source,
            batches: Vec::new(),
            sealed: None,
        })
    }

    /// Adds rows of the source.
    ///
    /// # Errors
    /// `InvalidArgument` for rows with a different schema; `Internal` after [`Merger::seal`].
    pub fn source(&mut self, batch: RecordBatch) -> Result<()> {
        if self.sealed.is_some() {
            return Err(Error::internal("the source is already complete"));
        }
        check_schema(&self.source, &batch, "source")?;
        self.batches.push(batch);
        Ok(())
    }

    /// Ends the input of source rows and prepares the merger for target rows.
    ///
    /// # Errors
    /// `InvalidArgument` with five of the duplicate keys if keys must be unique and are not.
    pub fn seal(&mut self) -> Result<()> {
        let rows = concat_batches(&self.source, &std::mem::take(&mut self.batches)).map_err(|error| {
            Error::new(crate::error::ErrorKind::LimitExceeded, "the source does not fit in one batch")
                .caused_by(error)
                .hint("merge the source in several parts")
        })?;
        let keys = self.keys_of(&rows, SOURCE)?;
        let null_safe: Vec<bool> = self.keys.iter().map(|key| key.null_safe).collect();
        let table = JoinTable::build(&keys, &null_safe)?;
        if self.unique_source {
            let twice = table.duplicates(NAMED_KEYS);
            if !twice.is_empty() {
                let shown = named(&keys, &twice)?;
                return Err(Error::invalid(format!("several source rows have the same key: {shown}"))
                    .hint("keep one row for each key"));
            }
        }
        let matched = (0..rows.num_rows().div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        self.sealed = Some(Sealed { rows, table, matched });
        Ok(())
    }

    /// Returns whether target rows that match no source row may change, in which case [`Merger::filter`] must not be
    /// used.
    pub fn changes_unmatched(&self) -> bool {
        !self.not_matched_by_source.is_empty()
    }

    /// Returns the columns of target and source that the ON condition compares for equality; None for a side that is
    /// computed.
    pub fn compared_columns(&self) -> Vec<(Option<&str>, Option<&str>)> {
        let of = |bound: &Bound| bound.as_column().map(|(_, index)| index);
        let pair = |key: &EqualKey| {
            let target = of(&key.target).map(|index| self.target.field(index).name().as_str());
            (target, of(&key.source).map(|index| self.source.field(index).name().as_str()))
        };
        self.keys.iter().map(pair).collect()
    }

    /// Returns whether the ON condition has parts other than equalities between target and source.
    pub fn has_other_conditions(&self) -> bool {
        !self.residual.is_empty()
    }

    /// Returns the target columns that decide the changes to target rows, in order: [`Merger::probe`] needs no other
    /// columns.
    pub fn target_columns(&self) -> Vec<&str> {
        let fields = self.target.fields().iter().zip(&self.needed);
        fields.filter(|(_, needed)| **needed).map(|(field, _)| field.name().as_str()).collect()
    }

    /// Returns a filter for the target rows that can match a source row, over the target columns. None if no filter can
    /// be derived.
    ///
    /// # Errors
    /// `Internal` before [`Merger::seal`].
    pub fn filter(&self) -> Result<Option<Expression>> {
        let keys = self.keys_of(&self.sealed()?.rows, SOURCE)?;
        let mut parts = Vec::new();
        for (key, values) in self.keys.iter().zip(&keys) {
            let Some((TARGET, index)) = key.target.as_column() else { continue };
            let field = self.target.field(index);
            if values.data_type().is_floating() && !normal_type(field.data_type()).is_floating() {
                continue; // the float matches every integer that rounds to it, so it is not an exact bound
            }
            if matches!(values.data_type(), DataType::Timestamp(_, Some(_))) && *field.data_type() == DataType::Date32 {
                continue; // filters do not compare timestamps with dates
            }
            let name = ColumnName(vec![field.name().clone()]);
            let part = match bounds(values, LISTED_VALUES)? {
                JoinBounds::Unknown => continue,
                JoinBounds::Values(values) if values.is_empty() => Expression::FALSE,
                JoinBounds::Values(values) => {
                    Expression::is_in(name.clone(), values.into_iter().map(Literal::Typed).collect())
                }
                JoinBounds::Between(least, greatest) => Expression::And(vec![
                    Expression::compare(name.clone(), CompareOp::GtEq, Literal::Typed(least)),
                    Expression::compare(name.clone(), CompareOp::LtEq, Literal::Typed(greatest)),
                ]),
            };
            if key.null_safe && values.logical_null_count() > 0 {
                parts.push(Expression::Or(vec![part, Expression::is_null(name)]));
            } else {
                parts.extend(part.conjuncts());
            }
        }
        Ok(if parts.len() > 1 { Some(Expression::And(parts)) } else { parts.pop() })
    }

    /// Returns the same result as [`Merger::probe`] for batches that have at least the [`Merger::target_columns`].
    ///
    /// # Errors
    /// See [`Merger::probe`].
    pub fn probe_partial(&self, batch: &RecordBatch) -> Result<Probe> {
        self.probe(&self.completed(batch)?)
    }

    /// Returns the changes to a batch of target rows.
    ///
    /// # Errors
    /// `InvalidArgument` with five keys if several source rows would change one row, and if a row has no new value;
    /// `Internal` before [`Merger::seal`].
    pub fn probe(&self, batch: &RecordBatch) -> Result<Probe> {
        check_schema(&self.target, batch, "target")?;
        let sealed = self.sealed()?;
        let keys = self.keys_of(batch, TARGET)?;
        let mut pairs = sealed.table.probe(&keys)?;
        for part in &self.residual {
            let holds = part.holds(&sealed.paired(batch, &pairs))?;
            pairs = chosen(&pairs, &holds);
        }
        sealed.mark(&pairs.found);
        let mut changes = Changes::new(batch.num_rows());
        let mut rest = pairs.clone();
        for clause in &self.matched {
            let taken = match &clause.condition {
                None => std::mem::take(&mut rest),
                Some(condition) => {
                    let holds = condition.holds(&sealed.paired(batch, &rest))?;
                    let taken = chosen(&rest, &holds);
                    rest = chosen(&rest, &!&holds);
                    taken
                }
            };
            let taken = changes.claim(taken, self.deletes_only());
            changes.apply(&clause.action, &taken.probed, &sealed.paired(batch, &taken), batch, &self.target)?;
        }
        if !changes.claimed_twice.is_empty() {
            let rows: Vec<u32> = changes.claimed_twice.iter().copied().take(NAMED_KEYS).collect();
            let shown = named(&keys, &rows)?;
            return Err(Error::invalid(format!(
                "several source rows would change the same row of the table, with the key: {shown}"
            ))
            .hint("keep one row for each key in the source, or make the conditions mutually exclusive"));
        }
        self.unmatched(batch, &pairs, &mut changes)?;
        changes.finish(&self.target, !pairs.probed.is_empty())
    }

    /// Applies the clauses for target rows without a match.
    fn unmatched(&self, batch: &RecordBatch, pairs: &JoinPairs, changes: &mut Changes) -> Result<()> {
        if self.not_matched_by_source.is_empty() {
            return Ok(());
        }
        let mut open = vec![true; batch.num_rows()];
        for row in &pairs.probed {
            if let Some(open) = open.get_mut(*row as usize) {
                *open = false;
            }
        }
        let mut rest: Vec<u32> = BooleanBuffer::from(open).set_indices_u32().collect();
        for clause in &self.not_matched_by_source {
            let rows = |places: Vec<u32>| Rows::new(places.len(), vec![Some(Relation::at(batch, places)), None]);
            let taken = first_of(&mut rest, clause, &rows)?;
            changes.apply(&clause.action, &taken, &rows(taken.clone()), batch, &self.target)?;
        }
        Ok(())
    }

    /// Returns the rows to insert, in source order for each clause. They have the columns that the clause sets, in the
    /// order and types of the target; the other columns get their defaults.
    ///
    /// # Errors
    /// `InvalidArgument` if a row has no value; `Internal` before [`Merger::seal`].
    pub fn inserts(&self) -> Result<Vec<RecordBatch>> {
        let sealed = self.sealed()?;
        let mut batches = Vec::new();
        if self.not_matched.is_empty() {
            return Ok(batches);
        }
        let is_new = |row: &u32| {
            let word = sealed.matched.get(*row as usize / 64).map_or(0, |word| word.load(Ordering::Relaxed));
            word >> (row % 64) & 1 == 0
        };
        let source = &sealed.rows;
        let mut rest: Vec<u32> = (0..u32::try_from(source.num_rows()).unwrap_or(u32::MAX)).filter(is_new).collect();
        for clause in &self.not_matched {
            let rows = |places: Vec<u32>| Rows::new(places.len(), vec![None, Some(Relation::at(source, places))]);
            let taken = first_of(&mut rest, clause, &rows)?;
            let BoundAction::Insert(set) = &clause.action else {
                return Err(Error::internal("the action of a clause is not an insert"));
            };
            for places in taken.chunks(INSERT_ROWS) {
                batches.push(inserted(set, &rows(places.to_vec()), &self.target)?);
            }
        }
        Ok(batches)
    }

    /// Returns which source rows have matched a target row so far, as a bitmap: one bit per row, least significant bit
    /// first.
    ///
    /// # Errors
    /// `Internal` before [`Merger::seal`].
    pub fn matched(&self) -> Result<Vec<u8>> {
        Ok(self.sealed()?.matched.iter().flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes()).collect())
    }

    /// Adds the result of [`Merger::matched`] from another merger of the same source.
    ///
    /// # Errors
    /// `InvalidArgument` for bits of a different source; `Internal` before [`Merger::seal`].
    pub fn merge_matched(&self, bits: &[u8]) -> Result<()> {
        let matched = &self.sealed()?.matched;
        let (words, rest) = bits.as_chunks::<8>();
        if words.len() != matched.len() || !rest.is_empty() {
            return Err(Error::invalid(format!(
                "the bitmap of matched rows has {} bytes, expected {}",
                bits.len(),
                8 * matched.len()
            )));
        }
        for (own, other) in matched.iter().zip(words) {
            own.fetch_or(u64::from_le_bytes(*other), Ordering::Relaxed);
        }
        Ok(())
    }

    fn sealed(&self) -> Result<&Sealed> {
        self.sealed.as_ref().ok_or_else(|| Error::internal("the source is not yet complete"))
    }

    /// Returns whether the only clause for matched rows is an unconditional DELETE. Several source rows may then match
    /// one target row, because deleting the row twice has the same effect.
    fn deletes_only(&self) -> bool {
        matches!(self.matched.as_slice(), [BoundClause { condition: None, action: BoundAction::Delete }])
    }

    /// Returns target rows with NULL in the columns that are not needed.
    fn completed(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        if batch.num_columns() == self.target.fields().len() {
            return Ok(batch.clone());
        }
        let column = |(field, needed): (&FieldRef, &bool)| match batch.column_by_name(field.name()) {
            Some(column) => Ok(column.clone()),
            None if *needed => Err(Error::invalid(format!("a batch of the target has no column `{}`", field.name()))),
            None => Ok(new_null_array(field.data_type(), batch.num_rows())),
        };
        let columns = self.target.fields().iter().zip(&self.needed).map(column).collect::<Result<Vec<_>>>()?;
        Ok(RecordBatch::try_new(self.completed.clone(), columns)?)
    }

    fn keys_of(&self, batch: &RecordBatch, relation: usize) -> Result<Vec<ArrayRef>> {
        let whole = Some(Relation::whole(batch));
        let relations = if relation == TARGET { vec![whole, None] } else { vec![None, whole] };
        let rows = Rows::new(batch.num_rows(), relations);
        let side =
            |key: &EqualKey| if relation == TARGET { key.target.evaluate(&rows) } else { key.source.evaluate(&rows) };
        self.keys.iter().map(side).collect()
    }
}

impl Sealed {
    /// Returns both sides of pairs, in the order of the scope.
    fn paired<'a>(&'a self, batch: &'a RecordBatch, pairs: &JoinPairs) -> Rows<'a> {
        let target = Relation::at(batch, pairs.probed.clone());
        let source = Relation::at(&self.rows, pairs.found.clone());
        Rows::new(pairs.probed.len(), vec![Some(target), Some(source)])
    }

    fn mark(&self, rows: &[u32]) {
        for row in rows {
            if let Some(word) = self.matched.get(*row as usize / 64) {
                let bit = 1 << (row % 64);
                if word.load(Ordering::Relaxed) & bit == 0 {
                    word.fetch_or(bit, Ordering::Relaxed);
                }
            }
        }
    }
}

/// Removes from `rest` the rows for which the condition of `clause` is TRUE, and returns them.
fn first_of<'a>(rest: &mut Vec<u32>, clause: &BoundClause, rows: &impl Fn(Vec<u32>) -> Rows<'a>) -> Result<Vec<u32>> {
    let Some(condition) = &clause.condition else { return Ok(std::mem::take(rest)) };
    let holds = condition.holds(&rows(rest.clone()))?;
    let (mut taken, mut left) = (Vec::new(), Vec::new());
    for (row, holds) in rest.iter().zip(&holds) {
        if holds { taken.push(*row) } else { left.push(*row) }
    }
    *rest = left;
    Ok(taken)
}

/// Returns which target columns are needed to decide the changes: those that keys, conditions and new values read.
fn needed<'a>(
    target: &Schema,
    keys: &[EqualKey],
    residual: &[Bound],
    clauses: impl Iterator<Item = &'a BoundClause>,
) -> Vec<bool> {
    let mut needed = vec![false; target.fields().len()];
    let mut need = |columns: Vec<usize>| {
        for column in columns {
            needed.get_mut(column).into_iter().for_each(|needed| *needed = true);
        }
    };
    for value in keys.iter().map(|key| &key.target).chain(residual) {
        need(value.columns(TARGET));
    }
    for clause in clauses {
        clause.condition.iter().for_each(|condition| need(condition.columns(TARGET)));
        let BoundAction::Update(set) = &clause.action else { continue };
        for (place, value) in set.iter().enumerate() {
            need(value.as_ref().map_or_else(|| vec![place], |value| value.columns(TARGET)));
        }
    }
    needed
}

/// Formats keys for a message.
fn named(keys: &[ArrayRef], rows: &[u32]) -> Result<String> {
    let mut shown = Vec::new();
    for row in rows {
        let mut parts = Vec::new();
        for key in keys {
            let field = arrow_schema::Field::new("", key.data_type().clone(), true);
            let value = match ScalarType::from_arrow(&field) {
                Some(data_type) => Scalar::from_array(key, *row as usize, data_type)?,
                None => None,
            };
            parts.push(value.map_or_else(|| "NULL".to_string(), |value| value.to_string()));
        }
        shown.push(format!("({})", parts.join(", ")));
    }
    shown.dedup();
    Ok(shown.join(", "))
}

fn chosen(pairs: &JoinPairs, mask: &BooleanBuffer) -> JoinPairs {
    let of = |rows: &[u32]| rows.iter().zip(mask).filter_map(|(row, keep)| keep.then_some(*row)).collect();
    JoinPairs { probed: of(&pairs.probed), found: of(&pairs.found) }
}

/// Returns the key that a condition defines, if it is an equality with one side in each relation.
fn key(bound: &Bound) -> Option<EqualKey> {
    let (left, right, null_safe) = bound.as_equality()?;
    if left.data_type().is_nested() {
        return None;
    }
    let (target, source) = match (left.relations().as_slice(), right.relations().as_slice()) {
        ([TARGET], [SOURCE]) => (left, right),
        ([SOURCE], [TARGET]) => (right, left),
        _ => return None,
    };
    Some(EqualKey { target: target.clone(), source: source.clone(), null_safe })
}

fn check_schema(expected: &SchemaRef, batch: &RecordBatch, side: &str) -> Result<()> {
    let found = batch.schema();
    let same = expected.fields().len() == found.fields().len()
        && expected
            .fields()
            .iter()
            .zip(found.fields())
            .all(|(a, b)| a.name() == b.name() && a.data_type().equals_datatype(b.data_type()));
    if same {
        Ok(())
    } else {
        Err(Error::invalid(format!("the schema of a {side} batch does not match the declared schema")))
    }
}

#[cfg(test)]
#[path = "merger_tests.rs"]
mod tests;
