//! Reads the index files of a snapshot.

use frazil_core::context::Context;
use frazil_core::error::Result;

use super::Table;
use super::live::LIMIT_BYTES;
use crate::binary_row;
use crate::spec::hash_index;
use crate::spec::index_manifest::{self, IndexEntry};
use crate::spec::options::Options;
use crate::spec::partition_path::{self, Naming, bucket_path};
use crate::spec::schema::TableSchema;
use crate::spec::snapshot::Snapshot;
use crate::spec::types::DataField;

impl Table {
    /// Returns the index files of a snapshot.
    ///
    /// # Errors
    /// `CorruptManifest` naming an index manifest that does not decode.
    pub(crate) fn index_entries(&self, snapshot: &Snapshot, context: &Context) -> Result<Vec<IndexEntry>> {
        let Some(name) = &snapshot.index_manifest else { return Ok(Vec::new()) };
        let path = self.manifest_location(name);
        let read = || index_manifest::read(self.files().read(&path, LIMIT_BYTES)?, context);
        read().map_err(|error| error.with("file", &path))
    }

    /// Returns the hashes of the keys in an index.
    ///
    /// # Errors
    /// `CorruptData` for a file of another length than recorded; `MissingFile` and other errors of the storage.
    pub(crate) fn key_hashes(&self, entry: &IndexEntry) -> Result<Vec<i32>> {
        let location = self.index_location(entry)?;
        let read = || hash_index::decode(&self.files().read(&location, LIMIT_BYTES)?, entry.row_count);
        read().map_err(|error| error.with("file", &location))
    }

    /// Returns the location of an index file.
    ///
    /// # Errors
    /// As for [`Table::index_folder`].
    pub(crate) fn index_location(&self, entry: &IndexEntry) -> Result<String> {
        match &entry.external_path {
            Some(path) => Ok(path.clone()),
            None => Ok(format!("{}/{}", self.index_folder(&entry.partition, entry.bucket)?, entry.file_name)),
        }
    }

    /// Returns the folder of the index files of a bucket: `index`, or the folder of its data files if the option
    /// `index-file-in-data-file-dir` is true.
    ///
    /// # Errors
    /// As for [`partition_folder`].
    pub(crate) fn index_folder(&self, partition: &[u8], bucket: i32) -> Result<String> {
        let options = Options::new(self.schema().options.clone());
        if !options.boolean("index-file-in-data-file-dir", false)? {
            return Ok(format!("{}/index", self.location()));
        }
        let folder = partition_folder(self.schema(), partition, &Naming::from_options(&options)?)?;
        Ok(format!("{}/{}", self.location(), bucket_path(&options, &folder, bucket)?))
    }
}

/// Returns the folder of a partition, which is a row with its arity. Empty for tables without partitions.
///
/// # Errors
/// `CorruptData` for a row that does not match the partition columns; as for [`partition_path::folder`].
pub(crate) fn partition_folder(schema: &TableSchema, partition: &[u8], naming: &Naming) -> Result<String> {
    if schema.partition_keys.is_empty() {
        return Ok(String::new());
    }
    let fields: Vec<&DataField> = schema.partition_keys.iter().filter_map(|key| schema.field(key)).collect();
    let types: Vec<_> = fields.iter().map(|field| field.data_type.clone()).collect();
    partition_path::folder(&fields, &binary_row::decode(partition, &types)?, 0, naming)
}
