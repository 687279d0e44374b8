//! The function `nested_update`: arrays of rows as tables with their own keys.

use arrow_array::ArrayRef;
use frazil_core::error::Result;

use super::FieldAggregator;
use super::lists::Lists;
use super::picks::ElementPick;
use super::subject::{Subject, option};
use super::table::FunctionTable;
use crate::spec::options::Options;
use crate::spec::types::{DataField, TypeRoot};

/// The aggregator that merges tables. A later row replaces the row with the same key. Without keys, rows are appended.
#[derive(Debug)]
pub(super) struct NestedUpdate {
    lists: Lists,
    has_keys: bool,
    /// Whether a row replaces only rows whose sequence fields are not greater.
    has_sequence: bool,
    /// The maximum number of rows of a table.
    limit: usize,
    accumulator: NestedRows,
}

#[derive(Debug, Default)]
enum NestedRows {
    #[default]
    Null,
    /// All rows in the order of arrival.
    All(Vec<ElementPick>),
    Keyed(FunctionTable),
}

impl NestedUpdate {
    pub(super) fn try_new(subject: Subject, field: &DataField, options: &Options) -> Result<Self> {
        let fields = row_fields(&subject, field)?;
        check_null_keys(&subject, field, options)?;
        let keys = named(&subject, fields, options.list(&option(&field.name, "nested-key")))?;
        let sequence = named(&subject, fields, options.list(&option(&field.name, "nested-sequence-field")))?;
        if keys.is_empty() && !sequence.is_empty() {
            return Err(subject.invalid("`nested-sequence-field` requires `nested-key`"));
        }
        let limit = match options.integer(&option(&field.name, "count-limit"))? {
            None => usize::MAX,
            Some(limit) => usize::try_from(limit)
                .map_err(|_| subject.invalid(&format!("`count-limit` is {limit}, expected at least 0")))?,
        };
        let (has_keys, has_sequence) = (!keys.is_empty(), !sequence.is_empty());
        let lists = Lists::try_new(subject, has_keys.then_some(keys), sequence)?;
        Ok(Self { lists, has_keys, has_sequence, limit, accumulator: NestedRows::Null })
    }

    /// Merges earlier and later rows; later rows are added only up to the limit.
    fn merged(&self, earlier: NestedRows, later: Vec<ElementPick>) -> Result<NestedRows> {
        let count = match &earlier {
            NestedRows::Null => return Ok(NestedRows::All(later)),
            NestedRows::All(rows) => rows.len(),
            NestedRows::Keyed(table) => table.len(),
        };
        if count >= self.limit {
            return Ok(earlier);
        }
        let later = later.into_iter().filter(|row| !self.lists.is_null(*row)).take(self.limit - count);
        let mut table = match earlier {
            NestedRows::Keyed(table) => table,
            NestedRows::Null => FunctionTable::default(),
            NestedRows::All(mut rows) => {
                rows.retain(|row| !self.lists.is_null(*row));
                if !self.has_keys {
                    rows.extend(later);
                    return Ok(NestedRows::All(rows));
                }
                let mut table = FunctionTable::default();
                rows.into_iter().try_for_each(|row| self.put(&mut table, row))?;
                table
            }
        };
        later.into_iter().try_for_each(|row| self.put(&mut table, row))?;
        Ok(NestedRows::Keyed(table))
    }

    fn put(&self, table: &mut FunctionTable, row: ElementPick) -> Result<()> {
        if self.has_sequence
            && let Some((_, known)) = table.find(&self.lists, row)?
            && self.lists.order(row)? < self.lists.order(known)?
        {
            return Ok(());
        }
        table.put(&self.lists, row)
    }
}

impl FieldAggregator for NestedUpdate {
    fn begin(&mut self) {
        self.accumulator = NestedRows::Null;
    }

    fn add(&mut self, values: &ArrayRef, row: usize) -> Result<()> {
        let Some(later) = self.lists.picks(values, row)? else { return Ok(()) };
        let earlier = std::mem::take(&mut self.accumulator);
        self.accumulator = self.merged(earlier, later)?;
        Ok(())
    }

