//! The `readable_metrics` column: the decoded statistics of each column of the current schema.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, Int32Array, ListArray, StructArray, new_null_array};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field, Fields};
use arrow_select::take::take;
use frazil_core::error::{Error, Result};

use crate::spec::arrow::{arrow_field, arrow_primitive};
use crate::spec::schema::Schema;
use crate::spec::single_value;
use crate::spec::types::{PrimitiveType, Type};

/// The metrics of a column, and the map in a file entry that holds each.
pub(super) const METRICS: [(&str, &str); 6] = [
    ("column_size", "column_sizes"),
    ("value_count", "value_counts"),
    ("null_value_count", "null_value_counts"),
    ("nan_value_count", "nan_value_counts"),
    ("lower_bound", "lower_bounds"),
    ("upper_bound", "upper_bounds"),
];

/// The number of [`METRICS`] that are counts; the remaining ones are bounds.
const COUNTS: usize = 4;

/// The columns of a schema that have statistics, sorted by name.
#[derive(Debug)]
pub(super) struct ReadableMetrics {
    columns: Vec<(i32, PrimitiveType)>,
    places: HashMap<i32, usize>,
    fields: Fields,
}

impl ReadableMetrics {
    pub(super) fn new(schema: &Schema) -> Self {
        let named = |id: i32| {
            let field = schema.field(id)?;
            let Type::Primitive(primitive) = &field.field_type else { return None };
            (*primitive != PrimitiveType::Variant).then(|| (schema.full_name(id).unwrap_or_default(), field, primitive))
        };
        let mut leaves: Vec<_> = schema.leaf_ids().into_iter().filter_map(named).collect();
        leaves.sort_by(|a, b| a.0.cmp(&b.0));
        let fields = leaves.iter().map(|(name, field, _)| {
            let bound = arrow_field(field).with_nullable(true);
            let metrics = METRICS.iter().enumerate().map(|(place, (metric, _))| {
                if place < COUNTS {
                    Field::new(*metric, DataType::Int64, true)
                } else {
                    bound.clone().with_name(*metric)
                }
            });
            Field::new(name, DataType::Struct(metrics.collect()), true)
        });
        let fields = fields.collect();
        let columns: Vec<_> = leaves.iter().map(|(_, field, primitive)| (field.id, (*primitive).clone())).collect();
        let places = columns.iter().enumerate().map(|(place, (id, _))| (*id, place)).collect();
        Self { columns, places, fields }
    }

    pub(super) fn fields(&self) -> &Fields {
        &self.fields
    }

    /// Returns the metrics of files, whose columns must include all maps of [`METRICS`].
    pub(super) fn column(&self, files: &StructArray) -> Result<ArrayRef> {
        let mut metrics: Vec<Vec<ArrayRef>> = vec![Vec::with_capacity(METRICS.len()); self.columns.len()];
        for (place, (_, recorded)) in METRICS.iter().enumerate() {
            let missing = || Error::internal("a map of statistics was not read").with("column", recorded);
            let maps =
                files.column_by_name(recorded).and_then(|column| column.as_list_opt::<i32>()).ok_or_else(missing)?;
            let found = self.found(maps)?;
            let pairs = maps.values().as_struct_opt().ok_or_else(missing)?;
            let values = pairs.columns().get(1).ok_or_else(missing)?;
            for ((own, rows), (_, primitive)) in metrics.iter_mut().zip(found).zip(&self.columns) {
                let recorded = take(values, &rows, None)?;
                own.push(if place < COUNTS { recorded } else { bounds(&recorded, primitive)? });
            }
        }
        let columns = self.fields.iter().zip(metrics).map(|(field, metrics)| {
            let DataType::Struct(fields) = field.data_type() else {
                return Err(Error::internal("the metrics of a column are not a struct"));
            };
            Ok(Arc::new(StructArray::try_new(fields.clone(), metrics, None)?) as ArrayRef)
        });
        let columns = columns.collect::<Result<_>>()?;
        Ok(Arc::new(StructArray::try_new_with_length(self.fields.clone(), columns, None, files.len())?))
    }

    /// Returns, for each column and file, the position of its value among those of all maps; NULL if it has no value.
    fn found(&self, maps: &ListArray) -> Result<Vec<Int32Array>> {
        let mistyped = || Error::internal("the keys of a statistics map are not integers");
        let pairs = maps.values().as_struct_opt().ok_or_else(mistyped)?;
        let keys =
            pairs.columns().first().and_then(|keys| keys.as_primitive_opt::<Int32Type>()).ok_or_else(mistyped)?;
        let mut found = vec![vec![NOT_FOUND; maps.len()]; self.columns.len()];
        // The maps of most files have the same keys in the same order, so the column found for each key is remembered
        // for the next map.
        let mut before: Vec<(i32, Option<usize>)> = Vec::new();
        for (file, ends) in maps.value_offsets().windows(2).enumerate().filter(|(file, _)| maps.is_valid(*file)) {
            let &[start, end] = ends else { continue };
            for (nth, place) in (start..end).enumerate() {
                let key = usize::try_from(place).ok().and_then(|place| keys.values().get(place)).copied();
                let key = key.ok_or_else(mistyped)?;
                let column = match before.get_mut(nth) {
                    Some((known, column)) if *known == key => *column,
                    Some(known) => {
                        *known = (key, self.places.get(&key).copied());
                        known.1
                    }
                    None => {
                        before.push((key, self.places.get(&key).copied()));
                        self.places.get(&key).copied()
                    }
                };
                let column = column.and_then(|column| found.get_mut(column));
                if let Some(slot) = column.and_then(|files| files.get_mut(file)) {
                    *slot = place;
                }
            }
        }
        Ok(found.into_iter().map(indices).collect())
    }
}

/// A placeholder for a file without a value for a column.
const NOT_FOUND: i32 = -1;

fn indices(places: Vec<i32>) -> Int32Array {
    let is_found = || places.iter().map(|&place| place != NOT_FOUND);
    let nulls = is_found().any(|is_found| !is_found).then(|| is_found().collect::<NullBuffer>());
    Int32Array::new(places.into(), nulls)
}

fn bounds(recorded: &ArrayRef, primitive: &PrimitiveType) -> Result<ArrayRef> {
    let binary = recorded.as_binary_opt::<i32>().ok_or_else(|| Error::internal("bounds are not binary"))?;
    let decoded = single_value::decode_column(primitive, binary);
    Ok(decoded.unwrap_or_else(|| new_null_array(&arrow_primitive(primitive), recorded.len())))
}
