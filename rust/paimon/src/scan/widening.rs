//! Converts bounds of values in an older type to bounds of their casts, for files of older schemas.
//!
//! | old type | new type | bounds |
//! |---|---|---|
//! | any | a type that has all of its values in the same order | the same values |
//! | integer | narrower integer | the same values, if both fit |
//! | number | FLOAT, DOUBLE, DECIMAL | cast, which keeps the order |
//! | DECIMAL | integer that has all of its digits | cast, which keeps the order |
//! | DATE | TIMESTAMP | cast, if both are in its range |
//! | TIMESTAMP(4) to (9) | DATE | cast, which keeps the order |
//! | DATE | STRING | printed, if both years have four digits |
//! | integer, DECIMAL | VARCHAR | the first and the last string of the numbers between the bounds, in string order |
//!
//! NaN and infinities cannot be cast to DECIMAL, so reading them fails.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Decimal128Type, Int64Type};
use arrow_array::{Array, ArrayRef, Decimal128Array, Int64Array, StringArray, new_null_array};
use arrow_buffer::NullBuffer;
use arrow_cast::cast;
use arrow_schema::DataType as ArrowType;

use crate::cast::{Caster, is_exact_widening};
use crate::spec::types::{DataType, TypeRoot, comparable};

/// The days of the years 1 to 9999.
const FOUR_DIGIT_YEARS: std::ops::RangeInclusive<i32> = -719_162..=2_932_896;

/// The conversion of bounds from the type of a file to the type of the table.
#[derive(Debug)]
pub(super) enum Widening {
    /// The values are unchanged, but have no order.
    Unordered,
    /// The bounds are cast to this type. Each bound that does not fit becomes unknown.
    To(DataType),
    /// The bounds are cast to this type. If one of them does not fit, both become unknown.
    Narrow(DataType),
    /// The bounds are cast, which keeps their order.
    Cast { caster: Caster, makes_nulls: bool },
    /// Days are printed. The order is not kept for years of more than four digits.
    Days(Caster),
    /// Numbers with `scale` digits after the point are printed, which changes their order.
    Numbers { caster: Caster, from: DataType, scale: u8 },
}

impl Widening {
    /// Creates the conversion, or returns None if the bounds do not restrict the values that are read.
    pub(super) fn new(from: &DataType, to: &DataType) -> Option<Self> {
        if keeps_values(from, to) {
            return Some(if to.scalar().is_some() { Self::To(to.clone()) } else { Self::Unordered });
        }
        if is_whole(&from.root) && is_whole(&to.root) {
            return Some(Self::Narrow(to.clone()));
        }
        let caster = || Caster::try_new(from, to).ok().flatten();
        match (&from.root, &to.root) {
            (TypeRoot::Date, TypeRoot::VarChar(_)) => caster().map(Self::Days),
            (root, TypeRoot::VarChar(_)) if is_whole(root) => {
                caster().map(|caster| Self::Numbers { caster, from: from.clone(), scale: 0 })
            }
            (TypeRoot::Decimal(_, scale), TypeRoot::VarChar(_)) => {
                caster().map(|caster| Self::Numbers { caster, from: from.clone(), scale: *scale })
            }
            (root, target) if keeps_order(root, target) => {
                let makes_nulls = matches!(target, TypeRoot::Decimal(..));
                caster().map(|caster| Self::Cast { caster, makes_nulls })
            }
            _ => None,
        }
    }

    /// Returns whether values outside of known bounds may be read as NULL.
    pub(super) fn makes_nulls(&self) -> bool {
        matches!(self, Self::Cast { makes_nulls: true, .. })
    }

