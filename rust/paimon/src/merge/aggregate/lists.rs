//! References elements of lists, and entries of maps, by position.

use std::cell::OnceCell;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ListArray, MapArray};
use arrow_buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_row::{RowConverter, Rows, SortField};
use arrow_schema::DataType as ArrowType;
use arrow_select::interleave::interleave;
use frazil_core::error::{Error, ErrorKind, Result};

use super::picks::{ElementPick, Sources};
use super::subject::Subject;

/// The lists or maps that elements were picked from, and those that are built from the picks.
#[derive(Debug)]
pub(super) struct Lists {
    pub(super) subject: Subject,
    sources: Sources,
    /// The parts, one for each array of the sources.
    parts: Vec<ListPart>,
    /// The columns that determine whether elements are equal.
    identity: ListColumns,
    /// The columns that elements are ordered by.
    order: ListColumns,
    results: Results,
}

/// The elements of an array of lists.
#[derive(Debug)]
struct ListPart {
    elements: ArrayRef,
    offsets: OffsetBuffer<i32>,
    identities: OnceCell<Rows>,
    orders: OnceCell<Rows>,
}

#[derive(Debug, Default)]
struct Results {
    picks: Vec<ElementPick>,
    /// The end of each list in the picks; None is NULL.
    ends: Vec<Option<usize>>,
}

/// Columns of elements, encoded as bytes with the same equality and order as the values.
#[derive(Debug)]
struct ListColumns {
    /// The fields of the elements; None is the whole elements.
    fields: Option<Vec<usize>>,
    converter: Option<RowConverter>,
}

impl Lists {
    /// Creates lists whose elements are compared by the fields in `identity`, or as a whole if it is None.
    pub(super) fn try_new(subject: Subject, identity: Option<Vec<usize>>, order: Vec<usize>) -> Result<Self> {
        let element = element_type(&subject.data_type).ok_or_else(|| subject.wrong_type("ARRAY or MAP"))?;
        let identity = ListColumns::try_new(element, identity)?;
        let order = ListColumns::try_new(element, Some(order))?;
        let mut lists = Self {
            sources: Sources::new(&subject.data_type),
            parts: Vec::new(),
            identity,
            order,
            results: Results::default(),
            subject,
        };
        let null = lists.sources.array(0).and_then(ListPart::of);
        lists.parts.extend(null);
        Ok(lists)
    }

    /// References the elements of a list by position. Returns None for NULL.
    pub(super) fn picks(&mut self, values: &ArrayRef, row: usize) -> Result<Option<Vec<ElementPick>>> {
        let list = self.list(values, row)?;
        Ok(list.map(|(part, elements)| elements.map(|element| (part, element)).collect()))
    }

    /// Returns whether an element is NULL.
    pub(super) fn is_null(&self, (part, element): ElementPick) -> bool {
        self.parts.get(part).is_none_or(|part| part.elements.is_null(element))
    }

    /// Returns the bytes that identify an element.
    pub(super) fn identity(&self, (part, element): ElementPick) -> Result<&[u8]> {
        let rows = self.part(part)?.rows(&self.identity, |part| &part.identities)?;
        Ok(rows.row(element).data())
    }

    /// Returns the bytes that an element is ordered by.
    pub(super) fn order(&self, (part, element): ElementPick) -> Result<&[u8]> {
        let rows = self.part(part)?.rows(&self.order, |part| &part.orders)?;
        Ok(rows.row(element).data())
    }

    /// Returns a field of the elements of a part; the elements are structs.
    pub(super) fn field(&self, part: usize, field: usize) -> Result<&ArrayRef> {
        let column = self.part(part)?.elements.as_struct_opt().and_then(|elements| elements.columns().get(field));
        column.ok_or_else(|| Error::internal("an element lacks the field"))
    }

    /// Returns the number of parts.
    pub(super) fn parts(&self) -> usize {
        self.parts.len()
    }

    /// Appends the next list to the result.
    pub(super) fn append(&mut self, elements: Option<impl IntoIterator<Item = ElementPick>>) {
        let Results { picks, ends } = &mut self.results;
        let is_valid = elements.is_some();
        picks.extend(elements.into_iter().flatten());
        ends.push(is_valid.then_some(picks.len()));
    }

    /// Returns the lists of the result. Picks remain valid if `keep` is true.
    pub(super) fn finish(&mut self, keep: bool) -> Result<ArrayRef> {
        let Results { picks, ends } = std::mem::take(&mut self.results);
        let arrays: Vec<&dyn Array> = self.parts.iter().map(|part| &*part.elements).collect();
        let elements = interleave(&arrays, &picks)?;
        let result = assemble(&self.subject.data_type, elements, &ends)?;
        if !keep {
            self.clear();
        }
        Ok(result)
    }

