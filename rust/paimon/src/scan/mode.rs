//! Determines from the options of a table how its buckets are read (documentation: "Primary Key Table", "Deletion
//! Vectors", "Merge Engine").

use frazil_core::error::Result;

use super::pack::Weights;
use crate::spec::options::Options;
use crate::spec::schema::TableSchema;
use crate::write::postponed::waits;

/// The organization of rows in the files of a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableKind {
    /// Rows are independent.
    Append {
        /// Whether rows of a bucket are read in the order in which they were written.
        ordered: bool,
    },
    /// Rows are independent, and files may hold different columns of the same rows.
    DataEvolution,
    /// Rows are merged by key.
    PrimaryKey {
        /// Whether files above level 0 never have live rows of the same key, because of deletion vectors or first-row.
        /// Files of level 0 are not read.
        independent: bool,
        /// Whether a merged row is always one of the written rows, not a combination of several.
        keeps_rows: bool,
    },
}

/// The properties of a table's options that planning needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadMode {
    /// The organization of rows in files.
    pub kind: TableKind,
    /// The weights of splits.
    pub weights: Weights,
    /// The creation time from which files are read, in milliseconds since the epoch.
    pub files_since_ms: Option<i64>,
}

/// Returns whether readers of a table see new rows only after a compaction, because they do not read files of level 0,
/// or because the rows wait for buckets.
///
/// # Errors
/// As for [`ReadMode::try_new`].
pub fn hides_new_rows(schema: &TableSchema) -> Result<bool> {
    let options = Options::new(schema.options.clone());
    Ok(ReadMode::try_new(schema, &options)?.independent() || waits(&options)?)
}

impl ReadMode {
    /// Parses the options.
    ///
    /// # Errors
    /// `InvalidArgument` naming an invalid option.
    pub fn try_new(schema: &TableSchema, options: &Options) -> Result<Self> {
        let kind = if !schema.primary_keys.is_empty() {
            let engine = options.text("merge-engine").unwrap_or("deduplicate").trim().to_ascii_lowercase();
            let vectors = options.boolean("deletion-vectors.enabled", false)?
                && !options.boolean("deletion-vectors.merge-on-read", false)?;
            TableKind::PrimaryKey {
                independent: vectors || engine == "first-row",
                keeps_rows: matches!(engine.as_str(), "deduplicate" | "first-row"),
            }
        } else if options.boolean("data-evolution.enabled", false)? {
            TableKind::DataEvolution
        } else {
            TableKind::Append { ordered: options.bucket()? > 0 }
        };
        let default = Weights::default();
        let weights = Weights {
            target_bytes: options.size_bytes("source.split.target-size")?.unwrap_or(default.target_bytes),
            open_cost_bytes: options.size_bytes("source.split.open-file-cost")?.unwrap_or(default.open_cost_bytes),
        };
        Ok(Self { kind, weights, files_since_ms: options.files_created_since_ms()? })
    }

    /// Returns whether files above level 0 need no merge, in which case files of level 0 are not read.
    pub fn independent(self) -> bool {
        matches!(self.kind, TableKind::PrimaryKey { independent: true, .. })
    }
}
