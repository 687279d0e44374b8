//! The functions `hll_sketch` and `theta_sketch`: sketches of Apache DataSketches (documentation: "Cardinality
//! Sketches").
//!
//! Sketches are united two at a time, and each result is serialized as the Java library does, so that the bytes are the
//! same. The relevant parts of the layouts (little-endian):
//!
//! ```text
//! hll    u8 words of preamble | u8 1 | u8 7 | u8 lg k | u8 lg slots | u8 flags | u8 count of a list | u8 mode
//!        list  u32 coupons                      set  u32 count | u32 coupons, in the order of their slots
//! theta  u8 longs of preamble | u8 3 | u8 3 | u16 0 | u8 flags | u16 seed hash | [u32 hashes | f32 1.0]
//!        [u64 theta] | u64 hashes
//! ```

use datasketches::hll::{HllSketch, HllType, HllUnion};
use datasketches::theta::{CompactThetaSketch, ThetaUnionBuilder};

use super::union::Sets;

/// HyperLogLog sketches.
#[derive(Debug)]
pub(super) struct HllSketches;

impl Sets for HllSketches {
    /// A serialized sketch. Java serializes the result of each union, and so loses state that only a sketch in memory
    /// has.
    type Set = Vec<u8>;

    fn read(&self, bytes: &[u8]) -> Result<Vec<u8>, String> {
        Ok(bytes.to_vec())
    }

    fn unite(&self, earlier: Vec<u8>, later: Vec<u8>) -> Result<Vec<u8>, String> {
        let (earlier, later) = (read(&earlier)?, read(&later)?);
        // The union starts as the later sketch, whose size is the limit.
        let mut union = HllUnion::new(later.lg_config_k()).map_err(|error| error.to_string())?;
        union.update(&later);
        union.update(&earlier);
        let mut bytes = union.to_sketch(HllType::Hll4).serialize();
        write_exception_slots(&mut bytes);
        Ok(bytes)
    }

    fn write(&self, set: Vec<u8>) -> Result<Vec<u8>, String> {
        Ok(set)
    }
}

fn read(bytes: &[u8]) -> Result<HllSketch, String> {
    let sketch = HllSketch::deserialize(bytes).map_err(|error| error.to_string())?;
    check_coupons(bytes)?;
    check_registers(bytes)?;
    match bytes {
        [SET_WORDS, _, _, _, _, flags, _, mode, ..] if flags & COMPACT != 0 && mode & CURRENT_MODE == SET => {
            refilled(bytes)
        }
        _ => Ok(sketch),
    }
}

/// Rejects coupons without a value, which no hash produces, and a number of coupons other than declared. The library
/// trusts the declared number.
fn check_coupons(image: &[u8]) -> Result<(), String> {
    let [_, _, _, _, lg_slots, flags, count, mode, rest @ ..] = image else { return Ok(()) };
    let mut words = rest.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word));
    let declared = match mode & CURRENT_MODE {
        LIST => u32::from(*count),
        SET => words.next().unwrap_or_default(),
        _ => return Ok(()),
    };
    let slots = if flags & COMPACT == 0 { 1_u32.checked_shl((*lg_slots).into()).unwrap_or(u32::MAX) } else { declared };
    let coupons = words.take(usize::try_from(slots).unwrap_or(usize::MAX)).filter(|coupon| *coupon != 0);
    let (mut found, mut valueless) = (0, 0);
    for coupon in coupons {
        found += 1;
        valueless += u32::from(coupon >> COUPON_SLOT_BITS == 0);
    }
    if found == declared && valueless == 0 {
        return Ok(());
    }
    Err(format!("{declared} coupons declared, {found} found, {valueless} of them have no value"))
}

/// Rejects registers of more than 6 bits. The library assumes that there are none.
fn check_registers(image: &[u8]) -> Result<(), String> {
    let [_, _, _, lg_k, _, _, least, mode, ..] = image else { return Ok(()) };
    if *mode & CURRENT_MODE != REGISTERS {
        return Ok(());
    }
    let registers = image.get(EXCEPTIONS.end..).unwrap_or_default();
    let most = match mode >> 2 & 3 {
        // Two registers per byte, relative to the minimum of all; 15 marks an exception.
        NARROW => {
            let pairs = registers.iter().take(1 << lg_k.saturating_sub(1).min(20));
            let most = pairs.flat_map(|pair| [pair & 15, pair >> 4]).filter(|register| *register < 15).max();
            most.unwrap_or_default().saturating_add(*least)
        }
        WIDE => registers.iter().copied().max().unwrap_or_default(),
        _ => 0,
    };
    if most > MAX_REGISTER {
        Err(format!("a register has the value {most}, above the maximum {MAX_REGISTER}"))
    } else {
        Ok(())
    }
}

