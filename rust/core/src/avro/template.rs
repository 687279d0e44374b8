//! Maps from ids to bytes that look like the one before them: the same keys in the same order, with values of the same
//! lengths, as bounds of columns most often are. Whether that is so is one comparison for each entry, none of which
//! waits for another; to walk the entries is to wait for each length.

use super::wire::Wire;
use crate::error::Result;

/// A writer whose maps fit no template is not asked for ever.
const MAX_LEARNED_IN_VAIN: u32 = 16;

/// Where the entries of one block stood, and what their keys and lengths were.
#[derive(Debug, Default)]
pub(super) struct Template {
    /// How many entries; 0 for no template.
    entries: u64,
    len: usize,
    /// Where each entry begins, and its key and length, of one byte each.
    heads: Vec<(usize, [u8; 2])>,
    /// Where the wanted values begin, and their places.
    stops: Vec<(usize, usize)>,
    learned_in_vain: u32,
}

impl Template {
    /// The wanted values of a block of so many entries at the start of `wire`: where they begin and their places.
    #[inline]
    pub(super) fn stops(&self, entries: u64, wire: &Wire<'_>) -> Option<&[(usize, usize)]> {
        if self.entries != entries {
            return None;
        }
        let bytes = wire.ahead(self.len)?;
        // By induction: an entry that begins where one of the template does, and is as long, ends where that one does.
        let mut fits = true;
        for (offset, head) in &self.heads {
            fits &= bytes.get(*offset..).and_then(|rest| rest.first_chunk()) == Some(head);
        }
        fits.then_some(&self.stops)
    }

    /// How many bytes a block that fits takes.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Takes the next block, which fits, as a success.
    #[inline]
    pub(super) fn fitted(&mut self) {
        self.learned_in_vain = 0;
    }

    /// Learns from a block of so many entries, at the start of `wire`; `place` gives the place of a wanted key.
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
                // A key that is twice in a map is for others to refuse.
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
