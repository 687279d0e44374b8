//! Converts batches of any schema to rows of a table: matches columns by name, and converts them to the types and the
//! order of the table.
//!
//! Structs, lists and maps are converted part by part.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, ListArray, MapArray, RecordBatch, RecordBatchOptions, StructArray, UInt32Array, new_null_array,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_cast::display::array_value_to_string;
use arrow_schema::{DataType, FieldRef, Fields, Schema, SchemaRef};

use super::exact::is_convertible;
use super::keys::first_repeated;
use super::{Loss, RowNumbers, cast_exactly, is_list, lost_digits, places, unpacked};
use crate::error::{Error, Result};
use crate::nested::{Repeated, child};

/// The maximum number of characters of a value in errors.
const MOST_SHOWN: usize = 60;

/// A limit on the values of a column that is stricter than its Arrow type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// No limit.
    None,
    /// The maximum number of characters of a string.
    Characters(u32),
    /// The maximum number of bytes.
    Bytes(u32),
    /// Times must be a multiple of this number of units of their Arrow type.
    Ticks(i64),
}

/// The structure of a target.
#[derive(Debug, Clone)]
pub enum RowShape {
    /// A value without parts, or one that is converted as a whole.
    Leaf(Limit),
    /// A variant: a struct that is kept as a whole.
    Variant,
    /// A struct with these fields.
    Struct(Vec<Target>),
    /// A list with these elements.
    List(Box<Target>),
    /// A map with these keys and values.
    Map(Box<[Target; 2]>),
}

/// A column of a table, or a value inside one.
#[derive(Debug, Clone)]
pub struct Target {
    /// The Arrow field of the rows.
    pub field: FieldRef,
    /// The name of the type in errors.
    pub type_name: String,
    /// The structure of its values.
    pub shape: RowShape,
    /// The value if rows do not have the column, as an array of length 1; None for NULL.
    pub default: Option<ArrayRef>,
}

/// The rules that differ between table formats.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// The term in errors for a column that cannot be NULL: `required` or `NOT NULL`.
    pub not_null: &'static str,
    /// The function that returns the name of an input column's type in errors.
    pub type_name: fn(&DataType) -> String,
    /// The hint for a time with more digits than the column.
    pub digits_hint: &'static str,
    /// Whether a map with a duplicate key is rejected.
    pub unique_keys: bool,
}

/// A converter of batches to rows of a table.
#[derive(Debug)]
pub struct Aligner {
    targets: Vec<Target>,
    rules: Rules,
    arrow: SchemaRef,
    rows: usize,
}

/// The location of values, for errors.
struct AlignedPlace<'a> {
    rules: &'a Rules,
    name: &'a str,
    rows: &'a RowNumbers<'a>,
}

impl Aligner {
    /// Creates a converter for the columns of a table.
    pub fn new(targets: Vec<Target>, rules: Rules) -> Self {
        let fields: Fields = targets.iter().map(|target| target.field.clone()).collect();
        Self { arrow: Arc::new(Schema::new(fields)), targets, rules, rows: 0 }
    }

    /// Returns the Arrow schema of the rows.
    pub fn arrow(&self) -> &SchemaRef {
        &self.arrow
    }

    /// Returns the batch as rows of the table. Missing columns are NULL or have the default of the column.
    ///
    /// # Errors
    /// `InvalidArgument` with the column, if it is duplicated or its type cannot be converted to that of the table; also
    /// with the row, if a column that cannot be NULL is NULL or a value does not fit. The error of `unknown` for a
    /// column that the table does not have.
    pub fn align(&mut self, batch: &RecordBatch, unknown: impl Fn(&str) -> Error) -> Result<RecordBatch> {
        let names = batch.schema_ref().fields();
        let places = found(names, &self.targets, "", unknown)?;
        let values = |name: &str| places.get(name).map(|&place| batch.column(place).clone());
        let place = AlignedPlace { rules: &self.rules, name: "", rows: &RowNumbers::From(self.rows) };
        let columns = place.columns(&self.targets, &values, None, batch.num_rows())?;
        self.rows += batch.num_rows();
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        Ok(RecordBatch::try_new_with_options(self.arrow.clone(), columns, &options)?)
    }
}

/// Converts the values of one column to the type of `target`. The result may contain NULL even if the column cannot be
/// NULL. `first_row` is the number of the first row, for errors.
///
/// # Errors
/// See [`Aligner::align`].
pub fn align_column(target: &Target, rules: &Rules, values: &ArrayRef, first_row: usize) -> Result<ArrayRef> {
    AlignedPlace { rules, name: target.field.name(), rows: &RowNumbers::From(first_row) }.converted(target, values)
}

