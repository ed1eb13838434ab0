//! The section `[notify]`: settings of notification targets, and their notation.
//!
//! No secret is in the file: a key names a file or an environment variable that contains it. Messages never
//! repeat a value, because people write the secret itself where its name belongs. Called through the table of
//! keys.

use std::fmt;

use toml_edit::Item;
use url::{Host, Url};

use super::Config;
use super::article;
use super::keys::Wrong;
use crate::notice::{Mailbox, Target};

/// The section `[notify]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NotifyConfig {
    /// What webhooks are signed with.
    pub webhook_secret: SecretPlace,
    /// Which hosts may be reached although their addresses are private, and without TLS.
    pub allow_private: Vec<PrivateHost>,
    /// The ntfy server of targets that name only a topic.
    pub ntfy_server: Option<Url>,
    /// The access token for it.
    pub ntfy_token: SecretPlace,
    /// Who takes mail.
    pub email_server: Option<MailServer>,
    /// Sender of mail.
    pub email_from: Option<Mailbox>,
    /// Whom the mail server knows us as.
    pub email_user: Option<String>,
    /// The password of that user.
    pub email_password: SecretPlace,
    /// How many attempts are made.
    pub attempts: Option<u32>,
}

/// Location of a secret; the file takes precedence over the variable.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SecretPlace {
    /// A file that contains it; as written, a leading `~` included.
    pub file: Option<String>,
    /// An environment variable of the engine that contains it.
    pub env: Option<String>,
}

impl SecretPlace {
    /// Whether a location is configured.
    pub fn is_set(&self) -> bool {
        self.file.is_some() || self.env.is_some()
    }
}

/// A host that may have a private address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrivateHost {
    /// Its name or address, in lower case, an IPv6 address in brackets.
    pub host: String,
    /// The only port that is allowed; `None` is every port.
    pub port: Option<u16>,
}

/// A server that takes mail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MailServer {
    /// How the connection is protected.
    pub security: MailSecurity,
    /// Its name or address.
    pub host: String,
    /// Its port.
    pub port: u16,
}

/// How a connection to a mail server is protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MailSecurity {
    /// Not at all: `smtp://`.
    Plain,
    /// After the greeting, and never without: `smtp+starttls://`.
    StartTls,
    /// From the first byte: `smtps://`.
    Tls,
}

/// A missing setting for a target.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{target} {why}")]
pub struct NotReady {
    /// The target, without what may be a key in it.
    pub target: String,
    /// The missing setting, and the key to set.
    pub why: &'static str,
}

impl NotifyConfig {
    /// Says whether `target` could be sent to at all with these settings.
    pub fn ready(&self, target: &Target) -> Result<(), NotReady> {
        let why = match target {
            Target::Local | Target::Command(_) => None,
            Target::Webhook(url) if !self.may_be_reached(url) => Some(NO_TLS),
            Target::Webhook(_) if !self.webhook_secret.is_set() => {
                Some("cannot be signed: set notify.webhook_secret_file or notify.webhook_secret_env")
            }
            Target::Ntfy(topic) => {
                let server = topic.server.as_ref().or(self.ntfy_server.as_ref());
                server.is_some_and(|server| !self.may_be_reached(server)).then_some(NO_TLS)
            }
            Target::Email(_) => self.mail_lacks(),
            Target::Webhook(_) => None,
        };
        why.map_or(Ok(()), |why| Err(NotReady { target: target.label(), why }))
    }

    /// May this address be private?
    pub fn is_permitted(&self, url: &Url) -> bool {
        self.allow_private.iter().any(|entry| entry.matches(url))
    }

    fn may_be_reached(&self, url: &Url) -> bool {
        url.scheme() == "https" || self.is_permitted(url)
    }

    fn mail_lacks(&self) -> Option<&'static str> {
        let Some(server) = &self.email_server else {
            return Some(
                "needs a mail server: set notify.email_server, for example smtps://mail.example.org",
            );
        };
        match (&self.email_user, self.email_password.is_set()) {
            _ if self.email_from.is_none() => Some("needs a sender: set notify.email_from"),
            (Some(_), false) => {
                Some("needs a password: set notify.email_password_file or notify.email_password_env")
            }
            (None, true) => Some("has a password but no user: set notify.email_user"),
            (Some(_), true) if server.security == MailSecurity::Plain && !server.is_here() => {
                Some("would send the password unprotected: use smtps:// or smtp+starttls://")
            }
            _ => None,
        }
    }
}

const NO_TLS: &str = "is not protected: use https://, or list the host in notify.allow_private";

impl MailServer {
    /// Is it on this machine, as its address says?
    pub fn is_here(&self) -> bool {
        self.host == "localhost"
            || self.host.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback())
    }
}

