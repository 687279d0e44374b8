//! Tables without a catalog (spec: "File System Tables").
//!
//! ```text
//! metadata/v<N>[.gz].metadata.json     the states; N counts from 1
//! metadata/version-hint.text           N, written after the state; readers do not depend on it
//! ```
//!
//! The spec and Java rename a temporary file after they looked whether the name is free, which loses commits on object
//! stores and on local disks. Here the file is created only if it is absent, in one step of the store: same names, and
//! exactly one of two writers wins.

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

/// The folder of a table.
#[derive(Debug, Clone)]
pub struct HadoopPointer {
    files: Files,
    folder: String,
}

impl HadoopPointer {
    /// The table in `folder`, whether there is one or not.
    pub fn new(files: Files, folder: &str) -> Self {
        Self { files, folder: folder.trim_end_matches('/').to_string() }
    }

    fn metadata_file(&self, version: u64, codec: MetadataCodec) -> String {
        format!("{}/metadata/v{version}{}", self.folder, codec.suffix())
    }

    /// The version after that of `base`. Where a state lies beyond one that is missing, it is not known which is the
    /// newest.
    fn next_version(&self, base: Option<&State>) -> Result<u64> {
        let Some(base) = base else { return Ok(1) };
        let version = own_version(base)?;
        let next = version + 1;
        let is_later = |name: &str| version_of(name).is_some_and(|version| version > next);
        let later = self.files.list_named(&format!("{}/metadata", self.folder), &is_later)?;
        let versions = later.iter().filter(|file| file.size_bytes > 0).filter_map(|file| version_of(&file.location));
        let Some(newest) = versions.max() else { return Ok(next) };
        // Others may have been first since the base was loaded, and a listing may have missed one of theirs.
        if self.exists(next)? {
            return Err(Error::new(ErrorKind::AlreadyExists, "another writer was first"));
        }
        Err(Error::new(ErrorKind::CommitValidation, format!("v{next} is missing between v{version} and v{newest}"))
            .with("table", &self.folder)
            .hint("restore the missing file, or move the later ones away"))
    }

    /// Whether the file of `base` is still that of its table: one that was dropped and made again counts from 1, too.
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

    /// Whether a version is there, in any spelling that is written here. As for readers, an empty file is none.
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

/// The version of a state; only states of tables without a catalog have one.
fn own_version(state: &State) -> Result<u64> {
    version_of(&state.metadata_location).ok_or_else(|| {
        Error::unsupported("a catalog keeps this table, so it cannot be changed by its folder")
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
                return Err(Error::unsupported("a table without a catalog stays where it is"));
            }
            if let Some(base) = base
                && !self.is_there(base)?
            {
                return Err(Error::new(ErrorKind::AlreadyExists, "the table was replaced"));
            }
            // Of the state before, which all writers of this version share: two spellings would be two files.
            let codec = base.map_or(Ok(MetadataCodec::None), |base| MetadataCodec::of(&base.metadata))?;
            let version = self.next_version(base)?;
            // Other libraries may spell it otherwise.
            if self.exists(version)? {
                return Err(Error::new(ErrorKind::AlreadyExists, "another writer was first"));
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
            // A hint: what is true is the file. A reader that finds an old one looks further.
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
