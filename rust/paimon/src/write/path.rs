//! Where new data files are (documentation: "File Layouts", Java's `DataFilePathFactory`): `bucket-0/data-<uuid>-<n>.parquet`.

use frazil_core::error::Result;
use frazil_core::ids;

use crate::spec::options::Options;
use crate::spec::partition_path::bucket_path;

/// How names of data files begin.
const PREFIX: &str = "data-";

/// Names the data files of one writer in one bucket.
#[derive(Debug)]
pub struct DataFilePath {
    folder: String,
    uuid: String,
    count: u64,
}

impl DataFilePath {
    /// Return one for a bucket of a table; `partition` is the folder of its partition, empty without partitions.
    ///
    /// # Errors
    /// As [`bucket_path`]; `Internal` where the operating system has no random bytes.
    pub fn try_new(location: &str, options: &Options, partition: &str, bucket: i32) -> Result<Self> {
        let folder = format!("{location}/{}", bucket_path(options, partition, bucket)?);
        Ok(Self { folder, uuid: ids::uuid()?, count: 0 })
    }

    /// Return the location of the next file.
    pub fn next_location(&mut self, extension: &str) -> String {
        let name = format!("{PREFIX}{}-{}.{extension}", self.uuid, self.count);
        self.count += 1;
        format!("{}/{name}", self.folder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_numbered_in_the_folder_of_their_bucket() {
        let mut path = DataFilePath::try_new("/w/t", &Options::default(), "p=1", 3).unwrap();
        let names = [path.next_location("parquet"), path.next_location("parquet")];
        let expected = [0, 1].map(|count| format!("/w/t/p=1/bucket-3/data-{}-{count}.parquet", path.uuid));
        assert_eq!(names, expected);
        let other = DataFilePath::try_new("/w/t", &Options::default(), "", 0).unwrap();
        assert_ne!(other.uuid, path.uuid);
    }
}
