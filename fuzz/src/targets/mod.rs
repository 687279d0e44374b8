//! Defines one target for each decoder.

mod iceberg;
mod paimon;
mod paimon_rows;
mod shared;

use frazil_core::context::{Budget, Context};
use frazil_core::error::Error;

const BUDGET_BYTES: u64 = 64 << 20;
const BATCH_ROWS: usize = 1024;

/// The reason why an input was not processed further.
pub(crate) enum Refusal {
    /// The decoder rejected it, as it should.
    Error,
    /// The decoder accepted it, but the result is contradictory.
    BrokenLaw(&'static str),
}

impl From<Error> for Refusal {
    fn from(_: Error) -> Self {
        Self::Error
    }
}

type Outcome = Result<(), Refusal>;

/// A decoder, and the sources of valid inputs for it.
pub(crate) struct Target {
    pub(crate) name: &'static str,
    pub(crate) run: fn(&[u8]) -> Outcome,
    /// The files of the golden tables that are seeds.
    pub(crate) golden: Option<Golden>,
    /// Seeds that are more readable here than in files.
    pub(crate) seeds: &'static [&'static [u8]],
}

/// Files of the golden tables.
#[derive(Clone, Copy)]
pub(crate) struct Golden {
    /// The folder in `tests/golden` that contains the tables; empty for all.
    pub(crate) folder: &'static str,
    prefix: &'static str,
    suffix: &'static str,
}

impl Golden {
    /// Returns whether a file with this name is included.
    pub(crate) fn contains(&self, name: &str) -> bool {
        name.strip_prefix(self.prefix).is_some_and(|rest| rest.ends_with(self.suffix))
            // The names of manifest lists begin like those of manifests.
            && !(self.prefix == "manifest-" && name.starts_with("manifest-list-"))
    }
}

const fn target(name: &'static str, run: fn(&[u8]) -> Outcome, seeds: &'static [&'static [u8]]) -> Target {
    Target { name, run, golden: None, seeds }
}

impl Target {
    /// Adds the files in `tests/golden/<folder>` whose names have this prefix and suffix as seeds.
    const fn with_golden(mut self, folder: &'static str, prefix: &'static str, suffix: &'static str) -> Self {
        self.golden = Some(Golden { folder, prefix, suffix });
        self
    }
}

/// Returns all targets.
pub(crate) fn all() -> impl Iterator<Item = &'static Target> {
    [shared::TARGETS, iceberg::TARGETS, paimon::TARGETS, paimon_rows::TARGETS].into_iter().flatten()
}

fn context() -> Context {
    Context::new(Budget::new(BUDGET_BYTES))
}

fn text(input: &[u8]) -> Result<&str, Refusal> {
    std::str::from_utf8(input).map_err(|_| Refusal::Error)
}

/// Splits off the first byte as a number.
fn choice(input: &[u8]) -> Result<(usize, &[u8]), Refusal> {
    input.split_first().map(|(&first, rest)| (usize::from(first), rest)).ok_or(Refusal::Error)
}

fn law(holds: bool, law: &'static str) -> Outcome {
    if holds { Ok(()) } else { Err(Refusal::BrokenLaw(law)) }
}

/// Computes the CRC-32 of gzip, which deletion vectors use.
fn checksum(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg()))
    })
}

/// Corrects length and checksum of a framed vector, which would otherwise hide everything after them. Both are
/// big-endian and include neither themselves nor each other.
fn framed(input: &[u8]) -> Vec<u8> {
    let mut input = input.to_vec();
    let body = input.len() - 4;
    let checksum = checksum(input.get(4..body).unwrap_or(&[])).to_be_bytes();
    input.splice(body.., checksum);
    let length = u32::try_from(body - 4).unwrap_or(0).to_be_bytes();
    input.splice(..4, length);
    input
}
