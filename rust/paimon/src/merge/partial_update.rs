//! The merge engine `partial-update` (documentation: "Partial Update"): every column is the last value that is not
//! NULL.
//!
//! A sequence group (`fields.<g1>,<g2>.sequence-group` = `<a>,<b>`) has its own order. For each record:
//!
//! | the record's sequence fields | its kind | plain columns of the group | columns with an aggregate function |
//! |---|---|---|---|
//! | all NULL | any | nothing | nothing |
//! | not below those of the row | adds | its values, including NULL | `add` |
//! | not below | retracts | NULL | `retract` |
//! | below | adds | nothing | `add_reversed` |
//! | below | retracts | nothing | `retract` |
//!
//! In the two "not below" cases, the row takes over the sequence fields of the record.
//!
//! If the first record retracts, it becomes the row with all its columns, and is then applied to that row by the table
//! above or ignored. The same holds for a record that removes the row: a -D with
//! `partial-update.remove-record-on-delete`, or one not below the row in a group of
//! `partial-update.remove-record-on-sequence-group`. Later records are merged onto it (observed in Java 1.4.2).

use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use arrow_schema::Schema;
use frazil_core::error::{Error, Result};

use super::aggregate::{FieldAggregator, aggregator};
use super::engine::{Decided, Engine};
use super::held::{Batches, DELETE, INSERT, Order, Orders, Pick};
use super::pending::{MergedKey, MergedKeys, Pending};
use super::spec::{GroupSpec, MergeSpec};

#[derive(Debug)]
pub(super) struct PartialUpdate {
    orders: Arc<Orders>,
    ignore_delete: bool,
    remove_on_delete: bool,
    groups: Vec<Group>,
    /// The rules, by column.
    rules: Vec<PartialUpdateRule>,
    /// Records that remove the row by a sequence group: the number of the merged key, and the position among its
    /// records.
    removals: Vec<(usize, usize)>,
}

#[derive(Debug, Clone, Copy)]
enum PartialUpdateRule {
    /// A column of the primary key.
    Key,
    /// A column without a group.
    LastNonNull,
    /// A sequence field of a group.
    Sequence(usize),
    /// A plain column of a group.
    Value(usize),
    /// A column of a group, and its index among the functions of the group.
    Function(usize, usize),
}

/// A sequence group.
#[derive(Debug)]
struct Group {
    order: Order,
    removes: bool,
    functions: Vec<Function>,
    /// The origin of the sequence fields of each merged key.
    sequence: Vec<Pick>,
    /// The origin of the plain columns of each merged key.
    values: Vec<Pick>,
}

#[derive(Debug)]
struct Function {
    column: usize,
    aggregator: Box<dyn FieldAggregator>,
    result: Option<ArrayRef>,
}

impl PartialUpdate {
    pub(super) fn try_new(
        spec: &MergeSpec,
        groups: &[GroupSpec],
        remove_on_delete: bool,
        schema: &Schema,
        orders: (Arc<Orders>, Vec<Order>),
    ) -> Result<Self> {
        let (orders, group_orders) = orders;
        let mut made: Vec<Group> = Vec::with_capacity(groups.len());
        for (group, order) in groups.iter().zip(group_orders) {
            let removes = group.removes;
            made.push(Group { order, removes, functions: Vec::new(), sequence: Vec::new(), values: Vec::new() });
        }
        let mut rules = Vec::with_capacity(schema.fields().len());
        for (at, arrow) in schema.fields().iter().enumerate() {
            let name = arrow.name().clone();
            let field = spec.field(&name);
            let sequence = groups.iter().position(|group| group.sequence.contains(&name));
            let member = groups.iter().position(|group| group.values.contains(&name));
            rules.push(match (sequence, member, field) {
                _ if spec.is_key(&name) => PartialUpdateRule::Key,
                (Some(group), ..) => PartialUpdateRule::Sequence(group),
                (None, Some(group), Some(field)) => match (spec.function(&name), made.get_mut(group)) {
                    (Some(function), Some(of)) => {
                        let aggregator = aggregator(function, field, &spec.options)?;
                        of.functions.push(Function { column: at, aggregator, result: None });
                        PartialUpdateRule::Function(group, of.functions.len() - 1)
                    }
                    _ => PartialUpdateRule::Value(group),
                },
                _ => PartialUpdateRule::LastNonNull,
            });
        }
        let ignore_delete = spec.ignore_delete;
        Ok(Self { orders, ignore_delete, remove_on_delete, groups: made, rules, removals: Vec::new() })
    }

