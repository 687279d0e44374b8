//! Merge engine `aggregation` (documentation: "Aggregation"): every column is folded by a function of its own.
//!
//! Columns of the primary key are as they are; sequence fields are those of the last record, NULL after a retract.
//! Columns without a function take `fields.default-aggregate-function`, or else the last value that is not NULL. Such
//! "last" columns are rows of the records; all others are computed.

use std::sync::Arc;

use arrow_array::Array;
use arrow_schema::Schema;
use frazil_core::error::{Error, Result};

use super::aggregate::{FieldAggregator, aggregator};
use super::engine::{Decided, Engine};
use super::held::{Batches, DELETE, INSERT, Orders, Pick};
use super::pending::{MergedKeys, Pending};
use super::spec::MergeSpec;

#[derive(Debug)]
pub(super) struct Aggregation {
    orders: Arc<Orders>,
    remove_on_delete: bool,
    columns: Vec<Column>,
}

#[derive(Debug)]
struct Column {
    rule: Rule,
    required: bool,
}

#[derive(Debug)]
enum Rule {
    /// A column of the primary key.
    Key,
    /// The last value, or the last one that is not NULL.
    Last {
        nulls: bool,
        retractable: bool,
    },
    Function(Box<dyn FieldAggregator>),
}

impl Aggregation {
    pub(super) fn try_new(
        spec: &MergeSpec,
        remove_on_delete: bool,
        schema: &Schema,
        orders: Arc<Orders>,
    ) -> Result<Self> {
        let mut columns = Vec::with_capacity(schema.fields().len());
        for arrow in schema.fields() {
            let name = arrow.name();
            let ignores = spec.options.boolean(&format!("fields.{name}.ignore-retract"), false)?;
            let rule = match (spec.field(name), spec.function(name)) {
                // Also what is no column of the table: sequence numbers and row kinds, which nobody asks for.
                (None, _) => Rule::Key,
                _ if spec.is_sequence(name) => Rule::Last { nulls: true, retractable: true },
                _ if spec.is_key(name) => Rule::Key,
                (_, Some("last_value")) => Rule::Last { nulls: true, retractable: !ignores },
                (_, None | Some("last_non_null_value")) => Rule::Last { nulls: false, retractable: !ignores },
                (Some(field), Some(function)) => Rule::Function(aggregator(function, field, &spec.options)?),
            };
            let required = spec.field(name).is_some_and(|field| !field.data_type.nullable);
            columns.push(Column { rule, required });
        }
        Ok(Self { orders, remove_on_delete, columns })
    }
}

impl Engine for Aggregation {
    fn merge(&mut self, batches: &Batches, records: &mut Vec<Pick>, pending: &mut Pending) -> Result<()> {
        self.orders.sort(batches, records);
        let Some(&last) = records.last() else { return Ok(()) };
        let mut start = 0;
        let mut base = None;
        let deletes = |record: &Pick| self.remove_on_delete && batches.kind(*record) == DELETE;
        if let Some(at) = records.iter().rposition(deletes) {
            start = at + 1;
            base = records.get(at).map(|&record| (record, None));
        }
        let counted = records.get(start..).unwrap_or_default();
        pending.push_merged(counted, base, last, if counted.is_empty() { DELETE } else { INSERT });
        Ok(())
    }

    fn column(&mut self, column: usize, batches: &Batches, keys: &MergedKeys) -> Result<Decided> {
        let Some(Column { rule, required }) = self.columns.get_mut(column) else {
            return Err(Error::internal("a column that there is not"));
        };
        let mut picks: Vec<Pick> = match rule {
            Rule::Key => keys.keys.iter().map(|key| key.last).collect(),
            Rule::Last { nulls, retractable } => last(column, *nulls, *retractable, batches, keys),
            Rule::Function(function) => return fold(function.as_mut(), column, batches, keys),
        };
        if *required {
            keys.fill(&mut picks);
        }
        Ok(Decided::picks(picks))
    }
}

fn last(column: usize, takes_nulls: bool, retractable: bool, batches: &Batches, keys: &MergedKeys) -> Vec<Pick> {
    let nulls: Vec<_> = batches.0.iter().map(|held| held.batch.column(column).logical_nulls()).collect();
    let counts = |pick: Pick| {
        let of = nulls.get(pick.batch as usize).and_then(Option::as_ref);
        takes_nulls || of.is_none_or(|nulls| nulls.is_valid(pick.row as usize))
    };
    let mut picks = Vec::with_capacity(keys.keys.len());
    for key in &keys.keys {
        let deciding = |record: &&Pick| counts(**record) && (retractable || !batches.retracts(**record));
        let deciding = keys.records(key).iter().rev().find(deciding).copied();
        picks.push(deciding.filter(|&record| !batches.retracts(record)).unwrap_or(Pick::NULL));
    }
    picks
}

fn fold(function: &mut dyn FieldAggregator, column: usize, batches: &Batches, keys: &MergedKeys) -> Result<Decided> {
    for key in &keys.keys {
        function.begin();
        for &record in keys.records(key) {
            let Some(held) = batches.0.get(record.batch as usize) else { continue };
            let (values, row) = (held.batch.column(column), record.row as usize);
            if batches.retracts(record) { function.retract(values, row)? } else { function.add(values, row)? }
        }
        function.append()?;
    }
    Ok(Decided::computed(function.finish()?, batches))
}
