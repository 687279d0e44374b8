//! Reassembles shredded variants (Parquet: `VariantShredding.md`).
//!
//! ```text
//! variant  := { metadata: binary, value?: binary, typed_value?: typed }
//! typed    := primitive | list of group | struct of (name: group)
//! group    := { value?: binary, typed_value?: typed }
//! ```
//!
//! If `typed_value` of a group is not NULL, it is the value. If it is a struct, `value` may also contain an object with
//! the fields that the struct lacks. If `typed_value` is NULL, `value` is the value. If both are NULL, the field is
//! missing; if a value is required, it is null. The struct's fields take precedence over fields of the same name in
//! `value`, which the specification does not allow.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    Time64MicrosecondType, TimestampMicrosecondType, TimestampNanosecondType,
};
use arrow_array::{Array, ArrayRef, BinaryArray, StructArray};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, Fields, TimeUnit};

use super::build::{self, FieldEntry};
use super::{MAX_DEPTH, Metadata, Value};
use crate::error::{Error, ErrorKind, Result};

const METADATA: &str = "metadata";
const VALUE: &str = "value";
const TYPED_VALUE: &str = "typed_value";

/// The encoded null value.
const NULL: u8 = 0;

/// Returns whether a variant with these fields has parts of its values in typed columns.
pub fn is_shredded(fields: &Fields) -> bool {
    fields.find(TYPED_VALUE).is_some()
}

/// Returns variants as plain pairs: a struct of the non-null binary fields `metadata` and `value`. NULL rows stay NULL.
///
/// # Errors
/// `CorruptData` if fields are missing, a value is duplicated, a field name is not in the dictionary or the bytes are
/// not a variant; `Unsupported` for typed columns of types that variants lack; `LimitExceeded` if it is nested more
/// than 128 levels deep or the values exceed 2 GiB.
pub fn unshred(array: &StructArray) -> Result<StructArray> {
    let metadata = binary(array, METADATA)?.ok_or_else(|| Error::corrupt("a variant has no metadata"))?;
    let group = Group::of(array, 0)?;
    // NULL rows do not need a value. The arrays of a file without typed columns can therefore be returned unchanged.
    let covered = |nulls| array.nulls().is_some_and(|outer| outer.contains(nulls));
    let plain = matches!(&group, Group { value: Some(value), typed: None, .. } if value.nulls().is_none_or(covered));
    let values = match group.value {
        Some(value) if plain => value,
        _ => put_together(&group, &metadata)?,
    };
    let fields = [METADATA, VALUE].map(|name| Arc::new(Field::new(name, DataType::Binary, false)));
    let columns: Vec<ArrayRef> = vec![Arc::new(metadata), Arc::new(values)];
    Ok(StructArray::try_new(Fields::from_iter(fields), columns, array.nulls().cloned())?)
}

fn put_together(group: &Group, metadata: &BinaryArray) -> Result<BinaryArray> {
    let rows = metadata.len();
    let mut offsets = Vec::with_capacity(rows + 1);
    offsets.push(0);
    let mut writer = VariantWriter { metadata: None, out: Vec::new(), fields: Vec::new(), starts: Vec::new() };
    for row in 0..rows {
        if group.nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row)) {
            if metadata.is_null(row) {
                return Err(Error::corrupt("a variant has no metadata").with("row", row));
            }
            writer.metadata = Some(Metadata::parse(metadata.value(row))?);
            if !writer.append(group, row).map_err(|error| error.with("row", row))? {
                writer.out.push(NULL);
            }
        }
        offsets.push(i32::try_from(writer.out.len()).map_err(|_| too_long())?);
    }
    let offsets = OffsetBuffer::new(offsets.into());
    Ok(BinaryArray::try_new(offsets, Buffer::from_vec(writer.out), None)?)
}

/// A `value` and a `typed_value`, each of which may be missing.
struct Group {
    nulls: Option<NullBuffer>,
    value: Option<BinaryArray>,
    typed: Option<Typed>,
}

enum Typed {
    Object {
        nulls: Option<NullBuffer>,
        fields: Vec<(String, Group)>,
    },
    Array {
        nulls: Option<NullBuffer>,
        offsets: OffsetBuffer<i32>,
        element: Box<Group>,
    },
    Primitive(ArrayRef),
    /// A string column as bytes; the bytes are declared to be UTF-8 but not validated.
    String(BinaryArray),
}

impl Group {
    fn of(array: &StructArray, depth: usize) -> Result<Self> {
        if depth > MAX_DEPTH {
            let message = format!("a variant is shredded more than {MAX_DEPTH} levels deep");
            return Err(Error::new(ErrorKind::LimitExceeded, message));
        }
        let typed = array.column_by_name(TYPED_VALUE).map(|typed| Typed::of(typed, depth)).transpose()?;
        Ok(Self { nulls: array.nulls().cloned(), value: binary(array, VALUE)?, typed })
    }

