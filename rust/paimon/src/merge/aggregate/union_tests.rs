//! Tests bitmaps and sketches against bytes that the Java libraries wrote (RoaringBitmap 1.2, DataSketches 6.2).

use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BinaryArray};
use frazil_core::error::ErrorKind;
use proptest::prelude::*;
use roaring::RoaringBitmap;
use rstest::rstest;

use super::aggregator;
use super::bitmap64::{Containers, LongBitmaps};
use super::tests::{field, options, run, text};
use super::union::Sets;
use crate::spec::types::TypeRoot;

const BYTES: TypeRoot = TypeRoot::VarBinary(65_535);

const RBM32: [&str; 3] = [
    "3a300000020000000e00000027000000180000001a00000081603b2d",
    "3a300000020000000e0000003b000000180000001a000000e3227baf",
    "3a300000030000000e000100270000003b000000200000002400000026000000e32281603b2d7baf",
];
/// Bitmaps with a run.
const RBM32_RUN: [&str; 3] = [
    "3a300000010000000000020010000000010002000300",
    "3a30000003000000000000000100 0000ff7f000020000000220000002400000004 00a086ffff",
    "3b300200010000030001000000ff7f0000010001000300a086ffff",
];
const RBM64: [&str; 3] = [
    "01010000000000000004000000000000000000000000000000000001000000fe01000000010204000000050006000700090001000000\
     000000000000000000000000",
    "010200000000000000000200020000000001000400000000000000000100000000000000000400000000000100000001000000000000\
     0001000000fe020000000102010000000400010201000000000002000000000000000000000001000000",
    "010300000000000000000200020000000001000002000200000000010004000000000000000000000000000000000004000000000000\
     000001010000000000000004000000000001000000020000000000000001000000fe0300000001020400000005000600070009000102\
     010000000400010201000000000003000000000000000000000002000000",
];
const HLL_LISTS: [&str; 3] = [
    "0201070c030801002bf2fb06",
    "0201070c03080300ab448507fc9aa608a6f60409",
    "0201070c03080400ab448507fc9aa608a6f604092bf2fb06",
];
/// Sets with two colliding coupons, whose slots depend on how the set grew.
const HLL_SETS: [&str; 3] = [
    "0201070c03080200f825e50746f99906",
    "0301070c060800011900000082b19b075afa620484a838070757dd08186ca0054a88b00b5a5c080591e7f5081691ae0fd7081f095880\
     4f085a5af3059d5a6905af5c6d0aa3d71107a440e50b68885e0c294af6052bce8f07acaf7d06eea5b5125a65bc06792fea046c733613\
     44fe1b05",
    "0301070c060800011b00000082b19b075a5af30584a8380746f999060757dd084a88b00b5a5c080591e7f5085afa62041691ae0fd708\
     1f09186ca00558804f085a65bc069d5a6905a3d71107a440e50b68885e0c294af6052bce8f07acaf7d06eea5b512af5c6d0a792fea04\
     f825e5076c73361344fe1b05",
];
/// Sketches of which the second and the union have registers.
const HLL_REGISTERS: [&str; 3] = [
    "02010705030801089faba00c",
    "0a0107050008010288918152fd71734000000000005a02400000000000000000010000000000000043256323325309433734333551244434",
    "0a0107050008010288918152fd71734000000000005a02400000000000000000010000000000000043256323325309433734333551244434",
];
/// Sketches with registers of 8 bits and of 6 bits.
const HLL_WIDE_REGISTERS: [&str; 3] = [
    "0a0107050000000a98bc78de655132400000000000223640000000000000000010000000000000000302000000000001010700010100\
     030301010001010001000000000000010001",
    "0a01070500000006d1c3249a7e2f9340000000000074e13f000000000000000000000000000000004a6120c85120c541188ab11c4851\
     2048611c06621047511c00",
    "",
];
const THETA: [&str; 3] = [
    "01030300003acc93db974df7ef9fd076",
    "02030300001acc93070000000000803fd69f84dcb4e6150c452e74f0ba3d8f130fc227c3d7154c2b1b53e5fb8b86d4418454ef72e221\
     e34470cce9e747adbd7cbfef008d738c307e",
    "02030300001acc93080000000000803fd69f84dcb4e6150c452e74f0ba3d8f130fc227c3d7154c2b1b53e5fb8b86d4418454ef72e221\
     e344db974df7ef9fd07670cce9e747adbd7cbfef008d738c307e",
];
const THETA_EMPTY: &str = "01030300001e0000";

fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

fn column(values: &[Option<&str>]) -> ArrayRef {
    let values: Vec<Option<Vec<u8>>> = values.iter().map(|value| value.map(unhex)).collect();
    Arc::new(BinaryArray::from_iter(values))
}

fn result(function: &str, values: &ArrayRef, steps: &str) -> String {
    let mut aggregator = aggregator(function, &field(BYTES), &options(&[])).unwrap();
    text(&run(&mut *aggregator, values, steps).unwrap())
}

