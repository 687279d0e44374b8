//! Tests with in-memory stores and a small HTTP and S3 server.

use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use frazil_core::error::{ErrorKind, Result};
use frazil_core::storage::{Entries, Storage};
use object_store::memory::InMemory;

use super::*;

fn kind<T: std::fmt::Debug>(result: Result<T>) -> ErrorKind {
    result.unwrap_err().kind()
}

fn properties(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(k, v)| ((*k).to_string(), (*v).to_string())).collect()
}

/// A server of one bucket: GET with ranges, HEAD, PUT with `If-None-Match`, DELETE, and configurable statuses by path.
struct Server {
    address: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let log = requests.clone();
        std::thread::spawn(move || {
            let files = Arc::new(Mutex::new(HashMap::new()));
            for stream in listener.incoming() {
                let (files, log) = (files.clone(), log.clone());
                std::thread::spawn(move || while answer(stream.as_ref().unwrap(), &files, &log).is_some() {});
            }
        });
        Self { address, requests }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

/// Responds to one request; `None` if the connection ends.
fn answer(
    mut stream: &TcpStream,
    files: &Mutex<HashMap<String, Vec<u8>>>,
    requests: &Mutex<Vec<String>>,
) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|&n| n > 0)?;
    let mut words = line.split(' ');
    let (method, path) = (words.next()?.to_string(), words.next()?.to_string());
    let mut headers = HashMap::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim_end().split_once(": ") else { break };
        headers.insert(name.to_ascii_lowercase(), value.to_string());
    }
    let mut body = vec![0; headers.get("content-length").and_then(|v| v.parse().ok()).unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    requests.lock().unwrap().push(format!("{method} {path}"));

    let mut files = files.lock().unwrap();
    let path = path.split('?').next()?.to_string();
    let common = "ETag: \"e\"\r\nLast-Modified: Tue, 01 Jan 2030 00:00:00 GMT\r\n";
    let (status, extra, content) = match method.as_str() {
        _ if path.contains("/status/") => {
            let status = path.rsplit('/').next()?;
            let secret = b"<Error><AWSAccessKeyId>AKIACANARY</AWSAccessKeyId></Error>".to_vec();
            (status.to_string(), "Location: http://169.254.169.254/latest\r\n".to_string(), secret)
        }
        "GET" if path.contains("/unreadable/") => ("403".into(), String::new(), vec![]),
        "PUT" if headers.get("if-none-match").is_some_and(|v| v == "*") && files.contains_key(&path) => {
            ("412".into(), String::new(), vec![])
        }
        "PUT" => (put(&mut files, path, body), common.into(), vec![]),
        "POST" => {
            // An S3 batch deletion.
            let text = String::from_utf8(body).ok()?;
            let key = text.split_once("<Key>")?.1.split_once("</Key>")?.0.to_string();
            files.remove(&format!("{}/{key}", path.trim_end_matches('/')));
            let done = format!("<DeleteResult><Deleted><Key>{key}</Key></Deleted></DeleteResult>");
            ("200".into(), String::new(), done.into_bytes())
        }
        "DELETE" => {
            files.remove(&path);
            ("204".into(), String::new(), vec![])
        }
        _ => match (files.get(&path), headers.get("range")) {
            (None, _) => ("404".into(), String::new(), vec![]),
            (Some(all), Some(range)) => {
                let (start, end) = range.strip_prefix("bytes=")?.split_once('-')?;
                let start: usize = start.parse().ok()?;
                let end = all.len().checked_sub(1)?.min(end.parse().ok()?);
                let extra = format!("{common}Content-Range: bytes {start}-{end}/{}\r\n", all.len());
                ("206".into(), extra, all.get(start..=end)?.to_vec())
            }
            (Some(all), None) => ("200".into(), common.into(), all.clone()),
        },
    };
    let head = format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\n{extra}\r\n", content.len());
    stream.write_all(head.as_bytes()).ok()?;
    if method != "HEAD" {
        stream.write_all(&content).ok()?;
    }
    Some(())
}

/// Stores a file and returns the status of the response.
fn put(files: &mut HashMap<String, Vec<u8>>, path: String, body: Vec<u8>) -> String {
    let status = if path.contains("/busy/") { "503" } else { "200" };
    files.insert(path, body);
    status.to_string()
}

