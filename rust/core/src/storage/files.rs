//! The files of one table: storage, relocation and confinement together. Formats read and write through this and nothing
//! else.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use crate::error::{Error, Result};

use super::confinement::Confinement;
use super::location::{Location, Scheme, redacted};
use super::relocation::Relocation;
use super::{ObjectMeta, Storage, Turn, Upload, Version};

/// Where a table's files lie, and which it may read. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Files(Arc<Parts>);

/// One version of a file that may be read, wherever it is recorded.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FileId {
    /// Where it lies, in the one way to write it.
    pub location: String,
    /// Which of the files that lay there.
    pub version: Version,
}

#[derive(Debug)]
struct Parts {
    storage: Arc<dyn Storage>,
    relocation: Relocation,
    confinement: Confinement,
}

impl Files {
    /// Files of `storage`. The targets of `relocation` are allowed beside what `confinement` allows.
    pub fn new(storage: Arc<dyn Storage>, relocation: Relocation, mut confinement: Confinement) -> Self {
        for target in relocation.targets() {
            confinement.allow_location(target.clone());
        }
        Self(Arc::new(Parts { storage, relocation, confinement }))
    }

    /// The files at and below `root`, read where they are recorded.
    ///
    /// # Errors
    /// As [`Location::parse_absolute`].
    pub fn below(storage: Arc<dyn Storage>, root: &str) -> Result<Self> {
        let mut confinement = Confinement::default();
        confinement.allow(root)?;
        Ok(Self::new(storage, Relocation::default(), confinement))
    }

    /// Files by plain lists, as they travel to other processes: recorded prefixes with where they lie now, and the
    /// locations that may be read.
    ///
    /// # Errors
    /// As [`Relocation::add`] and [`Confinement::allow`].
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

    /// The same files with one more mapping, for a table that lies elsewhere than it records.
    ///
    /// # Errors
    /// As [`Relocation::add`].
    pub fn with_relocation(&self, recorded: &str, actual: &str) -> Result<Self> {
        let mut relocation = self.0.relocation.clone();
        relocation.add(recorded, actual)?;
        Ok(Self::new(self.0.storage.clone(), relocation, self.0.confinement.clone()))
    }

    /// The storage, for locations that [`Files::openable`] gave.
    pub fn storage(&self) -> &Arc<dyn Storage> {
        &self.0.storage
    }

    /// Recorded prefixes and where they lie now.
    pub fn relocation(&self) -> &Relocation {
        &self.0.relocation
    }

    /// What may be read.
    pub fn confinement(&self) -> &Confinement {
        &self.0.confinement
    }

    /// Where a recorded location lies now: relocated, and inside the places that the table may read. The disk is not
    /// touched; call [`Files::openable`] before opening the file by other means than this type.
    ///
    /// # Errors
    /// `PathNotAllowed`.
    pub fn resolve(&self, recorded: &str) -> Result<String> {
        self.locate(recorded).map(|location| location.canonical())
    }

    /// As [`Files::resolve`], and no symbolic link leads out.
    ///
    /// # Errors
    /// `PathNotAllowed`; `MissingFile` for a local file that is not there.
    pub fn openable(&self, recorded: &str) -> Result<String> {
        let location = self.locate(recorded)?;
        self.0.confinement.check_links(&location).map_err(|e| e.with("file", redacted(recorded)))?;
        Ok(location.canonical())
    }

    /// The file at a recorded location, for what is kept of it after reading; None where nothing may be kept.
    ///
    /// # Errors
    /// As [`Files::openable`]: who may not read a file does not learn what others read from it.
    pub fn identify(&self, recorded: &str) -> Result<Option<FileId>> {
        let location = self.openable(recorded)?;
        Ok(self.0.storage.version(&location).map(|version| FileId { location, version }))
    }

    /// A text that is equal for two recorded locations of one file: relocated, aliases of a scheme and of HDFS made
    /// equal. Not a location to open. A text that is no location is its own key.
    pub fn same_file_key(&self, recorded: &str) -> String {
        let Ok(location) = Location::parse(recorded) else { return recorded.to_string() };
        let Ok(actual) = self.0.relocation.locate(&location) else { return location.canonical() };
        match actual.scheme() {
            // Writers of one table name its HDFS files with and without name node.
            Scheme::Hdfs => actual.path_text(),
            _ => actual.canonical(),
        }
    }

    /// The length of a file.
    ///
    /// # Errors
    /// As [`Storage::size`] and [`Files::openable`]; every error of this type names the recorded location.
    pub fn size(&self, recorded: &str) -> Result<u64> {
        self.at(recorded, |storage, location| storage.size(location))
    }

