//! Generates random bytes and UUIDs, for names that no other writer uses.

use crate::error::{Error, Result};
use crate::hex;

/// Returns `N` random bytes from the operating system.
///
/// # Errors
/// `Internal` if the operating system cannot provide them.
pub fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)
        .map_err(|e| Error::internal(format!("the operating system cannot provide random bytes: {e}")))?;
    Ok(bytes)
}

/// Returns the text of a version 4 UUID.
///
/// # Errors
/// See [`random`].
pub fn uuid() -> Result<String> {
    let mut bytes: [u8; 16] = random()?;
    let [.., version, _, variant, _, _, _, _, _, _, _] = &mut bytes;
    *version = *version & 0x0f | 0x40;
    *variant = *variant & 0x3f | 0x80;
    Ok(hex::uuid(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_are_of_version_four() {
        for _ in 0..100 {
            let uuid = uuid().unwrap();
            let parts: Vec<&str> = uuid.split('-').collect();
            assert_eq!(parts.iter().map(|part| part.len()).collect::<Vec<_>>(), [8, 4, 4, 4, 12]);
            assert!(parts[2].starts_with('4') && parts[3].starts_with(['8', '9', 'a', 'b']), "{uuid}");
        }
        assert_ne!(uuid().unwrap(), uuid().unwrap());
    }
}
