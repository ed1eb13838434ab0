//! How long tests take: reads what libtest prints with `--report-time` and sums it up for people.
//!
//! Pure: the program `time-tests` runs the test binaries, keeps the lines made here in a file, and prints the report.

use std::fmt::Write;

/// How many of the slowest tests the report names.
const SLOWEST: usize = 10;

/// One duration: of a whole test binary, or of one test in it.
#[derive(Clone, Debug, PartialEq)]
pub struct TestTime {
    /// The package and its test binary, such as `talaria-engine it`.
    pub binary: String,
    /// The test; `None` is the binary itself.
    pub test: Option<String>,
    /// Wall-clock seconds, with everything that ran concurrently.
    pub seconds: f64,
}

impl TestTime {
    /// Returns the time in a line of libtest: `test turns::a_test ... ok <1.234s>`.
    pub fn of_printed_line(binary: &str, line: &str) -> Option<Self> {
        let (name, result) = line.strip_prefix("test ")?.split_once(" ... ")?;
        let (_, time) = result.trim_end().strip_suffix("s>")?.rsplit_once('<')?;
        let test = Some(name.split_once(" - ").map_or(name, |(name, _)| name).to_owned());
        Some(Self { binary: binary.to_owned(), test, seconds: time.parse().ok()? })
    }

    /// Returns the line of the file of times that [`Self::of_kept_line`] reads.
    pub fn to_kept_line(&self) -> String {
        let Self { binary, test, seconds } = self;
        format!("{seconds:.3}\t{binary}\t{}\n", test.as_deref().unwrap_or_default())
    }

    /// Returns what [`Self::to_kept_line`] wrote.
    pub fn of_kept_line(line: &str) -> Option<Self> {
        let mut fields = line.split('\t');
        let (seconds, binary, test) = (fields.next()?.parse().ok()?, fields.next()?, fields.next()?);
        Some(Self { binary: binary.to_owned(), test: (!test.is_empty()).then(|| test.to_owned()), seconds })
    }
}

/// Returns the report: the test binaries and the slowest tests, longest first.
pub fn report(times: &[TestTime]) -> String {
    let (mut tests, mut binaries): (Vec<_>, Vec<_>) = times.iter().partition(|time| time.test.is_some());
    for times in [&mut tests, &mut binaries] {
        times.sort_by(|one, other| other.seconds.total_cmp(&one.seconds));
    }
    let mut text = String::new();
    let total: f64 = binaries.iter().map(|time| time.seconds).sum();
    let _ = writeln!(text, "time of the tests: {total:.0} s");
    // Programs have a test binary of their own that is empty.
    for time in binaries.into_iter().filter(|time| time.seconds >= 0.05) {
        let _ = writeln!(text, "{:8.1} s  {}", time.seconds, time.binary);
    }
    let _ = writeln!(text, "\nthe slowest tests");
    for time in tests.into_iter().take(SLOWEST) {
        let test = time.test.as_deref().unwrap_or_default();
        let _ = writeln!(text, "{:8.1} s  {} {test}", time.seconds, time.binary);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn a_line_of_libtest_has_a_name_and_a_time() {
        let read = |line| TestTime::of_printed_line("kit it", line).map(|time| (time.test, time.seconds));
        let known = |name: &str, seconds| Some((Some(name.to_owned()), seconds));
        assert_eq!(read("test a::b ... ok <1.250s>"), known("a::b", 1.25));
        assert_eq!(read("test a::b ... FAILED <0.000s>\n"), known("a::b", 0.0));
        assert_eq!(read("test a::b - should panic ... ok <0.500s>"), known("a::b", 0.5));
        for other in [
            "test a::b ... ignored, why",
            "test result: ok. 1 passed; finished in 1.00s",
            "running 2 tests",
            "",
        ] {
            assert_eq!(read(other), None, "{other}");
        }
    }

    #[test]
    fn the_report_is_sorted_and_short() {
        let mut times = vec![
            TestTime { binary: "one it".to_owned(), test: None, seconds: 2.0 },
            TestTime { binary: "two it".to_owned(), test: None, seconds: 30.25 },
            TestTime { binary: "two tool".to_owned(), test: None, seconds: 0.004 },
        ];
        times.extend((0..12).map(|number| TestTime {
            binary: "two it".to_owned(),
            test: Some(format!("number_{number}")),
            seconds: f64::from(number),
        }));
        let kept: String = times.iter().map(TestTime::to_kept_line).collect();
        let read: Vec<TestTime> = kept.lines().filter_map(TestTime::of_kept_line).collect();
        assert_eq!(read, times);
        expect![[r#"
            time of the tests: 32 s
                30.2 s  two it
                 2.0 s  one it

            the slowest tests
                11.0 s  two it number_11
                10.0 s  two it number_10
                 9.0 s  two it number_9
                 8.0 s  two it number_8
                 7.0 s  two it number_7
                 6.0 s  two it number_6
                 5.0 s  two it number_5
                 4.0 s  two it number_4
                 3.0 s  two it number_3
                 2.0 s  two it number_2
        "#]]
        .assert_eq(&report(&read));
    }
}
