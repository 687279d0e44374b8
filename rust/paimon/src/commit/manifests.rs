//! Writes the metadata files of a commit, and deletes them if the commit fails.

use frazil_core::avro::Codec;
use frazil_core::error::{Error, Result};
use frazil_core::ids;

use crate::spec::index_manifest::IndexEntry;
use crate::spec::index_manifest_write;
use crate::spec::json::shown;
use crate::spec::manifest::ManifestEntries;
use crate::spec::manifest_list::ManifestFileMeta;
use crate::spec::manifest_list_write;
use crate::spec::manifest_write::ManifestWriter;
use crate::spec::options::Options;
use crate::spec::types::DataType;
use crate::table::{PartitionBounds, Table};
use crate::write::change::Home;
use crate::write::index_files::IndexFiles;

/// The length at which a new manifest is started (`manifest.target-file-size`).
const TARGET_BYTES: u64 = 8 << 20;

/// The number of entries that are written between checks of the length of a manifest.
const STEP_ENTRIES: usize = 1000;

/// A manifest list that was written.
#[derive(Debug, Clone)]
pub(super) struct WrittenList {
    pub(super) name: String,
    pub(super) size_bytes: i64,
}

/// A manifest that is being written.
#[derive(Debug)]
struct OpenManifest {
    writer: ManifestWriter,
    partitions: PartitionBounds,
}

/// The manifest list of the changes that was written last.
#[derive(Debug)]
struct Delta {
    entries: ManifestEntries,
    list: WrittenList,
    /// The manifest list and its manifests.
    files: Vec<String>,
}

/// Manifests that are written one after another.
#[derive(Debug, Default)]
pub(super) struct Rolling {
    done: Vec<ManifestFileMeta>,
    open: Option<OpenManifest>,
}

impl Rolling {
    /// Returns the names of the completed manifests.
    pub(super) fn written(&self) -> impl Iterator<Item = &str> {
        self.done.iter().map(|manifest| manifest.file_name.as_str())
    }
}

/// The writer of the metadata files of one commit, which records the files that it wrote.
#[derive(Debug)]
pub(super) struct MetadataWriter<'a> {
    table: &'a Table,
    partition_types: Vec<DataType>,
    codec: Codec,
    target_bytes: usize,
    /// A random identifier of the commit, which is part of the names of its files.
    uuid: String,
    manifests: u32,
    lists: u32,
    index_manifests: u32,
    delta: Option<Delta>,
    changelog: Option<WrittenList>,
    /// The list of index files that was written last, and its name.
    indexes: Option<(Vec<IndexEntry>, String)>,
    key_indexes: IndexFiles,
    /// The names of metadata files.
    written: Vec<String>,
    /// The locations of index files.
    written_indexes: Vec<String>,
}

impl<'a> MetadataWriter<'a> {
    pub(super) fn try_new(table: &'a Table, options: &Options) -> Result<Self> {
        let target_bytes = options.size_bytes("manifest.target-file-size")?.unwrap_or(TARGET_BYTES);
        Ok(Self {
            table,
            partition_types: table.partition_types(),
            codec: codec(options)?,
            target_bytes: usize::try_from(target_bytes).unwrap_or(usize::MAX),
            uuid: ids::uuid()?,
            manifests: 0,
            lists: 0,
            index_manifests: 0,
            delta: None,
            changelog: None,
            indexes: None,
            key_indexes: IndexFiles::try_new(table, None)?,
            written_indexes: Vec::new(),
            written: Vec::new(),
        })
    }

    /// Returns the random identifier of the commit.
    pub(super) fn uuid(&self) -> &str {
        &self.uuid
    }

    /// Returns the types of the partition columns.
    pub(super) fn partition_types(&self) -> &[DataType] {
        &self.partition_types
    }

    /// Writes the manifest list of the changes and its manifests. If the entries equal those of the last call, nothing
    /// is written and the earlier list is returned.
    pub(super) fn delta(&mut self, entries: &ManifestEntries) -> Result<WrittenList> {
        if let Some(delta) = self.delta.as_ref().filter(|delta| delta.entries.batch() == entries.batch()) {
            return Ok(delta.list.clone());
        }
        for name in self.delta.take().into_iter().flat_map(|delta| delta.files) {
            self.delete(&name);
        }
        let before = self.written.len();
        let manifests = self.manifests(entries)?;
        let list = self.list(&manifests)?;
        let files = self.written.iter().skip(before).cloned().collect();
        self.delta = Some(Delta { entries: entries.clone(), list: list.clone(), files });
        Ok(list)
    }

    /// Writes the manifest list of changelog files and its manifests, once per commit. Returns None without changelog
    /// files.
    pub(super) fn changelog(&mut self, entries: &ManifestEntries) -> Result<Option<WrittenList>> {
        if self.changelog.is_none() && !entries.is_empty() {
            let manifests = self.manifests(entries)?;
            self.changelog = Some(self.list(&manifests)?);
        }
        Ok(self.changelog.clone())
    }

    /// Writes the list of the index files of a snapshot, and returns its name. If the entries equal those of the last
    /// call, nothing is written.
    pub(super) fn indexes(&mut self, entries: &[IndexEntry]) -> Result<String> {
        if let Some((_, name)) = self.indexes.as_ref().filter(|(written, _)| written == entries) {
            return Ok(name.clone());
        }
        if let Some((_, name)) = self.indexes.take() {
            self.delete(&name);
        }
        let content = index_manifest_write::write(entries, self.codec)?;
        let name = format!("index-manifest-{}-{}", self.uuid, self.index_manifests);
        self.index_manifests = self.index_manifests.saturating_add(1);
        self.put(&name, content)?;
        self.indexes = Some((entries.to_vec(), name.clone()));
        Ok(name)
    }