/// Returns the position of each column of `names` by name, all of which must be in `targets`.
fn found<'a>(
    names: &'a Fields,
    targets: &[Target],
    prefix: &str,
    unknown: impl Fn(&str) -> Error,
) -> Result<HashMap<&'a str, usize>> {
    let known: HashSet<&str> = targets.iter().map(|target| target.field.name().as_str()).collect();
    places(names, |name| known.contains(name), prefix, unknown)
}

impl AlignedPlace<'_> {
    fn at<'a>(&'a self, name: &'a str, rows: &'a RowNumbers<'a>) -> AlignedPlace<'a> {
        AlignedPlace { rules: self.rules, name, rows }
    }

    /// Returns the columns of `targets`, converted from the input columns; `parents` marks the rows in which a parent
    /// is NULL.
    fn columns(
        &self,
        targets: &[Target],
        found: &dyn Fn(&str) -> Option<ArrayRef>,
        parents: Option<&NullBuffer>,
        len: usize,
    ) -> Result<Vec<ArrayRef>> {
        let column = |target: &Target| {
            let field = &target.field;
            let name =
                if self.name.is_empty() { field.name().clone() } else { format!("{}.{}", self.name, field.name()) };
            let place = self.at(&name, self.rows);
            let values = match (found(field.name()), &target.default) {
                (Some(values), _) => place.converted(target, &values)?,
                (None, None) => new_null_array(field.data_type(), len),
                (None, Some(default)) => arrow_select::take::take(default, &UInt32Array::from_value(0, len), None)?,
            };
            place.check_not_null(target, &values, parents)?;
            Ok(values)
        };
        targets.iter().map(column).collect()
    }

    /// Rejects NULL in a column that cannot be NULL, except where a parent is NULL.
    fn check_not_null(&self, target: &Target, values: &ArrayRef, parents: Option<&NullBuffer>) -> Result<()> {
        if target.field.is_nullable() || values.logical_null_count() == 0 {
            return Ok(());
        }
        let nulls = values.logical_nulls();
        let is_null = |row: usize| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
        let inside = |row: usize| parents.is_some_and(|parents| parents.is_null(row));
        let row = (0..values.len()).find(|&row| is_null(row) && !inside(row));
        row.map_or(Ok(()), |row| {
            let (name, not_null) = (self.name, self.rules.not_null);
            let message = format!("the column `{name}` is {not_null}, but NULL in row {}", self.rows.number(row));
            Err(Error::invalid(message).with("column", name))
        })
    }

    fn converted(&self, target: &Target, values: &ArrayRef) -> Result<ArrayRef> {
        let values = &unpacked(values)?;
        let data_type = target.field.data_type();
        if values.data_type() == &DataType::Null {
            return Ok(new_null_array(data_type, values.len()));
        }
        let found = values.data_type();
        match &target.shape {
            RowShape::Variant if found.is_nested() => self.cast(target, Limit::None, values),
            RowShape::Leaf(limit) if is_convertible(found, data_type) => self.cast(target, *limit, values),
            RowShape::Struct(fields) if matches!(found, DataType::Struct(_)) => {
                self.converted_struct(target, fields, values.as_struct())
            }
            RowShape::List(element) if is_list(found) => {
                let parts = Repeated::of(values)?;
                let inner = RowNumbers::Inside(&parts.offsets, self.rows);
                let elements = self.part(element, &parts.values, &inner)?;
                Ok(Arc::new(ListArray::try_new(element.field.clone(), parts.offsets, elements, parts.nulls)?))
            }
            RowShape::Map(pair) if matches!(found, DataType::Map(..)) => {
                let [key, value] = pair.as_ref();
                let parts = Repeated::of(values)?;
                let inner = RowNumbers::Inside(&parts.offsets, self.rows);
                let unfit = || self.unfit(target, values);
                let entries = parts.values.as_struct_opt().ok_or_else(unfit)?;
                let keys = self.part(key, &child(entries, 0)?, &inner)?;
                self.check_keys(&keys, &parts.offsets)?;
                let columns = vec![keys, self.part(value, &child(entries, 1)?, &inner)?];
                let DataType::Map(entries_field, sorted) = data_type else { return Err(unfit()) };
                let DataType::Struct(fields) = entries_field.data_type() else { return Err(unfit()) };
                let entries = StructArray::try_new_with_length(fields.clone(), columns, None, entries.len())?;
                Ok(Arc::new(MapArray::try_new(entries_field.clone(), parts.offsets, entries, parts.nulls, *sorted)?))
            }
            _ if !values.is_empty() && values.logical_null_count() == values.len() => {
                Ok(new_null_array(data_type, values.len()))
            }
            _ => Err(self.unfit(target, values)),
        }
    }

    /// Rejects a map with a duplicate key.
    fn check_keys(&self, keys: &ArrayRef, offsets: &OffsetBuffer<i32>) -> Result<()> {
        if !self.rules.unique_keys {
            return Ok(());
        }
        first_repeated(keys, offsets)?.map_or(Ok(()), |map| {
            let message = format!("the map `{}` in row {} has a duplicate key", self.name, self.rows.number(map));
            Err(Error::invalid(message).with("column", self.name).hint("keep only one entry for each key"))
        })
    }

    /// Converts the elements of lists, or the keys or values of maps, to the type of `target`.
    fn part(&self, target: &Target, values: &ArrayRef, rows: &RowNumbers<'_>) -> Result<ArrayRef> {
        let name = format!("{}.{}", self.name, target.field.name());
        let place = self.at(&name, rows);
        let values = place.converted(target, values)?;
        place.check_not_null(target, &values, None)?;
        Ok(values)
    }

    fn converted_struct(&self, target: &Target, fields: &[Target], parent: &StructArray) -> Result<ArrayRef> {
        let name = self.name;
        let places = found(parent.fields(), fields, &format!("{name}."), |unknown| {
            Error::invalid(format!("the table has no field `{unknown}` in `{name}`")).with("column", name)
        })?;
        let parts = (0..parent.num_columns()).map(|i| child(parent, i)).collect::<Result<Vec<_>>>()?;
        let values = |name: &str| places.get(name).and_then(|&place| parts.get(place).cloned());
        let nulls = parent.nulls();
        let columns = self.columns(fields, &values, nulls, parent.len())?;
        let DataType::Struct(fields) = target.field.data_type() else {
            return Err(Error::internal("a struct target does not have a struct type"));
        };
        Ok(Arc::new(StructArray::try_new_with_length(fields.clone(), columns, nulls.cloned(), parent.len())?))
    }

    /// Converts values to the type of `target`; an error if a value would change or exceeds `limit`.
    fn cast(&self, target: &Target, limit: Limit, values: &ArrayRef) -> Result<ArrayRef> {
        let unfit = |row: usize, loss: Loss| {
            let (name, to) = (self.name, &target.type_name);
            let (number, value) = (self.rows.number(row), shown(values, row));
            let message = format!("the value of `{name}` in row {number} does not fit {to}: {value}");
            let error = Error::invalid(message).with("column", name);
            match loss {
                Loss::Value => error,
                Loss::Digits => error.hint(self.rules.digits_hint),
            }
        };
        let cast = cast_exactly(values, target.field.data_type(), unfit)?;
        match first_beyond(&cast, limit) {
            None => Ok(cast),
            Some((row, loss)) => Err(unfit(row, loss)),
        }
    }

    #[cold]
    fn unfit(&self, target: &Target, values: &ArrayRef) -> Error {
        let (name, found) = (self.name, (self.rules.type_name)(values.data_type()));
        let message =
            format!("the column `{name}` has the type {found}, which cannot be converted to {}", target.type_name);
        Error::invalid(message).with("column", name).hint("cast it, or change the column of the table first")
    }
}

