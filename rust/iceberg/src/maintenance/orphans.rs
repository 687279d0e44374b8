//! Finds orphan files: files in the folder of a table that its metadata does not reference.
//!
//! The folder must be listed before the metadata is loaded. A file of a concurrent commit is then either not listed or
//! already referenced.

use std::collections::{HashMap, HashSet};

use frazil_core::context::Context;
use frazil_core::error::{Error, ErrorKind, Result};
use frazil_core::parallel;
use frazil_core::storage::location::Location;
use frazil_core::storage::{Entries, Files};

use super::reach::{entries, manifests_of};
use crate::locate::HINT_FILE;
use crate::spec::table_metadata::TableMetadata;
use crate::table::{Table, read_metadata};

/// The maximum depth of folders below a table.
const DEPTH_LIMIT: usize = 64;

/// A file in the folder of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedFile {
    /// The location of the file, as the table would record it.
    pub location: String,
    /// The size of the file.
    pub size_bytes: u64,
}

/// The contents of a folder: the possible orphan files, and the totals of all files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    /// The files that are old enough to be deleted.
    pub old: Vec<ListedFile>,
    /// The number of all files, including recent ones.
    pub files: usize,
    /// The total size of all files in bytes.
    pub bytes: u64,
}

impl Listing {
    /// Lists a folder and its subfolders. Old files are those that were modified before `older_than_ms`.
    ///
    /// Skips names that begin with `.` or `_`, except temporary files of killed writers and partitions of a field with
    /// such a name. Also skips names with control characters, which are not valid locations, and folders of other
    /// tables.
    ///
    /// # Errors
    /// `CommitValidation` if the table has `gc.enabled=false` or the folder belongs to another table; storage errors
    /// for a folder that cannot be listed; `LimitExceeded` for folders that are nested too deeply.
    pub fn of(table: &Table, folder: &str, older_than_ms: i64, workers: usize, context: &Context) -> Result<Self> {
        check_owns_files(table)?;
        check_not_in_another_table(table, folder)?;
        let files = table.files();
        let hidden = HiddenNames::of(table.metadata());
        let mut found = Self::default();
        let mut level = vec![folder.trim_end_matches('/').to_string()];
        for depth in 0.. {
            if depth > DEPTH_LIMIT {
                let message = format!("folders are nested more than {DEPTH_LIMIT} levels deep");
                return Err(Error::new(ErrorKind::LimitExceeded, message).with("folder", folder));
            }
            let listed = parallel::map(&level, workers, |folder| {
                context.check()?;
                list(files, folder, depth == 0, &hidden, older_than_ms)
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
        found.old.sort_by(|a, b| a.location.cmp(&b.location));
        Ok(found)
    }

    /// Returns the old files that `table` does not reference: neither as a file of a snapshot nor as a statistics or
    /// metadata file. The state must have been loaded after the folder was listed.
    ///
    /// # Errors
    /// Storage errors for a manifest that cannot be read, because the files it references would be considered orphans.
    /// `CommitValidation` if the table has `gc.enabled=false`, or if it references a file with the same path in another
    /// store, because it is unknown which one is meant.
    pub fn orphans(&self, table: &Table, workers: usize, context: &Context) -> Result<Vec<&ListedFile>> {
        check_owns_files(table)?;
        let files = table.files();
        let named = named_by(table, workers, context)?;
        let keys: HashSet<String> = named.iter().map(|location| files.same_file_key(location)).collect();
        let left = self.old.iter().filter(|file| !keys.contains(&files.same_file_key(&file.location)));
        let mut left: Vec<&ListedFile> = left.collect();
        if left.is_empty() {
            return Ok(left);
        }
        // Folders of the table may be reached through symbolic links, so that the listing has other paths than the
        // metadata.
        let mut links = Links { files, folders: HashMap::new() };
        let real: HashSet<String> = named.iter().filter_map(|location| links.real_path(location)).collect();
        left.retain(|file| links.real_path(&file.location).is_none_or(|path| !real.contains(&path)));
        let paths: HashSet<String> = named.iter().filter_map(|location| path_of(location)).collect();
        for file in &left {
            if path_of(&file.location).is_some_and(|path| paths.contains(&path)) {
                let message = "the table references a file with this path under another scheme or host";
                return Err(Error::new(ErrorKind::CommitValidation, message)
                    .with("file", &file.location)
                    .hint("nothing was deleted; if both are the same location, open the table with `relocate`"));
            }
        }
        Ok(left)
    }
}

fn check_owns_files(table: &Table) -> Result<()> {
    let hint = "if no other table uses its files, set the property gc.enabled to true";
    table.metadata().check_owns_files().map_err(|e| e.hint(hint))
}

/// Rejects a folder outside the table that is another table or is inside one.
fn check_not_in_another_table(table: &Table, folder: &str) -> Result<()> {
    let files = table.files();
    let own = files.same_file_key(table.metadata().location.trim_end_matches('/'));
    let mut ancestor = folder.trim_end_matches('/');
    loop {
        if files.same_file_key(ancestor) == own {
            return Ok(());
        }
        let found = files.folders(ancestor).and_then(|folders| is_table(files, ancestor, &folders));
        match found {
            Ok(false) => {}
            Ok(true) => {
                let message = "the folder belongs to another table";
                return Err(Error::new(ErrorKind::CommitValidation, message)
                    .with("folder", ancestor)
                    .hint("remove its orphan files through that table"));
            }
            // The ancestors cannot be listed, so a table there cannot be detected. Listing `folder` itself reports the
            // error.
            Err(_) => return Ok(()),
        }
        match ancestor.rsplit_once('/') {
            Some((parent, _)) if !parent.is_empty() && !parent.ends_with(['/', ':']) => ancestor = parent,
            _ => return Ok(()),
        }
    }
}

/// Resolves the actual locations of files in folders that are reached through symbolic links.
struct Links<'a> {
    files: &'a Files,
    folders: HashMap<String, Option<String>>,
}

impl Links<'_> {
    fn real_path(&mut self, location: &str) -> Option<String> {
        let (folder, name) = location.rsplit_once('/')?;
        if !self.folders.contains_key(folder) {
            self.folders.insert(folder.to_string(), self.files.real_folder(folder));
        }
        let folder = self.folders.get(folder)?.as_ref()?;
        Some(format!("{folder}/{name}"))
    }
}

/// The rules for skipped names.
struct HiddenNames {
    /// The prefixes of partition folders, such as `_day=`, that look like hidden names but are listed.
    fields: Vec<String>,
}

impl HiddenNames {
    fn of(table: &TableMetadata) -> Self {
        let fields = table.partition_specs.iter().flat_map(|spec| &spec.fields);
        Self { fields: fields.map(|field| format!("{}=", field.name)).filter(|name| looks_hidden(name)).collect() }
    }

