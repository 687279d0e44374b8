//! Formats keys and statistics of data files as strings.
//!
//! Statistics are shown for the columns of the displayed schema, matched by field id and cast to their types. A column
//! that is missing from a file is NULL in all of its rows. If the file has the column without statistics, the
//! statistics are unknown. Columns whose values are in other files (data evolution) are omitted, unless the manifest
//! lists the columns with statistics.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, BinaryArray, ListArray, StringArray, UInt32Array};
use frazil_core::error::{Error, ErrorKind, Result};

use super::display;
use crate::binary_row;
use crate::cast::Caster;
use crate::context::ReadContext;
use crate::scan::layout::{FileLayout, Layouts, Place};
use crate::spec::manifest::ManifestEntries;
use crate::spec::types::{DataField, DataType};

const NULL: &str = "null";

/// Statistics as strings, one for each file.
pub(super) struct DecodedStats {
    null_counts: ArrayRef,
    min: ArrayRef,
    max: ArrayRef,
}

/// Returns whether a column holds statistics.
pub(super) fn is_of(column: &str) -> bool {
    matches!(column, "null_value_counts" | "min_value_stats" | "max_value_stats")
}

impl DecodedStats {
    /// Returns the column with this name.
    pub(super) fn column(&self, name: &str) -> Option<ArrayRef> {
        match name {
            "null_value_counts" => Some(self.null_counts.clone()),
            "min_value_stats" => Some(self.min.clone()),
            "max_value_stats" => Some(self.max.clone()),
            _ => None,
        }
    }
}

/// Returns the statistics of files.
pub(super) fn stats(read: &ReadContext, entries: &ManifestEntries) -> Result<DecodedStats> {
    let layouts = Layouts::try_new(read, entries)?;
    let mut fields: Vec<&DataField> = read.schema.fields.iter().collect();
    fields.sort_by(|a, b| a.name.encode_utf16().cmp(b.name.encode_utf16()));
    let mut texts = [(); 3].map(|()| Maps::new(entries.len()));
    for layout in layouts.all() {
        let rows: Vec<usize> = layout.rows().collect();
        for field in &fields {
            if layout.leaves_out(field.id) {
                continue;
            }
            let of_field = of_field(layout, field, &rows, entries)?;
            for (maps, values) in texts.iter_mut().zip(of_field) {
                rows.iter().zip(values).for_each(|(row, value)| maps.put(*row, &field.name, value.as_deref()));
            }
        }
    }
    let [null_counts, min, max] = texts.map(Maps::finish);
    Ok(DecodedStats { null_counts, min, max })
}

/// Returns the null counts and bounds of a column.
fn of_field(
    layout: &FileLayout,
    field: &DataField,
    rows: &[usize],
    entries: &ManifestEntries,
) -> Result<[Vec<Option<String>>; 3]> {
    let unknown = || vec![None; rows.len()];
    let stats = entries.value_stats();
    match layout.place(field.id) {
        Place::Unknown => Ok([unknown(), unknown(), unknown()]),
        Place::Absent if layout.is_of_schema(field.id) => Ok([unknown(), unknown(), unknown()]),
        Place::Absent => {
            let row_count = |row: &usize| entries.row_counts().values().get(*row).map(ToString::to_string);
            Ok([rows.iter().map(row_count).collect(), unknown(), unknown()])
        }
        Place::At(position, from) => {
            let count = |row: &usize| null_count(stats.null_counts, *row, position).map(|count| count.to_string());
            let bound = |bounds: &BinaryArray| {
                let decoded = binary_row::decode_bounds(&layout.select(bounds)?, &layout.types(), &[position]);
                let mut decoded = decoded.map_err(|error| {
                    error
                        .corrupt_as(ErrorKind::CorruptManifest)
                        .with("field", "_VALUE_STATS")
                        .with("column", &field.name)
                })?;
                let values = decoded.pop().ok_or_else(|| Error::internal("no bounds were decoded"))?;
                Ok::<_, Error>(cast(&values, from, &field.data_type))
            };
            Ok([rows.iter().map(count).collect(), bound(stats.min)?, bound(stats.max)?])
        }
    }
}