#[rstest]
#[case("rbm32", RBM32)]
#[case("rbm32", RBM32_RUN)]
#[case("rbm64", RBM64)]
#[case("hll_sketch", HLL_LISTS)]
#[case("hll_sketch", HLL_SETS)]
#[case("hll_sketch", HLL_REGISTERS)]
#[case("theta_sketch", THETA)]
#[case("theta_sketch", [THETA_EMPTY, THETA[0], THETA[0]])]
#[case("theta_sketch", [THETA_EMPTY, THETA_EMPTY, THETA_EMPTY])]
fn unions_have_the_bytes_of_java(#[case] function: &str, #[case] images: [&str; 3]) {
    let [left, right, union] = images;
    let values = column(&[Some(left), Some(right), None]);
    let [left, right, union] = [left, right, union].map(|text| hex(&unhex(text)));
    let expected = format!("{union} {left} - {left} {right} -");
    assert_eq!(result(function, &values, "+0 +1 | +0 +2 | +2 | =0 | +2 +1 | =2"), expected);
}

#[rstest]
#[case("rbm32", "3a3000")]
#[case("rbm64", "02")]
#[case("rbm64", "01")]
#[case("hll_sketch", "0201")]
#[case::coupon_that_is_none("hll_sketch", "0201070c0308020000000000f825e507")]
#[case::coupon_without_value("hll_sketch", "0201070c03080200ff000000f825e507")]
#[case::coupon_without_value_in_a_set("hll_sketch", "0301070c050800010200000000000000f825e507")]
#[case("theta_sketch", "ffffffffffffffff")]
fn bytes_of_another_kind_are_corrupt(#[case] function: &str, #[case] bytes: &str) {
    let values = column(&[Some(bytes), Some(bytes)]);
    let mut aggregator = aggregator(function, &field(BYTES), &options(&[])).unwrap();
    let error = run(&mut *aggregator, &values, "+0 +1").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::CorruptData);
    assert!(error.message().contains(function) && error.message().contains("`f`"), "{error}");
}

#[rstest]
#[case("rbm32")]
#[case("rbm64")]
#[case("hll_sketch")]
#[case("theta_sketch")]
fn sets_cannot_be_taken_back(#[case] function: &str) {
    let values = column(&[None]);
    let mut aggregator = aggregator(function, &field(BYTES), &options(&[])).unwrap();
    assert_eq!(aggregator.retract(&values, 0).unwrap_err().kind(), ErrorKind::Unsupported);
}

fn containers(numbers: &BTreeSet<u64>) -> Containers {
    let mut set = Containers::new();
    for number in numbers {
        let key: [u8; 6] = *number.to_be_bytes().first_chunk().unwrap();
        let values: &mut RoaringBitmap = set.entry(key).or_default();
        values.insert(u32::try_from(number & 0xffff).unwrap());
    }
    set
}

#[test]
fn containers_of_all_kinds_are_read_again() {
    let numbers = (0..70_000).chain((1 << 20..1 << 21).step_by(3)).chain((1 << 40..(1 << 40) + 200).step_by(7));
    let set = containers(&numbers.collect());
    let bytes = LongBitmaps.write(set.clone()).unwrap();
    assert_eq!(LongBitmaps.read(&bytes).unwrap(), set);
}

#[test]
fn bits_of_few_values_are_read() {
    let mut bytes = unhex("0101000000000000000400000000000000000000000000000000000100 0000fe0100000001010200 0000");
    let mut bits = vec![0; 8192];
    (bits[0], bits[8191]) = (1, 128);
    bytes.extend(bits);
    bytes.extend(unhex("01000000000000000000000000000000"));
    assert_eq!(LongBitmaps.read(&bytes).unwrap(), containers(&[0, 65_535].into()));
}

proptest! {
    #[test]
    fn long_bitmaps_are_read_as_they_were_written(
        steps in 1usize..300,
        shift in prop::sample::select(vec![16u32, 24, 32, 40, 48, 56]),
        others in proptest::collection::vec(any::<u64>(), 0..20),
    ) {
        let steps = (0..steps as u64).map(|step| (step * 3) << shift | step);
        let set = containers(&steps.chain(others).collect());
        let bytes = LongBitmaps.write(set.clone()).unwrap();
        prop_assert_eq!(LongBitmaps.read(&bytes).unwrap(), set);
    }

    /// Checks that damaged bytes result in an error or a different set.
    #[test]
    fn damaged_bytes_do_no_harm(
        which in 0usize..7,
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        keep in any::<prop::sample::Index>(),
        cut in any::<bool>(),
        swap in any::<bool>(),
    ) {
        let (function, [left, right, _]) = [
            ("rbm32", RBM32_RUN), ("rbm64", RBM64), ("hll_sketch", HLL_LISTS), ("hll_sketch", HLL_SETS),
            ("hll_sketch", HLL_REGISTERS), ("hll_sketch", HLL_WIDE_REGISTERS), ("theta_sketch", THETA),
        ][which];
        let (mut left, mut right) = (unhex(left), unhex(right));
        if swap {
            std::mem::swap(&mut left, &mut right);
        }
        for (at, byte) in damage {
            let at = at.index(right.len());
            right[at] = byte;
        }
        if cut {
            right.truncate(keep.index(right.len()));
        }
        let values: ArrayRef = Arc::new(BinaryArray::from_iter_values([left, right]));
        for steps in ["+0 +1", "+1 +0"] {
            let mut aggregator = aggregator(function, &field(BYTES), &options(&[])).unwrap();
            match run(&mut *aggregator, &values, steps) {
                Ok(result) => prop_assert!(result.is_valid(0)),
                Err(error) => prop_assert_eq!(error.kind(), ErrorKind::CorruptData),
            }
        }
    }
}
