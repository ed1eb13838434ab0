//! What a token of the API may do: scopes, directories, an expiry.
//!
//! Pure. The engine stores it with the digest of the token, looks it up for every call, and derives an `Access` from it:
//! nothing that a caller says about itself adds a right.

use std::fmt;
use std::path::{Component, Path};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::config::REQUEST_KINDS;

/// One right of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(into = "String", try_from = "String")]
#[cfg_attr(feature = "schema", schemars(with = "String"))]
pub enum TokenScope {
    /// Lists, transcripts, diffs, search.
    View,
    /// Answers to requests of every kind, once each.
    Answer,
    /// Answers to requests of this kind, by its place in `REQUEST_KINDS`.
    AnswerKind(usize),
    /// Answers that also decide about later requests.
    AnswerAlways,
    /// A yes to what leaves the sandbox, or may leave it.
    AnswerOutside,
    /// Tasks and turns: start, steer, interrupt, apply, discard.
    Start,
    /// Commands outside of a turn.
    Shell,
    /// Tokens, memory, skills, pruning, the audit log, the end of the engine.
    Admin,
}

impl TokenScope {
    /// Every scope.
    pub fn all() -> Vec<Self> {
        let mut all = vec![Self::View, Self::Answer];
        all.extend((0..REQUEST_KINDS.len()).map(Self::AnswerKind));
        all.extend([Self::AnswerAlways, Self::AnswerOutside, Self::Start, Self::Shell, Self::Admin]);
        all
    }

    /// Does it only widen other scopes for answers?
    fn is_addition(self) -> bool {
        matches!(self, Self::AnswerAlways | Self::AnswerOutside)
    }
}

impl fmt::Display for TokenScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::View => f.write_str("view"),
            Self::Answer => f.write_str("answer"),
            Self::AnswerKind(kind) => {
                write!(f, "answer:{}", REQUEST_KINDS.get(*kind).copied().unwrap_or("unknown"))
            }
            Self::AnswerAlways => f.write_str("answer:always"),
            Self::AnswerOutside => f.write_str("answer:outside"),
            Self::Start => f.write_str("start"),
            Self::Shell => f.write_str("shell"),
            Self::Admin => f.write_str("admin"),
        }
    }
}

/// A text that names no scope.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a scope; the scopes are: {names}", names = TokenScope::all().iter().map(TokenScope::to_string).collect::<Vec<_>>().join(", "))]
pub struct UnknownScope(pub String);

impl FromStr for TokenScope {
    type Err = UnknownScope;

    fn from_str(text: &str) -> Result<Self, UnknownScope> {
        let found = Self::all().into_iter().find(|scope| scope.to_string() == text.trim());
        found.ok_or_else(|| UnknownScope(text.to_owned()))
    }
}

impl From<TokenScope> for String {
    fn from(scope: TokenScope) -> Self {
        scope.to_string()
    }
}

impl TryFrom<String> for TokenScope {
    type Error = UnknownScope;

    fn try_from(text: String) -> Result<Self, UnknownScope> {
        text.parse()
    }
}

/// Rights of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenGrant {
    /// Its name.
    pub name: String,
    /// Its rights.
    pub scopes: Vec<TokenScope>,
    /// The directories to which all of them are limited, absolute and without links; none: no limit.
    pub roots: Vec<String>,
    /// When it ends, in milliseconds since 1970.
    pub expires_at: Option<i64>,
}

/// Why a grant is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadGrant {
    /// It has no scope.
    #[error("a token needs at least one scope")]
    NoScope,
    /// It can start work anywhere.
    #[error("the scopes `start` and `shell` need at least one directory")]
    NoRoot,
    /// The administration of the engine has no directory.
    #[error("the scope `admin` cannot be limited to a directory")]
    AdminWithRoot,
    /// `answer:always` or `answer:outside` alone.
    #[error(
        "`answer:always` and `answer:outside` add to `answer` or `answer:KIND`; alone they permit nothing"
    )]
    AdditionAlone,
    /// It would have more rights than its maker.
    #[error("a token cannot make one with more rights than it has itself")]
    Wider,
}

