//! Writes the manifests of a new snapshot: those of new files, those that lose files, and merged ones.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use frazil_core::context::Context;
use frazil_core::error::{Error, ErrorKind, Result};
use frazil_core::ids;
use frazil_core::storage::Files;

use super::list::NewManifest;
use super::summary::{Counts, FileSign};
use crate::files::Removals;
use crate::properties;
use crate::spec::manifest_entries::Entries;
use crate::spec::manifest_list::{MANIFEST_LIMIT_BYTES, ManifestContent, ManifestFile};
use crate::spec::manifest_write::{ManifestHeader, ManifestWriter};
use crate::spec::table_metadata::TableMetadata;

/// The target length for a rewrite that must produce exactly one manifest, even if the result is longer than the
/// original.
const ONE_MANIFEST: usize = usize::MAX;

/// The number of entries that are written between checks of the length.
const STEP_ROWS: usize = 512;

/// A writer of the manifests of one snapshot, each under a new name, which records all files that it wrote.
#[derive(Debug)]
pub(super) struct Manifests {
    files: Files,
    snapshot_id: i64,
    commit_uuid: String,
    written: Vec<String>,
    /// The results for manifests that may have lost files, by path; the same at each attempt.
    filtered: HashMap<Arc<str>, Option<Filtered>>,
    /// The results of merging several manifests, by their paths.
    merged: HashMap<Vec<String>, Vec<NewManifest>>,
}

/// A manifest without the files that a snapshot removes.
#[derive(Debug, Clone)]
pub(super) struct Filtered {
    pub(super) manifests: Vec<NewManifest>,
    pub(super) counts: Counts,
    /// The paths of the removed data files, for files that are removed by path.
    pub(super) removed: Vec<String>,
}

impl Manifests {
    pub(super) fn new(files: Files, snapshot_id: i64, commit_uuid: String) -> Self {
        Self { files, snapshot_id, commit_uuid, written: Vec::new(), filtered: HashMap::new(), merged: HashMap::new() }
    }

    /// Writes new entries of one spec as manifests of about the table's target length.
    pub(super) fn write_new(
        &mut self,
        entries: Entries,
        spec_id: i32,
        content: ManifestContent,
        base: &TableMetadata,
    ) -> Result<Vec<NewManifest>> {
        self.write([Ok(entries)], spec_id, content, base, target_bytes(base)?)
    }

    /// Writes entries of one spec as manifests of about `target` bytes.
    fn write(
        &mut self,
        entries: impl IntoIterator<Item = Result<Entries>>,
        spec_id: i32,
        content: ManifestContent,
        base: &TableMetadata,
        target: usize,
    ) -> Result<Vec<NewManifest>> {
        let spec = base.spec(spec_id)?;
        let partition = base.partition_type(spec);
        let header = ManifestHeader {
            version: base.format_version,
            content,
            schema: base.current_schema()?,
            spec,
            partition: &partition,
        };
        let mut manifests = Vec::new();
        let mut open: Option<ManifestWriter> = None;
        for entries in entries {
            let entries = entries?;
            for begin in (0..entries.len()).step_by(STEP_ROWS) {
                let mut writer = match open.take() {
                    Some(writer) => writer,
                    None => ManifestWriter::new(&header, ids::random()?)?,
                };
                writer.write(&entries.rows().slice(begin, STEP_ROWS.min(entries.len() - begin)))?;
                if writer.size_bytes() < target {
                    open = Some(writer);
                } else {
                    manifests.push(self.put(writer, spec_id, content, base)?);
                }
            }
        }
        if let Some(writer) = open {
            manifests.push(self.put(writer, spec_id, content, base)?);
        }
        Ok(manifests)
    }

