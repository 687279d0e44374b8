//! Finds the rows of Arrow arrays for which a bound predicate is TRUE.

use std::hash::Hash;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, PrimitiveArray};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};
use arrow_schema::DataType;
use hashbrown::HashSet;

use super::keys::{self, Keyed, with_bytes, with_primitive};
use super::{BoundColumn, BoundPredicate, CompareOp, LikePattern, Test};
use crate::array_data::with_parts;
use crate::error::{Error, Result};
use crate::scalar::{Scalar, ScalarType};

/// The columns of some rows.
pub trait RowColumns {
    /// Returns the values of a column. They have the type of [`ScalarType::arrow`] (with any offset width, any name of
    /// the zone, plain or as a dictionary) or the type Null. A value is also NULL if a parent of the field is NULL. A
    /// column that is only tested for NULL may have any type. None if there is no such column.
    fn column(&self, id: i32) -> Option<ArrayRef>;
}

/// Returns the values of a column with the NULLs of a parent, given by `nulls`.
///
/// # Errors
/// `CorruptData` if the lengths differ.
pub fn masked(column: &ArrayRef, nulls: Option<&NullBuffer>) -> Result<ArrayRef> {
    let Some(nulls) = nulls else { return Ok(column.clone()) };
    if column.data_type() == &DataType::Null {
        return Ok(column.clone());
    }
    let merged = NullBuffer::union(Some(nulls), column.logical_nulls().as_ref());
    let data = column.to_data();
    let children = data.child_data().to_vec();
    with_parts(data, merged, children)
}

/// Returns the rows for which the predicate is TRUE, not FALSE or NULL. `length` is the number of rows.
///
/// # Errors
/// `Internal` if a column is missing, or has another number of rows or another type; `InvalidArgument` if a condition
/// has no value for a row, for example because of a division by zero.
pub fn evaluate(predicate: &BoundPredicate, columns: &dyn RowColumns, length: usize) -> Result<BooleanBuffer> {
    evaluate_within(predicate, columns, &BooleanBuffer::new_set(length))
}

/// Returns the rows of `rows` for which the predicate is TRUE. Conditions, which may fail, are evaluated last, and only
/// on rows that they decide.
///
/// # Errors
/// As for [`evaluate`].
pub fn evaluate_within(
    predicate: &BoundPredicate,
    columns: &dyn RowColumns,
    rows: &BooleanBuffer,
) -> Result<BooleanBuffer> {
    let length = rows.len();
    match predicate {
        BoundPredicate::True => Ok(rows.clone()),
        BoundPredicate::False => Ok(BooleanBuffer::new_unset(length)),
        BoundPredicate::And(parts) => {
            let mut rows = rows.clone();
            for part in conditions_last(parts) {
                rows = evaluate_within(part, columns, &rows)?;
                if rows.count_set_bits() == 0 {
                    break;
                }
            }
            Ok(rows)
        }
        BoundPredicate::Or(parts) => {
            let mut found = BooleanBuffer::new_unset(length);
            for part in conditions_last(parts) {
                let rest = rows & &!&found;
                if rest.count_set_bits() == 0 {
                    break;
                }
                found = &found | &evaluate_within(part, columns, &rest)?;
            }
            Ok(found)
        }
        BoundPredicate::Condition(condition) => condition.evaluate(columns, rows),
        BoundPredicate::Leaf(column, test) => {
            let array = columns.column(column.id).ok_or_else(|| {
                Error::internal("a column of the predicate was not read").with("column", &column.name)
            })?;
            if array.len() != length {
                return Err(Error::internal(format!(
                    "a column has {} values, but there are {length} rows",
                    array.len()
                ))
                .with("column", &column.name));
            }
            Ok(rows & &leaf(column, test, array.as_ref())?)
        }
    }
}

/// Returns the parts without conditions, followed by the other parts.
fn conditions_last(parts: &[BoundPredicate]) -> impl Iterator<Item = &BoundPredicate> {
    let (with, without): (Vec<_>, Vec<_>) = parts.iter().partition(|part| part.has_condition());
    without.into_iter().chain(with)
}

