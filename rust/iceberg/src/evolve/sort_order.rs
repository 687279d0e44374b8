//! Changes the sort order of new files (spec: "Sorting").

use frazil_core::error::{Error, Result};
use serde::Deserialize;

use super::term::Term;
use super::yes;
use crate::commit::update::{LAST_ADDED, TableUpdate};
use crate::spec::schema::Schema;
use crate::spec::sort::{SortField, SortOrder};
use crate::spec::table_metadata::TableMetadata;

/// The new sort order of a table; without terms, new files are not sorted.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UpdateSortOrder {
    /// Whether column names are case-sensitive.
    #[serde(default = "yes")]
    pub case_sensitive: bool,
    /// The sort terms, in order of precedence.
    pub terms: Vec<SortTerm>,
}

/// One term of a sort order.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SortTerm {
    /// The sort value.
    pub term: Term,
    /// Whether the order is descending.
    #[serde(default)]
    pub descending: bool,
    /// Whether NULL sorts before all values.
    pub nulls_first: bool,
}

impl UpdateSortOrder {
    /// Reads a sort order from its wire form.
    ///
    /// # Errors
    /// `InvalidArgument` for invalid JSON.
    pub fn from_json(text: &str) -> Result<Self> {
        serde_json::from_str(text).map_err(|e| Error::invalid(format!("invalid sort order: {e}")))
    }

    /// Returns the sort order for a schema.
    ///
    /// # Errors
    /// `InvalidArgument` for a term that does not fit the schema or is duplicated.
    pub fn order(&self, schema: &Schema) -> Result<SortOrder> {
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
        Ok(SortOrder { order_id: 0, fields })
    }

    pub(super) fn updates(&self, base: &TableMetadata) -> Result<Vec<TableUpdate>> {
        let order = self.order(base.current_schema()?)?;
        let current = base.sort_orders.iter().find(|order| order.order_id == base.default_sort_order_id);
        if current.map_or(order.is_unsorted(), |current| current.fields == order.fields) {
            return Ok(Vec::new());
        }
        Ok(vec![TableUpdate::AddSortOrder(order), TableUpdate::SetDefaultSortOrder(LAST_ADDED)])
    }
}
