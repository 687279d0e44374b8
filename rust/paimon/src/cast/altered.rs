//! Which types a column can be changed to (Java's `DataTypeCasts`).

use frazil_core::error::{Error, Result};

use super::{Caster, describe};
use crate::spec::types::{DataType, TypeRoot};

/// Rejects a change of the type of a column whose values cannot be cast. Explicit casts may lose information.
///
/// # Errors
/// `InvalidArgument` naming both types.
pub(crate) fn check_cast(from: &DataType, to: &DataType, allows_explicit: bool) -> Result<()> {
    let refuse = || Error::invalid(format!("{} cannot be changed to {}", describe(from), describe(to)));
    if from.root == to.root {
        return Ok(());
    }
    if is_nested(&to.root) {
        return Err(refuse().hint("add, drop or change the fields, elements or values of the column"));
    }
    if !allows_explicit && !is_implicit(&from.root, &to.root) {
        return Err(refuse().hint("the option `disable-explicit-type-casting` only allows casts that keep all values"));
    }
    Caster::try_new(from, to).map(drop).map_err(|error| refuse().caused_by(error))
}

fn is_nested(root: &TypeRoot) -> bool {
    matches!(root, TypeRoot::Array(_) | TypeRoot::Map(..) | TypeRoot::Multiset(_) | TypeRoot::Row(_))
}

/// Returns whether a cast is implicit: SQL applies it without `CAST`.
fn is_implicit(from: &TypeRoot, to: &TypeRoot) -> bool {
    use TypeRoot as T;
    match (from, to) {
        (T::Decimal(..), T::Float)
        | (T::Char(_), T::Char(_))
        | (T::Char(_) | T::VarChar(_), T::VarChar(_))
        | (T::Binary(_), T::Binary(_))
        | (T::Binary(_) | T::VarBinary(_), T::VarBinary(_))
        | (T::Time(_) | T::Timestamp(_), T::Time(_))
        | (T::Timestamp(_), T::Date)
        | (T::Timestamp(_) | T::LocalZonedTimestamp(_), T::Timestamp(_) | T::LocalZonedTimestamp(_)) => true,
        (_, T::Decimal(..) | T::Double) => rank(from).is_some(),
        (_, T::SmallInt | T::Int | T::BigInt | T::Float) => rank(from) < rank(to) && rank(from).is_some(),
        _ => false,
    }
}

/// Returns the position of a numeric type among those that widen implicitly.
fn rank(root: &TypeRoot) -> Option<u8> {
    Some(match root {
        TypeRoot::TinyInt => 0,
        TypeRoot::SmallInt => 1,
        TypeRoot::Int => 2,
        TypeRoot::BigInt => 3,
        TypeRoot::Float => 4,
        TypeRoot::Decimal(..) | TypeRoot::Double => 5,
        _ => return None,
    })
}
