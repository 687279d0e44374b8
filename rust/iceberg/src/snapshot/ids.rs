//! Generates snapshot ids.

use frazil_core::error::Result;
use frazil_core::ids::random;

/// Returns a random, positive snapshot id.
pub(super) fn snapshot_id() -> Result<i64> {
    let id = i64::from_le_bytes(random()?) & i64::MAX;
    Ok(id.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_positive() {
        for _ in 0..100 {
            assert!(snapshot_id().unwrap() > 0);
        }
    }
}
