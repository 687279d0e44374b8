//! Builds the entries of new files: converts rows to the columns of [`ManifestEntries`].

use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::{ArrayRef, BinaryArray, Int32Array, Int64Array, ListArray, RecordBatch, StringArray};
use arrow_schema::{DataType, Field};
use frazil_core::error::{Error, Result};

use super::data_file_meta::DataFileMeta;
use super::manifest::{ADD, KEY_STATS, ManifestEntries, VALUE_STATS, schema};
use super::manifest_list_write::null_counts;
use super::stats::SimpleStats;

/// A file that was written, with the contents of its manifest entry.
#[derive(Debug, Clone, PartialEq)]
pub struct NewFile {
    /// The metadata of the file.
    pub meta: DataFileMeta,
    /// The bounds and null counts of the key fields; rows without fields in append tables.
    pub key_stats: SimpleStats,
    /// The bounds and null counts of the columns of `meta.value_stats_cols`.
    pub value_stats: SimpleStats,
}

/// The location of files: a bucket of a partition.
#[derive(Debug, Clone, Copy)]
pub struct BucketOf<'a> {
    /// The partition as a serialized `BinaryRow`, prefixed with its arity.
    pub partition: &'a [u8],
    /// The bucket; -2 for files of a postpone table that do not have one yet.
    pub bucket: i32,
    /// The number of buckets of the partition; 0 or less if it is not fixed.
    pub total_buckets: i32,
}

/// The builder of ADD entries for new files.
#[derive(Debug, Default)]
pub struct EntriesBuilder {
    partitions: Vec<Vec<u8>>,
    buckets: Vec<i32>,
    total_buckets: Vec<i32>,
    files: Vec<NewFile>,
}

impl EntriesBuilder {
    /// Adds a file.
    pub fn push(&mut self, bucket: BucketOf<'_>, file: NewFile) {
        self.partitions.push(bucket.partition.to_vec());
        self.buckets.push(bucket.bucket);
        self.total_buckets.push(bucket.total_buckets);
        self.files.push(file);
    }

    /// Returns the entries, in the order in which their files were added.
    ///
    /// # Errors
    /// `CorruptData` for files that a reader would reject: negative lengths, counts or levels, or file names that are
    /// paths.
    pub fn finish(self) -> Result<ManifestEntries> {
        let schema = schema();
        let columns = schema.fields().iter().map(|field| self.column(field.name())).collect::<Result<_>>()?;
        ManifestEntries::from_batch(&RecordBatch::try_new(Arc::clone(schema), columns)?)
    }

    fn column(&self, name: &str) -> Result<ArrayRef> {
        let files = &self.files;
        let [key_min, key_max, key_nulls] = KEY_STATS;
        let [value_min, value_max, value_nulls] = VALUE_STATS;
        Ok(match name {
            "_KIND" => Arc::new(Int32Array::from(vec![ADD; files.len()])),
            "_PARTITION" => Arc::new(BinaryArray::from_iter_values(&self.partitions)),
            "_BUCKET" => Arc::new(Int32Array::from(self.buckets.clone())),
            "_TOTAL_BUCKETS" => Arc::new(Int32Array::from(self.total_buckets.clone())),
            name if name == key_min => bytes(files, |file| &file.key_stats.min),
            name if name == key_max => bytes(files, |file| &file.key_stats.max),
            name if name == key_nulls => nulls(files, |file| &file.key_stats),
            name if name == value_min => bytes(files, |file| &file.value_stats.min),
            name if name == value_max => bytes(files, |file| &file.value_stats.max),
            name if name == value_nulls => nulls(files, |file| &file.value_stats),
            "_FILE_SIZE" => long(files, |file| Some(file.file_size_bytes)),
            "_ROW_COUNT" => long(files, |file| Some(file.row_count)),
            "_MIN_SEQUENCE_NUMBER" => long(files, |file| Some(file.min_sequence_number)),
            "_MAX_SEQUENCE_NUMBER" => long(files, |file| Some(file.max_sequence_number)),
            "_SCHEMA_ID" => long(files, |file| Some(file.schema_id)),
            "_CREATION_TIME" => long(files, |file| file.creation_time_ms),
            "_DELETE_ROW_COUNT" => long(files, |file| file.delete_row_count),
            "_FIRST_ROW_ID" => long(files, |file| file.first_row_id),
            "_LEVEL" => int(files, |file| Some(file.level)),
            "_FILE_SOURCE" => int(files, |file| file.file_source),
            "_FILE_NAME" => text(files, |file| Some(&file.file_name)),
            "_EXTERNAL_PATH" => text(files, |file| file.external_path.as_deref()),
            "_MIN_KEY" => bytes(files, |file| &file.meta.min_key),
            "_MAX_KEY" => bytes(files, |file| &file.meta.max_key),
            "_EMBEDDED_FILE_INDEX" => {
                Arc::new(files.iter().map(|file| file.meta.embedded_file_index.as_deref()).collect::<BinaryArray>())
            }
            "_EXTRA_FILES" => names(files, |file| Some(&file.extra_files)),
            "_VALUE_STATS_COLS" => names(files, |file| file.value_stats_cols.as_deref()),
            "_WRITE_COLS" => names(files, |file| file.write_cols.as_deref()),
            other => return Err(Error::internal("a column of manifest entries is not built").with("column", other)),
        })
    }
}

