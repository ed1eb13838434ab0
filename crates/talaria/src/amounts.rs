//! Times and sizes as people read them: `3 hours ago`, `1.2 GB`. Pure: the current time is an argument.

use jiff::Timestamp;

/// How long ago something was.
pub(crate) fn ago(then: Timestamp, now: Timestamp) -> String {
    let seconds = now.as_second() - then.as_second();
    match seconds {
        // Clocks differ a little, and a time to come would only confuse.
        ..5 => "now".to_owned(),
        _ => format!("{} ago", span(seconds)),
    }
}

/// How long something takes already.
pub(crate) fn since(then: Timestamp, now: Timestamp) -> String {
    span((now.as_second() - then.as_second()).max(0))
}

fn span(seconds: i64) -> String {
    let (count, unit) = match seconds {
        ..60 => (seconds, "second"),
        60..3600 => (seconds / 60, "minute"),
        3600..86_400 => (seconds / 3600, "hour"),
        86_400..5_184_000 => (seconds / 86_400, "day"),
        5_184_000..63_072_000 => (seconds / 2_592_000, "month"),
        _ => (seconds / 31_536_000, "year"),
    };
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}

/// A size in bytes, by thousands.
pub(crate) fn bytes(count: u64) -> String {
    match count {
        0..1000 => format!("{count} B"),
        1000..1_000_000 => format!("{} kB", count / 1000),
        1_000_000..1_000_000_000 => tenths(count, 1_000_000, "MB"),
        _ => tenths(count, 1_000_000_000, "GB"),
    }
}

fn tenths(count: u64, unit: u64, name: &str) -> String {
    format!("{}.{} {name}", count / unit, count % unit * 10 / unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_told_as_seen_from_now() {
        let now = Timestamp::from_second(2_000_000_000).unwrap();
        let told = |seconds: i64| ago(Timestamp::from_second(2_000_000_000 - seconds).unwrap(), now);
        let cases = [
            (-30, "now"),
            (4, "now"),
            (5, "5 seconds ago"),
            (60, "1 minute ago"),
            (3599, "59 minutes ago"),
            (7200, "2 hours ago"),
            (86_400, "1 day ago"),
            (59 * 86_400, "59 days ago"),
            (60 * 86_400, "2 months ago"),
            (800 * 86_400, "2 years ago"),
        ];
        for (seconds, words) in cases {
            assert_eq!(told(seconds), words);
        }
        assert_eq!(since(now, Timestamp::from_second(1_999_999_999).unwrap()), "0 seconds");
    }

    #[test]
    fn a_size_has_a_unit() {
        let told = [999, 1000, 1_500_000, 2_000_000_000, u64::MAX].map(bytes);
        assert_eq!(told, ["999 B", "1 kB", "1.5 MB", "2.0 GB", "18446744073.7 GB"]);
    }
}
