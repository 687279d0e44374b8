//! The merge engine `first-row` (documentation: "First Row"): the first record of a key is its row.

use std::sync::Arc;

use frazil_core::error::{Error, Result};

use super::engine::{Decided, Engine};
use super::held::{Batches, Orders, Pick};
use super::pending::{MergedKeys, Pending};

#[derive(Debug)]
pub(super) struct FirstRow {
    pub(super) orders: Arc<Orders>,
    pub(super) ignore_delete: bool,
}

impl Engine for FirstRow {
    fn computes(&self) -> bool {
        false
    }

    fn merge(&mut self, batches: &Batches, records: &mut Vec<Pick>, pending: &mut Pending) -> Result<()> {
        let mut first: Option<Pick> = None;
        for &record in records.iter() {
            if batches.retracts(record) {
                if self.ignore_delete {
                    continue;
                }
                return Err(Error::invalid("merge engine first-row does not accept records that delete or retract")
                    .hint("set the option `ignore-delete` to ignore them"));
            }
            if first.is_none_or(|first| self.orders.compare(batches, first, record).is_gt()) {
                first = Some(record);
            }
        }
        if let Some(first) = first {
            pending.push(first);
        }
        Ok(())
    }

    fn column(&mut self, _: usize, _: &Batches, _: &MergedKeys) -> Result<Decided> {
        Ok(Decided::default())
    }
}
