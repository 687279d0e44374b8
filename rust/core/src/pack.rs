//! Packs weighted items into bins of similar size.

/// The number of bins that are checked for room, which keeps packing linear.
const LOOKBACK: usize = 10;

/// Packs items first fit in descending order of weight; bins are in order of creation. An item above the target gets a
/// separate bin.
pub fn first_fit_decreasing<T>(mut things: Vec<T>, target: i64, weight: impl Fn(&T) -> i64) -> Vec<Vec<T>> {
    things.sort_by_key(|thing| std::cmp::Reverse(weight(thing)));
    let mut bins: Vec<(i64, Vec<T>)> = Vec::new();
    for thing in things {
        let weight = weight(&thing);
        let recent = bins.len().saturating_sub(LOOKBACK);
        let room = bins.iter_mut().skip(recent).find(|(used, _)| used.saturating_add(weight) <= target);
        match room {
            Some((used, bin)) => {
                *used += weight;
                bin.push(thing);
            }
            None => bins.push((weight, vec![thing])),
        }
    }
    bins.into_iter().map(|(_, bin)| bin).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heaviest_items_come_first_and_light_ones_fill_gaps() {
        assert_eq!(first_fit_decreasing(vec![1, 5, 4, 3, 12], 8, |w| *w), [vec![12], vec![5, 3], vec![4, 1]]);
    }
}
