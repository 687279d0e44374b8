//! The positions of one chunk of 65,536, in one of three forms (RoaringFormatSpec, "Container storage"):
//!
//! * array: at most 4,096 values in ascending order;
//! * bits: 1,024 words of 64 bits, with more than 4,096 values;
//! * runs: inclusive ranges in ascending order, at least one value apart.
//!
//! A container that was read keeps its form until values are added, so that it is written back byte for byte like Java
//! does.

use std::borrow::Cow;

/// The maximum length of an array; one more value converts it to bits.
pub(super) const ARRAY_MAX: usize = 4096;
/// The number of words in a container of bits.
pub(super) const WORDS: usize = 1024;
/// The number of positions that one container covers.
pub(super) const SPAN: u64 = 65_536;
const BITS_BYTES: usize = WORDS * 8;

/// A bitmap of 65,536 positions, least significant bit first.
pub(super) type Words = [u64; WORDS];

/// An inclusive range of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BitRun {
    pub(super) first: u16,
    pub(super) last: u16,
}

impl BitRun {
    fn len(self) -> u32 {
        u32::from(self.last - self.first) + 1
    }
}

/// A set of values in `0..65536`. Never empty in a [`super::Positions`].
#[derive(Debug, Clone)]
pub(super) enum Container {
    /// Strictly ascending values, at most [`ARRAY_MAX`].
    Array(Vec<u16>),
    /// More than [`ARRAY_MAX`] values.
    Bits { words: Box<Words>, len: u32 },
    /// Runs in ascending order that do not touch each other.
    Runs { runs: Vec<BitRun>, len: u32 },
}

impl Container {
    /// Creates a container of bits, or of an array if only a few bits are set.
    pub(super) fn from_words(words: Box<Words>) -> Self {
        let len = words.iter().map(|word| word.count_ones()).sum();
        let bits = Self::Bits { words, len };
        if len as usize > ARRAY_MAX { bits } else { Self::Array(bits.values()) }
    }

    /// Creates a container of runs, which must be in ascending order and not touch.
    pub(super) fn from_runs(runs: Vec<BitRun>) -> Self {
        let len = runs.iter().map(|run| run.len()).sum();
        Self::Runs { runs, len }
    }

    pub(super) fn len(&self) -> u32 {
        match self {
            Self::Array(values) => u32::try_from(values.len()).unwrap_or(u32::MAX),
            Self::Bits { len, .. } | Self::Runs { len, .. } => *len,
        }
    }

    pub(super) fn contains(&self, value: u16) -> bool {
        match self {
            Self::Array(values) => values.binary_search(&value).is_ok(),
            Self::Bits { words, .. } => words.get(usize::from(value >> 6)).is_some_and(|w| w >> (value & 63) & 1 == 1),
            Self::Runs { runs, .. } => {
                let after = runs.partition_point(|run| run.last < value);
                runs.get(after).is_some_and(|run| run.first <= value)
            }
        }
    }

    pub(super) fn max(&self) -> Option<u16> {
        match self {
            Self::Array(values) => values.last().copied(),
            Self::Bits { words, .. } => {
                let (at, word) = words.iter().enumerate().rfind(|(_, word)| **word != 0)?;
                u16::try_from(at * 64 + 63 - word.leading_zeros() as usize).ok()
            }
            Self::Runs { runs, .. } => runs.last().map(|run| run.last),
        }
    }

    /// Returns the number of values below `bound`, which may be 65,536.
    pub(super) fn count_below(&self, bound: u32) -> u32 {
        let count = match self {
            Self::Array(values) => values.partition_point(|&value| u32::from(value) < bound),
            Self::Bits { words, .. } => {
                let (whole, rest) = ((bound >> 6) as usize, bound & 63);
                let below: u32 = words.iter().take(whole).map(|word| word.count_ones()).sum();
                let partial = words.get(whole).map_or(0, |word| (word & !(u64::MAX << rest)).count_ones());
                return below + partial;
            }
            Self::Runs { runs, .. } => {
                let clipped = |run: &BitRun| bound.saturating_sub(u32::from(run.first)).min(run.len());
                return runs.iter().map(clipped).sum();
            }
        };
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    /// Returns all values in ascending order.
    pub(super) fn values(&self) -> Vec<u16> {
        let mut values = Vec::with_capacity(self.len() as usize);
        match self {
            Self::Array(array) => values.extend_from_slice(array),
            Self::Bits { words, .. } => {
                for (base, &word) in (0_u16..=u16::MAX).step_by(64).zip(words.iter()) {
                    let mut left = word;
                    while left != 0 {
                        // At most 63, so the sum stays within the word's 64 positions.
                        values.push(base + u16::try_from(left.trailing_zeros()).unwrap_or(0));
                        left &= left - 1;
                    }
                }
            }
            Self::Runs { runs, .. } => values.extend(runs.iter().flat_map(|run| run.first..=run.last)),
        }
        values
    }

    /// Adds values, which must be strictly ascending.
    pub(super) fn insert_sorted(&mut self, added: &[u16]) {
        match self {
            Self::Array(values) if values.len() + added.len() <= ARRAY_MAX => merge_into(values, added),
            Self::Bits { words, len } => *len += set_all(words, added),
            Self::Runs { .. } if added.iter().all(|&value| self.contains(value)) => {}
            Self::Runs { len, .. } if *len as usize + added.len() <= ARRAY_MAX => {
                let mut values = self.values();
                merge_into(&mut values, added);
                *self = Self::Array(values);
            }
            Self::Array(_) | Self::Runs { .. } => {
                let mut words = self.to_words();
                set_all(&mut words, added);
                *self = Self::from_words(words);
            }
        }
    }

    /// Adds all values of `other`.
    pub(super) fn union_with(&mut self, other: &Self) {
        match (&*self, other) {
            (_, Self::Array(values)) => self.insert_sorted(values),
            (Self::Array(values), _) => {
                let mut union = other.clone();
                union.insert_sorted(values);
                *self = union;
            }
            _ => {
                let mut words = self.to_words();
                words.iter_mut().zip(other.to_words().iter()).for_each(|(word, added)| *word |= added);
                *self = Self::from_words(words);
            }
        }
    }

    /// Clears the bits of these values in `window`, which begins at word `first_word` of this container.
    pub(super) fn clear_in(&self, window: &mut [u64], first_word: usize) {
        match self {
            Self::Array(values) => clear_values(values, window, first_word),
            Self::Bits { words, .. } => {
                let words = words.get(first_word..).unwrap_or_default();
                window.iter_mut().zip(words).for_each(|(kept, word)| *kept &= !word);
            }
            Self::Runs { runs, .. } => runs.iter().for_each(|run| clear_run(*run, window, first_word)),
        }
    }

    /// Returns these values in the form that Java chooses in `runOptimize`. The rule depends on the current form: an
    /// array becomes runs only if runs are strictly shorter, and runs stay runs if they are not longer than the
    /// alternative.
    pub(super) fn run_optimised(&self) -> Cow<'_, Self> {
        let runs_bytes = |count: usize| 2 + 4 * count;
        let becomes_runs = match self {
            Self::Array(values) => runs_bytes(self.run_count()) < 2 * values.len(),
            Self::Bits { .. } => runs_bytes(self.run_count()) < BITS_BYTES,
            Self::Runs { runs, len } => {
                let len = *len as usize;
                if runs_bytes(runs.len()) <= BITS_BYTES.min(2 + 2 * len) {
                    return Cow::Borrowed(self);
                }
                return Cow::Owned(if len <= ARRAY_MAX {
                    Self::Array(self.values())
                } else {
                    Self::from_words(self.to_words())
                });
            }
        };
        if becomes_runs { Cow::Owned(Self::from_runs(self.runs())) } else { Cow::Borrowed(self) }
    }

