//! Holds rows that are decided but not yet copied.

use super::held::Pick;

/// A part of the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PendingPart {
    /// The next single rows, by count.
    Rows(u32),
    /// Consecutive rows of a batch.
    Range { batch: u32, start: u32, len: u32 },
}

/// The rows of the next output batch, in key order.
#[derive(Debug, Default)]
pub(super) struct Pending {
    rows: Vec<Pick>,
    parts: Vec<PendingPart>,
    in_parts: usize,
    ranged: usize,
    /// Keys whose columns are decided one by one. [`Pick::merged`] represents them among the rows.
    pub(super) keys: MergedKeys,
}

/// Keys with several records, concatenated.
#[derive(Debug, Default)]
pub(super) struct MergedKeys {
    records: Vec<Pick>,
    pub(super) keys: Vec<MergedKey>,
}

/// A key with several records.
#[derive(Debug, Clone, Copy)]
pub(super) struct MergedKey {
    start: u32,
    end: u32,
    /// The record that replaces the row, onto which the [`MergedKeys::records`] are merged.
    pub(super) base: Option<Pick>,
    /// The last record, which provides the sequence number.
    pub(super) last: Pick,
    /// The row kind of the result.
    pub(super) kind: i8,
}

impl MergedKeys {
    /// Returns the records of a key, earliest first.
    pub(super) fn records(&self, key: &MergedKey) -> &[Pick] {
        self.records.get(key.start as usize..key.end as usize).unwrap_or_default()
    }

    /// Returns the records of a key after its base, earliest first.
    pub(super) fn after_base(&self, key: &MergedKey) -> &[Pick] {
        let records = self.records(key);
        let base = key.base.and_then(|base| records.iter().rposition(|record| *record == base));
        records.get(base.map_or(0, |at| at + 1)..).unwrap_or_default()
    }
}

impl Pending {
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.rows.len() + self.ranged
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[inline]
    pub(super) fn push(&mut self, pick: Pick) {
        self.rows.push(pick);
    }

    pub(super) fn push_range(&mut self, batch: u32, start: u32, len: u32) {
        self.end_part();
        self.parts.push(PendingPart::Range { batch, start, len });
        self.ranged += len as usize;
    }

    /// Removes the last row of the most recently pushed range.
    pub(super) fn shorten(&mut self) {
        if let Some(PendingPart::Range { len, .. }) = self.parts.last_mut() {
            *len -= 1;
            self.ranged -= 1;
        }
    }

    /// Adds a key whose columns are merged from these records.
    pub(super) fn push_merged(&mut self, records: &[Pick], base: Option<Pick>, last: Pick, kind: i8) {
        let keys = &mut self.keys;
        self.rows.push(Pick::merged(narrow(keys.keys.len())));
        let start = narrow(keys.records.len());
        keys.records.extend_from_slice(records);
        keys.keys.push(MergedKey { start, end: narrow(keys.records.len()), base, last, kind });
    }

    pub(super) fn rows(&self) -> &[Pick] {
        &self.rows
    }

    /// Marks the end of the rows.
    pub(super) fn end(&mut self) {
        self.end_part();
    }

    /// Returns all parts, after [`Pending::end`].
    pub(super) fn parts(&self) -> &[PendingPart] {
        &self.parts
    }

    pub(super) fn clear(&mut self) {
        self.rows.clear();
        self.parts.clear();
        (self.in_parts, self.ranged) = (0, 0);
        self.keys.records.clear();
        self.keys.keys.clear();
    }

    fn end_part(&mut self) {
        let open = self.rows.len() - self.in_parts;
        if open > 0 {
            self.parts.push(PendingPart::Rows(narrow(open)));
            self.in_parts = self.rows.len();
        }
    }
}

/// Narrows a count; output batches are far smaller than 2^32 rows.
fn narrow(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