fn s3(server: &Server) -> Router {
    let endpoint = format!("http://{}", server.address);
    Router::new(
        properties(&[
            ("s3.endpoint", &endpoint),
            ("s3.access-key-id", "AKIACANARY"),
            ("s3.secret-access-key", "canary-secret"),
            ("client.region", "eu-test-1"),
            ("s3.path-style-access", "true"),
        ]),
        None,
    )
}

/// A local address that neither accepts nor refuses connections: its queue is full.
struct Deaf {
    listener: TcpListener,
    waiting: Vec<TcpStream>,
}

impl Deaf {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let connect = || TcpStream::connect_timeout(&address, std::time::Duration::from_millis(300)).ok();
        let waiting = std::iter::from_fn(connect).take(100_000).collect();
        Self { listener, waiting }
    }
}

#[test]
fn a_store_that_accepts_no_connection_fails_within_seconds() {
    let deaf = Deaf::start();
    assert!(deaf.waiting.len() < 100_000, "connections are accepted");
    // Not a free port, which another process could use before the test does.
    let refused = std::net::SocketAddr::from(([127, 0, 0, 1], 1));
    let addresses = [deaf.listener.local_addr().unwrap(), refused];
    let fails = |address: std::net::SocketAddr, work: fn(&Router) -> Result<()>| {
        let endpoint = format!("http://{address}");
        let store = Router::new(
            properties(&[
                ("s3.endpoint", &endpoint),
                ("s3.access-key-id", "AKIACANARY"),
                ("s3.secret-access-key", "canary-secret"),
                ("client.region", "eu-test-1"),
                ("s3.connect-timeout", "2"),
            ]),
            None,
        );
        let began = std::time::Instant::now();
        let error = work(&store).unwrap_err();
        assert_eq!(
            (error.kind(), error.message()),
            (ErrorKind::Unavailable, &*format!("cannot connect to {endpoint}"))
        );
        assert!(began.elapsed().as_secs() < 8, "{address}: {:?}", began.elapsed());
    };
    std::thread::scope(|scope| {
        for address in addresses {
            scope.spawn(move || fails(address, |store| store.read("s3://b/a", 10).map(drop)));
            scope.spawn(move || fails(address, |store| store.put_if_absent("s3://b/a", Bytes::from_static(b"1"))));
            scope.spawn(move || fails(address, |store| store.list("s3://b/a").map(drop)));
        }
    });
}

fn keeps_the_contract(storage: &dyn Storage, root: &str) {
    let at = |name: &str| format!("{root}/{name}");
    assert_eq!(kind(storage.size(&at("a"))), ErrorKind::MissingFile);
    assert_eq!(kind(storage.read(&at("a"), 10)), ErrorKind::MissingFile);
    storage.put(&at("a"), Bytes::from_static(b"0123456789")).unwrap();
    assert_eq!(storage.size(&at("a")).unwrap(), 10);
    assert_eq!(storage.read(&at("a"), 10).unwrap(), "0123456789");
    assert_eq!(kind(storage.read(&at("a"), 9)), ErrorKind::LimitExceeded);
    assert_eq!(storage.read_ranges(&at("a"), &[8..10, 0..2, 3..3]).unwrap(), vec!["89", "01", ""]);
    assert_eq!(storage.read_ranges(&at("a"), std::slice::from_ref(&(2..4))).unwrap(), vec!["23"]);
    assert_eq!(storage.read_ranges(&at("a"), &[]).unwrap(), Vec::<Bytes>::new());
    assert_eq!(kind(storage.read_ranges(&at("a"), std::slice::from_ref(&(8..11)))), ErrorKind::CorruptData);
    storage.put_if_absent(&at("b/c"), Bytes::from_static(b"1")).unwrap();
    assert_eq!(kind(storage.put_if_absent(&at("b/c"), Bytes::new())), ErrorKind::AlreadyExists);
    let all = storage.read_all(&[&at("b/c"), &at("none"), &at("a")], 10);
    assert_eq!(
        all.iter().map(|r| r.as_deref().ok()).collect::<Vec<_>>(),
        [Some(b"1".as_slice()), None, Some(b"0123456789".as_slice())]
    );
    storage.delete(&at("a")).unwrap();
    storage.delete(&at("a")).unwrap();
    assert_eq!(kind(storage.size(&at("a"))), ErrorKind::MissingFile);
}