/// Returns a value as text, shortened for errors.
fn shown(values: &dyn Array, row: usize) -> String {
    let text = array_value_to_string(values, row).unwrap_or_else(|_| "a value".to_string());
    match text.char_indices().nth(MOST_SHOWN) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

/// Returns the position of the first value that exceeds a limit, and the reason; None if all values are within the
/// limit.
fn first_beyond(values: &ArrayRef, limit: Limit) -> Option<(usize, Loss)> {
    let is_longer = |length: usize, limit: u32| u32::try_from(length).map_or(true, |length| length > limit);
    match limit {
        Limit::None => None,
        Limit::Characters(limit) => {
            let texts = values.as_string_opt::<i32>()?;
            // A string never has more characters than bytes.
            let too_long = |text: &str| is_longer(text.len(), limit) && is_longer(text.chars().count(), limit);
            texts.iter().position(|text| text.is_some_and(too_long)).map(|row| (row, Loss::Value))
        }
        Limit::Bytes(limit) => {
            let values = values.as_binary_opt::<i32>()?;
            let row = values.iter().position(|value| value.is_some_and(|value| is_longer(value.len(), limit)));
            row.map(|row| (row, Loss::Value))
        }
        Limit::Ticks(ticks) => lost_digits(values, ticks).map(|row| (row, Loss::Digits)),
    }
}