    /// Returns whether the list of index files that was written last has a file.
    pub(super) fn lists_index(&self, entry: &IndexEntry) -> bool {
        self.indexes.as_ref().is_some_and(|(entries, _)| entries.contains(entry))
    }

    /// Writes an index of the keys of a bucket.
    pub(super) fn key_index(&mut self, home: &Home, hashes: Vec<i32>) -> Result<IndexEntry> {
        let (files, written) = (self.table.files(), &mut self.written_indexes);
        self.key_indexes.of_keys(home, hashes, |location, content| {
            written.push(location.to_string());
            files.put(location, content)
        })
    }

    /// Deletes the indexes of keys of the last attempt.
    pub(super) fn delete_key_indexes(&mut self) {
        for location in self.written_indexes.drain(..) {
            let _ = self.table.files().delete(&location);
        }
    }

    /// Writes a manifest list.
    pub(super) fn list(&mut self, manifests: &[ManifestFileMeta]) -> Result<WrittenList> {
        let content = manifest_list_write::write(manifests, self.codec)?;
        let name = format!("manifest-list-{}-{}", self.uuid, self.lists);
        self.lists = self.lists.saturating_add(1);
        let size_bytes = i64::try_from(content.len()).unwrap_or(i64::MAX);
        self.put(&name, content)?;
        Ok(WrittenList { name, size_bytes })
    }

    /// Writes entries to manifests. Writes no manifest if there are no entries.
    pub(super) fn manifests(&mut self, entries: &ManifestEntries) -> Result<Vec<ManifestFileMeta>> {
        let mut rolling = Rolling::default();
        self.roll(&mut rolling, entries)?;
        self.finish_rolling(rolling)
    }

    /// Writes entries, and starts a new manifest when the current one reaches the target length.
    pub(super) fn roll(&mut self, rolling: &mut Rolling, entries: &ManifestEntries) -> Result<()> {
        for start in (0..entries.len()).step_by(STEP_ENTRIES) {
            let mut manifest = match rolling.open.take() {
                Some(manifest) => manifest,
                None => OpenManifest {
                    writer: ManifestWriter::try_new(self.codec)?,
                    partitions: PartitionBounds::new(&self.partition_types),
                },
            };
            let entries = entries.slice(start..start.saturating_add(STEP_ENTRIES))?;
            manifest.writer.write(&entries)?;
            manifest.partitions.add(entries.partitions())?;
            if manifest.writer.size_bytes() >= self.target_bytes {
                rolling.done.push(self.manifest(manifest)?);
            } else {
                rolling.open = Some(manifest);
            }
        }
        Ok(())
    }

    /// Writes the last manifest, and returns all manifests.
    pub(super) fn finish_rolling(&mut self, mut rolling: Rolling) -> Result<Vec<ManifestFileMeta>> {
        if let Some(manifest) = rolling.open.take() {
            rolling.done.push(self.manifest(manifest)?);
        }
        Ok(rolling.done)
    }

    fn manifest(&mut self, manifest: OpenManifest) -> Result<ManifestFileMeta> {
        let name = format!("manifest-{}-{}", self.uuid, self.manifests);
        let (meta, content) = manifest.writer.finish(name, manifest.partitions.stats()?)?;
        self.manifests = self.manifests.saturating_add(1);
        self.put(&meta.file_name, content)?;
        Ok(meta)
    }

    fn put(&mut self, name: &str, content: bytes::Bytes) -> Result<()> {
        // Recorded before the write, because a failed write may have created the file.
        self.written.push(name.to_string());
        self.table.files().put(&self.table.manifest_location(name), content)
    }

    /// Deletes a file of a failed attempt. If it cannot be deleted, it remains as an orphan file.
    pub(super) fn delete(&mut self, name: &str) {
        self.written.retain(|written| written != name);
        let _ = self.table.files().delete(&self.table.manifest_location(name));
    }

    /// Deletes all files of a commit that failed.
    pub(super) fn delete_all(&mut self) {
        for name in std::mem::take(&mut self.written) {
            self.delete(&name);
        }
        self.delete_key_indexes();
    }
}

/// Returns the codec of metadata files (`manifest.compression`).
///
/// # Errors
/// `InvalidArgument` for an unknown codec; `Unsupported` for a codec that cannot be written.
pub(super) fn codec(options: &Options) -> Result<Codec> {
    let name = options.text("manifest.compression").unwrap_or("zstd").trim().to_ascii_lowercase();
    let codec = match name.as_str() {
        "zstd" => Ok(Codec::Zstandard),
        name => Codec::parse(name.as_bytes()),
    };
    let hint = "supported codecs are zstd, snappy, deflate and null";
    match codec {
        Err(_) => {
            let message =
                format!("the option `manifest.compression` is `{}`, which is not a known codec", shown(&name));
            Err(Error::invalid(message).hint(hint))
        }
        Ok(codec @ (Codec::Null | Codec::Deflate | Codec::Snappy | Codec::Zstandard)) => Ok(codec),
        _ => Err(Error::unsupported(format!(
            "writing manifests with the option `manifest.compression` = `{name}` is not supported"
        ))
        .hint(hint)),
    }
}
