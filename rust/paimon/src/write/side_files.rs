//! Writes index files, regardless of which component writes the data files.

use bytes::Bytes;
use frazil_core::error::Result;
use frazil_core::storage::Files;

use super::file::FileBuilder;
use crate::spec::entries_builder::NewFile;

/// The writer of index files, which records the files that it wrote.
#[derive(Debug)]
pub(crate) struct SideFiles {
    files: Files,
    written: Vec<String>,
}

impl SideFiles {
    pub(crate) fn new(files: &Files) -> Self {
        Self { files: files.clone(), written: Vec::new() }
    }

    /// Returns the completed data file at `path`, and writes its index if it is not part of the manifest.
    ///
    /// # Errors
    /// `Storage` if the index cannot be written.
    pub(crate) fn finish(&mut self, file: FileBuilder, path: &str, size_bytes: i64) -> Result<NewFile> {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let (file, index) = file.finish(name, size_bytes)?;
        if let Some(index) = index {
            self.put(&format!("{folder}/{}", index.name), index.content)?;
        }
        Ok(file)
    }

    /// Writes a file.
    ///
    /// # Errors
    /// `Storage` if the file cannot be written.
    pub(crate) fn put(&mut self, location: &str, content: Bytes) -> Result<()> {
        // Recorded before the write, because a failed write may have created the file.
        self.written.push(location.to_string());
        self.files.put(location, content)
    }

    /// Deletes all files. Files that cannot be deleted remain as orphan files.
    pub(crate) fn delete(&mut self) {
        for location in self.written.drain(..) {
            let _ = self.files.delete(&location);
        }
    }
}
