//! The functions `merge_map` and `merge_map_with_keytime`: the entries of all maps, one for each key.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use frazil_core::error::Result;

use super::FieldAggregator;
use super::lists::Lists;
use super::picks::ElementPick;
use super::subject::Subject;
use super::table::FunctionTable;
use crate::spec::types::{DataField, TypeRoot};

/// The index of the keys in the entries of a map.
const KEY: usize = 0;
/// The index of the values in the entries of a map.
const VALUE: usize = 1;

/// The aggregator that merges maps. The later entry of a key wins, or the one with the greatest time.
#[derive(Debug)]
pub(super) struct MergeMap {
    lists: Lists,
    /// The field of the values that holds the time, a STRING, if entries are chosen by time.
    time: Option<usize>,
    accumulator: Option<FunctionTable>,
}

impl MergeMap {
    /// Creates the aggregator of `merge_map`.
    pub(super) fn try_new(subject: Subject, field: &DataField) -> Result<Self> {
        if !matches!(field.data_type.root, TypeRoot::Map(..)) {
            return Err(subject.wrong_type("MAP"));
        }
        Ok(Self { lists: Lists::try_new(subject, Some(vec![KEY]), Vec::new())?, time: None, accumulator: None })
    }

    /// Creates the aggregator of `merge_map_with_keytime`: values are rows, and their last field is the time.
    pub(super) fn with_time(subject: Subject, field: &DataField) -> Result<Self> {
        let fields = match &field.data_type.root {
            TypeRoot::Map(_, value) => match &value.root {
                TypeRoot::Row(fields) => fields.as_slice(),
                _ => &[],
            },
            _ => &[],
        };
        let time =
            fields.last().filter(|time| fields.len() >= 2 && matches!(time.data_type.root, TypeRoot::VarChar(_)));
        if time.is_none() {
            return Err(subject.wrong_type("MAP to ROW of two or more fields, the last of them STRING"));
        }
        let time = fields.len() - 1;
        Ok(Self { time: Some(time), ..Self::try_new(subject, field)? })
    }

    /// Merges later entries into a table.
    fn merge(&self, table: &mut FunctionTable, later: impl IntoIterator<Item = ElementPick>) -> Result<()> {
        let Some(time) = self.time else {
            return later.into_iter().try_for_each(|pick| table.put(&self.lists, pick));
        };
        for pick in later {
            if self.lists.field(pick.0, VALUE)?.is_null(pick.1) {
                table.remove(&self.lists, pick)?;
                continue;
            }
            let Some(new) = self.time(pick, time)? else { continue };
            match table.find(&self.lists, pick)? {
                None => table.put(&self.lists, pick)?,
                Some((place, known)) => {
                    // Strings are compared as in Java.
                    let is_newer =
                        self.time(known, time)?.is_none_or(|known| new.encode_utf16().gt(known.encode_utf16()));
                    if is_newer {
                        table.replace(place, pick);
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns the time of an entry, or None if it has none.
    fn time(&self, (part, entry): ElementPick, field: usize) -> Result<Option<&str>> {
        let values = self.lists.field(part, VALUE)?;
        let times = values.as_struct_opt().and_then(|values| values.columns().get(field));
        let times = times.and_then(|times| times.as_string_opt::<i32>());
        Ok(times.filter(|times| values.is_valid(entry) && times.is_valid(entry)).map(|times| times.value(entry)))
    }

    fn table(&self, picks: Vec<ElementPick>) -> Result<FunctionTable> {
        let mut table = FunctionTable::default();
        picks.into_iter().try_for_each(|pick| table.put(&self.lists, pick))?;
        Ok(table)
    }
}

impl FieldAggregator for MergeMap {
    fn begin(&mut self) {
        self.accumulator = None;
    }

    fn add(&mut self, values: &ArrayRef, row: usize) -> Result<()> {
        let Some(picks) = self.lists.picks(values, row)? else { return Ok(()) };
        let table = match self.accumulator.take() {
            // The first map is kept unchanged.
            None => self.table(picks)?,
            Some(mut table) => {
                self.merge(&mut table, picks)?;
                table
            }
        };
        self.accumulator = Some(table);
        Ok(())
    }

    fn add_reversed(&mut self, values: &ArrayRef, row: usize) -> Result<()> {
        let Some(picks) = self.lists.picks(values, row)? else { return Ok(()) };
        let mut table = self.table(picks)?;
        if let Some(later) = self.accumulator.take() {
            self.merge(&mut table, later.picks())?;
        }
        self.accumulator = Some(table);
        Ok(())
    }

    fn retract(&mut self, values: &ArrayRef, row: usize) -> Result<()> {
        if self.lists.subject.ignore_retract || self.time.is_some() {
            return self.lists.subject.cannot_retract();
        }
        let Some(picks) = self.lists.picks(values, row)? else { return Ok(()) };
        if let Some(table) = &mut self.accumulator {
            picks.into_iter().try_for_each(|pick| table.remove(&self.lists, pick))?;
        }
        Ok(())
    }

    fn append(&mut self) -> Result<()> {
        let table = self.accumulator.take();
        self.lists.append(table.as_ref().map(FunctionTable::picks));
        Ok(())
    }

    fn replace(&mut self, values: &ArrayRef, row: usize) -> Result<()> {
        let picks = self.lists.picks(values, row)?;
        self.accumulator = picks.map(|picks| self.table(picks)).transpose()?;
        Ok(())
    }

    fn finish(&mut self) -> Result<ArrayRef> {
        self.lists.finish(self.accumulator.is_some())
    }
}
