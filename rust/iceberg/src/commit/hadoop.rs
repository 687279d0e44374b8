//! Commits to tables without a catalog (spec: "File System Tables").
//!
//! ```text
//! metadata/v<N>[.gz].metadata.json     the states; N counts from 1
//! metadata/version-hint.text           N, written after the state; readers do not depend on it
//! ```
//!
//! The spec and Java check that a name is free and then rename a temporary file to it, which loses commits on object
//! stores and on local disks. Here the file is created with put-if-absent, an atomic operation of the store: the names
//! are the same, and exactly one of two concurrent writers wins.

use std::sync::Arc;

use bytes::Bytes;
use frazil_core::error::{Error, ErrorKind, Result};
use frazil_core::storage::publish::{Swap, publish};
use frazil_core::storage::{Files, Turn};

use super::pointer::{Pointer, Proposal};
use crate::locate::{HINT_FILE, locate, version_of};
use crate::spec::metadata_write::MetadataCodec;
use crate::spec::table_metadata::TableMetadata;
use crate::table::{METADATA_LIMIT_BYTES, State, read_metadata};

/// A table in a folder.
#[derive(Debug, Clone)]
pub struct HadoopPointer {
    files: Files,
    folder: String,
}

impl HadoopPointer {
    /// Creates the pointer to the table in `folder`, which may not exist yet.
    pub fn new(files: Files, folder: &str) -> Self {
        Self { files, folder: folder.trim_end_matches('/').to_string() }
    }

    fn metadata_file(&self, version: u64, codec: MetadataCodec) -> String {
        format!("{}/metadata/v{version}{}", self.folder, codec.suffix())
    }

    /// Returns the version after that of `base`. Fails if a version is missing but a later one exists, because the
    /// latest version is then unknown.
    fn next_version(&self, base: Option<&State>) -> Result<u64> {
        let Some(base) = base else { return Ok(1) };
        let version = own_version(base)?;
        let next = version + 1;
        let is_later = |name: &str| version_of(name).is_some_and(|version| version > next);
        let later = self.files.list_named(&format!("{}/metadata", self.folder), &is_later)?;
        let versions = later.iter().filter(|file| file.size_bytes > 0).filter_map(|file| version_of(&file.location));
        let Some(newest) = versions.max() else { return Ok(next) };
        // Another writer may have committed since the base was loaded, and a listing may have missed that version.
        if self.exists(next)? {
            return Err(Error::new(ErrorKind::AlreadyExists, "another writer committed first"));
        }
        Err(Error::new(
            ErrorKind::CommitValidation,
            format!("metadata v{next} is missing between v{version} and v{newest}"),
        )
        .with("table", &self.folder)
        .hint("restore the missing file, or move the later ones away"))
    }

    /// Returns whether the file of `base` still belongs to its table: a table that was dropped and created again also
    /// counts from 1.
    fn is_there(&self, base: &State) -> Result<bool> {
        match self.files.read(&base.metadata_location, METADATA_LIMIT_BYTES) {
            Err(error) if error.kind() == ErrorKind::MissingFile => Ok(false),
            found => {
                let uuid = TableMetadata::parse_uuid(&found?)
                    .map_err(|e| e.corrupt_as(ErrorKind::CorruptMetadata).with("file", &base.metadata_location))?;
                Ok(uuid == base.metadata.table_uuid)
            }
        }
    }

    /// Returns whether a version exists, under any file name that is written here. As for readers, an empty file does
    /// not count.
    fn exists(&self, version: u64) -> Result<bool> {
        for codec in [MetadataCodec::None, MetadataCodec::Gzip] {
            match self.files.size(&self.metadata_file(version, codec)) {
                Ok(0) => {}
                Err(error) if error.kind() == ErrorKind::MissingFile => {}
                found => return found.map(|_| true),
            }
        }
        Ok(false)
    }
}

/// Returns the version of a state; only states of tables without a catalog have one.
fn own_version(state: &State) -> Result<u64> {
    version_of(&state.metadata_location).ok_or_else(|| {
        Error::unsupported("the table belongs to a catalog and cannot be changed through its folder")
            .with("file", &state.metadata_location)
            .hint("load it from its catalog: frazil.load_catalog(\"<catalog>\").load_table(\"<namespace>.<table>\")")
    })
}

impl Pointer for HadoopPointer {
    fn check(&self, known: &State) -> Result<()> {
        own_version(known).map(drop)
    }

    fn load(&self) -> Result<Option<State>> {
        let folder = self.files.resolve(&self.folder)?;
        let metadata_location = match locate(self.files.storage().as_ref(), &folder) {
            Err(error) if error.kind() == ErrorKind::NoSuchTable => return Ok(None),
            found => found?,
        };
        let metadata = Arc::new(read_metadata(&self.files, &metadata_location)?);
        Ok(Some(State::recorded(metadata, &self.folder, &metadata_location)))
    }

    fn swap(&self, proposal: &Proposal<'_>) -> Swap<State> {
        let Proposal { base, next, .. } = *proposal;
        let prepared = || -> Result<(u64, String, Bytes)> {
            if base.is_some_and(|base| base.metadata.location != next.location) {
                return Err(Error::unsupported("the location of a table without a catalog cannot change"));
            }
            if let Some(base) = base
                && !self.is_there(base)?
            {
                return Err(Error::new(ErrorKind::AlreadyExists, "the table was replaced"));
            }
            // All writers use the codec of the base state for this version: with different codecs, two files with
            // different names could be created for one version.
            let codec = base.map_or(Ok(MetadataCodec::None), |base| MetadataCodec::of(&base.metadata))?;
            let version = self.next_version(base)?;
            // Other libraries may spell the file name differently.
            if self.exists(version)? {
                return Err(Error::new(ErrorKind::AlreadyExists, "another writer committed first"));
            }
            Ok((version, self.metadata_file(version, codec), next.to_bytes(codec)?.into()))
        };
        let (version, location, content) = match prepared() {
            Ok(prepared) => prepared,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => return Swap::Lost,
            Err(error) => return Swap::Refused(error),
        };
        let swap = publish(&self.files, &location, &content);
        if matches!(swap, Swap::Done(_)) {
            // Only a hint: the metadata files are authoritative. A reader that finds a stale hint looks for later
            // versions.
            let hint = format!("{}/metadata/{HINT_FILE}", self.folder);
            let _ = self.files.put(&hint, version.to_string().into());
        }
        swap.map(|location| proposal.published(location))
    }

    fn turn(&self, _: Option<&State>) -> Option<Turn> {
        self.files.turn(&format!("{}/metadata", self.folder))
    }

    fn delete(&self, metadata_file: &str) {
        let _ = self.files.delete(metadata_file);
    }
}