#[test]
fn a_store_in_memory_keeps_the_contract() {
    let storage = ObjectStorage::new(Arc::new(InMemory::new()), "s3://b/").unwrap();
    keeps_the_contract(&storage, "s3a://b/wh/t x");
    storage.put("s3://b/wh/t x/ä=1%2F", Bytes::from_static(b"12")).unwrap();
    let listed = storage.list("s3a://b/wh/t x").unwrap();
    let names: Vec<_> = listed.iter().map(|m| (m.location.as_str(), m.size_bytes)).collect();
    assert_eq!(names, [("s3://b/wh/t x/ä=1%2F", 2)]);
    assert_eq!(storage.list("s3://b/none").unwrap(), []);
    assert_eq!(storage.folders("s3a://b/wh").unwrap(), ["t x"]);
    assert_eq!(storage.folders("s3://b/none").unwrap(), Vec::<String>::new());
    for folder in ["s3a://b/wh", "s3://b/wh/t x", "s3://b/none"] {
        let expected = Entries { files: storage.list(folder).unwrap(), folders: storage.folders(folder).unwrap() };
        assert_eq!(storage.entries(folder).unwrap(), expected);
    }
    assert_eq!(kind(storage.read("s3://other/k", 1)), ErrorKind::Internal);
    assert_eq!(kind(storage.read("s3://b/a//k", 1)), ErrorKind::Unsupported);
}

#[test]
fn s3_keeps_the_contract_and_addresses_by_path() {
    let server = Server::start();
    let storage = s3(&server);
    keeps_the_contract(&storage, "s3://bucket/wh/t");
    let requests = server.requests.lock().unwrap();
    assert!(requests.iter().all(|r| r.contains(" /bucket/wh/t/") || r == "POST /bucket?delete"), "{requests:?}");
}

/// The client retries after a 503, and receives the response that the file exists.
#[test]
fn a_file_whose_first_answer_was_lost_is_written() {
    let server = Server::start();
    let storage = s3(&server);
    let location = "s3://bucket/busy/a";
    storage.put_if_absent(location, Bytes::from_static(b"1")).unwrap();
    assert_eq!(storage.read(location, 10).unwrap(), "1");
    let puts = server.requests.lock().unwrap().iter().filter(|request| request.starts_with("PUT")).count();
    assert_eq!(puts, 2);
    for other in ["2", "12", ""] {
        assert_eq!(kind(storage.put_if_absent(location, Bytes::from(other))), ErrorKind::AlreadyExists);
    }
}

/// The file may belong to a first attempt whose response was lost.
#[test]
fn a_file_that_exists_and_is_not_readable_may_be_of_this_writer() {
    let server = Server::start();
    let storage = s3(&server);
    let write = || storage.put_if_absent("s3://bucket/unreadable/a", Bytes::from_static(b"1"));
    write().unwrap();
    assert_eq!(kind(write()), ErrorKind::Storage);
}

#[test]
fn local_and_remote_files_are_read_in_one_batch() {
    let server = Server::start();
    let storage = s3(&server);
    storage.put("s3://bucket/x", Bytes::from_static(b"remote")).unwrap();
    let local = std::env::temp_dir().join(format!("frazil-router-{}", std::process::id()));
    std::fs::write(&local, "local").unwrap();
    let results = storage.read_all(&[local.to_str().unwrap(), "s3n://bucket/x", "hdfs://nn/x", ""], 10);
    std::fs::remove_file(&local).unwrap();
    assert_eq!(results[0].as_ref().unwrap(), "local");
    assert_eq!(results[1].as_ref().unwrap(), "remote");
    assert_eq!(results[2].as_ref().unwrap_err().kind(), ErrorKind::Unsupported);
    assert_eq!(results[3].as_ref().unwrap_err().kind(), ErrorKind::PathNotAllowed);
}

#[test]
fn http_reads_and_does_not_follow_to_other_hosts() {
    let server = Server::start();
    let storage = s3(&server);
    storage.put("s3://bucket/f", Bytes::from_static(b"0123456789")).unwrap();
    let http = open(&server.url("/bucket"), &BTreeMap::new(), None).unwrap();
    assert_eq!(http.read(&server.url("/bucket/f"), 10).unwrap(), "0123456789");
    assert_eq!(http.read_ranges(&server.url("/bucket/f"), std::slice::from_ref(&(3..5))).unwrap(), vec!["34"]);
    assert_eq!(kind(http.read(&server.url("/bucket/none"), 10)), ErrorKind::MissingFile);
    assert_eq!(kind(http.read(&server.url("/f?X-Amz-Signature=canary"), 10)), ErrorKind::Unsupported);
    assert!(http.read(&server.url("/status/302"), 10).is_err());
}

