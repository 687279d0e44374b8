//! `hll_sketch` and `theta_sketch`: sketches of Apache DataSketches (documentation: "Cardinality Sketches").
//!
//! Two sketches are united at a time and the result is written as the Java library writes it, so that it has the same
//! bytes:
//!
//! ```text
//! theta   u8 longs of preamble | u8 3 | u8 3 | u16 0 | u8 flags | u16 seed hash | [u32 hashes | f32 1.0] | [u64 theta] | hashes
//! ```

use datasketches::hll::{HllSketch, HllType, HllUnion};
use datasketches::theta::{CompactThetaSketch, ThetaUnionBuilder};

use super::union::Sets;

/// HyperLogLog sketches.
#[derive(Debug)]
pub(super) struct HllSketches;

impl Sets for HllSketches {
    type Set = HllSketch;

    fn read(&self, bytes: &[u8]) -> Result<HllSketch, String> {
        HllSketch::deserialize(bytes).map_err(|error| error.to_string())
    }

    fn unite(&self, earlier: HllSketch, later: HllSketch) -> Result<HllSketch, String> {
        // The later sketch is the one that the union starts as, and its size is the limit.
        let mut union = HllUnion::new(later.lg_config_k()).map_err(|error| error.to_string())?;
        union.update(&later);
        union.update(&earlier);
        // What is not written is not known to the next union either.
        self.read(&union.to_sketch(HllType::Hll4).serialize())
    }

    fn write(&self, set: HllSketch) -> Result<Vec<u8>, String> {
        Ok(set.serialize())
    }
}

/// Theta sketches.
#[derive(Debug)]
pub(super) struct ThetaSketches;

/// Where the flags are.
const FLAGS: usize = 5;
/// The flag of a sketch of one hash and no preamble beyond the first long.
const SINGLE: u8 = 1 << 5;
/// The flag of a sketch of nothing.
const EMPTY: u8 = 1 << 2;
/// Where the sampling probability is, which is always 1.
const PROBABILITY: std::ops::Range<usize> = 12..16;

impl Sets for ThetaSketches {
    type Set = CompactThetaSketch;

    fn read(&self, bytes: &[u8]) -> Result<CompactThetaSketch, String> {
        CompactThetaSketch::deserialize(bytes).map_err(|error| error.to_string())
    }

    fn unite(&self, earlier: CompactThetaSketch, later: CompactThetaSketch) -> Result<CompactThetaSketch, String> {
        let mut union = ThetaUnionBuilder::default().build().map_err(|error| error.to_string())?;
        union.update(&earlier).map_err(|error| error.to_string())?;
        union.update(&later).map_err(|error| error.to_string())?;
        Ok(union.to_sketch(true))
    }

    fn write(&self, set: CompactThetaSketch) -> Result<Vec<u8>, String> {
        let mut bytes = set.serialize();
        let longs = bytes.first().copied();
        if longs == Some(1) {
            if let Some(flags) = bytes.get_mut(FLAGS).filter(|flags| **flags & EMPTY == 0) {
                *flags |= SINGLE;
            }
        } else if let Some(probability) = bytes.get_mut(PROBABILITY) {
            probability.copy_from_slice(&1f32.to_le_bytes());
        }
        Ok(bytes)
    }
}
