//! What a partition or a sort field is computed from, as people write it.

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
    /// The column; None where the transform names it.
    #[serde(default)]
    pub column: Option<String>,
    /// `day`, `bucket[16]` of the column; or with it: `day(ts)`, `bucket(16, id)`, `id`.
    pub transform: String,
}

/// A term over the columns of a schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Resolved {
    pub(super) source_id: i32,
    /// The full name of the column.
    pub(super) column: String,
    pub(super) transform: Transform,
}

impl Term {
    /// # Errors
    /// `InvalidArgument` for what is no transform, and for a column that is not there.
    pub(super) fn resolve(&self, schema: &Schema, case_sensitive: bool) -> Result<Resolved> {
        let text = self.transform.trim();
        let found = match &self.column {
            // `bucket(16)` is as clear as `bucket[16]`.
            Some(column) => Some((Transform::parse(&text.replace('(', "[").replace(')', "]")), column.clone())),
            None => partition_text::parse(text),
        };
        let (transform, column) =
            found.filter(|(transform, _)| !matches!(transform, Transform::Unknown(_))).ok_or_else(|| {
                Error::invalid(format!("`{text}` is no transform")).hint(
                    "expected identity, year, month, day, hour, bucket[n] or truncate[width] of a column, or day(ts), bucket(16, id)",
                )
            })?;
        let path = ColumnPath::Dotted(column.clone()).find(schema, case_sensitive)?;
        let path = path.ok_or_else(|| schema.no_such_column(&column))?;
        Ok(Resolved { source_id: path.field().id, column: path.full_name(), transform })
    }
}

impl Resolved {
    /// The name that Java gives a partition field that is added without one.
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
