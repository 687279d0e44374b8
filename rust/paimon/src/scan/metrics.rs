//! The metrics of planning.

/// They count what planning kept and pruned, from manifests to splits. Items that are pruned in one step are not
/// counted in the next.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct ScanMetrics {
    /// The number of manifests of the snapshots.
    pub manifests: usize,
    /// The number of manifests that were pruned by their statistics.
    pub manifests_skipped: usize,
    /// The number of entries in the manifests read that were pruned by partition.
    pub entries_skipped_by_partition: usize,
    /// The number of live data files in partitions that may match, without files that reads of the table ignore.
    pub files: usize,
    /// The number of data files that were pruned by bucket.
    pub files_skipped_by_bucket: usize,
    /// The number of data files that were pruned by keys, statistics and indexes.
    pub files_skipped_by_stats: usize,
    /// The number of data files that are not needed to reach the limit.
    pub files_skipped_by_limit: usize,
    /// The number of data files that were excluded from a difference, because both states have the file, or because the
    /// files of the entire bucket are unchanged.
    pub files_unchanged: usize,
    /// The number of data files without matching rows according to the indexes in their manifests. They may still have
    /// to be read, because of the rows that they replace.
    pub files_excluded_by_index: usize,
    /// The number of data files that are read.
    pub files_planned: usize,
    /// The number of data files that are read with a deletion vector.
    pub deletion_vectors: usize,
    /// The number of splits whose files are read one after another.
    pub splits_raw: usize,
    /// The number of splits that are merged by key or joined by row id.
    pub splits_merged: usize,
    /// The levels of the files that are read, from lowest to highest; None without files.
    pub levels: Option<(i32, i32)>,
}

impl ScanMetrics {
    /// Returns the sum of both metrics.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        let levels = match (self.levels, other.levels) {
            (Some((low, high)), Some((other_low, other_high))) => Some((low.min(other_low), high.max(other_high))),
            (levels, None) | (None, levels) => levels,
        };
        Self {
            manifests: self.manifests + other.manifests,
            manifests_skipped: self.manifests_skipped + other.manifests_skipped,
            entries_skipped_by_partition: self.entries_skipped_by_partition + other.entries_skipped_by_partition,
            files: self.files + other.files,
            files_skipped_by_bucket: self.files_skipped_by_bucket + other.files_skipped_by_bucket,
            files_skipped_by_stats: self.files_skipped_by_stats + other.files_skipped_by_stats,
            files_skipped_by_limit: self.files_skipped_by_limit + other.files_skipped_by_limit,
            files_unchanged: self.files_unchanged + other.files_unchanged,
            files_excluded_by_index: self.files_excluded_by_index + other.files_excluded_by_index,
            files_planned: self.files_planned + other.files_planned,
            deletion_vectors: self.deletion_vectors + other.deletion_vectors,
            splits_raw: self.splits_raw + other.splits_raw,
            splits_merged: self.splits_merged + other.splits_merged,
            levels,
        }
    }
}
