//! The merge engine `deduplicate` (documentation: "Default"): the last record of a key is its row.

use std::sync::Arc;

use frazil_core::error::Result;

use super::engine::{Decided, Engine};
use super::held::{Batches, Orders, Pick};
use super::pending::{MergedKeys, Pending};

#[derive(Debug)]
pub(super) struct Deduplicate {
    pub(super) orders: Arc<Orders>,
    /// Old releases wrote records that delete even if they were to be ignored.
    pub(super) ignore_delete: bool,
}

impl Engine for Deduplicate {
    fn computes(&self) -> bool {
        false
    }

    fn takes_last(&self) -> bool {
        self.orders.is_arrival() && !self.ignore_delete
    }

    #[inline]
    fn merge(&mut self, batches: &Batches, records: &mut Vec<Pick>, pending: &mut Pending) -> Result<()> {
        let mut last: Option<Pick> = None;
        let lawless = self.orders.records.lawless;
        if lawless {
            self.orders.sort(batches, records);
        }
        for &record in records.iter() {
            if self.ignore_delete && batches.retracts(record) {
                continue;
            }
            if lawless || last.is_none_or(|last| self.orders.compare(batches, last, record).is_le()) {
                last = Some(record);
            }
        }
        if let Some(last) = last {
            pending.push(last);
        }
        Ok(())
    }

    fn column(&mut self, _: usize, _: &Batches, _: &MergedKeys) -> Result<Decided> {
        Ok(Decided::default())
    }
}
