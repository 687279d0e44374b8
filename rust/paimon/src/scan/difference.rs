//! Removes the common part of two states of a table from their difference.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_array::BinaryArray;
use frazil_core::error::Result;

use super::plan::Plan;
use crate::merge::section::KeyRanges;
use crate::spec::data_file_meta::DeletionFile;
use crate::spec::manifest::ManifestEntries;

/// A partition, as bytes with its arity, and a bucket number.
type BucketId<'a> = (&'a [u8], i32);

/// The files of a bucket by name, with their deletion vectors.
type BucketFiles<'a> = Vec<(&'a str, Option<&'a DeletionFile>)>;

impl Plan {
    /// Adds the schemas of the files of another plan, so that one reader can read the files of both.
    pub(super) fn know_schemas_of(&mut self, other: &Plan) {
        let schemas = other.read.schemas.iter().map(|(id, schema)| (*id, schema.clone()));
        Arc::make_mut(&mut self.read).schemas.extend(schemas);
    }

    /// Removes the files that another plan has in the same buckets.
    pub(super) fn leave_out_files_of(&mut self, other: &Plan) {
        let known: HashSet<_> = other.planned_rows().map(|row| other.identity(row)).collect();
        let kept: HashSet<usize> = self.planned_rows().filter(|row| !known.contains(&self.identity(*row))).collect();
        self.keep(&kept);
    }

    /// Removes from both plans the buckets that have the same files with the same deletion vectors.
    pub(crate) fn leave_out_same_buckets(&mut self, other: &mut Plan) {
        let (own, others) = (self.buckets(), other.buckets());
        let changed = |plan: &Plan| -> HashSet<usize> {
            let same = |bucket: &BucketId<'_>| own.get(bucket).is_some_and(|files| others.get(bucket) == Some(files));
            plan.planned_rows().filter(|row| !same(&plan.bucket_of(*row))).collect()
        };
        let (kept, kept_of_other) = (changed(self), changed(other));
        self.keep(&kept);
        other.keep(&kept_of_other);
    }

    /// Removes from both plans the files that both have with the same deletion vectors.
    pub(crate) fn leave_out_same_files(&mut self, other: &mut Plan) {
        let (kept, kept_of_other) = self.differing(other);
        self.keep(&kept);
        other.keep(&kept_of_other);
    }

    /// Removes from both plans the common files whose keys do not overlap with a differing file.
    ///
    /// A common file is kept if its keys overlap those of a differing file. For other keys, both plans may lack the
    /// same older files. The merged rows may then be wrong, but they are equal in both plans and do not differ.
    ///
    /// # Errors
    /// `CorruptManifest` for keys that do not decode.
    pub(crate) fn leave_out_same_keys(&mut self, other: &mut Plan) -> Result<()> {
        let (changed, changed_of_other) = self.differing(other);
        let types = self.read.key_types();
        let rows: Vec<(usize, &Plan, bool)> = (self.planned_rows().map(|row| (row, &*self, changed.contains(&row))))
            .chain(other.planned_rows().map(|row| (row, &*other, changed_of_other.contains(&row))))
            .collect();
        let keys = |key: fn(&ManifestEntries) -> &BinaryArray| {
            BinaryArray::from_iter_values(rows.iter().map(|(row, plan, _)| key(&plan.entries).value(*row)))
        };
        let ranges = KeyRanges::try_new(&keys(ManifestEntries::min_keys), &keys(ManifestEntries::max_keys), &types)?;
        let mut files: HashMap<BucketId<'_>, Vec<usize>> = HashMap::new();
        for (at, (row, plan, _)) in rows.iter().enumerate() {
            files.entry(plan.bucket_of(*row)).or_default().push(at);
        }
        let (mut own, mut others) = (HashSet::new(), HashSet::new());
        for files in files.into_values() {
            let differ = |at: &usize| rows.get(*at).is_some_and(|(_, _, differs)| *differs);
            for (row, plan, _) in ranges.overlapping(&files, differ).into_iter().filter_map(|at| rows.get(at)) {
                if std::ptr::eq(*plan, self) {
                    own.insert(*row)
                } else {
                    others.insert(*row)
                };
            }
        }
        self.keep(&own);
        other.keep(&others);
        Ok(())
    }

    /// Returns the files of each plan that the other one lacks, or has with a different deletion vector.
    fn differing(&self, other: &Plan) -> (HashSet<usize>, HashSet<usize>) {
        let (own, others) = (self.by_identity(), other.by_identity());
        let differs =
            |(file, row): (&(BucketId<'_>, &str), &usize), plan: &Plan, rows: &HashMap<_, usize>, of: &Plan| {
                let same = rows.get(file).is_some_and(|at| of.deletion_file(*at) == plan.deletion_file(*row));
                (!same).then_some(*row)
            };
        (
            own.iter().filter_map(|file| differs(file, self, &others, other)).collect(),
            others.iter().filter_map(|file| differs(file, other, &own, self)).collect(),
        )
    }

    fn keep(&mut self, rows: &HashSet<usize>) {
        let before = self.order.len();
        self.retain(|row| rows.contains(&row));
        self.metrics.files_unchanged += before - self.order.len();
    }

    fn planned_rows(&self) -> impl Iterator<Item = usize> + '_ {
        self.splits.iter().flat_map(|planned| self.rows(planned))
    }

    fn identity(&self, row: usize) -> (BucketId<'_>, &str) {
        (self.bucket_of(row), self.entries.file_names().value(row))
    }

    fn by_identity(&self) -> HashMap<(BucketId<'_>, &str), usize> {
        self.planned_rows().map(|row| (self.identity(row), row)).collect()
    }

    fn buckets(&self) -> HashMap<BucketId<'_>, BucketFiles<'_>> {
        let mut buckets: HashMap<_, BucketFiles<'_>> = HashMap::new();
        for row in self.planned_rows() {
            let (bucket, name) = self.identity(row);
            buckets.entry(bucket).or_default().push((name, self.deletion_file(row)));
        }
        for files in buckets.values_mut() {
            files.sort_by_key(|(name, _)| *name);
        }
        buckets
    }
}