    fn of_any(array: &ArrayRef, depth: usize) -> Result<Self> {
        let Some(group) = array.as_struct_opt() else {
            return Err(Error::corrupt(format!(
                "a group of a shredded variant has the type {}, expected a struct",
                array.data_type()
            )));
        };
        Self::of(group, depth)
    }
}

impl Typed {
    fn of(array: &ArrayRef, depth: usize) -> Result<Self> {
        use DataType as D;
        Ok(match array.data_type() {
            D::Struct(fields) => {
                let columns = fields.iter().zip(array.as_struct().columns());
                let fields =
                    columns.map(|(field, column)| Ok((field.name().clone(), Group::of_any(column, depth + 1)?)));
                Self::Object { nulls: array.nulls().cloned(), fields: fields.collect::<Result<_>>()? }
            }
            D::List(_) => {
                let list = array.as_list::<i32>();
                let element = Box::new(Group::of_any(list.values(), depth + 1)?);
                Self::Array { nulls: array.nulls().cloned(), offsets: list.offsets().clone(), element }
            }
            D::LargeList(element) | D::ListView(element) | D::LargeListView(element) => {
                return Self::of(&arrow_cast::cast(array, &D::List(Arc::clone(element)))?, depth);
            }
            D::Dictionary(_, values) => return Self::of(&arrow_cast::cast(array, values)?, depth),
            D::Utf8 | D::LargeUtf8 | D::Utf8View => {
                Self::String(arrow_cast::cast(&arrow_cast::cast(array, &D::Utf8)?, &D::Binary)?.as_binary().clone())
            }
            D::LargeBinary | D::BinaryView => Self::Primitive(arrow_cast::cast(array, &D::Binary)?),
            D::Decimal32(p, s) | D::Decimal64(p, s) if *s >= 0 => {
                Self::Primitive(arrow_cast::cast(array, &D::Decimal128(*p, *s))?)
            }
            D::Decimal128(_, s) if *s >= 0 => Self::Primitive(Arc::clone(array)),
            D::Boolean
            | D::Int8
            | D::Int16
            | D::Int32
            | D::Int64
            | D::Float32
            | D::Float64
            | D::Date32
            | D::Time64(TimeUnit::Microsecond)
            | D::Timestamp(TimeUnit::Microsecond | TimeUnit::Nanosecond, _)
            | D::Binary
            | D::FixedSizeBinary(16) => Self::Primitive(Arc::clone(array)),
            other => return Err(Error::unsupported(format!("variants shredded into {other} are not supported"))),
        })
    }

    fn is_valid(&self, row: usize) -> bool {
        match self {
            Self::Object { nulls, .. } | Self::Array { nulls, .. } => {
                nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row))
            }
            Self::Primitive(array) => array.is_valid(row),
            Self::String(array) => array.is_valid(row),
        }
    }
}

/// A writer that appends values to `out`; `fields` and `starts` are stacks for the objects and arrays under
/// construction.
struct VariantWriter<'a> {
    metadata: Option<Metadata<'a>>,
    out: Vec<u8>,
    fields: Vec<FieldEntry<'a>>,
    starts: Vec<usize>,
}

