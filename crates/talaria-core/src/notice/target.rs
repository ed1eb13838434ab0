//! Target of a notice, as a person writes it: `local`, `command:…`, `webhook:…`, `ntfy:…`, `email:…`.
//!
//! Owns the notation, and nothing about sending. Two texts that mean the same target are equal after parsing, and a
//! target written out parses to itself. Messages never repeat an address, because addresses may contain keys. Called by
//! the command line, the bridge, and the engine when a notice is due.

use std::fmt;
use std::str::FromStr;

use url::Url;

use super::words;

const ALLOWED: &str = "local, command:PROGRAM [ARGUMENTS], webhook:https://…, ntfy:TOPIC, email:ADDRESS";

/// Platforms that people will try, because other programs take them.
const LATER: [&str; 13] = [
    "feishu", "lark", "telegram", "slack", "discord", "matrix", "teams", "whatsapp", "signal", "dingtalk",
    "wecom", "weixin", "sms",
];

/// Target of a notice.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// The desktop or the terminal of the user.
    Local,
    /// A program with its arguments, which gets the notice as JSON on standard input.
    Command(Vec<String>),
    /// An address that the notice is posted to as JSON, signed.
    Webhook(Url),
    /// A topic of an ntfy server.
    Ntfy(Topic),
    /// A mailbox.
    Email(Mailbox),
}

/// A topic of an ntfy server.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Topic {
    /// The server, with a `/` at its end; `None` is the configured one.
    pub server: Option<Url>,
    /// The name, letters, digits, `-` and `_`.
    pub name: String,
}

/// A mail address; it contains no character that could end a header or an SMTP command.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Mailbox(String);

/// A text that names no target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadTarget(String);

impl Target {
    /// Names the target without what may be a key in it: for logs, lists and errors.
    pub fn label(&self) -> String {
        match self {
            Self::Local => "local".to_owned(),
            Self::Command(words) => format!("command:{}", words.first().map_or("", String::as_str)),
            Self::Webhook(url) => format!("webhook:{}", origin(url)),
            Self::Ntfy(Topic { server: Some(server), .. }) => format!("ntfy:{}", origin(server)),
            Self::Ntfy(Topic { server: None, .. }) => "ntfy".to_owned(),
            Self::Email(mailbox) => format!("email:{mailbox}"),
        }
    }
}

impl FromStr for Target {
    type Err = BadTarget;

    fn from_str(text: &str) -> Result<Self, BadTarget> {
        let text = text.trim();
        let bad = |message: String| Err(BadTarget(message));
        let Some((scheme, rest)) = text.split_once(':') else {
            return match text {
                "local" => Ok(Self::Local),
                "" => bad(format!("a target must not be empty; allowed: {ALLOWED}")),
                "command" | "webhook" | "ntfy" | "email" => {
                    bad(format!("{text} needs to know where: write {text}:…; allowed: {ALLOWED}"))
                }
                _ => bad(format!("no such target; allowed: {ALLOWED}")),
            };
        };
        let rest = rest.trim();
        match scheme {
            "local" => bad("local takes no value: write local".to_owned()),
            "command" => command(rest),
            "webhook" => {
                Ok(Self::Webhook(address(rest).map_err(|why| BadTarget(format!("webhook: {why}")))?))
            }
            "ntfy" => {
                Ok(Self::Ntfy(rest.parse().map_err(|BadTarget(why)| BadTarget(format!("ntfy: {why}")))?))
            }
            "email" => Ok(Self::Email(rest.parse()?)),
            "http" | "https" => bad(format!("write webhook:{scheme}://… to post to an address")),
            "mailto" => bad("write email:ADDRESS".to_owned()),
            _ if LATER.contains(&scheme.to_ascii_lowercase().as_str()) => bad(format!(
                "{} is not there yet: chat platforms come with a later version; allowed: {ALLOWED}",
                scheme.to_ascii_lowercase()
            )),
            _ => bad(format!("no such target; allowed: {ALLOWED}")),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local => f.write_str("local"),
            Self::Command(command) => write!(f, "command:{}", words::join(command)),
            Self::Webhook(url) => write!(f, "webhook:{url}"),
            Self::Ntfy(Topic { server: Some(server), name }) => write!(f, "ntfy:{server}{name}"),
            Self::Ntfy(Topic { server: None, name }) => write!(f, "ntfy:{name}"),
            Self::Email(mailbox) => write!(f, "email:{mailbox}"),
        }
    }
}

