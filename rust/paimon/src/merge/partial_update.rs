//! Merge engine `partial-update` (documentation: "Partial Update"): every column is the last value that is not NULL.
//!
//! A sequence group (`fields.<g1>,<g2>.sequence-group` = `<a>,<b>`) has its own order. Record by record:
//!
//! | the record's sequence fields | its kind | plain columns of the group | columns with an aggregate function |
//! |---|---|---|---|
//! | all NULL | any | nothing | nothing |
//! | not below those of the row | adds | its values, NULL too | `add` |
//! | not below | takes back | NULL | `retract` |
//! | below | adds | nothing | `add_reversed` |
//! | below | takes back | nothing | `retract` |
//!
//! In the two middle lines the row takes the record's sequence fields. A -D not below the row in a group of
//! `partial-update.remove-record-on-sequence-group` removes the row instead: what came before is forgotten, only the
//! sequence fields of that group stay, so that what is late cannot come back (seen of Java 1.4.2).

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
    columns: Vec<Column>,
}

#[derive(Debug)]
struct Column {
    name: String,
    rule: Rule,
    required: bool,
}

#[derive(Debug, Clone, Copy)]
enum Rule {
    /// A column of the primary key.
    Key,
    /// A column of no group.
    LastNonNull,
    /// A sequence field of a group.
    Sequence(usize),
    /// A plain column of a group.
    Value(usize),
    /// A column of a group, and its place among the functions of the group.
    Function(usize, usize),
}

