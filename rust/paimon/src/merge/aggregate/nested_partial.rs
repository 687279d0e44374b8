//! The function `nested_partial_update`: arrays of rows as tables whose rows are merged field by field.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, StructArray, new_null_array};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType as ArrowType, Fields};
use arrow_select::interleave::interleave;
use frazil_core::error::{Error, Result};

use super::FieldAggregator;
use super::lists::{self, Lists};
use super::nested::{check_null_keys, named, row_fields};
use super::picks::ElementPick;
use super::subject::{Subject, option};
use super::table::FunctionTable;
use crate::spec::options::Options;
use crate::spec::types::DataField;

/// The position of each field of a row; None is NULL. A NULL row has no fields.
type Row = Vec<Option<ElementPick>>;

/// The aggregator that merges tables. For each field, the last non-NULL value among the rows of a key is kept.
#[derive(Debug)]
pub(super) struct NestedPartialUpdate {
    lists: Lists,
    fields: Fields,
    accumulator: NestedPartialRows,
    /// The rows of the result, one list after another.
    rows: Vec<Row>,
    /// The end of each list; None is NULL.
    ends: Vec<Option<usize>>,
}

#[derive(Debug, Default)]
enum NestedPartialRows {
    #[default]
    Null,
    /// The only array so far, unchanged.
    One(Vec<ElementPick>),
    /// The rows by key: a row of each key, whose position is that of its merged row.
    Merged(FunctionTable, Vec<Row>),
}

impl NestedPartialUpdate {
    pub(super) fn try_new(subject: Subject, field: &DataField, options: &Options) -> Result<Self> {
        check_null_keys(&subject, field, options)?;
        let keys = named(&subject, row_fields(&subject, field)?, options.list(&option(&field.name, "nested-key")))?;
        if keys.is_empty() {
            return Err(subject.invalid("`nested-key` is required"));
        }
        let fields = match lists::element_type(&subject.data_type) {
            Some(ArrowType::Struct(fields)) => fields.clone(),
            _ => return Err(subject.wrong_type("ARRAY of ROW")),
        };
        let lists = Lists::try_new(subject, Some(keys), Vec::new())?;
        Ok(Self { lists, fields, accumulator: NestedPartialRows::Null, rows: Vec::new(), ends: Vec::new() })
    }

    /// Returns the positions of the fields of an element, or no fields for a NULL row.
    fn row(&self, (part, element): ElementPick) -> Result<Row> {
        if self.lists.is_null((part, element)) {
            return Ok(Row::new());
        }
        let field = |field| Ok(self.lists.field(part, field)?.is_valid(element).then_some((part, element)));
        (0..self.fields.len()).map(field).collect()
    }

    /// Merges later rows into the rows of a table: non-NULL fields of later rows replace the earlier values.
    fn complete(&self, table: &mut FunctionTable, rows: &mut Vec<Row>, later: Vec<ElementPick>) -> Result<()> {
        for pick in later.into_iter().filter(|pick| !self.lists.is_null(*pick)) {
            let row = self.row(pick)?;
            match table.find(&self.lists, pick)? {
                None => {
                    table.put(&self.lists, pick)?;
                    rows.push(row);
                }
                Some((place, _)) => {
                    for (known, new) in rows.get_mut(place).into_iter().flatten().zip(row) {
                        *known = new.or(*known);
                    }
                }
            }
        }
        Ok(())
    }

    fn append_rows(&mut self, rows: Option<Vec<Row>>) {
        let is_valid = rows.is_some();
        self.rows.extend(rows.into_iter().flatten());
        self.ends.push(is_valid.then_some(self.rows.len()));
    }

    /// Returns the values of a field of all rows of the result.
    fn column(&self, field: usize, data_type: &ArrowType) -> Result<ArrayRef> {
        let null = new_null_array(data_type, 1);
        let parts = (0..self.lists.parts()).map(|part| self.lists.field(part, field).map(|column| &**column));
        let arrays = std::iter::once(Ok(&*null)).chain(parts).collect::<Result<Vec<&dyn Array>>>()?;
        // In the concatenation, source 0 holds a single NULL, so part numbers are shifted by one.
        let pick = |row: &Row| row.get(field).copied().flatten().map_or((0, 0), |(part, element)| (part + 1, element));
        let picks: Vec<ElementPick> = self.rows.iter().map(pick).collect();
        Ok(interleave(&arrays, &picks)?)
    }
}

