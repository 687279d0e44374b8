//! How the options of a table have its buckets read (documentation: "Primary Key Table", "Deletion Vectors", "Merge
//! Engine").

use frazil_core::error::Result;

use super::pack::Weights;
use crate::spec::options::Options;
use crate::spec::schema::TableSchema;

/// How the rows of a bucket lie in its files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableKind {
    /// Every row stands alone.
    Append {
        /// Rows of a bucket are read in the order in which they were written.
        ordered: bool,
    },
    /// Every row stands alone, and files may hold columns of the same rows.
    DataEvolution,
    /// Rows are merged by key.
    PrimaryKey {
        /// No two files above level 0 hold a live row of one key: deletion vectors or first-row take care of that.
        /// Files of level 0 are not read.
        independent: bool,
        /// A merged row is one of the rows that were written, not made of several.
        keeps_rows: bool,
    },
}

/// What planning must know of a table's options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadMode {
    /// How rows lie in files.
    pub kind: TableKind,
    /// What splits weigh.
    pub weights: Weights,
    /// Only files that were made at this time or later are read: milliseconds since the epoch.
    pub files_since_ms: Option<i64>,
}

impl ReadMode {
    /// Reads the options.
    ///
    /// # Errors
    /// `InvalidArgument` naming an option that cannot be meant.
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

    /// Whether files of level 0 are passed over.
    pub fn independent(self) -> bool {
        matches!(self.kind, TableKind::PrimaryKey { independent: true, .. })
    }
}
