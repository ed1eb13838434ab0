//! The dependencies obey `deny.toml`: licences, bans, sources, and a reason for every duplicate.
//!
//! cargo-deny is too heavy for the ordinary run. This reads the same file and `cargo metadata` for this platform. Advisories need the
//! network and are left to cargo-deny.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use toml_edit::DocumentMut;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap()
}

struct Policy(DocumentMut);

impl Policy {
    fn read(text: &str) -> Self {
        Self(text.parse().unwrap())
    }

    fn allows(&self, name: &str, licence: &str) -> bool {
        let licenses = &self.0["licenses"];
        let lists = |list: Option<&toml_edit::Array>| {
            list.is_some_and(|list| list.iter().any(|known| known.as_str() == Some(licence)))
        };
        let exceptions = licenses.get("exceptions").and_then(|list| list.as_array()).into_iter().flatten();
        let is_excepted = |entry: &toml_edit::Value| {
            let entry = entry.as_inline_table().unwrap();
            entry["crate"].as_str() == Some(name) && lists(entry["allow"].as_array())
        };
        lists(licenses["allow"].as_array()) || exceptions.into_iter().any(is_excepted)
    }

    /// The crates of a list, each with a reason.
    fn listed(&self, list: &str) -> BTreeSet<String> {
        let entries = self.0["bans"][list].as_array().unwrap();
        let read = |entry: &toml_edit::Value| {
            let entry = entry.as_inline_table().unwrap();
            let reason = entry["reason"].as_str().unwrap_or_default();
            assert!(!reason.is_empty(), "without a reason: {entry}");
            entry["crate"].as_str().unwrap().to_owned()
        };
        entries.iter().map(read).collect()
    }

    /// Violations of these packages.
    fn problems(&self, packages: &[Value]) -> Vec<String> {
        let text = |package: &Value, key: &str| package[key].as_str().unwrap_or_default().to_owned();
        let (banned, skipped) = (self.listed("deny"), self.listed("skip"));
        let mut problems = Vec::new();
        let mut versions: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for package in packages {
            let (name, version) = (text(package, "name"), text(package, "version"));
            let licence = text(package, "license");
            if !Expression::is_covered(&licence, |word| self.allows(&name, word)) {
                problems.push(format!("{name} {version}: the licence {licence:?} is not allowed"));
            }
            if banned.contains(&name) {
                problems.push(format!("{name} {version} is banned"));
            }
            let source = text(package, "source");
            if !source.is_empty() && !source.starts_with("registry+") {
                problems.push(format!("{name} {version} does not come from the registry: {source}"));
            }
            versions.entry(name).or_default().push(version);
        }
        for (name, versions) in &versions {
            let has_reason = |version: &String| {
                skipped.iter().filter_map(|skip| skip.split_once('@')).any(|(skip, prefix)| {
                    skip == name && (version == prefix || version.starts_with(&format!("{prefix}.")))
                })
            };
            if versions.iter().filter(|version| !has_reason(version)).count() > 1 {
                problems
                    .push(format!("{name} is there as {}, without a reason in `skip`", versions.join(", ")));
            }
        }
        for skip in &skipped {
            let (name, prefix) = skip.split_once('@').unwrap();
            let all = versions.get(name).map_or(&[][..], Vec::as_slice);
            if all.len() < 2 || !all.iter().any(|version| version.starts_with(prefix)) {
                problems.push(format!("{skip} is not there twice any more: remove it from `skip`"));
            }
        }
        problems
    }
}

/// An SPDX expression; `/` is an old way to write OR.
struct Expression<'a> {
    words: Vec<&'a str>,
    at: usize,
}