/// A sequence group.
#[derive(Debug)]
struct Group {
    order: Order,
    removes: bool,
    functions: Vec<Function>,
    /// Where the sequence fields of each merged key come from.
    sequence: Vec<Pick>,
    /// Where the plain columns of each merged key come from.
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
        let mut columns = Vec::with_capacity(schema.fields().len());
        for (at, arrow) in schema.fields().iter().enumerate() {
            let name = arrow.name().clone();
            let field = spec.field(&name);
            let sequence = groups.iter().position(|group| group.sequence.contains(&name));
            let member = groups.iter().position(|group| group.values.contains(&name));
            let rule = match (sequence, member, field) {
                _ if spec.is_key(&name) => Rule::Key,
                (Some(group), ..) => Rule::Sequence(group),
                (None, Some(group), Some(field)) => match (spec.function(&name), made.get_mut(group)) {
                    (Some(function), Some(of)) => {
                        let aggregator = aggregator(function, field, &spec.options)?;
                        of.functions.push(Function { column: at, aggregator, result: None });
                        Rule::Function(group, of.functions.len() - 1)
                    }
                    _ => Rule::Value(group),
                },
                _ => Rule::LastNonNull,
            };
            let required = field.is_some_and(|field| !field.data_type.nullable);
            columns.push(Column { name, rule, required });
        }
        Ok(Self { orders, ignore_delete: spec.ignore_delete, remove_on_delete, groups: made, columns })
    }

    /// The last record that removes the row: its place among the records, and its sequence group.
    fn removal(&self, batches: &Batches, records: &[Pick]) -> Option<(usize, Option<usize>)> {
        if self.remove_on_delete {
            let at = records.iter().rposition(|&record| batches.kind(record) == DELETE);
            return at.map(|at| (at, None));
        }
        let removing = || self.groups.iter().enumerate().filter(|(_, group)| group.removes);
        let mut last = None;
        let mut rows: Vec<(usize, Pick)> = removing().map(|(number, _)| (number, Pick::NULL)).collect();
        for (at, &record) in records.iter().enumerate() {
            let mut removed = None;
            for ((number, group), (_, row)) in removing().zip(&mut rows) {
                if group.newer(batches, record, *row) {
                    *row = record;
                    if batches.kind(record) == DELETE {
                        removed = Some(number);
                        break;
                    }
                }
            }
            if let Some(removed) = removed {
                last = Some((at, Some(removed)));
                rows.iter_mut().filter(|(number, _)| *number != removed).for_each(|(_, row)| *row = Pick::NULL);
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
        if self.ignore_delete {
            records.retain(|&record| !batches.retracts(record));
            match records.as_slice() {
                // What deletes stays, for the next merge.
                [] => pending.push(last),
                counted => pending.push_merged(counted, None, last, INSERT),
            }
            return Ok(());
        }
        if self.groups.is_empty() && !self.remove_on_delete {
            return Err(refused());
        }
        let removal = self.removal(batches, records);
        let start = removal.map_or(0, |(at, _)| at + 1);
        let base = removal.and_then(|(at, group)| Some((*records.get(at)?, group)));
        let counted = records.get(start..).unwrap_or_default();
        let inserted = counted.iter().any(|&record| !batches.retracts(record));
        pending.push_merged(counted, base, last, if inserted { INSERT } else { DELETE });
        Ok(())
    }

    fn prepare(&mut self, batches: &Batches, keys: &MergedKeys) -> Result<()> {
        for column in self.columns.iter().zip(0..).filter(|(column, _)| column.required) {
            let (column, at): (&Column, usize) = column;
            if batches.0.iter().any(|held| held.batch.column(at).null_count() > 0) {
                return Err(Error::invalid(format!("the column `{}` is NOT NULL, and a record has NULL", column.name)));
            }
        }
        self.groups.iter_mut().enumerate().try_for_each(|(number, group)| group.walk(number, batches, keys))
    }

    fn column(&mut self, column: usize, batches: &Batches, keys: &MergedKeys) -> Result<Decided> {
        let Some(of) = self.columns.get(column) else { return Err(Error::internal("a column that there is not")) };
        let mut picks = match of.rule {
            Rule::Key => keys.keys.iter().map(|key| key.last).collect(),
            Rule::LastNonNull => last_non_null(column, batches, keys),
            Rule::Sequence(group) => self.groups.get(group).map(|group| group.sequence.clone()).unwrap_or_default(),
            Rule::Value(group) => self.groups.get(group).map(|group| group.values.clone()).unwrap_or_default(),
            Rule::Function(group, function) => {
                let function = self.groups.get_mut(group).and_then(|group| group.functions.get_mut(function));
                let result = function.and_then(|function| function.result.take());
                let result = result.ok_or_else(|| Error::internal("an aggregate that was not computed"))?;
                return Ok(Decided::computed(result, batches));
            }
        };
        if of.required {
            keys.fill(&mut picks);
        }
        Ok(Decided::picks(picks))
    }
}

impl Group {
    /// Whether a record has sequence fields, and they are not below those of the row.
    #[inline]
    fn newer(&self, batches: &Batches, record: Pick, row: Pick) -> bool {
        !self.order.is_empty(batches, record) && (row.is_null() || self.order.compare(batches, record, row).is_ge())
    }

    /// Goes through the records of all merged keys.
    fn walk(&mut self, number: usize, batches: &Batches, keys: &MergedKeys) -> Result<()> {
        self.sequence.clear();
        self.values.clear();
        for key in &keys.keys {
            let stays = key.base.filter(|(_, group)| *group == Some(number));
            let mut sequence = stays.map_or(Pick::NULL, |(base, _)| base);
            let mut values = Pick::NULL;
            self.functions.iter_mut().for_each(|function| function.aggregator.begin());
            for &record in keys.records(key) {
                if self.order.is_empty(batches, record) {
                    continue;
                }
                let retracts = batches.retracts(record);
                let newer = self.newer(batches, record, sequence);
                for function in &mut self.functions {
                    function.take(batches, record, newer, retracts)?;
                }
                if newer {
                    sequence = record;
                    values = if retracts { Pick::NULL } else { record };
                }
            }
            self.sequence.push(sequence);
            self.values.push(values);
            self.functions.iter_mut().try_for_each(|function| function.aggregator.append())?;
        }
        for function in &mut self.functions {
            function.result = Some(function.aggregator.finish()?);
        }
        Ok(())
    }
}

impl Function {
    fn take(&mut self, batches: &Batches, record: Pick, newer: bool, retracts: bool) -> Result<()> {
        let held = batches.0.get(record.batch as usize);
        let Some(values) = held.map(|held| held.batch.column(self.column)) else { return Ok(()) };
        let row = record.row as usize;
        match (retracts, newer) {
            (true, _) => self.aggregator.retract(values, row),
            (false, true) => self.aggregator.add(values, row),
            (false, false) => self.aggregator.add_reversed(values, row),
        }
    }
}

/// The last value of those that add.
fn last_non_null(column: usize, batches: &Batches, keys: &MergedKeys) -> Vec<Pick> {
    let nulls: Vec<_> = batches.0.iter().map(|held| held.batch.column(column).logical_nulls()).collect();
    let valid = |pick: Pick| {
        let of = nulls.get(pick.batch as usize).and_then(Option::as_ref);
        of.is_none_or(|nulls| nulls.is_valid(pick.row as usize))
    };
    let last = |key: &MergedKey| {
        let mut records = keys.records(key).iter().rev().copied();
        records.find(|&record| valid(record) && !batches.retracts(record)).unwrap_or(Pick::NULL)
    };
    keys.keys.iter().map(last).collect()
}

#[cold]
fn refused() -> Error {
    Error::invalid("merge engine partial-update does not take records that delete or retract").hint(
        "set one of the options `ignore-delete` (they are ignored), `partial-update.remove-record-on-delete` (the row \
         is removed), or sequence groups (`fields.<field>.sequence-group`: columns are retracted), with \
         `partial-update.remove-record-on-sequence-group` where a delete in a group removes the row",
    )
}
