//! Values of one type as values of another, by the rules of Paimon's Java library, release 1.4 (documentation: "Schema
//! Evolution", changing column type).
//!
//! | From | To | How |
//! |---|---|---|
//! | whole number | whole number | cut to the low bits |
//! | FLOAT, DOUBLE | whole number | the nearest one towards zero that there is, NaN is 0; by way of INT to narrower types |
//! | number | DECIMAL | rounded half up; NULL where it has too many digits |
//! | DECIMAL | whole number | cut towards zero, then to the low bits |
//! | whole number | BOOLEAN | whether it is not 0 |
//! | INT, BIGINT | TIMESTAMP | seconds |
//! | TIMESTAMP | INT, BIGINT, DATE | towards zero, by milliseconds; instants to DATE downwards |
//! | TIMESTAMP | TIMESTAMP of fewer digits | see [`time`] |
//! | any but VARIANT, BLOB, MULTISET | text | see [`print`]; dates and times to STRING alone |
//! | text | any of one value | see [`parse`] |
//! | text, bytes | text, bytes | cut to their length; CHAR is padded with spaces, BINARY with zeros |
//! | bytes | text | as UTF-8, whatever their length |
//! | ARRAY, MAP, ROW | the same | their parts; fields of rows by id, keys of maps unchanged |
//!
//! Instants are shown, parsed and made dates of in UTC. Everything else is refused, as it is when a table is altered.

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
    rule: Rule,
}

/// How one array becomes another of the same length.
type Rule = Box<dyn Fn(&ArrayRef) -> Result<ArrayRef> + Send + Sync>;

impl Caster {
    /// The cast from `from` to `to`; None where arrays of the one are arrays of the other. Whether top-level values may
    /// be NULL makes no difference: the result may have more NULLs than its source.
    ///
    /// # Errors
    /// `Unsupported` naming both types when there is no such cast.
    pub fn try_new(from: &DataType, to: &DataType) -> Result<Option<Self>> {
        Self::at("", from, to)
    }

    /// The same for what stands at a path of names, which errors say.
    pub(crate) fn at(path: &str, from: &DataType, to: &DataType) -> Result<Option<Self>> {
        match resolve(path, from, to)? {
            Step::Same => Ok(None),
            Step::Rule(rule) => Ok(Some(Self { from: describe(from), to: describe(to), rule })),
        }
    }

    /// The values of `array`, which has the Arrow type of the type to cast from, in that of the type to cast to.
    ///
    /// # Errors
    /// `CorruptData` naming the types for a value that cannot be cast, does not fit Arrow's type, or is NULL inside a
    /// nested value that may not have it; `LimitExceeded` when texts exceed 2 GiB.
    pub fn cast(&self, array: &ArrayRef) -> Result<ArrayRef> {
        (self.rule)(array).map_err(|error| error.with("cast", format_args!("{} to {}", self.from, self.to)))
    }
}

impl fmt::Debug for Caster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Caster({} to {})", self.from, self.to)
    }
}

/// Whether the cast changes no value and keeps the order, so that what holds of the values before it holds after it.
/// Texts and bytes of a limited length are not known to keep to it, so that only those without count.
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

/// The most digits that a whole number of a type has.
fn digits(root: &TypeRoot) -> Option<u8> {
    match root {
        TypeRoot::TinyInt => Some(3),
        TypeRoot::SmallInt => Some(5),
        TypeRoot::Int => Some(10),
        TypeRoot::BigInt => Some(19),
        _ => None,
    }
}

enum Step {
    Same,
    Rule(Rule),
}

fn resolve(path: &str, from: &DataType, to: &DataType) -> Result<Step> {
    let refuse = || Error::unsupported(format!("no cast from {} to {}", describe(from), describe(to)));
    if from.root == to.root {
        return Ok(Step::Same);
    }
    if let Some(rule) = nested::rule(path, from, to)? {
        return Ok(Step::Rule(rule));
    }
    let (root, target) = (&from.root, &to.root);
    let rules = [number::rule, decimal::rule, time::rule, print::rule, parse::rule, parse_time::rule];
    let rule = bytes::step(root, target).or_else(|| rules.iter().find_map(|rule| rule(root, target)).map(Step::Rule));
    rule.ok_or_else(|| match path {
        "" => refuse(),
        _ => refuse().with("column", path),
    })
}

/// The type as it is written in schemas, without fields and NOT NULL.
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

/// The error for a text that a type has no value for; long ones are cut.
fn unparsable(text: &str, to: &str) -> Error {
    const SHOWN: usize = 60;
    let shown: String = text.chars().take(SHOWN).collect();
    let more = if shown.len() < text.len() { "..." } else { "" };
    Error::corrupt(format!("{shown:?}{more} is no {to}"))
}

/// A rule as a box.
#[expect(clippy::unnecessary_wraps, reason = "rules are looked up as options")]
fn rule_of(rule: impl Fn(&ArrayRef) -> Result<ArrayRef> + Send + Sync + 'static) -> Option<Rule> {
    Some(Box::new(rule))
}

/// A primitive array as any array.
fn finish<T: ArrowPrimitiveType>(array: PrimitiveArray<T>) -> ArrayRef {
    Arc::new(array)
}

/// What `cast` makes of every value that is not NULL.
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
