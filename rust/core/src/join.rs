//! A hash join: stores the keys of one set of rows in a hash table and looks up the keys of the other set.
//!
//! Keys are compared with the semantics of [`scalar`](crate::scalar): NaN equals NaN, -0.0 equals 0.0, and NULL equals
//! nothing, except in a null-safe key.

use std::hash::BuildHasher;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array};
use arrow_buffer::NullBuffer;
use arrow_ord::ord::make_comparator;
use arrow_ord::sort::sort_to_indices;
use arrow_row::{RowConverter, Rows, SortField};
use arrow_schema::{DataType, Field, SortOptions};
use arrow_select::take::take;
use hashbrown::DefaultHashBuilder;

use crate::code_table::{CodeTable, folded, hashed};
use crate::error::{Error, ErrorKind, Result};
use crate::floats::canonical;
use crate::scalar::{Scalar, ScalarType};

/// The end marker of a chain of rows.
const NONE: u32 = u32::MAX;
/// The maximum number of pairs of one probe, which use at most two gigabytes.
const MAX_PAIRS: usize = 1 << 28;

/// A hash table of rows by their keys.
#[derive(Debug)]
pub struct JoinTable {
    coder: Coder,
    keys: JoinKeys,
    /// The first row of each key.
    table: CodeTable<u32>,
    /// The next row with the same key.
    next: Vec<u32>,
}

/// Pairs of rows of both sides with equal keys.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JoinPairs {
    /// The rows that were looked up, in order.
    pub probed: Vec<u32>,
    /// The matching row of the table for each row in `probed`. Ascending among the matches of one probed row.
    pub found: Vec<u32>,
}

/// The conversion of keys to integers or bytes.
#[derive(Debug)]
struct Coder {
    form: Form,
    null_safe: Vec<bool>,
    seed: u64,
    hasher: DefaultHashBuilder,
}

#[derive(Debug)]
enum Form {
    Integers,
    Bytes,
    Rows(RowConverter),
}

/// The keys of some rows; rows that cannot match, such as those with NULL in a key, are not valid.
#[derive(Debug)]
struct JoinKeys {
    values: JoinValues,
    valid: Option<NullBuffer>,
    /// The hashes of byte keys; empty for integers.
    hashes: Vec<u64>,
    len: usize,
}

#[derive(Debug)]
enum JoinValues {
    Integers(Int64Array),
    Bytes(ArrayRef),
    Rows(Rows),
}

impl JoinTable {
    /// Builds the table from key columns of equal length, each in the common type of both sides.
    ///
    /// # Errors
    /// `LimitExceeded` for more than 2^32 - 1 rows; `InvalidArgument` for key types that cannot be compared.
    pub fn build(keys: &[ArrayRef], null_safe: &[bool]) -> Result<Self> {
        let coder = Coder::new(keys, null_safe)?;
        let keys = coder.keys(keys)?;
        let rows = u32::try_from(keys.len).ok().filter(|rows| *rows < NONE).ok_or_else(|| {
            Error::new(ErrorKind::LimitExceeded, format!("a join table cannot hold {} rows", keys.len))
        })?;
        let mut table = CodeTable::default();
        let mut next = vec![NONE; keys.len];
        table.reserve(keys.len, |code| coder.rehash(code));
        // In reverse order, so that the first row of a key is the head of its chain.
        for row in (0..rows).rev() {
            let place = row as usize;
            if !keys.is_valid(place) {
                continue;
            }
            let (hash, code) = coder.code(&keys, place);
            match table.find_mut(hash, code, |head| keys.same(*head as usize, &keys, place)) {
                Some(head) => {
                    if let Some(next) = next.get_mut(place) {
                        *next = *head;
                    }
                    *head = row;
                }
                None => table.put(hash, code, row),
            }
        }
        Ok(Self { coder, keys, table, next })
    }

    /// Returns the pairs of a row of `keys` and a row of the table that have equal keys.
    ///
    /// # Errors
    /// See [`JoinTable::build`]; `LimitExceeded` for more than 2^28 pairs.
    pub fn probe(&self, keys: &[ArrayRef]) -> Result<JoinPairs> {
        self.probe_up_to(MAX_PAIRS, keys)
    }

