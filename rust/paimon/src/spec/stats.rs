//! Statistics of data files (spec: "Manifest", `_KEY_STATS` and `_VALUE_STATS`).
//!
//! Bounds are rows of one field for each column that has statistics. Which columns those are an entry says itself: those
//! of `_VALUE_STATS_COLS`, or of `_WRITE_COLS` where that is NULL, or all of the schema that the file was written with.
//! A row without fields says that nothing is known. A bound that is NULL is not known either, unless all values are.

use std::collections::HashMap;
use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, BinaryArray, Int64Array, ListArray, StringArray, UInt32Array, new_null_array};
use arrow_schema::DataType as ArrowType;
use arrow_select::concat::concat;
use arrow_select::take::take;
use frazil_core::avro::{Column, Kind};
use frazil_core::error::{Error, ErrorKind, Result};

use super::manifest::ManifestEntries;
use super::meta_file::{self, leaf, list};
use super::types::{DataField, DataType, TypeRoot};
use crate::binary_row::decode_bounds;

/// Bounds and null counts of some columns over all files of a manifest.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SimpleStats {
    /// The row of smallest values, with its arity; without fields where nothing is known.
    pub min: Vec<u8>,
    /// The row of greatest values.
    pub max: Vec<u8>,
    /// How many values are NULL, column by column; None where not known.
    pub null_counts: Option<Vec<Option<i64>>>,
}

/// Bounds and null counts of the columns of many files; one row for each file.
#[derive(Debug, Clone, Copy)]
pub struct Stats<'a> {
    /// Rows of smallest values, with their arity; without fields where nothing is known.
    pub min: &'a BinaryArray,
    /// Rows of greatest values.
    pub max: &'a BinaryArray,
    /// How many values are NULL: a list of 64-bit numbers, one for each column, NULL where not known.
    pub null_counts: &'a ListArray,
}

/// What is known of one column; one value for each file.
#[derive(Debug, Clone)]
pub struct ColumnStats {
    /// Values not above any other, of the Arrow type of the column; NULL where not known, or where all values are NULL.
    pub min: ArrayRef,
    /// Values not below any other.
    pub max: ArrayRef,
    /// How many values are NULL; NULL where not known.
    pub null_counts: Int64Array,
}

impl ColumnStats {
    fn unknown(data_type: &DataType, files: usize) -> Self {
        let bounds = new_null_array(&data_type.arrow(), files);
        Self { min: ArrayRef::clone(&bounds), max: bounds, null_counts: Int64Array::new_null(files) }
    }
}

impl Stats<'_> {
    /// Statistics of the columns at the places `wanted` of `types`: those of partitions and keys, where every row has
    /// all fields.
    ///
    /// # Errors
    /// `CorruptManifest` for rows that have another number of fields or do not decode.
    pub fn columns(&self, types: &[DataType], wanted: &[usize]) -> Result<Vec<ColumnStats>> {
        let bounds =
            |rows| decode_bounds(rows, types, wanted).map_err(|error| error.corrupt_as(ErrorKind::CorruptManifest));
        let bounds = bounds(self.min)?.into_iter().zip(bounds(self.max)?);
        let column = |((min, max), &at)| ColumnStats { min, max, null_counts: null_counts(self.null_counts, at) };
        Ok(bounds.zip(wanted).map(column).collect())
    }
}

