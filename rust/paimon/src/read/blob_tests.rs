//! Tests blob files written by the reference, generated ones, damaged ones, and ones that do not fit into memory.

use std::sync::Arc;

use arrow_array::Array;
use frazil_core::context::Budget;
use frazil_core::storage::{MemoryStorage, Storage};
use proptest::prelude::*;

use super::*;

const PATH: &str = "memory://t/f.blob";

/// A file written by the reference: "Lily", "Alice".
const TWO: &[u8] = b"\xcf\x11\x4e\x58Lily\x14\0\0\0\0\0\0\0\xc6\xc9\x3a\x45\
    \xcf\x11\x4e\x58Alice\x15\0\0\0\0\0\0\0\x15\xf0\x97\xed\x28\x02\x02\0\0\0\x01";

fn files(content: &[u8]) -> Files {
    let storage = MemoryStorage::default();
    storage.put(PATH, Bytes::copy_from_slice(content)).unwrap();
    Files::below(Arc::new(storage), "memory://t").unwrap()
}

fn batches(content: &[u8], context: &Context) -> Result<Vec<BinaryArray>> {
    let files = files(content);
    let mut file = BlobFile::open(&files, PATH, context)?;
    let mut found = Vec::new();
    while let Some(batch) = file.values(&files, context)? {
        found.push(batch);
    }
    Ok(found)
}

fn values(content: &[u8]) -> Result<Vec<Option<Vec<u8>>>> {
    let batches = batches(content, &Context::default())?;
    Ok(batches.iter().flat_map(|batch| batch.iter().map(|v| v.map(<[u8]>::to_vec)).collect::<Vec<_>>()).collect())
}

fn descriptors(content: &[u8], uri: &str) -> Result<Vec<Option<Vec<u8>>>> {
    let mut file = BlobFile::open(&files(content), PATH, &Context::default())?;
    let mut found = Vec::new();
    while let Some(batch) = file.descriptors(uri)? {
        found.extend(batch.iter().map(|v| v.map(<[u8]>::to_vec)));
    }
    Ok(found)
}

fn varint(number: i64, out: &mut Vec<u8>) {
    let mut left = ((number << 1) ^ (number >> 63)).cast_unsigned();
    while left >= 0x80 {
        out.push(u8::try_from(left & 0x7f).unwrap() | 0x80);
        left >>= 7;
    }
    out.push(u8::try_from(left).unwrap());
}

/// Returns a file with these values. If `numbers` is given, they replace the numbers of the index.
fn written(values: &[Option<Vec<u8>>], numbers: Option<&[i64]>) -> Vec<u8> {
    let mut file = Vec::new();
    let mut lengths = Vec::new();
    for value in values {
        let Some(value) = value else {
            lengths.push(NULL_BYTES);
            continue;
        };
        let length = (value.len() as u64 + FRAME_BYTES).cast_signed();
        let mut framed = MAGIC.to_le_bytes().to_vec();
        framed.extend(value);
        framed.extend(length.to_le_bytes());
        file.extend(&framed);
        file.extend(crc32fast::hash(&framed).to_le_bytes());
        lengths.push(length);
    }
    let mut index = Vec::new();
    let mut last = 0;
    for number in numbers.unwrap_or(&lengths) {
        varint(number - last, &mut index);
        last = *number;
    }
    file.extend(&index);
    file.extend(i32::try_from(index.len()).unwrap().to_le_bytes());
    file.push(VERSION);
    file
}

#[test]
fn a_file_of_the_reference_decodes() {
    assert_eq!(values(TWO).unwrap(), [Some(b"Lily".to_vec()), Some(b"Alice".to_vec())]);
    assert_eq!(written(&[Some(b"Lily".to_vec()), Some(b"Alice".to_vec())], None), TWO);
    assert_eq!(values(&[0, 0, 0, 0, 1]).unwrap(), Vec::<Option<Vec<u8>>>::new());
    assert_eq!(values(&[1, 1, 0, 0, 0, 1]).unwrap(), [None]);
}

