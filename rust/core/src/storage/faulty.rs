//! A storage that fails deliberately: tests inject faults at the n-th call of a table operation.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;

use crate::error::{Error, ErrorKind, Result};

use super::{Entries, ObjectMeta, Storage};

/// The fault at the selected call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The call fails with an error of this kind and has no effect.
    Fail(ErrorKind),
    /// The call takes effect but returns an error of this kind, as when a response is lost.
    FailAfterwards(ErrorKind),
    /// A read returns all but the last byte; other calls succeed.
    Truncate,
}

/// A wrapper of another storage with one fault, at the n-th call, counted from zero. Every method of [`Storage`] is a
/// call; [`Storage::read_all`] is one call per file.
#[derive(Debug)]
pub struct FaultyStorage {
    inner: Arc<dyn Storage>,
    fault: Fault,
    at_call: u64,
    calls: AtomicU64,
}

impl FaultyStorage {
    /// Creates a wrapper of `inner` with `fault` at call number `at_call`; `u64::MAX` only counts calls and never
    /// fails.
    pub fn new(inner: Arc<dyn Storage>, fault: Fault, at_call: u64) -> Self {
        Self { inner, fault, at_call, calls: AtomicU64::new(0) }
    }

    /// Returns the number of calls.
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    fn call<T>(&self, work: impl FnOnce(&dyn Storage) -> Result<T>, truncate: impl FnOnce(T) -> T) -> Result<T> {
        let due = self.calls.fetch_add(1, Ordering::Relaxed) == self.at_call;
        let injected = |kind| Err(Error::new(kind, "injected fault"));
        match self.fault {
            Fault::Fail(kind) if due => injected(kind),
            Fault::FailAfterwards(kind) if due => work(self.inner.as_ref()).and_then(|_| injected(kind)),
            Fault::Truncate if due => work(self.inner.as_ref()).map(truncate),
            _ => work(self.inner.as_ref()),
        }
    }
}

impl Storage for FaultyStorage {
    fn size(&self, location: &str) -> Result<u64> {
        self.call(|inner| inner.size(location), |size| size)
    }

    fn read(&self, location: &str, limit_bytes: u64) -> Result<Bytes> {
        self.call(|inner| inner.read(location, limit_bytes), |content| shortened(&content))
    }

    fn read_ranges(&self, location: &str, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let truncate = |buffers: Vec<Bytes>| buffers.iter().map(shortened).collect();
        self.call(|inner| inner.read_ranges(location, ranges), truncate)
    }

    fn list_named(&self, folder: &str, wanted: &dyn Fn(&str) -> bool) -> Result<Vec<ObjectMeta>> {
        self.call(|inner| inner.list_named(folder, wanted), |found| found)
    }

    fn folders(&self, folder: &str) -> Result<Vec<String>> {
        self.call(|inner| inner.folders(folder), |found| found)
    }

    fn entries(&self, folder: &str) -> Result<Entries> {
        self.call(|inner| inner.entries(folder), |found| found)
    }

    fn put(&self, location: &str, content: Bytes) -> Result<()> {
        self.call(|inner| inner.put(location, content), |()| ())
    }

    fn put_if_absent(&self, location: &str, content: Bytes) -> Result<()> {
        self.call(|inner| inner.put_if_absent(location, content), |()| ())
    }

    fn delete(&self, location: &str) -> Result<()> {
        self.call(|inner| inner.delete(location), |()| ())
    }
}

fn shortened(content: &Bytes) -> Bytes {
    content.slice(..content.len().saturating_sub(1))
}
