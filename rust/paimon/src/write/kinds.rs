//! What the rows of a write do: add, change or delete (documentation: "Sequence and Rowkind").

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, Int8Array, StringArray};
use frazil_core::error::{Error, Result};

use crate::spec::json::shown;

/// The short names of the kinds, by their numbers in files.
const NAMES: [&str; 4] = ["+I", "-U", "+U", "-D"];

/// Return the kinds that a column of texts names; NULL is +I. The first row has the number `first`.
///
/// # Errors
/// `InvalidArgument` naming the column and the row of a text that is not a kind.
pub fn parse(column: &str, values: &ArrayRef, first: usize) -> Result<Int8Array> {
    let texts: &StringArray = values.as_string_opt().ok_or_else(|| Error::internal("row kinds are not text"))?;
    let kind = |(row, text): (usize, Option<&str>)| {
        let Some(text) = text else { return Ok(0) };
        let kind = (0_i8..).zip(NAMES).find(|(_, name)| *name == text).map(|(kind, _)| kind);
        kind.ok_or_else(|| {
            let row = first.saturating_add(row);
            Error::invalid(format!("the row kind of row {row} is `{}`", shown(text)))
                .with("column", column)
                .hint(format!("the kinds are {}", NAMES.join(", ")))
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
        let found = parse("k", &texts(&[Some("+I"), Some("-U"), Some("+U"), Some("-D"), None]), 0).unwrap();
        assert_eq!(found.values(), &[0, 1, 2, 3, 0]);
        let error = parse("k", &texts(&[None, Some("+i")]), 10).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.to_string().contains("row 11 is `+i`"), "{error}");
    }
}