    /// Adds the records of the next merged key that remove the row by a sequence group to `removals`, and returns the
    /// last of these records.
    fn removal(&mut self, batches: &Batches, records: &[Pick], key: usize) -> Option<Pick> {
        let Self { groups, removals, .. } = self;
        let removing: Vec<&Group> = groups.iter().filter(|group| group.removes).collect();
        let first = records.first().copied().filter(|&first| batches.retracts(first)).unwrap_or(Pick::NULL);
        let mut rows = vec![first; removing.len()];
        let mut last = None;
        for (at, &record) in records.iter().enumerate() {
            let mut removes = false;
            for (group, row) in removing.iter().zip(&mut rows) {
                if group.newer(batches, record, *row) {
                    *row = record;
                    removes = batches.kind(record) == DELETE;
                    if removes {
                        break;
                    }
                }
            }
            if removes {
                rows.fill(record);
                removals.push((key, at));
                last = Some(record);
            }
        }
        last
    }
}

impl Engine for PartialUpdate {
    fn computes(&self) -> bool {
        self.groups.iter().any(|group| !group.functions.is_empty())
    }

    fn merge(&mut self, batches: &Batches, records: &mut Vec<Pick>, pending: &mut Pending) -> Result<()> {
        self.orders.sort(batches, records);
        let Some(&last) = records.last() else { return Ok(()) };
        if !batches.any_retracts(records) {
            pending.push_merged(records, None, last, INSERT);
            return Ok(());
        }
        let takes_back = |record: &Pick| batches.retracts(*record);
        let first = records.first().copied().filter(takes_back);
        let adds = !records.iter().all(takes_back);
        if self.ignore_delete {
            records.retain(|record| !takes_back(record));
            let last = records.last().copied().unwrap_or(last);
            pending.push_merged(records, first, last, if adds { INSERT } else { DELETE });
            return Ok(());
        }
        if self.groups.is_empty() && !self.remove_on_delete {
            return Err(refused());
        }
        let removal = if self.remove_on_delete {
            records.iter().copied().rfind(|&record| batches.kind(record) == DELETE)
        } else {
            self.removal(batches, records, pending.keys.keys.len())
        };
        let kind = if adds && removal != Some(last) { INSERT } else { DELETE };
        pending.push_merged(records, removal.or(first), last, kind);
        Ok(())
    }

    fn prepare(&mut self, batches: &Batches, keys: &MergedKeys) -> Result<()> {
        let removals = std::mem::take(&mut self.removals);
        self.groups.iter_mut().try_for_each(|group| group.walk(batches, keys, &removals))
    }

    fn column(&mut self, column: usize, batches: &Batches, keys: &MergedKeys) -> Result<Decided> {
        let rule = self.rules.get(column).ok_or_else(|| Error::internal("a column does not exist"))?;
        let picks = match *rule {
            PartialUpdateRule::Key => keys.keys.iter().map(|key| key.last).collect(),
            PartialUpdateRule::LastNonNull => last_non_null(column, batches, keys),
            PartialUpdateRule::Sequence(group) => {
                self.groups.get(group).map(|group| group.sequence.clone()).unwrap_or_default()
            }
            PartialUpdateRule::Value(group) => {
                self.groups.get(group).map(|group| group.values.clone()).unwrap_or_default()
            }
            PartialUpdateRule::Function(group, function) => {
                let function = self.groups.get_mut(group).and_then(|group| group.functions.get_mut(function));
                let result = function.and_then(|function| function.result.take());
                let result = result.ok_or_else(|| Error::internal("an aggregate was not computed"))?;
                return Ok(Decided::computed(result, batches));
            }
        };
        Ok(Decided::picks(picks))
    }
}

impl Group {
    /// Returns whether a record has sequence fields that are not all NULL and not below the sequence fields of the row.
    #[inline]
    fn newer(&self, batches: &Batches, record: Pick, row: Pick) -> bool {
        !self.order.is_empty(batches, record) && (row.is_null() || self.order.compare(batches, record, row).is_ge())
    }