    fn probe_up_to(&self, most: usize, keys: &[ArrayRef]) -> Result<JoinPairs> {
        let keys = self.coder.keys(keys)?;
        if u32::try_from(keys.len).is_err() {
            return Err(Error::new(
                ErrorKind::LimitExceeded,
                format!("a batch of {} rows is too large for a join", keys.len),
            ));
        }
        let (mut pairs, mut too_many) = (JoinPairs::default(), false);
        let mut pair = |row: usize| {
            if !keys.is_valid(row) {
                return false;
            }
            let (hash, code) = self.coder.code(&keys, row);
            let head = self.table.find(hash, code, |head| self.keys.same(*head as usize, &keys, row));
            let mut at = head.copied().unwrap_or(NONE);
            while at != NONE && !too_many {
                too_many = pairs.found.len() == most;
                pairs.probed.push(u32::try_from(row).unwrap_or(NONE));
                pairs.found.push(at);
                at = self.next.get(at as usize).copied().unwrap_or(NONE);
            }
            head.is_some()
        };
        match &keys.values {
            JoinValues::Integers(values) => {
                let code = |row: usize| values.values().get(row).map_or(0, |value| value.cast_unsigned());
                self.table.probe(keys.len, |row| folded(code(row), self.coder.seed), &mut pair)
            }
            _ => self.table.probe(keys.len, |row| self.coder.code(&keys, row).0, &mut pair),
        };
        if too_many {
            let message = format!("more than {most} pairs of rows have equal keys in a batch of {} rows", keys.len);
            return Err(Error::new(ErrorKind::LimitExceeded, message).hint("match rows by an additional column"));
        }
        Ok(pairs)
    }

    /// Returns at most `limit` rows of the table whose key also occurs in an earlier row.
    pub fn duplicates(&self, limit: usize) -> Vec<u32> {
        self.next.iter().copied().filter(|row| *row != NONE).take(limit).collect()
    }
}

impl Coder {
    fn new(keys: &[ArrayRef], null_safe: &[bool]) -> Result<Self> {
        use DataType as D;
        let form = match keys {
            [] => return Err(Error::internal("a join has no keys")),
            [key] if null_safe != [true] && is_integer(key.data_type()) => Form::Integers,
            [key] if null_safe != [true] && matches!(key.data_type(), D::Utf8 | D::Binary) => Form::Bytes,
            keys => {
                let fields = keys.iter().map(|key| SortField::new(key.data_type().clone())).collect();
                Form::Rows(
                    RowConverter::new(fields)
                        .map_err(|error| Error::invalid("values of this type cannot be join keys").caused_by(error))?,
                )
            }
        };
        let hasher = DefaultHashBuilder::default();
        Ok(Self { form, null_safe: null_safe.to_vec(), seed: hasher.hash_one(0), hasher })
    }

    fn keys(&self, keys: &[ArrayRef]) -> Result<JoinKeys> {
        let len = keys.first().map_or(0, Array::len);
        let mut valid = None;
        for (key, null_safe) in keys.iter().zip(&self.null_safe) {
            if !null_safe {
                valid = NullBuffer::union(valid.as_ref(), key.logical_nulls().as_ref());
            }
        }
        let values = match (&self.form, keys) {
            (Form::Integers, [key]) => {
                let key = if *key.data_type() == DataType::Date32 {
                    arrow_cast::cast(key, &DataType::Int32)?
                } else {
                    key.clone()
                };
                JoinValues::Integers(arrow_cast::cast(&key, &DataType::Int64)?.as_primitive::<Int64Type>().clone())
            }
            (Form::Bytes, [key]) => JoinValues::Bytes(key.clone()),
            (Form::Rows(converter), keys) => {
                let keys = keys.iter().map(canonical).collect::<Result<Vec<_>>>()?;
                JoinValues::Rows(converter.convert_columns(&keys)?)
            }
            _ => return Err(Error::internal("the number of join keys does not match")),
        };
        let mut keys = JoinKeys { values, valid, hashes: Vec::new(), len };
        if !matches!(keys.values, JoinValues::Integers(_)) {
            keys.hashes = (0..len).map(|row| hashed(keys.bytes(row), &self.hasher)).collect();
        }
        Ok(keys)
    }

