//! The files of one table, combining storage, relocation and confinement. Formats read and write files only through
//! this type.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use crate::error::{Error, Result};

use super::confinement::Confinement;
use super::location::{Location, Scheme, redacted};
use super::relocation::Relocation;
use super::{Entries, ObjectMeta, Storage, Turn, Upload, Version};

/// The files of a table, with the mapping of their locations and the locations that may be read. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Files(Arc<Parts>);

/// One version of a readable file, independent of the location under which it is recorded.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FileId {
    /// The canonical location.
    pub location: String,
    /// The version of the file at that location.
    pub version: Version,
}

#[derive(Debug)]
struct Parts {
    storage: Arc<dyn Storage>,
    relocation: Relocation,
    confinement: Confinement,
}

impl Files {
    /// Creates files of `storage`. The targets of `relocation` are allowed in addition to the roots of `confinement`.
    pub fn new(storage: Arc<dyn Storage>, relocation: Relocation, mut confinement: Confinement) -> Self {
        for target in relocation.targets() {
            confinement.allow_location(target.clone());
        }
        Self(Arc::new(Parts { storage, relocation, confinement }))
    }

    /// Creates the files at and below `root`, read at their recorded locations.
    ///
    /// # Errors
    /// See [`Location::parse_absolute`].
    pub fn below(storage: Arc<dyn Storage>, root: &str) -> Result<Self> {
        let mut confinement = Confinement::default();
        confinement.allow(root)?;
        Ok(Self::new(storage, Relocation::default(), confinement))
    }

    /// Creates files from plain lists, as sent to other processes: recorded prefixes with their actual locations, and
    /// the locations that may be read in addition.
    ///
    /// # Errors
    /// See [`Relocation::add`] and [`Confinement::allow`].
    pub fn assemble(storage: Arc<dyn Storage>, relocate: &[(String, String)], allowed: &[String]) -> Result<Self> {
        let mut relocation = Relocation::default();
        for (recorded, actual) in relocate {
            relocation.add(recorded, actual)?;
        }
        let mut confinement = Confinement::default();
        for location in allowed {
            confinement.allow(location)?;
        }
        Ok(Self::new(storage, relocation, confinement))
    }

    /// Returns the same files with an additional mapping, for a table whose actual location differs from the recorded
    /// one.
    ///
    /// # Errors
    /// See [`Relocation::add`].
    pub fn with_relocation(&self, recorded: &str, actual: &str) -> Result<Self> {
        let mut relocation = self.0.relocation.clone();
        relocation.add(recorded, actual)?;
        Ok(Self::new(self.0.storage.clone(), relocation, self.0.confinement.clone()))
    }

    /// Returns the storage, for locations that [`Files::openable`] returned.
    pub fn storage(&self) -> &Arc<dyn Storage> {
        &self.0.storage
    }

    /// Returns the recorded prefixes and their actual locations.
    pub fn relocation(&self) -> &Relocation {
        &self.0.relocation
    }

    /// Returns the rules for which files may be read.
    pub fn confinement(&self) -> &Confinement {
        &self.0.confinement
    }

    /// Returns the actual location for a recorded one, after checking that the table may read it. Does not access the
    /// disk; call [`Files::openable`] before opening the file by other means than this type.
    ///
    /// # Errors
    /// `PathNotAllowed`.
    pub fn resolve(&self, recorded: &str) -> Result<String> {
        self.locate(recorded).map(|location| location.canonical())
    }

    /// Returns the actual location like [`Files::resolve`], after checking that no symbolic link leads outside the
    /// roots.
    ///
    /// # Errors
    /// `PathNotAllowed`; `MissingFile` for a local file that does not exist.
    pub fn openable(&self, recorded: &str) -> Result<String> {
        let location = self.locate(recorded)?;
        self.0.confinement.check_links(&location).map_err(|e| e.with("file", redacted(recorded)))?;
        Ok(location.canonical())
    }

    /// Returns the id of the file at a recorded location, for caching its contents; None if the contents must not be
    /// cached.
    ///
    /// # Errors
    /// See [`Files::openable`]: without permission to read a file, its cached contents cannot be obtained.
    pub fn identify(&self, recorded: &str) -> Result<Option<FileId>> {
        let location = self.openable(recorded)?;
        Ok(self.0.storage.version(&location).map(|version| FileId { location, version }))
    }

    /// Returns a string that is equal for two recorded locations of the same file: relocated, with aliases of schemes
    /// and of HDFS unified. It is not a location to open. A string that is not a location is its own key.
    pub fn same_file_key(&self, recorded: &str) -> String {
        let Ok(location) = Location::parse(recorded) else { return recorded.to_string() };
        let Ok(actual) = self.0.relocation.locate(&location) else { return location.canonical() };
        match actual.scheme() {
            // The authority is omitted, because writers of one table record HDFS files both with and without a name
            // node.
            Scheme::Hdfs => actual.path_text(),
            _ => actual.canonical(),
        }
    }

    /// Returns the length of a file.
    ///
    /// # Errors
    /// See [`Storage::size`] and [`Files::openable`]; every error of this type contains the recorded location.
    pub fn size(&self, recorded: &str) -> Result<u64> {
        self.at(recorded, |storage, location| storage.size(location))
    }

    /// Reads a whole file of at most `limit_bytes`.
    ///
    /// # Errors
    /// See [`Storage::read`] and [`Files::openable`].
    pub fn read(&self, recorded: &str, limit_bytes: u64) -> Result<Bytes> {
        self.at(recorded, |storage, location| storage.read(location, limit_bytes))
    }

