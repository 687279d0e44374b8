//! Merges the manifests of the previous snapshot, so that the number of manifests does not grow with each commit.
//!
//! Merged manifests contain the entries as they were read, including statistics. A manifest that a newer release wrote
//! and that cannot be rewritten without loss is kept unchanged: see [`can_rewrite`].

use std::collections::BTreeSet;

use arrow_array::BooleanArray;
use frazil_core::context::Context;
use frazil_core::error::{Error, ErrorKind, Result};

use super::manifests::{MetadataWriter, Rolling};
use super::merge_plan::{ManifestNumbers, MergeSettings};
use crate::spec::manifest::{self, ADD, FileSet, ManifestEntries, WantedFields, can_rewrite};
use crate::spec::manifest_list::ManifestFileMeta;
use crate::table::{PartitionBounds, Table};

/// The maximum length of a manifest that is read.
const LIMIT_BYTES: u64 = 2 << 30;

/// The number of manifests that are fetched together.
const FETCHED: usize = 16;

/// A merger of manifests that reuses its results across the attempts of a commit.
#[derive(Debug)]
pub(super) struct ManifestMerger<'a> {
    table: &'a Table,
    context: &'a Context,
    settings: MergeSettings,
    /// The names of manifests that cannot be rewritten.
    fixed: BTreeSet<String>,
    last: Option<Merged>,
}

/// The result of merging manifests.
#[derive(Debug)]
struct Merged {
    before: Vec<String>,
    after: Vec<ManifestFileMeta>,
    written: Vec<String>,
}

/// A manifest that was read.
enum Read {
    Entries(ManifestEntries),
    /// A manifest that cannot be rewritten.
    Fixed,
}

impl<'a> ManifestMerger<'a> {
    pub(super) fn new(table: &'a Table, context: &'a Context, settings: MergeSettings) -> Self {
        Self { table, context, settings, fixed: BTreeSet::new(), last: None }
    }

    /// Merges manifests and returns manifests with equivalent entries.
    ///
    /// # Errors
    /// `CorruptManifest` for manifests that do not decode or contradict each other.
    pub(super) fn merge(
        &mut self,
        manifests: Vec<ManifestFileMeta>,
        writer: &mut MetadataWriter<'_>,
    ) -> Result<Vec<ManifestFileMeta>> {
        if let Some(last) = self.last.take() {
            // If the manifests of the last merge are still the first ones, other writers only added manifests, and the
            // last result is reused.
            let known = manifests.iter().map(|manifest| &manifest.file_name);
            if last.before.len() <= manifests.len() && last.before.iter().zip(known).all(|(a, b)| a == b) {
                let rest = manifests.into_iter().skip(last.before.len());
                let merged = last.after.iter().cloned().chain(rest).collect();
                self.last = Some(last);
                return Ok(merged);
            }
            last.written.iter().for_each(|name| writer.delete(name));
        }
        let after = self.merged(&manifests, writer)?;
        let before: Vec<_> = manifests.into_iter().map(|manifest| manifest.file_name).collect();
        let is_new = |manifest: &&ManifestFileMeta| !before.contains(&manifest.file_name);
        let written = after.iter().filter(is_new).map(|manifest| manifest.file_name.clone()).collect();
        self.last = Some(Merged { before, after: after.clone(), written });
        Ok(after)
    }

    fn merged(
        &mut self,
        manifests: &[ManifestFileMeta],
        writer: &mut MetadataWriter<'_>,
    ) -> Result<Vec<ManifestFileMeta>> {
        // Each round but the last finds further manifests that cannot be rewritten.
        loop {
            self.context.check()?;
            let known = self.fixed.len();
            let numbers = self.numbers(manifests);
            let mut merged = None;
            if self.settings.is_full_due(&numbers) {
                merged = self.full(manifests, &numbers, writer)?;
            }
            if merged.is_none() && self.fixed.len() == known {
                merged = self.minor(manifests, &numbers, writer)?;
            }
            if let Some(merged) = merged {
                return Ok(merged);
            }
        }
    }

    fn numbers(&self, manifests: &[ManifestFileMeta]) -> Vec<ManifestNumbers> {
        let of = |manifest: &ManifestFileMeta| ManifestNumbers::of(manifest, self.fixed.contains(&manifest.file_name));
        manifests.iter().map(of).collect()
    }

