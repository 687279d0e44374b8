//! Determines the metrics that are recorded for each column of a data file (`write.metadata.metrics.*`).

use std::collections::{BTreeMap, HashMap};

use frazil_core::error::{Error, Result};

use crate::properties::{COLUMN_METRICS, DEFAULT_METRICS, MAX_INFERRED_METRICS, MetricsMode};
use crate::spec::schema::Schema;
use crate::spec::sort::SortOrder;

/// The default number of code points or bytes to which bounds are truncated.
const TRUNCATE_LENGTH: u32 = 16;
/// The default number of columns with metrics.
const INFERRED_COLUMNS: usize = 100;

/// Returns the mode of each column by field id, including columns inside structs, lists and maps.
///
/// # Errors
/// `InvalidArgument` for a property that is not a valid mode.
pub fn metrics_modes(
    properties: &BTreeMap<String, String>,
    schema: &Schema,
    order: &SortOrder,
) -> Result<HashMap<i32, MetricsMode>> {
    let mode = |key: &str| -> Result<Option<MetricsMode>> {
        let text = properties.get(key);
        text.map(|text| text.parse().map_err(|e: Error| e.with("property", key))).transpose()
    };
    let given = mode(DEFAULT_METRICS.key)?;
    let default = given.unwrap_or(MetricsMode::Truncate(TRUNCATE_LENGTH));
    let limit = match (given, properties.get(MAX_INFERRED_METRICS.key)) {
        // An explicit default mode applies to every column.
        (Some(_), _) => usize::MAX,
        (None, None) => INFERRED_COLUMNS,
        (None, Some(text)) => text.parse().map_err(|_| {
            Error::invalid(format!("`{text}` is not a number")).with("property", MAX_INFERRED_METRICS.key)
        })?,
    };
    let leaves = schema.leaf_ids();
    let sorted = |id: i32| order.fields.iter().any(|field| field.source_ids.contains(&id));
    let mut modes = HashMap::with_capacity(leaves.len());
    for (position, id) in leaves.into_iter().enumerate() {
        let inferred = if position < limit { default } else { MetricsMode::None };
        let inferred = match inferred {
            // Bounds of the sort columns are needed for pruning to benefit from the sort order.
            MetricsMode::None | MetricsMode::Counts if sorted(id) => MetricsMode::Truncate(TRUNCATE_LENGTH),
            mode => mode,
        };
        let name = schema.full_name(id).unwrap_or_default();
        modes.insert(id, mode(&format!("{}{name}", COLUMN_METRICS.key))?.unwrap_or(inferred));
    }
    Ok(modes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn modes(properties: &[(&str, &str)]) -> Result<HashMap<i32, MetricsMode>> {
        let fields: Vec<String> = (1..=120)
            .map(|id| format!(r#"{{"id": {id}, "name": "c{id}", "required": false, "type": "string"}}"#))
            .collect();
        let schema = Schema::from_json(&format!(r#"{{"type": "struct", "fields": [{}]}}"#, fields.join(","))).unwrap();
        let order = SortOrder {
            order_id: 1,
            fields: vec![crate::spec::sort::SortField {
                source_ids: vec![110],
                transform: crate::spec::transform::Transform::Identity,
                descending: false,
                nulls_first: true,
            }],
        };
        let properties = properties.iter().map(|(key, value)| ((*key).to_string(), (*value).to_string())).collect();
        metrics_modes(&properties, &schema, &order)
    }

    #[test]
    fn the_first_hundred_columns_and_those_that_sort_have_bounds() {
        let modes = modes(&[]).unwrap();
        assert_eq!((modes[&1], modes[&100]), (MetricsMode::Truncate(16), MetricsMode::Truncate(16)));
        assert_eq!((modes[&101], modes[&110]), (MetricsMode::None, MetricsMode::Truncate(16)));
    }

    #[test]
    fn properties_win_column_by_column() {
        let modes = modes(&[
            (DEFAULT_METRICS.key, "counts"),
            ("write.metadata.metrics.column.c2", "Full"),
            ("write.metadata.metrics.column.c110", "none"),
        ])
        .unwrap();
        assert_eq!((modes[&1], modes[&2], modes[&120]), (MetricsMode::Counts, MetricsMode::Full, MetricsMode::Counts));
        assert_eq!(modes[&110], MetricsMode::None);
    }

    #[test]
    fn invalid_metrics_modes_are_rejected() {
        for text in ["frob", "truncate", "truncate(0)", "truncate(-1)", "truncate(x)"] {
            assert!(modes(&[(DEFAULT_METRICS.key, text)]).is_err(), "{text}");
        }
    }
}
