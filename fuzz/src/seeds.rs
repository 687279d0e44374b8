//! Reads the seeds: files of `fuzz/seeds/<target>`, and files of the golden tables by name.

use std::fs;
use std::path::{Path, PathBuf};

use crate::targets::Target;

/// The maximum length of seeds: in small files, damage more often affects relevant bytes.
const MAX_SEED_BYTES: u64 = 64 << 10;

/// The maximum number of golden seeds of one target; more of them add nothing new.
const MAX_GOLDEN_SEEDS: usize = 60;

/// Returns the seeds of a target in a fixed order.
pub(crate) fn of(target: &Target) -> Vec<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut own = Vec::new();
    collect(&root.join("seeds").join(target.name), &|_| true, &mut own);
    let mut golden = Vec::new();
    if let Some(files) = target.golden {
        collect(&root.join("../tests/golden").join(files.folder), &|name| files.contains(name), &mut golden);
    }
    own.sort();
    golden.sort();
    // Evenly distributed over all tables.
    let step = golden.len().div_ceil(MAX_GOLDEN_SEEDS).max(1);
    let texts = target.seeds.iter().map(|seed| seed.to_vec());
    let files = own.iter().chain(golden.iter().step_by(step)).filter_map(|path| fs::read(path).ok());
    texts.chain(files).collect()
}

fn collect(folder: &Path, wanted: &dyn Fn(&str) -> bool, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, wanted, found);
        } else if path.file_name().and_then(|name| name.to_str()).is_some_and(wanted)
            && entry.metadata().is_ok_and(|meta| meta.len() <= MAX_SEED_BYTES)
        {
            found.push(path);
        }
    }
}