    /// Merges consecutive manifests. Returns None if one of them turns out not to be rewritable.
    fn minor(
        &mut self,
        manifests: &[ManifestFileMeta],
        numbers: &[ManifestNumbers],
        writer: &mut MetadataWriter<'_>,
    ) -> Result<Option<Vec<ManifestFileMeta>>> {
        let mut merged = Vec::new();
        let mut end = 0;
        for group in self.settings.minor_groups(numbers) {
            merged.push((end..group.start, self.folded(manifests.get(group.clone()).unwrap_or_default())?));
            end = group.end;
        }
        let mut result = Vec::new();
        for (before, entries) in merged {
            let Some(entries) = entries else { return Ok(None) };
            result.extend_from_slice(manifests.get(before).unwrap_or_default());
            result.extend(writer.manifests(&entries)?);
        }
        result.extend_from_slice(manifests.get(end..).unwrap_or_default());
        Ok(Some(result))
    }

    /// Returns the entries that remain after additions and removals of a file in `manifests` cancel out. Entries that
    /// remove files of earlier manifests are kept. Returns None if a manifest cannot be rewritten.
    fn folded(&mut self, manifests: &[ManifestFileMeta]) -> Result<Option<ManifestEntries>> {
        let mut parts = Vec::with_capacity(manifests.len());
        for chunk in manifests.chunks(FETCHED) {
            parts.extend(self.read(chunk)?.into_iter().filter_map(Read::into_entries));
        }
        if parts.len() < manifests.len() {
            return Ok(None);
        }
        ManifestEntries::concat(&parts)?.fold().map(Some)
    }

    /// Drops all removed files from all manifests. Returns None if fewer than two manifests would be read, or if one of
    /// them turns out not to be rewritable.
    fn full(
        &mut self,
        manifests: &[ManifestFileMeta],
        numbers: &[ManifestNumbers],
        writer: &mut MetadataWriter<'_>,
    ) -> Result<Option<Vec<ManifestFileMeta>>> {
        let must_change = |at: usize| numbers.get(at).is_some_and(|numbers| self.settings.must_change(*numbers));
        let changed: Vec<_> = (0..manifests.len()).filter(|at| must_change(*at)).collect();
        let Some(removed) = self.removed(&pick(manifests, &changed))? else { return Ok(None) };
        let mut partitions = PartitionBounds::new(writer.partition_types());
        partitions.add(removed.entries().partitions())?;
        let may_change = |at: usize, manifest: &ManifestFileMeta| {
            changed.contains(&at)
                || !removed.entries().is_empty()
                    && !self.fixed.contains(&manifest.file_name)
                    && partitions.may_be_in(manifest)
        };
        let (wanted, mut kept): (Vec<_>, Vec<_>) =
            manifests.iter().enumerate().partition(|(at, manifest)| may_change(*at, manifest));
        if wanted.len() <= 1 {
            return Ok(None);
        }
        let mut merge = FullMerge::new(removed);
        for chunk in wanted.chunks(FETCHED) {
            let metas: Vec<_> = chunk.iter().map(|(_, manifest)| (*manifest).clone()).collect();
            for ((at, manifest), read) in chunk.iter().zip(self.read(&metas)?) {
                let Read::Entries(entries) = read else {
                    // The manifests in `changed` were already read for `removed`. Only the other manifests can turn out
                    // not to be rewritable here.
                    merge.discard(writer);
                    return Ok(None);
                };
                if !merge.add(&entries, changed.contains(at), writer)? {
                    kept.push((*at, manifest));
                }
            }
        }
        let (fixed, kept): (Vec<_>, Vec<_>) =
            kept.into_iter().partition(|(_, manifest)| self.fixed.contains(&manifest.file_name));
        let metas = |manifests: Vec<(usize, &ManifestFileMeta)>| -> Vec<ManifestFileMeta> {
            manifests.into_iter().map(|(_, manifest)| manifest.clone()).collect()
        };
        merge.finish(metas(kept), metas(fixed), writer).map(Some)
    }

