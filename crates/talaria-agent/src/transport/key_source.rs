//! Finds the key of a provider: in an environment variable, or in a file that only its owner can read.
//!
//! Read for each request, so that a changed key needs no restart. Messages name the place, never the content.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::key::ApiKey;

/// A longer file is the wrong file.
const LONGEST: u64 = 16 * 1024;

/// Whether a provider can be asked with a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyState {
    /// It asks for none.
    NotNeeded,
    /// It is here.
    Found {
        /// The key.
        key: ApiKey,
        /// Where it was found: the name of a variable or of a file.
        source: String,
    },
    /// It is in none of these places.
    Missing {
        /// Names of variables.
        variables: Vec<String>,
    },
    /// It is there and is not used.
    Refused {
        /// Where.
        source: String,
        /// Why.
        why: String,
        /// What to do.
        remedy: String,
    },
}

impl KeyState {
    /// Looks for a key: in the file if there is one, else in the variables, in their order.
    pub fn find(
        file: Option<&Path>,
        variables: &[String],
        variable: impl Fn(&str) -> Option<String>,
    ) -> Self {
        if let Some(file) = file {
            return read_file(file);
        }
        if variables.is_empty() {
            return Self::NotNeeded;
        }
        for name in variables {
            // An empty variable is how shells switch one off.
            let Some(text) = variable(name).filter(|text| !text.trim().is_empty()) else { continue };
            return match ApiKey::parse(&text) {
                Ok(key) => Self::Found { key, source: name.clone() },
                Err(why) => Self::Refused {
                    source: name.clone(),
                    why: why.to_string(),
                    remedy: format!("set {name} to the key alone"),
                },
            };
        }
        Self::Missing { variables: variables.to_vec() }
    }

    /// Looks for the keys of a provider. With a pool every file and variable has one of its own; without, there is one state.
    pub fn find_all(
        files: &[PathBuf],
        variables: &[String],
        has_pool: bool,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Vec<Self> {
        if !has_pool {
            return vec![Self::find(files.first().map(PathBuf::as_path), variables, variable)];
        }
        let of_files = files.iter().map(|file| read_file(file));
        let one = |name: &String| Self::find(None, std::slice::from_ref(name), &variable);
        of_files.chain(variables.iter().map(one)).collect()
    }

    /// Whether a provider with these keys can be asked: one key is enough.
    pub fn best(states: Vec<Self>) -> Self {
        let mut missing = Vec::new();
        let mut refused = None;
        for state in states {
            match state {
                Self::Missing { variables } => missing.extend(variables),
                Self::Refused { .. } => refused = refused.or(Some(state)),
                Self::Found { .. } | Self::NotNeeded => return state,
            }
        }
        refused.unwrap_or(Self::Missing { variables: missing })
    }

    /// The key, if there is one.
    pub fn key(&self) -> Option<&ApiKey> {
        match self {
            Self::Found { key, .. } => Some(key),
            _ => None,
        }
    }
}

fn read_file(file: &Path) -> KeyState {
    let source = file.display().to_string();
    let refused = |why: String, remedy: String| KeyState::Refused { source: source.clone(), why, remedy };
    let create = || format!("write the key into {source}, then run chmod 600 {source}");
    let looked = match fs::metadata(file) {
        Ok(looked) => looked,
        Err(why) => return refused(format!("cannot be read: {why}"), create()),
    };
    if !looked.is_file() || looked.len() > LONGEST {
        return refused("is not a file with a key".to_owned(), create());
    }
    if looked.mode() & 0o077 != 0 {
        let why = format!("can be read by others (mode {:o})", looked.mode() & 0o777);
        return refused(why, format!("run chmod 600 {source}"));
    }
    let text = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(why) => return refused(format!("cannot be read: {why}"), create()),
    };
    match ApiKey::parse(&text) {
        Ok(key) => KeyState::Found { key, source },
        Err(why) => refused(why.to_string(), create()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn find(variables: &[&str], environment: &[(&str, &str)]) -> KeyState {
        let names: Vec<String> = variables.iter().map(|name| (*name).to_owned()).collect();
        KeyState::find(None, &names, |name| {
            environment.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_first_variable_that_is_set_holds_the_key() {
        assert_eq!(find(&[], &[]), KeyState::NotNeeded);
        assert_eq!(
            find(&["A", "B"], &[("A", "  ")]),
            KeyState::Missing { variables: vec!["A".into(), "B".into()] }
        );
        let found = find(&["A", "B"], &[("B", "key\n"), ("C", "x")]);
        assert_eq!(found, KeyState::Found { key: ApiKey::parse("key").unwrap(), source: "B".into() });
        assert!(matches!(find(&["A"], &[("A", "two words")]), KeyState::Refused { .. }));
    }

    #[test]
    fn a_pool_has_a_state_for_each_key_and_one_good_key_is_enough() {
        let names = ["A".to_owned(), "B".to_owned(), "C".to_owned()];
        let environment = |name: &str| match name {
            "B" => Some("two words".to_owned()),
            "C" => Some("key".to_owned()),
            _ => None,
        };
        let states = KeyState::find_all(&[], &names, true, environment);
        assert!(matches!(
            &states[..],
            [KeyState::Missing { .. }, KeyState::Refused { .. }, KeyState::Found { .. }]
        ));
        assert!(matches!(KeyState::best(states.clone()), KeyState::Found { source, .. } if source == "C"));
        assert!(matches!(KeyState::best(states[..2].to_vec()), KeyState::Refused { .. }));
        let missing = KeyState::best(KeyState::find_all(&[], &names, true, |_| None));
        assert_eq!(missing, KeyState::Missing { variables: names.to_vec() });
        assert_eq!(KeyState::find_all(&[], &names, false, environment).len(), 1);
    }

    #[test]
    fn a_file_that_others_can_read_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("key");
        let set_mode = |mode| fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        fs::write(&file, "sk-in-a-file\n").unwrap();
        for mode in [0o640, 0o604, 0o644] {
            set_mode(mode);
            let state = KeyState::find(Some(&file), &[], |_| None);
            let KeyState::Refused { why, remedy, .. } = &state else { panic!("{mode:o}: {state:?}") };
            assert!(why.contains("can be read by others") && remedy.contains("chmod 600"), "{state:?}");
        }
        set_mode(0o600);
        let state = KeyState::find(Some(&file), &[], |_| None);
        assert_eq!(state.key(), Some(&ApiKey::parse("sk-in-a-file").unwrap()));
        assert!(!format!("{state:?}").contains("sk-in"), "{state:?}");
        fs::write(&file, "").unwrap();
        assert!(KeyState::find(Some(&file), &[], |_| None).key().is_none());
        assert!(KeyState::find(Some(&folder.path().join("none")), &[], |_| None).key().is_none());
    }
}
