//! Checks a change of `deletion-vectors.enabled` of a primary-key table (documentation: "Table Mode").
//!
//! Readers of a table with deletion vectors do not merge: they skip level 0 and return every other row that no vector
//! deletes. Readers of a table without them ignore the vectors.

use frazil_core::context::Context;
use frazil_core::error::{Error, Result};

use crate::scan::split::FileFacts;
use crate::spec::index_manifest::DELETION_VECTORS;
use crate::spec::manifest::WantedFields;
use crate::spec::options::Options;
use crate::spec::partition_path::POSTPONED;
use crate::spec::schema::TableSchema;
use crate::spec::snapshot::Snapshot;
use crate::table::Table;
use crate::write::change::Home;

const VECTORS: &str = "deletion-vectors.enabled";

/// Returns whether a primary-key table has deletion vectors in only one of two schemas.
///
/// # Errors
/// `InvalidArgument` for another value than true and false.
pub(super) fn is_switched(old: &TableSchema, new: &TableSchema) -> Result<bool> {
    Ok(!new.primary_keys.is_empty() && has_vectors(old)? != has_vectors(new)?)
}

fn has_vectors(schema: &TableSchema) -> Result<bool> {
    Options::new(schema.options.clone()).boolean(VECTORS, false)
}

/// Rejects the change unless the rows of `latest` are the same with and without deletion vectors: each bucket is on one
/// level above 0, and no file has a vector.
///
/// # Errors
/// `InvalidArgument` naming the option; `CorruptManifest` for manifests that do not decode.
pub(super) fn check_switch(table: &Table, new: &TableSchema, latest: &Snapshot, context: &Context) -> Result<()> {
    let after = has_vectors(new)?;
    let reason = if after {
        let live = table.live_files(latest, None, WantedFields::FILES, context)?;
        let facts = FileFacts::new(&live);
        let needs_merge = |(home, rows): (Home, Vec<u32>)| {
            let files: Vec<usize> = rows.into_iter().map(|row| row as usize).collect();
            home.bucket != POSTPONED && !facts.raw_bucket(&files, false)
        };
        if !Home::rows(&live).into_iter().any(needs_merge) {
            return Ok(());
        }
        "readers would no longer merge its files: rows would appear more than once, or not at all"
    } else {
        let indexes = table.index_entries(latest, context)?;
        if !indexes.iter().any(|index| index.index_type == DELETION_VECTORS && index.row_count > 0) {
            return Ok(());
        }
        "readers would ignore its deletion vectors: deleted rows would appear again"
    };
    Err(Error::invalid(format!("cannot change the option `{VECTORS}` to {after}: {reason}"))
        .with("table", table.location())
        .hint("compact all partitions first, with `compact()`, while nobody else writes to the table"))
}
