//! The columns that a reader selects from a file, found in the writer's records by id or by name, and their Arrow
//! types.

use arrow_schema::DataType;

use super::schema::{Record, Schema};
use crate::error::{Error, Result};

/// The key by which a field is found in the writer's record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Key {
    /// The `field-id`.
    Id(i32),
    /// The name, or an alias in the writer's schema.
    Name(String),
}

/// The selected columns of a record, in output order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Projection {
    /// The columns; if empty, rows are only counted.
    pub fields: Vec<Column>,
}

/// A selected column.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// The keys, tried in order; the first that the writer's record has is used.
    pub keys: Vec<Key>,
    /// The name in the output.
    pub name: String,
    /// Whether a missing field or a null in it is an error. The output field is nullable unless required.
    pub required: bool,
    /// The requested type.
    pub kind: Kind,
}

/// The requested type of a column or of a list's elements.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// A value of this Arrow type, converted during decoding. Lossless conversions are supported: int to long, long to
    /// int if every value fits, float to double, milliseconds to micro- and nanoseconds; bytes to and from string
    /// (checked), fixed to bytes, enum to string, string to UUID. The time zone of a timestamp is set as requested.
    Leaf(DataType),
    /// A record, with columns found by their keys. A nullable union of a record becomes a nullable struct.
    Struct(Vec<Column>),
    /// An array; the field of its elements is `element` and nullable.
    List(Box<Kind>),
    /// Selected keys of a map with int keys (an array of key-value records, or an Avro map with decimal strings as
    /// keys): a struct with one nullable child per key, in this order, named by the key as a decimal string. Other keys
    /// are skipped; a duplicate key in a map is an error if it is detected.
    Lookup {
        /// The requested keys, which must be distinct.
        keys: Vec<i32>,
        /// The requested type of the values.
        value: DataType,
    },
    /// The encoded bytes of each value, as `LargeBinary`, for a [`super::Writer`] whose field has exactly the same
    /// type.
    Encoded,
    /// The writer's type, with ids in the field metadata; see [`super::natural`].
    Natural,
    /// The same as [`Kind::Natural`], but decimals have 38 digits and strings are binary: values are not checked for
    /// precision or UTF-8.
    NaturalWide,
}

impl Projection {
    /// Creates a projection of these columns.
    pub fn new(fields: impl IntoIterator<Item = Column>) -> Self {
        Self { fields: fields.into_iter().collect() }
    }

    /// Creates a projection of all columns with the writer's types.
    ///
    /// # Errors
    /// `CorruptData` if the schema is not a record.
    pub fn natural(schema: &Schema) -> Result<Self> {
        let columns: Vec<usize> = (0..root(schema)?.fields.len()).collect();
        Self::natural_columns(schema, &columns)
    }

    /// Creates the projection of [`Projection::natural_columns`], with [`Kind::NaturalWide`].
    ///
    /// # Errors
    /// See [`Projection::natural_columns`].
    pub fn wide_columns(schema: &Schema, columns: &[usize]) -> Result<Self> {
        let mut wide = Self::natural_columns(schema, columns)?;
        wide.fields.iter_mut().for_each(|column| column.kind = Kind::NaturalWide);
        Ok(wide)
    }

    /// Creates a projection of the top-level fields at these indexes, with the writer's types.
    ///
    /// # Errors
    /// `CorruptData` if the schema is not a record, `InvalidArgument` for an index that it does not have.
    pub fn natural_columns(schema: &Schema, columns: &[usize]) -> Result<Self> {
        let record = root(schema)?;
        let column = |&index: &usize| {
            let field = record.fields.get(index);
            let field = field.ok_or_else(|| Error::invalid(format!("column {index} does not exist")))?;
            let column = Column::new(Key::Name(field.name.clone()), field.name.clone(), Kind::Natural);
            Ok(Column { required: !field.schema.is_nullable(), ..column })
        };
        Ok(Self { fields: columns.iter().map(column).collect::<Result<_>>()? })
    }
}

impl Column {
    /// Creates an optional column.
    pub fn new(key: Key, name: impl Into<String>, kind: Kind) -> Self {
        Self { keys: vec![key], name: name.into(), required: false, kind }
    }

    /// Adds another key, which is tried after the existing ones.
    #[must_use]
    pub fn or(mut self, key: Key) -> Self {
        self.keys.push(key);
        self
    }

    /// Makes the column required: a missing field or a null is an error.
    #[must_use]
    pub fn required(mut self) -> Self {
        self.required = true;
        self
    }

    /// Returns the index of the writer's field for the first key that finds one; `None` if no key does.
    pub(super) fn find(&self, record: &Record) -> Result<Option<usize>> {
        for key in &self.keys {
            let found = match key {
                Key::Id(id) => {
                    let mut found = (0..).zip(&record.fields).filter(|(_, f)| f.id == Some(*id)).map(|(i, _)| i);
                    let first = found.next();
                    if found.next().is_some() {
                        return Err(Error::corrupt(format!("two fields have the id {id}")).with("field", &self.name));
                    }
                    first
                }
                Key::Name(name) => {
                    let named = record.fields.iter().position(|field| field.name == *name);
                    named.or_else(|| record.fields.iter().position(|field| field.aliases.contains(name)))
                }
            };
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }
}

/// Returns the record type of the rows.
pub(super) fn root(schema: &Schema) -> Result<&Record> {
    schema.as_record().ok_or_else(|| Error::corrupt("the rows of the Avro file are not records"))
}