    fn add_reversed(&mut self, values: &ArrayRef, row: usize) -> Result<()> {
        let Some(earlier) = self.lists.picks(values, row)? else { return Ok(()) };
        let later = match std::mem::take(&mut self.accumulator) {
            NestedRows::Null => {
                self.accumulator = NestedRows::All(earlier);
                return Ok(());
            }
            NestedRows::All(rows) => rows,
            NestedRows::Keyed(table) => table.picks().collect(),
        };
        self.accumulator = self.merged(NestedRows::All(earlier), later)?;
        Ok(())
    }

    fn retract(&mut self, values: &ArrayRef, row: usize) -> Result<()> {
        if self.lists.subject.ignore_retract {
            return Ok(());
        }
        let Some(retracted) = self.lists.picks(values, row)? else { return Ok(()) };
        let rows = match std::mem::take(&mut self.accumulator) {
            NestedRows::Null => return Ok(()),
            NestedRows::All(rows) => rows,
            NestedRows::Keyed(table) => table.picks().collect(),
        };
        let is_row = |row: &ElementPick| !self.lists.is_null(*row);
        let mut gone = FunctionTable::default();
        retracted.into_iter().filter(is_row).try_for_each(|row| gone.put(&self.lists, row))?;
        let mut kept = FunctionTable::default();
        let mut all = Vec::new();
        for row in rows.into_iter().filter(is_row) {
            if gone.find(&self.lists, row)?.is_some() {
                continue;
            }
            if self.has_keys {
                kept.put(&self.lists, row)?;
            } else {
                all.push(row);
            }
        }
        self.accumulator = if self.has_keys { NestedRows::Keyed(kept) } else { NestedRows::All(all) };
        Ok(())
    }

    fn append(&mut self) -> Result<()> {
        match std::mem::take(&mut self.accumulator) {
            NestedRows::Null => self.lists.append(None::<[ElementPick; 0]>),
            NestedRows::All(rows) => self.lists.append(Some(rows)),
            NestedRows::Keyed(table) => self.lists.append(Some(table.picks())),
        }
        Ok(())
    }

    fn replace(&mut self, values: &ArrayRef, row: usize) -> Result<()> {
        self.accumulator = self.lists.picks(values, row)?.map_or(NestedRows::Null, NestedRows::All);
        Ok(())
    }

    fn finish(&mut self) -> Result<ArrayRef> {
        self.lists.finish(!matches!(self.accumulator, NestedRows::Null))
    }
}

/// Rejects the strategies of newer Paimon releases for rows whose key contains NULL. Here NULL is an ordinary key
/// value.
pub(super) fn check_null_keys(subject: &Subject, field: &DataField, options: &Options) -> Result<()> {
    match options.text(&option(&field.name, "nested-key-null-strategy")) {
        Some(strategy) if !strategy.eq_ignore_ascii_case("merge") => {
            Err(subject
                .unsupported(&format!("`nested-key-null-strategy` is `{strategy}`, but only `merge` is supported")))
        }
        _ => Ok(()),
    }
}

/// Returns the fields of the rows of an ARRAY of ROW.
pub(super) fn row_fields<'a>(subject: &Subject, field: &'a DataField) -> Result<&'a [DataField]> {
    if let TypeRoot::Array(element) = &field.data_type.root
        && let TypeRoot::Row(fields) = &element.root
    {
        return Ok(fields);
    }
    Err(subject.wrong_type("ARRAY of ROW"))
}

/// Returns the positions of fields by name.
pub(super) fn named(subject: &Subject, fields: &[DataField], names: Vec<&str>) -> Result<Vec<usize>> {
    let place = |name: &str| fields.iter().position(|field| field.name == name);
    let places = names
        .into_iter()
        .map(|name| place(name).ok_or_else(|| subject.invalid(&format!("the rows have no field `{name}`"))));
    places.collect()
}
