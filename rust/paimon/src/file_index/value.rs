//! Defines values as indexes hold them, and translates tests of a column to questions about such values.
//!
//! | type of the file | held as |
//! |---|---|
//! | BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, DATE | itself |
//! | TIME | milliseconds of the day, 4 bytes |
//! | DECIMAL | the unscaled integer, 8 bytes |
//! | TIMESTAMP, with and without zone | milliseconds for up to 3 digits, else microseconds, 8 bytes |
//! | FLOAT, DOUBLE | IEEE 754 bits; a single NaN; -0.0 and 0.0 are two values |
//! | CHAR, VARCHAR | length: i32, bytes |
//!
//! All integers are big-endian. Values are ordered as in predicates (NaN greatest, -0.0 equal to 0.0). Values in Java's
//! order (-0.0 before 0.0) are sorted by this order too.

use std::cmp::Ordering;
use std::ops::Bound;

use arrow_schema::TimeUnit;
use frazil_core::bytes::Cursor;
use frazil_core::error::Result;
use frazil_core::scalar::Scalar;
use frazil_core::sql::predicate::{CompareOp, Test};

use crate::spec::types::TypeRoot;

/// A value of an index, or a literal to compare with it. All values of a column are of the same variant.
#[derive(Debug, Clone, Copy)]
pub(super) enum Value<'a> {
    /// Any integer; a Boolean is 0 or 1.
    Integer(i64),
    /// A float of either width.
    Float(f64),
    /// A string or bytes.
    Bytes(&'a [u8]),
}

impl Value<'_> {
    /// Compares values in the order of predicates. Values of different variants are never compared; the result would be
    /// equal.
    pub(super) fn order(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Integer(a), Self::Integer(b)) => a.cmp(b),
            (Self::Float(a), Self::Float(b)) => canonical(*a).total_cmp(&canonical(*b)),
            (Self::Bytes(a), Self::Bytes(b)) => a.cmp(b),
            _ => Ordering::Equal,
        }
    }
}

/// Returns the value with a single NaN and a single zero.
fn canonical(value: f64) -> f64 {
    if value.is_nan() { f64::NAN } else { value + 0.0 }
}

/// The encoding of the keys of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    Boolean,
    Int8,
    Int16,
    Int32,
    Int64,
    Float,
    Double,
    Bytes,
}

impl Layout {
    /// Returns the layout of the values of a type, or None for types that no index supports.
    pub(super) fn of(root: &TypeRoot) -> Option<Self> {
        Some(match root {
            TypeRoot::Boolean => Self::Boolean,
            TypeRoot::TinyInt => Self::Int8,
            TypeRoot::SmallInt => Self::Int16,
            TypeRoot::Int | TypeRoot::Date | TypeRoot::Time(_) => Self::Int32,
            TypeRoot::BigInt | TypeRoot::Decimal(..) | TypeRoot::Timestamp(_) | TypeRoot::LocalZonedTimestamp(_) => {
                Self::Int64
            }
            TypeRoot::Float => Self::Float,
            TypeRoot::Double => Self::Double,
            TypeRoot::Char(_) | TypeRoot::VarChar(_) | TypeRoot::Binary(_) | TypeRoot::VarBinary(_) => Self::Bytes,
            _ => return None,
        })
    }

    /// Reads the next value.
    pub(super) fn read<'a>(self, cursor: &mut Cursor<'a>) -> Result<Value<'a>> {
        Ok(match self {
            Self::Boolean => Value::Integer(i64::from(cursor.byte()? != 0)),
            Self::Int8 => Value::Integer(i64::from(cursor.byte()?.cast_signed())),
            Self::Int16 => Value::Integer(i64::from(i16::from_be_bytes(cursor.array()?))),
            Self::Int32 => Value::Integer(i64::from(cursor.be_i32()?)),
            Self::Int64 => Value::Integer(cursor.be_i64()?),
            Self::Float => Value::Float(f64::from(f32::from_be_bytes(cursor.array()?))),
            Self::Double => Value::Float(f64::from_be_bytes(cursor.array()?)),
            Self::Bytes => {
                let length = cursor.be_i32()?;
                Value::Bytes(cursor.take_declared(i64::from(length))?)
            }
        })
    }
}

