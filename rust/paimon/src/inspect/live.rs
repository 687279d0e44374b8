//! Computes the data files of a snapshot: the entries of its manifests that are not deleted later.

use std::collections::BTreeMap;
use std::ops::Range;

use arrow_array::BooleanArray;
use arrow_buffer::BooleanBuffer;
use frazil_core::context::Context;
use frazil_core::error::Result;
use frazil_core::parallel;
use frazil_core::sql::predicate::BoundPredicate;

use super::InspectState;
use super::manifests::{LIMIT_BYTES, listed, path};
use crate::context::{ReadContext, View};
use crate::spec::manifest::{self, ManifestEntries, WantedFields};

/// The number of threads that decode manifests.
const WORKERS: usize = 4;

/// The entries of all manifests of a snapshot, and which of the entries are live.
pub(super) struct Live {
    /// Manifests in the order of their entries, with the ranges of the entries.
    pub manifests: Vec<(String, Range<usize>)>,
    /// All entries, without statistics.
    pub entries: ManifestEntries,
    /// The entries that are live.
    pub lasting: BooleanBuffer,
}

/// Returns the data files of the displayed snapshot.
pub(super) fn files(state: &InspectState, context: &Context) -> Result<Live> {
    let snapshot = state.snapshot.iter();
    let lists = snapshot.flat_map(|snapshot| [&snapshot.base_manifest_list, &snapshot.delta_manifest_list]);
    let lists: Vec<String> = lists.cloned().collect();
    let manifests = listed(state, &lists, context)?;
    let parts = parallel::map(&manifests, WORKERS, |manifest| {
        context.check()?;
        let read = read(state, &manifest.file_name, WantedFields::FILES, context);
        read.map_err(|error| error.with("file", path(state, &manifest.file_name)))
    })?;
    let mut start = 0;
    let places = parts.iter().map(|part| {
        let place = start..start + part.len();
        start = place.end;
        place
    });
    let manifests = manifests.into_iter().map(|manifest| manifest.file_name).zip(places).collect();
    let entries = ManifestEntries::concat(&parts)?;
    let lasting = match entries.lasting()? {
        Some(lasting) => lasting.values().clone(),
        None => BooleanBuffer::new_set(entries.len()),
    };
    Ok(Live { manifests, entries, lasting })
}

impl Live {
    /// Removes files that are not yet assigned to a bucket, as scans do.
    #[must_use]
    pub(super) fn with_bucket(self) -> Self {
        let has_bucket: BooleanBuffer = self.entries.buckets().values().iter().map(|bucket| *bucket >= 0).collect();
        Self { lasting: &self.lasting & &has_bucket, ..self }
    }

    /// Returns the live entries.
    pub(super) fn into_entries(self) -> Result<ManifestEntries> {
        self.entries.filter(&BooleanArray::from(self.lasting))
    }
}

/// Returns the entries of a manifest.
pub(super) fn read(
    state: &InspectState,
    name: &str,
    wanted: WantedFields,
    context: &Context,
) -> Result<ManifestEntries> {
    let bytes = state.table.files().read(&path(state, name), LIMIT_BYTES)?;
    manifest::read(bytes, wanted, context)
}

/// Returns the context that all splits of a scan of the entries would share.
pub(super) fn read_context(state: &InspectState, entries: &ManifestEntries) -> Result<ReadContext> {
    let mut schemas = BTreeMap::from([(state.schema.id, state.schema.clone())]);
    for id in entries.schema_ids().values() {
        if !schemas.contains_key(id) {
            schemas.insert(*id, state.table.schema_by_id(*id)?);
        }
    }
    Ok(ReadContext {
        files: state.table.files().clone(),
        table_location: state.table.location().to_string(),
        schema: state.schema.clone(),
        schemas,
        options: state.options.clone(),
        filter: BoundPredicate::True,
        view: View::Rows,
    })
}
