//! Tests of the guarantees of locations, relocation, confinement and the storages.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use proptest::prelude::*;
use rstest::rstest;

use super::faulty::{Fault, FaultyStorage};
use super::location::redacted;
use super::*;

/// A new folder, which is removed when dropped.
struct Folder(std::path::PathBuf);

impl Folder {
    fn new() -> Self {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        let name = format!("frazil-storage-{}-{}", std::process::id(), COUNTER.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path.canonicalize().unwrap())
    }

    fn at(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn kind<T: fmt::Debug>(result: Result<T>) -> ErrorKind {
    result.unwrap_err().kind()
}

#[rstest]
#[case("/wh/t", "/wh/t")]
#[case("/wh//t/", "/wh/t")]
#[case("/wh/./a/../t", "/wh/t")]
#[case("file:/wh/t", "/wh/t")]
#[case("file:///wh/t", "/wh/t")]
#[case("FILE:/wh/t", "/wh/t")]
#[case("file://localhost/wh/t", "/wh/t")]
#[case("file:////wh/t", "/wh/t")]
#[case("/", "/")]
#[case("data/t", "data/t")]
#[case("./data/t", "data/t")]
#[case("file://data/persistent/t", "data/persistent/t")]
#[case("file://s3://b/k", "./s3:/b/k")]
#[case("file:le:/x", "./le:/x")]
#[case("/wh/ts=2024-01-01T00:00:00/f", "/wh/ts=2024-01-01T00:00:00/f")]
#[case("a:b/c", "a:b/c")]
#[case("/wh/%2e%2e/t%00", "/wh/%2e%2e/t%00")]
#[case("/wh/...", "/wh/...")]
#[case("C:\\wh\\t", "/C:/wh/t")]
#[case("C:/wh/t", "/C:/wh/t")]
#[case("file:///C:/wh/t", "/C:/wh/t")]
#[case("s3://b/k", "s3://b/k")]
#[case("s3a://b/k", "s3://b/k")]
#[case("S3N://b/k/", "s3://b/k")]
#[case("s3://b", "s3://b/")]
#[case("s3://b/a//k", "s3://b/a//k")]
#[case("s3://b//k", "s3://b//k")]
#[case("s3://b/wh/ü x#y?z", "s3://b/wh/ü x#y?z")]
#[case("gcs://b/k", "gs://b/k")]
#[case("abfss://c@acc.dfs.core.windows.net/k", "abfs://c@acc.dfs.core.windows.net/k")]
#[case("wasbs://c@acc.blob.core.windows.net/k", "abfs://c@acc.dfs.core.windows.net/k")]
#[case("az://c/k", "abfs://c/k")]
#[case("hdfs://NN:8020//wh/t", "hdfs://nn:8020/wh/t")]
#[case("hdfs:/wh/t", "hdfs:///wh/t")]
#[case("hdfs:///wh/t", "hdfs:///wh/t")]
#[case("HTTPS://Host/wh/T", "https://host/wh/T")]
#[case("oss://b/k", "oss://b/k")]
fn every_spelling_has_one_text(#[case] text: &str, #[case] canonical: &str) {
    let location = Location::parse(text).unwrap();
    assert_eq!(location.canonical(), canonical);
    assert_eq!(Location::parse(canonical).unwrap(), location, "the canonical text is its own");
}

#[rstest]
#[case("")]
#[case("/a\0b")]
#[case("/a\nb")]
#[case("/../etc")]
#[case("/a/../../etc")]
#[case("../etc")]
#[case("a/../../etc")]
#[case("file:///../etc")]
#[case("s3://b/../other/k")]
#[case("s3:///k")]
#[case("s3://key:secret@b/k")]
#[case("abfs://c:secret@acc.dfs.core.windows.net/k")]
#[case("https://user:secret@host/k")]
fn locations_that_cannot_be_meant_are_refused(#[case] text: &str) {
    let error = Location::parse(text).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PathNotAllowed);
    assert!(!error.to_string().contains("secret:") && !error.to_string().contains("user:secret"), "{error}");
}

#[test]
fn shown_locations_hold_no_secret_and_are_short() {
    assert_eq!(redacted("s3a://AKIA:abc@b/k"), "s3a://b/k");
    assert_eq!(redacted("https://h/k?X-Amz-Signature=abc"), "https://h/k");
    assert_eq!(redacted("abfs://c@acc.dfs.core.windows.net/k"), "abfs://c@acc.dfs.core.windows.net/k");
    assert_eq!(redacted("/a?b\0"), "/a?b\u{fffd}");
    assert!(redacted(&"x".repeat(1 << 20)).len() < 500);
    let error = Location::parse(&format!("/x/{}\0", "y".repeat(1 << 20))).unwrap_err();
    assert!(error.to_string().len() < 1000);
}

#[rstest]
#[case("/wh/t", "/data/t", "/wh/t/f", "/data/t/f")]
#[case("/wh/t", "/data/t", "file:/wh/t/f", "/data/t/f")]
#[case("file:///wh/t", "/data/t", "/wh/t", "/data/t")]
#[case("/wh/t", "/data/t", "/wh/t2/f", "/wh/t2/f")]
#[case("s3a://b/wh/t", "/data/t", "s3://b/wh/t/f", "/data/t/f")]
#[case("s3://b/wh/t", "/data/t", "s3://c/wh/t/f", "s3://c/wh/t/f")]
#[case("/wh/t", "s3://b/t", "/wh/t/f", "s3://b/t/f")]
#[case("hdfs://nn:1/wh/t", "/data/t", "/wh/t/f", "/data/t/f")]
#[case("hdfs://nn:1/wh/t", "/data/t", "hdfs:/wh/t/f", "/data/t/f")]
#[case("hdfs://nn:1/wh/t", "/data/t", "hdfs://other/wh/t/f", "hdfs://other/wh/t/f")]
#[case("/wh/t", "/data/t", "hdfs://nn:1/wh/t/f", "/data/t/f")]
#[case("data/t", "/data/t", "./data/t/f", "/data/t/f")]
#[case("file://data/t", "/data/t", "data/t/f", "/data/t/f")]
#[case("/", "/data", "/wh/f", "/data/wh/f")]
#[case("/wh/t/", "/data/t/", "/wh/t/f", "/data/t/f")]
#[case("oss://b/wh", "/data", "oss://b/wh/f", "/data/f")]
fn recorded_prefixes_are_mapped_by_segments(
    #[case] recorded: &str,
    #[case] actual: &str,
    #[case] file: &str,
    #[case] expected: &str,
) {
    let mut relocation = Relocation::default();
    relocation.add(recorded, actual).unwrap();
    assert_eq!(relocation.resolve(file).unwrap(), expected);
}

#[test]
fn the_longest_prefix_wins_and_an_exact_one_before_an_alias() {
    let mut relocation = Relocation::default();
    relocation.add("/wh", "/short").unwrap();
    relocation.add("/wh/t/data", "/long").unwrap();
    relocation.add("hdfs://nn/wh", "/hdfs").unwrap();
    assert_eq!(relocation.resolve("/wh/t/data/f").unwrap(), "/long/f");
    assert_eq!(relocation.resolve("/wh/t/f").unwrap(), "/short/t/f");
    assert_eq!(relocation.resolve("hdfs://nn/wh/t/data/f").unwrap(), "/hdfs/t/data/f");
}

fn files(root: &str) -> Files {
    Files::below(Arc::new(MemoryStorage::default()), root).unwrap()
}

#[rstest]
#[case("/wh/t", "/wh/t/data/f")]
#[case("/wh/t", "file:///wh/t/data/f")]
#[case("/wh/t", "/wh/t/data/../f")]
#[case("/wh/t", "/wh/t/%2e%2e/%00")]
#[case("s3://b/wh/t", "s3a://b/elsewhere/f")]
#[case("https://h/t", "https://h/data/f")]
#[case("http://10.0.0.1:9000/t", "http://10.0.0.1:9000/t/f")]
fn a_table_reads_its_own_place(#[case] root: &str, #[case] file: &str) {
    assert_eq!(files(root).resolve(file).unwrap(), Location::parse(file).unwrap().canonical());
}

#[rstest]
#[case("/wh/t", "/etc/hostname")]
#[case("/wh/t", "/wh/t2/f")]
#[case("/wh/t", "/wh/t/../t2/f")]
#[case("/wh/t", "s3://b/f")]
#[case("/wh/t", "http://example.org/f")]
#[case("/wh/t", "hdfs://nn/wh/t/f")]
#[case("/wh/t", "foo://wh/t/f")]
#[case("/wh/t", "foo:/wh/t/f")]
#[case("s3://b/t", "/etc/hostname")]
#[case("s3://b/t", "file:/etc/hostname")]
#[case("s3://b/t", "etc/hostname")]
#[case("s3://b/t", "file://s3://b/t")]
#[case("s3://b/t", "http://b/t")]
#[case("s3://b/t", "s3://c/t")]
#[case("s3://b/t", "gs://b/t")]
#[case("http://h/t", "https://h/t")]
#[case("http://169.254.169.254/t", "http://169.254.169.254/t/f")]
#[case("http://2852039166/t", "http://2852039166/t/f")]
#[case("http://0xa9fea9fe/t", "http://0xa9fea9fe/t/f")]
#[case("http://169.254.43518/t", "http://169.254.43518/t/f")]
#[case("http://[fe80::1]/t", "http://[fe80::1]/t/f")]
#[case("http://[::ffff:169.254.169.254]:80/t", "http://[::ffff:169.254.169.254]:80/t/f")]
#[case("http://metadata.google.internal./t", "http://metadata.google.internal./t/f")]
fn a_table_reads_nothing_else(#[case] root: &str, #[case] file: &str) {
    let error = files(root).resolve(file).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PathNotAllowed, "{error}");
    assert!(error.hint_text().is_none_or(|hint| hint.contains("allowed_locations") || hint.contains("relocate")));
}

