//! Finds the latest metadata file of a table in a given folder.
//!
//! Tables without a catalog have no pointer to their state, only file names (spec: "File System Tables"):
//!
//! ```text
//! metadata/v<N>.metadata.json              Hadoop tables; with .gz before .metadata.json, or behind it in old releases
//! metadata/<NNNNN>-<uuid>.metadata.json    tables of a catalog; that is where the pointer should come from
//! metadata/version-hint.text               N, or for DuckDB any X of vX.metadata.json or X.metadata.json
//! ```
//!
//! The hint may be stale: starting at the hinted version, versions are followed up to the first missing one. If the
//! hint is missing, invalid or references a missing file, the highest name is used. Crashed writers leave empty files,
//! which count as missing.

use frazil_core::error::{Error, ErrorKind, Result};
use frazil_core::storage::{ObjectMeta, Storage};

/// The file with the latest version of a Hadoop table, which may be slightly stale.
pub(crate) const HINT_FILE: &str = "version-hint.text";

/// The maximum size of a hint, which is a number or a file name.
const MAX_HINT_BYTES: u64 = 1024;

/// The suffixes of metadata files, in the order in which they are tried.
const SUFFIXES: [&str; 3] = [".metadata.json", ".gz.metadata.json", ".metadata.json.gz"];

/// Returns the location of the latest metadata file of a table in a given folder. A location of a metadata file is
/// returned unchanged, whether or not the file exists.
///
/// # Errors
/// `NoSuchTable` if the folder has no metadata file; storage errors.
pub fn locate(storage: &dyn Storage, location: &str) -> Result<String> {
    if [".json", ".json.gz"].iter().any(|ending| location.ends_with(ending)) {
        return Ok(location.to_string());
    }
    let folder = location.trim_end_matches('/');
    let metadata = format!("{folder}/metadata");
    let hint = read_hint(storage, &metadata)?;
    if let Some(hint) = &hint
        && let Some(found) = follow_hint(storage, &metadata, hint)?
    {
        return Ok(found);
    }
    let names = FileNames::list(storage, &metadata)?;
    match names.newest() {
        Some(found) => Ok(found.to_string()),
        None => Err(no_table(storage, folder, hint.as_deref(), &names)),
    }
}

/// Returns the content of the hint file. Returns None if the file does not exist, or if its content cannot be part of a
/// file name.
fn read_hint(storage: &dyn Storage, metadata: &str) -> Result<Option<String>> {
    let bytes = match storage.read(&format!("{metadata}/{HINT_FILE}"), MAX_HINT_BYTES) {
        Ok(bytes) => bytes,
        Err(error) if matches!(error.kind(), ErrorKind::MissingFile | ErrorKind::LimitExceeded) => return Ok(None),
        Err(error) => return Err(error),
    };
    let text = std::str::from_utf8(&bytes).unwrap_or_default().trim();
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_name = !text.is_empty() && !text.starts_with('.') && text.chars().all(plain);
    Ok(is_name.then(|| text.to_string()))
}

fn follow_hint(storage: &dyn Storage, metadata: &str, hint: &str) -> Result<Option<String>> {
    let Some(mut found) = existing(storage, &format!("{metadata}/v{hint}"))? else {
        return existing(storage, &format!("{metadata}/{hint}"));
    };
    let mut version: Option<u64> = hint.parse().ok();
    while let Some(next) = version.and_then(|version| version.checked_add(1)) {
        match existing(storage, &format!("{metadata}/v{next}"))? {
            Some(newer) => found = newer,
            None => break,
        }
        version = Some(next);
    }
    Ok(Some(found))
}

