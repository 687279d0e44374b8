//! Computes and evaluates the partition statistics of manifests (spec: "Manifest List", `_PARTITION_STATS`).

use std::cmp::Ordering;

use arrow_array::{Array, ArrayRef, BinaryArray};
use frazil_core::error::Result;
use frazil_core::scalar::Scalar;

use crate::binary_row::{self, NO_FIELDS};
use crate::spec::manifest_list::ManifestFileMeta;
use crate::spec::stats::SimpleStats;
use crate::spec::types::{DataType, comparable};

/// The bounds and null counts of partitions, field by field.
#[derive(Debug)]
pub(crate) struct PartitionBounds {
    types: Vec<DataType>,
    fields: Vec<FieldBounds>,
    /// The most recently added partition, because consecutive entries usually have the same partition.
    last: Vec<u8>,
    last_nulls: Vec<bool>,
}

#[derive(Debug, Default)]
struct FieldBounds {
    /// The minimum and the maximum, as arrays of length 1.
    range: Option<(ArrayRef, ArrayRef)>,
    nulls: i64,
}

impl PartitionBounds {
    pub(crate) fn new(types: &[DataType]) -> Self {
        let types: Vec<_> = types.iter().map(|data_type| DataType::nullable(data_type.root.clone())).collect();
        let fields = types.iter().map(|_| FieldBounds::default()).collect();
        Self { types, fields, last: Vec::new(), last_nulls: Vec::new() }
    }

    /// Adds the partitions of entries.
    ///
    /// # Errors
    /// `CorruptData` for partitions that do not decode.
    pub(crate) fn add(&mut self, partitions: &BinaryArray) -> Result<()> {
        if self.types.is_empty() {
            return Ok(());
        }
        for partition in partitions.iter().flatten() {
            if partition != self.last {
                let values = binary_row::decode(partition, &self.types)?;
                self.last_nulls = values.iter().map(|value| value.is_null(0)).collect();
                for ((field, data_type), value) in self.fields.iter_mut().zip(&self.types).zip(values) {
                    field.add(data_type, value)?;
                }
                self.last = partition.to_vec();
            }
            for (field, is_null) in self.fields.iter_mut().zip(&self.last_nulls) {
                field.nulls = field.nulls.saturating_add(i64::from(*is_null));
            }
        }
        Ok(())
    }

    /// Returns whether a manifest may have entries of partitions within these bounds. True if its statistics are
    /// unknown.
    pub(crate) fn may_be_in(&self, manifest: &ManifestFileMeta) -> bool {
        let stats = &manifest.partition_stats;
        let bounds = [&stats.min, &stats.max].map(|row| binary_row::decode(row, &self.types));
        let [Ok(min), Ok(max)] = bounds else { return true };
        let nulls = stats.null_counts.as_deref().unwrap_or_default();
        let count = manifest.num_added_files.saturating_add(manifest.num_deleted_files);
        let fields = self.fields.iter().zip(&self.types).zip(min.iter().zip(&max)).enumerate();
        let mut may = fields.map(|(at, ((field, data_type), bounds))| {
            field.may_be_in(data_type, bounds, (nulls.get(at).copied().flatten(), count))
        });
        may.all(|may| may)
    }

    pub(crate) fn stats(self) -> Result<SimpleStats> {
        if self.types.is_empty() {
            let empty = NO_FIELDS.to_vec();
            return Ok(SimpleStats { min: empty.clone(), max: empty, null_counts: Some(Vec::new()) });
        }
        let (mut min, mut max, mut null_counts) = (Vec::new(), Vec::new(), Vec::new());
        for (field, data_type) in self.fields.into_iter().zip(&self.types) {
            let unknown = || arrow_array::new_null_array(&data_type.arrow(), 1);
            let (least, greatest) = field.range.unwrap_or_else(|| (unknown(), unknown()));
            min.push(least);
            max.push(greatest);
            null_counts.push(Some(field.nulls));
        }
        let row = |columns: &[ArrayRef]| -> Result<Vec<u8>> {
            let rows = binary_row::with_arity(&binary_row::encode(columns, &self.types)?, self.types.len())?;
            Ok(rows.value(0).to_vec())
        };
        Ok(SimpleStats { min: row(&min)?, max: row(&max)?, null_counts: Some(null_counts) })
    }
}

