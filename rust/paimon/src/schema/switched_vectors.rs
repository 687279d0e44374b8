//! Checks that `deletion-vectors.enabled` can be set for a primary-key table (documentation: "Table Mode").
//!
//! Readers of a table with deletion vectors do not merge: they skip level 0 and return every other row that no vector
//! deletes. Existing vectors are in force whether or not the option is set.

use frazil_core::context::Context;
use frazil_core::error::{Error, Result};

use crate::scan::split::FileFacts;
use crate::spec::manifest::WantedFields;
use crate::spec::options::Options;
use crate::spec::partition_path::POSTPONED;
use crate::spec::schema::TableSchema;
use crate::spec::snapshot::Snapshot;
use crate::table::Table;
use crate::write::change::Home;

const VECTORS: &str = "deletion-vectors.enabled";

/// Returns whether a primary-key table has deletion vectors in the new schema only.
///
/// # Errors
/// `InvalidArgument` for another value than true and false.
pub(super) fn is_switched_on(old: &TableSchema, new: &TableSchema) -> Result<bool> {
    let has_vectors = |schema: &TableSchema| Options::new(schema.options.clone()).boolean(VECTORS, false);
    Ok(!new.primary_keys.is_empty() && !has_vectors(old)? && has_vectors(new)?)
}

/// Rejects the change unless the rows of a snapshot are the same without a merge: each bucket is on one level above 0.
///
/// # Errors
/// `InvalidArgument` naming the option; `CorruptManifest` for manifests that do not decode.
pub(super) fn check_needs_no_merge(table: &Table, snapshot: &Snapshot, context: &Context) -> Result<()> {
    let live = table.live_files(snapshot, None, WantedFields::FILES, context)?;
    let facts = FileFacts::new(&live);
    let needs_merge = |(home, rows): (Home, Vec<u32>)| {
        let files: Vec<usize> = rows.into_iter().map(|row| row as usize).collect();
        home.bucket != POSTPONED && !facts.raw_bucket(&files, false)
    };
    if !Home::rows(&live).into_iter().any(needs_merge) {
        return Ok(());
    }
    let reason = "readers would no longer merge its files: rows would appear more than once, or not at all";
    Err(Error::invalid(format!("cannot change the option `{VECTORS}` to true: {reason}"))
        .with("table", table.location())
        .hint("compact all partitions first, with `compact()`, while nobody else writes to the table"))
}
