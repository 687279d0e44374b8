//! Validates names of files in metadata. A name is never a path: each type of file is in one folder of the table, and
//! files elsewhere have a separate path (`_EXTERNAL_PATH`).

use arrow_array::StringArray;
use frazil_core::error::{Error, Result};

use super::json::shown;

/// The length of the longest special folder name, `..`, in bytes.
const FOLDER_BYTES: i32 = 2;

/// Returns whether a string is the name of a file, without a folder.
pub(crate) fn is_file_name(text: &str) -> bool {
    !matches!(text, "" | "." | "..") && !text.contains(['/', '\\'])
}

/// Rejects names that refer to other folders; NULL is ignored. `column` is the field with the names.
///
/// # Errors
/// `CorruptData` with the first invalid name.
pub(super) fn check_file_names(names: &StringArray, column: &'static str) -> Result<()> {
    // Names are almost always valid. Two branchless loops check for separators and short names; only if one is found,
    // each name is checked.
    let slashes = names.value_data().iter().fold(false, |found, byte| found | matches!(byte, b'/' | b'\\'));
    let short = names.value_offsets().array_windows().any(|[start, end]| end - start <= FOLDER_BYTES);
    if !slashes && !short {
        return Ok(());
    }
    match names.iter().flatten().find(|name| !is_file_name(name)) {
        Some(name) => Err(Error::corrupt(format!("{column} is `{}`, which is not a file name", shown(name)))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_leads_elsewhere_is_refused() {
        for bad in ["", ".", "..", "../data-1.orc", "a/b", "/etc/hostname", "a\\b", "bucket-0/"] {
            let names = StringArray::from(vec![Some("data-1.orc"), None, Some(bad)]);
            let error = check_file_names(&names, "_FILE_NAME").unwrap_err();
            assert!(error.message().starts_with("_FILE_NAME is `"), "{bad}: {error}");
        }
    }

    #[test]
    fn names_may_be_odd_short_or_absent() {
        let names =
            StringArray::from(vec![Some("a"), Some("x."), Some("..."), None, Some("%2e%2e"), Some("data .orc")]);
        check_file_names(&names, "_FILE_NAME").unwrap();
        check_file_names(&names.slice(2, 2), "_FILE_NAME").unwrap();
        check_file_names(&StringArray::from(Vec::<&str>::new()), "_FILE_NAME").unwrap();
    }
}