/// Casts bounds to strings. Bounds that cannot be cast are unknown.
fn cast(values: &ArrayRef, from: &DataType, to: &DataType) -> Vec<Option<String>> {
    let cast = match Caster::try_new(from, to) {
        Ok(None) => Ok(values.clone()),
        Ok(Some(caster)) => caster.cast(values),
        Err(error) => Err(error),
    };
    let texts = cast.and_then(|values| display::internal(&values, to));
    texts.unwrap_or_else(|_| vec![None; values.len()])
}

fn null_count(lists: &ListArray, row: usize, position: usize) -> Option<i64> {
    let counts = lists.values().as_primitive_opt::<Int64Type>().filter(|_| lists.is_valid(row))?;
    let bound = |row: usize| lists.value_offsets().get(row).and_then(|offset| usize::try_from(*offset).ok());
    let place = bound(row)?.checked_add(position).filter(|place| bound(row + 1).is_some_and(|end| *place < end))?;
    counts.is_valid(place).then(|| counts.value(place))
}

/// Maps from columns to values as strings, one for each file: `{k=0, s=a}`.
struct Maps(Vec<String>);

impl Maps {
    fn new(files: usize) -> Self {
        Self(vec!["{".to_string(); files])
    }

    fn put(&mut self, file: usize, column: &str, value: Option<&str>) {
        let Some(text) = self.0.get_mut(file) else { return };
        if text.len() > 1 {
            text.push_str(", ");
        }
        text.push_str(column);
        text.push('=');
        text.push_str(value.unwrap_or(NULL));
    }

    fn finish(mut self) -> ArrayRef {
        self.0.iter_mut().for_each(|text| text.push('}'));
        Arc::new(StringArray::from(self.0))
    }
}

/// Formats keys as strings, `[1, a]`, with NULL for files without keys.
pub(super) fn keys(read: &ReadContext, entries: &ManifestEntries, keys: &BinaryArray) -> Result<StringArray> {
    let mut rows: BTreeMap<i64, Vec<u32>> = BTreeMap::new();
    for (row, (schema_id, key)) in (0..).zip(entries.schema_ids().values().iter().zip(keys)) {
        if key.is_some_and(|key| !matches!(key, [] | [0, 0, 0, 0, ..])) {
            rows.entry(*schema_id).or_default().push(row);
        }
    }
    let mut texts = vec![None; entries.len()];
    for (schema_id, rows) in rows {
        let schema = read.file_schema(schema_id)?;
        let names = schema.trimmed_primary_keys();
        let fields = names.iter().filter_map(|name| schema.field(name));
        let mut types: Vec<DataType> = fields.map(|field| field.data_type.clone()).collect();
        if types.is_empty() {
            types = schema.fields.iter().map(|field| field.data_type.clone()).collect();
        }
        let wanted: Vec<usize> = (0..types.len()).collect();
        let selected = arrow_select::take::take(keys, &UInt32Array::from(rows.clone()), None)?;
        let columns = binary_row::decode_bounds(selected.as_binary::<i32>(), &types, &wanted)
            .map_err(|error| error.corrupt_as(ErrorKind::CorruptManifest).with("field", "_MIN_KEY or _MAX_KEY"))?;
        let columns = columns.iter().zip(&types).map(|(values, data_type)| display::internal(values, data_type));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        for (at, row) in rows.iter().enumerate() {
            let value = |column: &Vec<Option<String>>| column.get(at).cloned().flatten();
            let values: Vec<String> = columns.iter().map(|c| value(c).unwrap_or_else(|| NULL.to_string())).collect();
            if let Some(text) = usize::try_from(*row).ok().and_then(|row| texts.get_mut(row)) {
                *text = Some(format!("[{}]", values.join(", ")));
            }
        }
    }
    Ok(StringArray::from(texts))
}
