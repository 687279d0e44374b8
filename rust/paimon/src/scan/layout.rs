//! Determines the columns of the value statistics of files (spec: "Manifest", `_VALUE_STATS`, `_VALUE_STATS_COLS`,
//! `_WRITE_COLS`): the columns of the file's schema, or the listed ones.
//!
//! Many files share a few layouts, so each layout is processed once.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, BinaryArray, ListArray, UInt32Array};
use frazil_core::error::Result;
use hashbrown::HashMap;

use crate::context::ReadContext;
use crate::spec::manifest::ManifestEntries;
use crate::spec::schema::TableSchema;
use crate::spec::types::{DataField, DataType, TypeRoot};

/// The layouts of the value statistics of some entries.
#[derive(Debug)]
pub(crate) struct Layouts(Vec<FileLayout>);

/// The columns of the value statistics of some files.
#[derive(Debug)]
pub(crate) struct FileLayout {
    /// The schema of the files.
    schema: Arc<TableSchema>,
    /// The columns that the files have; None for all columns of their schema.
    written: Option<Vec<String>>,
    /// Whether the manifest lists the columns with statistics.
    names_stats: bool,
    /// The field id and type of each column with statistics. System columns, which are never requested, have no id.
    columns: Vec<(Option<i32>, DataType)>,
    /// The entries; None for all entries.
    rows: Option<Vec<u32>>,
    entries: usize,
}

/// The position of a table column in value statistics.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Place<'a> {
    /// The files have the column, or may have it, without statistics.
    Unknown,
    /// The files do not have the column, so it is NULL.
    Absent,
    /// The statistics are at this position, with this type in the files.
    At(usize, &'a DataType),
}

/// The key that identifies the layout of an entry.
type LayoutKey<'a> = (i64, Option<Vec<&'a str>>, Option<Vec<&'a str>>);

impl Layouts {
    /// Returns the layouts of entries.
    ///
    /// # Errors
    /// `CorruptManifest` for a schema that is not in the table.
    pub(crate) fn try_new(read: &ReadContext, entries: &ManifestEntries) -> Result<Self> {
        let mut numbers: HashMap<LayoutKey<'_>, usize> = HashMap::new();
        let mut layouts: Vec<(LayoutKey<'_>, Vec<u32>)> = Vec::new();
        let (stats_columns, written) = (entries.value_stats_cols(), entries.write_cols());
        let schema_ids = entries.schema_ids();
        let mut last: Option<(usize, usize)> = None;
        for row in 0..entries.len() {
            // Consecutive files usually have the same layout.
            let repeated = last.filter(|(before, _)| {
                schema_ids.value(*before) == schema_ids.value(row)
                    && same_list(stats_columns, *before, row)
                    && same_list(written, *before, row)
            });
            if let Some((_, number)) = repeated {
                push(&mut layouts, number, row);
                last = Some((row, number));
                continue;
            }
            let key = (schema_ids.value(row), names(stats_columns, row), names(written, row));
            let number = *numbers.entry(key).or_insert_with_key(|key| {
                layouts.push((key.clone(), Vec::new()));
                layouts.len() - 1
            });
            push(&mut layouts, number, row);
            last = Some((row, number));
        }
        let single = layouts.len() == 1;
        let layout = |((schema_id, stats_columns, written), rows): (LayoutKey<'_>, Vec<u32>)| {
            let schema = read.file_schema(schema_id)?.clone();
            let owned = |names: Vec<&str>| names.into_iter().map(str::to_string).collect();
            let written: Option<Vec<String>> = written.map(owned);
            let names_stats = stats_columns.is_some();
            let columns = columns(&schema, stats_columns.map(owned).as_ref().or(written.as_ref()));
            Ok(FileLayout {
                schema,
                written,
                names_stats,
                columns,
                rows: (!single).then_some(rows),
                entries: entries.len(),
            })
        };
        layouts.into_iter().map(layout).collect::<Result<_>>().map(Self)
    }

    /// Returns which of `entries` entries lack the column with a field id.
    pub(crate) fn absent(&self, id: i32, entries: usize) -> Vec<bool> {
        let mut absent = vec![false; entries];
        for layout in self.0.iter().filter(|layout| layout.place(id) == Place::Absent) {
            for row in layout.rows() {
                if let Some(place) = absent.get_mut(row) {
                    *place = true;
                }
            }
        }
        absent
    }

    /// Returns all layouts.
    pub(crate) fn all(&self) -> &[FileLayout] {
        &self.0
    }
}

impl FileLayout {
    /// Returns the position of the column with a field id.
    pub(crate) fn place(&self, id: i32) -> Place<'_> {
        let Some(field) = self.schema.fields.iter().find(|field| field.id == id) else { return Place::Absent };
        if self.written.as_ref().is_some_and(|written| !written.contains(&field.name)) {
            return Place::Absent;
        }
        let found = self.columns.iter().enumerate().find(|(_, (known, _))| *known == Some(id));
        found.map_or(Place::Unknown, |(position, (_, data_type))| Place::At(position, data_type))
    }

