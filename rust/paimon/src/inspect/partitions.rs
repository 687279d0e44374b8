//! The system tables `partitions` and `buckets`: the rows, bytes and files of each partition or bucket of a snapshot.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int32Array, Int64Array, StringArray, TimestampMillisecondArray, new_null_array};
use arrow_schema::DataType;
use frazil_core::context::Context;
use frazil_core::error::Result;
use hashbrown::HashMap;

use super::live::{self, Live};
use super::{InspectColumn, InspectState, NULLABLE, REQUIRED, ViewKind, display};
use crate::scan::partitions::Partitions;
use crate::spec::manifest::ManifestEntries;
use crate::spec::partition_path::Naming;

pub(super) const PARTITIONS: [InspectColumn; 9] = [
    ("partition", ViewKind::Text, NULLABLE),
    ("record_count", ViewKind::Long, REQUIRED),
    ("file_size_in_bytes", ViewKind::Long, REQUIRED),
    ("file_count", ViewKind::Long, REQUIRED),
    ("last_update_time", ViewKind::Time, NULLABLE),
    ("created_at", ViewKind::Time, NULLABLE),
    ("created_by", ViewKind::Text, NULLABLE),
    ("updated_by", ViewKind::Text, NULLABLE),
    ("options", ViewKind::Text, NULLABLE),
];

pub(super) const BUCKETS: [InspectColumn; 6] = [
    ("partition", ViewKind::Text, NULLABLE),
    ("bucket", ViewKind::Int, REQUIRED),
    ("record_count", ViewKind::Long, REQUIRED),
    ("file_size_in_bytes", ViewKind::Long, REQUIRED),
    ("file_count", ViewKind::Long, REQUIRED),
    ("last_update_time", ViewKind::Time, NULLABLE),
];

/// The totals of the files of a partition or bucket.
#[derive(Debug, Clone)]
struct Total {
    text: Option<String>,
    bucket: i32,
    rows: i64,
    size_bytes: i64,
    files: i64,
    last_created_ms: Option<i64>,
}

/// Computes the rows of `partitions`. `created_at`, `created_by`, `updated_by` and `options` are known only to REST
/// catalogs.
pub(super) fn partitions(state: &InspectState, context: &Context) -> Result<Vec<ArrayRef>> {
    let (entries, partitions) = entries(state, live::files(state, context)?.with_bucket())?;
    let texts = names(state, &partitions)?;
    let totals = totals(&entries, &partitions, &texts, |_| 0);
    let mut columns = vec![text(&totals)];
    columns.extend(counts(&totals));
    let unknown = [ViewKind::Time.arrow(), DataType::Utf8, DataType::Utf8, DataType::Utf8];
    columns.extend(unknown.iter().map(|data_type| new_null_array(data_type, totals.len())));
    Ok(columns)
}

/// Computes the rows of `buckets`. Bucket -2 contains the files that are not yet assigned to a bucket.
pub(super) fn buckets(state: &InspectState, context: &Context) -> Result<Vec<ArrayRef>> {
    let (entries, partitions) = entries(state, live::files(state, context)?)?;
    let texts = display::partitions(partitions.rows(), state)?;
    let texts: Vec<Option<String>> = texts.iter().map(|text| text.map(ToString::to_string)).collect();
    let buckets = entries.buckets();
    let totals = totals(&entries, &partitions, &texts, |row| buckets.value(row));
    let mut columns = vec![text(&totals)];
    columns.push(Arc::new(totals.iter().map(|total| Some(total.bucket)).collect::<Int32Array>()));
    columns.extend(counts(&totals));
    Ok(columns)
}

fn entries(state: &InspectState, live: Live) -> Result<(ManifestEntries, Partitions)> {
    let entries = live.into_entries()?;
    let partitions = Partitions::try_new(entries.partitions(), &live::read_context(state, &entries)?)?;
    Ok((entries, partitions))
}

/// Formats partitions as `p=a/q=1`, with each value cast to STRING.
fn names(state: &InspectState, partitions: &Partitions) -> Result<Vec<Option<String>>> {
    let default_name = Naming::from_options(&state.options)?.default_name;
    let mut names = vec![String::new(); partitions.rows().len()];
    for (field, values) in state.partition_fields().into_iter().zip(partitions.columns()) {
        let values = display::texts(values, &field.data_type)?;
        for (name, value) in names.iter_mut().zip(&values) {
            if !name.is_empty() {
                name.push('/');
            }
            name.push_str(&field.name);
            name.push('=');
            name.push_str(value.filter(|value| !value.trim().is_empty()).unwrap_or(&default_name));
        }
    }
    Ok(names.into_iter().map(Some).collect())
}

/// Returns the totals of each partition and bucket, sorted. `texts` are the distinct partitions as strings.
fn totals(
    entries: &ManifestEntries,
    partitions: &Partitions,
    texts: &[Option<String>],
    bucket: impl Fn(usize) -> i32,
) -> Vec<Total> {
    let mut places: HashMap<(usize, i32), usize> = HashMap::new();
    let mut totals: Vec<Total> = Vec::new();
    let created = entries.creation_times_ms();
    let sizes = entries.file_sizes().values().iter();
    for (row, (rows, size_bytes)) in entries.row_counts().values().iter().zip(sizes).enumerate() {
        let (partition, bucket) = (partitions.of(row), bucket(row));
        let place = *places.entry((partition, bucket)).or_insert_with(|| {
            let text = texts.get(partition).cloned().flatten();
            totals.push(Total { text, bucket, rows: 0, size_bytes: 0, files: 0, last_created_ms: None });
            totals.len() - 1
        });
        if let Some(total) = totals.get_mut(place) {
            total.rows = total.rows.saturating_add(*rows);
            total.size_bytes = total.size_bytes.saturating_add(*size_bytes);
            total.files += 1;
            total.last_created_ms = total.last_created_ms.max(created.is_valid(row).then(|| created.value(row)));
        }
    }
    totals.sort_by(|a, b| (&a.text, a.bucket).cmp(&(&b.text, b.bucket)));
    totals
}

fn text(totals: &[Total]) -> ArrayRef {
    Arc::new(totals.iter().map(|total| total.text.as_deref()).collect::<StringArray>())
}

/// Returns the columns from `record_count` to `last_update_time`.
fn counts(totals: &[Total]) -> [ArrayRef; 4] {
    let long =
        |of: fn(&Total) -> i64| -> ArrayRef { Arc::new(totals.iter().map(of).map(Some).collect::<Int64Array>()) };
    let created = totals.iter().map(|total| total.last_created_ms).collect::<TimestampMillisecondArray>();
    [long(|total| total.rows), long(|total| total.size_bytes), long(|total| total.files), Arc::new(created)]
}
