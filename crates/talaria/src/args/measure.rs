//! Ages and sizes as people write them: `30d`, `12w`, `500MB`, `2GiB`. Read here, never guessed: a bare number has no unit.

use std::time::Duration;

/// Reads an age: a number and a unit from minutes to years.
pub(super) fn age(text: &str) -> Result<Duration, String> {
    let malformed = || format!("{text:?} is not an age; write 12h, 30d, 8w or 1y");
    let (number, unit) = split(text).ok_or_else(malformed)?;
    let seconds: u64 = match unit {
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        "w" => 7 * 86_400,
        "y" => 365 * 86_400,
        _ => return Err(malformed()),
    };
    let seconds = number.checked_mul(seconds).filter(|seconds| *seconds <= 1000 * 365 * 86_400);
    match seconds {
        Some(0) => Err("an age must be longer than zero".to_owned()),
        Some(seconds) => Ok(Duration::from_secs(seconds)),
        None => Err("an age cannot be longer than 1000 years".to_owned()),
    }
}

/// Reads a size in bytes: a number and a unit, by thousands or by 1024.
pub(super) fn size(text: &str) -> Result<u64, String> {
    let malformed = || format!("{text:?} is not a size; write 500MB, 2GB or 64MiB");
    let (number, unit) = split(text).ok_or_else(malformed)?;
    let bytes: u64 = match unit.to_ascii_lowercase().as_str() {
        "b" => 1,
        "k" | "kb" => 1000,
        "m" | "mb" => 1_000_000,
        "g" | "gb" => 1_000_000_000,
        "kib" => 1 << 10,
        "mib" => 1 << 20,
        "gib" => 1 << 30,
        _ => return Err(malformed()),
    };
    number.checked_mul(bytes).ok_or_else(|| "that is more than any disk holds".to_owned())
}

/// A number and its unit.
fn split(text: &str) -> Option<(u64, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(end);
    Some((number.parse().ok()?, unit.trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_have_units_from_minutes_to_years() {
        let seconds = |text: &str| age(text).unwrap().as_secs();
        assert_eq!(seconds("90m"), 5400);
        assert_eq!(seconds("12h"), 43_200);
        assert_eq!(seconds(" 30d "), 2_592_000);
        assert_eq!(seconds("8w"), 4_838_400);
        assert_eq!(seconds("2y"), 63_072_000);
        for text in ["", "30", "d", "-1d", "1.5d", "30 days", "0d", "99999999999999999999d", "9999y"] {
            assert!(age(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_are_by_thousands_or_by_1024() {
        assert_eq!(size("500MB"), Ok(500_000_000));
        assert_eq!(size("2 gb"), Ok(2_000_000_000));
        assert_eq!(size("64MiB"), Ok(64 << 20));
        assert_eq!(size("0b"), Ok(0));
        for text in ["", "500", "MB", "-1MB", "1.5GB", "1TB2", "99999999999GB"] {
            assert!(size(text).is_err(), "{text}");
        }
    }
}
