//! Writes index files of buckets: `index/index-<uuid>-<n>`.

use bytes::Bytes;
use frazil_core::error::Result;
use frazil_core::ids;

use super::change::Home;
use crate::deletion_vector::VectorFile;
use crate::spec::hash_index;
use crate::spec::index_manifest::{DELETION_VECTORS, HASH, IndexEntry};
use crate::spec::manifest::ADD;
use crate::spec::options::Options;
use crate::spec::schema::TableSchema;
use crate::table::Table;

/// The generator of the names of the index files of one writer.
#[derive(Debug)]
pub(crate) struct IndexFiles {
    table: Table,
    name: String,
    count: u64,
}

impl IndexFiles {
    /// Creates a generator. File names contain `name`, or a new UUID by default.
    ///
    /// # Errors
    /// `Internal` if the operating system provides no random bytes.
    pub(crate) fn try_new(table: &Table, name: Option<&str>) -> Result<Self> {
        let name = name.map_or_else(ids::uuid, |name| Ok(name.to_string()))?;
        Ok(Self { table: table.clone(), name, count: 0 })
    }

    /// Writes an index of the keys of a bucket by `put`, which takes a location and a content, and returns its entry.
    ///
    /// # Errors
    /// As for [`Table::index_folder`]; the errors of `put`.
    pub(crate) fn of_keys(
        &mut self,
        home: &Home,
        hashes: Vec<i32>,
        put: impl FnOnce(&str, Bytes) -> Result<()>,
    ) -> Result<IndexEntry> {
        let row_count = i64::try_from(hashes.len()).unwrap_or(i64::MAX);
        let entry = self.put(home, hash_index::encode(hashes), put)?;
        Ok(IndexEntry { index_type: HASH.to_string(), row_count, ..entry })
    }

    /// Writes the deletion vectors of a bucket by `put`, and returns their entry.
    ///
    /// # Errors
    /// As for [`IndexFiles::of_keys`].
    pub(crate) fn of_vectors(
        &mut self,
        home: &Home,
        vectors: VectorFile,
        put: impl FnOnce(&str, Bytes) -> Result<()>,
    ) -> Result<IndexEntry> {
        let (content, deletion_ranges) = vectors.finish();
        let row_count = i64::try_from(deletion_ranges.len()).unwrap_or(i64::MAX);
        let entry = self.put(home, content, put)?;
        Ok(IndexEntry { index_type: DELETION_VECTORS.to_string(), row_count, deletion_ranges, ..entry })
    }

    /// Writes a file, and returns its entry without what it indexes.
    fn put(&mut self, home: &Home, content: Bytes, put: impl FnOnce(&str, Bytes) -> Result<()>) -> Result<IndexEntry> {
        let file_name = format!("index-{}-{}", self.name, self.count);
        self.count += 1;
        let file_size = i64::try_from(content.len()).unwrap_or(i64::MAX);
        put(&format!("{}/{file_name}", self.table.index_folder(&home.partition, home.bucket)?), content)?;
        Ok(IndexEntry {
            kind: ADD,
            partition: home.partition.to_vec(),
            bucket: home.bucket,
            index_type: String::new(),
            file_name,
            file_size,
            row_count: 0,
            deletion_ranges: Vec::new(),
            external_path: None,
            global_index: None,
        })
    }
}

/// Returns whether a bucket has one index file for all its deletion vectors. Buckets of tables without a primary key
/// may have several, unless rows are assigned to buckets.
///
/// # Errors
/// `InvalidArgument` for an option that does not parse.
pub(crate) fn has_one_vector_file(schema: &TableSchema, options: &Options) -> Result<bool> {
    Ok(!schema.primary_keys.is_empty() || options.bucket()? > 0)
}