/// Returns which values of an array of this type are among `members`, which must be
/// [`distinct`](super::bind::distinct); NULL is not.
pub(crate) fn among(array: &dyn Array, data_type: ScalarType, members: &Arc<[Scalar]>) -> Result<BooleanBuffer> {
    let column = BoundColumn { id: 0, name: "".into(), data_type, nullable: true };
    leaf(&column, &Test::In(members.clone()), array)
}

fn leaf(column: &BoundColumn, test: &Test, array: &dyn Array) -> Result<BooleanBuffer> {
    if matches!(test, Test::IsNull | Test::NotNull) || *array.data_type() == DataType::Null {
        return Ok(by_nulls(test, array));
    }
    if let Some(dictionary) = array.as_any_dictionary_opt() {
        let values = arrow_select::take::take(dictionary.values().as_ref(), dictionary.keys(), None)?;
        return leaf(column, test, values.as_ref());
    }
    let rows = with_primitive!(column.data_type,
        T => test_primitive::<T>(keys::primitive::<T>(array, column)?, test, column)?,
        other => match (other, test) {
            (ScalarType::Boolean, _) => test_boolean(array, test, column)?,
            (ScalarType::String, Test::Like(pattern)) => test_like(array, pattern, true, column)?,
            (ScalarType::String, Test::NotLike(pattern)) => test_like(array, pattern, false, column)?,
            _ => test_bytes(array, test, column)?,
        }
    );
    let Some(nulls) = array.nulls() else { return Ok(rows) };
    Ok(if *test == Test::NotNan { &rows | &!nulls.inner() } else { &rows & nulls.inner() })
}

/// Evaluates tests that depend only on NULLs.
fn by_nulls(test: &Test, array: &dyn Array) -> BooleanBuffer {
    let valid = array
        .logical_nulls()
        .map_or_else(|| BooleanBuffer::new_set(array.len()), |nulls: NullBuffer| nulls.into_inner());
    match test {
        Test::NotNull => valid,
        Test::IsNull | Test::NotNan => !&valid,
        _ => BooleanBuffer::new_unset(array.len()),
    }
}

fn test_primitive<T: Keyed>(array: &PrimitiveArray<T>, test: &Test, column: &BoundColumn) -> Result<BooleanBuffer> {
    let key = |scalar: &Scalar| T::literal(scalar).ok_or_else(|| keys::foreign(scalar, column));
    let values = array.values();
    Ok(match test {
        Test::Compare(op, scalar) => {
            let k = key(scalar)?;
            match op {
                CompareOp::Lt => select(values, |value| T::key(value) < k),
                CompareOp::LtEq => select(values, |value| T::key(value) <= k),
                CompareOp::Gt => select(values, |value| T::key(value) > k),
                CompareOp::GtEq => select(values, |value| T::key(value) >= k),
                CompareOp::Eq => select(values, |value| T::key(value) == k),
                CompareOp::NotEq => select(values, |value| T::key(value) != k),
            }
        }
        Test::In(scalars) => {
            let members = Members::of(scalars.iter().map(key).collect::<Result<_>>()?, values.len());
            select(values, |value| members.contains(&T::key(value)))
        }
        Test::NotIn(scalars) => {
            let members = Members::of(scalars.iter().map(key).collect::<Result<_>>()?, values.len());
            select(values, |value| !members.contains(&T::key(value)))
        }
        Test::IsNan => select(values, T::is_nan),
        Test::NotNan => select(values, |value| !T::is_nan(value)),
        _ => return Err(unmeant(test, column)),
    })
}

fn test_boolean(array: &dyn Array, test: &Test, column: &BoundColumn) -> Result<BooleanBuffer> {
    let values = array.as_boolean_opt().ok_or_else(|| keys::unfit(array, column))?.values();
    let matches = |value: bool| -> Result<bool> {
        let is = |scalar: &Scalar| match scalar {
            Scalar::Boolean(literal) => Ok(value.cmp(literal)),
            other => Err(keys::foreign(other, column)),
        };
        let any = |scalars: &[Scalar]| scalars.iter().try_fold(false, |any, scalar| Ok(any | is(scalar)?.is_eq()));
        match test {
            Test::Compare(op, scalar) => Ok(op.accepts(is(scalar)?)),
            Test::In(scalars) => any(scalars),
            Test::NotIn(scalars) => Ok(!any(scalars)?),
            _ => Err(unmeant(test, column)),
        }
    };
    Ok(match (matches(false)?, matches(true)?) {
        (false, false) => BooleanBuffer::new_unset(array.len()),
        (false, true) => values.clone(),
        (true, false) => !values,
        (true, true) => BooleanBuffer::new_set(array.len()),
    })
}