    /// Returns whether the schema of the files has the column with a field id.
    pub(crate) fn is_of_schema(&self, id: i32) -> bool {
        self.schema.fields.iter().any(|field| field.id == id)
    }

    /// Returns whether a column of the schema has its values in other files, and the manifest does not list the columns
    /// with statistics.
    pub(crate) fn leaves_out(&self, id: i32) -> bool {
        !self.names_stats && self.is_of_schema(id) && self.place(id) == Place::Absent
    }

    /// Returns the types of all columns with statistics.
    pub(crate) fn types(&self) -> Vec<DataType> {
        self.columns.iter().map(|(_, data_type)| data_type.clone()).collect()
    }

    /// Returns the row numbers of the entries.
    pub(crate) fn rows(&self) -> impl Iterator<Item = usize> + '_ {
        let some = self.rows.iter().flatten().filter_map(|row| usize::try_from(*row).ok());
        let all = 0..if self.rows.is_none() { self.entries } else { 0 };
        all.chain(some)
    }

    /// Returns the values of the entries.
    pub(crate) fn select(&self, values: &BinaryArray) -> Result<BinaryArray> {
        let Some(rows) = &self.rows else { return Ok(values.clone()) };
        let taken = arrow_select::take::take(values, &UInt32Array::from(rows.clone()), None)?;
        Ok(taken.as_binary::<i32>().clone())
    }
}

fn push(layouts: &mut [(LayoutKey<'_>, Vec<u32>)], number: usize, row: usize) {
    if let (Some((_, rows)), Ok(row)) = (layouts.get_mut(number), u32::try_from(row)) {
        rows.push(row);
    }
}

/// Returns the named columns of a schema, or all columns.
fn columns(schema: &TableSchema, names: Option<&Vec<String>>) -> Vec<(Option<i32>, DataType)> {
    let column = |field: &DataField| (Some(field.id), field.data_type.clone());
    let named = |name: &String| schema.field(name).map_or((None, DataType::required(TypeRoot::BigInt)), column);
    match names {
        None => schema.fields.iter().map(column).collect(),
        Some(names) => names.iter().map(named).collect(),
    }
}

/// Returns the strings of a list, or None for NULL.
fn names(lists: &ListArray, row: usize) -> Option<Vec<&str>> {
    texts(lists, row).map(Iterator::collect)
}

fn same_list(lists: &ListArray, a: usize, b: usize) -> bool {
    match (texts(lists, a), texts(lists, b)) {
        (None, None) => true,
        (Some(a), Some(b)) => a.eq(b),
        _ => false,
    }
}

fn texts(lists: &ListArray, row: usize) -> Option<impl Iterator<Item = &str>> {
    let values = lists.values().as_string_opt::<i32>().filter(|_| lists.is_valid(row))?;
    let offsets = lists.value_offsets();
    let bound = |at: usize| offsets.get(at).and_then(|offset| usize::try_from(*offset).ok()).unwrap_or(0);
    Some((bound(row)..bound(row + 1)).map(|at| values.value(at)))
}
