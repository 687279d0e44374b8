use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Mutex;

use bytes::Bytes;

use super::*;

/// A storage of files with fixed contents that counts its calls.
#[derive(Debug, Default)]
struct Files {
    files: BTreeMap<String, (Vec<u8>, i64)>,
    lists: Mutex<usize>,
}

impl Files {
    fn of(names: &[(&str, &str)]) -> Self {
        let file = |(i, (name, content)): (usize, &(&str, &str))| {
            (format!("/t/{name}"), (content.as_bytes().to_vec(), i64::try_from(i).unwrap()))
        };
        Self { files: names.iter().enumerate().map(file).collect(), ..Self::default() }
    }

    fn found(&self) -> Result<String> {
        locate(self, "/t/").map(|location| location.trim_start_matches("/t/metadata/").to_string())
    }
}

impl Storage for Files {
    fn size(&self, location: &str) -> Result<u64> {
        let file =
            self.files.get(location).ok_or_else(|| Error::new(ErrorKind::MissingFile, "the file does not exist"))?;
        Ok(file.0.len() as u64)
    }

    fn read(&self, location: &str, limit_bytes: u64) -> Result<Bytes> {
        if self.size(location)? > limit_bytes {
            return Err(Error::new(ErrorKind::LimitExceeded, "too long"));
        }
        Ok(Bytes::from(self.files[location].0.clone()))
    }

    fn read_ranges(&self, _: &str, _: &[Range<u64>]) -> Result<Vec<Bytes>> {
        unimplemented!()
    }

    fn folders(&self, _: &str) -> Result<Vec<String>> {
        unimplemented!()
    }

    fn list_named(&self, folder: &str, wanted: &dyn Fn(&str) -> bool) -> Result<Vec<ObjectMeta>> {
        *self.lists.lock().unwrap() += 1;
        let prefix = format!("{folder}/");
        let direct =
            |name: &&String| name.strip_prefix(&prefix).is_some_and(|rest| !rest.contains('/') && wanted(rest));
        Ok(self
            .files
            .keys()
            .filter(direct)
            .map(|name| ObjectMeta {
                location: name.clone(),
                size_bytes: self.files[name].0.len() as u64,
                modified_ms: self.files[name].1,
            })
            .collect())
    }

    fn put(&self, _: &str, _: Bytes) -> Result<()> {
        unimplemented!()
    }

    fn put_if_absent(&self, _: &str, _: Bytes) -> Result<()> {
        unimplemented!()
    }

    fn delete(&self, _: &str) -> Result<()> {
        unimplemented!()
    }
}

/// Returns a table with these metadata files; `version-hint.text=4` sets a file's content, all other files have dummy
/// content.
fn table(names: &[&str]) -> Files {
    let names: Vec<(String, &str)> = names
        .iter()
        .map(|name| {
            let (name, content) = name.split_once('=').unwrap_or((name, "{}"));
            (format!("metadata/{name}"), content)
        })
        .collect();
    Files::of(&names.iter().map(|(name, content)| (name.as_str(), *content)).collect::<Vec<_>>())
}