impl<'a> VariantWriter<'a> {
    /// Appends the value of one row of a group; returns false if the value is missing.
    fn append(&mut self, group: &'a Group, row: usize) -> Result<bool> {
        if group.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
            return Ok(false);
        }
        let value = group.value.as_ref().filter(|value| value.is_valid(row)).map(|value| value.value(row));
        let typed = group.typed.as_ref().filter(|typed| typed.is_valid(row));
        match (typed, value) {
            (None, None) => return Ok(false),
            (None, Some(value)) => self.out.extend_from_slice(value),
            (Some(Typed::Object { fields, .. }), value) => self.object(fields, value, row)?,
            (Some(_), Some(_)) => return Err(Error::corrupt("a shredded variant has both a value and a typed value")),
            (Some(Typed::Array { offsets, element, .. }), None) => self.array(offsets, element, row)?,
            (Some(Typed::Primitive(array)), None) => primitive(&mut self.out, array, row)?,
            (Some(Typed::String(array)), None) => match std::str::from_utf8(array.value(row)) {
                Ok(text) => build::string(&mut self.out, text)?,
                Err(error) => return Err(Error::corrupt("a variant string is not valid UTF-8").caused_by(error)),
            },
        }
        Ok(true)
    }

    fn array(&mut self, offsets: &[i32], element: &'a Group, row: usize) -> Result<()> {
        let (first, start) = (self.starts.len(), self.out.len());
        let bounds = offsets.get(row).zip(offsets.get(row + 1));
        let bounds = bounds.and_then(|(a, b)| Some((usize::try_from(*a).ok()?, usize::try_from(*b).ok()?)));
        let Some((from, to)) = bounds else { return Err(Error::corrupt("list offsets are outside the values")) };
        for at in from..to {
            self.starts.push(self.out.len());
            if !self.append(element, at)? {
                self.out.push(NULL);
            }
        }
        build::array(&mut self.out, start, self.starts.get(first..).unwrap_or_default())?;
        self.starts.truncate(first);
        Ok(())
    }

    fn object(&mut self, shape: &'a [(String, Group)], rest: Option<&'a [u8]>, row: usize) -> Result<()> {
        let (first, start) = (self.fields.len(), self.out.len());
        for (name, group) in shape {
            let at = self.out.len();
            if self.append(group, row)? {
                let id = self.dictionary()?.id_of(name)?;
                let id = id.ok_or_else(|| {
                    Error::corrupt(format!("the metadata of a variant does not contain the field name {name:?}"))
                })?;
                self.fields.push(FieldEntry { name, id, start: at });
            }
        }
        if let Some(rest) = rest {
            self.rest(shape, rest)?;
        }
        build::object(&mut self.out, start, self.fields.get_mut(first..).unwrap_or_default())?;
        self.fields.truncate(first);
        Ok(())
    }

    /// Appends the fields of the encoded `object` for which `shape` has no columns.
    fn rest(&mut self, shape: &[(String, Group)], object: &'a [u8]) -> Result<()> {
        let (Value::Object(fields), size) = Value::parse(object)? else {
            return Err(Error::corrupt("a variant with shredded fields has a value that is not an object"));
        };
        let mut copied = 0;
        for at in 0..fields.len() {
            let (id, bytes) = fields.field(at)?;
            let name = self.dictionary()?.name(id)?;
            if shape.iter().any(|(shredded, _)| shredded == name) {
                continue;
            }
            let (_, length) = Value::parse(bytes)?;
            copied += length;
            if copied > size {
                return Err(Error::corrupt("the values of a variant overlap"));
            }
            self.fields.push(FieldEntry { name, id, start: self.out.len() });
            self.out.extend(bytes.iter().take(length));
        }
        Ok(())
    }

    fn dictionary(&self) -> Result<Metadata<'a>> {
        self.metadata.ok_or_else(|| Error::internal("a variant cannot be written before its metadata is known"))
    }
}

fn primitive(out: &mut Vec<u8>, array: &ArrayRef, row: usize) -> Result<()> {
    use DataType as D;
    macro_rules! number {
        ($type_id:expr, $arrow:ty) => {
            build::primitive(out, $type_id, &array.as_primitive::<$arrow>().value(row).to_le_bytes())
        };
    }
    match array.data_type() {
        D::Boolean => build::primitive(out, if array.as_boolean().value(row) { 1 } else { 2 }, &[]),
        D::Int8 => number!(3, Int8Type),
        D::Int16 => number!(4, Int16Type),
        D::Int32 => number!(5, Int32Type),
        D::Int64 => number!(6, Int64Type),
        D::Float64 => number!(7, Float64Type),
        D::Decimal128(precision, scale) => {
            build::decimal(out, array.as_primitive::<Decimal128Type>().value(row), *precision, scale.cast_unsigned());
        }
        D::Date32 => number!(11, Date32Type),
        D::Timestamp(TimeUnit::Microsecond, zone) => {
            number!(if zone.is_some() { 12 } else { 13 }, TimestampMicrosecondType);
        }
        D::Float32 => number!(14, Float32Type),
        D::Binary => build::long_bytes(out, 15, array.as_binary::<i32>().value(row))?,
        D::Time64(_) => number!(17, Time64MicrosecondType),
        D::Timestamp(_, zone) => number!(if zone.is_some() { 18 } else { 19 }, TimestampNanosecondType),
        D::FixedSizeBinary(_) => build::primitive(out, 20, array.as_fixed_size_binary().value(row)),
        other => return Err(Error::internal(format!("{other} is not a valid type of a shredded column"))),
    }
    Ok(())
}

fn binary(array: &StructArray, name: &str) -> Result<Option<BinaryArray>> {
    let Some(column) = array.column_by_name(name) else { return Ok(None) };
    match column.data_type() {
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::Dictionary(..) => {
            let plain = arrow_cast::cast(column, &DataType::Binary)?;
            Ok(Some(plain.as_binary().clone()))
        }
        other => Err(Error::corrupt(format!("the field {name} of a variant has the type {other}"))),
    }
}

fn too_long() -> Error {
    Error::new(ErrorKind::LimitExceeded, "the variants of a batch exceed 2 GiB").hint("read fewer rows per batch")
}