fn long(files: &[NewFile], of: fn(&DataFileMeta) -> Option<i64>) -> ArrayRef {
    Arc::new(files.iter().map(|file| of(&file.meta)).collect::<Int64Array>())
}

fn int(files: &[NewFile], of: fn(&DataFileMeta) -> Option<i32>) -> ArrayRef {
    Arc::new(files.iter().map(|file| of(&file.meta)).collect::<Int32Array>())
}

fn text(files: &[NewFile], of: fn(&DataFileMeta) -> Option<&str>) -> ArrayRef {
    Arc::new(files.iter().map(|file| of(&file.meta)).collect::<StringArray>())
}

fn bytes(files: &[NewFile], of: fn(&NewFile) -> &Vec<u8>) -> ArrayRef {
    Arc::new(BinaryArray::from_iter_values(files.iter().map(of)))
}

fn nulls(files: &[NewFile], of: fn(&NewFile) -> &SimpleStats) -> ArrayRef {
    Arc::new(null_counts(files.iter().map(|file| of(file).null_counts.as_deref())))
}

fn names(files: &[NewFile], of: fn(&DataFileMeta) -> Option<&[String]>) -> ArrayRef {
    let element = Field::new("element", DataType::Utf8, true);
    let mut lists = ListBuilder::new(StringBuilder::new()).with_field(element);
    for file in files {
        let names = of(&file.meta);
        for name in names.unwrap_or_default() {
            lists.values().append_value(name);
        }
        lists.append(names.is_some());
    }
    let lists: ListArray = lists.finish();
    Arc::new(lists)
}

#[cfg(test)]
mod tests {
    use frazil_core::error::ErrorKind;

    use super::super::testing::{NO_FIELDS, new_file};
    use super::*;

    const BUCKET: BucketOf<'static> = BucketOf { partition: &NO_FIELDS, bucket: 3, total_buckets: 4 };

    fn built(files: &[NewFile]) -> Result<ManifestEntries> {
        let mut builder = EntriesBuilder::default();
        for file in files {
            builder.push(BUCKET, file.clone());
        }
        builder.finish()
    }

    #[test]
    fn entries_carry_the_metadata_of_their_files() {
        let plain = new_file("a.parquet", 10);
        let meta = DataFileMeta {
            extra_files: vec!["b.index".into()],
            creation_time_ms: Some(5),
            delete_row_count: None,
            embedded_file_index: Some(vec![1, 2]),
            file_source: None,
            value_stats_cols: None,
            external_path: Some("s3://b/x".into()),
            first_row_id: Some(7),
            write_cols: Some(vec!["k".into()]),
            ..new_file("b.parquet", 20).meta
        };
        let stats = SimpleStats { min: vec![1], max: vec![2], null_counts: Some(vec![None, Some(3)]) };
        let full = NewFile { meta, key_stats: stats.clone(), value_stats: stats };
        let entries = built(&[plain.clone(), full.clone()]).unwrap();
        assert_eq!(entries.file(0).unwrap(), plain.meta);
        assert_eq!(entries.file(1).unwrap(), full.meta);
        assert_eq!(entries.kinds().values(), &[ADD; 2]);
        assert_eq!(entries.buckets().values(), &[3; 2]);
        assert_eq!((entries.total_buckets().value(1), entries.partitions().value(1)), (4, &NO_FIELDS[..]));
        assert_eq!((entries.value_stats().min.value(1), entries.key_stats().max.value(1)), (&[1][..], &[2][..]));
        assert!(entries.value_stats().null_counts.value_length(0) == 0);
        assert!(built(&[]).unwrap().is_empty());
    }

    #[test]
    fn files_that_no_reader_takes_are_refused() {
        let with = |change: fn(&mut DataFileMeta)| {
            let mut file = new_file("a", 1);
            change(&mut file.meta);
            built(&[file]).unwrap_err().kind()
        };
        assert_eq!(with(|file| file.file_name = "../a".into()), ErrorKind::CorruptData);
        assert_eq!(with(|file| file.row_count = -1), ErrorKind::CorruptData);
        assert_eq!(with(|file| file.level = -1), ErrorKind::CorruptData);
        assert_eq!(with(|file| file.extra_files = vec!["a/b".into()]), ErrorKind::CorruptData);
    }
}