#[test]
fn every_corrupted_byte_is_detected() {
    for at in 0..TWO.len() {
        let mut damaged = TWO.to_vec();
        damaged[at] ^= 0x41;
        assert!(values(&damaged).is_err(), "byte {at}");
    }
    for end in 0..TWO.len() {
        assert!(values(&TWO[..end]).is_err(), "cut at {end}");
        assert!(descriptors(&TWO[..end], "u").is_err(), "cut at {end}");
    }
}

#[test]
fn descriptors_lead_to_the_values() {
    let found = descriptors(TWO, "/t/f.blob").unwrap();
    let expected = b"\x02CSEDBOLB\x09\0\0\0/t/f.blob\x04\0\0\0\0\0\0\0\x04\0\0\0\0\0\0\0";
    assert_eq!(found[0].as_deref(), Some(expected.as_slice()));
    for (described, value) in found.iter().zip(values(TWO).unwrap()) {
        let bytes = described.as_ref().unwrap();
        let number = |from_end: usize| {
            let at = bytes.len() - from_end;
            usize::try_from(u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())).unwrap()
        };
        assert_eq!(&TWO[number(16)..number(16) + number(8)], value.unwrap());
    }
}

#[test]
fn invalid_index_lengths_are_rejected_and_minus_one_is_null() {
    let one = [Some(b"x".to_vec())];
    assert_eq!(values(&written(&one, Some(&[-1, 17, -1]))).unwrap(), [None, one[0].clone(), None]);
    assert_eq!(descriptors(&written(&one, Some(&[-1, 17])), "").unwrap()[0], None);
    for (numbers, kind) in [
        (&[-2_i64, 17][..], ErrorKind::Unsupported),
        (&[17, -3], ErrorKind::CorruptData),
        (&[15], ErrorKind::CorruptData),
        (&[0, 17], ErrorKind::CorruptData),
        (&[i64::MAX], ErrorKind::CorruptData),
        (&[i64::MIN], ErrorKind::CorruptData),
        (&[17, 17], ErrorKind::CorruptData),
        (&[], ErrorKind::CorruptData),
    ] {
        let file = written(&one, Some(numbers));
        assert_eq!(values(&file).unwrap_err().kind(), kind, "{numbers:?}");
        assert_eq!(descriptors(&file, "").unwrap_err().kind(), kind, "{numbers:?}");
    }
}

#[test]
fn large_files_are_read_in_batches_within_the_budget() {
    let many: Vec<_> = (0..40_u8).map(|i| (i % 7 != 3).then(|| vec![i; 200_000])).collect();
    let file = written(&many, None);
    let rows = |context: &Context| batches(&file, context).unwrap().iter().map(Array::len).collect::<Vec<_>>();
    assert_eq!(rows(&Context::default()), [40]);
    let poor = Context::new(Budget::new(5 << 20));
    assert!(rows(&poor).len() > 1);
    assert_eq!(poor.budget.used_bytes(), 0);
    let found = batches(&file, &poor).unwrap();
    let found: Vec<_> =
        found.iter().flat_map(|b| b.iter().map(|v| v.map(<[u8]>::to_vec)).collect::<Vec<_>>()).collect();
    assert!(found == many);
    let none = Context::new(Budget::new(100_000));
    assert_eq!(batches(&file, &none).unwrap_err().kind(), ErrorKind::LimitExceeded);
    let long = written(&[Some(vec![1; 3 << 20]), Some(vec![2; 10])], None);
    assert_eq!(batches(&long, &Context::new(Budget::new(5 << 20))).unwrap_err().kind(), ErrorKind::LimitExceeded);
    assert_eq!(batches(&long, &Context::new(Budget::new(9 << 20))).unwrap().len(), 1);
}

proptest! {
    #[test]
    fn written_blobs_round_trip(values_in in prop::collection::vec(prop::option::of(prop::collection::vec(any::<u8>(), 0..40)), 0..60)) {
        prop_assert_eq!(values(&written(&values_in, None)).unwrap(), values_in);
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        let _ = values(&bytes);
        let _ = descriptors(&bytes, "u");
    }
}
