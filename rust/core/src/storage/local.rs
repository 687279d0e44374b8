//! Storage of local files.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, UNIX_EPOCH};

use bytes::Bytes;

use crate::error::{Error, ErrorKind, Result};

use super::location::{Location, redacted};
use super::{Entries, ObjectMeta, Storage, Turn, Version, too_long};

/// The age from which a file's modification time is reliable: file systems have a resolution of up to two seconds.
const SETTLED_AFTER: Duration = Duration::from_secs(2);

/// The maximum time to wait for the turn of another writer to end.
const LONGEST_TURN: Duration = Duration::from_secs(10);
const TURN_STEP: Duration = Duration::from_millis(5);

/// A storage based on `std::fs`. Locations are absolute paths, or any form that [`Location`] treats as a local file.
#[derive(Debug, Clone, Copy, Default)]
pub struct LocalStorage;

impl Storage for LocalStorage {
    fn size(&self, location: &str) -> Result<u64> {
        regular_file(&path_of(location)?, location)
    }

    fn read(&self, location: &str, limit_bytes: u64) -> Result<Bytes> {
        let path = path_of(location)?;
        let size = regular_file(&path, location)?;
        if size > limit_bytes {
            return Err(too_long(location, size, limit_bytes));
        }
        let mut file = File::open(&path).map_err(|e| map_error(&e, location))?;
        read_exactly(&mut file, size).map(Bytes::from).map_err(|e| map_error(&e, location))
    }

    fn read_ranges(&self, location: &str, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let path = path_of(location)?;
        let size = regular_file(&path, location)?;
        super::check_ranges(location, ranges, size)?;
        let mut file = File::open(&path).map_err(|e| map_error(&e, location))?;
        let mut read = |range: &Range<u64>| {
            file.seek(SeekFrom::Start(range.start))?;
            read_exactly(&mut file, range.end - range.start).map(Bytes::from)
        };
        ranges.iter().map(|range| read(range).map_err(|e| map_error(&e, location))).collect()
    }

    fn version(&self, location: &str) -> Option<Version> {
        let meta = fs::metadata(path_of(location).ok()?).ok().filter(fs::Metadata::is_file)?;
        let modified = meta.modified().ok()?;
        // Modification times have a limited resolution: a recently written file may be rewritten without a change of
        // its time.
        modified.elapsed().ok().filter(|age| *age > SETTLED_AFTER)?;
        let modified_ns = modified.duration_since(UNIX_EPOCH).ok()?.as_nanos();
        Some(Version { store: 0, size_bytes: meta.len(), number: number(&meta), modified_ns })
    }

    /// Lists links to files but not links to folders: a listing never leaves its folder.
    fn list_named(&self, folder: &str, wanted: &dyn Fn(&str) -> bool) -> Result<Vec<ObjectMeta>> {
        let base = Location::parse_absolute(folder)?;
        let wanted = entries(folder)?.into_iter().filter(|(name, _)| wanted(name));
        Ok(wanted.filter_map(|(name, entry)| object_of(&base, &name, &entry)).collect())
    }

    fn folders(&self, folder: &str) -> Result<Vec<String>> {
        Ok(entries(folder)?.into_iter().filter(|(_, entry)| is_folder(entry)).map(|(name, _)| name).collect())
    }

    fn entries(&self, folder: &str) -> Result<Entries> {
        let base = Location::parse_absolute(folder)?;
        let mut found = Entries::default();
        for (name, entry) in entries(folder)? {
            if is_folder(&entry) {
                found.folders.push(name);
            } else {
                found.files.extend(object_of(&base, &name, &entry));
            }
        }
        Ok(found)
    }

    fn real_folder(&self, folder: &str) -> Option<String> {
        fs::canonicalize(path_of(folder).ok()?).ok()?.to_str().map(str::to_string)
    }

    fn put(&self, location: &str, content: Bytes) -> Result<()> {
        let path = path_of(location)?;
        let temporary = Temporary::write(&path, &content).map_err(|e| map_error(&e, location))?;
        fs::rename(&temporary.path, &path).and_then(|()| sync_folder(&path)).map_err(|e| map_error(&e, location))
    }