    /// Returns the hash of a stored code, for rehashing: integer codes are hashed, and codes of byte keys are hashes
    /// already.
    fn rehash(&self, code: u64) -> u64 {
        if matches!(self.form, Form::Integers) { folded(code, self.seed) } else { code }
    }

    /// Returns the hash and the code of a row; for byte keys they are the same.
    #[inline]
    fn code(&self, keys: &JoinKeys, row: usize) -> (u64, u64) {
        if let JoinValues::Integers(values) = &keys.values {
            let code = values.values().get(row).map_or(0, |value| value.cast_unsigned());
            return (folded(code, self.seed), code);
        }
        let hash = keys.hashes.get(row).copied().unwrap_or(0);
        (hash, hash)
    }
}

impl JoinKeys {
    #[inline]
    fn is_valid(&self, row: usize) -> bool {
        self.valid.as_ref().is_none_or(|valid| valid.is_valid(row))
    }

    #[inline]
    fn bytes(&self, row: usize) -> &[u8] {
        match &self.values {
            JoinValues::Rows(rows) => rows.row(row).data(),
            JoinValues::Bytes(array) if array.is_null(row) => &[],
            JoinValues::Bytes(array) => match array.data_type() {
                DataType::Utf8 => array.as_string::<i32>().value(row).as_bytes(),
                _ => array.as_binary::<i32>().value(row),
            },
            JoinValues::Integers(_) => &[],
        }
    }

    /// Returns whether rows with the same code have the same key.
    #[inline]
    fn same(&self, row: usize, other: &Self, other_row: usize) -> bool {
        matches!(self.values, JoinValues::Integers(_)) || self.bytes(row) == other.bytes(other_row)
    }
}

fn is_integer(data_type: &DataType) -> bool {
    use DataType as D;
    matches!(data_type, D::Int32 | D::Int64 | D::Date32 | D::Time64(_) | D::Timestamp(..))
}

/// The known bounds of the values of a key.
#[derive(Debug, Clone, PartialEq)]
pub enum JoinBounds {
    /// All values in ascending order, excluding NULL.
    Values(Vec<Scalar>),
    /// The least and the greatest value.
    Between(Scalar, Scalar),
    /// No known bounds.
    Unknown,
}

/// Returns the bounds of the values of a key: all values, up to `limit`, otherwise the least and the greatest.
///
/// # Errors
/// `Internal` for an array that does not have its declared type.
pub fn bounds(key: &ArrayRef, limit: usize) -> Result<JoinBounds> {
    let Some(data_type) = ScalarType::from_arrow(&Field::new("", key.data_type().clone(), true)) else {
        return Ok(JoinBounds::Unknown);
    };
    if data_type == ScalarType::Null || key.logical_null_count() == key.len() {
        return Ok(JoinBounds::Values(Vec::new()));
    }
    let key = canonical(key)?;
    let options = SortOptions { descending: false, nulls_first: false };
    let sorted = take(key.as_ref(), &sort_to_indices(key.as_ref(), Some(options), None)?, None)?;
    let sorted = sorted.slice(0, sorted.len() - sorted.logical_null_count());
    let comparator = make_comparator(&sorted, &sorted, SortOptions::default())?;
    let first_of = (0..sorted.len()).filter(|row| *row == 0 || comparator(*row, *row - 1).is_ne());
    let distinct: Vec<usize> = first_of.take(limit + 1).collect();
    let scalar = |row: usize| Scalar::from_array(sorted.as_ref(), row, data_type);
    if distinct.len() <= limit {
        return Ok(JoinBounds::Values(
            distinct.into_iter().filter_map(|row| scalar(row).transpose()).collect::<Result<_>>()?,
        ));
    }
    Ok(match (scalar(0)?, scalar(sorted.len() - 1)?) {
        (Some(least), Some(greatest)) => JoinBounds::Between(least, greatest),
        _ => JoinBounds::Unknown,
    })
}

#[cfg(test)]
#[path = "join_tests.rs"]
mod tests;
