//! `collect`: the elements of all arrays, or those of them that differ.

use std::collections::HashMap;

use arrow_array::ArrayRef;
use frazil_core::error::Result;

use super::FieldAggregator;
use super::lists::Lists;
use super::picks::Pick;
use super::subject::{Subject, option};
use super::table::Table;
use crate::spec::options::Options;
use crate::spec::types::{DataField, TypeRoot};

/// Collects elements.
#[derive(Debug)]
pub(super) struct Collect {
    lists: Lists,
    distinct: bool,
    accumulator: Option<Elements>,
}

#[derive(Debug)]
enum Elements {
    All(Vec<Pick>),
    Distinct(Table),
}

impl Collect {
    pub(super) fn try_new(subject: Subject, field: &DataField, options: &Options) -> Result<Self> {
        if !matches!(field.data_type.root, TypeRoot::Array(_)) {
            return Err(subject.wrong_type("ARRAY"));
        }
        let distinct = options.boolean(&option(&field.name, "distinct"), false)?;
        Ok(Self { lists: Lists::try_new(subject, None, Vec::new())?, distinct, accumulator: None })
    }
}

impl FieldAggregator for Collect {
    fn begin(&mut self) {
        self.accumulator = None;
    }

    fn add(&mut self, values: &ArrayRef, row: usize) -> Result<()> {
        let Some(picks) = self.lists.picks(values, row)? else { return Ok(()) };
        let distinct = self.distinct;
        let elements = self.accumulator.get_or_insert_with(|| {
            if distinct { Elements::Distinct(Table::default()) } else { Elements::All(Vec::new()) }
        });
        match elements {
            Elements::All(known) => known.extend(picks),
            Elements::Distinct(known) => {
                for pick in picks {
                    if known.find(&self.lists, pick)?.is_none() {
                        known.put(&self.lists, pick)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn add_reversed(&mut self, values: &ArrayRef, row: usize) -> Result<()> {
        // The elements have no order that would tell.
        self.add(values, row)
    }

    fn retract(&mut self, values: &ArrayRef, row: usize) -> Result<()> {
        if self.lists.subject.ignore_retract {
            return Ok(());
        }
        let Some(retracted) = self.lists.picks(values, row)? else { return Ok(()) };
        match &mut self.accumulator {
            None => {}
            Some(Elements::Distinct(known)) => {
                for pick in retracted {
                    known.remove(&self.lists, pick)?;
                }
            }
            Some(Elements::All(known)) => {
                let mut counts: HashMap<&[u8], usize> = HashMap::new();
                for pick in retracted {
                    *counts.entry(self.lists.identity(pick)?).or_default() += 1;
                }
                let mut kept = Vec::with_capacity(known.len());
                for pick in known.drain(..) {
                    match counts.get_mut(self.lists.identity(pick)?) {
                        Some(count) if *count > 0 => *count -= 1,
                        _ => kept.push(pick),
                    }
                }
                *known = kept;
            }
        }
        Ok(())
    }

    fn append(&mut self) -> Result<()> {
        match self.accumulator.take() {
            None => self.lists.append(None::<[Pick; 0]>),
            Some(Elements::All(picks)) => self.lists.append(Some(picks)),
            Some(Elements::Distinct(table)) => self.lists.append(Some(table.picks())),
        }
        Ok(())
    }

    fn append_value(&mut self, values: &ArrayRef, row: usize) -> Result<()> {
        self.lists.append_value(values, row)
    }

    fn finish(&mut self) -> Result<ArrayRef> {
        self.lists.finish(self.accumulator.is_some())
    }
}
