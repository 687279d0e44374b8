//! Where new data files are (documentation: "File Layouts", Java's `DataFilePathFactory`): `bucket-0/data-<uuid>-<n>.parquet`.

use frazil_core::error::Result;
use frazil_core::ids;

use crate::binary_row;
use crate::spec::options::Options;
use crate::spec::partition_path::{self, Naming, bucket_path};
use crate::spec::schema::TableSchema;
use crate::spec::types::DataField;

/// How names of data files begin, unless the option `data-file.prefix` says it.
const PREFIX: &str = "data-";

const DEFAULT_CODEC: &str = "zstd";

/// Names the data files of one writer.
#[derive(Debug)]
pub struct DataFilePaths {
    location: String,
    options: Options,
    prefix: String,
    /// The codec before the extension, with a dot; empty if names do not have it.
    codec: String,
    uuid: String,
    count: u64,
}

impl DataFilePaths {
    /// Return one for a table at a location.
    ///
    /// # Errors
    /// `InvalidArgument` for options that do not parse; `Internal` where the operating system has no random bytes.
    pub fn try_new(location: &str, options: &Options) -> Result<Self> {
        let codec = options.text("file.compression").unwrap_or(DEFAULT_CODEC);
        let has_codec = options.boolean("file.suffix.include.compression", false)?;
        Ok(Self {
            location: location.to_string(),
            prefix: options.text("data-file.prefix").unwrap_or(PREFIX).to_string(),
            codec: if has_codec { format!(".{codec}") } else { String::new() },
            options: options.clone(),
            uuid: ids::uuid()?,
            count: 0,
        })
    }

    /// Return the location of the next file in a bucket; `partition` is the folder of its partition, empty without
    /// partitions.
    ///
    /// # Errors
    /// As [`bucket_path`].
    pub fn next_location(&mut self, partition: &str, bucket: i32, extension: &str) -> Result<String> {
        let folder = bucket_path(&self.options, partition, bucket)?;
        let Self { location, prefix, codec, uuid, count, .. } = self;
        let path = format!("{location}/{folder}/{prefix}{uuid}-{count}{codec}.{extension}");
        self.count += 1;
        Ok(path)
    }
}

/// Return the folder of a partition, a row with its arity; empty for tables without partitions.
///
/// # Errors
/// `CorruptData` for a row that is not of the partition columns; as [`partition_path::folder`].
pub fn partition_folder(schema: &TableSchema, partition: &[u8], naming: &Naming) -> Result<String> {
    if schema.partition_keys.is_empty() {
        return Ok(String::new());
    }
    let fields: Vec<&DataField> = schema.partition_keys.iter().filter_map(|key| schema.field(key)).collect();
    let types: Vec<_> = fields.iter().map(|field| field.data_type.clone()).collect();
    partition_path::folder(&fields, &binary_row::decode(partition, &types)?, 0, naming)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_numbered_in_the_folders_of_their_buckets() {
        let mut paths = DataFilePaths::try_new("/w/t", &Options::default()).unwrap();
        let names = [paths.next_location("p=1", 3, "parquet").unwrap(), paths.next_location("", 0, "orc").unwrap()];
        let uuid = &paths.uuid;
        assert_eq!(names[0], format!("/w/t/p=1/bucket-3/data-{uuid}-0.parquet"));
        assert_eq!(names[1], format!("/w/t/bucket-0/data-{uuid}-1.orc"));
        assert_ne!(DataFilePaths::try_new("/w/t", &Options::default()).unwrap().uuid, *uuid);
    }

    #[test]
    fn options_name_folders_and_files() {
        let options = [
            ("data-file.prefix", "part-"),
            ("file.suffix.include.compression", "true"),
            ("data-file.path-directory", "data"),
            ("file.compression", "lz4"),
        ];
        let options = Options::new(options.map(|(name, value)| (name.to_string(), value.to_string())).into());
        let mut paths = DataFilePaths::try_new("/w/t", &options).unwrap();
        let found = paths.next_location("p=1", 0, "parquet").unwrap();
        assert_eq!(found, format!("/w/t/data/p=1/bucket-0/part-{}-0.lz4.parquet", paths.uuid));
    }
}