/// The condition on a column: the values that pass, and whether NULL passes.
#[derive(Debug)]
pub(super) struct Question<'a> {
    pub(super) nulls: bool,
    pub(super) values: Values<'a>,
}

/// The values that pass, not including NULL.
#[derive(Debug)]
pub(super) enum Values<'a> {
    /// All values.
    All,
    /// These values; ascending, possibly empty.
    In(Vec<Value<'a>>),
    /// All except these values; ascending.
    NotIn(Vec<Value<'a>>),
    /// The values between two bounds.
    Range(Bound<Value<'a>>, Bound<Value<'a>>),
    /// The values with this prefix.
    StartsWith(&'a [u8]),
    /// The values without this prefix.
    NotStartsWith(&'a [u8]),
}

impl<'a> Question<'a> {
    /// Translates a test to a question over the values of a file. Returns None if file values cannot answer the test.
    /// Every value that passes the test also satisfies the question.
    pub(super) fn new(test: &'a Test, file: &TypeRoot) -> Option<Self> {
        use CompareOp::{Eq, Gt, GtEq, Lt, LtEq, NotEq};

        let value = |scalar| literal(scalar, file);
        let all = |scalars: &'a [Scalar]| scalars.iter().map(value).collect::<Option<Vec<_>>>();
        // Indexes may hold different file values as one value, so the question must not distinguish such values.
        let coarse = is_coarse(file);
        let open = |value| if coarse { Bound::Included(value) } else { Bound::Excluded(value) };
        let but = |values| if coarse { Values::All } else { Values::NotIn(values) };
        let values = match test {
            Test::IsNull => Values::In(Vec::new()),
            Test::NotNull => Values::All,
            Test::IsNan => Values::In(vec![Value::Float(f64::NAN)]),
            Test::NotNan => Values::NotIn(vec![Value::Float(f64::NAN)]),
            Test::Compare(Eq, scalar) => Values::In(vec![value(scalar)?]),
            Test::Compare(NotEq, scalar) => but(vec![value(scalar)?]),
            Test::Compare(Lt, scalar) => Values::Range(Bound::Unbounded, open(value(scalar)?)),
            Test::Compare(LtEq, scalar) => Values::Range(Bound::Unbounded, Bound::Included(value(scalar)?)),
            Test::Compare(Gt, scalar) => Values::Range(open(value(scalar)?), Bound::Unbounded),
            Test::Compare(GtEq, scalar) => Values::Range(Bound::Included(value(scalar)?), Bound::Unbounded),
            Test::In(scalars) => Values::In(all(scalars)?),
            Test::NotIn(scalars) => but(all(scalars)?),
            Test::StartsWith(Scalar::String(prefix)) => Values::StartsWith(prefix.as_bytes()),
            Test::NotStartsWith(Scalar::String(prefix)) => Values::NotStartsWith(prefix.as_bytes()),
            _ => return None,
        };
        Some(Self { nulls: matches!(test, Test::IsNull | Test::NotNan), values })
    }
}

/// Returns whether casting from one type to the other maps every value to a distinct value and keeps the order.
/// Otherwise a test of the values read does not apply to the values in the file.
pub(super) fn widens(file: &TypeRoot, read: &TypeRoot) -> bool {
    use TypeRoot::{
        BigInt, Binary, Char, Decimal, Double, Float, Int, LocalZonedTimestamp, SmallInt, Time, Timestamp, TinyInt,
        VarBinary, VarChar,
    };
    match (file, read) {
        (TinyInt, SmallInt | Int | BigInt) | (SmallInt, Int | BigInt) | (Int, BigInt) | (Float, Double) => true,
        (Decimal(digits, scale), Decimal(wider, finer)) => {
            finer >= scale && i16::from(*wider) - i16::from(*finer) >= i16::from(*digits) - i16::from(*scale)
        }
        (Char(length) | VarChar(length), VarChar(longer)) | (Binary(length) | VarBinary(length), VarBinary(longer)) => {
            longer >= length
        }
        (Time(digits), Time(more))
        | (Timestamp(digits), Timestamp(more))
        | (LocalZonedTimestamp(digits), LocalZonedTimestamp(more)) => more >= digits,
        (file, read) => file == read,
    }
}

/// Returns whether indexes hold values of a type with less precision than the file: timestamps of 7 to 9 digits.
fn is_coarse(file: &TypeRoot) -> bool {
    matches!(file, TypeRoot::Timestamp(7..) | TypeRoot::LocalZonedTimestamp(7..))
}

/// Converts a literal to the form in which an index of the file's type would hold it. Returns None if that form is not
/// exactly equal to the literal. For types that are held with less precision, the literal is rounded down.
fn literal<'a>(scalar: &'a Scalar, file: &TypeRoot) -> Option<Value<'a>> {
    let integer = |value: i64, fits: bool| fits.then_some(Value::Integer(value));
    match (file, scalar) {
        (TypeRoot::Boolean, Scalar::Boolean(value)) => Some(Value::Integer(i64::from(*value))),
        (TypeRoot::TinyInt, _) => whole(scalar).and_then(|value| integer(value, i8::try_from(value).is_ok())),
        (TypeRoot::SmallInt, _) => whole(scalar).and_then(|value| integer(value, i16::try_from(value).is_ok())),
        (TypeRoot::Int, _) => whole(scalar).and_then(|value| integer(value, i32::try_from(value).is_ok())),
        (TypeRoot::BigInt, _) => whole(scalar).map(Value::Integer),
        (TypeRoot::Float, Scalar::Float64(value)) => {
            let same = value.is_nan() || canonical(f64::from(narrow(*value))).total_cmp(&canonical(*value)).is_eq();
            same.then_some(Value::Float(*value))
        }
        (TypeRoot::Float, Scalar::Float32(value)) => Some(Value::Float(f64::from(*value))),
        (TypeRoot::Double, Scalar::Float64(value)) => Some(Value::Float(*value)),
        (TypeRoot::Decimal(_, scale), Scalar::Decimal { unscaled, scale: finer, .. }) => {
            let excess = u32::try_from(i16::from(*finer) - i16::from(*scale)).ok()?;
            let power = 10_i128.checked_pow(excess)?;
            let value = i64::try_from(unscaled / power).ok()?;
            integer(value, unscaled % power == 0)
        }
        (TypeRoot::Char(_) | TypeRoot::VarChar(_), Scalar::String(text)) => Some(Value::Bytes(text.as_bytes())),
        (TypeRoot::Binary(_) | TypeRoot::VarBinary(_), Scalar::Binary(bytes)) => Some(Value::Bytes(bytes)),
        (TypeRoot::Date, Scalar::Date(days)) => Some(Value::Integer(i64::from(*days))),
        (TypeRoot::Time(_), Scalar::Time(micros)) => integer(micros / 1000, micros % 1000 == 0),
        (TypeRoot::Timestamp(digits), Scalar::Timestamp { value, unit, utc: false })
        | (TypeRoot::LocalZonedTimestamp(digits), Scalar::Timestamp { value, unit, utc: true }) => {
            let nanos = i128::from(*value) * nanos_in(*unit);
            let held = nanos_in(if *digits <= 3 { TimeUnit::Millisecond } else { TimeUnit::Microsecond });
            let exact = is_coarse(file) || nanos % held == 0;
            integer(i64::try_from(nanos.div_euclid(held)).ok()?, exact)
        }
        _ => None,
    }
}

fn whole(scalar: &Scalar) -> Option<i64> {
    match scalar {
        Scalar::Int8(value) => Some(i64::from(*value)),
        Scalar::Int16(value) => Some(i64::from(*value)),
        Scalar::Int32(value) => Some(i64::from(*value)),
        Scalar::Int64(value) => Some(*value),
        _ => None,
    }
}

fn nanos_in(unit: TimeUnit) -> i128 {
    match unit {
        TimeUnit::Second => 1_000_000_000,
        TimeUnit::Millisecond => 1_000_000,
        TimeUnit::Microsecond => 1_000,
        TimeUnit::Nanosecond => 1,
    }
}

/// Returns the nearest single-precision float. Callers check whether it is the same number.
#[expect(clippy::cast_possible_truncation, reason = "rounding is intended")]
pub(super) fn narrow(value: f64) -> f32 {
    value as f32
}