    fn is_hidden(&self, name: &str) -> bool {
        let is_listed = is_temporary(name) || self.fields.iter().any(|field| name.starts_with(field));
        name.contains(char::is_control) || (looks_hidden(name) && !is_listed)
    }
}

fn looks_hidden(name: &str) -> bool {
    name.starts_with(['.', '_'])
}

/// Returns whether a name is that of a temporary file, which its writer renames when the file is complete.
fn is_temporary(name: &str) -> bool {
    name.strip_suffix(".tmp").is_some_and(|name| name.starts_with(".frazil-"))
}

/// Returns the files of one folder, and the subfolders to be listed.
fn list(
    files: &Files,
    folder: &str,
    is_root: bool,
    hidden: &HiddenNames,
    older_than_ms: i64,
) -> Result<(Listing, Vec<String>)> {
    let Entries { files: objects, mut folders } = files.entries(folder)?;
    if !is_root && is_table(files, folder, &folders)? {
        return Ok((Listing::default(), Vec::new()));
    }
    let mut found = Listing::default();
    for object in objects {
        let name = object.location.rsplit('/').next().unwrap_or_default();
        if hidden.is_hidden(name) {
            continue;
        }
        found.files += 1;
        found.bytes = found.bytes.saturating_add(object.size_bytes);
        if object.modified_ms < older_than_ms && name != HINT_FILE {
            // The recorded location, which may differ from the physical one.
            found.old.push(ListedFile { location: format!("{folder}/{name}"), size_bytes: object.size_bytes });
        }
    }
    folders.retain(|name| !hidden.is_hidden(name));
    Ok((found, folders.into_iter().map(|name| format!("{folder}/{name}")).collect()))
}

/// Returns whether a folder holds a separate table: Iceberg, Paimon, Delta Lake or Hudi.
fn is_table(files: &Files, folder: &str, folders: &[String]) -> Result<bool> {
    let has = |name: &str| folders.iter().any(|own| own == name);
    if has("_delta_log") || has(".hoodie") || (has("snapshot") && has("schema")) {
        return Ok(true);
    }
    let is_metadata = |name: &str| name.contains(".metadata.json") || name == HINT_FILE;
    Ok(has("metadata") && !files.list_named(&format!("{folder}/metadata"), &is_metadata)?.is_empty())
}

/// Returns the locations that a table references: files of all snapshots, statistics, and current and earlier metadata
/// files.
fn named_by(table: &Table, workers: usize, context: &Context) -> Result<Vec<String>> {
    let (files, metadata) = (table.files(), table.metadata());
    let mut named: Vec<String> = vec![table.state().metadata_location.clone()];
    let listed = parallel::map(&metadata.snapshots, workers, |snapshot| {
        context.check()?;
        manifests_of(files, snapshot, context).map_err(|error| error.with("snapshot", snapshot.snapshot_id))
    })?;
    let (mut seen, mut manifests) = (HashSet::new(), Vec::new());
    for (list, own) in listed {
        named.extend(list.map(|list| list.location.to_string()));
        manifests.extend(own.into_iter().filter(|manifest| seen.insert(manifest.manifest_path.clone())));
    }
    named.extend(manifests.iter().map(|manifest| manifest.manifest_path.to_string()));
    let read = parallel::map(&manifests, workers, |manifest| entries(files, manifest, context))?;
    named.extend(read.into_iter().flatten().map(|file| file.location.to_string()));
    named.extend(metadata.statistics.iter().map(|file| file.path.clone()));
    named.extend(metadata.partition_statistics.iter().map(|file| file.path.clone()));
    named.extend(earlier_metadata(files, metadata)?);
    Ok(named)
}

/// Returns the metadata files of earlier states, including those beyond the metadata log: the oldest existing file has
/// its own log.
fn earlier_metadata(files: &Files, metadata: &TableMetadata) -> Result<Vec<String>> {
    let mut found = Vec::new();
    let mut log: Vec<String> = metadata.metadata_log.iter().map(|entry| entry.metadata_file.clone()).collect();
    let mut known: HashSet<String> = HashSet::new();
    loop {
        let new = log.iter().filter(|location| known.insert(files.same_file_key(location))).count();
        found.extend(log.iter().cloned());
        if new == 0 {
            return Ok(found);
        }
        log = oldest_of(files, &log)?
            .map_or_else(Vec::new, |oldest| oldest.metadata_log.into_iter().map(|entry| entry.metadata_file).collect());
    }
}

/// Returns the first metadata file of `log` that exists; None if none of them exists.
fn oldest_of(files: &Files, log: &[String]) -> Result<Option<TableMetadata>> {
    for location in log {
        match files.openable(location).and_then(|location| read_metadata(files, &location)) {
            Ok(metadata) => return Ok(Some(metadata)),
            Err(error) if error.kind() == ErrorKind::MissingFile => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// Returns the path of a location, without scheme and host.
fn path_of(location: &str) -> Option<String> {
    Location::parse(location).ok().map(|location| location.key().trim_start_matches('/').to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_hidden_unless_a_partition_field_is_called_so() {
        let hidden = HiddenNames { fields: vec!["_day=".to_string()] };
        for (name, expected) in
            [("_SUCCESS", true), (".a.crc", true), ("_day=1", false), ("_days=1", true), ("a", false), ("_day", true)]
        {
            assert_eq!(hidden.is_hidden(name), expected, "{name}");
        }
    }
}
