//! Maps data files to their deletion vectors (spec: "Table Index", `_DELETIONS_VECTORS_RANGES`).

use frazil_core::error::{Error, ErrorKind, Result};
use hashbrown::HashMap;

use crate::spec::data_file_meta::DeletionFile;
use crate::spec::index_manifest::{DELETION_VECTORS, IndexEntry};

/// The deletion vectors of a snapshot by partition, bucket and name of the data file.
#[derive(Debug, Default)]
pub struct DeletionIndex {
    by_file: HashMap<String, Vec<Known>>,
    vectors: usize,
}

#[derive(Debug)]
struct Known {
    partition: Vec<u8>,
    bucket: i32,
    file: DeletionFile,
}

impl DeletionIndex {
    /// Creates the index from the entries of an index manifest. `location` returns the location of an index file.
    ///
    /// # Errors
    /// `CorruptManifest` if a data file has two vectors.
    pub fn try_new(entries: Vec<IndexEntry>, location: &dyn Fn(&IndexEntry) -> Result<String>) -> Result<Self> {
        let mut index = Self::default();
        for entry in entries.into_iter().filter(|entry| entry.index_type == DELETION_VECTORS) {
            let path = location(&entry)?;
            for range in entry.deletion_ranges {
                let file = DeletionFile {
                    path: path.clone(),
                    offset: range.offset.into(),
                    length: range.length.into(),
                    cardinality: range.cardinality,
                };
                index
                    .push(range.data_file, Known { partition: entry.partition.clone(), bucket: entry.bucket, file })?;
            }
        }
        Ok(index)
    }

    /// Returns the number of vectors.
    pub fn len(&self) -> usize {
        self.vectors
    }

    /// Returns whether there are no vectors.
    pub fn is_empty(&self) -> bool {
        self.vectors == 0
    }

    /// Returns the vector of a data file.
    pub fn of(&self, partition: &[u8], bucket: i32, data_file: &str) -> Option<&DeletionFile> {
        let known = self.by_file.get(data_file)?;
        known.iter().find(|known| known.bucket == bucket && known.partition == partition).map(|known| &known.file)
    }

    fn push(&mut self, data_file: String, known: Known) -> Result<()> {
        if self.of(&known.partition, known.bucket, &data_file).is_some() {
            return Err(
                Error::new(ErrorKind::CorruptManifest, "a data file has two deletion vectors").with("file", data_file)
            );
        }
        self.vectors += 1;
        self.by_file.entry(data_file).or_default().push(known);
        Ok(())
    }
}