    /// Writes and syncs a temporary file, then links it to its final name. `link(2)` fails if the name exists, and a
    /// reader never sees a partial file. If links are not supported, the file is created with `O_EXCL`. This is equally
    /// exclusive, but the file is visible while it is written.
    fn put_if_absent(&self, location: &str, content: Bytes) -> Result<()> {
        let path = path_of(location)?;
        let nothing = |e: io::Error| map_error(&e, location).changing_nothing();
        let temporary = Temporary::write(&path, &content).map_err(nothing)?;
        let made = match fs::hard_link(&temporary.path, &path) {
            Err(e) if matches!(e.kind(), io::ErrorKind::Unsupported | io::ErrorKind::PermissionDenied) => {
                create_exclusively(&path, &content)
            }
            other => other,
        };
        made.map_err(|e| if is_lack_of_space(&e) { nothing(e) } else { map_error(&e, location) })?;
        sync_folder(&path).map_err(|e| map_error(&e, location))
    }

    fn delete(&self, location: &str) -> Result<()> {
        match fs::remove_file(path_of(location)?) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(map_error(&e, location)),
            _ => Ok(()),
        }
    }

    fn turn(&self, folder: &str) -> Option<Turn> {
        locked(File::open(path_of(folder).ok()?).ok()?)
    }
}

/// Waits for a turn, like [`Storage::turn`], among the writers of this machine that use the same folder of a remote
/// store. The writers lock an empty file in the temporary folder.
pub fn turn_of_remote(folder: &str) -> Option<Turn> {
    let mut hasher = DefaultHasher::new();
    folder.hash(&mut hasher);
    let path = std::env::temp_dir().join(format!("frazil-{:016x}.lock", hasher.finish()));
    // The file may belong to another user, or a concurrent writer may be creating it.
    let made = || OpenOptions::new().write(true).create_new(true).open(&path);
    locked(File::open(&path).or_else(|_| made()).or_else(|_| File::open(&path)).ok()?)
}

fn locked(file: File) -> Option<Turn> {
    let until = Instant::now() + LONGEST_TURN;
    while let Err(TryLockError::WouldBlock) = file.try_lock() {
        if Instant::now() > until {
            return None;
        }
        std::thread::sleep(TURN_STEP);
    }
    Some(Turn(file))
}

/// Returns the operating system's path for a canonical local location. On Windows, drives lose their leading slash.
pub(crate) fn os_path(canonical: &str) -> PathBuf {
    let path = if cfg!(windows) { canonical.strip_prefix('/').unwrap_or(canonical) } else { canonical };
    PathBuf::from(path)
}

/// Maps an operating system error to an error with a kind.
pub(crate) fn map_error(error: &io::Error, location: &str) -> Error {
    use io::ErrorKind as Io;
    let (kind, message) = match error.kind() {
        Io::NotFound | Io::NotADirectory | Io::IsADirectory | Io::InvalidFilename => {
            (ErrorKind::MissingFile, "the file does not exist")
        }
        Io::PermissionDenied => (ErrorKind::Forbidden, "permission to read or write the file was denied"),
        Io::AlreadyExists => (ErrorKind::AlreadyExists, "the file already exists"),
        Io::UnexpectedEof => (ErrorKind::Storage, "the file was truncated while it was read"),
        Io::StorageFull | Io::QuotaExceeded => (ErrorKind::Storage, "cannot write the file: the disk is full"),
        Io::ReadOnlyFilesystem => (ErrorKind::Storage, "cannot write the file: the file system is mounted read-only"),
        Io::OutOfMemory => (ErrorKind::LimitExceeded, "the file does not fit in memory"),
        _ => (ErrorKind::Storage, "cannot read or write the file"),
    };
    let failure = Error::new(kind, message).with("path", redacted(location));
    if kind == ErrorKind::Storage { failure.caused_by(io::Error::from(error.kind())) } else { failure }
}

/// Returns whether the write failed for lack of space or permission, so that no file was created.
fn is_lack_of_space(error: &io::Error) -> bool {
    use io::ErrorKind as Io;
    matches!(error.kind(), Io::StorageFull | Io::QuotaExceeded | Io::ReadOnlyFilesystem | Io::FileTooLarge)
}

