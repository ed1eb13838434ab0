//! Codex versions: reading them from `codex --version`, ordering them, and saying which ones we support.
//!
//! Owns the numbers that decide: the oldest Codex that works, the ones the tests run, the one that `talaria setup`
//! installs. Nothing here runs a program; the engine's `codex::locate` does and hands the text over.
//! Called by the engine (locate, install, transport choice) and by `doctor`.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

/// The oldest Codex that Talaria drives.
pub static MINIMUM: Version = Version::new(0, 125, 0);
/// The versions that the test suite runs for real: the first and the last of the tested range.
pub static TESTED: [Version; 2] = [Version::new(0, 130, 0), Version::new(0, 166, 0)];
/// The version that `talaria setup` installs.
pub static PINNED: Version = Version::new(0, 166, 0);
/// The first version whose app-server we drive over `unix://`; older ones are driven over stdio.
pub static UNIX_SOCKET_SINCE: Version = Version::new(0, 130, 0);
/// The first version that keeps our own id with what a person says.
pub static MESSAGE_IDS_SINCE: Version = Version::new(0, 136, 0);
/// The first version that lists the commands in the background, and ends one of them.
pub static TERMINAL_LIST_SINCE: Version = Version::new(0, 140, 0);
/// The first version that is known to keep messages out of its log.
pub static PRIVATE_SINCE: Version = Version::new(0, 166, 0);
/// The first version that is known to report which model and effort are in force.
pub static SETTINGS_TOLD_SINCE: Version = Version::new(0, 166, 0);
/// The first version that requires a description of our tools.
pub static TYPED_TOOLS_SINCE: Version = Version::new(0, 141, 0);
/// The first version that is known to take a permission profile for a thread.
pub static PERMISSION_PROFILES_SINCE: Version = Version::new(0, 130, 0);
/// The first version in which a path that must not be read keeps accepted commands in the sandbox.
pub static DENIALS_KEPT_SINCE: Version = Version::new(0, 136, 0);
/// The first version whose `codex sandbox` does not want the name of the system.
pub static ONE_SANDBOX_COMMAND_SINCE: Version = Version::new(0, 134, 0);
/// The first version that is known to answer a question on top of a finished thread.
pub static SAMPLES_SINCE: Version = Version::new(0, 166, 0);
/// The first version that is known to copy a thread up to a turn. It cannot remove turns from a thread any more.
pub static PARTIAL_FORKS_SINCE: Version = Version::new(0, 166, 0);
/// The first version that is known to take untrusted context for a turn.
pub static CONTEXT_SINCE: Version = Version::new(0, 166, 0);

/// A Codex version. A pre-release (`0.167.0-alpha.3`) sorts before its release.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Version {
    /// The first number.
    pub major: u64,
    /// The second number, which Codex raises with every release.
    pub minor: u64,
    /// The third number.
    pub patch: u64,
    /// What follows the hyphen, if anything: `alpha.3`.
    pub pre: Option<String>,
}

/// Says that a text is not a version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a version; expected something like 0.166.0 or 0.167.0-alpha.3")]
pub struct NotAVersion(pub String);

/// Support level of a Codex version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Support {
    /// Older than [`MINIMUM`]: refused.
    TooOld,
    /// Between [`MINIMUM`] and the tested range: works over stdio, not covered by the tests.
    Untested,
    /// Within the range whose ends the tests run.
    Tested,
    /// Newer than anything tested: allowed, with a warning.
    Newer,
}

/// Says what is promised for `version`.
pub fn support(version: &Version) -> Support {
    let [first, last] = &TESTED;
    if *version < MINIMUM {
        Support::TooOld
    } else if version < first {
        Support::Untested
    } else if version <= last {
        Support::Tested
    } else {
        Support::Newer
    }
}

impl Version {
    /// Makes a release version.
    pub const fn new(major: u64, minor: u64, patch: u64) -> Self {
        Self { major, minor, patch, pre: None }
    }

