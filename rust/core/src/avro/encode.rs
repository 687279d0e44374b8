//! Encodes Arrow columns as rows of a writer's schema: the inverse of decoding by [`super::Projection::natural`].
//! Values of [`super::Kind::Encoded`] are copied.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, Time32MillisecondType, Time64MicrosecondType, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType,
};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Decimal128Array, FixedSizeBinaryArray, LargeBinaryArray,
    PrimitiveArray, RecordBatch, StringArray,
};
use arrow_buffer::{ArrowNativeType, NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, TimeUnit};

use super::schema::{Logical, Record, Schema, Shape};
use crate::error::{Error, Result};
use crate::hash::twos_complement_len;
use crate::hex;

/// The rows of a batch, prepared to be encoded one by one.
#[derive(Debug)]
pub(super) struct AvroRows {
    fields: Vec<EncodedNode>,
    len: usize,
}

/// A column and the encoding of its values.
#[derive(Debug)]
enum EncodedNode {
    Null,
    /// Values that are already encoded.
    Encoded(LargeBinaryArray),
    Boolean(BooleanArray),
    Int(PrimitiveArray<Int32Type>),
    Long(PrimitiveArray<Int64Type>),
    Float(PrimitiveArray<Float32Type>),
    Double(PrimitiveArray<Float64Type>),
    Bytes(BinaryArray),
    String(StringArray),
    Fixed(FixedSizeBinaryArray),
    /// Fixed-size values with a length prefix.
    SizedFixed(FixedSizeBinaryArray),
    /// A decimal in the minimum number of bytes.
    Decimal(Decimal128Array),
    /// A decimal in a fixed number of bytes.
    FixedDecimal(Decimal128Array, usize),
    /// A UUID of sixteen bytes, written as a string.
    UuidText(FixedSizeBinaryArray),
    Enum(StringArray, std::sync::Arc<[String]>),
    Record(Vec<EncodedNode>),
    List(OffsetBuffer<i32>, Box<EncodedNode>),
    /// A column that contains NULL in some row, although its schema does not allow null. Writing such a row is an
    /// error.
    Required(NullBuffer, Box<EncodedNode>),
    /// The only branch of a union.
    Branch(i64, Box<EncodedNode>),
    /// A union with null: the index of each branch, the null rows, and the other branch.
    Optional {
        null: i64,
        value: i64,
        nulls: Option<NullBuffer>,
        inner: Box<EncodedNode>,
    },
}

impl AvroRows {
    /// Prepares the columns of `batch` as the fields of `record`, by position.
    ///
    /// # Errors
    /// `Internal` if a column's type does not match the schema.
    pub(super) fn try_new(record: &Record, batch: &RecordBatch) -> Result<Self> {
        Ok(Self { fields: fields(record, batch.columns())?, len: batch.num_rows() })
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Appends a row to `out`.
    ///
    /// # Errors
    /// `Internal` for NULL if the schema does not allow it.
    pub(super) fn encode(&self, row: usize, out: &mut Vec<u8>) -> Result<()> {
        self.fields.iter().try_for_each(|field| field.encode(row, out))
    }
}

fn fields(record: &Record, columns: &[ArrayRef]) -> Result<Vec<EncodedNode>> {
    if record.fields.len() != columns.len() {
        let message = format!(
            "expected one column per record field, got {} columns for {} fields",
            columns.len(),
            record.fields.len()
        );
        return Err(Error::internal(message).with("record", &record.name));
    }
    let field = |(field, column): (&super::Field, _)| {
        EncodedNode::try_new(&field.schema, column).map_err(|e| e.with("field", &field.name))
    };
    record.fields.iter().zip(columns).map(field).collect()
}

impl EncodedNode {
    fn try_new(schema: &Schema, array: &ArrayRef) -> Result<Self> {
        if let Shape::Union(branches) = &schema.shape {
            return Self::optional(schema, branches, array);
        }
        let node = Self::typed(schema, array)?;
        // Values under a NULL parent are arbitrary, so rows are checked only when they are written.
        match array.logical_nulls().filter(|nulls| schema.shape != Shape::Null && nulls.null_count() > 0) {
            Some(nulls) => Ok(Self::Required(nulls, Box::new(node))),
            None => Ok(node),
        }
    }

    fn typed(schema: &Schema, array: &ArrayRef) -> Result<Self> {
        Self::value(schema, array)
            .ok_or_else(|| Error::internal(format!("the type {} does not match the Avro schema", array.data_type())))?
    }

