//! The function `collect`: the elements of all arrays, or the distinct ones.

use std::collections::HashMap;

use arrow_array::ArrayRef;
use frazil_core::error::Result;

use super::FieldAggregator;
use super::lists::Lists;
use super::picks::ElementPick;
use super::subject::{Subject, option};
use super::table::FunctionTable;
use crate::spec::options::Options;
use crate::spec::types::{DataField, TypeRoot};

/// The aggregator that collects elements.
#[derive(Debug)]
pub(super) struct Collect {
    lists: Lists,
    distinct: bool,
    accumulator: Option<Elements>,
}

#[derive(Debug)]
enum Elements {
    All(Vec<ElementPick>),
    Distinct(FunctionTable),
}

impl Collect {
    pub(super) fn try_new(subject: Subject, field: &DataField, options: &Options) -> Result<Self> {
        if !matches!(field.data_type.root, TypeRoot::Array(_)) {
            return Err(subject.wrong_type("ARRAY"));
        }
        let distinct = options.boolean(&option(&field.name, "distinct"), false)?;
        Ok(Self { lists: Lists::try_new(subject, None, Vec::new())?, distinct, accumulator: None })
    }

    /// Sets the accumulator to the picked elements, or to NULL if `picks` is None.
    fn append_picks(&mut self, picks: Option<Vec<ElementPick>>) -> Result<()> {
        let known = self.accumulator.take();
        self.accumulator = match (known, picks) {
            (None, None) => None,
            (Some(Elements::All(mut known)), picks) if !self.distinct => {
                known.extend(picks.into_iter().flatten());
                Some(Elements::All(known))
            }
            (None, Some(picks)) if !self.distinct => Some(Elements::All(picks)),
            (known, picks) => {
                let (mut table, first) = match known {
                    None => (FunctionTable::default(), Vec::new()),
                    Some(Elements::All(known)) => (FunctionTable::default(), known),
                    Some(Elements::Distinct(table)) => (table, Vec::new()),
                };
                for pick in first.into_iter().chain(picks.into_iter().flatten()) {
                    if table.find(&self.lists, pick)?.is_none() {
                        table.put(&self.lists, pick)?;
                    }
                }
                Some(Elements::Distinct(table))
            }
        };
        Ok(())
    }
}

impl FieldAggregator for Collect {
    fn begin(&mut self) {
        self.accumulator = None;
    }

    fn add(&mut self, values: &ArrayRef, row: usize) -> Result<()> {
        let picks = self.lists.picks(values, row)?;
        self.append_picks(picks)
    }

    fn add_reversed(&mut self, values: &ArrayRef, row: usize) -> Result<()> {
        // Java appends earlier elements to the later ones, and prepends earlier elements only if retracts are ignored.
        if !self.lists.subject.ignore_retract {
            return self.add(values, row);
        }
        let Some(earlier) = self.lists.picks(values, row)? else { return Ok(()) };
        let later = self.accumulator.replace(Elements::All(earlier));
        match later {
            None => Ok(()),
            Some(Elements::All(picks)) => self.append_picks(Some(picks)),
            Some(Elements::Distinct(table)) => self.append_picks(Some(table.picks().collect())),
        }
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
            None => self.lists.append(None::<[ElementPick; 0]>),
            Some(Elements::All(picks)) => self.lists.append(Some(picks)),
            Some(Elements::Distinct(table)) => self.lists.append(Some(table.picks())),
        }
        Ok(())
    }

    fn replace(&mut self, values: &ArrayRef, row: usize) -> Result<()> {
        self.accumulator = self.lists.picks(values, row)?.map(Elements::All);
        Ok(())
    }

    fn finish(&mut self) -> Result<ArrayRef> {
        self.lists.finish(self.accumulator.is_some())
    }
}