    fn put(
        &mut self,
        writer: ManifestWriter,
        spec_id: i32,
        content: ManifestContent,
        base: &TableMetadata,
    ) -> Result<NewManifest> {
        let (bytes, counts) = writer.finish()?;
        let path = format!("{}/{}-m{}.avro", base.metadata_folder(), self.commit_uuid, self.written.len());
        // The path is recorded before writing, because a failed write may leave a file.
        self.written.push(path.clone());
        let length = bytes.len();
        self.files.put_if_absent(&path, bytes)?;
        Ok(NewManifest { path, length, spec_id, content, snapshot_id: self.snapshot_id, counts })
    }

    /// Returns a manifest without the removed files; None if it contains none of them.
    pub(super) fn filtered(
        &mut self,
        manifest: &ManifestFile,
        removals: &Removals,
        base: &TableMetadata,
        context: &Context,
    ) -> Result<Option<&Filtered>> {
        let path = manifest.manifest_path.clone();
        if !self.filtered.contains_key(&path) {
            let filtered = self.filter(manifest, removals, base, context).map_err(|e| e.with("manifest", &path))?;
            self.filtered.insert(path.clone(), filtered);
        }
        Ok(self.filtered.get(&path).and_then(Option::as_ref))
    }

    fn filter(
        &mut self,
        manifest: &ManifestFile,
        removals: &Removals,
        base: &TableMetadata,
        context: &Context,
    ) -> Result<Option<Filtered>> {
        context.check()?;
        let spec_id = manifest.partition_spec_id;
        let spec = base.spec(spec_id)?;
        let partition = Arc::new(base.partition_type(spec));
        let bytes = self.files.read(&manifest.manifest_path, MANIFEST_LIMIT_BYTES)?;
        let live = Entries::read_live(bytes, manifest, &partition, context)?;
        let gone = removals.gone(&live, spec, &partition)?;
        if gone.true_count() == 0 {
            return Ok(None);
        }
        let lost = live.filter(&gone)?;
        let counts = Counts::of(lost.data_files()?, spec_id, &partition, FileSign::Removed)?;
        let removed = match manifest.content {
            ManifestContent::Data => {
                let known = |path: &&str| removals.data_files.contains_key(*path);
                lost.paths()?.iter().flatten().filter(known).map(str::to_string).collect()
            }
            ManifestContent::Deletes => Vec::new(),
        };
        let entries = live.moved(Some(&gone), self.snapshot_id)?;
        let manifests = self.write([Ok(entries)], spec_id, manifest.content, base, ONE_MANIFEST)?;
        Ok(Some(Filtered { manifests, counts, removed }))
    }

    /// Merges several manifests of one spec and content.
    pub(super) fn merge(
        &mut self,
        parts: &[MergePart],
        base: &TableMetadata,
        context: &Context,
    ) -> Result<Vec<NewManifest>> {
        let key: Vec<String> = parts.iter().map(|part| part.path().to_string()).collect();
        if let Some(known) = self.merged.get(&key) {
            return Ok(known.clone());
        }
        let Some((spec_id, content)) = parts.first().map(MergePart::kind) else { return Ok(Vec::new()) };
        let partition = base.partition_type(base.spec(spec_id)?);
        let paths: Vec<&str> = parts.iter().map(MergePart::path).collect();
        let (found, snapshot_id) = (self.files.read_all(&paths, MANIFEST_LIMIT_BYTES), self.snapshot_id);
        let entries = parts.iter().zip(found).map(|(part, bytes)| {
            context.check()?;
            let entries = match part {
                // Entries that this snapshot wrote are copied unchanged, because they already have their final status
                // and inherit the sequence number.
                MergePart::New(_) => Entries::read_to_copy(bytes?, &partition, context),
                MergePart::Kept(manifest) => Entries::read_live(bytes?, manifest, &partition, context)
                    .and_then(|entries| entries.moved(None, snapshot_id)),
            };
            entries.map_err(|e| e.with("manifest", part.path()))
        });
        let merged = self.write(entries, spec_id, content, base, ONE_MANIFEST)?;
        self.merged.insert(key, merged.clone());
        Ok(merged)
    }