impl FieldBounds {
    /// Returns whether values with the bounds `(min, max)` may be within the bounds of this field. `(nulls, count)` are
    /// the numbers of NULLs and of all values; None if the number of NULLs is unknown.
    fn may_be_in(
        &self,
        data_type: &DataType,
        (min, max): (&ArrayRef, &ArrayRef),
        (nulls, count): (Option<i64>, i64),
    ) -> bool {
        let Some(scalar_type) = data_type.scalar() else { return true };
        let has_nulls = nulls.is_none_or(|nulls| nulls > 0);
        let Some((least, greatest)) = &self.range else { return self.nulls == 0 || has_nulls };
        if self.nulls > 0 && has_nulls {
            return true;
        }
        if nulls.is_some_and(|nulls| nulls >= count) {
            return false;
        }
        if min.is_null(0) || max.is_null(0) {
            return true;
        }
        let scalar = |value: &ArrayRef| {
            comparable(value).and_then(|value| Scalar::from_array(&value, 0, scalar_type)).ok().flatten()
        };
        let is_after = |a: &ArrayRef, b: &ArrayRef| {
            scalar(a).zip(scalar(b)).and_then(|(a, b)| a.compare(&b)).is_some_and(Ordering::is_gt)
        };
        !is_after(least, max) && !is_after(min, greatest)
    }

    fn add(&mut self, data_type: &DataType, value: ArrayRef) -> Result<()> {
        let Some(scalar_type) = data_type.scalar().filter(|_| value.is_valid(0)) else { return Ok(()) };
        let order = |known: &ArrayRef| -> Result<Option<Ordering>> {
            let scalar = |value: &ArrayRef| Scalar::from_array(&comparable(value)?, 0, scalar_type);
            let (known, value) = (scalar(known)?, scalar(&value)?);
            Ok(known.zip(value).and_then(|(known, value)| value.compare(&known)))
        };
        self.range = Some(match self.range.take() {
            None => (value.clone(), value),
            Some((min, max)) => {
                let is_less = order(&min)?.is_some_and(Ordering::is_lt);
                let is_greater = order(&max)?.is_some_and(Ordering::is_gt);
                (if is_less { value.clone() } else { min }, if is_greater { value } else { max })
            }
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::{Path, PathBuf};

    use frazil_core::avro::Codec;
    use frazil_core::context::Context;

    use super::*;
    use crate::spec::manifest::{WantedFields, read};
    use crate::spec::manifest_list;
    use crate::spec::manifest_write::ManifestWriter;
    use crate::spec::schema::TableSchema;
    use crate::spec::testing::golden_files;

    /// Returns the types of the partition columns of the table in a folder.
    fn partition_types(table: &Path) -> Vec<DataType> {
        let schema = std::fs::read(table.join("schema/schema-0")).unwrap();
        let schema = TableSchema::parse(&schema).unwrap();
        schema.partition_keys.iter().map(|key| schema.field(key).unwrap().data_type.clone()).collect()
    }

    fn is_manifest(name: &str) -> bool {
        name.starts_with("manifest-") && !name.starts_with("manifest-list-")
    }

    /// Returns the metadata of manifests in Java's manifest lists, by location.
    fn listed() -> BTreeMap<PathBuf, ManifestFileMeta> {
        let mut found = BTreeMap::new();
        for (path, bytes) in golden_files(|name| name.starts_with("manifest-list-")) {
            for manifest in manifest_list::read(bytes.into(), &Context::default()).unwrap() {
                found.insert(path.with_file_name(&manifest.file_name), manifest);
            }
        }
        found
    }

    #[test]
    fn partition_bounds_in_manifest_lists_match_java() {
        let listed = listed();
        let (mut count, mut partitioned) = (0, 0);
        for (path, bytes) in golden_files(is_manifest) {
            let Some(expected) = listed.get(&path) else { continue };
            let types = partition_types(path.parent().unwrap().parent().unwrap());
            let entries = read(bytes.into(), WantedFields::ALL, &Context::default()).unwrap();
            let mut writer = ManifestWriter::try_new(Codec::Zstandard).unwrap();
            writer.write(&entries).unwrap();
            let mut bounds = PartitionBounds::new(&types);
            bounds.add(entries.partitions()).unwrap();
            let (found, _) = writer.finish("m".into(), bounds.stats().unwrap()).unwrap();
            // Name and length differ from those of the recorded manifest. Old releases did not record buckets, levels
            // and row ids.
            let mut found =
                ManifestFileMeta { file_name: expected.file_name.clone(), file_size: expected.file_size, ..found };
            if expected.min_bucket.is_none() {
                (found.min_bucket, found.max_bucket, found.min_level, found.max_level) = (None, None, None, None);
            }
            assert_eq!(&found, expected, "{}", path.display());
            count += 1;
            partitioned += usize::from(!types.is_empty());
        }
        assert!(count > 100 && partitioned > 3, "{count} manifests, {partitioned} of partitioned tables");
    }
}
