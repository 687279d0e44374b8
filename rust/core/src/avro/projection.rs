//! What a reader wants out of a file: columns, found in the writer's records by id or by name, as Arrow types.

use arrow_schema::DataType;

use super::schema::{Record, Schema};
use crate::error::{Error, Result};

/// How a wanted field is found in the writer's record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Key {
    /// By its `field-id`.
    Id(i32),
    /// By its name, or else by an alias that the writer gave it.
    Name(String),
}

/// The columns wanted of a record, in the order of the output.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Projection {
    /// May be empty: rows are counted then.
    pub fields: Vec<Column>,
}

/// One wanted column.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Tried in this order; the first that the writer's record has is taken.
    pub keys: Vec<Key>,
    /// The name in the output.
    pub name: String,
    /// Whether a missing field or a null in it is corruption. The output field is nullable unless required.
    pub required: bool,
    /// The wanted type.
    pub kind: Kind,
}

/// The wanted type of a column or of a list's elements.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// A value of this Arrow type, converted while decoding. Conversions that lose nothing are done: int to long, long
    /// to int where every value fits, float to double, milliseconds to micro- and nanoseconds, bytes to and from text
    /// (checked), fixed to bytes, enum to text, text to UUID; the time zone of a timestamp is taken as wanted.
    Leaf(DataType),
    /// A record by its own keys. One behind a nullable union gives a nullable struct.
    Struct(Vec<Column>),
    /// An array; the elements' field is `element`, nullable.
    List(Box<Kind>),
    /// Some keys of a map with int keys (an array of key-value records, or an Avro map with decimal text as keys): a
    /// struct with one nullable child per key, in this order, named by the key's decimal text. Other keys are passed
    /// over; a key twice in one map is corruption, where it is noticed.
    Lookup {
        /// The wanted keys, distinct.
        keys: Vec<i32>,
        /// The wanted type of the values.
        value: DataType,
    },
    /// The bytes of each value on the wire, as `LargeBinary`, for a [`super::Writer`] whose field holds the very same type.
    Encoded,
    /// As the writer has it, with ids in the field metadata; see [`super::natural`].
    Natural,
    /// As [`Kind::Natural`], but decimals have 38 digits and texts are bytes: whether values keep to the precision and
    /// are UTF-8 is not checked.
    NaturalWide,
}

impl Projection {
    /// These columns.
    pub fn new(fields: impl IntoIterator<Item = Column>) -> Self {
        Self { fields: fields.into_iter().collect() }
    }

    /// Everything as the writer has it.
    ///
    /// # Errors
    /// `CorruptData` when the schema is no record.
    pub fn natural(schema: &Schema) -> Result<Self> {
        let columns: Vec<usize> = (0..root(schema)?.fields.len()).collect();
        Self::natural_columns(schema, &columns)
    }

    /// As [`Projection::natural_columns`], with [`Kind::NaturalWide`].
    ///
    /// # Errors
    /// As [`Projection::natural_columns`].
    pub fn wide_columns(schema: &Schema, columns: &[usize]) -> Result<Self> {
        let mut wide = Self::natural_columns(schema, columns)?;
        wide.fields.iter_mut().for_each(|column| column.kind = Kind::NaturalWide);
        Ok(wide)
    }

    /// The fields of the top-level record at these indexes as the writer has them.
    ///
    /// # Errors
    /// `CorruptData` when the schema is no record, `InvalidArgument` for an index that it does not have.
    pub fn natural_columns(schema: &Schema, columns: &[usize]) -> Result<Self> {
        let record = root(schema)?;
        let column = |&index: &usize| {
            let field = record.fields.get(index);
            let field = field.ok_or_else(|| Error::invalid(format!("there is no column {index}")))?;
            let column = Column::new(Key::Name(field.name.clone()), field.name.clone(), Kind::Natural);
            Ok(Column { required: !field.schema.is_nullable(), ..column })
        };
        Ok(Self { fields: columns.iter().map(column).collect::<Result<_>>()? })
    }
}

impl Column {
    /// An optional column.
    pub fn new(key: Key, name: impl Into<String>, kind: Kind) -> Self {
        Self { keys: vec![key], name: name.into(), required: false, kind }
    }

    /// Another key, tried after those before.
    #[must_use]
    pub fn or(mut self, key: Key) -> Self {
        self.keys.push(key);
        self
    }

    /// The same column, whose absence is corruption.
    #[must_use]
    pub fn required(mut self) -> Self {
        self.required = true;
        self
    }

    /// The index of the field that the first fitting key finds.
    pub(super) fn find(&self, record: &Record) -> Result<Option<usize>> {
        for key in &self.keys {
            let found = match key {
                Key::Id(id) => {
                    let mut found = (0..).zip(&record.fields).filter(|(_, f)| f.id == Some(*id)).map(|(i, _)| i);
                    let first = found.next();
                    if found.next().is_some() {
                        return Err(Error::corrupt(format!("two fields with id {id}")).with("field", &self.name));
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

/// The record whose values are the rows.
pub(super) fn root(schema: &Schema) -> Result<&Record> {
    schema.as_record().ok_or_else(|| Error::corrupt("the rows of the Avro file are no records"))
}
