//! Handles strings in which invalid UTF-8 is read as U+FFFD.
//!
//! When a column becomes STRING, a compaction by Java stores its bytes unchanged, so statistics and indexes of the file
//! apply to the stored bytes. Their order differs from that of the strings that are read. A test for a string without
//! U+FFFD is never true for such values.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, StringArray};
use frazil_core::error::Result;
use frazil_core::prune::{Bounds, ColumnStats};
use frazil_core::sql::predicate::{BoundColumn, BoundPredicate, CompareOp, Test};

use crate::file_index::has_replacement;

const REPLACEMENT: char = char::REPLACEMENT_CHARACTER;

/// Returns the filter that remains for rows with a replaced character in a string column: tests that are false for such
/// values become false.
pub(super) fn where_replaced(filter: &BoundPredicate, column: &BoundColumn) -> BoundPredicate {
    let each = |parts: &[BoundPredicate]| -> Vec<_> { parts.iter().map(|part| where_replaced(part, column)).collect() };
    match filter {
        BoundPredicate::And(parts) => BoundPredicate::and(each(parts)),
        BoundPredicate::Or(parts) => BoundPredicate::or(each(parts)),
        BoundPredicate::Leaf(tested, test) if tested.id == column.id && is_false_of_replaced(test) => {
            BoundPredicate::False
        }
        other => other.clone(),
    }
}

fn is_false_of_replaced(test: &Test) -> bool {
    match test {
        Test::IsNull => true,
        Test::Compare(CompareOp::Eq, text) => !has_replacement(text),
        Test::In(texts) => !texts.iter().any(has_replacement),
        _ => false,
    }
}

/// Statistics whose bounds of the columns `ids` include the strings that are read.
pub(super) struct WithReplaced<'a> {
    pub(super) stats: &'a dyn ColumnStats,
    pub(super) ids: &'a [i32],
}

impl ColumnStats for WithReplaced<'_> {
    fn len(&self) -> usize {
        self.stats.len()
    }

    fn bounds(&self, column: &BoundColumn) -> Result<Option<Bounds>> {
        let bounds = self.stats.bounds(column)?;
        if !self.ids.contains(&column.id) {
            return Ok(bounds);
        }
        let each = |bounds: Option<ArrayRef>, of: fn(&str) -> String| {
            let bounds = bounds?;
            let Some(texts) = bounds.as_string_opt::<i32>() else { return Some(bounds) };
            Some(Arc::new(texts.iter().map(|text| text.map(of)).collect::<StringArray>()) as ArrayRef)
        };
        Ok(bounds.map(|bounds| Bounds { lower: each(bounds.lower, lower), upper: each(bounds.upper, upper), ..bounds }))
    }
}

/// Returns a lower bound of the strings that are read from bytes not less than `bound`.
fn lower(bound: &str) -> String {
    match bound.find(|found| found >= REPLACEMENT) {
        Some(at) => bound.get(..at).unwrap_or_default().to_owned() + "\u{fffd}",
        None => bound.to_owned(),
    }
}

/// Returns an upper bound of the strings that are read from bytes not greater than `bound`.
fn upper(bound: &str) -> String {
    let Some(at) = bound.find(|found: char| !found.is_ascii()) else { return bound.to_owned() };
    let above = bound.get(..at).unwrap_or_default().to_owned() + "\u{fffe}";
    if above.as_str() < bound { bound.to_owned() } else { above }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        let part = prop_oneof![
            any::<u8>().prop_map(|byte| vec![byte]),
            any::<char>().prop_map(|text| text.to_string().into_bytes()),
            Just("\u{fffd}".as_bytes().to_vec()),
            Just(b"a".to_vec()),
        ];
        vec(part, 0..4).prop_map(|parts| parts.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn bounds_of_stored_bytes_contain_the_texts_that_are_read(value in bytes(), bound in bytes()) {
            let Ok(text) = std::str::from_utf8(&bound) else { return Ok(()) };
            let read = String::from_utf8_lossy(&value);
            if value >= bound {
                prop_assert!(lower(text).as_str() <= &*read, "{value:?} {bound:?}");
            } else {
                prop_assert!(upper(text).as_str() >= &*read, "{value:?} {bound:?}");
            }
        }
    }
}