#[test]
fn allowed_locations_and_mapping_targets_are_places_of_the_table() {
    let mut confinement = Confinement::default();
    confinement.allow("s3://b/t").unwrap();
    confinement.allow("/shared").unwrap();
    let mut relocation = Relocation::default();
    relocation.add("s3://old/t", "gs://new/t").unwrap();
    let files = Files::new(Arc::new(MemoryStorage::default()), relocation, confinement);
    assert!(files.resolve("/shared/f").is_ok());
    assert_eq!(files.resolve("s3://old/t/f").unwrap(), "gs://new/t/f");
    assert_eq!(kind(files.resolve("s3://old/u/f")), ErrorKind::PathNotAllowed);
}

#[rstest]
#[case("/wh/t/f", "file:/wh/t/f", true)]
#[case("/wh/t/f", "hdfs://localhost:20500/wh/t/f", true)]
#[case("hdfs:///wh/t/f", "hdfs://nn/wh/t/f", true)]
#[case("s3://b/f", "s3n://b/f", true)]
#[case("s3://b/f", "s3://c/f", false)]
#[case("/wh/t/f", "/wh/t/g", false)]
#[case("\0", "\0", true)]
fn delete_rows_name_files_in_any_spelling(#[case] a: &str, #[case] b: &str, #[case] same: bool) {
    let mut relocation = Relocation::default();
    relocation.add("/wh/t", "/here/t").unwrap();
    for files in [files("/wh/t"), Files::new(Arc::new(MemoryStorage::default()), relocation, Confinement::default())] {
        assert_eq!(files.same_file_key(a) == files.same_file_key(b), same);
    }
}

