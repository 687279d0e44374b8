//! What two states of a table have in common is left out of their difference.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::plan::Plan;
use crate::spec::data_file_meta::DeletionFile;

/// A partition, as bytes with their arity, and the number of a bucket in it.
type BucketId<'a> = (&'a [u8], i32);

/// Files of a bucket by their names, with their deletion vectors.
type BucketFiles<'a> = Vec<(&'a str, Option<&'a DeletionFile>)>;

impl Plan {
    /// Adds the schemas by which the files of another plan were written, so that one reader reads the files of both.
    pub(super) fn know_schemas_of(&mut self, other: &Plan) {
        let schemas = other.read.schemas.iter().map(|(id, schema)| (*id, schema.clone()));
        Arc::make_mut(&mut self.read).schemas.extend(schemas);
    }

    /// Leaves out the files that another plan has in the same buckets.
    pub(super) fn leave_out_files_of(&mut self, other: &Plan) {
        let known: HashSet<_> = other.planned_rows().map(|row| other.identity(row)).collect();
        let kept: HashSet<usize> = self.planned_rows().filter(|row| !known.contains(&self.identity(*row))).collect();
        self.keep(&kept);
    }

    /// Leaves out of both plans the buckets that have the same files with the same deletion vectors.
    pub(super) fn leave_out_same_buckets(&mut self, other: &mut Plan) {
        let (own, others) = (self.buckets(), other.buckets());
        let changed = |plan: &Plan| -> HashSet<usize> {
            let same = |bucket: &BucketId<'_>| own.get(bucket).is_some_and(|files| others.get(bucket) == Some(files));
            plan.planned_rows().filter(|row| !same(&plan.bucket_of(*row))).collect()
        };
        let (kept, kept_of_other) = (changed(self), changed(other));
        self.keep(&kept);
        other.keep(&kept_of_other);
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
