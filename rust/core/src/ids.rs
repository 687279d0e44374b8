//! Random bytes and UUIDs: names that no other writer uses.

use crate::error::{Error, Result};
use crate::hex;

/// Return `N` random bytes of the operating system.
///
/// # Errors
/// `Internal` where the operating system has none.
pub fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)
        .map_err(|e| Error::internal(format!("the operating system gives no random bytes: {e}")))?;
    Ok(bytes)
}

/// Return a UUID of version 4 as text.
///
/// # Errors
/// As [`random`].
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