#[test]
fn the_newest_metadata_file_is_found() {
    let cases: [(&[&str], &str); 23] = [
        (&["v1.metadata.json", "v2.metadata.json", "version-hint.text=2"], "v2.metadata.json"),
        // The hint is stale: versions are followed to the first gap and not beyond.
        (&["v1.metadata.json", "v2.metadata.json", "v3.metadata.json", "version-hint.text=1\n"], "v3.metadata.json"),
        (&["v1.metadata.json", "v2.metadata.json", "v4.metadata.json", "version-hint.text=2"], "v2.metadata.json"),
        (&["v1.metadata.json", "v3.metadata.json", "v4.metadata.json", "version-hint.text=4"], "v4.metadata.json"),
        // Without a valid hint, the highest number is used.
        (&["v1.metadata.json", "v2.metadata.json", "v4.metadata.json"], "v4.metadata.json"),
        (&["v9.metadata.json", "v10.metadata.json"], "v10.metadata.json"),
        (&["v1.metadata.json", "v2.metadata.json", "version-hint.text="], "v2.metadata.json"),
        (&["v1.metadata.json", "v2.metadata.json", "version-hint.text=not a number"], "v2.metadata.json"),
        (&["v1.metadata.json", "v2.metadata.json", "version-hint.text=../../etc/v1"], "v2.metadata.json"),
        (&["v1.metadata.json", "v2.metadata.json", "version-hint.text=9"], "v2.metadata.json"),
        (&["v1.metadata.json", "v2.metadata.json", "version-hint.text=99999999999999999999\n"], "v2.metadata.json"),
        (
            &["v18446744073709551615.metadata.json", "version-hint.text=18446744073709551615"],
            "v18446744073709551615.metadata.json",
        ),
        // Compressed, in both spellings; a table may switch between them.
        (&["v1.gz.metadata.json", "v2.gz.metadata.json"], "v2.gz.metadata.json"),
        (&["v3.metadata.json.gz", "v4.metadata.json.gz", "version-hint.text=3"], "v4.metadata.json.gz"),
        (
            &["v1.metadata.json", "v2.gz.metadata.json", "v3.metadata.json.gz", "version-hint.text=1"],
            "v3.metadata.json.gz",
        ),
        (&["v2.gz.metadata.json", "v2.metadata.json"], "v2.metadata.json"),
        // Hidden files, and files that crashed writers left.
        (&["v1.metadata.json", "v2.metadata.json=", ".v3.metadata.json.crc", ".v4.metadata.json"], "v1.metadata.json"),
        (&["v1.metadata.json", "v2.metadata.json=", "version-hint.text=1"], "v1.metadata.json"),
        // Names that catalogs use.
        (&["00000-b.metadata.json", "00002-c.metadata.json", "00010-a.gz.metadata.json"], "00010-a.gz.metadata.json"),
        (&["00002-b.metadata.json", "00002-a.metadata.json"], "00002-a.metadata.json"),
        // DuckDB writes any text.
        (&["00000-b.metadata.json", "00001-c.metadata.json", "version-hint.text=00000-b"], "00000-b.metadata.json"),
        (&["vfinal.metadata.json", "v3.metadata.json", "version-hint.text=final"], "vfinal.metadata.json"),
        (&["vfinal.metadata.json", "snap-1.avro"], "vfinal.metadata.json"),
    ];
    for (names, expected) in cases {
        assert_eq!(table(names).found().unwrap(), expected, "{names:?}");
    }
}

#[test]
fn a_hint_that_is_right_spares_the_listing() {
    let files = table(&["v1.metadata.json", "v2.metadata.json", "version-hint.text=2"]);
    files.found().unwrap();
    assert_eq!(*files.lists.lock().unwrap(), 0);
}

#[test]
fn a_metadata_file_is_itself() {
    for location in ["s3://b/t/metadata/v1.metadata.json", "/x/v1.metadata.json.gz", "00001-a.gz.metadata.json"] {
        assert_eq!(locate(&Files::default(), location).unwrap(), location);
    }
}

#[test]
fn missing_table_error_lists_what_was_searched_for() {
    let error = table(&["version-hint.text=4", "v1.metadata.json="]).found().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoSuchTable);
    for part in ["`/t`", "v<N>.metadata.json", "references `4`", "except empty files"] {
        assert!(error.to_string().contains(part), "{error}");
    }
    let several = table(&["a.metadata.json", "b.metadata.json"]).found().unwrap_err();
    assert!(several.hint_text().unwrap().contains("metadata file itself"));
    let paimon = Files::of(&[("schema/schema-0", "{}"), ("snapshot/LATEST", "1")]).found().unwrap_err();
    assert_eq!(paimon.kind(), ErrorKind::NoSuchTable);
    assert!(paimon.hint_text().unwrap().contains("Paimon"));
}
