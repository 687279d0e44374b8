//! Returns the locations of new data files (documentation: "File Layouts", Java's `DataFilePathFactory`):
//! `bucket-0/data-<uuid>-<n>.parquet`, in the table or below an external path.

use frazil_core::error::Result;
use frazil_core::ids;
use frazil_core::storage::Files;

use super::external::ExternalPaths;
use crate::spec::options::Options;
use crate::spec::partition_path::bucket_path;

/// The default prefix of data file names (option `data-file.prefix`).
const PREFIX: &str = "data-";

const DEFAULT_CODEC: &str = "zstd";

/// The generator of the names of the data files of one writer.
#[derive(Debug)]
pub struct DataFilePaths {
    location: String,
    options: Options,
    prefix: String,
    /// The codec before the extension, with a dot; empty if it is not part of names.
    codec: String,
    uuid: String,
    count: u64,
    external: Option<ExternalPaths>,
}

impl DataFilePaths {
    /// Creates a generator for a table at a location.
    ///
    /// # Errors
    /// `InvalidArgument` for options that do not parse; `PathNotAllowed` for an external path that the table may not
    /// access; `Internal` if the operating system provides no random bytes.
    pub fn try_new(files: &Files, location: &str, options: &Options) -> Result<Self> {
        let external = ExternalPaths::try_new(options)?;
        external.as_ref().map_or(Ok(()), |external| external.check_allowed(files))?;
        let codec = options.text("file.compression").unwrap_or(DEFAULT_CODEC);
        let has_codec = options.boolean("file.suffix.include.compression", false)?;
        Ok(Self {
            location: location.to_string(),
            prefix: options.text("data-file.prefix").unwrap_or(PREFIX).to_string(),
            codec: if has_codec { codec_extension(codec) } else { String::new() },
            options: options.clone(),
            uuid: ids::uuid()?,
            count: 0,
            external,
        })
    }

    /// Names files after an operation instead of a new UUID, so that all files of the operation can be found.
    #[must_use]
    pub fn named(mut self, name: Option<&str>) -> Self {
        if let Some(name) = name {
            self.uuid = name.to_string();
        }
        self
    }

    /// Returns the location of the next file in a bucket. `partition` is the folder of its partition, empty without
    /// partitions.
    ///
    /// # Errors
    /// As for [`bucket_path`] and [`ExternalPaths::next_location`].
    pub fn next_location(&mut self, partition: &str, bucket: i32, extension: &str) -> Result<String> {
        let folder = bucket_path(&self.options, partition, bucket)?;
        let Self { location, prefix, codec, uuid, count, external, .. } = self;
        let name = format!("{prefix}{uuid}-{count}{codec}.{extension}");
        *count += 1;
        match external {
            Some(external) => external.next_location(&folder, &name),
            None => Ok(format!("{location}/{folder}/{name}")),
        }
    }

    /// Returns the folders in which the writers of a table may create data files, at any depth.
    pub fn folders(&self) -> impl Iterator<Item = &str> {
        let external = self.external.iter().flat_map(ExternalPaths::roots);
        external.map(String::as_str).chain([self.location.as_str()])
    }

    /// Returns the external path that the manifest records for a file at a returned location, or None if the file is in
    /// the table.
    pub fn external_path(&self, location: &str) -> Option<String> {
        self.external.as_ref().map(|_| location.to_string())
    }
}

/// Returns the part of a file name for a codec, with its dot (Java's `HadoopCompressionType`).
fn codec_extension(codec: &str) -> String {
    let extension = match codec.to_ascii_lowercase().as_str() {
        "" | "none" => return String::new(),
        "zstd" => "zst",
        "gzip" => "gz",
        "bzip2" => "bz2",
        "deflate" => "deflate",
        "snappy" => "snappy",
        "lz4" => "lz4",
        _ => codec,
    };
    format!(".{extension}")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use frazil_core::error::ErrorKind;
    use frazil_core::storage::MemoryStorage;
    use rstest::rstest;

    use super::*;

    fn paths(pairs: &[(&str, &str)]) -> Result<DataFilePaths> {
        let options = pairs.iter().map(|(name, value)| ((*name).to_string(), (*value).to_string()));
        let files = Files::below(Arc::new(MemoryStorage::default()), "/w").unwrap();
        DataFilePaths::try_new(&files, "/w/t", &Options::new(options.collect()))
    }

    #[test]
    fn files_are_numbered_in_the_folders_of_their_buckets() {
        let mut found = paths(&[]).unwrap();
        let names = [found.next_location("p=1", 3, "parquet").unwrap(), found.next_location("", 0, "orc").unwrap()];
        let uuid = &found.uuid;
        assert_eq!(names[0], format!("/w/t/p=1/bucket-3/data-{uuid}-0.parquet"));
        assert_eq!(names[1], format!("/w/t/bucket-0/data-{uuid}-1.orc"));
        assert_ne!(paths(&[]).unwrap().uuid, *uuid);
    }

    #[test]
    fn options_name_folders_and_files() {
        let mut found = paths(&[
            ("data-file.prefix", "part-"),
            ("file.suffix.include.compression", "true"),
            ("data-file.path-directory", "data"),
            ("file.compression", "lz4"),
        ])
        .unwrap();
        let location = found.next_location("p=1", 0, "parquet").unwrap();
        assert_eq!(location, format!("/w/t/data/p=1/bucket-0/part-{}-0.lz4.parquet", found.uuid));
    }

    #[rstest]
    #[case("zstd", ".zst")]
    #[case("ZSTD", ".zst")]
    #[case("Snappy", ".snappy")]
    #[case("zlib", ".zlib")]
    #[case("none", "")]
    fn file_names_have_the_extensions_of_their_codecs(#[case] codec: &str, #[case] extension: &str) {
        let options = [("file.suffix.include.compression", "true"), ("file.compression", codec)];
        let mut found = paths(&options).unwrap();
        let location = found.next_location("", 0, "orc").unwrap();
        assert_eq!(location, format!("/w/t/bucket-0/data-{}-0{extension}.orc", found.uuid));
    }

    #[test]
    fn external_paths_have_the_folders_of_buckets_and_not_of_the_table() {
        let strategy = ("data-file.external-paths.strategy", "round-robin");
        let mut found = paths(&[
            strategy,
            ("data-file.external-paths", "file:///w/elsewhere/"),
            ("data-file.path-directory", "data"),
        ])
        .unwrap();
        let location = found.next_location("p=1", 3, "orc").unwrap();
        assert_eq!(location, format!("file:/w/elsewhere/data/p=1/bucket-3/data-{}-0.orc", found.uuid));
        assert_eq!(found.external_path(&location), Some(location));
        assert_eq!(paths(&[]).unwrap().external_path("/w/t/bucket-0/f"), None);
        let error = paths(&[strategy, ("data-file.external-paths", "file:/w/elsewhere,file:/x")]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PathNotAllowed);
    }
}
