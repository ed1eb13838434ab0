//! Where keys and passwords are kept.
//!
//! Owns the list of files. Public keys, configuration without secrets and lists of known hosts are not on it. To add a
//! place: a line in the table that fits. Called by `leak`.

use super::paths::fits;

/// Files, by the end of their path.
const FILES: &[&str] = &[
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ecdsa_sk",
    "id_ed25519",
    "id_ed25519_sk",
    ".netrc",
    "_netrc",
    ".pgpass",
    ".my.cnf",
    ".git-credentials",
    ".npmrc",
    ".pypirc",
    ".s3cfg",
    ".boto",
    ".vault-token",
    "application_default_credentials.json",
    "login.keychain",
    "login.keychain-db",
    "System.keychain",
    "key4.db",
    "logins.json",
    "Login Data",
    ".codex/auth.json",
    ".claude/.credentials.json",
    ".gemini/oauth_creds.json",
    ".aws/credentials",
    ".azure/accessTokens.json",
    ".azure/msal_token_cache.json",
    ".azure/msal_token_cache.bin",
    ".kube/config",
    ".docker/config.json",
    ".config/gh/hosts.yml",
    ".config/hub",
    ".config/rclone/rclone.conf",
    ".config/git/credentials",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".terraform.d/credentials.tfrc.json",
    ".talaria/key",
    ".talaria/config.toml",
    ".talaria/talaria.db",
    ".talaria/talaria.db-wal",
    ".talaria/talaria.db-shm",
    ".talaria/talaria.db-journal",
    ".talaria/engine.log",
    ".talaria/codex/auth.json",
    "etc/shadow",
    "etc/shadow-",
    "etc/gshadow",
    "etc/master.passwd",
    "etc/ssh/ssh_host_rsa_key",
    "etc/ssh/ssh_host_ecdsa_key",
    "etc/ssh/ssh_host_ed25519_key",
];

/// Files with the keys of a program under development: secret, but what one copies to a machine of one's own.
const ENVIRONMENTS: &[&str] =
    &[".env", ".env.local", ".env.*.local", ".env.prod*", ".env.stag*", ".env.dev*", ".envrc"];

/// Directories that are secret with everything in them.
const INSIDE: &[&str] = &[
    ".gnupg",
    ".password-store",
    ".aws/sso",
    ".aws/cli",
    ".config/gcloud",
    ".config/op",
    ".local/share/keyrings",
    "Library/Keychains",
    "secrets/kubernetes.io",
    "run/secrets",
    ".talaria/imports",
    ".talaria/run",
];

/// Directories that are secret as a whole, although not everything in them is.
const WHOLE: &[&str] =
    &[".ssh", ".aws", ".codex", ".azure", ".kube", ".docker", ".talaria", ".talaria/codex"];

/// Prefixes of files in `.ssh` that are not secret.
const PUBLIC: &[&str] = &["config", "known_hosts", "authorized_keys", "allowed_signers", "environment", "rc"];

/// Does the path name something that must not leave the machine?
pub(super) fn is_secret(path: &str) -> bool {
    let path = path.split(';').next().unwrap_or(path);
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let Some(last) = parts.last() else { return false };
    if last.ends_with(".pub") {
        return false;
    }
    let in_ssh = parts.iter().position(|part| *part == ".ssh").map(|at| &parts[at + 1..]);
    if let Some([first, ..]) = in_ssh {
        return !PUBLIC.iter().any(|public| first.starts_with(public));
    }
    let environment = matches!(parts.as_slice(), ["proc", _, "environ"]);
    environment
        || FILES.iter().any(|file| ends_with(&parts, file))
        || INSIDE.iter().any(|directory| contains(&parts, directory))
        || WHOLE.iter().any(|directory| ends_with(&parts, directory) || ends_with_all_of(&parts, directory))
}

/// Does the path name a file with the keys of a program under development?
pub(super) fn is_environment(path: &str) -> bool {
    let last = path.split(';').next().unwrap_or(path).rsplit('/').next().unwrap_or_default();
    ENVIRONMENTS.iter().any(|known| equal(&[last], &[known]))
}

fn ends_with(parts: &[&str], known: &str) -> bool {
    let known: Vec<&str> = known.split('/').collect();
    parts.len() >= known.len() && equal(&parts[parts.len() - known.len()..], &known)
}

fn ends_with_all_of(parts: &[&str], directory: &str) -> bool {
    matches!(parts, [before @ .., "*"] if ends_with(before, directory))
}

fn contains(parts: &[&str], known: &str) -> bool {
    let known: Vec<&str> = known.split('/').collect();
    parts.windows(known.len()).any(|window| equal(window, &known))
}

/// A pattern of the command line fits the name, or the name a pattern of the table; a bare star fits too much to mean
/// anything.
fn equal(parts: &[&str], known: &[&str]) -> bool {
    let are_equal = |part: &str, name: &str| fits(part, name) || name.contains('*') && fits(name, part);
    parts.iter().zip(known).all(|(part, name)| *part != "*" && are_equal(part, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_entry_of_each_list_is_secret_and_its_neighbour_is_not() {
        for file in FILES {
            assert!(is_secret(&format!("/home/dev/{file}")), "{file}");
            assert!(
                !is_secret(&format!("/home/dev/{file}x")) || FILES.contains(&format!("{file}x").as_str()),
                "{file}"
            );
        }
        for directory in INSIDE {
            for below in ["", "/a", "/a/b", "/*"] {
                assert!(is_secret(&format!("/home/dev/{directory}{below}")), "{directory}{below}");
            }
        }
        for directory in WHOLE {
            for below in ["", "/", "/*"] {
                assert!(is_secret(&format!("/home/dev/{directory}{below}")), "{directory}{below}");
            }
            assert!(
                *directory == ".ssh" || !is_secret(&format!("/home/dev/{directory}/other")),
                "{directory}"
            );
        }
        for public in PUBLIC {
            assert!(!is_secret(&format!("/home/dev/.ssh/{public}")), "{public}");
        }
        for environment in
            [".env", ".env.local", ".env.a.local", ".env.prod", ".env.staging", ".env.dev", ".envrc"]
        {
            assert!(is_environment(&format!("app/{environment}")), "{environment}");
        }
        assert!(!is_environment(".env.example") && !is_environment("env"));
    }
}
