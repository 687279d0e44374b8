//! Moves the new files of an overwrite to the highest level if possible, because no older file is left to merge them
//! with (Java's `tryUpgrade`, option `overwrite-upgrade`).

use arrow_array::UInt32Array;
use frazil_core::error::Result;

use crate::merge::section::KeyRanges;
use crate::spec::manifest::ManifestEntries;
use crate::spec::options::Options;
use crate::spec::schema::TableSchema;
use crate::write::change::Home;

/// Returns the new files of an overwrite. The files of each bucket are in the highest level if their keys do not
/// overlap.
///
/// # Errors
/// `InvalidArgument` for options that do not parse.
pub(super) fn upgraded(added: ManifestEntries, schema: &TableSchema, options: &Options) -> Result<ManifestEntries> {
    let is_new = added.levels().values().iter().all(|level| *level == 0);
    if schema.primary_keys.is_empty() || !is_new || !options.boolean("overwrite-upgrade", true)? {
        return Ok(added);
    }
    let level = options.levels()?.saturating_sub(1);
    let keys = schema.trimmed_primary_keys().into_iter().filter_map(|key| schema.field(key));
    let key_types: Vec<_> = keys.map(|field| field.data_type.clone()).collect();
    let of_bucket = |rows: Vec<u32>| {
        let mut places: Vec<usize> = (0..rows.len()).collect();
        let files = added.take(&UInt32Array::from(rows))?;
        let keys = KeyRanges::try_new(files.min_keys(), files.max_keys(), &key_types)?;
        if keys.sort_run(&mut places).is_some() { Ok(files) } else { files.at_level(level) }
    };
    ManifestEntries::concat(&Home::rows(&added).into_values().map(of_bucket).collect::<Result<Vec<_>>>()?)
}
