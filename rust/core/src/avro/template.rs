//! Decodes maps from ids to bytes that repeat the layout of the previous map: the same keys in the same order, with
//! values of the same lengths. Column bounds often do. The layout is checked by one independent comparison per entry,
//! whereas a sequential decoder must read each length before it can find the next entry.

use super::wire::Wire;
use crate::error::Result;

/// The number of successive templates without a match after which no more templates are learned.
const MAX_LEARNED_IN_VAIN: u32 = 16;

/// The entry offsets of one block, with their keys and lengths.
#[derive(Debug, Default)]
pub(super) struct Template {
    /// The number of entries; 0 if there is no template.
    entries: u64,
    len: usize,
    /// The offset of each entry, with its key and length, of one byte each.
    heads: Vec<(usize, [u8; 2])>,
    /// The offsets of the requested values, with their positions in the output.
    stops: Vec<(usize, usize)>,
    learned_in_vain: u32,
}

impl Template {
    /// Returns the offsets and output positions of the requested values in a block of `entries` entries at the start of
    /// `wire`.
    #[inline]
    pub(super) fn stops(&self, entries: u64, wire: &Wire<'_>) -> Option<&[(usize, usize)]> {
        if self.entries != entries {
            return None;
        }
        let bytes = wire.ahead(self.len)?;
        // By induction, all offsets are correct: an entry with the offset and length of the template ends where the
        // next one begins.
        let mut fits = true;
        for (offset, head) in &self.heads {
            fits &= bytes.get(*offset..).and_then(|rest| rest.first_chunk()) == Some(head);
        }
        fits.then_some(&self.stops)
    }

    /// Returns the number of bytes of a matching block.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Records that a block matched the template, which resets the count of failed attempts.
    #[inline]
    pub(super) fn fitted(&mut self) {
        self.learned_in_vain = 0;
    }

    /// Learns the layout of a block of `entries` entries at the start of `wire`; `place` returns the output position of
    /// a requested key.
    pub(super) fn learn(
        &mut self,
        entries: u64,
        mut wire: Wire<'_>,
        place: impl Fn(i64) -> Option<usize>,
    ) -> Result<()> {
        if self.learned_in_vain >= MAX_LEARNED_IN_VAIN {
            return Ok(());
        }
        self.learned_in_vain += 1;
        self.entries = 0;
        self.heads.clear();
        self.stops.clear();
        let start = wire.position();
        for _ in 0..entries {
            let offset = wire.position() - start;
            let Some(&[key, length]) = wire.ahead(2).and_then(|head| head.first_chunk()) else { return Ok(()) };
            if key | length >= 0x80 {
                return Ok(());
            }
            self.heads.push((offset, [key, length]));
            let place = place(wire.long()?);
            if let Some(place) = place {
                // Duplicate keys are rejected by the general decoder.
                if self.stops.iter().any(|(_, known)| *known == place) {
                    return Ok(());
                }
                self.stops.push((offset + 1, place));
            }
            wire.sized()?;
        }
        self.len = wire.position() - start;
        self.entries = entries;
        Ok(())
    }
}