    /// Finds the version in what `codex --version` printed, which wrappers may surround with lines of their own.
    ///
    /// Only `codex… <version>` or a version alone on its line counts: a warning that mentions the version of
    /// something else must not be taken for Codex's.
    pub fn from_output(output: &str) -> Option<Self> {
        let named = output.lines().find_map(|line| {
            let mut words = line.split_whitespace();
            words.next().filter(|name| name.starts_with("codex"))?;
            words.next()?.parse().ok()
        });
        named.or_else(|| output.lines().find_map(|line| line.trim().parse().ok()))
    }

    /// Returns whether this Codex is driven over a unix socket, so that turns outlive the engine.
    pub fn has_unix_socket(&self) -> bool {
        *self >= UNIX_SOCKET_SINCE
    }

    /// Returns whether this Codex keeps our own id with what a person says and shows it when the thread is read.
    pub fn echoes_message_ids(&self) -> bool {
        *self >= MESSAGE_IDS_SINCE
    }

    /// Returns whether this Codex lists the commands that run in the background, so that one of them can be ended.
    pub fn lists_terminals(&self) -> bool {
        *self >= TERMINAL_LIST_SINCE
    }

    /// Returns whether this Codex says by itself which model and effort are in force when they change. 0.130 does not,
    /// 0.166 does; for the versions between, it is not known.
    pub fn tells_settings(&self) -> bool {
        *self >= SETTINGS_TOLD_SINCE
    }

    /// Returns whether this Codex may write every message that it gets over its socket into its log. 0.130 does, 0.166
    /// does not; for the versions between, it is not known.
    pub fn logs_messages(&self) -> bool {
        *self < PRIVATE_SINCE
    }

    /// Returns whether this Codex takes a permission profile for a thread. Tested on 0.130 and 0.166.
    pub fn has_permission_profiles(&self) -> bool {
        *self >= PERMISSION_PROFILES_SINCE
    }

    /// Returns whether a path that a thread may not read keeps this Codex from letting commands leave the sandbox:
    /// accepted commands then have no network, and commands allowed by a rule of Codex stay inside. 0.166 does, 0.130
    /// does not; the versions between by their source.
    pub fn keeps_denials(&self) -> bool {
        *self >= DENIALS_KEPT_SINCE
    }

    /// Returns whether `codex sandbox` requires the name of the system as an argument, as in `codex sandbox linux`.
    pub fn names_sandbox_system(&self) -> bool {
        *self < ONE_SANDBOX_COMMAND_SINCE
    }

    /// Returns whether this Codex answers a question on top of a finished thread without changing it (`thread/sample`).
    /// 0.166 does, 0.130 does not; the versions between were not tried.
    pub fn samples_threads(&self) -> bool {
        *self >= SAMPLES_SINCE
    }

    /// Returns whether this Codex copies a thread up to a turn. 0.166 does; 0.130 copies all of it, and can remove turns from the
    /// end of the copy.
    pub fn forks_at_turns(&self) -> bool {
        *self >= PARTIAL_FORKS_SINCE
    }

    /// Returns whether this Codex takes text for a turn that is marked as not the user's. 0.166 does, 0.130 does not; the versions
    /// between were not tried.
    pub fn takes_context(&self) -> bool {
        *self >= CONTEXT_SINCE
    }

    /// Returns whether this Codex requires a description of our tools.
    pub fn types_tools(&self) -> bool {
        *self >= TYPED_TOOLS_SINCE
    }
}

impl FromStr for Version {
    type Err = NotAVersion;

    fn from_str(text: &str) -> Result<Self, NotAVersion> {
        let not = || NotAVersion(text.to_owned());
        let without_build = text.split_once('+').map_or(text, |(version, _build)| version);
        let (numbers, pre) = match without_build.split_once('-') {
            Some((numbers, pre)) => (numbers, Some(pre)),
            None => (without_build, None),
        };
        if pre.is_some_and(|pre| !pre.split('.').all(is_identifier)) {
            return Err(not());
        }
        let mut parts = numbers.split('.').map(number);
        let (Some(Some(major)), Some(Some(minor)), Some(Some(patch)), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(not());
        };
        Ok(Self { major, minor, patch, pre: pre.map(str::to_owned) })
    }
}

