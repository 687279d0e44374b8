//! The clock of this machine.

use std::time::{SystemTime, UNIX_EPOCH};

/// Returns the time in milliseconds since the epoch; 0 if the clock is before it.
pub fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_after_this_was_written() {
        assert!(now_ms() > 1_700_000_000_000);
    }
}