fn test_bytes(array: &dyn Array, test: &Test, column: &BoundColumn) -> Result<BooleanBuffer> {
    // NULL rows have an empty value here; the caller removes them from the result.
    with_bytes!(array, column, values => test_slices(values.map(Option::unwrap_or_default), test, column))
}

fn test_slices<'a>(
    values: impl ExactSizeIterator<Item = &'a [u8]>,
    test: &Test,
    column: &BoundColumn,
) -> Result<BooleanBuffer> {
    let key = |scalar| keys::scalar_bytes(scalar).ok_or_else(|| keys::foreign(scalar, column));
    let all = |scalars| -> Result<Vec<&[u8]>> { <[Scalar]>::iter(scalars).map(key).collect() };
    Ok(match test {
        Test::Compare(CompareOp::Eq, scalar) => {
            let k = key(scalar)?;
            values.map(|value| value == k).collect()
        }
        Test::Compare(op, scalar) => {
            let k = key(scalar)?;
            values.map(|value| op.accepts(value.cmp(k))).collect()
        }
        Test::In(scalars) => {
            let members = Members::of(all(scalars)?, values.len());
            values.map(|value| members.contains(&value)).collect()
        }
        Test::NotIn(scalars) => {
            let members = Members::of(all(scalars)?, values.len());
            values.map(|value| !members.contains(&value)).collect()
        }
        Test::StartsWith(prefix) => {
            let prefix = key(prefix)?;
            values.map(|value| value.starts_with(prefix)).collect()
        }
        Test::NotStartsWith(prefix) => {
            let prefix = key(prefix)?;
            values.map(|value| !value.starts_with(prefix)).collect()
        }
        _ => return Err(unmeant(test, column)),
    })
}

fn test_like(array: &dyn Array, pattern: &LikePattern, expected: bool, column: &BoundColumn) -> Result<BooleanBuffer> {
    let test = |text: Option<&str>| text.is_some_and(|text| pattern.matches(text) == expected);
    Ok(match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().iter().map(test).collect(),
        DataType::LargeUtf8 => array.as_string::<i64>().iter().map(test).collect(),
        DataType::Utf8View => array.as_string_view().iter().map(test).collect(),
        _ => return Err(keys::unfit(array, column)),
    })
}

/// The maximum number of members that are compared one by one.
const FEW_MEMBERS: usize = 8;

/// The members of an IN, in the form that is fastest to search.
enum Members<K> {
    Few(Vec<K>),
    Sorted(Vec<K>),
    Hashed(HashSet<K>),
}

impl<K: Ord + Hash> Members<K> {
    /// Creates the set from sorted members, for this number of look-ups.
    fn of(members: Vec<K>, values: usize) -> Self {
        match members.len() {
            ..=FEW_MEMBERS => Self::Few(members),
            // A hash table is worth building if there are clearly more look-ups than members to insert.
            count if count < values / 4 => Self::Hashed(members.into_iter().collect()),
            _ => Self::Sorted(members),
        }
    }

    #[inline]
    fn contains(&self, value: &K) -> bool {
        match self {
            Self::Few(members) => members.contains(value),
            Self::Sorted(members) => members.binary_search(value).is_ok(),
            Self::Hashed(members) => members.contains(value),
        }
    }
}

/// Returns one bit for each value, computed in words of 64.
fn select<V: Copy>(values: &[V], test: impl Fn(V) -> bool) -> BooleanBuffer {
    let words = values.chunks(64).map(|chunk| {
        let word = chunk.iter().enumerate().fold(0_u64, |word, (bit, value)| word | u64::from(test(*value)) << bit);
        word.to_le()
    });
    let words: Vec<u64> = words.collect();
    BooleanBuffer::new(Buffer::from_vec(words), 0, values.len())
}

fn unmeant(test: &Test, column: &BoundColumn) -> Error {
    Error::internal(format!("the test {test:?} is not defined for the type {}", column.data_type))
        .with("column", &column.name)
}

#[cfg(test)]
#[path = "eval_tests.rs"]
mod tests;
