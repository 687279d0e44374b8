//! Determines the leaf columns of a file to read: all that a wanted type has fields for, and no others.
//!
//! Leaves are counted depth-first over the whole file, as in Parquet.

use arrow_schema::{DataType as ArrowType, Field, Fields};
use frazil_core::error::{Error, ErrorKind, Result};

use crate::spec::types::{DataField, DataType, TypeRoot};

/// The maximum nesting depth of columns, which protects the stack.
const MAX_DEPTH: usize = 128;

/// The wanted part of a file column.
#[derive(Debug, Clone, Copy)]
pub(super) enum Wanted<'a> {
    Nothing,
    All,
    /// The fields that occur in this type, which is the type in the file's schema without unwanted fields.
    Part(&'a DataType),
}

/// The state that counts leaves and collects those that are wanted.
#[derive(Debug, Default)]
pub(super) struct Leaves {
    next: usize,
    pub(super) wanted: Vec<usize>,
}

impl Leaves {
    /// Visits the next column of the file.
    ///
    /// # Errors
    /// `LimitExceeded` if the column is nested too deep.
    pub(super) fn pass(&mut self, field: &Field, wanted: Wanted) -> Result<()> {
        self.column(field, wanted, 0)
    }

    fn column(&mut self, field: &Field, wanted: Wanted, depth: usize) -> Result<()> {
        use ArrowType as A;
        if depth > MAX_DEPTH {
            let message = format!("columns of the data file are nested deeper than {MAX_DEPTH} levels");
            return Err(Error::new(ErrorKind::LimitExceeded, message));
        }
        match field.data_type() {
            A::Struct(fields) => self.fields(fields, wanted, depth),
            A::List(element)
            | A::LargeList(element)
            | A::ListView(element)
            | A::LargeListView(element)
            | A::FixedSizeList(element, _) => {
                let wanted = match wanted {
                    Wanted::Part(DataType { root: TypeRoot::Array(element), .. }) => Wanted::Part(element),
                    // A map whose keys are not strings may be stored as a list of pairs. All leaves of such a list are
                    // read.
                    Wanted::Part(_) => Wanted::All,
                    other => other,
                };
                self.column(element, wanted, depth + 1)
            }
            A::Map(entries, _) => match (entries.data_type(), wanted) {
                // A reader returns a map only if all leaves of its key are read.
                (A::Struct(parts), Wanted::Part(DataType { root: TypeRoot::Map(_, value), .. })) => {
                    for (part, wanted) in parts.iter().zip([Wanted::All, Wanted::Part(value)]) {
                        self.column(part, wanted, depth + 1)?;
                    }
                    Ok(())
                }
                (_, Wanted::Part(_)) => self.column(entries, Wanted::All, depth + 1),
                (_, other) => self.column(entries, other, depth + 1),
            },
            _ => {
                if !matches!(wanted, Wanted::Nothing) {
                    self.wanted.push(self.next);
                }
                self.next += 1;
                Ok(())
            }
        }
    }

    fn fields(&mut self, fields: &Fields, wanted: Wanted, depth: usize) -> Result<()> {
        let Wanted::Part(DataType { root: TypeRoot::Row(parts), .. }) = wanted else {
            let wanted = if let Wanted::Part(_) = wanted { Wanted::All } else { wanted };
            return fields.iter().try_for_each(|field| self.column(field, wanted, depth + 1));
        };
        let (first, before) = (self.next, self.wanted.len());
        for field in fields {
            let part = named(parts, field.name()).map_or(Wanted::Nothing, |part| Wanted::Part(&part.data_type));
            self.column(field, part, depth + 1)?;
        }
        // If no field of a struct is wanted, a leaf is still read for the NULLs of the struct.
        if self.wanted.len() == before {
            let mut leaf = first;
            let cheapest = fields.iter().filter_map(|field| cheapest(field, &mut leaf, 0)).min();
            self.wanted.extend(cheapest.map(|(_, leaf)| leaf));
        }
        Ok(())
    }
}

/// Returns the field with a name.
pub(super) fn named<'a>(fields: &'a [DataField], name: &str) -> Option<&'a DataField> {
    fields.iter().find(|field| field.name == name)
}

/// Returns the cheapest leaf under `field`, with its cost. Lists and maps cost more than any leaf next to them.
fn cheapest(field: &Field, leaf: &mut usize, cost: u32) -> Option<(u32, usize)> {
    use ArrowType as A;
    let mut among = |fields: &Fields, cost| fields.iter().filter_map(|field| cheapest(field, leaf, cost)).min();
    match field.data_type() {
        A::Struct(fields) => among(fields, cost),
        A::List(part)
        | A::LargeList(part)
        | A::ListView(part)
        | A::LargeListView(part)
        | A::FixedSizeList(part, _)
        | A::Map(part, _) => cheapest(part, leaf, cost + 1000),
        other => {
            let own = match other {
                A::Boolean => 1,
                other => {
                    other.primitive_width().and_then(|width| u32::try_from(width).ok()).map_or(100, |width| width * 8)
                }
            };
            *leaf += 1;
            Some((cost + own, *leaf - 1))
        }
    }
}