impl FieldAggregator for NestedPartialUpdate {
    fn begin(&mut self) {
        self.accumulator = NestedPartialRows::Null;
    }

    fn add(&mut self, values: &ArrayRef, row: usize) -> Result<()> {
        let Some(later) = self.lists.picks(values, row)? else { return Ok(()) };
        let (mut table, mut rows) = match std::mem::take(&mut self.accumulator) {
            NestedPartialRows::Null => {
                self.accumulator = NestedPartialRows::One(later);
                return Ok(());
            }
            NestedPartialRows::One(earlier) => {
                let (mut table, mut rows) = (FunctionTable::default(), Vec::new());
                self.complete(&mut table, &mut rows, earlier)?;
                (table, rows)
            }
            NestedPartialRows::Merged(table, rows) => (table, rows),
        };
        self.complete(&mut table, &mut rows, later)?;
        self.accumulator = NestedPartialRows::Merged(table, rows);
        Ok(())
    }

    fn add_reversed(&mut self, values: &ArrayRef, row: usize) -> Result<()> {
        let Some(earlier) = self.lists.picks(values, row)? else { return Ok(()) };
        let (mut table, mut rows) = (FunctionTable::default(), Vec::new());
        match std::mem::take(&mut self.accumulator) {
            NestedPartialRows::Null => {
                self.accumulator = NestedPartialRows::One(earlier);
                return Ok(());
            }
            NestedPartialRows::One(later) => {
                self.complete(&mut table, &mut rows, earlier)?;
                self.complete(&mut table, &mut rows, later)?;
            }
            NestedPartialRows::Merged(later, later_rows) => {
                self.complete(&mut table, &mut rows, earlier)?;
                for (pick, later_row) in later.picks().zip(later_rows) {
                    let Some((place, _)) = table.find(&self.lists, pick)? else {
                        table.put(&self.lists, pick)?;
                        rows.push(later_row);
                        continue;
                    };
                    for (known, new) in rows.get_mut(place).into_iter().flatten().zip(later_row) {
                        *known = new.or(*known);
                    }
                }
            }
        }
        self.accumulator = NestedPartialRows::Merged(table, rows);
        Ok(())
    }

    fn retract(&mut self, _: &ArrayRef, _: usize) -> Result<()> {
        self.lists.subject.cannot_retract()
    }

    fn append(&mut self) -> Result<()> {
        let rows = match std::mem::take(&mut self.accumulator) {
            NestedPartialRows::Null => None,
            NestedPartialRows::One(picks) => Some(picks.into_iter().map(|pick| self.row(pick)).collect::<Result<_>>()?),
            NestedPartialRows::Merged(_, rows) => Some(rows),
        };
        self.append_rows(rows);
        Ok(())
    }

    fn replace(&mut self, values: &ArrayRef, row: usize) -> Result<()> {
        self.accumulator = self.lists.picks(values, row)?.map_or(NestedPartialRows::Null, NestedPartialRows::One);
        Ok(())
    }

    fn finish(&mut self) -> Result<ArrayRef> {
        if self.fields.is_empty() {
            return Err(Error::unsupported("rows without fields are not supported"));
        }
        let columns = self.fields.iter().enumerate().map(|(field, arrow)| self.column(field, arrow.data_type()));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let is_null = self.rows.iter().any(Row::is_empty);
        let nulls = is_null.then(|| self.rows.iter().map(|row| !row.is_empty()).collect::<NullBuffer>());
        let elements = StructArray::try_new(self.fields.clone(), columns, nulls)?;
        let result = lists::assemble(&self.lists.subject.data_type, Arc::new(elements), &self.ends)?;
        self.rows.clear();
        self.ends.clear();
        if matches!(self.accumulator, NestedPartialRows::Null) {
            self.lists.clear();
        }
        Ok(result)
    }
}
