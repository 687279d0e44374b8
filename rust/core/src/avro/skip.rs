//! Skips unselected values. Adjacent values are merged: a record of three longs and a double is one run of varints and
//! one jump, and an array of such records is one longer run.

use super::schema::{Schema, Shape};
use super::wire::Wire;
use crate::error::Result;

/// The way to skip one value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Skip {
    /// A number of bytes.
    Bytes(usize),
    /// A number of varints.
    Varints(u64),
    /// A number of lengths, each followed by its bytes.
    Sized(u64),
    /// The selected branch of a union.
    Union(Box<[Skip]>),
    /// Blocks of items.
    Items { item: Box<Skip>, min_width_bytes: usize },
    /// A sequence of values.
    All(Vec<Skip>),
}

impl Skip {
    /// Creates the skip of a value of `schema`.
    pub(super) fn new(schema: &Schema) -> Self {
        match &schema.shape {
            Shape::Null => Self::Bytes(0),
            Shape::Boolean => Self::Bytes(1),
            Shape::Int | Shape::Long | Shape::Enum(_) => Self::Varints(1),
            Shape::Float => Self::Bytes(4),
            Shape::Double => Self::Bytes(8),
            Shape::Bytes | Shape::String | Shape::SizedFixed(_) => Self::Sized(1),
            Shape::Fixed(size) => Self::Bytes(*size),
            Shape::Record(record) => Self::all(record.fields.iter().map(|field| Self::new(&field.schema))),
            Shape::Array(items) => {
                Self::Items { item: Box::new(Self::new(items)), min_width_bytes: items.min_width_bytes() }
            }
            Shape::Map(values) => Self::Items {
                item: Box::new(Self::all([Self::Sized(1), Self::new(values)])),
                min_width_bytes: values.min_width_bytes().saturating_add(1),
            },
            Shape::Union(branches) => Self::Union(branches.iter().map(Self::new).collect()),
        }
    }

    /// Creates the skip of a sequence of values.
    pub(super) fn all(parts: impl IntoIterator<Item = Self>) -> Self {
        let mut merged: Vec<Self> = Vec::new();
        for part in parts {
            let parts = if let Self::All(inner) = part { inner } else { vec![part] };
            for part in parts {
                push(&mut merged, part);
            }
        }
        match merged.len() {
            0 => Self::Bytes(0),
            1 => merged.remove(0),
            _ => Self::All(merged),
        }
    }

    /// Skips one value.
    #[inline]
    pub(super) fn run(&self, wire: &mut Wire<'_>) -> Result<()> {
        match self {
            Self::Varints(n) => wire.skip_varints(*n),
            Self::Sized(n) => wire.skip_sized(*n),
            _ => self.run_compound(wire),
        }
    }

    fn run_compound(&self, wire: &mut Wire<'_>) -> Result<()> {
        match self {
            Self::Bytes(n) => wire.take(*n).map(drop),
            Self::Varints(n) => wire.skip_varints(*n),
            Self::Sized(n) => wire.skip_sized(*n),
            Self::Union(branches) => {
                let index = wire.long()?;
                match usize::try_from(index).ok().and_then(|index| branches.get(index)) {
                    Some(branch) => branch.run(wire),
                    None => Err(wire.error(format_args!("a union has no branch {index}"))),
                }
            }
            Self::Items { item, min_width_bytes } => {
                while let Some(items) = wire.items(*min_width_bytes)? {
                    match items.size_bytes {
                        Some(size) => wire.take_declared(size).map(drop)?,
                        None => item.repeat(items.count, wire)?,
                    }
                }
                Ok(())
            }
            Self::All(parts) => parts.iter().try_for_each(|part| part.run(wire)),
        }
    }

    /// Skips `count` values. The caller has checked that the bytes suffice for as many values of the minimum width.
    pub(super) fn repeat(&self, count: u64, wire: &mut Wire<'_>) -> Result<()> {
        match self {
            Self::Bytes(width) => {
                let width = u64::try_from(*width).unwrap_or(u64::MAX);
                wire.take(usize::try_from(count.saturating_mul(width)).unwrap_or(usize::MAX)).map(drop)
            }
            Self::Varints(n) => wire.skip_varints(count.saturating_mul(*n)),
            Self::Sized(n) => wire.skip_sized(count.saturating_mul(*n)),
            // Maps from ids to bytes, such as column statistics, have a faster path.
            Self::All(parts) if matches!(parts.as_slice(), [Self::Varints(1), Self::Sized(1)]) => {
                wire.skip_keyed(count)
            }
            // All other values have at least one byte, so a wrong count fails at the end of the block.
            _ => (0..count).try_for_each(|_| self.run(wire)),
        }
    }
}

/// Appends `part`, or merges it with the last one if both are of the same type.
fn push(parts: &mut Vec<Skip>, part: Skip) {
    match (parts.last_mut(), part) {
        (_, Skip::Bytes(0)) => {}
        (Some(Skip::Bytes(sum)), Skip::Bytes(n)) => *sum = sum.saturating_add(n),
        (Some(Skip::Varints(sum)), Skip::Varints(n)) | (Some(Skip::Sized(sum)), Skip::Sized(n)) => {
            *sum = sum.saturating_add(n);
        }
        (_, part) => parts.push(part),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skip(json: &str) -> Skip {
        Skip::new(&Schema::parse(json.as_bytes()).unwrap())
    }

    #[test]
    fn neighbours_merge_across_records() {
        let json = r#"{"type":"record","name":"r","fields":[{"name":"a","type":"long"},{"name":"n","type":"null"},
            {"name":"r2","type":{"type":"record","name":"s","fields":[{"name":"b","type":"int"},
            {"name":"c","type":"double"}]}},{"name":"d","type":"float"},{"name":"e","type":"string"}]}"#;
        assert_eq!(skip(json), Skip::All(vec![Skip::Varints(2), Skip::Bytes(12), Skip::Sized(1)]));
    }

    #[test]
    fn varints_end_where_single_steps_end() {
        let mut bytes = Vec::new();
        for i in 0..40_u8 {
            bytes.extend(std::iter::repeat_n(0x80, usize::from(i) % 5));
            bytes.push(1);
        }
        for n in 0..=40 {
            let mut expected = Wire::new(&bytes, 0);
            for _ in 0..n {
                expected.long().unwrap();
            }
            let mut wire = Wire::new(&bytes, 0);
            wire.skip_varints(n).unwrap();
            assert_eq!(wire.position(), expected.position(), "{n}");
        }
        assert!(Wire::new(&bytes, 0).skip_varints(41).is_err());
    }

    #[test]
    fn items_of_no_width_cost_nothing() {
        let array = skip(r#"{"type":"array","items":"null"}"#);
        let bytes = [0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0];
        let mut wire = Wire::new(&bytes, 0);
        array.run(&mut wire).unwrap();
        assert!(wire.is_empty());
    }

    #[test]
    fn a_sized_block_is_jumped_over() {
        let array = skip(r#"{"type":"array","items":["null","string"]}"#);
        // Two items in three bytes that are not valid items, then the end.
        let mut wire = Wire::new(&[3, 6, 0xff, 0xff, 0xff, 0], 0);
        array.run(&mut wire).unwrap();
        assert!(wire.is_empty());
        assert!(array.run(&mut Wire::new(&[3, 8, 0xff, 0xff, 0xff, 0], 0)).is_err());
        assert!(array.run(&mut Wire::new(&[3, 7, 0xff, 0xff, 0xff, 0], 0)).is_err());
    }
}