/// Value statistics of files that were all written with a schema of these `fields`, of those at the places `wanted`.
///
/// # Errors
/// `CorruptManifest` for bounds that do not decode or have other fields than they say.
pub fn value_stats(entries: &ManifestEntries, fields: &[DataField], wanted: &[usize]) -> Result<Vec<ColumnStats>> {
    let stats = entries.value_stats();
    let layouts = Layouts::of(entries)?;
    if let [(layout, _)] = layouts.0.as_slice() {
        return of_layout(stats, layout.as_deref(), fields, wanted);
    }
    let mut order = Vec::with_capacity(entries.len());
    let mut parts: Vec<Vec<ColumnStats>> = Vec::with_capacity(layouts.0.len());
    for (layout, rows) in layouts.0 {
        let (min, max) = (take(stats.min, &rows, None)?, take(stats.max, &rows, None)?);
        let null_counts = take(stats.null_counts, &rows, None)?;
        let part = Stats { min: min.as_binary(), max: max.as_binary(), null_counts: null_counts.as_list() };
        parts.push(of_layout(part, layout.as_deref(), fields, wanted)?);
        order.extend(rows.values().iter().copied());
    }
    let place = inverse(&order);
    let column = |at: usize| {
        let parts: Vec<&ColumnStats> = parts.iter().filter_map(|part| part.get(at)).collect();
        let merged = |part: fn(&ColumnStats) -> &dyn Array| -> Result<ArrayRef> {
            let arrays: Vec<&dyn Array> = parts.iter().map(|stats| part(stats)).collect();
            Ok(take(&concat(&arrays)?, &place, None)?)
        };
        let null_counts = merged(|stats| &stats.null_counts)?.as_primitive::<Int64Type>().clone();
        Ok(ColumnStats { min: merged(|stats| &stats.min)?, max: merged(|stats| &stats.max)?, null_counts })
    };
    if entries.is_empty() { empty(fields, wanted) } else { (0..wanted.len()).map(column).collect() }
}

fn empty(fields: &[DataField], wanted: &[usize]) -> Result<Vec<ColumnStats>> {
    wanted.iter().map(|at| Ok(ColumnStats::unknown(&field(fields, *at)?.data_type, 0))).collect()
}

fn field(fields: &[DataField], at: usize) -> Result<&DataField> {
    fields.get(at).ok_or_else(|| Error::invalid(format!("column {at} of {}", fields.len())))
}

/// Statistics of files whose bounds are of the columns `names`; of all `fields` where that is None.
fn of_layout(
    stats: Stats<'_>,
    names: Option<&[&str]>,
    fields: &[DataField],
    wanted: &[usize],
) -> Result<Vec<ColumnStats>> {
    let Some(names) = names else {
        let types: Vec<DataType> = fields.iter().map(|field| field.data_type.clone()).collect();
        return stats.columns(&types, wanted);
    };
    // Names that the schema does not have are of columns that Paimon adds; nobody asks for their bounds.
    let by_name: HashMap<&str, &DataField> = fields.iter().map(|field| (field.name.as_str(), field)).collect();
    let data_type = |name: &&str| by_name.get(name).map(|field| field.data_type.clone());
    let types: Vec<DataType> =
        names.iter().map(|name| data_type(name).unwrap_or(DataType::nullable(TypeRoot::BigInt))).collect();
    let places: HashMap<&str, usize> = names.iter().copied().zip(0..).collect();
    let wanted = wanted.iter().map(|at| field(fields, *at)).collect::<Result<Vec<_>>>()?;
    let found: Vec<usize> = wanted.iter().filter_map(|field| places.get(field.name.as_str()).copied()).collect();
    let mut decoded = stats.columns(&types, &found)?.into_iter();
    let column = |field: &DataField| match places.get(field.name.as_str()) {
        Some(_) => decoded.next().ok_or_else(|| Error::internal("statistics of fewer columns than were asked for")),
        None => Ok(ColumnStats::unknown(&field.data_type, stats.min.len())),
    };
    wanted.into_iter().map(column).collect()
}

/// The count at one place of each list; NULL where a list ends before it.
fn null_counts(lists: &ListArray, at: usize) -> Int64Array {
    let Some(counts) = lists.values().as_primitive_opt::<Int64Type>() else {
        return Int64Array::new_null(lists.len());
    };
    let count = |row: usize| {
        let at = list_range(lists, row)?.nth(at)?;
        counts.is_valid(at).then(|| counts.value(at))
    };
    (0..lists.len()).map(count).collect()
}

/// Where the elements of a list stand; None for NULL.
fn list_range(lists: &ListArray, row: usize) -> Option<Range<usize>> {
    let offsets = lists.value_offsets();
    let (start, end) = offsets.get(row).zip(offsets.get(row + 1)).filter(|_| lists.is_valid(row))?;
    Some(usize::try_from(*start).ok()?..usize::try_from(*end).ok()?)
}

/// The places of rows that stand in another order.
fn inverse(order: &[u32]) -> UInt32Array {
    let mut place = vec![0; order.len()];
    for (at, row) in (0..).zip(order) {
        if let Some(place) = usize::try_from(*row).ok().and_then(|row| place.get_mut(row)) {
            *place = at;
        }
    }
    UInt32Array::from(place)
}