    /// Returns the files that manifests remove, or None if one of the manifests cannot be rewritten.
    fn removed(&mut self, manifests: &[ManifestFileMeta]) -> Result<Option<FileSet>> {
        let mut parts = Vec::new();
        let known = self.fixed.len();
        for chunk in manifests.chunks(FETCHED) {
            for entries in self.read(chunk)?.into_iter().filter_map(Read::into_entries) {
                let removed: BooleanArray = entries.kinds().values().iter().map(|kind| Some(*kind != ADD)).collect();
                if removed.true_count() > 0 {
                    parts.push(entries.filter(&removed)?);
                }
            }
        }
        if self.fixed.len() > known {
            return Ok(None);
        }
        FileSet::try_new(ManifestEntries::concat(&parts)?).map(Some)
    }

    /// Reads manifests, and records those that cannot be rewritten.
    fn read(&mut self, manifests: &[ManifestFileMeta]) -> Result<Vec<Read>> {
        self.context.check()?;
        let paths: Vec<_> =
            manifests.iter().map(|manifest| self.table.manifest_location(&manifest.file_name)).collect();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        let mut found = Vec::with_capacity(manifests.len());
        for ((manifest, path), bytes) in
            manifests.iter().zip(&paths).zip(self.table.files().read_all(&paths, LIMIT_BYTES))
        {
            let bytes = bytes?;
            if can_rewrite(&bytes).map_err(|error| error.with("file", path))? {
                let entries = manifest::read(bytes, WantedFields::ALL, self.context);
                found.push(Read::Entries(entries.map_err(|error| error.with("file", path))?));
            } else {
                self.fixed.insert(manifest.file_name.clone());
                found.push(Read::Fixed);
            }
        }
        Ok(found)
    }
}

fn pick(manifests: &[ManifestFileMeta], places: &[usize]) -> Vec<ManifestFileMeta> {
    places.iter().filter_map(|at| manifests.get(*at).cloned()).collect()
}

impl Read {
    fn into_entries(self) -> Option<ManifestEntries> {
        match self {
            Self::Entries(entries) => Some(entries),
            Self::Fixed => None,
        }
    }
}

/// The manifests that a full merge writes.
struct FullMerge {
    removed: FileSet,
    /// Whether each of the removed files was found.
    found: Vec<bool>,
    rolling: Rolling,
}

impl FullMerge {
    fn new(removed: FileSet) -> Self {
        let found = vec![false; removed.entries().len()];
        Self { removed, found, rolling: Rolling::default() }
    }

    /// Writes the files of a manifest that were not removed. Returns false, and writes nothing, if the manifest does
    /// not change and `must_change` is false.
    fn add(&mut self, entries: &ManifestEntries, must_change: bool, writer: &mut MetadataWriter<'_>) -> Result<bool> {
        let rows = self.removed.rows_of(entries)?;
        let kinds = entries.kinds().values();
        if !must_change && kinds.iter().any(|kind| *kind != ADD) {
            let message = "a manifest removes files, but its manifest list records no removed files";
            return Err(Error::new(ErrorKind::CorruptManifest, message));
        }
        let kept: BooleanArray =
            kinds.iter().zip(&rows).map(|(kind, row)| Some(*kind == ADD && row.is_none())).collect();
        if !must_change && kept.true_count() == kept.len() {
            return Ok(false);
        }
        for (_, row) in kinds.iter().zip(&rows).filter(|(kind, _)| **kind == ADD) {
            if let Some(found) = row.and_then(|row| self.found.get_mut(row)) {
                *found = true;
            }
        }
        writer.roll(&mut self.rolling, &entries.filter(&kept)?)?;
        Ok(true)
    }

    /// Returns all manifests in the order in which their entries apply. `fixed` are the manifests that cannot be
    /// rewritten. They may contain removed files, or remove files of the other manifests.
    fn finish(
        self,
        kept: Vec<ManifestFileMeta>,
        fixed: Vec<ManifestFileMeta>,
        writer: &mut MetadataWriter<'_>,
    ) -> Result<Vec<ManifestFileMeta>> {
        let mut all = kept;
        all.extend(writer.finish_rolling(self.rolling)?);
        if !fixed.is_empty() {
            all.extend(fixed);
            let rest: BooleanArray = self.found.iter().map(|found| Some(!found)).collect();
            all.extend(writer.manifests(&self.removed.entries().filter(&rest)?)?);
        }
        Ok(all)
    }

    /// Deletes the manifests that were written.
    fn discard(self, writer: &mut MetadataWriter<'_>) {
        self.rolling.written().for_each(|name| writer.delete(name));
    }
}
