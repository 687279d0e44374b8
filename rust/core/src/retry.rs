//! Retries with exponential backoff and jitter after another writer was first.

use std::time::{Duration, Instant};

use crate::context::Context;
use crate::error::Result;
use crate::ids;

/// A retry policy; each format reads it from its own options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// The number of retries after the first attempt.
    pub retries: u32,
    /// The wait after the first attempt.
    pub min_wait: Duration,
    /// The maximum wait.
    pub max_wait: Duration,
    /// The time after which no further attempt begins.
    pub total: Duration,
}

impl Retry {
    /// Returns the wait after attempt `attempt` (from 1). It doubles each time and is multiplied by a random factor of
    /// 0.5 to 1.5, so that writers that conflicted once do not conflict again.
    ///
    /// # Errors
    /// See [`ids::random`].
    pub fn wait(&self, attempt: u32) -> Result<Duration> {
        let doubled = self.min_wait.saturating_mul(1_u32.checked_shl(attempt.saturating_sub(1)).unwrap_or(u32::MAX));
        let chance = f64::from(u32::from_le_bytes(ids::random()?)) / f64::from(u32::MAX);
        Ok(doubled.min(self.max_wait).mul_f64(0.5 + chance))
    }
}

/// Waits, and checks for cancellation from time to time.
///
/// # Errors
/// `Cancelled`.
pub fn pause(wait: Duration, context: &Context) -> Result<()> {
    const STEP: Duration = Duration::from_millis(50);
    let until = Instant::now() + wait;
    loop {
        context.check()?;
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        std::thread::sleep(left.min(STEP));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn waits_are_doubled_between_the_least_and_the_longest() {
        let (min_wait, max_wait) = (Duration::from_millis(10), Duration::from_millis(35));
        let retry = Retry { retries: 9, min_wait, max_wait, total: Duration::MAX };
        for (attempt, wait_ms) in [(1, 10), (2, 20), (3, 35), (40, 35), (u32::MAX, 35)] {
            let wait = retry.wait(attempt).unwrap();
            let middle = Duration::from_millis(wait_ms);
            assert!(wait >= middle / 2 && wait <= middle * 3 / 2, "{attempt}: {wait:?}");
        }
    }

    #[test]
    fn a_pause_ends_when_it_is_cancelled() {
        let context = Context::default();
        pause(Duration::from_millis(1), &context).unwrap();
        context.cancel();
        assert_eq!(pause(Duration::from_hours(1), &context).unwrap_err().kind(), ErrorKind::Cancelled);
    }
}