#[cfg(unix)]
#[test]
fn links_may_not_lead_out_and_a_linked_root_is_fine() {
    let folder = Folder::new();
    std::fs::create_dir_all(folder.at("real/data")).unwrap();
    std::fs::write(folder.at("outside"), "secret").unwrap();
    std::fs::write(folder.at("real/data/f"), "rows").unwrap();
    let link = |to: &str, at: &str| std::os::unix::fs::symlink(folder.at(to), folder.at(at)).unwrap();
    link("real", "table");
    link("outside", "real/data/out");
    link("real/data/f", "real/data/in");
    link("nowhere", "real/data/dangling");
    link("real/data/loop", "real/data/loop");

    let files = Files::below(Arc::new(LocalStorage), &folder.at("table")).unwrap();
    let read = |name: &str| files.read(&folder.at(&format!("table/data/{name}")), 100);
    assert_eq!(read("f").unwrap(), "rows");
    assert_eq!(read("in").unwrap(), "rows");
    let out = read("out").unwrap_err();
    assert_eq!(out.kind(), ErrorKind::PathNotAllowed);
    assert!(!out.to_string().contains("secret"));
    assert_eq!(kind(read("dangling")), ErrorKind::MissingFile);
    assert_eq!(kind(read("absent")), ErrorKind::MissingFile);
    assert!(read("loop").is_err());
    assert!(files.openable(&folder.at("table/data/f")).is_ok());
}

#[test]
fn errors_name_the_recorded_location() {
    let storage = Arc::new(MemoryStorage::default());
    storage.put("/here/m", Bytes::from_static(b"m")).unwrap();
    let files = Files::below(storage, "/here").unwrap().with_relocation("s3://b/t", "/memory-only").unwrap();
    let results = files.read_all(&["s3://b/other", "gs://b/x"], 10);
    assert_eq!(results.len(), 2);
    for (result, recorded) in results.into_iter().zip(["s3://b/other", "gs://b/x"]) {
        let error = result.unwrap_err();
        assert!(error.context().iter().any(|(key, value)| *key == "file" && value == recorded), "{error}");
    }
}

