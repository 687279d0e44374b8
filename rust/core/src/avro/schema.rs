//! The writer's schema (Avro specification, "Schema Declaration") as a tree, with the attributes that table formats
//! use.
//!
//! Named types are shared (`Arc`), so a type that many fields reference is stored only once. [`super::parse`] rejects
//! cycles, depth above [`MAX_DEPTH`] and trees whose expansion has more than [`MAX_NODES`] nodes. Code that walks a
//! schema may therefore recurse.

use std::sync::Arc;

use arrow_schema::TimeUnit;

/// The maximum nesting depth of types, with named types resolved.
pub const MAX_DEPTH: usize = 64;

/// The maximum number of nodes in a schema, with every name replaced by its definition.
pub const MAX_NODES: usize = 100_000;

/// One type of the writer's schema.
#[derive(Debug, Clone, PartialEq)]
pub struct Schema {
    /// The encoding on the wire.
    pub shape: Shape,
    /// The logical type, if it is known and fits the shape; other logical types are ignored, as Avro requires.
    pub logical: Option<Logical>,
    /// The ids of the parts, if the writer assigned any.
    pub ids: PartIds,
}

/// The encoding on the wire.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// No bytes.
    Null,
    /// One byte, 0 or 1.
    Boolean,
    /// A zigzag varint of 32 bits.
    Int,
    /// A zigzag varint of 64 bits.
    Long,
    /// Four bytes, little-endian.
    Float,
    /// Eight bytes, little-endian.
    Double,
    /// A length and that many bytes.
    Bytes,
    /// A length and that many bytes of UTF-8.
    String,
    /// This many bytes.
    Fixed(usize),
    /// A length, which must equal this one, and the bytes: some writers write `fixed` this way, see
    /// [`Schema::with_sized_fixed`].
    SizedFixed(usize),
    /// An index into these symbols.
    Enum(Arc<[String]>),
    /// The fields, one after the other.
    Record(Arc<Record>),
    /// Blocks of items.
    Array(Arc<Schema>),
    /// Blocks of (string key, value).
    Map(Arc<Schema>),
    /// The index of a branch and its value.
    Union(Arc<[Schema]>),
}

/// A known logical type with a shape that it fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Logical {
    /// Days since 1970-01-01, on `int`.
    Date,
    /// Time of day: `Millisecond` on `int`, `Microsecond` on `long`.
    Time(TimeUnit),
    /// Units since 1970-01-01T00:00:00, on `long`.
    Timestamp {
        /// The unit of the stored integer.
        unit: TimeUnit,
        /// Whether it is an instant: `adjust-to-utc`, or, if that is missing, whether the type is not a `local-` one.
        utc: bool,
    },
    /// A big-endian two's complement integer with `scale` digits after the point, on `bytes` or `fixed`.
    Decimal {
        /// The total number of digits, at least 1.
        precision: u32,
        /// The number of digits after the point, at most `precision`.
        scale: u32,
    },
    /// On `fixed` of 16 bytes, or on `string` as hexadecimal digits.
    Uuid,
    /// Months, days and milliseconds, on `fixed` of 12 bytes.
    Duration,
    /// A map, on an array of records with two fields.
    Map,
    /// A semi-structured value, on a record.
    Variant,
}

/// The ids that a writer assigned to the parts of an array or a map.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PartIds {
    /// `element-id` of an array.
    pub element: Option<i32>,
    /// `key-id` of a map.
    pub key: Option<i32>,
    /// `value-id` of a map.
    pub value: Option<i32>,
}

/// A record type.
#[derive(Debug, PartialEq)]
pub struct Record {
    /// The full name.
    pub name: String,
    /// The fields in wire order. Names are distinct.
    pub fields: Vec<Field>,
    min_width_bytes: usize,
    nodes: usize,
    depth: usize,
}

/// A field of a record.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// The name.
    pub name: String,
    /// The aliases.
    pub aliases: Vec<String>,
    /// `field-id`.
    pub id: Option<i32>,
    /// The type.
    pub schema: Schema,
}

impl Schema {
    /// Returns a type of this shape without attributes.
    pub(super) fn plain(shape: Shape) -> Self {
        Self { shape, logical: None, ids: PartIds::default() }
    }

    /// Returns the type of non-null values: for a union of null and one type, that type; for a type that is not a
    /// union, the type itself. `None` for unions of several types. A union of only null returns null.
    pub fn non_null(&self) -> Option<&Self> {
        let Shape::Union(branches) = &self.shape else { return Some(self) };
        let mut others = branches.iter().filter(|branch| branch.shape != Shape::Null);
        match (others.next(), others.next()) {
            (Some(only), None) => Some(only),
            (None, _) => branches.first(),
            (Some(_), Some(_)) => None,
        }
    }