/// Writes the log2 of the number of slots that Java allocates for registers of more than 4 bits.
fn write_exception_slots(image: &mut [u8]) {
    let count = image.get(EXCEPTIONS).and_then(|count| count.first_chunk().copied()).map_or(0, u32::from_le_bytes);
    if let [_, _, _, lg_k, lg_slots, _, _, mode, ..] = image
        && *mode & CURRENT_MODE == REGISTERS
        && count > 0
    {
        let first = EXCEPTION_LG_SLOTS.get(usize::from(*lg_k)).copied().unwrap_or_default();
        // At most three quarters of the slots are used.
        *lg_slots = (first..32).find(|lg| 4 * u64::from(count) <= 3 << lg).unwrap_or(first);
    }
}

/// The log2 of the initial number of slots for registers of more than 4 bits, by lg k.
const EXCEPTION_LG_SLOTS: [u8; 22] = [0, 2, 2, 2, 2, 2, 2, 3, 3, 3, 4, 4, 5, 5, 6, 7, 8, 9, 10, 11, 12, 13];
/// The position of the number of registers of more than 4 bits.
const EXCEPTIONS: std::ops::Range<usize> = 36..40;
/// The type of 4-bit registers.
const NARROW: u8 = 0;
/// The type of 8-bit registers.
const WIDE: u8 = 2;
/// The maximum value of 6 bits.
const MAX_REGISTER: u8 = 63;
/// The mode of sketches with registers.
const REGISTERS: u8 = 2;
/// The number of words in the preamble of a list.
const LIST_WORDS: u8 = 2;
/// The number of words in the preamble of a set.
const SET_WORDS: u8 = 3;
/// The flag of an image without unused slots.
const COMPACT: u8 = 1 << 3;
/// The bits of the mode that distinguish lists, sets and registers. The other bits hold the type of the registers.
const CURRENT_MODE: u8 = 3;
/// The mode of a list.
const LIST: u8 = 0;
/// The position of the value in a coupon, after the slot.
const COUPON_SLOT_BITS: u32 = 26;
/// The mode of a set.
const SET: u8 = 1;
/// The log2 of the number of slots of a list.
const LIST_LG_SLOTS: u8 = 3;
/// The maximum number of coupons in a list; with one more it becomes a set.
const LIST_COUPONS: usize = 7;

/// Returns the sketch of a compact set, filled as in Java: coupon by coupon, growing from the smallest set. Colliding
/// coupons are then in different slots than in a set that had its final size from the start.
fn refilled(bytes: &[u8]) -> Result<HllSketch, String> {
    let [_, version, family, lg_k, _, _, _, mode, a, b, c, d, coupons @ ..] = bytes else {
        return Err("a set has no preamble".to_string());
    };
    let declared = usize::try_from(u32::from_le_bytes([*a, *b, *c, *d])).unwrap_or(usize::MAX);
    // Bytes after the coupons are ignored.
    let coupons = declared.checked_mul(4).and_then(|length| coupons.get(..length));
    let coupons = coupons.ok_or("a set has fewer coupons than declared")?;
    let mut union = HllUnion::new(*lg_k).map_err(|error| error.to_string())?;
    for coupons in coupons.chunks(4 * LIST_COUPONS) {
        let count = u8::try_from(coupons.len() / 4).unwrap_or_default();
        let mut list = vec![LIST_WORDS, *version, *family, *lg_k, LIST_LG_SLOTS, COMPACT, count, mode & !CURRENT_MODE];
        list.extend_from_slice(coupons);
        union.update(&HllSketch::deserialize(&list).map_err(|error| error.to_string())?);
    }
    Ok(union.to_sketch(HllType::Hll8))
}

/// Theta sketches.
#[derive(Debug)]
pub(super) struct ThetaSketches;

/// The position of the flags.
const FLAGS: usize = 5;
/// The flag of a sketch with a single hash and a preamble of one long.
const SINGLE: u8 = 1 << 5;
/// The flag of an empty sketch.
const EMPTY: u8 = 1 << 2;
/// The position of the sampling probability, which is always 1.
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
