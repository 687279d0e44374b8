//! Determines the files that an overwrite replaces (Java's `FileStoreCommitImpl.overwritePartition`).

use std::collections::BTreeMap;

use arrow_array::{Array, ArrayRef, BinaryArray, BooleanArray, Scalar, StringArray, new_null_array};
use arrow_buffer::BooleanBuffer;
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType as ArrowType, TimeUnit};
use frazil_core::error::{Error, Result};

use super::request::Overwrite;
use crate::binary_row;
use crate::spec::json::shown;
use crate::spec::schema::TableSchema;
use crate::spec::types::DataType;

/// The partitions that an overwrite replaces. Partitions are rows with their arity.
#[derive(Debug)]
pub(crate) enum Replaced {
    All,
    /// Partitions with given values: for each column, its index in the partition key and an array of length 1; then the
    /// types.
    Equal(Vec<Vec<(usize, ArrayRef)>>, Vec<DataType>),
    /// The partitions that have new files.
    These(Vec<Vec<u8>>),
}

impl Replaced {
    /// Returns the partitions that an overwrite replaces; `added` are the partitions of new files.
    ///
    /// # Errors
    /// `InvalidArgument` if no partitions are given, a column is not a partition key, or a value is not of the type of
    /// its column; `InvalidArgument` for a new file in a partition that is not replaced.
    pub(crate) fn try_new(schema: &TableSchema, overwrite: &Overwrite, added: &BinaryArray) -> Result<Self> {
        let replaced = match overwrite {
            Overwrite::Table => Self::All,
            Overwrite::Dynamic => Self::These(added.iter().flatten().map(<[u8]>::to_vec).collect()),
            Overwrite::Partitions(specs) => {
                if specs.is_empty() || specs.iter().any(BTreeMap::is_empty) {
                    let message = "an overwrite of partitions needs at least one partition, and each partition at \
                        least one value";
                    return Err(Error::invalid(message).hint("to replace all rows, overwrite the table"));
                }
                let fields = schema.partition_keys.iter().filter_map(|key| schema.field(key));
                let types: Vec<DataType> = fields.map(|field| field.data_type.clone()).collect();
                let specs = specs.iter().map(|spec| partition_values(schema, &types, spec)).collect::<Result<_>>()?;
                Self::Equal(specs, types)
            }
        };
        if replaced.of(added)?.false_count() > 0 {
            return Err(Error::invalid("some rows belong to partitions that are not overwritten")
                .hint("overwrite their partitions too, or write these rows separately"));
        }
        Ok(replaced)
    }

    /// Returns whether each partition is replaced.
    pub(crate) fn of(&self, partitions: &BinaryArray) -> Result<BooleanArray> {
        let length = partitions.len();
        match self {
            Self::All => Ok(BooleanArray::new(BooleanBuffer::new_set(length), None)),
            Self::These(these) => {
                let is_one = |row: Option<&[u8]>| Some(row.is_some_and(|row| these.iter().any(|one| one == row)));
                Ok(partitions.iter().map(is_one).collect())
            }
            Self::Equal(specs, types) => {
                let places: Vec<usize> = (0..types.len()).collect();
                let columns = binary_row::decode_columns(partitions, types, &places)?;
                let mut any = BooleanBuffer::new_unset(length);
                for spec in specs {
                    let mut all = BooleanBuffer::new_set(length);
                    for (place, value) in spec {
                        let column =
                            columns.get(*place).ok_or_else(|| Error::internal("the partition has no such column"))?;
                        let equal = arrow_ord::cmp::not_distinct(column, &Scalar::new(value.clone()))?;
                        all = &all & equal.values();
                    }
                    any = &any | &all;
                }
                Ok(BooleanArray::new(any, None))
            }
        }
    }
}

/// Returns the values of a partition specification, with the indexes of their columns.
///
/// # Errors
/// `InvalidArgument` for a column that is not a partition key, or a value of another type.
pub(crate) fn partition_values(
    schema: &TableSchema,
    types: &[DataType],
    spec: &BTreeMap<String, Option<String>>,
) -> Result<Vec<(usize, ArrayRef)>> {
    let value = |(name, text): (&String, &Option<String>)| {
        let place = schema.partition_keys.iter().position(|key| key == name);
        let of = place.and_then(|place| Some((place, types.get(place)?)));
        let (place, data_type) = of.ok_or_else(|| {
            Error::invalid(format!("`{}` is not a partition key", shown(name)))
                .hint(format!("the partition keys are {}", schema.partition_keys.join(", ")))
        })?;
        // Unlike in Java, the folder name of NULL is an ordinary string here: NULL is None.
        match text.as_deref() {
            None => Ok((place, new_null_array(&data_type.arrow(), 1))),
            Some(text) => Ok((place, parsed(text, data_type).map_err(|error| error.with("column", shown(name)))?)),
        }
    };
    spec.iter().map(value).collect()
}

/// Parses a string as a value of the type. Strings that would be rounded or truncated identify another partition and
/// are rejected.
pub(super) fn parsed(text: &str, data_type: &DataType) -> Result<ArrayRef> {
    let refused = || Error::invalid(format!("`{}` is not a value of type {data_type}", shown(text)));
    let strict = CastOptions { safe: false, ..CastOptions::default() };
    let cast = |values: &dyn Array, to: &ArrowType| {
        cast_with_options(values, to, &strict).map_err(|error| refused().caused_by(error))
    };
    let texts = StringArray::from(vec![text]);
    let value = cast(&texts, &data_type.arrow())?;
    let exact = match data_type.arrow() {
        ArrowType::Decimal128(_, scale) => {
            !text.contains(['e', 'E']) && digits_after_point(text) <= usize::try_from(scale).unwrap_or(0)
        }
        ArrowType::Date32 => !text.contains([':', 'T', 't']),
        ArrowType::Timestamp(unit, _) | ArrowType::Time32(unit) | ArrowType::Time64(unit) => {
            digits_after_point(text) <= digits(unit)
        }
        _ => true,
    };
    if exact { Ok(value) } else { Err(refused().hint("write the value with the precision of the column")) }
}

/// Returns the number of digits after the decimal point, without trailing zeros.
fn digits_after_point(text: &str) -> usize {
    let Some((_, fraction)) = text.split_once('.') else { return 0 };
    let end = fraction.find(|character: char| !character.is_ascii_digit()).unwrap_or(fraction.len());
    fraction.get(..end).map_or(0, |fraction| fraction.trim_end_matches('0').len())
}

fn digits(unit: TimeUnit) -> usize {
    match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 3,
        TimeUnit::Microsecond => 6,
        TimeUnit::Nanosecond => 9,
    }
}
