//! Names that make a value secret: `password`, `API_KEY`, `x-auth-token`, `clientSecret`.
//!
//! Owns the table of names and how a name is read: from its end, because `token_count` is a count and `access_token` is
//! a token. Capitals and the marks between words do not matter. Whether a value is a secret is decided in `value.rs`.

use super::bytes::{ALNUM, DIGIT, LETTER, LOWER, UPPER, any};

/// How much a name says about its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// People choose the value, so it may be any word.
    Password,
    /// The value is secret unless it is clearly something else.
    Strong,
    /// The name is also used for other things; the value must look like a secret.
    Weak,
    /// The name is mostly used for other things; the value must look made up.
    Vague,
    /// Means a secret in the query of a URL only.
    Query,
    /// The header of HTTP: a scheme and credentials.
    Authorization,
    /// The headers of HTTP: names and values.
    Cookie,
    /// The value is a secret if it is the words of a wallet.
    Phrase,
}

impl Role {
    /// Whether the name alone makes most values secret.
    pub(super) fn is_strong(self) -> bool {
        matches!(self, Self::Password | Self::Strong)
    }
}

/// A name that makes a value secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Name {
    /// Kind of the value in the marker.
    pub(super) kind: &'static str,
    /// How much the name says.
    pub(super) role: Role,
    /// How it is written.
    pub(super) style: Style,
}

/// How a name is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// In capitals, as variables of the environment are.
    Capitals,
    /// With two dashes in front.
    Flag,
    /// With dashes between its words, as headers of HTTP are; no programming language has such names.
    Header,
    /// Otherwise.
    Plain,
}

/// Where in a name an entry may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// At the end, also of a longer word: `pgpassword`.
    End,
    /// As the last word: `db_pass`, not `compass`.
    Word,
    /// As the last word of several: `db_pass`, not `pass`.
    Following,
    /// As the last word, unless one of `NOT_IN_FRONT` is in front of it.
    Token,
}

