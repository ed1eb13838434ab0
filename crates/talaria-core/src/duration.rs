//! Durations as people write them: `90s`, `15m`, `1h30m`, `30d`, or a bare number of seconds.
//!
//! Owns the notation and its limits; never reads a clock. Called by the configuration reader (`codex.turn_timeout`)
//! and by the command line (`--timeout`).

use std::time::Duration;

/// The longest duration accepted. It keeps deadlines representable: adding a huge duration to an instant overflows.
pub const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Why a text is not a usable duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    /// The notation was not understood.
    #[error("{0:?} is not a duration; write 90s, 15m, 1h30m, 30d or a number of seconds")]
    Malformed(String),
    /// Nothing can be done in no time.
    #[error("a duration must be longer than zero")]
    Zero,
    /// The sign is wrong.
    #[error("a duration cannot be negative")]
    Negative,
    /// Longer than [`LONGEST`].
    #[error("a duration cannot be longer than 365 days")]
    TooLong,
}

/// Reads `30d`, `1h30m`, `15m`, `90s` or `90`; days, hours, minutes and seconds in this order, each at most once.
pub fn parse_duration(text: &str) -> Result<Duration, DurationError> {
    let malformed = || DurationError::Malformed(text.to_owned());
    let mut rest = text.trim();
    if let Some(number) = rest.strip_prefix('-') {
        return Err(if number.starts_with(|c: char| c.is_ascii_digit()) {
            DurationError::Negative
        } else {
            malformed()
        });
    }
    if rest.is_empty() {
        return Err(malformed());
    }
    if rest.bytes().all(|byte| byte.is_ascii_digit()) {
        return checked(digits(rest)?);
    }
    let mut units = [('d', 86_400), ('h', 3600), ('m', 60), ('s', 1)].into_iter();
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit()).filter(|end| *end > 0).ok_or_else(malformed)?;
        let (count, tail) = rest.split_at(end);
        let mut letters = tail.chars();
        let letter = letters.next().ok_or_else(malformed)?;
        // The search resumes after the unit last found: that is what forbids repeats and the wrong order.
        let (_, seconds) = units.find(|(unit, _)| *unit == letter).ok_or_else(malformed)?;
        total = digits(count)?
            .checked_mul(seconds)
            .and_then(|part| total.checked_add(part))
            .ok_or(DurationError::TooLong)?;
        rest = letters.as_str();
    }
    checked(total)
}

/// Accepts a number of seconds, as in a configuration file.
pub fn from_seconds(seconds: i64) -> Result<Duration, DurationError> {
    checked(u64::try_from(seconds).map_err(|_| DurationError::Negative)?)
}

/// The caller has made sure that there are only digits, so failing means too many of them.
fn digits(text: &str) -> Result<u64, DurationError> {
    text.parse().map_err(|_| DurationError::TooLong)
}

fn checked(seconds: u64) -> Result<Duration, DurationError> {
    match Duration::from_secs(seconds) {
        Duration::ZERO => Err(DurationError::Zero),
        duration if duration > LONGEST => Err(DurationError::TooLong),
        duration => Ok(duration),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_people_write_them() {
        for (text, seconds) in [
            ("90s", 90),
            ("15m", 900),
            ("1h30m", 5400),
            ("1h30m15s", 5415),
            ("1h5s", 3605),
            ("30d", 30 * 86_400),
            ("1d12h", 129_600),
            ("90", 90),
            (" 2h ", 7200),
            ("090s", 90),
            ("8760h", 365 * 24 * 3600),
        ] {
            assert_eq!(parse_duration(text), Ok(Duration::from_secs(seconds)), "{text:?}");
        }
    }

    #[test]
    fn what_is_no_duration_is_refused_with_the_reason() {
        for text in [
            "", " ", "s", "1x", "1.5h", "1h 30m", "30m1h", "1m1m", "1h30", "-", "-x", "+5s", "ten", "５s",
            "5S",
        ] {
            assert_eq!(parse_duration(text), Err(DurationError::Malformed(text.to_owned())));
        }
        for text in ["0", "0s", "0h0m0s"] {
            assert_eq!(parse_duration(text), Err(DurationError::Zero));
        }
        for text in ["-5s", "-1"] {
            assert_eq!(parse_duration(text), Err(DurationError::Negative));
        }
        for text in
            ["8761h", "99999999999999999999s", "18446744073709551615h", "18446744073709551615", "31536001"]
        {
            assert_eq!(parse_duration(text), Err(DurationError::TooLong), "{text:?}");
        }
        assert_eq!(from_seconds(-1), Err(DurationError::Negative));
        assert_eq!(from_seconds(i64::MAX), Err(DurationError::TooLong));
        assert_eq!(from_seconds(600), Ok(Duration::from_secs(600)));
    }

    #[test]
    fn the_message_shows_what_to_write() {
        let message = parse_duration("soon").unwrap_err().to_string();
        assert_eq!(message, "\"soon\" is not a duration; write 90s, 15m, 1h30m, 30d or a number of seconds");
    }
}
