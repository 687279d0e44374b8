//! One target for each decoder.

mod iceberg;
mod paimon;
mod paimon_rows;
mod shared;

use frazil_core::context::{Budget, Context};
use frazil_core::error::Error;

const BUDGET_BYTES: u64 = 64 << 20;
const BATCH_ROWS: usize = 1024;

/// Why an input went no further.
pub(crate) enum Refusal {
    /// The decoder refused it, as it should.
    Error,
    /// The decoder accepted it, and what came out contradicts itself.
    BrokenLaw(&'static str),
}

impl From<Error> for Refusal {
    fn from(_: Error) -> Self {
        Self::Error
    }
}

type Outcome = Result<(), Refusal>;

/// A decoder, and where valid inputs for it are found.
pub(crate) struct Target {
    pub(crate) name: &'static str,
    pub(crate) run: fn(&[u8]) -> Outcome,
    /// Files of the golden tables that are seeds.
    pub(crate) golden: Option<Golden>,
    /// Seeds that are easier to read here than in files.
    pub(crate) seeds: &'static [&'static [u8]],
}

/// Files of the golden tables.
#[derive(Clone, Copy)]
pub(crate) struct Golden {
    /// The folder of `tests/golden` that the tables lie in; empty for all.
    pub(crate) folder: &'static str,
    prefix: &'static str,
    suffix: &'static str,
}

impl Golden {
    /// Whether a file of this name is one of them.
    pub(crate) fn contains(&self, name: &str) -> bool {
        name.strip_prefix(self.prefix).is_some_and(|rest| rest.ends_with(self.suffix))
            // The names of lists begin as those of what they list.
            && !(self.prefix == "manifest-" && name.starts_with("manifest-list-"))
    }
}

const fn target(name: &'static str, run: fn(&[u8]) -> Outcome, seeds: &'static [&'static [u8]]) -> Target {
    Target { name, run, golden: None, seeds }
}

impl Target {
    /// With the files of `tests/golden/<folder>` whose names begin and end so.
    const fn with_golden(mut self, folder: &'static str, prefix: &'static str, suffix: &'static str) -> Self {
        self.golden = Some(Golden { folder, prefix, suffix });
        self
    }
}

/// Every target.
pub(crate) fn all() -> impl Iterator<Item = &'static Target> {
    [shared::TARGETS, iceberg::TARGETS, paimon::TARGETS, paimon_rows::TARGETS].into_iter().flatten()
}

fn context() -> Context {
    Context::new(Budget::new(BUDGET_BYTES))
}

fn text(input: &[u8]) -> Result<&str, Refusal> {
    std::str::from_utf8(input).map_err(|_| Refusal::Error)
}

/// The first byte, and the rest.
fn choice(input: &[u8]) -> Result<(usize, &[u8]), Refusal> {
    input.split_first().map(|(&first, rest)| (usize::from(first), rest)).ok_or(Refusal::Error)
}

fn law(holds: bool, law: &'static str) -> Outcome {
    if holds { Ok(()) } else { Err(Refusal::BrokenLaw(law)) }
}

/// CRC-32 as gzip has it, which deletion vectors use.
fn checksum(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg()))
    })
}

/// Puts length and checksum of a framed vector right: they hide everything behind them. Length and checksum are
/// big-endian and count neither themselves nor each other.
fn framed(input: &[u8]) -> Vec<u8> {
    let mut input = input.to_vec();
    let body = input.len() - 4;
    let checksum = checksum(input.get(4..body).unwrap_or(&[])).to_be_bytes();
    input.splice(body.., checksum);
    let length = u32::try_from(body - 4).unwrap_or(0).to_be_bytes();
    input.splice(..4, length);
    input
}
