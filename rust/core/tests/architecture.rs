//! Tests the direction of dependencies between the crates, as cargo resolves them.

#![expect(clippy::expect_used, reason = "a test may panic")]

use std::collections::BTreeSet;
use std::process::Command;

/// Returns the crates below `package`, excluding test dependencies.
fn below(package: &str) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--locked", "--edges", "normal", "--prefix", "none", "--format", "{p}"])
        .args(["--package", package, "--manifest-path", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")])
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("names are text");
    text.lines().filter_map(|line| line.split(' ').next()).map(str::to_string).filter(|name| name != package).collect()
}

fn assert_free_of(package: &str, refused: &[&str]) {
    let found: Vec<_> = below(package).into_iter().filter(|name| refused.contains(&name.as_str())).collect();
    assert!(found.is_empty(), "{package} depends on {found:?}");
}

const PYTHON: [&str; 3] = ["pyo3", "pyo3-ffi", "pyo3-arrow"];
const NETWORK: [&str; 5] = ["tokio", "hyper", "reqwest", "object_store", "frazil-storage"];

#[test]
fn core_knows_no_format_no_network_and_no_python() {
    assert_free_of("frazil-core", &[&PYTHON[..], &NETWORK, &["frazil-iceberg", "frazil-paimon", "frazil-py"]].concat());
}

#[test]
fn a_format_knows_no_other_format_no_network_and_no_python() {
    for format in ["frazil-iceberg", "frazil-paimon"] {
        assert_free_of(format, &[&PYTHON[..], &NETWORK].concat());
        let ours: Vec<_> = below(format).into_iter().filter(|name| name.starts_with("frazil-")).collect();
        assert_eq!(ours, ["frazil-core", "frazil-workspace-hack"], "what {format} is built on");
    }
}

#[test]
fn storage_knows_no_format_and_no_python() {
    assert_free_of("frazil-storage", &[&PYTHON[..], &["frazil-iceberg", "frazil-paimon", "frazil-py"]].concat());
}

/// Format-specific terms belong in the crate of the format: a mechanism that needs one is not shared.
#[test]
fn core_speaks_no_words_of_a_format() {
    let mut folders = vec![std::path::PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/src"))];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("the sources are there") {
            let path = entry.expect("the sources are there").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("sources are text");
            let shipped = text.split("#[cfg(test)]").next().unwrap_or("");
            let code = shipped.lines().filter(|line| !line.trim_start().starts_with("//"));
            let spoken: Vec<_> = code
                .filter(|line| ["iceberg", "paimon"].iter().any(|word| line.to_lowercase().contains(word)))
                .collect();
            assert!(spoken.is_empty() || path.ends_with("tests.rs"), "{}: {spoken:?}", path.display());
        }
    }
}
