//! Dates, times of day and timestamps as text, in the proleptic Gregorian calendar. Years are limited only by the width
//! of the integers.
//!
//! ```text
//! date       [+-]YYYY-MM-DD          years of 4 to 7 digits
//! time       HH:MM[:SS[.fraction]]   at most nine digits of fraction
//! timestamp  date [(T| )time [zone]] zone: Z, +HH, +HHMM, +HH:MM
//! ```

use std::fmt::{self, Write};

/// The number of nanoseconds in a day.
pub(crate) const DAY_NANOS: i128 = 86_400_000_000_000;

/// A timestamp parsed from text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Moment {
    /// The nanoseconds since 1970-01-01T00:00:00, after subtracting the offset.
    pub(crate) nanos: i128,
    /// Whether the text contained an offset.
    pub(crate) zoned: bool,
}

/// Returns days since 1970-01-01; None if the text is not a date.
pub(crate) fn parse_date(text: &str) -> Option<i64> {
    let mut input = Input(text.trim().as_bytes());
    let days = input.date()?;
    input.end(days)
}

/// Returns nanoseconds since midnight; None if the text is not a time of day.
pub(crate) fn parse_time(text: &str) -> Option<i64> {
    let mut input = Input(text.trim().as_bytes());
    let nanos = input.time()?;
    input.end(nanos)
}

/// Parses a timestamp, or a date as its midnight; None if the text is neither.
pub(crate) fn parse_timestamp(text: &str) -> Option<Moment> {
    let mut input = Input(text.trim().as_bytes());
    let midnight = i128::from(input.date()?) * DAY_NANOS;
    if input.0.is_empty() {
        return Some(Moment { nanos: midnight, zoned: false });
    }
    if !(input.take(b'T') || input.take(b't') || input.take(b' ')) {
        return None;
    }
    let nanos = midnight + i128::from(input.time()?);
    let offset = input.offset()?;
    input.end(Moment { nanos: nanos - offset.unwrap_or(0), zoned: offset.is_some() })
}

/// Writes a date in a form that [`parse_date`] can read.
pub(crate) fn write_date(out: &mut impl Write, days: i64) -> fmt::Result {
    let (year, month, day) = civil_from_days(days);
    match year {
        0..=9999 => write!(out, "{year:04}")?,
        _ => write!(out, "{year:+05}")?,
    }
    write!(out, "-{month:02}-{day:02}")
}

/// Writes a time of day with as many fractional digits as needed. For values outside a day, which a file may contain,
/// the hours may exceed 23.
pub(crate) fn write_time(out: &mut impl Write, nanos: i128) -> fmt::Result {
    let (seconds, fraction) = (nanos.div_euclid(1_000_000_000), nanos.rem_euclid(1_000_000_000));
    let (hours, minutes) = (seconds.div_euclid(3600), seconds.rem_euclid(3600) / 60);
    write!(out, "{hours:02}:{minutes:02}:{:02}", seconds.rem_euclid(60))?;
    if fraction == 0 {
        return Ok(());
    }
    let digits = format!("{fraction:09}");
    write!(out, ".{}", digits.trim_end_matches('0'))
}

/// Writes a timestamp without a zone.
pub(crate) fn write_timestamp(out: &mut impl Write, nanos: i128) -> fmt::Result {
    // At most 2^63 seconds are about 1.1e14 days, so the days always fit.
    write_date(out, i64::try_from(nanos.div_euclid(DAY_NANOS)).unwrap_or(i64::MAX))?;
    out.write_char(' ')?;
    write_time(out, nanos.rem_euclid(DAY_NANOS))
}

/// Returns the days since 1970-01-01 of a date. The year is counted from March, so that the leap day is its last day;
/// an era is 400 years, 146097 days.
pub fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// Returns the year, month and day of any number of days since 1970-01-01.
pub fn civil_from_days(days: i64) -> (i64, i64, i64) {
    // The epoch is day 135080 of the fifth era after the year 0. The offset is added to the remainder, so that the sum
    // cannot overflow.
    let shifted = days.rem_euclid(146_097) + 135_080;
    let era = days.div_euclid(146_097) + 4 + shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// The remaining input.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn take(&mut self, byte: u8) -> bool {
        match self.0.split_first() {
            Some((first, rest)) if *first == byte => {
                self.0 = rest;
                true
            }
            _ => false,
        }
    }

    /// Reads a run of `least` to `most` digits.
    fn digits(&mut self, least: usize, most: usize) -> Option<&[u8]> {
        let length = self.0.iter().take(most).take_while(|byte| byte.is_ascii_digit()).count();
        let (digits, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        (length >= least).then_some(digits)
    }

    fn number(&mut self, least: usize, most: usize) -> Option<i64> {
        Some(self.digits(least, most)?.iter().fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0')))
    }

    fn two(&mut self, most: i64) -> Option<i64> {
        self.number(2, 2).filter(|value| *value <= most)
    }

    fn end<T>(&self, value: T) -> Option<T> {
        self.0.is_empty().then_some(value)
    }

    fn date(&mut self) -> Option<i64> {
        let negative = self.take(b'-');
        if !negative {
            self.take(b'+');
        }
        let year = self.number(4, 7)?;
        let year = if negative { -year } else { year };
        let month = self.take(b'-').then(|| self.two(12))??;
        let day = self.take(b'-').then(|| self.two(31))??;
        let days = days_from_civil(year, month, day);
        // Invalid dates, such as April 31 or month 0, do not round-trip.
        (civil_from_days(days) == (year, month, day)).then_some(days)
    }

    fn time(&mut self) -> Option<i64> {
        let hour = self.two(23)?;
        let minute = self.take(b':').then(|| self.two(59))??;
        let second = if self.take(b':') { self.two(59)? } else { 0 };
        let mut nanos = 0;
        if self.take(b'.') {
            let digits = self.digits(1, 9)?;
            nanos = digits.iter().chain([b'0'; 9].iter()).take(9).fold(0, |sum, d| sum * 10 + i64::from(d - b'0'));
        }
        Some(((hour * 60 + minute) * 60 + second) * 1_000_000_000 + nanos)
    }

    /// Returns the offset in nanoseconds, or Some(None) at the end of the text.
    #[expect(clippy::option_option, reason = "a missing offset and an invalid offset differ")]
    fn offset(&mut self) -> Option<Option<i128>> {
        if self.0.is_empty() {
            return Some(None);
        }
        self.take(b' ');
        if self.take(b'Z') || self.take(b'z') {
            return Some(Some(0));
        }
        let negative = self.take(b'-');
        if !negative && !self.take(b'+') {
            return None;
        }
        let hours = self.two(18)?;
        let minutes = if self.take(b':') || !self.0.is_empty() { self.two(59)? } else { 0 };
        let nanos = i128::from(hours * 60 + minutes) * 60_000_000_000;
        Some(Some(if negative { -nanos } else { nanos }))
    }
}
