//! The function `rbm32`: bitmaps of 32-bit numbers, in the portable Roaring format.

use roaring::RoaringBitmap;

use super::union::Sets;

/// Sets of 32-bit numbers.
#[derive(Debug)]
pub(super) struct Bitmaps;

impl Sets for Bitmaps {
    type Set = RoaringBitmap;

    fn read(&self, bytes: &[u8]) -> Result<RoaringBitmap, String> {
        RoaringBitmap::deserialize_from(bytes).map_err(|error| error.to_string())
    }

    fn unite(&self, mut earlier: RoaringBitmap, later: RoaringBitmap) -> Result<RoaringBitmap, String> {
        earlier |= later;
        Ok(earlier)
    }

    fn write(&self, mut set: RoaringBitmap) -> Result<Vec<u8>, String> {
        // As Java does before writing: runs are used where they are shorter.
        set.optimize();
        let mut bytes = Vec::with_capacity(set.serialized_size());
        set.serialize_into(&mut bytes).map_err(|error| error.to_string())?;
        Ok(bytes)
    }
}
