use std::collections::BTreeSet;

use arrow_buffer::BooleanBuffer;
use proptest::prelude::*;
use roaring::{RoaringBitmap, RoaringTreemap};

use super::{Positions, kept_of_portable64, portable32_bytes};
use crate::bytes::Cursor;
use crate::error::ErrorKind;

fn hex(text: &str) -> Vec<u8> {
    let digits: String = text.split_whitespace().collect();
    (0..digits.len()).step_by(2).map(|i| u8::from_str_radix(&digits[i..i + 2], 16).unwrap()).collect()
}

fn positions(values: impl IntoIterator<Item = u64>) -> Positions {
    let values: Vec<i64> = values.into_iter().map(u64::cast_signed).collect();
    let mut positions = Positions::new();
    positions.insert_all(&values).unwrap();
    positions
}

fn all(positions: &Positions) -> Vec<u64> {
    positions.iter().collect()
}

/// Returns `count` and the bytes of its bitmaps.
fn map64(bitmaps: &[&str]) -> Vec<u8> {
    let mut bytes = (bitmaps.len() as u64).to_le_bytes().to_vec();
    bytes.extend(bitmaps.iter().flat_map(|bitmap| hex(bitmap)));
    bytes
}

/// The length of test masks, beyond all [`values`] except those of one distant chunk.
const FAR: u64 = 1 << 20;

/// Returns the mask computed from the set; None if a position is not below `rows`.
fn kept_below(set: &Positions, rows: usize) -> Option<BooleanBuffer> {
    set.max().is_none_or(|last| last < rows as u64).then(|| set.kept(0, rows))
}

const FIVE_ODD: &str = "00000000 3a300000 01000000 00000400 10000000 0100030005000700 0900";

