//! Dates and times as ISO 8601 strings, as used in JSON single values (spec: appendix D).
//!
//! ```text
//! date       2007-12-03                         years beyond 9999 and before 0: +12345-01-01, -0044-03-15
//! time       22:31:08[.123456]                  seconds may be left out, as Java prints them
//! timestamp  2017-11-16T22:31:08.123456[789]    with +00:00 or Z behind it if it names an instant
//! ```

use std::fmt::Write;

use frazil_core::scalar::civil::{civil_from_days, days_from_civil};

const NANOS_PER_SECOND: i128 = 1_000_000_000;
const SECONDS_PER_DAY: i64 = 86_400;

/// Returns days since 1970-01-01; None for an invalid date or one that exceeds 32 bits.
pub(crate) fn parse_date(text: &str) -> Option<i32> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, text.get(1..)?),
        b'+' => (false, text.get(1..)?),
        _ => (false, text),
    };
    let mut parts = digits.split('-');
    let year_text = parts.next()?;
    // The year has four digits; more are allowed only after a sign.
    if year_text.len() < 4 || (year_text.len() > 4 && digits.len() == text.len()) || year_text.len() > 9 {
        return None;
    }
    let year = number(year_text)?;
    let (month, day) = (two_digits(parts.next()?)?, two_digits(parts.next()?)?);
    let year = if negative { -year } else { year };
    if parts.next().is_some() || !(1..=12).contains(&month) || day < 1 || day > days_in_month(year, month) {
        return None;
    }
    i32::try_from(days_from_civil(year, month, day)).ok()
}

/// Returns nanoseconds since midnight.
pub(crate) fn parse_time_ns(text: &str) -> Option<i64> {
    let (clock, fraction) = match text.split_once('.') {
        Some((clock, fraction)) => (clock, Some(fraction)),
        None => (text, None),
    };
    let mut parts = clock.split(':');
    let (hour, minute) = (two_digits(parts.next()?)?, two_digits(parts.next()?)?);
    let second = match (parts.next(), fraction) {
        (Some(second), _) => two_digits(second)?,
        (None, None) => 0,
        (None, Some(_)) => return None,
    };
    if parts.next().is_some() || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let nanos = match fraction {
        None => 0,
        Some(digits) if (1..=9).contains(&digits.len()) => {
            number(digits)? * 10_i64.checked_pow(u32::try_from(9 - digits.len()).ok()?)?
        }
        Some(_) => return None,
    };
    Some(((hour * 60 + minute) * 60 + second) * 1_000_000_000 + nanos)
}

/// Returns the nanoseconds since the epoch of `dateTtime`, and the rest of the text: an offset or nothing.
pub(crate) fn parse_timestamp_ns(text: &str) -> Option<(i128, &str)> {
    let (date, rest) = text.split_once('T')?;
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != ':' && c != '.').unwrap_or(rest.len());
    let (time, offset) = rest.split_at_checked(end)?;
    let days = i128::from(parse_date(date)?);
    let nanos = days * i128::from(SECONDS_PER_DAY) * NANOS_PER_SECOND + i128::from(parse_time_ns(time)?);
    Some((nanos, offset))
}

/// Returns the text of a date.
pub(crate) fn date_text(days: i32) -> String {
    let (year, month, day) = civil_from_days(i64::from(days));
    let sign = match year {
        ..0 => "-",
        0..=9999 => "",
        _ => "+",
    };
    format!("{sign}{:04}-{month:02}-{day:02}", year.abs())
}

/// Returns the text of a time of day, with as many groups of three fractional digits as needed.
pub(crate) fn time_text(nanos: i64) -> String {
    let (seconds, fraction) = (nanos.div_euclid(1_000_000_000), nanos.rem_euclid(1_000_000_000));
    let mut text = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    // Writing to a string cannot fail.
    let _ = match fraction {
        0 => Ok(()),
        _ if fraction % 1_000_000 == 0 => write!(text, ".{:03}", fraction / 1_000_000),
        _ if fraction % 1_000 == 0 => write!(text, ".{:06}", fraction / 1_000),
        _ => write!(text, ".{fraction:09}"),
    };
    text
}

/// Returns the text of a timestamp in nanoseconds since the epoch, which may exceed 64 bits; None if its date exceeds
/// 32-bit days.
pub(crate) fn timestamp_text(nanos: i128) -> Option<String> {
    let per_day = i128::from(SECONDS_PER_DAY) * NANOS_PER_SECOND;
    let days = i32::try_from(nanos.div_euclid(per_day)).ok()?;
    let of_day = i64::try_from(nanos.rem_euclid(per_day)).ok()?;
    Some(format!("{}T{}", date_text(days), time_text(of_day)))
}

fn number(digits: &str) -> Option<i64> {
    if digits.bytes().all(|b| b.is_ascii_digit()) { digits.parse().ok() } else { None }
}

fn two_digits(digits: &str) -> Option<i64> {
    if digits.len() == 2 { number(digits) } else { None }
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn known_dates_and_times() {
        let dates = [
            ("1970-01-01", 0),
            ("1969-12-31", -1),
            ("2000-02-29", 11_016),
            ("0001-01-01", -719_162),
            ("0000-03-01", -719_468),
            ("-0001-12-31", -719_529),
            ("+10000-01-01", 2_932_897),
            ("+5881580-07-11", i32::MAX),
            ("-5877641-06-23", i32::MIN),
        ];
        for (text, days) in dates {
            assert_eq!(parse_date(text), Some(days), "{text}");
            assert_eq!(date_text(days), text);
        }
        let times = [
            ("00:00:00", 0),
            ("22:31:08", 81_068_000_000_000),
            ("22:31:08.120", 81_068_120_000_000),
            ("22:31:08.123456", 81_068_123_456_000),
            ("23:59:59.999999999", 86_399_999_999_999),
        ];
        for (text, nanos) in times {
            assert_eq!(parse_time_ns(text), Some(nanos), "{text}");
            assert_eq!(time_text(nanos), text);
        }
        assert_eq!(parse_time_ns("10:15"), Some(36_900_000_000_000));
        assert_eq!(parse_timestamp_ns("1970-01-01T00:00:00.5+01:00"), Some((500_000_000, "+01:00")));
        assert_eq!(timestamp_text(-1_000), Some("1969-12-31T23:59:59.999999".to_string()));
    }

    #[test]
    fn invalid_dates_and_times_are_rejected() {
        for text in [
            "",
            "-",
            "2023-02-29",
            "2023-13-01",
            "2023-00-01",
            "2023-1-01",
            "23-01-01",
            "12345-01-01",
            "2023-01-01-",
            "2023-01",
            "+5881580-07-12",
            "2023-01-\u{e9}",
        ] {
            assert_eq!(parse_date(text), None, "{text}");
        }
        for text in [
            "",
            "24:00:00",
            "10",
            "10:60:00",
            "10:00:60",
            "10:00:00.",
            "10:00.5",
            "10:00:00.1234567890",
            "1:00:00",
            "10:00:00:00",
            "10:00:+1",
        ] {
            assert_eq!(parse_time_ns(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn dates_round_trip(days in any::<i32>()) {
            prop_assert_eq!(parse_date(&date_text(days)), Some(days));
        }

        #[test]
        fn timestamps_round_trip(nanos in any::<i64>()) {
            let text = timestamp_text(i128::from(nanos)).unwrap();
            prop_assert_eq!(parse_timestamp_ns(&text), Some((i128::from(nanos), "")));
        }
    }
}
