//! Figures of planning.

/// What planning kept and what it left out, on the way from manifests to splits. What is left out at one step is not
/// counted at the next.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct ScanMetrics {
    /// Manifests of the snapshots.
    pub manifests: usize,
    /// Manifests left out by their statistics.
    pub manifests_skipped: usize,
    /// Entries of the manifests that were read, left out by their partitions.
    pub entries_skipped_by_partition: usize,
    /// Live data files of the partitions that may match; files that reads of the table pass over are not among them.
    pub files: usize,
    /// Data files left out by their buckets.
    pub files_skipped_by_bucket: usize,
    /// Data files left out by keys, statistics and indexes.
    pub files_skipped_by_stats: usize,
    /// Data files left out because the limit is reached without them.
    pub files_skipped_by_limit: usize,
    /// Data files left out of a difference because both states have them, or have the whole bucket.
    pub files_unchanged: usize,
    /// Data files of which the indexes in their manifests say that no row matches; they may have to be read all the same,
    /// for what they hide.
    pub files_excluded_by_index: usize,
    /// Data files that are read.
    pub files_planned: usize,
    /// Data files that are read with a deletion vector.
    pub deletion_vectors: usize,
    /// Splits that are read file after file.
    pub splits_raw: usize,
    /// Splits that are merged by key or joined by row id.
    pub splits_merged: usize,
    /// The levels of the files that are read, from lowest to highest; None without files.
    pub levels: Option<(i32, i32)>,
}

impl ScanMetrics {
    /// Both together.
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