    /// Returns the lower and upper bounds, with NULL if unknown, or None if the bounds cannot be cast.
    pub(super) fn apply(&self, bounds: &[ArrayRef; 2]) -> Option<[ArrayRef; 2]> {
        let each = |of: &dyn Fn(&ArrayRef) -> Option<ArrayRef>| {
            let [lower, upper] = bounds;
            Some([of(lower)?, of(upper)?])
        };
        match self {
            Self::Unordered => each(&|bounds| Some(new_null_array(&ArrowType::Null, bounds.len()))),
            Self::To(to) => each(&|bounds| comparable(&cast(bounds, &to.arrow()).ok()?).ok()),
            Self::Narrow(to) => both(&each(&|bounds| cast(bounds, &to.arrow()).ok())?),
            Self::Cast { caster, .. } => each(&|bounds| caster.cast(bounds).ok()),
            Self::Days(caster) => both(&each(&|bounds| caster.cast(&four_digit_years(bounds)?).ok())?),
            Self::Numbers { caster, from, scale } => printed(bounds, caster, from, *scale),
        }
    }
}

/// Returns whether every value of a type is a value of the other type, in the same order.
fn keeps_values(from: &DataType, to: &DataType) -> bool {
    use TypeRoot::{
        BigInt, Binary, Char, Decimal, Double, Float, Int, LocalZonedTimestamp, SmallInt, Time, Timestamp, TinyInt,
        VarBinary, VarChar,
    };
    let kept = match (&from.root, &to.root) {
        (TinyInt, SmallInt | Int | BigInt) | (SmallInt, Int | BigInt) | (Int, BigInt) | (Float, Double) => true,
        (Char(from) | VarChar(from), Char(to) | VarChar(to))
        | (Binary(from) | VarBinary(from), Binary(to) | VarBinary(to)) => from <= to,
        (Decimal(from, scale), Decimal(to, same)) => scale == same && from <= to,
        (Timestamp(from), Timestamp(to))
        | (LocalZonedTimestamp(from), LocalZonedTimestamp(to))
        | (Time(from), Time(to)) => from <= to,
        (from, to) if is_whole(from) && is_whole(to) => from == to,
        (from, to) => std::mem::discriminant(from) == std::mem::discriminant(to),
    };
    // A DATE may be outside the range of a timestamp, so it does not keep its value.
    kept || (from.root != TypeRoot::Date && is_exact_widening(from, to))
}

/// Returns whether a cast keeps the order of values. It may turn values that are too large into NULL.
fn keeps_order(from: &TypeRoot, to: &TypeRoot) -> bool {
    use TypeRoot::{BigInt, Date, Decimal, Double, Float, Int, LocalZonedTimestamp, SmallInt, Timestamp, TinyInt};
    match (from, to) {
        (TinyInt | SmallInt | Int | BigInt | Float | Double | Decimal(..), Float | Double | Decimal(..))
        | (Date, Timestamp(_) | LocalZonedTimestamp(_)) => true,
        // A decimal with more integer digits is truncated to the low bits, which changes the order.
        (Decimal(precision, scale), TinyInt) => precision.saturating_sub(*scale) <= 2,
        (Decimal(precision, scale), SmallInt) => precision.saturating_sub(*scale) <= 4,
        (Decimal(precision, scale), Int) => precision.saturating_sub(*scale) <= 9,
        (Decimal(precision, scale), BigInt) => precision.saturating_sub(*scale) <= 18,
        // The days of 64-bit milliseconds may exceed 32 bits, and then do not keep their order.
        (Timestamp(digits) | LocalZonedTimestamp(digits), Date) => *digits > 3,
        _ => false,
    }
}

fn is_whole(root: &TypeRoot) -> bool {
    matches!(root, TypeRoot::TinyInt | TypeRoot::SmallInt | TypeRoot::Int | TypeRoot::BigInt)
}

/// Returns the bounds, with NULL on both sides where either bound is unknown.
fn both(bounds: &[ArrayRef; 2]) -> Option<[ArrayRef; 2]> {
    let [lower, upper] = bounds;
    let known = NullBuffer::union(lower.logical_nulls().as_ref(), upper.logical_nulls().as_ref());
    let masked = |bounds: &ArrayRef| {
        let data = bounds.to_data().into_builder().nulls(known.clone()).build().ok()?;
        Some(arrow_array::make_array(data))
    };
    Some([masked(lower)?, masked(upper)?])
}

