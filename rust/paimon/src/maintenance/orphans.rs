//! Finds orphan files (Java's `LocalOrphanFilesClean`): manifests, index files, statistics, and files in buckets that no
//! branch, tag or changelog needs, and temporary files of killed writers.
//!
//! The folder must be listed before the metadata is read. A file of a concurrent commit is then either not listed or
//! already referenced.

use frazil_core::context::Context;
use frazil_core::error::{Error, ErrorKind, Result};
use frazil_core::parallel;
use frazil_core::storage::Entries;

use super::reach::{FileKind, Kept, OwnedFile, References, in_order};
use crate::table::Table;

/// The maximum depth of folders below a table.
const DEPTH_LIMIT: usize = 64;

/// The folders of a table with files that are found by their names, or that all belong to it.
const METADATA: [&str; 6] = ["schema", "snapshot", "tag", "branch", "changelog", "consumer"];

/// The folders of files that metadata references.
const REFERENCED: [(&str, FileKind); 3] =
    [("manifest", FileKind::Manifest), ("index", FileKind::Index), ("statistics", FileKind::Statistics)];

/// The contents of the folder of a table: the possible orphan files, and the totals of all files.
#[derive(Debug, Clone, Default)]
pub struct Listing {
    old: References,
    /// The number of all files, including recent ones.
    pub files: usize,
    /// The total size of all files in bytes.
    pub bytes: u64,
}

/// A folder to list.
#[derive(Debug, Clone)]
struct Folder {
    location: String,
    /// The type of the files that can be orphans; None for temporary files only.
    kind: Option<FileKind>,
    is_root: bool,
}

impl Listing {
    /// Lists the folder of a table. Files that were modified before `older_than_ms` may be orphans. Folders of other
    /// tables and external paths are not searched.
    ///
    /// # Errors
    /// Storage errors for a folder that cannot be listed; `LimitExceeded` for folders that are nested too deeply.
    pub fn of(table: &Table, older_than_ms: i64, workers: usize, context: &Context) -> Result<Self> {
        let mut found = Self::default();
        let mut level = vec![Folder { location: table.location().to_string(), kind: None, is_root: true }];
        for depth in 0.. {
            if depth > DEPTH_LIMIT {
                let message = format!("folders are nested more than {DEPTH_LIMIT} levels deep");
                return Err(Error::new(ErrorKind::LimitExceeded, message).with("folder", table.location()));
            }
            let listed = parallel::map(&level, workers, |folder| {
                context.check()?;
                folder.list(table, older_than_ms)
            })?;
            let mut below = Vec::new();
            for (part, folders) in listed {
                found.files += part.files;
                found.bytes = found.bytes.saturating_add(part.bytes);
                found.old.extend(part.old);
                below.extend(folders);
            }
            if below.is_empty() {
                break;
            }
            level = below;
        }
        Ok(found)
    }

    /// Returns the old files that nothing references. The table must have been loaded after the folder was listed.
    ///
    /// # Errors
    /// Storage errors for a manifest that cannot be read, because the files that it references would be orphans.
    pub fn orphans(&self, table: &Table, context: &Context) -> Result<Vec<OwnedFile>> {
        let mut left = self.old.clone();
        if left.is_empty() {
            return Ok(Vec::new());
        }
        table.find_all(&mut Kept(&mut left), context)?;
        for branch in table.other_branches()? {
            branch.find_all(&mut Kept(&mut left), context)?;
        }
        Ok(in_order(left))
    }
}

impl Folder {
    /// Returns the files of the folder, and the subfolders to be listed.
    fn list(&self, table: &Table, older_than_ms: i64) -> Result<(Listing, Vec<Folder>)> {
        let Entries { files, mut folders } = table.files().entries(&self.location)?;
        if !self.is_root && is_table(&folders) {
            return Ok((Listing::default(), Vec::new()));
        }
        let mut found = Listing::default();
        for object in files {
            let name = object.location.rsplit('/').next().unwrap_or_default();
            if name.contains(char::is_control) {
                continue;
            }
            found.files += 1;
            found.bytes = found.bytes.saturating_add(object.size_bytes);
            let kind = if is_temporary(name) { Some(FileKind::Data) } else { self.kind };
            if let Some(kind) = kind.filter(|_| object.modified_ms < older_than_ms) {
                // The recorded location, which may differ from the physical one.
                let location = format!("{}/{name}", self.location);
                found.old.insert(name.to_string(), OwnedFile { kind, location, size_bytes: object.size_bytes });
            }
        }
        folders.retain(|name| !name.starts_with('.') && !name.contains(char::is_control));
        Ok((found, folders.iter().map(|name| self.below(name)).collect()))
    }

    fn below(&self, name: &str) -> Self {
        let referenced = REFERENCED.iter().find(|(own, _)| self.is_root && *own == name);
        let kind = match (referenced, self.is_root && METADATA.contains(&name)) {
            (Some((_, kind)), _) => Some(*kind),
            (None, true) => None,
            (None, false) => name.starts_with("bucket-").then_some(FileKind::Data),
        };
        Self { location: format!("{}/{name}", self.location), kind, is_root: false }
    }
}

/// Returns whether a folder holds a separate table: Paimon, Iceberg, Delta Lake or Hudi.
fn is_table(folders: &[String]) -> bool {
    let has = |name: &str| folders.iter().any(|own| own == name);
    (has("snapshot") && has("schema")) || has("metadata") || has("_delta_log") || has(".hoodie")
}

/// Returns whether a name is that of a temporary file, which its writer renames when the file is complete.
fn is_temporary(name: &str) -> bool {
    name.strip_suffix(".tmp").is_some_and(|name| name.starts_with('.'))
}