#[test]
fn failures_have_kinds_and_hold_no_secret() {
    let server = Server::start();
    let storage = s3(&server);
    for (status, expected) in [
        (401, ErrorKind::Unauthorized),
        (403, ErrorKind::Forbidden),
        (404, ErrorKind::MissingFile),
        (400, ErrorKind::Storage),
    ] {
        let error = storage.read(&format!("s3://bucket/status/{status}"), 10).unwrap_err();
        assert_eq!(error.kind(), expected, "{error}");
        let everything = format!("{error} {error:?} {storage:?}");
        assert!(!everything.to_lowercase().contains("canary"), "{everything}");
        assert!(error.to_string().contains(&format!("s3://bucket/status/{status}")));
    }
}

#[test]
fn properties_are_understood_or_refused_by_name() {
    let try_open = |location: &str, pairs: &[(&str, &str)]| open(location, &properties(pairs), None);
    for (location, pairs) in [
        (
            "s3://b/t",
            vec![
                ("AWS_REGION", "x"),
                ("aws_access_key_id", "k"),
                ("AWS_SECRET_ACCESS_KEY", "s"),
                ("s3.unheard-of-by-all", "1"),
            ],
        ),
        ("s3a://b/t", vec![("s3.connect-timeout", "2.5"), ("s3.anonymous", "true"), ("s3.region", "x")]),
        ("s3://b/t", vec![("s3.remote-signing-enabled", "false"), ("py-io-impl", "x"), ("warehouse", "y")]),
        ("gs://b/t", vec![("gcs.oauth2.token", "t"), ("gcs.project-id", "p")]),
        ("abfss://c@acc.dfs.core.windows.net/t", vec![("adls.sas-token.acc", "sv=1&sig=2")]),
        ("abfss://c@acc.dfs.core.windows.net/t", vec![("adls.account-key", "a2V5"), ("adls.account-name", "acc")]),
        ("https://example.org/t", vec![]),
        ("/local/t", vec![("s3.role-arn", "only refused for S3")]),
    ] {
        assert!(try_open(location, &pairs).is_ok(), "{location} {pairs:?}: {:?}", try_open(location, &pairs));
    }
    for (location, pair, expected) in [
        ("s3://b/t", ("s3.acess-key-id", "canary"), ErrorKind::InvalidArgument),
        ("s3://b/t", ("s3.anonymous", "canary"), ErrorKind::InvalidArgument),
        ("s3://b/t", ("s3.connect-timeout", "canary"), ErrorKind::InvalidArgument),
        ("s3://b/t", ("s3.access-key-id", "canary"), ErrorKind::InvalidArgument),
        ("s3://b/t", ("s3.role-arn", "canary"), ErrorKind::Unsupported),
        ("s3://b/t", ("s3.remote-signing-enabled", "true"), ErrorKind::Unsupported),
        ("hdfs://nn/t", ("x", "canary"), ErrorKind::Unsupported),
        ("foo://b/t", ("x", "canary"), ErrorKind::Unsupported),
        ("s3://key:canary@b/t", ("x", "y"), ErrorKind::PathNotAllowed),
    ] {
        let error = try_open(location, &[pair]).unwrap_err();
        assert_eq!(error.kind(), expected, "{error}");
        assert!(!format!("{error:?} {error}").contains("canary"), "{error:?}");
    }
    let error = try_open("s3://b/t", &[("s3.acess-key-id", "x")]).unwrap_err();
    assert_eq!(error.hint_text(), Some("did you mean 's3.access-key-id'?"));
}

#[test]
fn stores_may_be_used_inside_another_runtime() {
    let storage = ObjectStorage::new(Arc::new(InMemory::new()), "s3://b/").unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async { storage.put("s3://b/k", Bytes::from_static(b"1")).unwrap() });
    assert_eq!(storage.size("s3://b/k").unwrap(), 1);
}
