//! Reads numbered files: `snapshot-1`, `snapshot-2`, etc., next to the hints `LATEST` and `EARLIEST` (spec:
//! "Snapshot").
//!
//! A hint avoids a listing. It may be absent, stale, empty or truncated, because writers overwrite it in place.
//! `LATEST` is valid if its file exists and the next one does not, `EARLIEST` if its file exists. Otherwise the folder
//! is listed.

use bytes::Bytes;
use frazil_core::error::{Error, ErrorKind, Result};
use frazil_core::storage::files::Files;

/// The maximum length of a metadata file of a table.
pub(crate) const LIMIT_BYTES: u64 = 256 << 20;

/// The maximum length of a hint: a 64-bit number with some whitespace.
const HINT_LIMIT_BYTES: u64 = 64;

/// The files `<prefix><number>` of one folder.
pub(super) struct Numbered<'a> {
    pub(super) files: &'a Files,
    pub(super) folder: String,
    pub(super) prefix: &'static str,
}

impl Numbered<'_> {
    /// Returns the location of a file.
    pub(super) fn location(&self, number: i64) -> String {
        format!("{}/{}{number}", self.folder, self.prefix)
    }

    /// Returns the content of a file, or None if it does not exist.
    pub(super) fn read(&self, number: i64) -> Result<Option<Bytes>> {
        present(self.files.read(&self.location(number), LIMIT_BYTES))
    }

    /// Returns the existing numbers, ascending. Other names, such as those of files that are being written, are
    /// ignored.
    pub(super) fn numbers(&self) -> Result<Vec<i64>> {
        let mut numbers: Vec<i64> = names(self.files, &self.folder, self.prefix)?
            .iter()
            .filter_map(|name| name.parse().ok().filter(|number: &i64| *number >= 0 && number.to_string() == *name))
            .collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// Returns the greatest number with the content of its file, or None if there are no files.
    pub(super) fn latest(&self) -> Result<Option<(i64, Bytes)>> {
        if let Some(hint) = self.hint("LATEST")?
            && let Some(next) = hint.checked_add(1)
        {
            let locations = [self.location(hint), self.location(next)];
            let found = self.files.read_all(&locations.each_ref().map(String::as_str), LIMIT_BYTES);
            if let Ok([found, next]) = <[Result<Bytes>; 2]>::try_from(found)
                && let (Some(content), None) = (present(found)?, present(next)?)
            {
                return Ok(Some((hint, content)));
            }
        }
        let Some(&number) = self.numbers()?.last() else { return Ok(None) };
        let content = self.files.read(&self.location(number), LIMIT_BYTES)?;
        Ok(Some((number, content)))
    }

    /// Returns the smallest number, or None if there are no files.
    pub(super) fn earliest(&self) -> Result<Option<i64>> {
        if let Some(hint) = self.hint("EARLIEST")?
            && present(self.files.size(&self.location(hint)))?.is_some()
        {
            return Ok(Some(hint));
        }
        Ok(self.numbers()?.first().copied())
    }

    fn hint(&self, name: &str) -> Result<Option<i64>> {
        let content = match self.files.read(&format!("{}/{name}", self.folder), HINT_LIMIT_BYTES) {
            Err(e) if e.kind() == ErrorKind::LimitExceeded => return Ok(None),
            content => present(content)?,
        };
        let number = content.and_then(|content| std::str::from_utf8(&content).ok()?.trim().parse().ok());
        Ok(number.filter(|number| *number >= 0))
    }
}

/// Returns the names in a folder that begin with `prefix`, without the prefix and sorted.
pub(super) fn names(files: &Files, folder: &str, prefix: &str) -> Result<Vec<String>> {
    let listed = files.list(folder)?;
    let name = |location: &str| {
        let (_, name) = location.rsplit_once('/')?;
        name.strip_prefix(prefix).filter(|name| !name.is_empty()).map(str::to_string)
    };
    let mut names: Vec<String> = listed.iter().filter_map(|object| name(&object.location)).collect();
    names.sort_unstable();
    Ok(names)
}

/// Returns None for a file that does not exist, and passes on other errors.
pub(crate) fn present<T>(found: Result<T>) -> Result<Option<T>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(e) if e.kind() == ErrorKind::MissingFile => Ok(None),
        Err(e) => Err(e),
    }
}

/// Checks that the content of a file matches its name.
pub(super) fn check_number(what: &str, name: i64, content: i64) -> Result<()> {
    if name == content {
        return Ok(());
    }
    let message = format!("the file of {what} {name} contains {what} {content}");
    Err(Error::new(ErrorKind::CorruptMetadata, message))
}