    /// Deletes the manifests that are not in `used`, or all of them. A file that cannot be deleted is an orphan file,
    /// not a failure.
    pub(super) fn clean(&self, used: Option<&HashSet<String>>) {
        let unused = self.written.iter().filter(|path| !used.is_some_and(|used| used.contains(*path)));
        unused.for_each(|path| drop(self.files.delete(path)));
    }
}

/// A manifest that may be merged.
#[derive(Debug, Clone)]
pub(super) enum MergePart {
    /// A manifest of this snapshot.
    New(NewManifest),
    /// A manifest of the previous snapshot.
    Kept(ManifestFile),
}

impl MergePart {
    pub(super) fn path(&self) -> &str {
        match self {
            Self::New(manifest) => &manifest.path,
            Self::Kept(manifest) => &manifest.manifest_path,
        }
    }

    fn kind(&self) -> (i32, ManifestContent) {
        match self {
            Self::New(manifest) => (manifest.spec_id, manifest.content),
            Self::Kept(manifest) => (manifest.partition_spec_id, manifest.content),
        }
    }

    fn size_bytes(&self) -> usize {
        match self {
            Self::New(manifest) => manifest.length,
            Self::Kept(manifest) => usize::try_from(manifest.manifest_length).unwrap_or(usize::MAX),
        }
    }
}

/// Returns the positions of the manifests to merge (`commit.manifest-merge.enabled`,
/// `commit.manifest.min-count-to-merge`, `commit.manifest.target-size-bytes`). Each run has manifests of one spec and
/// content that fit the target size together. The run with the latest manifest is merged only if it has at least
/// `min-count-to-merge` manifests.
pub(super) fn runs_to_merge(parts: &[MergePart], base: &TableMetadata) -> Result<Vec<Vec<usize>>> {
    if !base.flag(&properties::MANIFEST_MERGE_ENABLED) {
        return Ok(Vec::new());
    }
    let (target, least) = (target_bytes(base)?, base.number(&properties::MANIFEST_MIN_MERGE_COUNT)?);
    let least = usize::try_from(least).unwrap_or(usize::MAX);
    let mut kinds: Vec<(i32, ManifestContent)> = Vec::new();
    parts.iter().map(MergePart::kind).for_each(|kind| {
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    });
    let mut runs = Vec::new();
    for kind in kinds {
        let places: Vec<usize> =
            parts.iter().enumerate().filter(|(_, part)| part.kind() == kind).map(|(place, _)| place).collect();
        let newest = parts.iter().position(|part| part.kind().1 == kind.1);
        // Starts with the oldest manifests, so that only the run with the latest ones is not full.
        let mut bin: Vec<usize> = Vec::new();
        let mut bytes = 0_usize;
        let mut bins = Vec::new();
        for &place in places.iter().rev() {
            let size = parts.get(place).map_or(0, MergePart::size_bytes);
            if !bin.is_empty() && bytes.saturating_add(size) > target {
                bins.push(std::mem::take(&mut bin));
                bytes = 0;
            }
            bytes = bytes.saturating_add(size);
            bin.push(place);
        }
        bins.push(bin);
        runs.extend(bins.into_iter().rev().filter(|bin| {
            let waits = newest.is_some_and(|newest| bin.contains(&newest)) && bin.len() < least;
            bin.len() > 1 && !waits
        }));
    }
    for run in &mut runs {
        run.sort_unstable();
    }
    Ok(runs)
}

fn target_bytes(base: &TableMetadata) -> Result<usize> {
    let bytes = base.number(&properties::MANIFEST_TARGET_BYTES)?;
    Ok(usize::try_from(bytes).unwrap_or(usize::MAX).max(1))
}

/// Returns the error for a spec of new files that the table no longer has.
pub(super) fn conflicting(error: Error) -> Error {
    Error::new(ErrorKind::CommitConflict, "the partition specs of the table changed").caused_by(error)
}