    fn optional(schema: &Schema, branches: &[Schema], array: &ArrayRef) -> Result<Self> {
        let inner =
            schema.non_null().ok_or_else(|| Error::unsupported("writing a union of several types is not supported"))?;
        let index = |of: &dyn Fn(&Schema) -> bool| branches.iter().position(of).and_then(|i| i64::try_from(i).ok());
        let null = index(&|branch| branch.shape == Shape::Null);
        let value = index(&|branch| branch.shape != Shape::Null);
        let node = Self::typed(inner, array)?;
        let nulls = array.logical_nulls();
        match (null, value, nulls) {
            (None, value, Some(nulls)) if nulls.null_count() > 0 => {
                let inner = Self::Branch(value.unwrap_or(0), Box::new(node));
                Ok(Self::Required(nulls, Box::new(inner)))
            }
            (None, value, _) => Ok(Self::Branch(value.unwrap_or(0), Box::new(node))),
            (Some(null), value, nulls) => {
                Ok(Self::Optional { null, value: value.unwrap_or(null), nulls, inner: Box::new(node) })
            }
        }
    }

    /// Returns the node of a value; None if the types do not match.
    fn value(schema: &Schema, array: &ArrayRef) -> Option<Result<Self>> {
        Some(Ok(match (&schema.shape, array.data_type()) {
            (_, DataType::LargeBinary) => Self::Encoded(array.as_binary_opt()?.clone()),
            (Shape::Null | Shape::Fixed(0), _) => Self::Null,
            (Shape::Boolean, _) => Self::Boolean(array.as_boolean_opt()?.clone()),
            (Shape::Int, _) => Self::Int(int(array)?),
            (Shape::Long, _) => Self::Long(long(array)?),
            (Shape::Float, _) => Self::Float(array.as_primitive_opt()?.clone()),
            (Shape::Double, _) => Self::Double(array.as_primitive_opt()?.clone()),
            (Shape::Bytes, DataType::Decimal128(..)) => Self::Decimal(array.as_primitive_opt()?.clone()),
            (Shape::Bytes, DataType::FixedSizeBinary(_)) => Self::SizedFixed(array.as_fixed_size_binary_opt()?.clone()),
            (Shape::Bytes, _) => Self::Bytes(array.as_binary_opt()?.clone()),
            (Shape::String, DataType::FixedSizeBinary(16)) => Self::UuidText(array.as_fixed_size_binary_opt()?.clone()),
            (Shape::String, _) => Self::String(array.as_string_opt()?.clone()),
            (Shape::Fixed(size), DataType::Decimal128(..)) => {
                Self::FixedDecimal(array.as_primitive_opt::<Decimal128Type>()?.clone(), *size)
            }
            (Shape::Fixed(size), DataType::FixedSizeBinary(width)) => {
                (usize::try_from(*width) == Ok(*size)).then_some(())?;
                Self::Fixed(array.as_fixed_size_binary_opt()?.clone())
            }
            (Shape::Enum(symbols), _) => Self::Enum(array.as_string_opt()?.clone(), symbols.clone()),
            (Shape::Record(record), _) => {
                return Some(fields(record, array.as_struct_opt()?.columns()).map(Self::Record));
            }
            (Shape::Array(items), DataType::Map(..)) if schema.logical == Some(Logical::Map) => {
                let map = array.as_map_opt()?;
                let entries = items.as_record()?;
                let columns = [map.keys().clone(), map.values().clone()];
                let nodes = fields(entries, &columns).map(Self::Record);
                return Some(nodes.map(|node| Self::List(map.offsets().clone(), Box::new(node))));
            }
            (Shape::Array(items), _) => {
                let list = array.as_list_opt::<i32>()?;
                let node = Self::try_new(items, list.values());
                return Some(node.map(|node| Self::List(list.offsets().clone(), Box::new(node))));
            }
            (Shape::Map(values), _) => {
                let map = array.as_map_opt()?;
                let keys = Self::String(map.keys().as_string_opt()?.clone());
                let values = Self::try_new(values, map.values());
                return Some(
                    values.map(|values| Self::List(map.offsets().clone(), Box::new(Self::Record(vec![keys, values])))),
                );
            }
            (Shape::Fixed(_) | Shape::SizedFixed(_) | Shape::Union(_), _) => return None,
        }))
    }