fn storages() -> Vec<(Arc<dyn Storage>, String, Option<Folder>)> {
    let folder = Folder::new();
    let root = folder.at("root");
    vec![
        (Arc::new(LocalStorage), root, Some(folder)),
        (Arc::new(MemoryStorage::default()), "memory://m/root".to_string(), None),
    ]
}

#[test]
fn every_storage_keeps_the_contract() {
    for (storage, root, _folder) in storages() {
        let at = |name: &str| format!("{root}/{name}");
        assert_eq!(storage.list(&root).unwrap(), vec![]);
        assert_eq!(kind(storage.size(&at("a"))), ErrorKind::MissingFile);
        assert_eq!(kind(storage.read(&at("a"), 10)), ErrorKind::MissingFile);

        storage.put(&at("a"), Bytes::from_static(b"0123456789")).unwrap();
        storage.put(&at("a"), Bytes::from_static(b"9876543210")).unwrap();
        assert_eq!(storage.size(&at("a")).unwrap(), 10);
        assert_eq!(storage.read(&at("a"), 10).unwrap(), "9876543210");
        assert_eq!(kind(storage.read(&at("a"), 9)), ErrorKind::LimitExceeded);
        assert_eq!(storage.read_ranges(&at("a"), &[8..10, 0..2, 3..3]).unwrap(), vec!["10", "98", ""]);
        assert_eq!(kind(storage.read_ranges(&at("a"), &[0..2, 8..11])), ErrorKind::CorruptData);
        #[expect(clippy::reversed_empty_ranges, reason = "a range that lies is the point")]
        let reversed = 5..2;
        assert_eq!(kind(storage.read_ranges(&at("a"), &[reversed])), ErrorKind::CorruptData);

        storage.put_if_absent(&at("b/c"), Bytes::from_static(b"1")).unwrap();
        assert_eq!(kind(storage.put_if_absent(&at("b/c"), Bytes::new())), ErrorKind::AlreadyExists);
        assert_eq!(storage.read(&at("b/c"), 1).unwrap(), "1");

        let names: Vec<_> = storage.list(&root).unwrap().into_iter().map(|m| (m.location, m.size_bytes)).collect();
        assert_eq!(names, vec![(at("a"), 10)], "folders and what lies deeper are not listed");
        let named = |wanted: &str| storage.list_named(&root, &|name| name == wanted).unwrap().len();
        assert_eq!((named("a"), named("b"), named("c")), (1, 0, 0));
        storage.put(&at("b/d/e"), Bytes::new()).unwrap();
        assert_eq!(storage.folders(&root).unwrap(), ["b"]);
        assert_eq!(storage.folders(&at("b")).unwrap(), ["d"]);
        assert_eq!(storage.folders(&at("none")).unwrap(), Vec::<String>::new());
        for folder in [root.clone(), at("b"), at("b/d"), at("none")] {
            let expected =
                Entries { files: storage.list(&folder).unwrap(), folders: storage.folders(&folder).unwrap() };
            assert_eq!(storage.entries(&folder).unwrap(), expected);
        }

        storage.delete(&at("a")).unwrap();
        storage.delete(&at("a")).unwrap();
        assert_eq!(kind(storage.size(&at("a"))), ErrorKind::MissingFile);
    }
}

#[test]
fn of_many_writers_of_one_name_exactly_one_succeeds() {
    for (storage, root, _folder) in storages() {
        let location = format!("{root}/v1.json");
        let winners = std::thread::scope(|scope| {
            let write = |n: u8| storage.put_if_absent(&location, Bytes::from(vec![n; 1000])).is_ok();
            let threads: Vec<_> = (0..8).map(|n| scope.spawn(move || write(n).then_some(n))).collect();
            threads.into_iter().filter_map(|thread| thread.join().unwrap()).collect::<Vec<u8>>()
        });
        assert_eq!(winners.len(), 1);
        assert_eq!(storage.read(&location, 1000).unwrap(), Bytes::from(vec![winners[0]; 1000]));
        assert_eq!(storage.list(&root).unwrap().len(), 1, "no temporary file is left");
    }
}

