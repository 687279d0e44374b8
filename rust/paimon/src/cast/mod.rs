//! Casts values from one type to another by the rules of Paimon's Java library, release 1.4 (documentation: "Schema
//! Evolution", changing column type).
//!
//! | From | To | Rule |
//! |---|---|---|
//! | integer | integer | truncated to the low bits |
//! | FLOAT, DOUBLE | integer | rounded towards zero and saturated, NaN is 0; by way of INT to narrower types |
//! | number | DECIMAL | rounded half up; NULL if it has too many digits |
//! | DECIMAL | integer | rounded towards zero, then truncated to the low bits |
//! | integer | BOOLEAN | whether it is not 0 |
//! | INT, BIGINT | TIMESTAMP | seconds |
//! | TIMESTAMP | INT, BIGINT, DATE | rounded towards zero, by milliseconds; instants to DATE are rounded down |
//! | TIMESTAMP | TIMESTAMP of fewer digits | see [`time`] |
//! | any except VARIANT, BLOB, MULTISET | string | see [`print`]; dates and times to STRING only |
//! | string | any scalar type | see [`parse`] |
//! | string, bytes | string, bytes | truncated to the length; CHAR is padded with spaces, BINARY with zeros |
//! | bytes | string | as UTF-8, regardless of length |
//! | ARRAY, MAP, ROW | the same type | element by element; fields of rows by id, keys of maps unchanged |
//!
//! Instants are printed, parsed and converted to dates in UTC. All other casts are rejected, as they are when a table
//! is altered.

pub(crate) mod altered;
mod bytes;
mod decimal;
mod float;
pub(crate) mod nested;
mod number;
mod parse;
pub(crate) mod parse_nested;
mod parse_time;
mod print;
pub(crate) mod time;

use std::fmt;
use std::sync::Arc;

use arrow_array::builder::PrimitiveBuilder;
use arrow_array::{ArrayRef, ArrowPrimitiveType, PrimitiveArray};
use frazil_core::error::{Error, Result};

use crate::spec::types::{DataField, DataType, TypeRoot};

/// A cast from one type to another.
pub struct Caster {
    from: String,
    to: String,
    rule: CastRule,
}

/// A function from one array to another of the same length.
type CastRule = Box<dyn Fn(&ArrayRef) -> Result<ArrayRef> + Send + Sync>;

impl Caster {
    /// Creates the cast from `from` to `to`, or returns None if both types have the same arrays. Whether top-level
    /// values may be NULL makes no difference: the result may have more NULLs than its source.
    ///
    /// # Errors
    /// `Unsupported` naming both types when there is no such cast.
    pub fn try_new(from: &DataType, to: &DataType) -> Result<Option<Self>> {
        Self::at("", from, to)
    }

    /// As [`Caster::try_new`], for a nested value. Errors report its `path`.
    pub(crate) fn at(path: &str, from: &DataType, to: &DataType) -> Result<Option<Self>> {
        match resolve(path, from, to)? {
            CastStep::Same => Ok(None),
            CastStep::Rule(rule) => Ok(Some(Self { from: describe(from), to: describe(to), rule })),
        }
    }

    /// Casts the values of `array`. The Arrow type of `array` is that of the source type; the result has that of the
    /// target type.
    ///
    /// # Errors
    /// `CorruptData` naming the types if a value cannot be cast, does not fit Arrow's type, or is NULL inside a nested
    /// value that does not allow it; `LimitExceeded` if strings exceed 2 GiB.
    pub fn cast(&self, array: &ArrayRef) -> Result<ArrayRef> {
        (self.rule)(array).map_err(|error| error.with("cast", format_args!("{} to {}", self.from, self.to)))
    }
}

impl fmt::Debug for Caster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Caster({} to {})", self.from, self.to)
    }
}

/// Returns whether the cast changes no value and keeps the order, so that predicates and bounds remain valid after it.
/// Strings and bytes of limited length may exceed their limit, so only those without a limit qualify.
pub fn is_exact_widening(from: &DataType, to: &DataType) -> bool {
    use TypeRoot as T;
    match (&from.root, &to.root) {
        (from, to) if from == to => true,
        (T::TinyInt | T::SmallInt | T::Int | T::BigInt, T::TinyInt | T::SmallInt | T::Int | T::BigInt) => {
            digits(&from.root) <= digits(&to.root)
        }
        (T::TinyInt | T::SmallInt, T::Float)
        | (T::TinyInt | T::SmallInt | T::Int | T::Float, T::Double)
        | (T::Char(_) | T::VarChar(_), T::VarChar(MAX_LENGTH))
        | (T::Binary(_) | T::VarBinary(_), T::VarBinary(MAX_LENGTH))
        | (T::Date, T::Timestamp(_)) => true,
        (T::TinyInt | T::SmallInt | T::Int | T::BigInt, T::Decimal(precision, scale)) => {
            digits(&from.root).is_some_and(|digits| u16::from(digits) + u16::from(*scale) <= u16::from(*precision))
        }
        (T::Decimal(precision, scale), T::Decimal(to_precision, to_scale)) => {
            scale <= to_scale && u16::from(*precision) + u16::from(to_scale - scale) <= u16::from(*to_precision)
        }
        (T::Timestamp(digits), T::Timestamp(to)) | (T::LocalZonedTimestamp(digits), T::LocalZonedTimestamp(to)) => {
            digits <= to
        }
        _ => false,
    }
}