    /// Releases the lists; picks from them become invalid.
    pub(super) fn clear(&mut self) {
        self.sources.clear();
        self.parts.truncate(1);
    }

    fn part(&self, part: usize) -> Result<&ListPart> {
        self.parts.get(part).ok_or_else(|| Error::internal("an element belongs to a released list"))
    }

    fn list(&mut self, values: &ArrayRef, row: usize) -> Result<Option<(usize, Range<usize>)>> {
        let Some((number, row)) = self.sources.pick(values, row) else {
            return Err(self.subject.misfit(values, row));
        };
        if number == self.parts.len() {
            self.parts.extend(ListPart::of(values));
        }
        if values.is_null(row) {
            return Ok(None);
        }
        let part = self.part(number)?;
        let offset = |at: usize| part.offsets.get(at).and_then(|offset| usize::try_from(*offset).ok());
        let (start, end) = offset(row).zip(offset(row + 1)).ok_or_else(|| Error::internal("a list has no offsets"))?;
        Ok(Some((number, start..end)))
    }
}

/// Builds a list array of elements. `ends` are the ends of the lists, with None for NULL.
pub(super) fn assemble(data_type: &ArrowType, elements: ArrayRef, ends: &[Option<usize>]) -> Result<ArrayRef> {
    let mut last = 0;
    let mut offsets = vec![0];
    for end in ends {
        last = end
            .map_or(Ok(last), i32::try_from)
            .map_err(|_| Error::new(ErrorKind::LimitExceeded, "the lists of a batch have 2^31 or more elements"))?;
        offsets.push(last);
    }
    let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
    let nulls = ends.iter().any(Option::is_none).then(|| ends.iter().map(Option::is_some).collect::<NullBuffer>());
    Ok(match data_type {
        ArrowType::List(field) => Arc::new(ListArray::try_new(Arc::clone(field), offsets, elements, nulls)?),
        ArrowType::Map(field, ordered) => {
            let entries = elements.as_struct_opt().cloned().ok_or_else(|| Error::internal("a map has no entries"))?;
            Arc::new(MapArray::try_new(Arc::clone(field), offsets, entries, nulls, *ordered)?)
        }
        _ => return Err(Error::internal("expected a list or a map")),
    })
}

impl ListPart {
    /// Creates the part, or returns None if the array is neither a list nor a map.
    fn of(lists: &ArrayRef) -> Option<Self> {
        let (elements, offsets): (ArrayRef, _) = match lists.data_type() {
            ArrowType::List(_) => {
                lists.as_list_opt().map(|lists| (Arc::clone(lists.values()), lists.offsets().clone()))?
            }
            _ => {
                lists.as_map_opt().map(|maps| (Arc::new(maps.entries().clone()) as ArrayRef, maps.offsets().clone()))?
            }
        };
        Some(Self { elements, offsets, identities: OnceCell::new(), orders: OnceCell::new() })
    }

    /// Returns the encoded bytes of columns, which are computed on first use.
    fn rows(&self, columns: &ListColumns, cell: fn(&Self) -> &OnceCell<Rows>) -> Result<&Rows> {
        let cell = cell(self);
        if let Some(rows) = cell.get() {
            return Ok(rows);
        }
        let rows = columns.rows(&self.elements)?;
        Ok(cell.get_or_init(|| rows))
    }
}

impl ListColumns {
    fn try_new(element: &ArrowType, fields: Option<Vec<usize>>) -> Result<Self> {
        let types: Vec<ArrowType> = match (&fields, element) {
            (None, _) => vec![element.clone()],
            (Some(fields), ArrowType::Struct(children)) => {
                fields.iter().filter_map(|field| children.get(*field)).map(|child| child.data_type().clone()).collect()
            }
            (Some(_), _) => Vec::new(),
        };
        let sort_fields: Vec<SortField> = types.into_iter().map(SortField::new).collect();
        let is_supported = !sort_fields.is_empty() && RowConverter::supports_fields(&sort_fields);
        let converter = is_supported.then(|| RowConverter::new(sort_fields)).transpose()?;
        Ok(Self { fields, converter })
    }

    fn rows(&self, elements: &ArrayRef) -> Result<Rows> {
        let converter = self.converter.as_ref().ok_or_else(|| Error::internal("the elements cannot be compared"))?;
        let columns = match (&self.fields, elements.as_struct_opt()) {
            (Some(fields), Some(elements)) => {
                fields.iter().filter_map(|field| elements.columns().get(*field)).cloned().collect()
            }
            _ => vec![Arc::clone(elements)],
        };
        Ok(converter.convert_columns(&columns)?)
    }
}

/// Returns the type of the elements of lists, or of the entries of maps.
pub(super) fn element_type(data_type: &ArrowType) -> Option<&ArrowType> {
    match data_type {
        ArrowType::List(element) | ArrowType::Map(element, _) => Some(element.data_type()),
        _ => None,
    }
}