    fn encode(&self, row: usize, out: &mut Vec<u8>) -> Result<()> {
        match self {
            Self::Null => {}
            Self::Encoded(array) => out.extend_from_slice(array.value(row)),
            Self::Boolean(array) => out.push(u8::from(array.value(row))),
            Self::Int(array) => long_to(i64::from(array.value(row)), out),
            Self::Long(array) => long_to(array.value(row), out),
            Self::Float(array) => out.extend_from_slice(&array.value(row).to_le_bytes()),
            Self::Double(array) => out.extend_from_slice(&array.value(row).to_le_bytes()),
            Self::Bytes(array) => sized_to(array.value(row), out),
            Self::String(array) => sized_to(array.value(row).as_bytes(), out),
            Self::Fixed(array) => out.extend_from_slice(array.value(row)),
            Self::SizedFixed(array) => sized_to(array.value(row), out),
            Self::Decimal(array) => {
                let value = array.value(row);
                let bytes = value.to_be_bytes();
                sized_to(bytes.get(16 - twos_complement_len(value)..).unwrap_or_default(), out);
            }
            Self::FixedDecimal(array, size) => fixed_decimal_to(array.value(row), *size, out)?,
            Self::UuidText(array) => {
                sized_to(hex::uuid(array.value(row).try_into().unwrap_or_default()).as_bytes(), out);
            }
            Self::Enum(array, symbols) => {
                let symbol = array.value(row);
                let index = symbols.iter().position(|known| known == symbol);
                let index = index.and_then(|index| i64::try_from(index).ok());
                long_to(index.ok_or_else(|| Error::internal(format!("the enum has no symbol {symbol:?}")))?, out);
            }
            Self::Record(fields) => fields.iter().try_for_each(|field| field.encode(row, out))?,
            Self::List(offsets, items) => list_to(offsets, items, row, out)?,
            Self::Required(nulls, _) if nulls.is_null(row) => {
                return Err(Error::internal("a required column contains NULL"));
            }
            Self::Required(_, inner) => inner.encode(row, out)?,
            Self::Branch(index, inner) => {
                long_to(*index, out);
                inner.encode(row, out)?;
            }
            Self::Optional { null, value, nulls, inner } => {
                if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
                    long_to(*null, out);
                } else {
                    long_to(*value, out);
                    inner.encode(row, out)?;
                }
            }
        }
        Ok(())
    }
}

/// Writes one block of all items, and the end marker.
fn list_to(offsets: &OffsetBuffer<i32>, items: &EncodedNode, row: usize, out: &mut Vec<u8>) -> Result<()> {
    let (start, end) = match offsets.get(row..row.saturating_add(2)) {
        Some(&[start, end]) => (start.as_usize(), end.as_usize()),
        _ => return Err(Error::internal("a row is beyond the end of its column")),
    };
    if start < end {
        long_to(i64::try_from(end - start).unwrap_or(i64::MAX), out);
        (start..end).try_for_each(|item| items.encode(item, out))?;
    }
    out.push(0);
    Ok(())
}

/// Writes an `int` or `long`: zigzag, seven bits per byte, lowest bits first.
#[inline]
pub(super) fn long_to(value: i64, out: &mut Vec<u8>) {
    let mut rest = ((value << 1) ^ (value >> 63)).cast_unsigned();
    while rest >= 0x80 {
        out.push(rest.to_le_bytes()[0] | 0x80);
        rest >>= 7;
    }
    out.push(rest.to_le_bytes()[0]);
}

/// Writes `bytes` or a `string`: the length, then the bytes.
#[inline]
pub(super) fn sized_to(bytes: &[u8], out: &mut Vec<u8>) {
    long_to(i64::try_from(bytes.len()).unwrap_or(i64::MAX), out);
    out.extend_from_slice(bytes);
}

fn fixed_decimal_to(value: i128, size: usize, out: &mut Vec<u8>) -> Result<()> {
    if size < twos_complement_len(value) {
        return Err(Error::internal(format!("a decimal does not fit in {size} bytes")));
    }
    let sign = if value < 0 { 0xff } else { 0 };
    out.extend(std::iter::repeat_n(sign, size.saturating_sub(16)));
    out.extend_from_slice(value.to_be_bytes().get(16_usize.saturating_sub(size)..).unwrap_or_default());
    Ok(())
}

/// Returns the underlying 32-bit integers of a type, widened if necessary.
fn int(array: &ArrayRef) -> Option<PrimitiveArray<Int32Type>> {
    match array.data_type() {
        DataType::Int8 => Some(array.as_primitive_opt::<Int8Type>()?.unary(i32::from)),
        DataType::Int16 => Some(array.as_primitive_opt::<Int16Type>()?.unary(i32::from)),
        DataType::Int32 => array.as_primitive_opt::<Int32Type>().cloned(),
        DataType::Date32 => reinterpreted::<Date32Type, Int32Type>(array),
        DataType::Time32(TimeUnit::Millisecond) => reinterpreted::<Time32MillisecondType, Int32Type>(array),
        _ => None,
    }
}

/// Returns the underlying 64-bit integers of a type.
fn long(array: &ArrayRef) -> Option<PrimitiveArray<Int64Type>> {
    match array.data_type() {
        DataType::Int64 => array.as_primitive_opt::<Int64Type>().cloned(),
        DataType::Time64(TimeUnit::Microsecond) => reinterpreted::<Time64MicrosecondType, Int64Type>(array),
        DataType::Timestamp(TimeUnit::Millisecond, _) => reinterpreted::<TimestampMillisecondType, Int64Type>(array),
        DataType::Timestamp(TimeUnit::Microsecond, _) => reinterpreted::<TimestampMicrosecondType, Int64Type>(array),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => reinterpreted::<TimestampNanosecondType, Int64Type>(array),
        _ => None,
    }
}

fn reinterpreted<From, To>(array: &ArrayRef) -> Option<PrimitiveArray<To>>
where
    From: ArrowPrimitiveType,
    To: ArrowPrimitiveType<Native = From::Native>,
{
    Some(array.as_primitive_opt::<From>()?.reinterpret_cast::<To>())
}
