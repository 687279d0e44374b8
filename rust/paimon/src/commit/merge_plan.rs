//! Chooses the manifests that a commit merges (documentation: `manifest.target-file-size`, `manifest.merge-min-count`,
//! `manifest.full-compaction-threshold-size`). The decision depends only on sizes and counts, as in Java's
//! `ManifestFileMerger`.
//!
//! * *Full*: if the manifests that are small or have removed files reach the threshold together, they are merged, along
//!   with other manifests that contain a removed file.
//! * *Minor*, otherwise: consecutive manifests are merged once they reach the target length together. Those left at the
//!   end are merged if there are enough of them.

use std::ops::Range;

use frazil_core::error::{Error, Result};

use crate::spec::manifest_list::ManifestFileMeta;
use crate::spec::options::Options;

/// The options of merging.
#[derive(Debug, Clone, Copy)]
pub(super) struct MergeSettings {
    /// The length from which a manifest is no longer small.
    pub(super) target_bytes: i64,
    /// The number of small manifests from which they are merged even if they are short.
    pub(super) least_count: i64,
    /// The minimum total length of the manifests that a full merge changes.
    pub(super) full_bytes: i64,
}

/// The numbers of one manifest that the decision depends on.
#[derive(Debug, Clone, Copy)]
pub(super) struct ManifestNumbers {
    pub(super) size_bytes: i64,
    pub(super) removed_files: i64,
    /// Whether the manifest cannot be rewritten.
    pub(super) is_fixed: bool,
}

impl MergeSettings {
    /// Returns the options of a table, with Java's defaults.
    ///
    /// # Errors
    /// `InvalidArgument` for options that do not parse, and if the threshold of full merges is 0.
    pub(super) fn try_new(options: &Options) -> Result<Self> {
        let size = |name: &str, default: u64| -> Result<i64> {
            Ok(i64::try_from(options.size_bytes(name)?.unwrap_or(default)).unwrap_or(i64::MAX))
        };
        let threshold = "manifest.full-compaction-threshold-size";
        let settings = Self {
            target_bytes: size("manifest.target-file-size", 8 << 20)?,
            least_count: options.integer("manifest.merge-min-count")?.unwrap_or(30),
            full_bytes: size(threshold, 16 << 20)?,
        };
        if settings.full_bytes == 0 {
            return Err(Error::invalid(format!("the option `{threshold}` must be greater than 0")));
        }
        Ok(settings)
    }

    /// Returns settings with which all small manifests, and all that remove files, are merged.
    pub(super) fn full(self) -> Self {
        Self { least_count: 1, full_bytes: 1, ..self }
    }

    /// Returns whether a full merge changes manifests of the latest snapshot.
    pub(super) fn merges(self, manifests: &[ManifestFileMeta]) -> bool {
        let numbers = manifests.iter().map(|manifest| ManifestNumbers::of(manifest, false));
        let changed = numbers.filter(|numbers| self.must_change(*numbers)).count();
        let removes = manifests.iter().any(|manifest| manifest.num_deleted_files > 0);
        changed > 1 || (removes && manifests.len() > 1)
    }

    /// Returns whether a full merge rewrites a manifest regardless of its entries: it is small or removes files.
    pub(super) fn must_change(&self, manifest: ManifestNumbers) -> bool {
        !manifest.is_fixed && (manifest.removed_files > 0 || manifest.size_bytes < self.target_bytes)
    }

    /// Returns whether the manifests that a full merge must change reach the threshold together.
    pub(super) fn is_full_due(&self, manifests: &[ManifestNumbers]) -> bool {
        let changed = manifests.iter().filter(|manifest| self.must_change(**manifest));
        changed.fold(0_i64, |sum, manifest| sum.saturating_add(manifest.size_bytes)) >= self.full_bytes
    }

