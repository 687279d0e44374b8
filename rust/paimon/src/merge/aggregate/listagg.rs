//! The function `listagg`: strings joined by a delimiter. NULL and empty strings are ignored.

use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use frazil_core::error::Result;

use super::FieldAggregator;
use super::subject::{Subject, option};
use crate::spec::options::Options;
use crate::spec::types::{DataField, TypeRoot};

/// The aggregator that joins strings. If they must be distinct, parts between delimiters that are already present are
/// not added.
#[derive(Debug)]
pub(super) struct ListAgg {
    subject: Subject,
    delimiter: String,
    distinct: bool,
    /// The joined strings; None while all values were NULL.
    accumulator: Option<String>,
    results: StringBuilder,
}

impl ListAgg {
    pub(super) fn try_new(subject: Subject, field: &DataField, options: &Options) -> Result<Self> {
        if !matches!(field.data_type.root, TypeRoot::VarChar(_)) {
            return Err(subject.wrong_type("STRING"));
        }
        let delimiter = options.text(&option(&field.name, "list-agg-delimiter")).unwrap_or(",").to_string();
        let distinct = options.boolean(&option(&field.name, "distinct"), false)?;
        Ok(Self { subject, delimiter, distinct, accumulator: None, results: StringBuilder::new() })
    }

    fn value<'a>(&self, values: &'a ArrayRef, row: usize) -> Result<Option<&'a str>> {
        self.subject.check(values, row)?;
        Ok(values.as_string_opt::<i32>().filter(|values| values.is_valid(row)).map(|values| values.value(row)))
    }

    fn join(&mut self, text: &str) {
        let Self { delimiter, distinct, accumulator, .. } = self;
        let Some(joined) = accumulator.as_mut().filter(|joined| !joined.is_empty()) else {
            // The first value is kept unchanged, including repetitions.
            let first = accumulator.get_or_insert_default();
            first.push_str(text);
            return;
        };
        if text.is_empty() {
            return;
        }
        if !*distinct || delimiter.is_empty() {
            joined.push_str(delimiter);
            joined.push_str(text);
            return;
        }
        for part in text.split(delimiter.as_str()) {
            if !part.is_empty() && !joined.split(delimiter.as_str()).any(|known| known == part) {
                joined.push_str(delimiter);
                joined.push_str(part);
            }
        }
    }
}

impl FieldAggregator for ListAgg {
    fn begin(&mut self) {
        self.accumulator = None;
    }

    fn add(&mut self, values: &ArrayRef, row: usize) -> Result<()> {
        if let Some(text) = self.value(values, row)? {
            self.join(text);
        }
        Ok(())
    }

    fn add_reversed(&mut self, values: &ArrayRef, row: usize) -> Result<()> {
        let Some(text) = self.value(values, row)? else { return Ok(()) };
        let later = self.accumulator.replace(text.to_string());
        if let Some(later) = later {
            self.join(&later);
        }
        Ok(())
    }

    fn retract(&mut self, _: &ArrayRef, _: usize) -> Result<()> {
        self.subject.cannot_retract()
    }

    fn append(&mut self) -> Result<()> {
        self.results.append_option(self.accumulator.take());
        Ok(())
    }

    fn replace(&mut self, values: &ArrayRef, row: usize) -> Result<()> {
        self.accumulator = self.value(values, row)?.map(str::to_string);
        Ok(())
    }

    fn finish(&mut self) -> Result<ArrayRef> {
        Ok(Arc::new(self.results.finish()))
    }
}