    /// Reads ranges of one file.
    ///
    /// # Errors
    /// See [`Storage::read_ranges`] and [`Files::openable`].
    pub fn read_ranges(&self, recorded: &str, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.at(recorded, |storage, location| storage.read_ranges(location, ranges))
    }

    /// Reads whole files concurrently; returns one result for each, in the requested order.
    pub fn read_all(&self, recorded: &[&str], limit_bytes: u64) -> Vec<Result<Bytes>> {
        let located: Vec<Result<String>> = recorded.iter().map(|r| self.openable(r)).collect();
        let found: Vec<&str> = located.iter().filter_map(|l| l.as_deref().ok()).collect();
        let mut contents = self.0.storage.read_all(&found, limit_bytes).into_iter();
        let mut next = || contents.next().unwrap_or_else(|| Err(Error::internal("the storage returned too few files")));
        let results = located.into_iter().zip(recorded);
        results.map(|(l, r)| l.and_then(|_| next()).map_err(|e| e.with("file", redacted(r)))).collect()
    }

    /// Returns the files directly in a recorded folder.
    ///
    /// # Errors
    /// See [`Storage::list`] and [`Files::resolve`].
    pub fn list(&self, recorded: &str) -> Result<Vec<ObjectMeta>> {
        let folder = self.resolve(recorded)?;
        self.0.storage.list(&folder).map_err(|e| e.with("folder", redacted(recorded)))
    }

    /// Returns the files and folders directly in a recorded folder.
    ///
    /// # Errors
    /// See [`Files::list`].
    pub fn entries(&self, recorded: &str) -> Result<Entries> {
        let folder = self.resolve(recorded)?;
        self.0.storage.entries(&folder).map_err(|e| e.with("folder", redacted(recorded)))
    }

    /// Returns the files directly in a recorded folder whose names satisfy `wanted`.
    ///
    /// # Errors
    /// See [`Files::list`].
    pub fn list_named(&self, recorded: &str, wanted: &dyn Fn(&str) -> bool) -> Result<Vec<ObjectMeta>> {
        let folder = self.resolve(recorded)?;
        self.0.storage.list_named(&folder, wanted).map_err(|e| e.with("folder", redacted(recorded)))
    }

    /// Returns the names of the folders directly in a recorded folder.
    ///
    /// # Errors
    /// See [`Storage::folders`] and [`Files::resolve`].
    pub fn folders(&self, recorded: &str) -> Result<Vec<String>> {
        let folder = self.resolve(recorded)?;
        self.0.storage.folders(&folder).map_err(|e| e.with("folder", redacted(recorded)))
    }

    /// Returns a recorded folder with its links resolved; see [`Storage::real_folder`].
    pub fn real_folder(&self, recorded: &str) -> Option<String> {
        self.0.storage.real_folder(&self.resolve(recorded).ok()?)
    }

    /// Returns the actual location of a file to be created. The location must be below the locations that the table may
    /// read, and no link on its path may lead outside them.
    ///
    /// # Errors
    /// `PathNotAllowed`.
    pub fn writable(&self, recorded: &str) -> Result<String> {
        let location = self.locate(recorded)?;
        self.0.confinement.check_links_to_new(&location).map_err(|e| e.with("file", redacted(recorded)))?;
        Ok(location.canonical())
    }

    /// Writes a file if it does not exist; see [`Storage::put_if_absent`]. Files can be written only below the
    /// locations that the table may read.
    ///
    /// # Errors
    /// `AlreadyExists`; `PathNotAllowed`.
    pub fn put_if_absent(&self, recorded: &str, content: Bytes) -> Result<()> {
        self.at_new(recorded, |storage, location| storage.put_if_absent(location, content))
    }

    /// Writes a file, replacing an existing one.
    ///
    /// # Errors
    /// See [`Storage::put`]; `PathNotAllowed`.
    pub fn put(&self, recorded: &str, content: Bytes) -> Result<()> {
        self.at_new(recorded, |storage, location| storage.put(location, content))
    }

    /// Begins a file that is written in parts; see [`Storage::upload`].
    ///
    /// # Errors
    /// `PathNotAllowed`.
    pub fn upload(&self, recorded: &str) -> Result<Option<Box<dyn Upload>>> {
        self.at_new(recorded, |storage, location| storage.upload(location))
    }

    /// Deletes a file; a missing file is not an error.
    ///
    /// # Errors
    /// See [`Storage::delete`]; `PathNotAllowed`.
    pub fn delete(&self, recorded: &str) -> Result<()> {
        self.at_new(recorded, |storage, location| storage.delete(location))
    }

    /// Waits for a turn among the writers of this machine; see [`Storage::turn`].
    pub fn turn(&self, recorded: &str) -> Option<Turn> {
        self.0.storage.turn(&self.writable(recorded).ok()?)
    }

    fn at_new<T>(&self, recorded: &str, work: impl FnOnce(&dyn Storage, &str) -> Result<T>) -> Result<T> {
        let location = self.writable(recorded)?;
        work(self.0.storage.as_ref(), &location).map_err(|e| e.with("file", redacted(recorded)))
    }

    fn locate(&self, recorded: &str) -> Result<Location> {
        let parsed = Location::parse(recorded)?;
        let actual = self.0.relocation.locate(&parsed)?;
        self.0.confinement.check(&actual).map_err(|e| e.with("file", redacted(recorded)))?;
        Ok(actual)
    }

    fn at<T>(&self, recorded: &str, work: impl FnOnce(&dyn Storage, &str) -> Result<T>) -> Result<T> {
        let location = self.openable(recorded)?;
        work(self.0.storage.as_ref(), &location).map_err(|e| e.with("file", redacted(recorded)))
    }
}
