//! A pool of released column memory for reuse by later columns.
//!
//! Batches have similar sizes. If each batch is freed before the next one is allocated, the allocator returns its pages
//! to the operating system and then requests new ones. The system has to clear them, which costs as much as filling
//! them.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use arrow_buffer::{ArrowNativeType, Buffer};

/// The maximum size of pooled memory, including buffers that are still in use.
const LIMIT_BYTES: usize = 64 << 20;

/// The minimum size of a pooled buffer; smaller ones are left to the allocator.
const LEAST_BYTES: usize = 64 << 10;

/// A pool of lent buffers. A buffer can be reused when the pool holds the only reference to it. Shared by the tasks of
/// a scan.
#[derive(Debug, Default)]
pub struct Spare(Mutex<VecDeque<Lent>>);

#[derive(Debug)]
struct Lent {
    buffer: Buffer,
    align: usize,
}

impl Spare {
    /// Returns an empty vector with capacity for `capacity` values.
    pub(super) fn vec<T: ArrowNativeType>(&self, capacity: usize) -> Vec<T> {
        let mut capacity = capacity;
        if capacity >= LEAST_BYTES / size_of::<T>() {
            // Rounded up, so that the memory can be reused for a batch that keeps a few more rows.
            capacity = capacity.next_multiple_of(LEAST_BYTES / size_of::<T>());
        }
        let found = self.take(capacity.saturating_mul(size_of::<T>()), align_of::<T>());
        let mut vec = found.and_then(|buffer| buffer.into_vec::<T>().ok()).unwrap_or_default();
        vec.clear();
        vec.reserve_exact(capacity);
        vec
    }

    /// Returns the values as a buffer, whose memory is reused after it is released.
    pub(super) fn lend<T: ArrowNativeType>(&self, values: Vec<T>) -> Buffer {
        let buffer = Buffer::from_vec(values);
        if (LEAST_BYTES..=LIMIT_BYTES).contains(&buffer.capacity()) {
            let mut lent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            lent.push_back(Lent { buffer: buffer.clone(), align: align_of::<T>() });
            let mut held: usize = lent.iter().map(|lent| lent.buffer.capacity()).sum();
            while held > LIMIT_BYTES {
                let Some(oldest) = lent.pop_front() else { break };
                held -= oldest.buffer.capacity();
            }
        }
        buffer
    }

    /// Removes and returns a released buffer that fits.
    fn take(&self, bytes: usize, align: usize) -> Option<Buffer> {
        let mut lent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |lent: &Lent| {
            let capacity = lent.buffer.capacity();
            lent.align == align
                && (bytes..=bytes.saturating_mul(2)).contains(&capacity)
                && lent.buffer.strong_count() == 1
        };
        let at = lent.iter().position(fits)?;
        lent.remove(at).map(|lent| lent.buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lent(spare: &Spare) -> usize {
        spare.0.lock().unwrap().len()
    }

    #[test]
    fn memory_is_used_again_only_when_nobody_holds_it() {
        let spare = Spare::default();
        let mut values = spare.vec::<u64>(100_000);
        values.push(7);
        let place = values.as_ptr() as usize;
        let buffer = spare.lend(values);
        let other = spare.vec::<u64>(100_000);
        assert_ne!(other.as_ptr() as usize, place);
        assert_eq!(buffer.typed_data::<u64>(), [7]);
        drop(buffer);
        assert!(spare.vec::<u8>(800_000).capacity() < 900_000, "of another alignment");
        assert_eq!(spare.vec::<u64>(1000).capacity(), 1000, "much larger than needed");
        assert_eq!(lent(&spare), 1);
        let again = spare.vec::<u64>(90_000);
        assert_eq!((again.as_ptr() as usize, again.len(), lent(&spare)), (place, 0, 0));
    }

    #[test]
    fn only_a_few_large_buffers_are_kept() {
        let spare = Spare::default();
        spare.lend(vec![0_u8; 10]);
        assert_eq!(lent(&spare), 0);
        for _ in 0..10 {
            spare.lend(vec![0_u8; LIMIT_BYTES / 4]);
        }
        assert_eq!(lent(&spare), 4);
    }
}
