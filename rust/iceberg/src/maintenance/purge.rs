//! All files of a table, for when it is to be deleted as a whole.
//!
//! Of all snapshots, not only of those that a branch names: their manifest lists, manifests, data files and delete files;
//! beside them the metadata files that the log names and the statistics. What cannot be read is an error, because what
//! it names would be left or, worse, be taken for somebody else's.

use frazil_core::context::Context;
use frazil_core::error::Result;
use frazil_core::parallel;

use super::reach::{FileKind, Owned, OwnedFile, entries, owned_file};
use crate::table::Table;

/// Every file that a table owns, each once, in the order in which they can be deleted: what names others comes after
/// them, the current metadata file last.
///
/// # Errors
/// `CommitValidation` where `gc.enabled` is false; what the storage says of a file that cannot be read; `PathNotAllowed`
/// for a file that lies where the table may not read, and so not delete.
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