#[cfg(unix)]
#[test]
fn local_storage_opens_regular_files_only() {
    let folder = Folder::new();
    std::fs::create_dir(folder.at("d")).unwrap();
    assert_eq!(kind(LocalStorage.read(&folder.at("d"), 10)), ErrorKind::MissingFile);
    assert_eq!(kind(LocalStorage.read(&folder.at("d/x/y"), 10)), ErrorKind::MissingFile);
    assert_eq!(kind(LocalStorage.read("/dev/zero", 10)), ErrorKind::MissingFile);
    assert_eq!(kind(LocalStorage.read(&folder.at(&"n".repeat(300)), 10)), ErrorKind::MissingFile);
    assert_eq!(kind(LocalStorage.read("s3://b/k", 10)), ErrorKind::Unsupported);
    std::fs::write(folder.at("file"), "x").unwrap();
    assert_eq!(kind(LocalStorage.read(&folder.at("file/below"), 10)), ErrorKind::MissingFile);
    std::os::unix::fs::symlink(&folder.0, folder.at("loop")).unwrap();
    std::os::unix::fs::symlink(folder.at("nowhere"), folder.at("dangling")).unwrap();
    let names: BTreeSet<_> = LocalStorage.list(&folder.at("")).unwrap().into_iter().map(|m| m.location).collect();
    assert_eq!(names, BTreeSet::from([folder.at("dangling"), folder.at("file")]));
}

#[test]
fn faults_are_injected_at_the_chosen_call() {
    let inner: Arc<dyn Storage> = Arc::new(MemoryStorage::default());
    let faulty = |fault, at| FaultyStorage::new(inner.clone(), fault, at);
    let content = Bytes::from_static(b"abc");

    let lost = faulty(Fault::FailAfterwards(ErrorKind::Unavailable), 0);
    assert_eq!(kind(lost.put_if_absent("/f", content.clone())), ErrorKind::Unavailable);
    assert_eq!(lost.read("/f", 3).unwrap(), "abc");
    assert_eq!(lost.calls(), 2);

    let failing = faulty(Fault::Fail(ErrorKind::Unavailable), 1);
    failing.put("/g", content.clone()).unwrap();
    assert_eq!(kind(failing.delete("/g")), ErrorKind::Unavailable);
    assert!(failing.size("/g").is_ok());

    let short = faulty(Fault::Truncate, 0);
    assert_eq!(short.read_all(&["/f", "/g"], 3).into_iter().map(Result::unwrap).collect::<Vec<_>>(), ["ab", "abc"]);
}

/// Returns paths of unusual segments, with and without schemes.
fn any_location() -> impl Strategy<Value = String> {
    let segment = prop_oneof![
        4 => "[a-c]{1,2}",
        2 => Just("..".to_string()),
        1 => Just(".".to_string()),
        1 => Just(String::new()),
        1 => Just("%2e%2e".to_string()),
        1 => Just("t".to_string()),
        1 => Just("wh".to_string()),
        1 => any::<String>(),
    ];
    let scheme = prop_oneof![
        Just("/"),
        Just("/wh/t/"),
        Just(""),
        Just("file:/"),
        Just("file:///wh/t/"),
        Just("file://"),
        Just("s3://b/"),
        Just("hdfs://nn/wh/"),
        Just("http://h/"),
        Just("C:\\"),
        Just("s3a://b/wh/t/"),
        Just("FILE:/wh/t/../"),
    ];
    (scheme, prop::collection::vec(segment, 0..8))
        .prop_map(|(scheme, segments)| scheme.to_string() + &segments.join("/"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn parsing_never_panics_and_canonical_texts_parse_to_themselves(text in any_location()) {
        if let Ok(location) = Location::parse(&text) {
            let canonical = location.canonical();
            if !canonical.is_empty() {
                prop_assert_eq!(Location::parse(&canonical).unwrap().canonical(), canonical);
            }
        }
        let _ = redacted(&text);
    }

    #[test]
    fn resolved_paths_stay_below_the_table_root(text in any_location()) {
        if let Ok(actual) = files("/wh/t").resolve(&text) {
            // The operating system resolves the text independently of this code.
            let mut depth = Vec::new();
            for part in std::path::Path::new(&actual).components() {
                match part {
                    std::path::Component::ParentDir => { depth.pop(); }
                    std::path::Component::Normal(name) => depth.push(name.to_str().unwrap()),
                    _ => {}
                }
            }
            prop_assert!(depth.starts_with(&["wh", "t"]), "{text:?} resolves to {actual}");
        }
        if let Ok(actual) = files("s3://b/t").resolve(&text) {
            prop_assert!(actual.starts_with("s3://b/"), "{text:?} resolves to {actual}");
        }
    }

    #[test]
    fn relocated_paths_stay_under_their_target(text in any_location()) {
        let mut relocation = Relocation::default();
        relocation.add("/wh", "/new/place").unwrap();
        let parsed = Location::parse(&text);
        if let Some(actual) = parsed.ok().and_then(|location| relocation.relocated(&location)) {
            prop_assert!(actual.strip_prefix(&Location::parse("/new/place").unwrap()).is_some());
        }
    }
}