    /// Returns the values as one bit each.
    pub(super) fn to_words(&self) -> Box<Words> {
        let mut words = Box::new([0; WORDS]);
        match self {
            Self::Array(values) => {
                set_all(&mut words, values);
            }
            Self::Bits { words: bits, .. } => words.copy_from_slice(&**bits),
            Self::Runs { .. } => {
                words.fill(u64::MAX);
                self.clear_in(&mut *words, 0);
                words.iter_mut().for_each(|word| *word = !*word);
            }
        }
        words
    }

    fn run_count(&self) -> usize {
        match self {
            Self::Array(values) => values.chunk_by(|a, b| a.checked_add(1) == Some(*b)).count(),
            Self::Bits { words, .. } => {
                let mut before = 0;
                let starts = |word: &u64| {
                    let starts = word & !(word << 1 | before);
                    before = word >> 63;
                    starts.count_ones() as usize
                };
                words.iter().map(starts).sum()
            }
            Self::Runs { runs, .. } => runs.len(),
        }
    }

    fn runs(&self) -> Vec<BitRun> {
        let values = self.values();
        let chunks = values.chunk_by(|a, b| a.checked_add(1) == Some(*b));
        chunks.filter_map(|chunk| Some(BitRun { first: *chunk.first()?, last: *chunk.last()? })).collect()
    }
}

/// Merges strictly ascending values into strictly ascending values.
fn merge_into(values: &mut Vec<u16>, added: &[u16]) {
    if values.last() < added.first() {
        values.extend_from_slice(added);
        return;
    }
    if let &[value] = added {
        if let Err(at) = values.binary_search(&value) {
            values.insert(at, value);
        }
        return;
    }
    let mut merged = Vec::with_capacity(values.len() + added.len());
    let (mut left, mut right) = (values.iter().copied().peekable(), added.iter().copied().peekable());
    while let (Some(&a), Some(&b)) = (left.peek(), right.peek()) {
        merged.push(a.min(b));
        left.next_if(|_| a <= b);
        right.next_if(|_| b <= a);
    }
    merged.extend(left.chain(right));
    *values = merged;
}

/// Sets bits and returns how many were not set before.
fn set_all(words: &mut Words, values: &[u16]) -> u32 {
    let mut added = 0;
    for value in values {
        if let Some(word) = words.get_mut(usize::from(value >> 6)) {
            added += u32::from(*word >> (value & 63) & 1 == 0);
            *word |= 1 << (value & 63);
        }
    }
    added
}

fn clear_values(values: &[u16], window: &mut [u64], first_word: usize) {
    if let Ok(whole) = <&mut Words>::try_from(&mut *window) {
        for value in values {
            if let Some(word) = whole.get_mut(usize::from(value >> 6)) {
                *word &= !(1 << (value & 63));
            }
        }
        return;
    }
    let start = values.partition_point(|value| usize::from(value >> 6) < first_word);
    for value in values.iter().skip(start) {
        let Some(word) = window.get_mut(usize::from(value >> 6) - first_word) else { break };
        *word &= !(1 << (value & 63));
    }
}

fn clear_run(run: BitRun, window: &mut [u64], first_word: usize) {
    let (first, last) = (usize::from(run.first >> 6), usize::from(run.last >> 6));
    let from = first.saturating_sub(first_word);
    let to = (last + 1).saturating_sub(first_word).min(window.len());
    let Some(words) = window.get_mut(from..to) else { return };
    for (at, word) in (from + first_word..).zip(words) {
        let head = if at == first { u64::MAX << (run.first & 63) } else { u64::MAX };
        let tail = if at == last { u64::MAX >> (63 - (run.last & 63)) } else { u64::MAX };
        *word &= !(head & tail);
    }
}
