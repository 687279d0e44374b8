//! Lists all files of a table that is to be deleted completely.
//!
//! The list covers all snapshots, including those that no branch references: their manifest lists, manifests, data
//! files and delete files. It also includes the metadata files in the log and the statistics files. An unreadable file
//! is an error, because the files that it references would otherwise not be deleted.

use frazil_core::context::Context;
use frazil_core::error::Result;
use frazil_core::parallel;

use super::reach::{FileKind, Owned, OwnedFile, entries, owned_file};
use crate::table::Table;

/// Returns every file that a table owns, without duplicates, in an order in which they can be deleted: a file comes
/// after the files that it references, and the current metadata file is last.
///
/// # Errors
/// `CommitValidation` if `gc.enabled` is false; storage errors for a file that cannot be read; `PathNotAllowed` for a
/// file in a location that the table may not read, and therefore may not delete.
pub fn files_of(table: &Table, workers: usize, context: &Context) -> Result<Vec<OwnedFile>> {
    let metadata = table.metadata();
    let hint = "drop it without deleting files, or set the property gc.enabled to true first";
    metadata.check_owns_files().map_err(|e| e.hint(hint))?;
    let mut owned = Owned::new(table.files());
    let manifests = owned.manifests(&metadata.snapshots, workers, context)?;
    let decoded = parallel::map(&manifests, workers, |manifest| entries(table.files(), manifest, context))?;
    decoded.into_iter().flatten().try_for_each(|file| owned.add(file))?;
    for file in &metadata.statistics {
        owned.add(owned_file(FileKind::Statistics, &file.path, file.file_size_bytes))?;
    }
    for file in &metadata.partition_statistics {
        owned.add(owned_file(FileKind::Statistics, &file.path, file.file_size_bytes))?;
    }
    let current = table.state().metadata_location;
    for entry in metadata.metadata_log.iter().filter(|entry| entry.metadata_file != current) {
        owned.add_sized(FileKind::Metadata, &entry.metadata_file, true)?;
    }
    owned.add_sized(FileKind::Metadata, &current, false)?;
    owned.found.sort_by_key(|file| file.kind);
    Ok(owned.found)
}