/// Entries by the columns that their statistics are of; None for all.
struct Layouts<'a>(Vec<(Option<Vec<&'a str>>, UInt32Array)>);

impl<'a> Layouts<'a> {
    fn of(entries: &'a ManifestEntries) -> Result<Self> {
        let stats_cols = Names::of(entries.value_stats_cols())?;
        let write_cols = Names::of(entries.write_cols())?;
        let names = |row| stats_cols.at(row).or_else(|| write_cols.at(row));
        let mut known: HashMap<Option<Vec<&str>>, usize> = HashMap::new();
        let mut layouts: Vec<(Option<Vec<&str>>, Vec<u32>)> = Vec::new();
        let mut last = None;
        for (row, number) in (0..entries.len()).zip(0_u32..) {
            // Nearly always those of the entry before.
            let same = last.filter(|(_, before)| match (names(*before), names(row)) {
                (Some(before), Some(names)) => before.eq(names),
                (None, None) => true,
                _ => false,
            });
            let at = if let Some((at, _)) = same {
                at
            } else {
                let names: Option<Vec<&str>> = names(row).map(Iterator::collect);
                *known.entry(names).or_insert_with_key(|names| {
                    layouts.push((names.clone(), Vec::new()));
                    layouts.len() - 1
                })
            };
            last = Some((at, row));
            if let Some((_, rows)) = layouts.get_mut(at) {
                rows.push(number);
            }
        }
        Ok(Self(layouts.into_iter().map(|(names, rows)| (names, rows.into())).collect()))
    }
}

/// Lists of names.
struct Names<'a> {
    lists: &'a ListArray,
    names: &'a StringArray,
}

impl<'a> Names<'a> {
    fn of(lists: &'a ListArray) -> Result<Self> {
        let names = lists.values().as_string_opt();
        Ok(Self { lists, names: names.ok_or_else(|| Error::internal("lists of names are lists of text"))? })
    }

    fn at(&self, row: usize) -> Option<impl Iterator<Item = &'a str> + use<'a>> {
        let names = self.names;
        list_range(self.lists, row).map(|range| range.map(|at| names.value(at)))
    }
}