impl TokenGrant {
    /// Refuses a grant that permits nothing, or more than it seems to.
    pub fn check(&self) -> Result<(), BadGrant> {
        let has = |scope| self.scopes.contains(&scope);
        if self.scopes.is_empty() {
            return Err(BadGrant::NoScope);
        }
        if has(TokenScope::Admin) && !self.roots.is_empty() {
            return Err(BadGrant::AdminWithRoot);
        }
        if (has(TokenScope::Start) || has(TokenScope::Shell))
            && self.roots.is_empty()
            && !has(TokenScope::Admin)
        {
            return Err(BadGrant::NoRoot);
        }
        let answers =
            self.scopes.iter().any(|scope| matches!(scope, TokenScope::Answer | TokenScope::AnswerKind(_)));
        if self.scopes.iter().any(|scope| scope.is_addition()) && !answers {
            return Err(BadGrant::AdditionAlone);
        }
        Ok(())
    }

    /// Refuses a grant that is wider than this one, by which it is made.
    pub fn check_below(&self, maker: &Self) -> Result<(), BadGrant> {
        let has = |scope: &TokenScope| {
            maker.scopes.contains(scope)
                || (matches!(scope, TokenScope::AnswerKind(_)) && maker.scopes.contains(&TokenScope::Answer))
        };
        let is_below = self.scopes.iter().all(has)
            && (maker.roots.is_empty()
                || (!self.roots.is_empty() && self.roots.iter().all(|root| is_below(root, &maker.roots))))
            && match (maker.expires_at, self.expires_at) {
                (None, _) => true,
                (Some(_), None) => false,
                (Some(maker), Some(own)) => own <= maker,
            };
        if is_below { Ok(()) } else { Err(BadGrant::Wider) }
    }

    /// Returns whether it has ended.
    pub fn is_expired(&self, now: i64) -> bool {
        self.expires_at.is_some_and(|at| at <= now)
    }
}

/// Returns whether a path is one of these directories or below one. A path with `..` is below none.
pub fn is_below<R: AsRef<str>>(path: &str, roots: &[R]) -> bool {
    let path = Path::new(path);
    let is_plain = !path.components().any(|part| part == Component::ParentDir);
    is_plain && roots.iter().any(|root| path.starts_with(root.as_ref()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(scopes: &str, roots: &[&str], expires_at: Option<i64>) -> TokenGrant {
        TokenGrant {
            name: "ci".to_owned(),
            scopes: scopes
                .split(',')
                .filter(|word| !word.is_empty())
                .map(|word| word.parse().unwrap())
                .collect(),
            roots: roots.iter().map(|root| (*root).to_owned()).collect(),
            expires_at,
        }
    }

    #[test]
    fn every_scope_is_read_as_it_is_written() {
        for scope in TokenScope::all() {
            assert_eq!(scope.to_string().parse(), Ok(scope));
        }
        assert!("everything".parse::<TokenScope>().is_err());
    }

    #[test]
    fn a_grant_that_permits_nothing_or_everywhere_is_refused() {
        assert_eq!(grant("", &[], None).check(), Err(BadGrant::NoScope));
        assert_eq!(grant("view,start", &[], None).check(), Err(BadGrant::NoRoot));
        assert_eq!(grant("shell", &[], None).check(), Err(BadGrant::NoRoot));
        assert_eq!(grant("admin", &["/w"], None).check(), Err(BadGrant::AdminWithRoot));
        assert_eq!(grant("view,answer:outside", &[], None).check(), Err(BadGrant::AdditionAlone));
        assert_eq!(grant("view,answer:command,answer:always", &[], None).check(), Ok(()));
        assert_eq!(grant("view,start", &["/w"], None).check(), Ok(()));
    }

    #[test]
    fn a_token_makes_no_wider_token() {
        let maker = grant("view,answer,admin", &[], Some(10));
        assert_eq!(grant("view,answer:command", &["/w"], Some(10)).check_below(&maker), Ok(()));
        for wider in [
            grant("view,start", &["/w"], Some(10)),
            grant("view", &[], None),
            grant("view", &[], Some(11)),
            grant("answer:outside,answer", &[], Some(1)),
        ] {
            assert_eq!(wider.check_below(&maker), Err(BadGrant::Wider), "{wider:?}");
        }
        let bound = grant("view", &["/w"], None);
        assert_eq!(grant("view", &["/w/a"], None).check_below(&bound), Ok(()));
        assert_eq!(grant("view", &[], None).check_below(&bound), Err(BadGrant::Wider));
        assert_eq!(grant("view", &["/wide"], None).check_below(&bound), Err(BadGrant::Wider));
    }

    #[test]
    fn a_directory_is_compared_by_whole_names() {
        assert!(is_below("/w/a", &["/w"]) && is_below("/w", &["/w"]));
        assert!(!is_below("/work", &["/w"]) && !is_below("/w/../etc", &["/w"]) && !is_below("/w", &["/w/a"]));
    }
}
