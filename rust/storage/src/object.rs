//! Storage of one bucket, container or host.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use frazil_core::error::{Error, ErrorKind, Result};
use frazil_core::storage::location::redacted;
use frazil_core::storage::{Entries, Location, ObjectMeta, Storage, Upload, check_ranges, slice, too_long};
use futures::StreamExt;
use object_store::path::Path;
use object_store::{ListResult, ObjectStore, ObjectStoreExt, PutMode, PutOptions};

use crate::failure;
use crate::parts::Parts;
use crate::runtime::block_on;

/// The maximum number of files that are fetched concurrently.
const CONCURRENT_READS: usize = 32;

/// The maximum length of a file that is fetched completely if several of its ranges are requested. One request costs as
/// much as several megabytes.
const WHOLE_FILE_BYTES: u64 = 1 << 20;

/// A storage over one store of the `object_store` crate. Its debug form omits properties and credentials.
#[derive(Clone)]
pub struct ObjectStorage {
    store: Arc<dyn ObjectStore>,
    /// The root of the store: scheme and authority, without a path.
    root: Location,
}

impl fmt::Debug for ObjectStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ObjectStorage({})", self.root)
    }
}

impl ObjectStorage {
    /// Creates a storage for all locations in the store of `root`, for example `s3://bucket/`.
    ///
    /// # Errors
    /// See [`Location::parse`].
    pub fn new(store: Arc<dyn ObjectStore>, root: &str) -> Result<Self> {
        Ok(Self { store, root: Location::parse(root)? })
    }

    /// Returns the direct contents of a folder; None if the folder does not exist.
    fn listing(&self, folder: &str) -> Result<Option<ListResult>> {
        match self.run(folder, |store, path| async move { store.list_with_delimiter(Some(&path)).await }) {
            Ok(listing) => Ok(Some(listing)),
            Err(e) if e.kind() == ErrorKind::MissingFile => Ok(None),
            Err(e) => Err(e),
        }
    }

    fn meta(&self, object: &object_store::ObjectMeta) -> ObjectMeta {
        ObjectMeta {
            location: self.root.join(object.location.as_ref()).canonical(),
            size_bytes: object.size,
            modified_ms: object.last_modified.timestamp_millis(),
        }
    }

    fn path(&self, location: &str) -> Result<Path> {
        let parsed = Location::parse(location)?;
        if !parsed.same_store(&self.root) {
            return Err(Error::internal("a location was sent to the wrong store").with("path", redacted(location)));
        }
        if parsed.key().contains('?') && matches!(parsed.scheme().name(), "http" | "https") {
            return Err(Error::unsupported("locations with a query are not supported").with("path", redacted(location)));
        }
        Path::parse(parsed.key()).map_err(|e| failure::map(&e.into(), location))
    }

    /// Runs one operation on the runtime and adds its location to errors.
    fn run<T, F, W>(&self, location: &str, work: W) -> Result<T>
    where
        T: Send + 'static,
        F: Future<Output = object_store::Result<T>> + Send + 'static,
        W: FnOnce(Arc<dyn ObjectStore>, Path) -> F,
    {
        let path = self.path(location)?;
        block_on(work(self.store.clone(), path))?.map_err(|e| failure::map(&e, location))
    }

    fn put_with(&self, location: &str, content: Bytes, mode: PutMode) -> Result<()> {
        let options = PutOptions { mode, ..PutOptions::default() };
        self.run(location, |store, path| async move { store.put_opts(&path, content.into(), options).await.map(drop) })
    }
}

impl Storage for ObjectStorage {
    fn size(&self, location: &str) -> Result<u64> {
        self.run(location, |store, path| async move { store.head(&path).await.map(|meta| meta.size) })
    }

    fn read(&self, location: &str, limit_bytes: u64) -> Result<Bytes> {
        let path = self.path(location)?;
        block_on(fetch(self.store.clone(), path, location.to_string(), limit_bytes))?
    }

    /// Reads ranges. A single range needs one request; the length of the file is requested only if a result is
    /// incomplete.
    fn read_ranges(&self, location: &str, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        if let [only] = ranges
            && only.start < only.end
        {
            let wanted = only.clone();
            let fetched = self.run(location, |store, path| async move { store.get_range(&path, wanted).await });
            match fetched {
                Ok(buffer) if buffer.len() as u64 == only.end - only.start => return Ok(vec![buffer]),
                Err(e) if !matches!(e.kind(), ErrorKind::Storage | ErrorKind::Unsupported) => return Err(e),
                // A range exceeds the end of the file. The length of the file is needed for the error.
                _ => {}
            }
        }
        let size = self.size(location)?;
        check_ranges(location, ranges, size)?;
        if ranges.len() > 1 && size <= WHOLE_FILE_BYTES {
            let content = self.read(location, WHOLE_FILE_BYTES)?;
            return ranges.iter().map(|range| slice(&content, range)).collect();
        }
        let wanted: Vec<Range<u64>> = ranges.iter().filter(|range| !range.is_empty()).cloned().collect();
        let fetched = self.run(location, |store, path| async move { store.get_ranges(&path, &wanted).await })?;
        let mut fetched = fetched.into_iter();
        let next = |range: &Range<u64>| {
            let buffer = if range.is_empty() { Some(Bytes::new()) } else { fetched.next() };
            buffer.filter(|b| b.len() as u64 == range.end - range.start).ok_or_else(|| {
                Error::new(ErrorKind::Storage, "the store returned too few bytes").with("path", redacted(location))
            })
        };
        ranges.iter().map(next).collect()
    }