/// How statistics stand in files: bounds and null counts under the names that they get in the output.
pub(super) fn column(name: &str, [min, max, null_counts]: [&str; 3]) -> Column {
    let named = |column: Column, name: &str| Column { name: name.to_string(), ..column };
    let fields = vec![
        named(leaf("_MIN_VALUES", ArrowType::Binary).required(), min),
        named(leaf("_MAX_VALUES", ArrowType::Binary).required(), max),
        named(meta_file::column("_NULL_COUNTS", list(ArrowType::Int64)), null_counts),
    ];
    meta_file::column(name, Kind::Struct(fields)).required()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::types::Int32Type;
    use arrow_array::{BooleanArray, Int32Array};
    use frazil_core::context::Context;
    use serde_json::{Value as Json, json};

    use super::super::manifest::{self, Wanted};
    use super::super::testing::{NO_FIELDS, avro, entry, manifest_fields, with};
    use super::*;
    use crate::binary_row::{encode, with_arity};

    fn fields(names: &[&str]) -> Vec<DataField> {
        let field = |(id, name): (i32, &&str)| DataField {
            id,
            name: (*name).to_string(),
            data_type: DataType::nullable(TypeRoot::Int),
            description: None,
            default_value: None,
        };
        (0..).zip(names).map(field).collect()
    }

    fn row(values: &[Option<i32>]) -> Vec<u8> {
        if values.is_empty() {
            return NO_FIELDS.to_vec();
        }
        let types = vec![DataType::nullable(TypeRoot::Int); values.len()];
        let columns: Vec<ArrayRef> = values.iter().map(|value| Arc::new(Int32Array::from(vec![*value])) as _).collect();
        with_arity(&encode(&columns, &types).unwrap(), values.len()).unwrap().value(0).to_vec()
    }

    /// A file with bounds from `values` to twice those.
    #[expect(clippy::needless_pass_by_value, reason = "so that literals can stand at the calls")]
    fn file(name: &str, values: &[Option<i32>], null_counts: Json, stats_cols: Json, write_cols: Json) -> Json {
        let twice: Vec<_> = values.iter().map(|value| value.map(|value| 2 * value)).collect();
        let stats = json!({"_MIN_VALUES": row(values), "_MAX_VALUES": row(&twice), "_NULL_COUNTS": null_counts});
        let record = with(entry(name), "/_FILE/_VALUE_STATS", stats);
        with(with(record, "/_FILE/_VALUE_STATS_COLS", stats_cols), "/_FILE/_WRITE_COLS", write_cols)
    }

    fn entries(records: &[Json]) -> ManifestEntries {
        manifest::read(avro(&manifest_fields("_LATER"), records), Wanted::ALL, &Context::default()).unwrap()
    }

    fn ints(array: &ArrayRef) -> Vec<Option<i32>> {
        array.as_primitive::<Int32Type>().iter().collect()
    }

    #[test]
    fn bounds_are_found_whatever_columns_they_are_of() {
        let records = [
            file("all", &[Some(1), Some(2), Some(3)], json!([0, 1, null]), Json::Null, Json::Null),
            file("dense", &[Some(30), Some(10)], json!([5, 6]), json!(["c", "a"]), Json::Null),
            file("written", &[Some(200), None, Some(7)], json!([1, 2, 3]), Json::Null, json!(["b", "c", "_ROW_ID"])),
            file("both", &[Some(400)], json!([4]), json!(["c"]), json!(["b", "c"])),
            file("none", &[], json!([]), json!([]), Json::Null),
            file("unknown", &[], Json::Null, Json::Null, Json::Null),
            file("dense again", &[Some(31), Some(11)], json!([7, 8]), json!(["c", "a"]), Json::Null),
        ];
        let entries = entries(&records);
        let [c, a] = <[_; 2]>::try_from(value_stats(&entries, &fields(&["a", "b", "c"]), &[2, 0]).unwrap()).unwrap();
        assert_eq!(ints(&c.min), [Some(3), Some(30), None, Some(400), None, None, Some(31)]);
        assert_eq!(ints(&c.max), [Some(6), Some(60), None, Some(800), None, None, Some(62)]);
        let counts = vec![None, Some(5), Some(2), Some(4), None, None, Some(7)];
        assert_eq!(c.null_counts, Int64Array::from(counts));
        assert_eq!(ints(&a.min), [Some(1), Some(10), None, None, None, None, Some(11)]);
        assert_eq!(a.null_counts, Int64Array::from(vec![Some(0), Some(6), None, None, None, None, Some(8)]));
        let dense = entries.filter(&BooleanArray::from(vec![false, true, false, false, false, false, true])).unwrap();
        let [b] = <[_; 1]>::try_from(value_stats(&dense, &fields(&["a", "b", "c"]), &[1]).unwrap()).unwrap();
        assert_eq!((ints(&b.min), b.null_counts), (vec![None, None], Int64Array::new_null(2)));
    }

    #[test]
    fn no_entries_have_no_bounds() {
        let stats = value_stats(&entries(&[]), &fields(&["a"]), &[0]).unwrap();
        assert_eq!((stats[0].min.len(), stats[0].max.data_type()), (0, &ArrowType::Int32));
        assert!(value_stats(&entries(&[]), &fields(&["a"]), &[1]).is_err());
    }

    #[test]
    fn bounds_of_other_columns_than_they_say_are_corrupt() {
        let short = entries(&[file("f", &[Some(1)], json!([0]), Json::Null, Json::Null)]);
        let error = value_stats(&short, &fields(&["a", "b"]), &[0]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::CorruptManifest);
    }

    #[test]
    fn keys_have_all_their_fields() {
        let stats =
            json!({"_MIN_VALUES": row(&[Some(1), None]), "_MAX_VALUES": row(&[Some(9), None]), "_NULL_COUNTS": [0]});
        let entries = entries(&[with(entry("f"), "/_FILE/_KEY_STATS", stats)]);
        let types = vec![DataType::nullable(TypeRoot::Int); 2];
        let columns = entries.key_stats().columns(&types, &[0, 1]).unwrap();
        assert_eq!((ints(&columns[0].min), ints(&columns[0].max)), (vec![Some(1)], vec![Some(9)]));
        assert_eq!(columns[0].null_counts, Int64Array::from(vec![Some(0)]));
        assert_eq!(columns[1].null_counts, Int64Array::new_null(1));
    }
}