fn four_digit_years(days: &ArrayRef) -> Option<ArrayRef> {
    let days = days.as_primitive_opt::<Date32Type>()?;
    let days = days.unary_opt::<_, Date32Type>(|day| FOUR_DIGIT_YEARS.contains(&day).then_some(day));
    Some(Arc::new(days))
}

/// Returns the first and the last string of the numbers between bounds, truncated to the length of the target type.
///
/// Numbers with the same sign and the same number of digits before the point are printed in ascending or descending
/// order. Thus the first and the last string belong to a bound, or to a number at which the number of digits or the
/// sign changes.
fn printed(bounds: &[ArrayRef; 2], caster: &Caster, from: &DataType, scale: u8) -> Option<[ArrayRef; 2]> {
    let [lower, upper] = bounds;
    let numbers = lower.len();
    let (lower, upper) = (unscaled(lower)?, unscaled(upper)?);
    let changes = changes(scale);
    let (mut values, mut ends) = (Vec::new(), Vec::with_capacity(numbers));
    for (lower, upper) in lower.into_iter().zip(upper) {
        if let Some((lower, upper)) = lower.zip(upper) {
            let range =
                changes.partition_point(|change| *change <= lower)..changes.partition_point(|change| *change < upper);
            values.extend([lower, upper].into_iter().chain(changes.get(range)?.iter().copied()));
        }
        ends.push(values.len());
    }
    let texts = caster.cast(&array(values, from)?).ok()?;
    let texts = texts.as_string_opt::<i32>()?;
    let mut first = Vec::with_capacity(numbers);
    let mut last = Vec::with_capacity(numbers);
    let mut start = 0;
    for end in ends {
        let of = || (start..end).map(|at| texts.value(at));
        first.push(of().min());
        last.push(of().max());
        start = end;
    }
    Some([Arc::new(StringArray::from(first)) as ArrayRef, Arc::new(StringArray::from(last))])
}

/// Returns the unscaled numbers, sorted, at which the number of digits before the point or the sign changes.
fn changes(scale: u8) -> Vec<i128> {
    let powers = (u32::from(scale) + 1..=38).filter_map(|exponent| 10_i128.checked_pow(exponent));
    let mut changes = vec![-1, 0];
    changes.extend(powers.flat_map(|power| [power - 1, power, 1 - power, -power]));
    changes.sort_unstable();
    changes
}

/// Returns integers and decimals as unscaled numbers.
fn unscaled(numbers: &ArrayRef) -> Option<Vec<Option<i128>>> {
    if let Some(numbers) = numbers.as_primitive_opt::<Decimal128Type>() {
        return Some(numbers.iter().collect());
    }
    let numbers = cast(numbers, &ArrowType::Int64).ok()?;
    Some(numbers.as_primitive_opt::<Int64Type>()?.iter().map(|number| number.map(i128::from)).collect())
}

/// Returns numbers as an array of the source type of a cast.
fn array(values: Vec<i128>, data_type: &DataType) -> Option<ArrayRef> {
    if let TypeRoot::Decimal(precision, scale) = data_type.root {
        let numbers = Decimal128Array::from(values).with_precision_and_scale(precision, scale.try_into().ok()?);
        return Some(Arc::new(numbers.ok()?));
    }
    let numbers = values.into_iter().map(i64::try_from).collect::<Result<Vec<_>, _>>();
    Some(Arc::new(Int64Array::from(numbers.ok()?)))
}

#[cfg(test)]
mod tests {
    use arrow_array::{Date32Array, Float32Array, Float64Array, TimestampMicrosecondArray};
    use arrow_ord::cmp::lt_eq;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;
    use rstest::rstest;

    use super::*;

    fn of_type(text: &str) -> DataType {
        text.parse().unwrap()
    }

