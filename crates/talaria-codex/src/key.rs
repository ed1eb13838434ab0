//! What makes one host as good as another: program, version, home, and the environment that matters to Codex.
//!
//! The environment is kept as a digest: it may contain secrets, and a key is stored and shown.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Variables that change how Codex finds programs and reaches the network; with them those that begin like `PREFIXES`.
const NAMES: &[&str] =
    &["PATH", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR"];
/// Variables that Codex reads for itself.
const PREFIXES: &[&str] = &["OPENAI_", "CODEX_"];

/// The kind of a host. Two conversations with the same key can share one.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct HostKey {
    /// The program.
    pub binary: PathBuf,
    /// The version it was found to be.
    pub version: String,
    /// Where Codex keeps its things; `None` if it was not configured and the user has no home.
    pub codex_home: Option<PathBuf>,
    /// A digest of the environment that matters.
    pub environment: String,
}

/// Digests what matters of a composed environment, the variables of these names (also that one is not set), and all of
/// what was added to it on purpose. The order of the variables does not count; of two with one name the last one does,
/// as it does for a program.
pub(crate) fn digest(
    composed: &[(OsString, OsString)],
    named: &BTreeSet<String>,
    added: &[(OsString, OsString)],
) -> String {
    let mut relevant: BTreeMap<&OsStr, Option<&OsStr>> =
        named.iter().map(|name| (OsStr::new(name), None)).collect();
    let is_named = |name: &OsStr| name.to_str().is_some_and(|name| named.contains(name));
    let counts = |(name, _): &&(OsString, OsString)| matters(name) || is_named(name);
    for (name, value) in composed.iter().filter(counts).chain(added) {
        relevant.insert(name, Some(value));
    }
    let mut bytes = Vec::new();
    for (name, value) in relevant {
        // Neither a name nor a value can contain a zero, so that a zero says that there is none.
        let value = value.map_or(&b"\0"[..], OsStr::as_encoded_bytes);
        bytes.extend([name.as_encoded_bytes(), b"\0", value, b"\0"].concat());
    }
    Uuid::new_v5(&Uuid::NAMESPACE_OID, &bytes).simple().to_string()
}

fn matters(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_uppercase();
    NAMES.contains(&name.as_str())
        || (PREFIXES.iter().any(|prefix| name.starts_with(prefix)) && name != "CODEX_HOME")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(pairs: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        pairs.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))).collect()
    }

    #[test]
    fn only_what_matters_to_codex_makes_another_kind_of_host() {
        let base = variables(&[("PATH", "/bin"), ("OPENAI_API_KEY", "a"), ("HOME", "/h")]);
        let with = |name: &str, value: &str| {
            let mut changed = base.clone();
            changed.retain(|(existing, _)| existing != name);
            changed.push((name.into(), value.into()));
            digest(&changed, &BTreeSet::new(), &[])
        };
        let same = digest(&base, &BTreeSet::new(), &[]);
        assert_eq!(with("PATH", "/bin"), same, "the order does not count");
        assert_eq!(with("TERM_SESSION", "7"), same);
        for (name, value) in
            [("PATH", "/x"), ("OPENAI_API_KEY", "b"), ("https_proxy", "p"), ("CODEX_API_KEY", "k")]
        {
            assert_ne!(with(name, value), same, "{name}");
        }
        assert_ne!(
            digest(&base, &BTreeSet::new(), &variables(&[("ANY", "1")])),
            same,
            "what was added on purpose counts"
        );
        assert!(!same.contains("/bin"));
    }

    #[test]
    fn a_variable_that_somebody_refers_to_counts_and_so_does_that_it_is_not_set() {
        let named = BTreeSet::from(["TOKEN".to_owned()]);
        let of = |pairs: &[(&str, &str)]| digest(&variables(pairs), &named, &[]);
        let (one, other, unset) = (of(&[("TOKEN", "1")]), of(&[("TOKEN", "2")]), of(&[("OTHER", "1")]));
        let indifferent = digest(&variables(&[("TOKEN", "1")]), &BTreeSet::new(), &[]);
        let all = BTreeSet::from([one, other, unset, indifferent]);
        assert_eq!(all.len(), 4, "one that was started when nobody referred to it may have any value");
    }

    #[test]
    fn a_name_does_not_run_into_its_value() {
        let split = |name: &str, value: &str| digest(&[], &BTreeSet::new(), &variables(&[(name, value)]));
        assert_ne!(split("A", "BC"), split("AB", "C"));
    }
}
