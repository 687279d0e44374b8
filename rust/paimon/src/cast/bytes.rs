//! Casts strings and bytes of limited length. Longer values are truncated; CHAR is padded with spaces, BINARY with
//! zeros. Characters are code points.

use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryArray, StringArray};
use frazil_core::error::{Error, ErrorKind, Result};

use super::{CastRule, CastStep, MAX_LENGTH, rule_of};
use crate::spec::types::TypeRoot;

/// Returns the step between strings and bytes, or None for other types.
pub(super) fn step(from: &TypeRoot, to: &TypeRoot) -> Option<CastStep> {
    use TypeRoot as T;
    let rule: Option<CastRule> = match (from, to) {
        (T::Char(_) | T::VarChar(_), T::VarChar(MAX_LENGTH))
        | (T::Binary(_) | T::VarBinary(_), T::VarBinary(MAX_LENGTH)) => return Some(CastStep::Same),
        (T::Char(_) | T::VarChar(_), T::Char(_) | T::VarChar(_)) => {
            let length = Length::of(to)?;
            rule_of(move |array| {
                texts(
                    text(array)?.iter(),
                    array.len(),
                    |value, out| {
                        out.push_str(value);
                        Ok(())
                    },
                    length,
                )
            })
        }
        (T::Binary(_) | T::VarBinary(_), T::Binary(_) | T::VarBinary(_)) => {
            let length = Length::of(to)?;
            rule_of(move |array| sized(bytes(array)?, length))
        }
        (T::Char(_) | T::VarChar(_), T::Binary(_) | T::VarBinary(_)) => {
            let length = Length::of(to)?;
            rule_of(move |array| sized(&BinaryArray::from(text(array)?.clone()), length))
        }
        // The length limit of the string does not apply.
        (T::Binary(_) | T::VarBinary(_), T::Char(_) | T::VarChar(_)) => rule_of(|array| {
            let lossy = |value: &[u8], out: &mut String| {
                out.push_str(&String::from_utf8_lossy(value));
                Ok(())
            };
            texts(bytes(array)?.iter(), array.len(), lossy, Length::Any)
        }),
        _ => None,
    };
    rule.map(CastStep::Rule)
}

/// The length limit of values.
#[derive(Debug, Clone, Copy)]
pub(super) enum Length {
    Any,
    /// Truncated to this length.
    Cut(usize),
    /// Truncated or padded to this length.
    Exact(usize),
}

impl Length {
    /// Returns the length limit of a string or bytes type, or None for other types.
    pub(super) fn of(root: &TypeRoot) -> Option<Self> {
        let length = |length: &u32| usize::try_from(*length).ok();
        match root {
            TypeRoot::VarChar(MAX_LENGTH) | TypeRoot::VarBinary(MAX_LENGTH) => Some(Self::Any),
            TypeRoot::VarChar(limit) | TypeRoot::VarBinary(limit) => Some(Self::Cut(length(limit)?)),
            TypeRoot::Char(exact) | TypeRoot::Binary(exact) => Some(Self::Exact(length(exact)?)),
            _ => None,
        }
    }

    /// Returns the number of bytes of a string that are kept, and the number of characters to pad it with.
    fn measure(self, text: &str) -> (usize, usize) {
        let (limit, fill) = match self {
            Self::Any => return (text.len(), 0),
            Self::Cut(limit) => (limit, false),
            Self::Exact(limit) => (limit, true),
        };
        if text.len() <= limit && !fill {
            return (text.len(), 0);
        }
        match text.char_indices().nth(limit) {
            Some((end, _)) => (end, 0),
            None => (text.len(), if fill { limit - text.chars().count() } else { 0 }),
        }
    }
}

pub(super) fn text(array: &ArrayRef) -> Result<&StringArray> {
    array.as_string_opt().ok_or_else(|| Error::internal("expected a string array"))
}

fn bytes(array: &ArrayRef) -> Result<&BinaryArray> {
    array.as_binary_opt().ok_or_else(|| Error::internal("expected an array of bytes"))
}

/// Returns the strings that `print` writes for values, truncated or padded to the length limit.
pub(super) fn texts<T>(
    values: impl Iterator<Item = Option<T>>,
    rows: usize,
    mut print: impl FnMut(T, &mut String) -> Result<()>,
    length: Length,
) -> Result<ArrayRef> {
    let mut builder = StringBuilder::with_capacity(rows, 0);
    let (mut text, mut left) = (String::new(), MAX_BYTES);
    for value in values {
        let Some(value) = value else {
            builder.append_null();
            continue;
        };
        text.clear();
        print(value, &mut text)?;
        let (kept, lacking) = length.measure(&text);
        left = left.checked_sub(kept.saturating_add(lacking)).ok_or_else(too_long)?;
        text.truncate(kept);
        text.extend(std::iter::repeat_n(' ', lacking));
        builder.append_value(&text);
    }
    Ok(Arc::new(builder.finish()))
}

fn sized(values: &BinaryArray, length: Length) -> Result<ArrayRef> {
    let mut builder = BinaryBuilder::with_capacity(values.len(), 0);
    let (mut padded, mut left) = (Vec::new(), MAX_BYTES);
    for value in values {
        let Some(value) = value else {
            builder.append_null();
            continue;
        };
        let size = match length {
            Length::Any => value.len(),
            Length::Cut(limit) => value.len().min(limit),
            Length::Exact(limit) => limit,
        };
        left = left.checked_sub(size).ok_or_else(too_long)?;
        if let Some(cut) = value.get(..size) {
            builder.append_value(cut);
        } else {
            padded.clear();
            padded.extend_from_slice(value);
            padded.resize(size, 0);
            builder.append_value(&padded);
        }
    }
    Ok(Arc::new(builder.finish()))
}

/// The largest 32-bit offset.
const MAX_BYTES: usize = i32::MAX.cast_unsigned() as usize;

fn too_long() -> Error {
    Error::new(ErrorKind::LimitExceeded, "a cast produces more than 2 GiB of strings in one batch")
}
