//! Changes of how new files are sorted (spec: "Sorting").

use frazil_core::error::{Error, Result};
use serde::Deserialize;

use super::term::Term;
use super::yes;
use crate::spec::sort::{SortField, SortOrder};
use crate::spec::table_metadata::TableMetadata;
use crate::transaction::update::{LAST_ADDED, TableUpdate};

/// A sort order in place of the one that a table has; without terms new files are not sorted.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UpdateSortOrder {
    /// Whether `ID` is another column than `id`.
    #[serde(default = "yes")]
    pub case_sensitive: bool,
    /// What rows are sorted by, the first term first.
    pub terms: Vec<SortTerm>,
}

/// What rows are sorted by.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SortTerm {
    /// The value.
    pub term: Term,
    /// Whether greater values come first.
    #[serde(default)]
    pub descending: bool,
    /// Whether NULL comes before all values.
    pub nulls_first: bool,
}

impl UpdateSortOrder {
    pub(super) fn updates(&self, base: &TableMetadata) -> Result<Vec<TableUpdate>> {
        let schema = base.current_schema()?;
        let mut fields: Vec<SortField> = Vec::with_capacity(self.terms.len());
        for SortTerm { term, descending, nulls_first } in &self.terms {
            let term = term.resolve(schema, self.case_sensitive)?;
            let source_ids = vec![term.source_id];
            if fields.iter().any(|field| field.source_ids == source_ids && field.transform == term.transform) {
                return Err(Error::invalid(format!(
                    "rows cannot be sorted by {}({}) twice",
                    term.transform, term.column
                )));
            }
            let (descending, nulls_first) = (*descending, *nulls_first);
            fields.push(SortField { source_ids, transform: term.transform, descending, nulls_first });
        }
        let current = base.sort_orders.iter().find(|order| order.order_id == base.default_sort_order_id);
        if current.map_or(fields.is_empty(), |current| current.fields == fields) {
            return Ok(Vec::new());
        }
        let order = SortOrder { order_id: 0, fields };
        Ok(vec![TableUpdate::AddSortOrder(order), TableUpdate::SetDefaultSortOrder(LAST_ADDED)])
    }
}