    /// Returns a number as a value of a type. Numbers outside the range of the type wrap around.
    fn value(data_type: &DataType, number: i64) -> ArrayRef {
        use TypeRoot as T;
        let small = i32::try_from(number.rem_euclid(1 << 32) - (1 << 31)).unwrap();
        match &data_type.root {
            T::TinyInt | T::SmallInt | T::Int => {
                let limit = match data_type.root {
                    T::TinyInt => 1 << 7,
                    T::SmallInt => 1 << 15,
                    _ => 1_i64 << 31,
                };
                let number = number.rem_euclid(2 * limit) - limit;
                cast(&(Arc::new(Int64Array::from(vec![number])) as ArrayRef), &data_type.arrow()).unwrap()
            }
            T::BigInt => Arc::new(Int64Array::from(vec![number])),
            T::Float => Arc::new(Float32Array::from(vec![number as f32 / 64.0])),
            T::Double => Arc::new(Float64Array::from(vec![number as f64 / 64.0])),
            T::Decimal(precision, scale) => {
                let number = i128::from(number) % 10_i128.pow(u32::from(*precision));
                let numbers = Decimal128Array::from(vec![number]);
                Arc::new(numbers.with_precision_and_scale(*precision, scale.cast_signed()).unwrap())
            }
            T::Date => Arc::new(Date32Array::from(vec![small / 4000])),
            _ => cast(&(Arc::new(TimestampMicrosecondArray::from(vec![number])) as ArrayRef), &data_type.arrow())
                .unwrap(),
        }
    }

    #[rstest]
    #[case::another_order(0, &[Some((0, 9)), Some((8, 12)), Some((-12, 5)), None], &["0", "10", "-1"], &["9", "9", "5"])]
    #[case::long(0, &[Some((100, 199)), Some((95, 1_000_000)), Some((-5, -5))], &["100", "100", "-5"], &["199", "999999", "-5"])]
    #[case::fractions(2, &[Some((-5, 5)), Some((950, 1050))], &["-0.01", "10.00"], &["0.05", "9.99"])]
    fn numbers_have_the_first_and_the_last_text_between_them(
        #[case] scale: u8,
        #[case] numbers: &[Option<(i64, i64)>],
        #[case] first: &[&str],
        #[case] last: &[&str],
    ) {
        let from = if scale == 0 { of_type("BIGINT") } else { of_type("DECIMAL(9, 2)") };
        let bound = |of: fn((i64, i64)) -> i64| -> ArrayRef {
            let numbers = numbers.iter().map(|pair| pair.map(of));
            if scale == 0 {
                return Arc::new(numbers.collect::<Int64Array>());
            }
            let numbers: Decimal128Array = numbers.map(|number| number.map(i128::from)).collect();
            Arc::new(numbers.with_precision_and_scale(9, 2).unwrap())
        };
        let widening = Widening::new(&from, &of_type("STRING")).unwrap();
        let [lower, upper] = widening.apply(&[bound(|pair| pair.0), bound(|pair| pair.1)]).unwrap();
        let texts = |texts: &ArrayRef| texts.as_string::<i32>().iter().flatten().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!((texts(&lower), texts(&upper)), (texts_of(first), texts_of(last)));
    }

    fn texts_of(texts: &[&str]) -> Vec<String> {
        texts.iter().copied().map(str::to_owned).collect()
    }

    #[rstest]
    #[case("BIGINT", "BOOLEAN")]
    #[case("DOUBLE", "INT")]
    #[case("INT", "CHAR(20)")]
    #[case("DECIMAL(12, 2)", "INT")]
    #[case("STRING", "INT")]
    #[case("BIGINT", "TIMESTAMP(6)")]
    #[case("TIMESTAMP(3)", "DATE")]
    #[case("STRING", "VARCHAR(5)")]
    #[case("TIMESTAMP(6)", "TIMESTAMP(0)")]
    fn other_casts_say_nothing(#[case] from: &str, #[case] to: &str) {
        assert!(Widening::new(&of_type(from), &of_type(to)).is_none());
    }

