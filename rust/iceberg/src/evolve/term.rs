//! Parses the terms of partition and sort fields, as users write them.

use frazil_core::error::{Error, Result};
use serde::Deserialize;

use super::column_path::ColumnPath;
use crate::spec::partition_text;
use crate::spec::schema::Schema;
use crate::spec::transform::Transform;

/// A column and a transform.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Term {
    /// The column; None if the transform includes it.
    #[serde(default)]
    pub column: Option<String>,
    /// The transform: `day` or `bucket[16]` of the column, or with the column included: `day(ts)`, `bucket(16, id)`,
    /// `id`.
    pub transform: String,
}

/// A term resolved against a schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Resolved {
    pub(super) source_id: i32,
    /// The full name of the column.
    pub(super) column: String,
    pub(super) transform: Transform,
}

impl Term {
    /// Resolves this term against `schema`.
    ///
    /// # Errors
    /// `InvalidArgument` for an invalid transform, and for a missing column.
    pub(super) fn resolve(&self, schema: &Schema, case_sensitive: bool) -> Result<Resolved> {
        let text = self.transform.trim();
        let found = match &self.column {
            // `bucket(16)` is accepted like `bucket[16]`.
            Some(column) => Some((Transform::parse(&text.replace('(', "[").replace(')', "]")), column.clone())),
            None => partition_text::parse(text),
        };
        let (transform, column) =
            found.filter(|(transform, _)| !matches!(transform, Transform::Unknown(_))).ok_or_else(|| {
                Error::invalid(format!("`{text}` is not a valid transform")).hint(
                    "expected identity, year, month, day, hour, bucket[n] or truncate[width] of a column, or day(ts), bucket(16, id)",
                )
            })?;
        let path = ColumnPath::Dotted(column.clone()).find(schema, case_sensitive)?;
        let path = path.ok_or_else(|| schema.no_such_column(&column))?;
        Ok(Resolved { source_id: path.field().id, column: path.full_name(), transform })
    }
}

impl Resolved {
    /// Returns the name that Java assigns to a partition field for which the user gives no name.
    pub(super) fn default_name(&self) -> String {
        let column = &self.column;
        match &self.transform {
            Transform::Identity | Transform::Unknown(_) => column.clone(),
            Transform::Bucket(buckets) => format!("{column}_bucket_{buckets}"),
            Transform::Truncate(width) => format!("{column}_trunc_{width}"),
            Transform::Void => format!("{column}_null"),
            time => format!("{column}_{time}"),
        }
    }
}