    /// Returns the ranges of two or more manifests that a minor merge combines. Manifests that cannot be
    /// rewritten keep their position: entries before them are not merged with entries after them.
    pub(super) fn minor_groups(&self, manifests: &[ManifestNumbers]) -> Vec<Range<usize>> {
        let mut groups = Vec::new();
        let mut open = 0..0;
        let mut sum = 0_i64;
        for (at, manifest) in manifests.iter().enumerate() {
            if manifest.is_fixed {
                groups.extend(self.rest(&open));
                (open, sum) = (at.saturating_add(1)..at.saturating_add(1), 0);
                continue;
            }
            open.end = at.saturating_add(1);
            sum = sum.saturating_add(manifest.size_bytes);
            if sum >= self.target_bytes {
                groups.push(open.clone());
                (open, sum) = (open.end..open.end, 0);
            }
        }
        groups.extend(self.rest(&open));
        groups.retain(|group| group.len() > 1);
        groups
    }

    /// Returns the range of the manifests that are left at the end, or None if there are too few of them.
    fn rest(&self, open: &Range<usize>) -> Option<Range<usize>> {
        (i64::try_from(open.len()).unwrap_or(i64::MAX) >= self.least_count).then(|| open.clone())
    }
}

impl ManifestNumbers {
    pub(super) fn of(manifest: &ManifestFileMeta, is_fixed: bool) -> Self {
        Self { size_bytes: manifest.file_size, removed_files: manifest.num_deleted_files, is_fixed }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use frazil_core::error::ErrorKind;

    use super::*;

    const SETTINGS: MergeSettings = MergeSettings { target_bytes: 100, least_count: 3, full_bytes: 1000 };

    fn numbers(sizes: &[i64]) -> Vec<ManifestNumbers> {
        // A negative size marks a manifest that cannot be rewritten.
        let of = |size: &i64| ManifestNumbers { size_bytes: size.abs(), removed_files: 0, is_fixed: *size < 0 };
        sizes.iter().map(of).collect()
    }

    #[test]
    fn neighbours_are_merged_when_they_are_long_or_many() {
        let ends = |groups: Vec<Range<usize>>| groups.iter().map(|group| (group.start, group.end)).collect::<Vec<_>>();
        let groups = |sizes: &[i64]| ends(SETTINGS.minor_groups(&numbers(sizes)));
        assert!(groups(&[]).is_empty());
        assert!(groups(&[1, 1]).is_empty());
        assert_eq!(groups(&[1, 1, 1]), [(0, 3)]);
        assert!(groups(&[100, 1, 1]).is_empty());
        assert_eq!(groups(&[99, 1, 1, 1]), [(0, 2)]);
        assert_eq!(groups(&[1, 500, 60, 60, 1, 1, 1]), [(0, 2), (2, 4), (4, 7)]);
        assert_eq!(groups(&[i64::MAX, 1, i64::MAX]), [(1, 3)]);
        assert_eq!(groups(&[1, 1, -1, 1, 1, 1]), [(3, 6)]);
        assert!(groups(&[60, -1, 60, -1, 1]).is_empty());
        let always = MergeSettings { least_count: 0, ..SETTINGS };
        assert_eq!(ends(always.minor_groups(&numbers(&[1, -1, 1, 1]))), [(2, 4)]);
    }

    #[test]
    fn a_full_merge_is_due_when_the_changed_manifests_are_large() {
        let with_removed = |size_bytes| ManifestNumbers { size_bytes, removed_files: 1, is_fixed: false };
        assert!(!SETTINGS.is_full_due(&numbers(&[100, 2000])));
        assert!(!SETTINGS.is_full_due(&numbers(&[99; 10])));
        assert!(SETTINGS.is_full_due(&numbers(&[99; 11])));
        assert!(!SETTINGS.is_full_due(&numbers(&[-99; 11])));
        assert!(SETTINGS.is_full_due(&[with_removed(1000)]));
        assert!(!SETTINGS.is_full_due(&[with_removed(999)]));
    }

    #[test]
    fn options_have_the_defaults_of_java() {
        let of = |options: &[(&str, &str)]| {
            let options = options.iter().map(|(name, value)| (name.to_string(), value.to_string()));
            MergeSettings::try_new(&Options::new(options.collect::<BTreeMap<_, _>>()))
        };
        let default = of(&[]).unwrap();
        assert_eq!((default.target_bytes, default.least_count, default.full_bytes), (8 << 20, 30, 16 << 20));
        let zero = of(&[("manifest.full-compaction-threshold-size", "0 b")]).unwrap_err();
        assert_eq!(zero.kind(), ErrorKind::InvalidArgument);
    }
}
