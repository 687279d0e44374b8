//! Processes a deletion vector: the CRC-32 of the blob is checked, and its containers are converted to a mask of the
//! remaining rows.

use frazil_benches::random::Random;

use crate::measure::best;

const ROWS: u64 = 10_000_000;
const DELETED_PERCENT: u64 = 10;
const PASSES: usize = 200;
const CONTAINER_ROWS: usize = 1 << 16;
const CONTAINER_WORDS: usize = CONTAINER_ROWS / 64;
const NO_RUNS: u32 = 12_346; // the cookie of a bitmap without run containers
const MOST_OF_ARRAY: usize = 4096;

/// Measures the conversion from the bytes of a blob to words of bits.
pub(crate) fn mask() {
    let mut random = Random::new(4);
    let deleted: Vec<u64> = (0..ROWS).filter(|_| random.below(100) < DELETED_PERCENT).collect();
    let blob = encode(&deleted);
    let checksum = crc32fast::hash(&blob);
    let kept = vec![0_u64; (ROWS as usize).div_ceil(CONTAINER_ROWS) * CONTAINER_WORDS];
    let pass = |kept: &mut Vec<u64>| {
        assert_eq!(crc32fast::hash(&blob), checksum);
        expand(&blob, kept);
    };
    best("mask", PASSES, kept, pass, |kept| {
        let left: u64 = kept.iter().map(|word| u64::from(word.count_ones())).sum();
        assert_eq!(kept.len() as u64 * 64 - left, deleted.len() as u64);
        deleted.len() as u64
    });
}

/// Encodes positions below 2^32 as a bitmap in the portable Roaring format.
fn encode(positions: &[u64]) -> Vec<u8> {
    let containers: Vec<&[u64]> = positions.chunk_by(|one, next| one >> 16 == next >> 16).collect();
    let mut header = [NO_RUNS.to_le_bytes(), (containers.len() as u32).to_le_bytes()].concat();
    let (mut offsets, mut body) = (Vec::new(), Vec::new());
    for container in &containers {
        header.extend(((container[0] >> 16) as u16).to_le_bytes());
        header.extend(((container.len() - 1) as u16).to_le_bytes());
        offsets.push(body.len() as u32);
        if container.len() > MOST_OF_ARRAY {
            let mut words = [0_u64; CONTAINER_WORDS];
            for position in *container {
                words[(*position as u16 >> 6) as usize] |= 1 << (position & 63);
            }
            body.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        } else {
            body.extend(container.iter().flat_map(|position| (*position as u16).to_le_bytes()));
        }
    }
    let start = (header.len() + 4 * offsets.len()) as u32;
    header.extend(offsets.iter().flat_map(|offset| (start + offset).to_le_bytes()));
    header.extend(body);
    header
}

/// Clears the bits of the positions.
fn expand(bitmap: &[u8], kept: &mut [u64]) {
    let half = |at: usize| u16::from_le_bytes([bitmap[at], bitmap[at + 1]]) as usize;
    let word = |at: usize| half(at) | half(at + 2) << 16;
    let containers = word(4);
    for container in 0..containers {
        let (key, count) = (half(8 + 4 * container), half(10 + 4 * container) + 1);
        let start = word(8 + 4 * containers + 4 * container);
        let words = &mut kept[key * CONTAINER_WORDS..][..CONTAINER_WORDS];
        if count > MOST_OF_ARRAY {
            let bytes = bitmap[start..start + 8 * CONTAINER_WORDS].as_chunks().0;
            for (word, bytes) in words.iter_mut().zip(bytes) {
                *word = !u64::from_le_bytes(*bytes);
            }
        } else {
            words.fill(!0);
            for bytes in bitmap[start..start + 2 * count].as_chunks().0 {
                let position = u16::from_le_bytes(*bytes);
                words[(position >> 6) as usize] &= !(1 << (position & 63));
            }
        }
    }
}
