//! The writer's schema (Avro specification, "Schema Declaration") as a tree, with the attributes that tables use.
//!
//! Named types are shared (`Arc`), so a type that many fields name costs its definition once; [`super::parse`] refuses
//! cycles, depth above [`MAX_DEPTH`] and trees whose expansion has more than [`MAX_NODES`] nodes. Everything that walks
//! a schema may therefore recurse.

use std::sync::Arc;

use arrow_schema::TimeUnit;

/// How deep types may nest, named types resolved.
pub const MAX_DEPTH: usize = 64;

/// How many nodes a schema may have once every name is replaced by what it names.
pub const MAX_NODES: usize = 100_000;

/// One type of the writer's schema.
#[derive(Debug, Clone, PartialEq)]
pub struct Schema {
    /// What is on the wire.
    pub shape: Shape,
    /// What it means, where the logical type is known and fits the shape; others are ignored, as Avro demands.
    pub logical: Option<Logical>,
    /// The ids of the parts, where the writer gave any.
    pub ids: PartIds,
}

/// What is on the wire.
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
    /// A length, which is this one, and the bytes: how some writers write `fixed`, see [`Schema::with_sized_fixed`].
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

/// A known logical type on a shape that it fits.
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
        /// Whether it names an instant: `adjust-to-utc`, or without it whether the type is not a `local-` one.
        utc: bool,
    },
    /// A big-endian two's complement integer with `scale` digits after the point, on `bytes` or `fixed`.
    Decimal {
        /// Digits in all, at least 1.
        precision: u32,
        /// Digits after the point, at most `precision`.
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

/// Ids that a writer gives to the parts of an array or a map.
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
    /// In the order of the wire. Names are distinct.
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
    /// Other names that it answers to.
    pub aliases: Vec<String>,
    /// `field-id`.
    pub id: Option<i32>,
    /// The type.
    pub schema: Schema,
}

impl Schema {
    /// A type of this shape without attributes.
    pub(super) fn plain(shape: Shape) -> Self {
        Self { shape, logical: None, ids: PartIds::default() }
    }

    /// What a union of null and one other type holds besides null, or the type itself where it is no union. `None` for
    /// unions of several types; a union of nothing but null gives that null.
    pub fn non_null(&self) -> Option<&Self> {
        let Shape::Union(branches) = &self.shape else { return Some(self) };
        let mut others = branches.iter().filter(|branch| branch.shape != Shape::Null);
        match (others.next(), others.next()) {
            (Some(only), None) => Some(only),
            (None, _) => branches.first(),
            (Some(_), Some(_)) => None,
        }
    }

    /// Whether values may be null.
    pub fn is_nullable(&self) -> bool {
        match &self.shape {
            Shape::Null => true,
            Shape::Union(branches) => branches.iter().any(|branch| branch.shape == Shape::Null),
            _ => false,
        }
    }

    /// The same schema, in which every `fixed` without a logical type that is a field of the record in the field of this
    /// id has a length before its bytes. None if there is no such `fixed`.
    pub fn with_sized_fixed(&self, id: i32) -> Option<Self> {
        self.map_record(&|field| {
            if field.id == Some(id) {
                return field.schema.map_record(&|part| part.schema.map_fixed());
            }
            field.schema.with_sized_fixed(id)
        })
    }

    /// The schema with other types for fields of its record; None if `change` changes none.
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

    /// The record that this is, behind a nullable union or not.
    pub fn as_record(&self) -> Option<&Record> {
        match &self.non_null()?.shape {
            Shape::Record(record) => Some(record),
            _ => None,
        }
    }

    /// The least bytes that a value takes. Zero means that every value takes none.
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

    /// How many nodes the tree has with every name replaced by what it names.
    pub(super) fn nodes(&self) -> usize {
        let below = match &self.shape {
            Shape::Record(record) => record.nodes,
            Shape::Array(part) | Shape::Map(part) => part.nodes(),
            Shape::Union(branches) => branches.iter().fold(0, |sum, branch| branch.nodes().saturating_add(sum)),
            _ => 0,
        };
        below.saturating_add(1)
    }

    /// The length of the longest path to a leaf.
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

/// A union with some branches changed; None if none is.
fn union_of(branches: &[Schema], change: impl Fn(&Schema) -> Option<Schema>) -> Option<Shape> {
    let changed: Vec<Option<Schema>> = branches.iter().map(change).collect();
    if changed.iter().all(Option::is_none) {
        return None;
    }
    let branch = |(branch, changed): (&Schema, Option<Schema>)| changed.unwrap_or_else(|| branch.clone());
    Some(Shape::Union(branches.iter().zip(changed).map(branch).collect()))
}

impl Record {
    /// A record of these fields, whose names are distinct.
    pub(super) fn new(name: String, fields: Vec<Field>) -> Self {
        let sum = |of: fn(&Schema) -> usize| fields.iter().fold(0, |sum: usize, f| sum.saturating_add(of(&f.schema)));
        let (min_width_bytes, nodes) = (sum(Schema::min_width_bytes), sum(Schema::nodes));
        let depth = fields.iter().map(|field| field.schema.depth()).max().unwrap_or(0);
        Self { name, fields, min_width_bytes, nodes, depth }
    }
}
