//! The merge engine `aggregation` (documentation: "Aggregation"): a function per column folds the values.
//!
//! Primary-key columns are unchanged. Sequence fields are those of the last record, or NULL after a retract. Columns
//! without a function use `fields.default-aggregate-function`, or else the last value that is not NULL. Such "last"
//! columns reference rows of the records; all others are computed.
//!
//! With `aggregation.remove-record-on-delete`, all columns of a -D become the row, and later records are folded onto it
//! (observed in Java 1.4.2).

use std::sync::Arc;

use arrow_array::Array;
use arrow_schema::Schema;
use frazil_core::error::{Error, Result};

use super::aggregate::{FieldAggregator, aggregator};
use super::engine::{Decided, Engine};
use super::held::{Batches, DELETE, INSERT, Orders, Pick, UPDATE_BEFORE};
use super::pending::{MergedKeys, Pending};
use super::spec::MergeSpec;

#[derive(Debug)]
pub(super) struct Aggregation {
    orders: Arc<Orders>,
    remove_on_delete: bool,
    /// The rules, by column.
    rules: Vec<AggregationRule>,
}

#[derive(Debug)]
enum AggregationRule {
    /// A column of the primary key.
    Key,
    /// The last value, or the last value that is not NULL.
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
        let mut rules = Vec::with_capacity(schema.fields().len());
        for arrow in schema.fields() {
            let name = arrow.name();
            let ignores = spec.options.boolean(&format!("fields.{name}.ignore-retract"), false)?;
            rules.push(match (spec.field(name), spec.function(name)) {
                // Includes columns outside the table, such as sequence numbers and row kinds, which are never
                // requested.
                (None, _) => AggregationRule::Key,
                _ if spec.is_sequence(name) => AggregationRule::Last { nulls: true, retractable: true },
                _ if spec.is_key(name) => AggregationRule::Key,
                (_, Some("last_value")) => AggregationRule::Last { nulls: true, retractable: !ignores },
                (_, None | Some("last_non_null_value")) => {
                    AggregationRule::Last { nulls: false, retractable: !ignores }
                }
                (Some(field), Some(function)) => AggregationRule::Function(aggregator(function, field, &spec.options)?),
            });
        }
        Ok(Self { orders, remove_on_delete, rules })
    }
}

impl Engine for Aggregation {
    fn merge(&mut self, batches: &Batches, records: &mut Vec<Pick>, pending: &mut Pending) -> Result<()> {
        self.orders.sort(batches, records);
        let Some(&last) = records.last() else { return Ok(()) };
        let deletes = |record: &Pick| self.remove_on_delete && batches.kind(*record) == DELETE;
        let base = records.iter().copied().rfind(deletes);
        pending.push_merged(records, base, last, if base == Some(last) { DELETE } else { INSERT });
        Ok(())
    }

    fn column(&mut self, column: usize, batches: &Batches, keys: &MergedKeys) -> Result<Decided> {
        let remove_on_delete = self.remove_on_delete;
        let rule = self.rules.get_mut(column).ok_or_else(|| Error::internal("a column does not exist"))?;
        Ok(match rule {
            AggregationRule::Key => Decided::picks(keys.keys.iter().map(|key| key.last).collect()),
            AggregationRule::Last { nulls, retractable } => {
                Decided::picks(last(column, *nulls, *retractable, batches, keys))
            }
            AggregationRule::Function(function) => fold(function.as_mut(), column, remove_on_delete, batches, keys)?,
        })
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
        let deciding = keys.after_base(key).iter().rev().find(deciding).copied();
        picks.push(match deciding {
            Some(record) if batches.retracts(record) => Pick::NULL,
            Some(record) => record,
            None => key.base.unwrap_or(Pick::NULL),
        });
    }
    picks
}

fn fold(
    function: &mut dyn FieldAggregator,
    column: usize,
    remove_on_delete: bool,
    batches: &Batches,
    keys: &MergedKeys,
) -> Result<Decided> {
    for key in &keys.keys {
        function.begin();
        for &record in keys.records(key) {
            let Some(held) = batches.0.get(record.batch as usize) else { continue };
            let (values, row) = (held.batch.column(column), record.row as usize);
            match batches.kind(record) {
                DELETE if remove_on_delete => function.replace(values, row)?,
                UPDATE_BEFORE | DELETE => function.retract(values, row)?,
                _ => function.add(values, row)?,
            }
        }
        function.append()?;
    }
    Ok(Decided::computed(function.finish()?, batches))
}