impl FromStr for Topic {
    type Err = BadTarget;

    fn from_str(text: &str) -> Result<Self, BadTarget> {
        let (server, name) = match text.contains("://") {
            false => (None, text.to_owned()),
            true => {
                let mut url = address(text).map_err(BadTarget)?;
                if url.query().is_some() {
                    return Err(BadTarget("write https://SERVER/TOPIC without a ?".to_owned()));
                }
                let (path, name) = url.path().rsplit_once('/').unwrap_or_default();
                let (path, name) = (format!("{path}/"), name.to_owned());
                url.set_path(&path);
                (Some(url), name)
            }
        };
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if name.is_empty() || name.len() > 64 || !name.chars().all(is_allowed) {
            return Err(BadTarget(
                "a topic is 1 to 64 letters, digits, - and _; write ntfy:TOPIC or ntfy:https://SERVER/TOPIC"
                    .to_owned(),
            ));
        }
        Ok(Self { server, name })
    }
}

impl Mailbox {
    /// Returns the address as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Mailbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Mailbox {
    type Err = BadTarget;

    fn from_str(text: &str) -> Result<Self, BadTarget> {
        let is_local = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-/=?^_`{|}~.".contains(c);
        let is_label = |label: &str| {
            (1..=63).contains(&label.len())
                && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
                && !label.starts_with('-')
                && !label.ends_with('-')
        };
        let is_name = |part: &str| !part.is_empty() && part.chars().all(is_local);
        match text.split_once('@') {
            Some((local, domain))
                if local.len() <= 64
                    && local.split('.').all(is_name)
                    && domain.len() <= 253
                    && domain.split('.').all(is_label) =>
            {
                Ok(Self(format!("{local}@{}", domain.to_ascii_lowercase())))
            }
            _ => Err(BadTarget("email: write an address such as ada@example.org".to_owned())),
        }
    }
}

fn command(text: &str) -> Result<Target, BadTarget> {
    let words = words::split(text).map_err(|why| BadTarget(format!("command: {why}")))?;
    match words.first().map(String::as_str) {
        None | Some("") => {
            Err(BadTarget("command: write the program, command:PROGRAM [ARGUMENTS]".to_owned()))
        }
        Some(program) if program.contains('/') && !program.starts_with(['/', '~']) => Err(BadTarget(
            "command: the engine works elsewhere: write the whole path of the program".to_owned(),
        )),
        Some(_) => Ok(Target::Command(words)),
    }
}

/// Reads the address of a server that something is posted to; the error does not repeat it.
fn address(text: &str) -> Result<Url, String> {
    // The URL parser tolerates slashes and line ends; the intended address would be a guess.
    let begins_with_host = text.split_once("://").is_some_and(|(_, rest)| !rest.starts_with(['/', '\\']));
    if text.contains(|c: char| c.is_control() || c.is_whitespace()) || !begins_with_host {
        return Err("not an address; write https://…".to_owned());
    }
    let url = Url::parse(text).map_err(|why| format!("not an address: {why}; write https://…"))?;
    if !matches!(url.scheme(), "https" | "http") {
        return Err("only https:// is allowed, and http:// to hosts in notify.allow_private".to_owned());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("it must not hold a user or a password".to_owned());
    }
    if url.fragment().is_some() {
        return Err("it must not hold a #".to_owned());
    }
    Ok(url)
}

fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}
