//! Damages bytes like bit rot, truncation and malicious writers.

/// Boundary values at which lengths, counts and offsets fail.
const EDGES: [u64; 14] = [
    0,
    1,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x0100_0000_0000,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    0xffff_ffff_ffff_ffff,
];

/// The maximum length of inputs.
const MAX_INPUT_BYTES: usize = 1 << 20;

/// A deterministic source of damaged copies.
pub(crate) struct Mutator(u64);

impl Mutator {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Returns the next number of xorshift64*. Any generator is sufficient, and this one is the same on all platforms.
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Returns a number below `limit`, or 0 if `limit` is 0.
    fn below(&mut self, limit: usize) -> usize {
        let limit = u64::try_from(limit).unwrap_or(u64::MAX);
        usize::try_from(self.next().checked_rem(limit).unwrap_or(0)).unwrap_or(0)
    }

    fn pick<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        of.get(self.below(of.len()))
    }

    /// Returns one of `seeds` with one to eight damages.
    pub(crate) fn damaged(&mut self, seeds: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = self.pick(seeds).cloned().unwrap_or_default();
        for _ in 0..=self.below(8) {
            self.damage(&mut bytes, seeds);
        }
        bytes.truncate(MAX_INPUT_BYTES);
        bytes
    }

    fn damage(&mut self, bytes: &mut Vec<u8>, seeds: &[Vec<u8>]) {
        let at = self.below(bytes.len());
        let end = (at + 1 + self.below(64)).min(bytes.len());
        let random = self.next().to_le_bytes();
        let edge = self.pick(&EDGES).copied().unwrap_or(0);
        match self.below(10) {
            0 | 1 => {
                let bit = 1 << self.below(8);
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= bit;
                }
            }
            2 => overwrite(bytes, at, random.get(..1).unwrap_or(&[])),
            3 => {
                let width = self.pick(&[1, 2, 4, 8]).copied().unwrap_or(8);
                overwrite(bytes, at, edge.to_le_bytes().get(..width).unwrap_or(&[]));
            }
            4 => overwrite(bytes, at, &varint(edge)),
            5 => bytes.truncate(at),
            6 => {
                bytes.drain(at..end);
            }
            7 => {
                let copied = bytes.get(at..end).unwrap_or(&[]).to_vec();
                let to = self.below(bytes.len() + 1);
                bytes.splice(to..to, copied);
            }
            8 => {
                let length = self.below(random.len());
                bytes.splice(at..at, random.into_iter().take(length));
            }
            _ => {
                let other = self.pick(seeds).cloned().unwrap_or_default();
                let from = self.below(other.len());
                let to = (from + 1 + self.below(64)).min(other.len());
                bytes.splice(at..end, other.get(from..to).unwrap_or(&[]).iter().copied());
            }
        }
    }
}

fn overwrite(bytes: &mut [u8], at: usize, with: &[u8]) {
    for (byte, &new) in bytes.iter_mut().skip(at).zip(with) {
        *byte = new;
    }
}

/// Encodes a number in the variable-length form of Avro and Protocol Buffers.
fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let low = u8::try_from(value & 0x7f).unwrap_or(0);
        value >>= 7;
        if value == 0 {
            bytes.push(low);
            return bytes;
        }
        bytes.push(low | 0x80);
    }
}
