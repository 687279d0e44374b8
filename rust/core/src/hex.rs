//! Converts bytes to and from pairs of hexadecimal digits.

use std::fmt::Write;

/// Returns the digits of bytes, in lower case.
pub fn encode(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Returns the text of a UUID: its digits in groups of 8, 4, 4, 4 and 12.
pub fn uuid(bytes: [u8; 16]) -> String {
    let mut text = encode(&bytes);
    for at in [20, 16, 12, 8] {
        text.insert(at, '-');
    }
    text
}

/// Returns the bytes of digits in either case; None for text that is not pairs of hexadecimal digits.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let bytes = pairs.iter().map(|&[high, low]| Some(digit(high)? << 4 | digit(low)?));
    if rest.is_empty() { bytes.collect() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_is_digits_in_five_groups() {
        let text = "f79c3e09-677c-4bbd-a479-3f349cb785e7";
        let bytes = decode(&text.replace('-', "")).unwrap();
        assert_eq!(uuid(bytes.try_into().unwrap()), text);
    }

    #[test]
    fn digits_are_bytes_and_bytes_digits() {
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(decode(&encode(&all)), Some(all));
        assert_eq!(decode("00Ff"), Some(vec![0, 255]));
        assert_eq!(decode(""), Some(Vec::new()));
        for text in ["0", "0g", "+1", "é", "0 "] {
            assert_eq!(decode(text), None, "{text}");
        }
    }
}