    #[test]
    fn days_of_longer_years_have_no_bounds() {
        let widening = Widening::new(&of_type("DATE"), &of_type("STRING")).unwrap();
        let days = |days: [i32; 3]| Arc::new(Date32Array::from(days.to_vec())) as ArrayRef;
        let [lower, upper] = widening.apply(&[days([0, 0, -800_000]), days([1, 3_000_000, 0])]).unwrap();
        assert_eq!(lower.as_string::<i32>(), &StringArray::from(vec![Some("1970-01-01"), None, None]));
        assert_eq!(upper.as_string::<i32>(), &StringArray::from(vec![Some("1970-01-02"), None, None]));
    }

    const CASTS: &[(&str, &[&str])] = &[
        ("TINYINT", &["SMALLINT", "FLOAT", "DECIMAL(2, 0)", "STRING", "VARCHAR(1)"]),
        ("SMALLINT", &["TINYINT", "FLOAT", "DECIMAL(4, 1)", "VARCHAR(3)"]),
        ("INT", &["BIGINT", "TINYINT", "FLOAT", "DOUBLE", "DECIMAL(12, 2)", "DECIMAL(9, 0)", "STRING", "VARCHAR(2)"]),
        ("BIGINT", &["INT", "FLOAT", "DOUBLE", "DECIMAL(20, 0)", "DECIMAL(18, 4)", "STRING", "VARCHAR(4)"]),
        ("FLOAT", &["DOUBLE", "DECIMAL(9, 3)"]),
        ("DOUBLE", &["FLOAT", "DECIMAL(9, 3)", "DECIMAL(38, 0)"]),
        (
            "DECIMAL(12, 2)",
            &["DECIMAL(14, 4)", "DECIMAL(12, 0)", "DECIMAL(5, 1)", "FLOAT", "DOUBLE", "BIGINT", "STRING"],
        ),
        ("DECIMAL(9, 5)", &["SMALLINT", "INT", "DECIMAL(9, 4)", "VARCHAR(3)", "DOUBLE"]),
        ("DECIMAL(30, 12)", &["DOUBLE", "FLOAT", "BIGINT", "STRING"]),
        ("DATE", &["TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP(9)", "STRING"]),
        ("TIMESTAMP(6)", &["DATE", "TIMESTAMP(9)"]),
    ];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn bounds_contain_every_value_that_is_read(
            (from, to) in select(CASTS.to_vec()).prop_flat_map(|(from, to)| (Just(from), select(to.to_vec()))),
            numbers in vec(prop_oneof![-1100..1100_i64, any::<i32>().prop_map(i64::from), any::<i64>()], 1..6),
        ) {
            let (from, to) = (of_type(from), of_type(to));
            let values: Vec<ArrayRef> = numbers.iter().map(|number| value(&from, *number)).collect();
            let below = |left: &ArrayRef, right: &ArrayRef| lt_eq(left, right).unwrap().value(0);
            let least = values.iter().find(|least| values.iter().all(|value| below(least, value))).unwrap();
            let greatest = values.iter().find(|greatest| values.iter().all(|value| below(value, greatest))).unwrap();
            let widening = Widening::new(&from, &to).unwrap();
            let Some([lower, upper]) = widening.apply(&[least.clone(), greatest.clone()]) else { return Ok(()) };
            let caster = Caster::try_new(&from, &to).unwrap().unwrap();
            for value in &values {
                // Reading fails for values that cannot be cast, so bounds need not include them.
                let Ok(read) = caster.cast(value) else { continue };
                if read.is_null(0) {
                    let known = lower.is_valid(0) && upper.is_valid(0);
                    prop_assert!(widening.makes_nulls() && !known, "{from} {value:?} is NULL as {to}");
                    continue;
                }
                prop_assert!(lower.is_null(0) || below(&lower, &read), "{from} {value:?} is below {lower:?} as {to}");
                prop_assert!(upper.is_null(0) || below(&read, &upper), "{from} {value:?} is above {upper:?} as {to}");
            }
        }
    }
}
