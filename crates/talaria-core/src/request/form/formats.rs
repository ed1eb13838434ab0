//! The formats of text that the MCP specification names. The checks catch typing mistakes; they are not complete validators.

/// Is the text of this format? A format that is not known takes any text.
pub(super) fn fits(format: &str, text: &str) -> bool {
    match format {
        "email" => is_email(text),
        "uri" => is_uri(text),
        "date" => is_date(text),
        "date-time" => is_date_time(text),
        _ => true,
    }
}

/// How a text of this format looks.
pub(super) fn example(format: &str) -> Option<&'static str> {
    match format {
        "email" => Some("ada@example.org"),
        "uri" => Some("https://example.org"),
        "date" => Some("2026-12-31"),
        "date-time" => Some("2026-12-31T23:59:00Z"),
        _ => None,
    }
}

fn is_email(text: &str) -> bool {
    let Some((local, host)) = text.rsplit_once('@') else { return false };
    !local.is_empty() && !host.is_empty() && !text.contains(char::is_whitespace) && !host.starts_with('.')
}

fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let is_scheme = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(is_scheme)
        && !rest.is_empty()
        && !text.contains(char::is_whitespace)
}

fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let [year, month, day] = parts[..] else { return false };
    let (Some(year), Some(month), Some(day)) = (digits(year, 4), digits(month, 2), digits(day, 2)) else {
        return false;
    };
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    (1..=days).contains(&day)
}

/// A date, a time to the second with or without a fraction, and where on Earth it is that time.
fn is_date_time(text: &str) -> bool {
    let Some((date, rest)) = text.split_once(['T', 't']) else { return false };
    let zone = rest.find(['Z', 'z', '+', '-']).unwrap_or(rest.len());
    let (time, zone) = rest.split_at(zone);
    let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let is_offset = match zone.strip_prefix(['+', '-']) {
        Some(offset) => is_clock(offset, &[24, 60]),
        None => zone.eq_ignore_ascii_case("z"),
    };
    let is_fraction = !fraction.is_empty() && fraction.bytes().all(|byte| byte.is_ascii_digit());
    // The last second of a day with a leap second is 60.
    is_date(date) && is_clock(time, &[24, 60, 61]) && is_fraction && is_offset
}

fn is_clock(text: &str, limits: &[u32]) -> bool {
    let parts: Vec<&str> = text.split(':').collect();
    parts.len() == limits.len()
        && parts.iter().zip(limits).all(|(part, limit)| digits(part, 2).is_some_and(|value| value < *limit))
}

fn digits(text: &str, count: usize) -> Option<u32> {
    let is_number = text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_example_fits_its_own_format() {
        for format in ["email", "uri", "date", "date-time"] {
            assert!(example(format).is_some_and(|text| fits(format, text)), "{format}");
        }
    }

    #[test]
    fn a_slip_of_the_finger_is_seen() {
        let slips = [
            ("email", "ada"),
            ("email", "@example.org"),
            ("email", "ada@"),
            ("email", "a da@example.org"),
            ("uri", "example.org"),
            ("uri", "https:"),
            ("uri", "1a:b"),
            ("uri", "http://a b"),
            ("date", "2026-02-29"),
            ("date", "2026-13-01"),
            ("date", "26-1-1"),
            ("date", "2026-04-31"),
            ("date", ""),
            ("date-time", "2026-12-31"),
            ("date-time", "2026-12-31T24:00:00Z"),
            ("date-time", "2026-12-31T12:00:00"),
            ("date-time", "2026-12-31T12:00:00.Z"),
            ("date-time", "2026-12-31T12:00:00+1:00"),
        ];
        for (format, text) in slips {
            assert!(!fits(format, text), "{format} {text}");
        }
        let sound = [
            ("date", "2024-02-29"),
            ("date", "2000-02-29"),
            ("date-time", "2026-12-31T23:59:60.25+01:00"),
            ("uri", "mailto:ada@example.org"),
            ("hologram", "anything"),
        ];
        for (format, text) in sound {
            assert!(fits(format, text), "{format} {text}");
        }
        assert!(!fits("date", "1900-02-29"), "a century is no leap year");
    }
}
