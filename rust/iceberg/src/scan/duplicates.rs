//! Rejects duplicate data files, because a file that is listed twice would double its rows.

use std::collections::HashSet;
use std::hash::BuildHasher;

use arrow_array::Array;
use frazil_core::error::{Error, ErrorKind, Result};
use frazil_core::parallel;

use super::plan::PlannedFiles;

/// The number of bits per path. With 16 bits, about one path in 32 shares a bit with another path by chance.
const BITS_PER_PATH: usize = 16;

/// Rejects paths that are planned twice.
///
/// Two equal paths have equal hashes, so both set the same bit. Only the few paths whose bits collide are compared.
///
/// # Errors
/// `CorruptManifest` with the file.
pub(super) fn refuse_duplicates(files: &[PlannedFiles], workers: usize) -> Result<()> {
    let hasher = hashbrown::DefaultHashBuilder::default();
    let hashes = parallel::map(files, workers, |files| {
        let paths = files.entries().paths()?;
        Ok((0..paths.len()).map(|row| hasher.hash_one(paths.value(row))).collect::<Vec<u64>>())
    })?;
    let count: usize = hashes.iter().map(Vec::len).sum();
    let words = (count * BITS_PER_PATH).div_ceil(64).next_power_of_two();
    let mut once = vec![0_u64; words];
    let mut twice = vec![0_u64; words];
    let place = |hash: u64| (usize::try_from(hash >> 6).unwrap_or(usize::MAX) & (words - 1), 1_u64 << (hash & 63));
    let mut any = false;
    for &hash in hashes.iter().flatten() {
        let (word, bit) = place(hash);
        if let (Some(once), Some(twice)) = (once.get_mut(word), twice.get_mut(word)) {
            any |= *once & bit != 0;
            *twice |= *once & bit;
            *once |= bit;
        }
    }
    drop(once);
    if !any {
        return Ok(());
    }
    let is_twice = |hash: u64| {
        let (word, bit) = place(hash);
        twice.get(word).is_some_and(|word| word & bit != 0)
    };
    let mut seen = HashSet::new();
    for (files, hashes) in files.iter().zip(&hashes) {
        let paths = files.entries().paths()?;
        for (row, _) in hashes.iter().enumerate().filter(|(_, hash)| is_twice(**hash)) {
            let path = paths.value(row);
            if !seen.insert(path) {
                return Err(Error::new(ErrorKind::CorruptManifest, "a data file is listed twice").with("file", path));
            }
        }
    }
    Ok(())
}
