//! Index files next to data files. They are written here, whoever writes the data files.

use frazil_core::error::Result;
use frazil_core::storage::Files;

use super::file::FileBuilder;
use crate::spec::entries_builder::NewFile;

/// Writes index files, and knows which.
#[derive(Debug)]
pub(crate) struct SideFiles {
    files: Files,
    written: Vec<String>,
}

impl SideFiles {
    pub(crate) fn new(files: &Files) -> Self {
        Self { files: files.clone(), written: Vec::new() }
    }

    /// Return the data file at `path`, which is complete, and write its index if it is not part of the manifest.
    ///
    /// # Errors
    /// `Storage` if the index cannot be written.
    pub(crate) fn finish(&mut self, file: FileBuilder, path: &str, size_bytes: i64) -> Result<NewFile> {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let (file, index) = file.finish(name, size_bytes)?;
        if let Some(index) = index {
            let location = format!("{folder}/{}", index.name);
            // Before it is written: the write may fail and have an effect.
            self.written.push(location.clone());
            self.files.put(&location, index.content)?;
        }
        Ok(file)
    }

    /// Delete all files. What cannot be deleted stays as an orphan file.
    pub(crate) fn delete(&mut self) {
        for location in self.written.drain(..) {
            let _ = self.files.delete(&location);
        }
    }
}