#[test]
fn java_bytes_are_read_and_written_alike() {
    let cases: [(&[&str], Vec<u64>); 5] = [
        (&[], vec![]),
        (&[FIVE_ODD], vec![1, 3, 5, 7, 9]),
        // One container of runs: no offsets.
        (&["00000000 3b300000 01 00006300 0100 05006300"], (5..105).collect()),
        // A key is skipped, so it has an empty bitmap.
        (&["00000000 3a300000 00000000", "01000000 3a300000 01000000 00000000 10000000 0700"], vec![7 + (1 << 32)]),
        // Array, array, runs, runs: four containers, so there are offsets again; key 0x0001 is missing.
        (
            &["00000000 3b300300 0c 0000 0000 0200 0100 0300 ffff 0400 0300
               25000000 27000000 2b000000 31000000 0500 01000300 0100 0000 ffff 0100 0000 0300"],
            [5, 0x2_0001, 0x2_0003].into_iter().chain(0x3_0000..0x4_0004).collect(),
        ),
    ];
    for (bitmaps, expected) in cases {
        let bytes = map64(bitmaps);
        let decoded = Positions::decode_portable64(&bytes).unwrap();
        assert_eq!(all(&decoded), expected);
        assert_eq!(decoded.encode_portable64().unwrap(), bytes, "as read");
        assert_eq!(positions(expected).encode_portable64().unwrap(), bytes, "as inserted");
    }
}

#[test]
fn runs_that_are_as_long_as_the_array_keep_their_form() {
    // Java: 3 consecutive values need 6 bytes both as an array and as runs; an array is not converted, and runs are not
    // converted back.
    let array = map64(&["00000000 3a300000 01000000 00000200 10000000 010002000300"]);
    let runs = map64(&["00000000 3b300000 01 00000200 0100 01000200"]);
    for bytes in [array, runs] {
        assert_eq!(Positions::decode_portable64(&bytes).unwrap().encode_portable64().unwrap(), bytes);
    }
    // Runs that are longer than an array become an array.
    let two = map64(&["00000000 3b300000 01 00000100 0200 01000000 03000000"]);
    let array = map64(&["00000000 3a300000 01000000 00000100 10000000 01000300"]);
    assert_eq!(Positions::decode_portable64(&two).unwrap().encode_portable64().unwrap(), array);
}

#[test]
fn a_bitmap_that_breaks_the_format_is_refused() {
    let cases: &[(&str, &str)] = &[
        ("no bytes", ""),
        ("half a count", "00000000"),
        ("2^63 bitmaps (X10)", "0000000000000080"),
        ("2^64 - 1 bitmaps, one there", &format!("ffffffffffffffff {FIVE_ODD}")),
        ("bytes left over", &format!("0100000000000000 {FIVE_ODD} 00")),
        ("fewer bitmaps than there are", &format!("0000000000000000 {FIVE_ODD}")),
        ("key with the sign bit (X13)", "0100000000000000 ffffffff 3a300000 00000000"),
        ("key 2^31 - 1", "0100000000000000 ffffff7f 3a300000 00000000"),
        ("keys that repeat", &format!("0200000000000000 {FIVE_ODD} {FIVE_ODD}")),
        ("keys that descend", "0200000000000000 01000000 3a300000 00000000 00000000 3a300000 00000000"),
        ("cookie (X12)", "0100000000000000 00000000 deadbeef 01000000 00000400 10000000 01000300050007000900"),
        ("no-run cookie with high bits", "0100000000000000 00000000 3a300100 00000000"),
        ("65,536 containers declared (X11)", "0100000000000000 00000000 3a300000 00000100 00000400 10000000"),
        ("2^32 - 1 containers declared", "0100000000000000 00000000 3a300000 ffffffff 00000400 10000000"),
        ("65,536 containers with runs (X11)", "0100000000000000 00000000 3b30ffff 01 00006300 0100 05006300"),
        ("array that repeats", "0100000000000000 00000000 3a300000 01000000 00000100 10000000 01000100"),
        ("array that descends", "0100000000000000 00000000 3a300000 01000000 00000100 10000000 02000100"),
        ("array that is cut", "0100000000000000 00000000 3a300000 01000000 00000200 10000000 01000200"),
        ("wrong offset", "0100000000000000 00000000 3a300000 01000000 00000000 11000000 0100"),
        (
            "container keys that repeat",
            "0100000000000000 00000000 3a300000 02000000 00000000 00000000 18000000 1a000000 0100 0200",
        ),
        ("no runs", "0100000000000000 00000000 3b300000 01 00000000 0000"),
        ("a run over the end", "0100000000000000 00000000 3b300000 01 00000100 0100 ffff0100"),
        ("runs that overlap", "0100000000000000 00000000 3b300000 01 00000500 0200 01000200 03000200"),
        ("runs that descend", "0100000000000000 00000000 3b300000 01 00000100 0200 05000000 03000000"),
        ("runs of another length than declared", "0100000000000000 00000000 3b300000 01 00000300 0100 01000200"),
    ];
    for (what, bytes) in cases {
        let error = Positions::decode_portable64(&hex(bytes)).expect_err(what);
        assert_eq!(error.kind(), ErrorKind::CorruptData, "{what}");
    }
    // Bits whose number differs from the declared one.
    let mut bits = hex("0100000000000000 00000000 3a300000 01000000 00000010 10000000");
    bits.extend([0xff; 512]);
    bits.extend([0; 8192 - 512]);
    assert!(Positions::decode_portable64(&bits).is_err());
}

#[test]
fn touching_runs_are_one() {
    let decoded =
        Positions::decode_portable64(&map64(&["00000000 3b300000 01 00000500 0200 01000200 04000200"])).unwrap();
    assert_eq!(all(&decoded), (1..7).collect::<Vec<_>>());
}

#[test]
fn positions_beyond_the_range_are_refused() {
    let mut set = Positions::new();
    assert_eq!(set.insert_all(&[1, -1]).unwrap_err().kind(), ErrorKind::CorruptData);
    assert_eq!(set.insert(1 << 63).unwrap_err().kind(), ErrorKind::CorruptData);
    assert!(Positions::new().insert((1 << 63) - 1).unwrap());
}

#[test]
fn the_skipped_keys_of_a_far_position_are_not_written() {
    for far in [(1 << 63) - 1, 1 << 62] {
        assert_eq!(positions([far]).encode_portable64().unwrap_err().kind(), ErrorKind::LimitExceeded);
    }
    assert_eq!(positions([5 << 32]).encode_portable64().unwrap().len(), 8 + 5 * 12 + 22);
}

#[test]
fn masks_at_the_ends_of_the_range() {
    let last = i64::MAX.cast_unsigned();
    let set = positions([0, 63, 64, last]);
    assert_eq!(set.kept(0, 0).len(), 0);
    assert_eq!(set.kept(1, 64).iter().map(u8::from).sum::<u8>(), 62);
    assert_eq!(set.kept(last - 1, 3).iter().collect::<Vec<_>>(), [true, false, true]);
    assert_eq!(set.kept(u64::MAX - 1, 2).count_set_bits(), 2);
    assert_eq!(set.count_in(0..u64::MAX), 4);
    assert_eq!(set.count_in(5..5), 0);
    assert_eq!(set.max(), Some(last));
    assert_eq!((Positions::new().max(), Positions::new().len()), (None, 0));
}

/// Returns values that create containers of every form, close to the limits between forms.
fn values() -> impl Strategy<Value = Vec<u64>> {
    let chunk = prop::sample::select(vec![0_u64, 1, 2, 0xffff, 0x1_0000, 0x3_0002]);
    let sparse = prop::collection::vec(0..65_536_u64, 0..20);
    let dense = (0..40_000_u64, 1..4_u64, 0..7_000_u64)
        .prop_map(|(first, step, n)| (0..n).map(|i| first + i * step).filter(|v| *v < 65_536).collect::<Vec<_>>());
    let part = (chunk, prop_oneof![sparse, dense]);
    prop::collection::vec(part, 0..5).prop_map(|parts| {
        parts.into_iter().flat_map(|(chunk, lows)| lows.into_iter().map(move |low| chunk << 16 | low)).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn bitmap_matches_the_set_of_inserted_values(values in values(), more in values(), start in 0..200_000_u64, n in 0..140_000_usize) {
        let mut set = positions(values.iter().copied());
        let union: BTreeSet<u64> = values.iter().chain(&more).copied().collect();
        let mut by_one = set.clone();
        for value in more.iter().take(300) {
            let is_new = !by_one.contains(*value);
            prop_assert_eq!(by_one.insert(*value).unwrap(), is_new);
        }
        set.union_with(&positions(more.iter().copied()));
        prop_assert_eq!(all(&set), union.iter().copied().collect::<Vec<_>>());
        if more.len() <= 300 {
            prop_assert_eq!(&by_one, &set);
        }
        prop_assert_eq!(set.len(), union.len() as u64);
        prop_assert_eq!(set.max(), union.last().copied());
        prop_assert_eq!(set.count_in(start..start + n as u64), union.range(start..start + n as u64).count() as u64);

        let kept = set.kept(start, n);
        let expected: Vec<bool> = (start..start + n as u64).map(|position| !union.contains(&position)).collect();
        prop_assert_eq!(kept.iter().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn bytes_are_those_of_the_roaring_crate(values in values(), as_runs: bool) {
        let mut oracle: RoaringTreemap = values.iter().copied().collect();
        if as_runs {
            let optimised = oracle.bitmaps().map(|(key, bitmap)| {
                let mut bitmap = bitmap.clone();
                bitmap.optimize();
                (key, bitmap)
            });
            oracle = RoaringTreemap::from_bitmaps(optimised.collect::<Vec<_>>());
        }
        let mut bytes = Vec::new();
        oracle.serialize_into(&mut bytes).unwrap();
        let set = Positions::decode_portable64(&bytes).unwrap();
        prop_assert_eq!(all(&set), oracle.iter().collect::<Vec<_>>());

        for rows in set.max().into_iter().flat_map(|last| [last + 1, last + 70, last, last.saturating_sub(66_000), FAR]) {
            if let Some(rows) = usize::try_from(rows).ok().filter(|_| rows <= FAR) {
                prop_assert_eq!(kept_of_portable64(&bytes, rows).ok(), kept_below(&set, rows));
            }
        }

        let ours = set.encode_portable64().unwrap();
        prop_assert_eq!(RoaringTreemap::deserialize_from(&*ours).unwrap(), oracle);
        let decoded = Positions::decode_portable64(&ours).unwrap();
        prop_assert_eq!(decoded.encode_portable64().unwrap(), ours);
        prop_assert_eq!(&decoded, &set);

        // A bitmap that was read and then changed is still correct: runs and bits can be merged with all forms.
        let mut union = decoded.clone();
        union.union_with(&positions([1, 3, 65_535]));
        let mut model: BTreeSet<u64> = values.into_iter().collect();
        model.extend([1, 3, 65_535]);
        prop_assert_eq!(all(&union), model.into_iter().collect::<Vec<_>>());
        union.union_with(&decoded);
        prop_assert_eq!(union.len(), all(&union).len() as u64);
    }

    #[test]
    fn a_bitmap_of_32_bits_is_decoded_and_skipped_alike(values in values(), as_runs: bool, after in 0..9_usize) {
        let mut oracle: RoaringBitmap = values.iter().filter_map(|value| u32::try_from(*value).ok()).collect();
        if as_runs {
            oracle.optimize();
        }
        let mut bytes = Vec::new();
        oracle.serialize_into(&mut bytes).unwrap();
        let set = Positions::decode_portable32(&bytes).unwrap();
        prop_assert_eq!(all(&set), oracle.iter().map(u64::from).collect::<Vec<_>>());

        let end = bytes.len();
        bytes.extend(vec![0xff; after]);
        prop_assert_eq!(Positions::decode_portable32(&bytes).is_ok(), after == 0);
        let mut cursor = Cursor::new(&bytes);
        prop_assert_eq!(Positions::take_portable32(&mut cursor).unwrap(), set);
        prop_assert_eq!(cursor.position(), end);
        let mut cursor = Cursor::new(&bytes);
        prop_assert_eq!(portable32_bytes(&mut cursor).unwrap(), &bytes[..end]);
        prop_assert_eq!(cursor.position(), end);
        prop_assert!(portable32_bytes(&mut Cursor::new(&bytes[..end - 1])).is_err());
    }

    #[test]
    fn damaged_bytes_never_panic(values in values(), at: prop::sample::Index, byte: u8, cut: prop::sample::Index) {
        let mut bytes = positions(values).encode_portable64().unwrap();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let kept = Positions::decode_portable64(&bytes).ok().and_then(|set| kept_below(&set, 300_000));
        prop_assert_eq!(kept_of_portable64(&bytes, 300_000).ok(), kept);
        let _ = Positions::decode_portable64(&bytes[..cut.index(bytes.len())]);
    }

    #[test]
    fn any_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Positions::decode_portable64(&bytes);
        let _ = Positions::decode_portable32(&bytes);
        let _ = kept_of_portable64(&bytes, 100);
        let _ = portable32_bytes(&mut Cursor::new(&bytes));
    }
}