/// `u64::from_str` would also take a sign.
fn number(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

fn is_identifier(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        let numbers = |version: &Self| (version.major, version.minor, version.patch);
        numbers(self).cmp(&numbers(other)).then_with(|| match (&self.pre, &other.pre) {
            (None, None) => Ordering::Equal,
            (None, Some(_)) => Ordering::Greater,
            (Some(_), None) => Ordering::Less,
            (Some(left), Some(right)) => compare_pre(left, right),
        })
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Compares part by part; numbers by value and before words, so that alpha.10 follows alpha.9.
fn compare_pre(left: &str, right: &str) -> Ordering {
    let parts = |text| str::split(text, '.').map(|part| (number(part).is_none(), number(part), part));
    // The texts break the tie between equal values spelled differently, which Eq distinguishes.
    parts(left).cmp(parts(right)).then_with(|| left.cmp(right))
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)?;
        self.pre.as_ref().map_or(Ok(()), |pre| write!(f, "-{pre}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Version {
        text.parse().unwrap()
    }

    #[test]
    fn the_version_is_found_among_noise() {
        for (output, expected) in [
            ("codex-cli 0.166.0\n", Some("0.166.0")),
            ("codex-cli 0.167.0-alpha.3\n", Some("0.167.0-alpha.3")),
            ("codex 0.166.0 (abc123)", Some("0.166.0")),
            ("0.166.0\n", Some("0.166.0")),
            ("warning: node 18.2.0 is old\r\n  codex-cli 0.130.0\r\nbye\n", Some("0.130.0")),
            ("warning: node 18.2.0 is old\n", None),
            ("codex-cli unknown\n", None),
            ("codex-cli 0.166\n", None),
            ("", None),
        ] {
            assert_eq!(Version::from_output(output), expected.map(version), "{output:?}");
        }
    }

    #[test]
    fn only_versions_parse() {
        for text in
            ["", "1", "1.2", "1.2.3.4", "v1.2.3", "1.2.x", "1.2.3-", "1.2.3-a..b", "1.-2.3", "+1.2.3", "1..3"]
        {
            assert_eq!(text.parse::<Version>(), Err(NotAVersion(text.to_owned())));
        }
        assert_eq!(version("1.2.3-rc.1+build.5").to_string(), "1.2.3-rc.1");
    }

    #[test]
    fn a_pre_release_comes_before_its_release_and_numbers_count_by_value() {
        let sorted =
            ["0.99.0", "0.166.0-alpha", "0.166.0-alpha.9", "0.166.0-alpha.10", "0.166.0-beta", "0.166.0"];
        let versions: Vec<Version> = sorted.into_iter().map(version).collect();
        assert!(versions.is_sorted_by(|left, right| left < right), "{versions:?}");
    }

    #[test]
    fn what_setup_installs_is_what_the_tests_run() {
        assert!(TESTED.contains(&PINNED));
    }

    #[test]
    fn support_follows_the_tested_range() {
        for (text, expected) in [
            ("0.124.9", Support::TooOld),
            ("0.125.0-alpha.1", Support::TooOld),
            ("0.125.0", Support::Untested),
            ("0.130.0-alpha.1", Support::Untested),
            ("0.130.0", Support::Tested),
            ("0.150.2", Support::Tested),
            ("0.166.0", Support::Tested),
            ("0.166.1", Support::Newer),
            ("1.0.0", Support::Newer),
        ] {
            assert_eq!(support(&version(text)), expected, "{text}");
        }
        assert!(!version("0.129.0").has_unix_socket());
        assert!(PINNED.has_unix_socket());
        let [first, last] = &TESTED;
        let newer = |version: &Version| {
            [version.echoes_message_ids(), version.lists_terminals(), version.types_tools()]
        };
        assert_eq!((newer(first), newer(last)), ([false; 3], [true; 3]));
        assert_eq!((first.logs_messages(), last.logs_messages()), (true, false));
    }
}