/// Returns the first existing, non-empty file whose name is `stem` with one of [`SUFFIXES`]; None if there is none.
fn existing(storage: &dyn Storage, stem: &str) -> Result<Option<String>> {
    for suffix in SUFFIXES {
        let location = format!("{stem}{suffix}");
        match storage.size(&location) {
            Ok(0) => {}
            Ok(_) => return Ok(Some(location)),
            Err(error) if error.kind() == ErrorKind::MissingFile => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// The metadata files of a folder, grouped by naming scheme.
#[derive(Default)]
struct FileNames {
    /// `v<N>`
    versions: Vec<(u64, ObjectMeta)>,
    /// `<NNNNN>-<uuid>`
    catalog: Vec<(u64, ObjectMeta)>,
    other: Vec<ObjectMeta>,
    empty: usize,
}

impl FileNames {
    fn list(storage: &dyn Storage, metadata: &str) -> Result<Self> {
        let listed = storage.list_named(metadata, &|name| stem(name).is_some());
        let listed = listed.map_err(|error| match error.kind() {
            ErrorKind::Unsupported => error.hint("pass the location of the metadata file itself"),
            _ => error,
        })?;
        let mut names = Self::default();
        for object in listed {
            let name = object.location.rsplit('/').next().unwrap_or_default();
            let Some(stem) = stem(name) else { continue };
            if object.size_bytes == 0 {
                names.empty += 1;
            } else if let Some(version) = stem.strip_prefix('v').and_then(number) {
                names.versions.push((version, object));
            } else if let Some(counter) = stem.split_once('-').and_then(|(counter, _)| number(counter)) {
                names.catalog.push((counter, object));
            } else {
                names.other.push(object);
            }
        }
        Ok(names)
    }

    fn newest(&self) -> Option<&str> {
        // If a version exists under several spellings, the uncompressed file is used, in the same order as for the
        // hint.
        let version = self.versions.iter().max_by_key(|(version, object)| {
            let rank = SUFFIXES.iter().rposition(|suffix| object.location.ends_with(suffix));
            (*version, std::cmp::Reverse(rank), object.modified_ms)
        });
        let catalog =
            || self.catalog.iter().max_by_key(|(counter, object)| (*counter, object.modified_ms, &object.location));
        match (version.or_else(catalog), self.other.as_slice()) {
            (Some((_, object)), _) => Some(&object.location),
            (None, [only]) => Some(&only.location),
            (None, _) => None,
        }
    }
}

/// Returns the part of a file name before the metadata suffix; None for hidden files and all other files.
fn stem(name: &str) -> Option<&str> {
    if name.starts_with(['.', '_']) {
        return None;
    }
    let stem = name.strip_suffix(".metadata.json").or_else(|| name.strip_suffix(".metadata.json.gz"))?;
    Some(stem.strip_suffix(".gz").unwrap_or(stem))
}

/// Returns the N of a location that ends in `v<N>.metadata.json`, with any metadata suffix; None for other names.
pub(crate) fn version_of(location: &str) -> Option<u64> {
    let name = location.rsplit('/').next().unwrap_or_default();
    stem(name)?.strip_prefix('v').and_then(number)
}

fn number(digits: &str) -> Option<u64> {
    if digits.bytes().all(|b| b.is_ascii_digit()) { digits.parse().ok() } else { None }
}

fn no_table(storage: &dyn Storage, folder: &str, hint: Option<&str>, names: &FileNames) -> Error {
    let mut message =
        format!("no Iceberg table at `{folder}`: no v<N>.metadata.json and no <N>-<uuid>.metadata.json in metadata/");
    if names.empty > 0 {
        message.push_str(" except empty files");
    }
    if let Some(hint) = hint {
        message = format!("{message}, and {HINT_FILE} references `{hint}`, which does not exist");
    }
    let error = Error::new(ErrorKind::NoSuchTable, message);
    let has_files = |name| storage.list(&format!("{folder}/{name}")).is_ok_and(|files| !files.is_empty());
    if !names.other.is_empty() {
        error.hint("several files are possible: pass the location of the metadata file itself")
    } else if has_files("schema") && has_files("snapshot") {
        error.hint("this looks like a Paimon table: open it with format=\"paimon\"")
    } else {
        error
    }
}

#[cfg(test)]
#[path = "locate_tests.rs"]
mod tests;