struct Entry {
    /// In small letters, without marks between words.
    words: &'static str,
    place: Place,
    /// None if the text before the words decides.
    meaning: Option<(Role, &'static str)>,
}

const fn entry(words: &'static str, place: Place, role: Role, kind: &'static str) -> Entry {
    Entry { words, place, meaning: Some((role, kind)) }
}

const fn neutral(words: &'static str) -> Entry {
    Entry { words, place: Following, meaning: None }
}

use Place::{End, Following, Token, Word};
use Role::{Authorization, Cookie, Password, Phrase, Query, Strong, Vague, Weak};

/// Every name. The first line that matches wins.
#[rustfmt::skip]
const NAMES: &[Entry] = &[
    entry("authorization", Word, Authorization, "authorization"),
    entry("cookie", Word, Cookie, "cookie"),
    entry("password", End, Password, "password"),
    entry("passwords", End, Weak, "password"),
    entry("passwd", End, Password, "password"),
    entry("passphrase", End, Password, "password"),
    entry("passcode", End, Password, "password"),
    entry("passwort", End, Password, "password"),
    entry("pwd", End, Password, "password"),
    // The same in other languages; `foreign.rs` has those with other letters.
    entry("adgangskode", End, Password, "password"),
    entry("contrasena", End, Password, "password"),
    entry("contrasenia", End, Password, "password"),
    entry("geslo", Word, Password, "password"),
    entry("haslo", Word, Password, "password"),
    entry("heslo", Word, Password, "password"),
    entry("jelszo", Word, Password, "password"),
    entry("katasandi", End, Password, "password"),
    entry("kennwort", End, Password, "password"),
    entry("losenord", End, Password, "password"),
    entry("lozinka", Word, Password, "password"),
    entry("matkhau", Word, Password, "password"),
    entry("mdp", Word, Password, "password"),
    entry("motdepasse", End, Password, "password"),
    entry("nenosiri", Word, Password, "password"),
    entry("palavrapasse", End, Password, "password"),
    entry("parola", Word, Weak, "password"),
    entry("passord", End, Password, "password"),
    entry("salasana", End, Password, "password"),
    entry("senha", Word, Password, "password"),
    entry("sifre", Word, Password, "password"),
    entry("wachtwoord", End, Password, "password"),
    entry("pass", Following, Password, "password"),
    entry("pass", Word, Weak, "password"),
    entry("pw", Following, Password, "password"),
    entry("secretaccesskey", End, Strong, "aws-secret-key"),
    entry("accountkey", End, Strong, "azure-key"),
    entry("sharedaccesskey", End, Strong, "azure-key"),
    entry("secret", End, Strong, "secret"),
    entry("secrets", Word, Weak, "secret"),
    entry("phpsessid", Word, Strong, "secret"),
    entry("jsessionid", Word, Strong, "secret"),
    entry("apikey", End, Strong, "key"),
    entry("apikeys", End, Weak, "key"),
    entry("accesskey", End, Strong, "key"),
    entry("adminkey", End, Strong, "key"),
    entry("appkey", End, Strong, "key"),
    entry("applicationkey", End, Strong, "key"),
    entry("authkey", End, Strong, "key"),
    entry("clientkey", End, Strong, "key"),
    entry("consumerkey", End, Strong, "key"),
    entry("deploykey", End, Strong, "key"),
    entry("encryptionkey", End, Strong, "key"),
    entry("functionskey", End, Strong, "key"),
    entry("hmackey", End, Strong, "key"),
    entry("licensekey", End, Strong, "key"),
    entry("masterkey", End, Strong, "key"),
    entry("privatekey", End, Strong, "key"),
    entry("rolekey", End, Strong, "key"),
    entry("secretkey", End, Strong, "key"),
    entry("servicekey", End, Strong, "key"),
    entry("sessionkey", End, Strong, "key"),
    entry("sharedkey", End, Strong, "key"),
    entry("signingkey", End, Strong, "key"),
    entry("sshkey", End, Strong, "key"),
    entry("storagekey", End, Strong, "key"),
    entry("subscriptionkey", End, Strong, "key"),
    entry("webhookkey", End, Strong, "key"),
    entry("keymaterial", End, Strong, "key"),
    entry("accesstoken", End, Strong, "token"),
    entry("authtoken", End, Strong, "token"),
    entry("bearertoken", End, Strong, "token"),
    entry("bottoken", End, Strong, "token"),
    entry("idtoken", End, Strong, "token"),
    entry("refreshtoken", End, Strong, "token"),
    entry("securitytoken", End, Strong, "token"),
    entry("sessiontoken", End, Strong, "token"),
    entry("csrftoken", End, Weak, "token"),
    entry("xsrftoken", End, Weak, "token"),
    entry("token", Token, Weak, "token"),
    entry("jwt", Word, Weak, "token"),
    entry("bearer", Word, Weak, "token"),
    entry("auth", Token, Vague, "credential"),
    entry("credential", Token, Vague, "credential"),
    entry("credentials", Token, Vague, "credential"),
    entry("sharedaccesssignature", End, Strong, "signature"),
    entry("signature", Word, Query, "signature"),
    entry("sig", Word, Query, "signature"),
    entry("key", Word, Query, "key"),
    entry("code", Word, Query, "credential"),
    entry("session", Word, Query, "credential"),
    entry("sid", Word, Query, "credential"),
    entry("mnemonic", End, Phrase, "seed-phrase"),
    entry("phrase", End, Phrase, "seed-phrase"),
    entry("recoverywords", End, Phrase, "seed-phrase"),
    entry("seed", Word, Phrase, "seed-phrase"),
    entry("seedwords", End, Phrase, "seed-phrase"),
    // Words after a name that do not change what it means: `SECRET_KEY_BASE`, `password_confirmation`
    neutral("again"),
    neutral("base"),
    neutral("confirm"),
    neutral("confirmation"),
    neutral("current"),
    neutral("data"),
    neutral("dev"),
    neutral("encoded"),
    neutral("hex"),
    neutral("input"),
    neutral("live"),
    neutral("main"),
    neutral("new"),
    neutral("old"),
    neutral("plain"),
    neutral("plaintext"),
    neutral("primary"),
    neutral("prod"),
    neutral("production"),
    neutral("raw"),
    neutral("repeat"),
    neutral("secondary"),
    neutral("staging"),
    neutral("str"),
    neutral("test"),
    neutral("value"),
];

/// Words in front of `token` that make it a piece of text or a place in a list; and those in front of `auth` and
/// `credentials` that are in the logs of every build and server.
#[rustfmt::skip]
const NOT_IN_FRONT: &[&str] = &[
    "allow", "jobserver",
    "audio", "bos", "cancel", "cancellation", "cls", "completion", "continuation", "draft", "each", "end",
    "eos", "eot", "first", "image", "input", "last", "mask", "next", "output", "pad", "padding", "page",
    "per", "previous", "prompt", "sampled", "sep", "single", "special", "start", "stop", "sub", "sync",
    "text", "unk", "vision", "word",
];

/// Longer names are read by their end.
pub(super) const LONGEST: usize = 64;

/// Returns the slot of a pair of letters.
const fn slot(a: u8, b: u8) -> usize {
    (a.to_ascii_lowercase() & 31) as usize * 32 + (b.to_ascii_lowercase() & 31) as usize
}

/// For each pair of last letters the first entry that ends so, counted from one.
static FIRST: [u8; 1024] = index().0;
/// For each entry the next one of the same slot, counted from one.
static NEXT: [u8; NAMES.len()] = index().1;

const fn index() -> ([u8; 1024], [u8; NAMES.len()]) {
    assert!(NAMES.len() < u8::MAX as usize, "names are counted in a byte");
    let (mut first, mut next) = ([0; 1024], [0; NAMES.len()]);
    // From the end, so that the names of a slot stay in their order.
    let mut index = NAMES.len();
    while index > 0 {
        index -= 1;
        let words = NAMES[index].words.as_bytes();
        let slot = slot(words[words.len() - 2], words[words.len() - 1]);
        next[index] = first[slot];
        first[slot] = index as u8 + 1;
    }
    (first, next)
}

/// Reads `name`: an identifier, with dashes and dots, of at most `LONGEST` bytes.
pub(super) fn read(name: &[u8]) -> Option<Name> {
    let mut rest = name;
    // At most two words after a name are considered: `password_new_value`.
    for _ in 0..3 {
        let marks = rest.iter().rev().take_while(|byte| !LETTER.has(**byte)).count();
        let (words, marks) = rest.split_at(rest.len() - marks);
        // A version is no number of a name.
        if marks.contains(&b'.') {
            return None;
        }
        rest = words;
        let (entry, at) = find(rest)?;
        match entry.meaning {
            Some((role, kind)) => return Some(Name { kind, role, style: style(name) }),
            None => rest = &rest[..at],
        }
    }
    None
}

/// Finds the entry for a name that ends in a letter, and where it begins.
fn find(name: &[u8]) -> Option<(&'static Entry, usize)> {
    let [.., a, b] = name else { return None };
    let mut number = FIRST[slot(*a, *b)];
    while let Some(index) = usize::from(number).checked_sub(1) {
        let entry = &NAMES[index];
        if let Some(at) = begin_of(name, entry.words).filter(|at| entry.may_begin(name, *at)) {
            return Some((entry, at));
        }
        number = NEXT[index];
    }
    None
}

impl Entry {
    /// Whether the words of the entry may begin at `at`.
    fn may_begin(&self, name: &[u8], at: usize) -> bool {
        match self.place {
            End => true,
            Word => is_word(name, at),
            Following => is_word(name, at) && any(&name[..at], ALNUM),
            Token => is_word(name, at) && !is_piece_of_text(&name[..at]),
        }
    }
}

/// Whether a token after `front` is a piece of text or a place in a list.
fn is_piece_of_text(front: &[u8]) -> bool {
    let marks = front.iter().rev().take_while(|byte| !ALNUM.has(**byte)).count();
    let front = &front[..front.len() - marks];
    NOT_IN_FRONT.iter().any(|word| begin_of(front, word).is_some_and(|at| is_word(front, at)))
}

fn style(name: &[u8]) -> Style {
    if name.starts_with(b"--") {
        Style::Flag
    } else if name.contains(&b'-') {
        Style::Header
    } else if any(name, UPPER) && !any(name, LOWER) {
        Style::Capitals
    } else {
        Style::Plain
    }
}

/// Returns the place where `words` begin at the end of `name`, whatever the capitals and the marks between them.
fn begin_of(name: &[u8], words: &str) -> Option<usize> {
    let mut at = name.len();
    for wanted in words.bytes().rev() {
        // Marks are between words, not after the last.
        while at < name.len() && at > 0 && matches!(name[at - 1], b'_' | b'-' | b'.') {
            at -= 1;
        }
        at = at.checked_sub(1)?;
        if name[at].to_ascii_lowercase() != wanted {
            return None;
        }
    }
    Some(at)
}

/// Whether a word begins at `at`.
fn is_word(name: &[u8], at: usize) -> bool {
    let Some(before) = at.checked_sub(1).map(|before| name[before]) else { return true };
    !ALNUM.has(before) || DIGIT.has(before) || UPPER.has(name[at]) && LOWER.has(before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_from_its_end() {
        for (name, kind) in [
            ("password", Some("password")),
            ("PGPASSWORD", Some("password")),
            ("db.password", Some("password")),
            ("spring.datasource.password", Some("password")),
            ("userPass", Some("password")),
            ("DB_PW", Some("password")),
            ("passwordConfirmation", Some("password")),
            ("PASSWORD_1", Some("password")),
            ("GITHUB_TOKEN", Some("token")),
            ("x-auth-token", Some("token")),
            ("accessToken", Some("token")),
            ("--api-key", Some("key")),
            ("OPENAI_API_KEY", Some("key")),
            ("apikey", Some("key")),
            ("SECRET_KEY_BASE", Some("key")),
            ("client-key-data", Some("key")),
            ("aws_secret_access_key", Some("aws-secret-key")),
            ("SecretAccessKey", Some("aws-secret-key")),
            ("clientSecret", Some("secret")),
            ("Proxy-Authorization", Some("authorization")),
            ("Set-Cookie", Some("cookie")),
            ("token_count", None),
            ("max_tokens", None),
            ("tokenizer", None),
            ("bos_token", None),
            ("nextPageToken", None),
            ("password_field", None),
            ("PASSWORD_FILE", None),
            ("author", None),
            ("compass", None),
            ("monkey", None),
            ("primary_key", None),
            ("public_key", None),
            ("aws_access_key_id", None),
            ("secretName", None),
            ("cookie_jar.rs", None),
            ("data", None),
            ("_", None),
            ("12", None),
            ("", None),
        ] {
            let found = read(name.as_bytes()).filter(|name| name.role != Query);
            assert_eq!(found.map(|name| name.kind), kind, "{name}");
        }
    }
}
