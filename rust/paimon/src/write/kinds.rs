//! Parses the kinds of rows of a write: add, change or delete (documentation: "Sequence and Rowkind").

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, Int8Array, StringArray};
use frazil_core::error::{Error, Result};

use crate::spec::json::shown;

/// The row kind +I.
pub const INSERT: i8 = 0;

/// The row kind -D.
pub const DELETE: i8 = 3;

/// The short names of the kinds, in the order of their numbers in files.
const NAMES: [&str; 4] = ["+I", "-U", "+U", "-D"];

/// Parses the row kinds in a column of strings. `first` is the number of the first row, for errors. `null` is the kind
/// of NULL values; None if NULL is not allowed.
///
/// # Errors
/// `InvalidArgument` naming the column and the row of a string that is not a kind, or of a NULL that is not allowed.
pub fn parse(column: &str, values: &ArrayRef, first: usize, null: Option<i8>) -> Result<Int8Array> {
    let texts: &StringArray = values.as_string_opt().ok_or_else(|| Error::internal("row kinds are not strings"))?;
    let kind = |(row, text): (usize, Option<&str>)| {
        let Some(text) = text else {
            let row = first.saturating_add(row);
            let error = || Error::invalid(format!("the row kind of row {row} is NULL")).with("column", column);
            return null.ok_or_else(|| error().hint(format!("valid row kinds are {}", NAMES.join(", "))));
        };
        let kind = (0_i8..).zip(NAMES).find(|(_, name)| *name == text).map(|(kind, _)| kind);
        kind.ok_or_else(|| {
            let row = first.saturating_add(row);
            Error::invalid(format!("the row kind of row {row} is `{}`", shown(text)))
                .with("column", column)
                .hint(format!("valid row kinds are {}", NAMES.join(", ")))
        })
    };
    Ok(texts.iter().enumerate().map(kind).collect::<Result<Vec<i8>>>()?.into())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use frazil_core::error::ErrorKind;

    use super::*;

    #[test]
    fn kinds_have_the_numbers_of_files() {
        let texts = |texts: &[Option<&str>]| Arc::new(StringArray::from(texts.to_vec())) as ArrayRef;
        let found =
            parse("k", &texts(&[Some("+I"), Some("-U"), Some("+U"), Some("-D"), None]), 0, Some(INSERT)).unwrap();
        assert_eq!(found.values(), &[0, 1, 2, 3, 0]);
        let error = parse("k", &texts(&[None, Some("+i")]), 10, Some(INSERT)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.to_string().contains("row 11 is `+i`"), "{error}");
        let error = parse("k", &texts(&[Some("-D"), None]), 10, None).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert_eq!(error.context(), [("column", "k".to_string())]);
        assert!(error.to_string().contains("row 11 is NULL"), "{error}");
    }
}