fn path_of(location: &str) -> Result<PathBuf> {
    let parsed = Location::parse_absolute(location)?;
    if parsed.is_local() {
        Ok(os_path(&parsed.canonical()))
    } else {
        Err(Error::unsupported(format!("'{}' is not a scheme for local files", parsed.scheme().name()))
            .with("path", redacted(location)))
    }
}

/// Returns the entries of a folder by name; empty if the folder does not exist. Names that are not Unicode cannot occur
/// in metadata and are skipped.
fn entries(folder: &str) -> Result<Vec<(String, fs::DirEntry)>> {
    let entries = match fs::read_dir(path_of(folder)?) {
        Ok(entries) => entries,
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => return Ok(vec![]),
        Err(e) => return Err(map_error(&e, folder)),
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|e| map_error(&e, folder))?;
        if let Ok(name) = entry.file_name().into_string() {
            found.push((name, entry));
        }
    }
    Ok(found)
}

fn is_folder(entry: &fs::DirEntry) -> bool {
    entry.file_type().is_ok_and(|kind| kind.is_dir())
}

/// Returns the file of an entry; None for what is not a file.
fn object_of(base: &Location, name: &str, entry: &fs::DirEntry) -> Option<ObjectMeta> {
    let mut meta = entry.metadata().ok()?;
    if meta.is_symlink() {
        // A dangling link is listed with the length of the link itself, so that opening the file reports the dangling
        // link.
        meta = fs::metadata(entry.path()).unwrap_or(meta);
    }
    if !meta.is_file() && !meta.is_symlink() {
        return None;
    }
    let modified = meta.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    Some(ObjectMeta {
        location: base.join(name).canonical(),
        size_bytes: meta.len(),
        modified_ms: modified.and_then(|d| i64::try_from(d.as_millis()).ok()).unwrap_or(0),
    })
}

fn regular_file(path: &Path, location: &str) -> Result<u64> {
    let meta = fs::metadata(path).map_err(|e| map_error(&e, location))?;
    if meta.is_file() {
        Ok(meta.len())
    } else {
        Err(Error::new(ErrorKind::MissingFile, "the location is not a regular file").with("path", redacted(location)))
    }
}

#[cfg(unix)]
fn number(meta: &fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(meta)
}

#[cfg(not(unix))]
fn number(_: &fs::Metadata) -> u64 {
    0
}

fn read_exactly(file: &mut File, length: u64) -> io::Result<Vec<u8>> {
    let length = usize::try_from(length).map_err(|_| io::ErrorKind::OutOfMemory)?;
    let mut content = Vec::new();
    content.try_reserve_exact(length).map_err(|_| io::ErrorKind::OutOfMemory)?;
    file.take(length as u64).read_to_end(&mut content)?;
    if content.len() == length { Ok(content) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

/// A temporary file next to its target, which is removed when dropped.
struct Temporary {
    path: PathBuf,
}

impl Temporary {
    fn write(target: &Path, content: &[u8]) -> io::Result<Self> {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        let folder = target.parent().ok_or(io::ErrorKind::InvalidFilename)?;
        fs::create_dir_all(folder)?;
        // The process id and the counter differ between writers of one machine. The time makes collisions between
        // machines unlikely, and `create_new` fails for any remaining collision.
        let nanos = std::time::SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.subsec_nanos());
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!(".frazil-{}-{number}-{nanos}.tmp", std::process::id()));
        let mut file = OpenOptions::new().write(true).create_new(true).open(&path)?;
        let temporary = Self { path };
        file.write_all(content)?;
        file.sync_all()?;
        Ok(temporary)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // After a rename, the temporary file no longer exists.
        let _ = fs::remove_file(&self.path);
    }
}

fn create_exclusively(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    let written = file.write_all(content).and_then(|()| file.sync_all());
    if written.is_err() {
        let _ = fs::remove_file(path);
    }
    written
}

/// Makes a new file name durable by syncing its folder. Windows cannot open folders and does not need the sync.
fn sync_folder(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(folder) if cfg!(unix) => File::open(folder)?.sync_all(),
        _ => Ok(()),
    }
}
