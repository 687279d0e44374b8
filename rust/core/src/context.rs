//! The context of every long operation: a byte budget for decoders, and a cancellation token.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::cache::Cache;
use crate::error::{Error, ErrorKind, Result};

/// A shared allowance of bytes. Clones share the same allowance.
#[derive(Debug, Clone)]
pub struct Budget(Arc<BudgetState>);

#[derive(Debug)]
struct BudgetState {
    limit_bytes: u64,
    used_bytes: AtomicU64,
}

impl Budget {
    /// Creates an allowance of `limit_bytes`.
    pub fn new(limit_bytes: u64) -> Self {
        Self(Arc::new(BudgetState { limit_bytes, used_bytes: AtomicU64::new(0) }))
    }

    /// Reserves `bytes` of the allowance until the lease is dropped.
    ///
    /// # Errors
    /// [`ErrorKind::LimitExceeded`] if the allowance does not suffice; nothing is reserved then.
    pub fn lease(&self, bytes: u64) -> Result<Lease> {
        let limit = self.0.limit_bytes;
        let taken = self.0.used_bytes.try_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
            used.checked_add(bytes).filter(|&total| total <= limit)
        });
        match taken {
            Ok(used) => {
                // Shrinks the cache to the memory that remains, so that cached values count against the limit but never
                // make a reservation fail.
                Cache::of_process().shrink(limit - used - bytes);
                Ok(Lease { budget: self.clone(), bytes })
            }
            Err(used) => Err(Error::new(
                ErrorKind::LimitExceeded,
                format!("{bytes} more bytes are needed, but {used} of {limit} are in use"),
            )
            .hint("raise frazil.config.memory_limit, or read fewer columns or files at a time")),
        }
    }

    /// Returns the number of bytes that may still be reserved.
    pub fn left_bytes(&self) -> u64 {
        self.0.limit_bytes.saturating_sub(self.used_bytes())
    }

    /// Returns the number of bytes in use.
    pub fn used_bytes(&self) -> u64 {
        self.0.used_bytes.load(Ordering::Relaxed)
    }
}

impl Default for Budget {
    /// Creates a budget without a limit.
    fn default() -> Self {
        Self::new(u64::MAX)
    }
}

/// A number of bytes reserved from a [`Budget`], which are released when it is dropped.
#[derive(Debug)]
pub struct Lease {
    budget: Budget,
    bytes: u64,
}

impl Lease {
    /// Returns the number of reserved bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Changes the reservation to `bytes`.
    ///
    /// # Errors
    /// See [`Budget::lease`]; the lease is unchanged then.
    pub fn resize(&mut self, bytes: u64) -> Result<()> {
        if let Some(more) = bytes.checked_sub(self.bytes) {
            // The reservation of the new lease is moved to this lease, which releases it when dropped.
            self.budget.lease(more)?.bytes = 0;
        } else {
            self.budget.0.used_bytes.fetch_sub(self.bytes - bytes, Ordering::Relaxed);
        }
        self.bytes = bytes;
        Ok(())
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.budget.0.used_bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// The budget and cancellation token of one operation; cheap to clone and to pass by reference.
#[derive(Debug, Clone, Default)]
pub struct Context {
    /// The memory budget of decoders, planners and merges.
    pub budget: Budget,
    cancelled: Arc<AtomicBool>,
}

impl Context {
    /// Creates a context with this budget.
    pub fn new(budget: Budget) -> Self {
        Self { budget, cancelled: Arc::default() }
    }

    /// Requests every operation with this context to stop.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Checks for cancellation; must be called in every long loop.
    ///
    /// # Errors
    /// [`ErrorKind::Cancelled`] after [`Context::cancel`].
    pub fn check(&self) -> Result<()> {
        if self.cancelled.load(Ordering::Relaxed) { Err(Error::new(ErrorKind::Cancelled, "cancelled")) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_shared_and_given_back() {
        let budget = Budget::new(10);
        let lease = budget.clone().lease(8).unwrap();
        assert_eq!(budget.lease(3).unwrap_err().kind(), ErrorKind::LimitExceeded);
        drop(lease);
        assert_eq!(budget.used_bytes(), 0);
        assert!(budget.lease(10).is_ok());
    }

    #[test]
    fn a_lease_grows_and_shrinks_within_its_budget() {
        let budget = Budget::new(10);
        let mut lease = budget.lease(2).unwrap();
        lease.resize(9).unwrap();
        assert_eq!(lease.resize(11).unwrap_err().kind(), ErrorKind::LimitExceeded);
        assert_eq!((lease.bytes(), budget.used_bytes()), (9, 9));
        lease.resize(3).unwrap();
        assert_eq!((lease.bytes(), budget.used_bytes()), (3, 3));
        drop(lease);
        assert_eq!(budget.used_bytes(), 0);
    }

    #[test]
    fn cancelling_reaches_clones() {
        let context = Context::default();
        let clone = context.clone();
        assert!(clone.check().is_ok());
        context.cancel();
        assert_eq!(clone.check().unwrap_err().kind(), ErrorKind::Cancelled);
    }
}