    /// A whole file of at most `limit_bytes`.
    ///
    /// # Errors
    /// As [`Storage::read`] and [`Files::openable`].
    pub fn read(&self, recorded: &str, limit_bytes: u64) -> Result<Bytes> {
        self.at(recorded, |storage, location| storage.read(location, limit_bytes))
    }

    /// Ranges of one file.
    ///
    /// # Errors
    /// As [`Storage::read_ranges`] and [`Files::openable`].
    pub fn read_ranges(&self, recorded: &str, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.at(recorded, |storage, location| storage.read_ranges(location, ranges))
    }

    /// Whole files, fetched concurrently; one result each, in the order asked for.
    pub fn read_all(&self, recorded: &[&str], limit_bytes: u64) -> Vec<Result<Bytes>> {
        let located: Vec<Result<String>> = recorded.iter().map(|r| self.openable(r)).collect();
        let found: Vec<&str> = located.iter().filter_map(|l| l.as_deref().ok()).collect();
        let mut contents = self.0.storage.read_all(&found, limit_bytes).into_iter();
        let mut next = || contents.next().unwrap_or_else(|| Err(Error::internal("the storage returned too few files")));
        let results = located.into_iter().zip(recorded);
        results.map(|(l, r)| l.and_then(|_| next()).map_err(|e| e.with("file", redacted(r)))).collect()
    }

    /// The files directly in a recorded folder.
    ///
    /// # Errors
    /// As [`Storage::list`] and [`Files::resolve`].
    pub fn list(&self, recorded: &str) -> Result<Vec<ObjectMeta>> {
        let folder = self.resolve(recorded)?;
        self.0.storage.list(&folder).map_err(|e| e.with("folder", redacted(recorded)))
    }

    /// The files directly in a recorded folder with names that are wanted.
    ///
    /// # Errors
    /// As [`Files::list`].
    pub fn list_named(&self, recorded: &str, wanted: &dyn Fn(&str) -> bool) -> Result<Vec<ObjectMeta>> {
        let folder = self.resolve(recorded)?;
        self.0.storage.list_named(&folder, wanted).map_err(|e| e.with("folder", redacted(recorded)))
    }

    /// The names of the folders directly in a recorded folder.
    ///
    /// # Errors
    /// As [`Storage::folders`] and [`Files::resolve`].
    pub fn folders(&self, recorded: &str) -> Result<Vec<String>> {
        let folder = self.resolve(recorded)?;
        self.0.storage.folders(&folder).map_err(|e| e.with("folder", redacted(recorded)))
    }

    /// A recorded folder by the names that its links lead to; see [`Storage::real_folder`].
    pub fn real_folder(&self, recorded: &str) -> Option<String> {
        self.0.storage.real_folder(&self.resolve(recorded).ok()?)
    }

    /// Where a file that is to be made will lie: below the places that the table may read, through no link that leads
    /// out.
    ///
    /// # Errors
    /// `PathNotAllowed`.
    pub fn writable(&self, recorded: &str) -> Result<String> {
        let location = self.locate(recorded)?;
        self.0.confinement.check_links_to_new(&location).map_err(|e| e.with("file", redacted(recorded)))?;
        Ok(location.canonical())
    }

    /// Writes a file where none is; see [`Storage::put_if_absent`]. Files are written below the places that the table may
    /// read, and nowhere else.
    ///
    /// # Errors
    /// `AlreadyExists`; `PathNotAllowed`.
    pub fn put_if_absent(&self, recorded: &str, content: Bytes) -> Result<()> {
        self.at_new(recorded, |storage, location| storage.put_if_absent(location, content))
    }

    /// Writes a file, replacing what is there.
    ///
    /// # Errors
    /// As [`Storage::put`]; `PathNotAllowed`.
    pub fn put(&self, recorded: &str, content: Bytes) -> Result<()> {
        self.at_new(recorded, |storage, location| storage.put(location, content))
    }

    /// Begins a file that comes in parts; see [`Storage::upload`].
    ///
    /// # Errors
    /// `PathNotAllowed`.
    pub fn upload(&self, recorded: &str) -> Result<Option<Box<dyn Upload>>> {
        self.at_new(recorded, |storage, location| storage.upload(location))
    }

    /// Deletes a file; deleting what is not there is no error.
    ///
    /// # Errors
    /// As [`Storage::delete`]; `PathNotAllowed`.
    pub fn delete(&self, recorded: &str) -> Result<()> {
        self.at_new(recorded, |storage, location| storage.delete(location))
    }

    /// A turn among the writers of this machine; see [`Storage::turn`].
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