impl PrivateHost {
    /// Is it the host of this URL, and the port?
    pub fn matches(&self, url: &Url) -> bool {
        let port = url.port_or_known_default();
        Some(self.host.as_str()) == url.host_str() && self.port.is_none_or(|only| Some(only) == port)
    }
}

impl fmt::Display for PrivateHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            Some(port) => write!(f, "{}:{port}", self.host),
            None => f.write_str(&self.host),
        }
    }
}

/// Reads the hosts that may be private.
pub(super) fn allow_private(item: &Item, config: &mut Config) -> Vec<Wrong> {
    private_hosts(item, &mut config.notify.allow_private)
}

/// Reads a list of hosts that may have private addresses.
pub(super) fn private_hosts(item: &Item, hosts: &mut Vec<PrivateHost>) -> Vec<Wrong> {
    let Some(list) = item.as_array() else {
        let message = format!("must be a list of hosts, not {}", article(item.type_name()));
        return vec![Wrong { message, hint: Some("write [\"localhost:8080\"]".to_owned()), start: None }];
    };
    let mut wrong = Vec::new();
    for value in list {
        match value.as_str().and_then(private_host) {
            Some(host) => hosts.push(host),
            None => wrong.push(Wrong {
                message: "a host is a name or an address, with a port or without: \"localhost:8080\""
                    .to_owned(),
                hint: None,
                start: value.span().map(|span| span.start),
            }),
        }
    }
    wrong
}

fn private_host(text: &str) -> Option<PrivateHost> {
    // The address parser normalises all notations of a host, as for targets.
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') || host.ends_with(']') => {
            (host, Some(port.parse().ok().filter(|port: &u16| *port != 0)?))
        }
        _ => (text, None),
    };
    let is_bare_v6 = host.parse::<std::net::Ipv6Addr>().is_ok();
    let host = if is_bare_v6 { format!("[{host}]") } else { host.to_owned() };
    let url = Url::parse(&format!("https://{host}/")).ok()?;
    let is_alone = url.path() == "/" && url.query().is_none() && url.username().is_empty();
    (is_alone && url.port().is_none() && url.fragment().is_none() && !host.contains(['/', '\\', '@']))
        .then(|| PrivateHost { host: url.host_str().unwrap_or_default().to_owned(), port })
}

/// Reads the name of an environment variable.
pub(super) fn variable(item: &Item) -> Result<String, Wrong> {
    let is_name = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    match item.as_str() {
        Some(text) if is_name(text) => Ok(text.to_owned()),
        _ => Err(wrong("must be the name of an environment variable, not the secret itself")),
    }
}

/// Reads the address of an ntfy server.
pub(super) fn ntfy_server(item: &Item) -> Result<Url, Wrong> {
    let url = item.as_str().and_then(|text| Url::parse(text).ok());
    let mut url = url
        .filter(|url| matches!(url.scheme(), "https" | "http") && is_bare(url))
        .ok_or_else(|| wrong("must be the address of a server, such as https://ntfy.sh"))?;
    if !url.path().ends_with('/') {
        url.set_path(&format!("{}/", url.path()));
    }
    Ok(url)
}

/// Reads a mail server.
pub(super) fn mail_server(item: &Item) -> Result<MailServer, Wrong> {
    let allowed =
        "must be smtps://HOST, smtp+starttls://HOST or smtp://HOST, with :PORT if it is not the usual one";
    let url = item.as_str().and_then(|text| Url::parse(text).ok()).ok_or_else(|| wrong(allowed))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong("must not hold a user or a password: set notify.email_user and its password"));
    }
    let (security, usual) = match url.scheme() {
        "smtp" => (MailSecurity::Plain, 25),
        "smtp+starttls" => (MailSecurity::StartTls, 587),
        "smtps" => (MailSecurity::Tls, 465),
        _ => return Err(wrong(allowed)),
    };
    let host = url.host_str().and_then(|host| Host::parse(host).ok()).filter(|_| is_bare(&url));
    let host = match host.filter(|_| matches!(url.path(), "" | "/")).ok_or_else(|| wrong(allowed))? {
        Host::Domain(name) => name,
        Host::Ipv4(address) => address.to_string(),
        Host::Ipv6(address) => address.to_string(),
    };
    Ok(MailServer { security, host, port: url.port().unwrap_or(usual) })
}

/// Reads the sender of mail.
pub(super) fn mailbox(item: &Item) -> Result<Mailbox, Wrong> {
    let read = item.as_str().and_then(|text| text.trim().parse().ok());
    read.ok_or_else(|| wrong("must be an address such as talaria@example.org"))
}

fn is_bare(url: &Url) -> bool {
    url.username().is_empty() && url.password().is_none() && url.query().is_none() && url.fragment().is_none()
}

fn wrong(message: &str) -> Wrong {
    Wrong { message: message.to_owned(), hint: None, start: None }
}