    /// Processes the records of all merged keys. `removals` are in order.
    fn walk(&mut self, batches: &Batches, keys: &MergedKeys, removals: &[(usize, usize)]) -> Result<()> {
        self.sequence.clear();
        self.values.clear();
        let mut removals = removals.iter().copied().peekable();
        for (number, key) in keys.keys.iter().enumerate() {
            self.functions.iter_mut().for_each(|function| function.aggregator.begin());
            let records = keys.records(key);
            let first = records.first().copied().filter(|&first| batches.retracts(first));
            let removed = removals.peek().is_some_and(|(of, _)| *of == number);
            let mut row = PartialRow::default();
            if let Some(base) = first.or(key.base.filter(|_| !removed)) {
                self.replace(batches, base, &mut row)?;
            }
            for (at, &record) in records.iter().enumerate() {
                if removals.next_if_eq(&(number, at)).is_some() {
                    self.replace(batches, record, &mut row)?;
                } else {
                    self.take(batches, record, &mut row)?;
                }
            }
            self.sequence.push(row.sequence);
            self.values.push(row.values);
            self.functions.iter_mut().try_for_each(|function| function.aggregator.append())?;
        }
        for function in &mut self.functions {
            function.result = Some(function.aggregator.finish()?);
        }
        Ok(())
    }

    /// Replaces the row by all columns of a record.
    fn replace(&mut self, batches: &Batches, record: Pick, row: &mut PartialRow) -> Result<()> {
        *row = PartialRow { sequence: record, values: record };
        for function in &mut self.functions {
            if let Some(values) = function.values(batches, record) {
                function.aggregator.replace(values, record.row as usize)?;
            }
        }
        Ok(())
    }

    /// Merges a record into the row.
    fn take(&mut self, batches: &Batches, record: Pick, row: &mut PartialRow) -> Result<()> {
        if self.order.is_empty(batches, record) {
            return Ok(());
        }
        let retracts = batches.retracts(record);
        let newer = self.newer(batches, record, row.sequence);
        for function in &mut self.functions {
            function.take(batches, record, newer, retracts)?;
        }
        if newer {
            *row = PartialRow { sequence: record, values: if retracts { Pick::NULL } else { record } };
        }
        Ok(())
    }
}

/// The origin of the columns of a group in a row.
#[derive(Debug, Clone, Copy)]
struct PartialRow {
    sequence: Pick,
    values: Pick,
}

impl Default for PartialRow {
    fn default() -> Self {
        Self { sequence: Pick::NULL, values: Pick::NULL }
    }
}

impl Function {
    /// Returns the values of the column in the batch of a record.
    fn values<'a>(&self, batches: &'a Batches, record: Pick) -> Option<&'a ArrayRef> {
        batches.0.get(record.batch as usize).map(|held| held.batch.column(self.column))
    }

    fn take(&mut self, batches: &Batches, record: Pick, newer: bool, retracts: bool) -> Result<()> {
        let Some(values) = self.values(batches, record) else { return Ok(()) };
        let row = record.row as usize;
        match (retracts, newer) {
            (true, _) => self.aggregator.retract(values, row),
            (false, true) => self.aggregator.add(values, row),
            (false, false) => self.aggregator.add_reversed(values, row),
        }
    }
}

/// Returns the last non-NULL value of the records that add.
fn last_non_null(column: usize, batches: &Batches, keys: &MergedKeys) -> Vec<Pick> {
    let nulls: Vec<_> = batches.0.iter().map(|held| held.batch.column(column).logical_nulls()).collect();
    let valid = |pick: Pick| {
        let of = nulls.get(pick.batch as usize).and_then(Option::as_ref);
        of.is_none_or(|nulls| nulls.is_valid(pick.row as usize))
    };
    let last = |key: &MergedKey| {
        let mut records = keys.after_base(key).iter().rev().copied();
        let last = records.find(|&record| valid(record) && !batches.retracts(record));
        last.or(key.base).unwrap_or(Pick::NULL)
    };
    keys.keys.iter().map(last).collect()
}

#[cold]
fn refused() -> Error {
    Error::invalid("merge engine partial-update does not accept records that delete or retract").hint(
        "set one of the options `ignore-delete` (they are ignored), `partial-update.remove-record-on-delete` (the row \
         is removed), or sequence groups (`fields.<field>.sequence-group`: columns are retracted), with \
         `partial-update.remove-record-on-sequence-group` where a delete in a group removes the row",
    )
}
