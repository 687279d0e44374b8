//! Intervals, which are added to dates and timestamps: numbers of months, days and microseconds.

use std::fmt::{self, Display, Formatter};

use super::Expression;
use crate::sql::predicate::Literal;

/// An interval. A day is not always 24 hours long for Spark, so days are kept apart from microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Interval {
    months: i64,
    days: i64,
    micros: i64,
}

impl Interval {
    /// Returns whether a word is a unit, in the singular or plural.
    pub(super) fn is_unit(word: &str) -> bool {
        Self::one(word).is_some()
    }

    /// Parses numbers with their units, such as `1 month -2 days 0.5 seconds`. None if the text has another form or a
    /// number is too large.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_ascii_whitespace();
        let mut sum = Self::default();
        let mut count = 0;
        while let Some(number) = words.next() {
            let part = Self::one(words.next()?)?.times(number)?;
            sum.months = sum.months.checked_add(part.months)?;
            sum.days = sum.days.checked_add(part.days)?;
            sum.micros = sum.micros.checked_add(part.micros)?;
            count += 1;
        }
        (count > 0).then_some(sum)
    }

    fn one(unit: &str) -> Option<Self> {
        const SECOND: i64 = 1_000_000;
        let lower = unit.to_ascii_lowercase();
        let (months, days, micros) = match lower.strip_suffix('s').unwrap_or(&lower) {
            "year" => (12, 0, 0),
            "month" => (1, 0, 0),
            "week" => (0, 7, 0),
            "day" => (0, 1, 0),
            "hour" => (0, 0, 3600 * SECOND),
            "minute" => (0, 0, 60 * SECOND),
            "second" => (0, 0, SECOND),
            "millisecond" => (0, 0, 1000),
            "microsecond" => (0, 0, 1),
            _ => return None,
        };
        Some(Self { months, days, micros })
    }

    /// Multiplies one unit by a number, which may have a fraction of whole microseconds if the unit is a second.
    fn times(self, number: &str) -> Option<Self> {
        let (sign, digits) = match number.strip_prefix('-') {
            Some(digits) => (-1, digits),
            None => (1, number.strip_prefix('+').unwrap_or(number)),
        };
        let (whole, fraction) = match digits.split_once('.') {
            Some((whole, fraction)) if self.micros == 1_000_000 && fraction.len() <= 6 => {
                (whole, format!("{fraction:0<6}").parse::<u32>().ok()?)
            }
            Some(_) => return None,
            None => (digits, 0),
        };
        let whole = whole.parse::<u64>().ok().and_then(|whole| i64::try_from(whole).ok())?;
        let product = |unit: i64, fraction: i64| whole.checked_mul(unit)?.checked_add(fraction)?.checked_mul(sign);
        Some(Self {
            months: product(self.months, 0)?,
            days: product(self.days, 0)?,
            micros: product(self.micros, i64::from(fraction))?,
        })
    }

    /// Returns the interval in the other direction.
    pub(super) fn negated(self) -> Self {
        Self { months: -self.months, days: -self.days, micros: -self.micros }
    }

    /// Returns the arguments of the call that adds the interval to a value.
    pub(super) fn added_to(self, value: Expression) -> Vec<Expression> {
        let number = |number: i64| Expression::Literal(Literal::Number(number.to_string()));
        vec![value, number(self.months), number(self.days), number(self.micros)]
    }

    /// Returns the interval of these arguments; None if they are not those of [`Interval::added_to`].
    pub(super) fn of(arguments: &[Expression]) -> Option<Self> {
        let number = |expression: &Expression| match expression {
            Expression::Literal(Literal::Number(digits)) => digits.parse().ok(),
            _ => None,
        };
        let [months, days, micros] = arguments else { return None };
        Some(Self { months: number(months)?, days: number(days)?, micros: number(micros)? })
    }
}

impl Display for Interval {
    /// Writes the interval as SQL.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "INTERVAL '{} months {} days ", self.months, self.days)?;
        let sign = if self.micros < 0 { "-" } else { "" };
        let micros = self.micros.unsigned_abs();
        let (seconds, fraction) = (micros / 1_000_000, micros % 1_000_000);
        write!(f, "{sign}{seconds}.{fraction:06} seconds'")
    }
}
