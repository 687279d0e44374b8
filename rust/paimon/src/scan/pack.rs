//! Packs items in order (documentation: `source.split.target-size`, `source.split.open-file-cost`): consecutive items
//! share a pack as long as their weights fit.

use std::ops::Range;

/// The target weight of a split and the minimum weight of a file, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Weights {
    /// The weight that a pack must not exceed by adding an item.
    pub target_bytes: u64,
    /// The minimum weight of an item.
    pub open_cost_bytes: u64,
}

impl Default for Weights {
    fn default() -> Self {
        Self { target_bytes: 128 << 20, open_cost_bytes: 4 << 20 }
    }
}

/// Packs items in order, and returns the range of each pack. No pack is empty; an item above the target is alone.
pub fn ranges<T>(items: &[T], weights: Weights, bytes: impl Fn(&T) -> u64) -> Vec<Range<usize>> {
    let mut packs = Vec::new();
    let (mut start, mut weight) = (0, 0_u64);
    for (at, item) in items.iter().enumerate() {
        let next = bytes(item).max(weights.open_cost_bytes);
        if weight.saturating_add(next) > weights.target_bytes && at > start {
            packs.push(start..at);
            (start, weight) = (at, 0);
        }
        weight = weight.saturating_add(next);
    }
    if start < items.len() {
        packs.push(start..items.len());
    }
    packs
}

/// Splits the items into the packs that [`ranges`] computes, in order.
pub fn in_order<T>(items: Vec<T>, weights: Weights, bytes: impl Fn(&T) -> u64) -> Vec<Vec<T>> {
    let packs = ranges(&items, weights, bytes);
    let mut items = items.into_iter();
    packs.into_iter().map(|pack| items.by_ref().take(pack.len()).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn weights(target_bytes: u64, open_cost_bytes: u64) -> Weights {
        Weights { target_bytes, open_cost_bytes }
    }

    #[test]
    fn neighbours_share_a_pack_while_they_fit() {
        let packed = |sizes: &[u64]| in_order(sizes.to_vec(), weights(10, 2), |size| *size);
        assert_eq!(packed(&[1, 1, 1, 1, 1, 1]), [vec![1; 5], vec![1]]);
        assert_eq!(packed(&[5, 5, 1]), [vec![5, 5], vec![1]]);
        assert_eq!(packed(&[1, 50, 1]), [[1], [50], [1]]);
        assert_eq!(packed(&[9, 3, 9]), [[9], [3], [9]]);
        assert!(packed(&[]).is_empty());
    }

    proptest! {
        #[test]
        fn every_item_is_in_exactly_one_pack_within_the_target_size(
            sizes in prop::collection::vec(0..30_u64, 0..50), target in 1..40_u64, open in 0..5_u64
        ) {
            let weights = weights(target, open);
            let cost = |size: &u64| (*size).max(open);
            let ordered = in_order(sizes.clone(), weights, |size| *size);
            prop_assert_eq!(ordered.concat(), sizes);
            for pack in &ordered {
                prop_assert!(pack.len() == 1 || pack.iter().map(cost).sum::<u64>() <= target);
            }
        }
    }
}
