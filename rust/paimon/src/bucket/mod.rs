//! Computes the bucket of a row (documentation: "Data Distribution", options `bucket-key` and `bucket-function.type`).

mod hive;
mod one_number;
#[cfg(test)]
mod tests;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, Int32Array, RecordBatch};
use arrow_cast::{CastOptions, cast_with_options};
use frazil_core::error::{Error, Result};
use frazil_core::hash::modulo::Modulo;
use frazil_core::hash::murmur3::hash_byte_arrays;

use crate::binary_row;
use crate::spec::options::Options;
use crate::spec::schema::TableSchema;
use crate::spec::types::{DataField, DataType};

/// The seed of Paimon's row hashes.
const SEED: u32 = 42;

/// The function that computes the bucket number from the values of the bucket key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BucketFunction {
    /// Murmur3 of the key, encoded as a row.
    #[default]
    Default,
    /// The key itself, a single INT or BIGINT.
    Mod,
    /// Hive's hash.
    Hive,
}

impl BucketFunction {
    /// Returns the function for a value of the option `bucket-function.type`.
    ///
    /// # Errors
    /// `Unsupported` for an unknown name.
    pub fn parse(name: &str) -> Result<Self> {
        match name.trim().to_ascii_lowercase().as_str() {
            "default" => Ok(Self::Default),
            "mod" => Ok(Self::Mod),
            "hive" => Ok(Self::Hive),
            _ => Err(Error::unsupported(format!("the bucket function `{name}` is not supported"))),
        }
    }
}

/// Returns the bucket, from 0 to `buckets` - 1, of each row of bucket keys. The keys are in the order of the option
/// `bucket-key`.
///
/// # Errors
/// `InvalidArgument` for fewer than one bucket, no key, keys whose Arrow types do not match `types`, and for `mod` any
/// key other than one INT or BIGINT; `Unsupported` for types that Hive's hash does not cover.
pub fn bucket_ids(function: BucketFunction, keys: &[ArrayRef], types: &[DataType], buckets: i32) -> Result<Int32Array> {
    if buckets < 1 {
        return Err(Error::invalid(format!("invalid number of buckets {buckets}")));
    }
    if keys.is_empty() {
        return Err(Error::invalid("the bucket key has no columns"));
    }
    match function {
        BucketFunction::Default => {
            let modulo =
                Modulo::by(buckets.unsigned_abs()).ok_or_else(|| Error::internal("the number of buckets is 0"))?;
            // Java takes the absolute value of the remainder, which equals the remainder of the absolute value.
            hashed(keys, types, |hash| modulo.remainder(hash.unsigned_abs()).cast_signed())
        }
        BucketFunction::Mod => modulo(keys, buckets),
        BucketFunction::Hive => {
            let hashes = hive::hashes(keys, types)?;
            Ok(hashes.into_iter().map(|hash| (hash & i32::MAX) % buckets).collect::<Vec<_>>().into())
        }
    }
}

/// Returns the bucket of each row of a batch, whose columns are found by name.
///
/// # Errors
/// `InvalidArgument` for tables whose buckets do not follow from the rows, and if a column (which the error names) is
/// missing or has another type.
pub fn of_rows(schema: &TableSchema, batch: &RecordBatch) -> Result<Int32Array> {
    let options = Options::new(schema.options.clone());
    let buckets = options.bucket()?;
    if buckets == -1 && schema.primary_keys.is_empty() {
        return Ok(Int32Array::from_value(0, batch.num_rows()));
    }
    if buckets < 1 {
        return Err(Error::invalid(format!(
            "with the option `bucket` = {buckets}, buckets are chosen when rows are written"
        ))
        .hint("only tables with a fixed number of buckets determine the bucket of a row"));
    }
    let fields = key_fields(schema, &options)
        .ok_or_else(|| Error::invalid("the table has buckets but no bucket key").hint("set the option `bucket-key`"))?;
    let mut keys = Vec::with_capacity(fields.len());
    let mut types = Vec::with_capacity(fields.len());
    for field in fields {
        let column = batch.column_by_name(&field.name);
        let column =
            column.ok_or_else(|| Error::invalid(format!("column `{}` is missing from the rows", field.name)))?;
        let wanted = field.data_type.arrow();
        let strict = CastOptions { safe: false, ..CastOptions::default() };
        let values = cast_with_options(column, &wanted, &strict).map_err(|e| {
            Error::invalid(format!("column `{}` has type {}, expected {wanted}", field.name, column.data_type()))
                .caused_by(e)
        })?;
        keys.push(values);
        types.push(field.data_type.clone());
    }
    let function = BucketFunction::parse(options.text("bucket-function.type").unwrap_or("default"))?;
    bucket_ids(function, &keys, &types, buckets)
}

/// Returns the columns of the bucket key: those of the option, else the trimmed primary key. Returns None if a column
/// is missing or there are none.
pub fn key_fields<'a>(schema: &'a TableSchema, options: &Options) -> Option<Vec<&'a DataField>> {
    let named = options.list("bucket-key");
    let names = if named.is_empty() { schema.trimmed_primary_keys() } else { named };
    let fields: Option<Vec<&DataField>> = names.iter().map(|name| schema.field(name)).collect();
    fields.filter(|fields| !fields.is_empty())
}

/// Returns the hash of each row of keys, as stored in the index of dynamic buckets.
///
/// # Errors
/// `InvalidArgument` for keys whose Arrow types do not match `types`.
pub fn row_hashes(keys: &[ArrayRef], types: &[DataType]) -> Result<Int32Array> {
    hashed(keys, types, |hash| hash)
}

/// Applies `then` to the hash of each row.
fn hashed(keys: &[ArrayRef], types: &[DataType], then: impl Fn(i32) -> i32) -> Result<Int32Array> {
    if let Some(hashes) = one_number::hashes(keys, types, &then) {
        return Ok(hashes.into());
    }
    Ok(hash_byte_arrays(&binary_row::encode(keys, types)?, SEED, then))
}

/// Returns the keys modulo `buckets`. NULL is treated as 0, because the slot of a NULL is zero.
fn modulo(keys: &[ArrayRef], buckets: i32) -> Result<Int32Array> {
    let divisor = i64::from(buckets);
    #[expect(clippy::cast_possible_truncation, reason = "a remainder of an i32 fits one")]
    let bucket = |key: i64| key.rem_euclid(divisor) as i32;
    if let [key] = keys {
        if let Some(key) = key.as_primitive_opt::<Int32Type>() {
            return Ok(key.iter().map(|key| bucket(i64::from(key.unwrap_or_default()))).collect::<Vec<_>>().into());
        }
        if let Some(key) = key.as_primitive_opt::<Int64Type>() {
            return Ok(key.iter().map(|key| bucket(key.unwrap_or_default())).collect::<Vec<_>>().into());
        }
    }
    let types: Vec<_> = keys.iter().map(|key| key.data_type().to_string()).collect();
    Err(Error::invalid(format!("the bucket function `mod` requires one INT or BIGINT, not {}", types.join(", "))))
}