impl Expression<'_> {
    fn is_covered(text: &str, allows: impl Fn(&str) -> bool + Copy) -> bool {
        let spaced = text.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
        let mut expression = Expression { words: spaced.split_whitespace().collect(), at: 0 };
        !expression.words.is_empty() && expression.either(allows) && expression.at == expression.words.len()
    }

    fn skip(&mut self, word: &str) -> bool {
        let is_next = self.words.get(self.at) == Some(&word);
        self.at += usize::from(is_next);
        is_next
    }

    fn either(&mut self, allows: impl Fn(&str) -> bool + Copy) -> bool {
        let mut covered = self.both(allows);
        while self.skip("OR") {
            covered |= self.both(allows);
        }
        covered
    }

    fn both(&mut self, allows: impl Fn(&str) -> bool + Copy) -> bool {
        let mut covered = self.one(allows);
        while self.skip("AND") {
            covered &= self.one(allows);
        }
        covered
    }

    fn one(&mut self, allows: impl Fn(&str) -> bool + Copy) -> bool {
        if self.skip("(") {
            let covered = self.either(allows);
            return self.skip(")") && covered;
        }
        let Some(word) = self.words.get(self.at).copied() else { return false };
        self.at += 1;
        // An exception only adds rights.
        if self.skip("WITH") {
            self.at += 1;
        }
        allows(word)
    }
}

/// The packages that are built for this platform.
fn packages() -> Vec<Value> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = Command::new(rustc).arg("-vV").output().unwrap().stdout;
    let version = String::from_utf8(version).unwrap();
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).unwrap().to_owned();
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--offline", "--locked", "--filter-platform", &host])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

#[test]
fn every_dependency_is_one_that_deny_toml_allows() {
    let policy = Policy::read(&std::fs::read_to_string(root().join("deny.toml")).unwrap());
    let packages = packages();
    assert!(packages.len() > 100, "only {} packages", packages.len());
    let problems = policy.problems(&packages);
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn what_is_not_allowed_is_seen() {
    let policy = Policy::read(
        "[licenses]\nallow = ['MIT', 'ISC']\nexceptions = [{ crate = 'weak', allow = ['MPL-2.0'] }]\n[bans]\ndeny = [{ crate = 'openssl', reason = 'r' }]\n\
         skip = [{ crate = 'old@1', reason = 'r' }]\n",
    );
    let package = |name: &str, version: &str, license: &str, source: &str| serde_json::json!({ "name": name, "version": version, "license": license, "source": source });
    let twice = |name: &str| [package(name, "1.0.0", "MIT", ""), package(name, "2.0.0", "MIT", "")];
    let problems = policy.problems(
        &[
            &[
                package("openssl", "0.10.0", "MIT", "registry+x"),
                package("copyleft", "1.0.0", "GPL-3.0-only", ""),
                package("weak", "1.0.0", "MPL-2.0", ""),
                package("other", "1.0.0", "MPL-2.0", ""),
                package("both", "1.0.0", "MIT AND GPL-3.0-only", ""),
                package("silent", "1.0.0", "", ""),
                package("forked", "1.0.0", "(GPL-3.0-only OR MIT) AND ISC", "git+x"),
            ][..],
            &twice("old"),
            &twice("new"),
        ]
        .concat(),
    );
    let expected = [
        "openssl 0.10.0 is banned",
        "copyleft 1.0.0: the licence \"GPL-3.0-only\" is not allowed",
        "other 1.0.0: the licence \"MPL-2.0\" is not allowed",
        "both 1.0.0: the licence \"MIT AND GPL-3.0-only\" is not allowed",
        "silent 1.0.0: the licence \"\" is not allowed",
        "forked 1.0.0 does not come from the registry: git+x",
        "new is there as 1.0.0, 2.0.0, without a reason in `skip`",
    ];
    assert_eq!(problems, expected);
    let stale = policy.problems(&[package("old", "1.0.0", "MIT", "")]);
    assert_eq!(stale, ["old@1 is not there twice any more: remove it from `skip`"]);
    let is_covered = |text| Expression::is_covered(text, |word| ["MIT", "Apache-2.0"].contains(&word));
    assert!(is_covered("Unlicense/MIT") && is_covered("Apache-2.0 WITH LLVM-exception OR GPL-2.0"));
    assert!(!is_covered("MIT AND") && !is_covered("(MIT") && !is_covered("MIT MIT"));
}