    fn read_all(&self, locations: &[&str], limit_bytes: u64) -> Vec<Result<Bytes>> {
        let requests = locations.iter().map(|&location| {
            let path = self.path(location);
            let (store, location) = (self.store.clone(), location.to_string());
            async move { fetch(store, path?, location, limit_bytes).await }
        });
        let all = futures::stream::iter(requests.collect::<Vec<_>>()).buffered(CONCURRENT_READS).collect::<Vec<_>>();
        block_on(all).unwrap_or_else(|failed| {
            let message = failed.message().to_string();
            locations.iter().map(|_| Err(Error::new(failed.kind(), message.clone()))).collect()
        })
    }

    fn list_named(&self, folder: &str, wanted: &dyn Fn(&str) -> bool) -> Result<Vec<ObjectMeta>> {
        let listing = self.listing(folder)?;
        let own = self.path(folder)?;
        let objects = listing.map_or_else(Vec::new, |listing| listing.objects);
        // Empty objects whose keys end with a slash are skipped, because some writers create them to mark folders.
        let is_wanted = |object: &object_store::ObjectMeta| {
            object.location != own && wanted(object.location.filename().unwrap_or_default())
        };
        Ok(objects.into_iter().filter(is_wanted).map(|object| self.meta(&object)).collect())
    }

    fn folders(&self, folder: &str) -> Result<Vec<String>> {
        let listing = self.listing(folder)?;
        Ok(listing.map_or_else(Vec::new, |listing| names(&listing.common_prefixes)))
    }

    fn entries(&self, folder: &str) -> Result<Entries> {
        let Some(listing) = self.listing(folder)? else { return Ok(Entries::default()) };
        let own = self.path(folder)?;
        let objects = listing.objects.into_iter().filter(|object| object.location != own);
        Ok(Entries {
            files: objects.map(|object| self.meta(&object)).collect(),
            folders: names(&listing.common_prefixes),
        })
    }

    fn put(&self, location: &str, content: Bytes) -> Result<()> {
        self.put_with(location, content, PutMode::Overwrite)
    }

    /// Writes a file if it does not exist. If the response is lost, the request is sent again, and finds the file that
    /// the first attempt wrote.
    fn put_if_absent(&self, location: &str, content: Bytes) -> Result<()> {
        let refused = match self.put_with(location, content.clone(), PutMode::Create) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => error,
            other => return other,
        };
        match self.read(location, content.len() as u64) {
            Ok(found) if !found.is_empty() && found == content => Ok(()),
            Ok(_) => Err(refused),
            Err(error) if matches!(error.kind(), ErrorKind::LimitExceeded | ErrorKind::MissingFile) => Err(refused),
            Err(error) => {
                let message = format!("cannot determine which writer created the file: {}", error.message());
                Err(Error::new(ErrorKind::Storage, message).with("path", redacted(location)))
            }
        }
    }

    fn upload(&self, location: &str) -> Result<Option<Box<dyn Upload>>> {
        match self.run(location, |store, path| async move { store.put_multipart(&path).await }) {
            Ok(parts) => Ok(Some(Box::new(Parts::new(parts, location)))),
            Err(e) if e.kind() == ErrorKind::Unsupported => Ok(None),
            Err(e) => Err(e),
        }
    }

    fn delete(&self, location: &str) -> Result<()> {
        match self.run(location, |store, path| async move { store.delete(&path).await }) {
            Err(e) if e.kind() == ErrorKind::MissingFile => Ok(()),
            other => other,
        }
    }
}

/// Returns the names of the folders that a listing has as prefixes.
fn names(prefixes: &[Path]) -> Vec<String> {
    prefixes.iter().filter_map(|prefix| prefix.filename().map(str::to_string)).collect()
}

/// Fetches a whole file. The length that the store declares is checked first and the received bytes are counted, so
/// that a server cannot exceed the limit.
async fn fetch(store: Arc<dyn ObjectStore>, path: Path, location: String, limit_bytes: u64) -> Result<Bytes> {
    let answer = store.get(&path).await.map_err(|e| failure::map(&e, &location))?;
    let declared = answer.meta.size;
    if declared > limit_bytes {
        return Err(too_long(&location, declared, limit_bytes));
    }
    let mut chunks = answer.into_stream();
    let mut content = BytesMut::new();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|e| failure::map(&e, &location))?;
        let seen = content.len() as u64 + chunk.len() as u64;
        if seen > limit_bytes {
            return Err(too_long(&location, seen, limit_bytes));
        }
        content.extend_from_slice(&chunk);
    }
    if content.len() as u64 == declared {
        Ok(content.freeze())
    } else {
        let message = format!("the store sent only {} of {declared} bytes", content.len());
        Err(Error::new(ErrorKind::Unavailable, message).with("path", redacted(&location)))
    }
}