/// The length of STRING and BYTES.
const MAX_LENGTH: u32 = i32::MAX.cast_unsigned();

/// Returns the maximum number of digits of an integer type, or None for other types.
fn digits(root: &TypeRoot) -> Option<u8> {
    match root {
        TypeRoot::TinyInt => Some(3),
        TypeRoot::SmallInt => Some(5),
        TypeRoot::Int => Some(10),
        TypeRoot::BigInt => Some(19),
        _ => None,
    }
}

enum CastStep {
    Same,
    Rule(CastRule),
}

fn resolve(path: &str, from: &DataType, to: &DataType) -> Result<CastStep> {
    let refuse = || Error::unsupported(format!("no cast from {} to {}", describe(from), describe(to)));
    if from.root == to.root {
        return Ok(CastStep::Same);
    }
    if let Some(rule) = nested::rule(path, from, to)? {
        return Ok(CastStep::Rule(rule));
    }
    let (root, target) = (&from.root, &to.root);
    let rules = [number::rule, decimal::rule, time::rule, print::rule, parse::rule, parse_time::rule];
    let rule =
        bytes::step(root, target).or_else(|| rules.iter().find_map(|rule| rule(root, target)).map(CastStep::Rule));
    rule.ok_or_else(|| match path {
        "" => refuse(),
        _ => refuse().with("column", path),
    })
}

/// Returns the type as written in schemas, without fields and NOT NULL.
fn describe(data_type: &DataType) -> String {
    use TypeRoot as T;
    match &data_type.root {
        T::Boolean => "BOOLEAN".to_owned(),
        T::TinyInt => "TINYINT".to_owned(),
        T::SmallInt => "SMALLINT".to_owned(),
        T::Int => "INT".to_owned(),
        T::BigInt => "BIGINT".to_owned(),
        T::Float => "FLOAT".to_owned(),
        T::Double => "DOUBLE".to_owned(),
        T::Decimal(precision, scale) => format!("DECIMAL({precision}, {scale})"),
        T::Char(length) => format!("CHAR({length})"),
        T::VarChar(MAX_LENGTH) => "STRING".to_owned(),
        T::VarChar(length) => format!("VARCHAR({length})"),
        T::Binary(length) => format!("BINARY({length})"),
        T::VarBinary(MAX_LENGTH) => "BYTES".to_owned(),
        T::VarBinary(length) => format!("VARBINARY({length})"),
        T::Date => "DATE".to_owned(),
        T::Time(digits) => format!("TIME({digits})"),
        T::Timestamp(digits) => format!("TIMESTAMP({digits})"),
        T::LocalZonedTimestamp(digits) => format!("TIMESTAMP({digits}) WITH LOCAL TIME ZONE"),
        T::Array(element) => format!("ARRAY<{}>", describe(element)),
        T::Map(key, value) => format!("MAP<{}, {}>", describe(key), describe(value)),
        T::Multiset(element) => format!("MULTISET<{}>", describe(element)),
        T::Row(fields) => {
            let fields =
                fields.iter().map(|DataField { name, data_type, .. }| format!("{name} {}", describe(data_type)));
            format!("ROW<{}>", fields.collect::<Vec<_>>().join(", "))
        }
        T::Variant => "VARIANT".to_owned(),
        T::Blob => "BLOB".to_owned(),
    }
}

/// Returns the error for a string that is not a value of the type. Long strings are truncated.
fn unparsable(text: &str, to: &str) -> Error {
    const SHOWN: usize = 60;
    let shown: String = text.chars().take(SHOWN).collect();
    let more = if shown.len() < text.len() { "..." } else { "" };
    Error::corrupt(format!("{shown:?}{more} is not a valid {to}"))
}

/// Boxes a rule.
#[expect(clippy::unnecessary_wraps, reason = "rules are looked up as options")]
fn rule_of(rule: impl Fn(&ArrayRef) -> Result<ArrayRef> + Send + Sync + 'static) -> Option<CastRule> {
    Some(Box::new(rule))
}

/// Returns a primitive array as a dynamically typed array.
fn finish<T: ArrowPrimitiveType>(array: PrimitiveArray<T>) -> ArrayRef {
    Arc::new(array)
}

/// Applies `cast` to every value that is not NULL.
fn try_map<T, O>(
    values: &PrimitiveArray<T>,
    mut cast: impl FnMut(T::Native) -> Result<Option<O::Native>>,
) -> Result<PrimitiveArray<O>>
where
    T: ArrowPrimitiveType,
    O: ArrowPrimitiveType,
{
    let mut builder = PrimitiveBuilder::with_capacity(values.len());
    for value in values {
        builder.append_option(value.map(&mut cast).transpose()?.flatten());
    }
    Ok(builder.finish())
}

#[cfg(test)]
mod tests;