    /// Returns whether values may be null.
    pub fn is_nullable(&self) -> bool {
        match &self.shape {
            Shape::Null => true,
            Shape::Union(branches) => branches.iter().any(|branch| branch.shape == Shape::Null),
            _ => false,
        }
    }

    /// Returns the schema with a length prefix on every `fixed` without a logical type that is a field of the record in
    /// the field with this id. None if there is no such `fixed`.
    pub fn with_sized_fixed(&self, id: i32) -> Option<Self> {
        self.map_record(&|field| {
            if field.id == Some(id) {
                return field.schema.map_record(&|part| part.schema.map_fixed());
            }
            field.schema.with_sized_fixed(id)
        })
    }

    /// Returns the schema with the types of its record's fields replaced by the results of `change`. None if `change`
    /// returns None for every field.
    fn map_record(&self, change: &dyn Fn(&Field) -> Option<Self>) -> Option<Self> {
        let changed = match &self.shape {
            Shape::Record(record) => {
                let changed: Vec<Option<Self>> = record.fields.iter().map(change).collect();
                if changed.iter().all(Option::is_none) {
                    return None;
                }
                let typed = |(field, schema): (&Field, Option<Self>)| Field {
                    schema: schema.unwrap_or_else(|| field.schema.clone()),
                    ..field.clone()
                };
                let fields = record.fields.iter().zip(changed).map(typed).collect();
                Shape::Record(Arc::new(Record::new(record.name.clone(), fields)))
            }
            Shape::Union(branches) => union_of(branches, |branch| branch.map_record(change))?,
            _ => return None,
        };
        Some(Self { shape: changed, ..self.clone() })
    }

    fn map_fixed(&self) -> Option<Self> {
        let changed = match &self.shape {
            Shape::Fixed(size) if self.logical.is_none() => Shape::SizedFixed(*size),
            Shape::Union(branches) => union_of(branches, Self::map_fixed)?,
            _ => return None,
        };
        Some(Self { shape: changed, ..self.clone() })
    }

    /// Returns the record type, whether or not it is in a nullable union.
    pub fn as_record(&self) -> Option<&Record> {
        match &self.non_null()?.shape {
            Shape::Record(record) => Some(record),
            _ => None,
        }
    }

    /// Returns the minimum number of bytes of a value. Zero means that every value is empty.
    pub fn min_width_bytes(&self) -> usize {
        match &self.shape {
            Shape::Null => 0,
            Shape::Float => 4,
            Shape::Double => 8,
            Shape::Fixed(size) => *size,
            Shape::Record(record) => record.min_width_bytes,
            Shape::Union(branches) => {
                1_usize.saturating_add(branches.iter().map(Self::min_width_bytes).min().unwrap_or(0))
            }
            _ => 1,
        }
    }

    /// Returns the number of nodes in the tree, with every name replaced by its definition.
    pub(super) fn nodes(&self) -> usize {
        let below = match &self.shape {
            Shape::Record(record) => record.nodes,
            Shape::Array(part) | Shape::Map(part) => part.nodes(),
            Shape::Union(branches) => branches.iter().fold(0, |sum, branch| branch.nodes().saturating_add(sum)),
            _ => 0,
        };
        below.saturating_add(1)
    }

    /// Returns the length of the longest path to a leaf.
    pub(super) fn depth(&self) -> usize {
        let below = match &self.shape {
            Shape::Record(record) => record.depth,
            Shape::Array(part) | Shape::Map(part) => part.depth(),
            Shape::Union(branches) => branches.iter().map(Self::depth).max().unwrap_or(0),
            _ => 0,
        };
        below.saturating_add(1)
    }
}

/// Returns a union in which `change` replaces some branches; None if it replaces none.
fn union_of(branches: &[Schema], change: impl Fn(&Schema) -> Option<Schema>) -> Option<Shape> {
    let changed: Vec<Option<Schema>> = branches.iter().map(change).collect();
    if changed.iter().all(Option::is_none) {
        return None;
    }
    let branch = |(branch, changed): (&Schema, Option<Schema>)| changed.unwrap_or_else(|| branch.clone());
    Some(Shape::Union(branches.iter().zip(changed).map(branch).collect()))
}

impl Record {
    /// Creates a record of these fields, whose names must be distinct.
    pub(super) fn new(name: String, fields: Vec<Field>) -> Self {
        let sum = |of: fn(&Schema) -> usize| fields.iter().fold(0, |sum: usize, f| sum.saturating_add(of(&f.schema)));
        let (min_width_bytes, nodes) = (sum(Schema::min_width_bytes), sum(Schema::nodes));
        let depth = fields.iter().map(|field| field.schema.depth()).max().unwrap_or(0);
        Self { name, fields, min_width_bytes, nodes, depth }
    }
}
