//! Tokens of the API: made, listed, revoked, and looked up for every call over TCP.
//!
//! The database and the memory of the engine have a digest of a token; the token itself is in the response to its maker
//! alone. A token that ends, by revocation or by its time, ends the streams that were opened with it (`TokenEnd`). A right
//! token is never refused because others were wrong: what is limited is how many wrong ones are recorded.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sha2::{Digest, Sha256};
use talaria_core::access::{Identity, RootRight, TokenGrant, TokenScope};
use talaria_core::api::{NewToken, Problem, ProblemCode, TokenInfo, TokenMade, TokenState};
use talaria_core::principal::{Principal, PrincipalKind};
use talaria_guard::plain;
use talaria_home::clock::now_ms;
use talaria_home::faults;
use talaria_home::home::user_path;
use talaria_store::{ApiTokenRow, NewApiToken, NewAudit, Store, StoreError};
use tokio::sync::watch;

use crate::engine::Engine;
use crate::engine::access::caller::Needs;
use crate::engine::access::scope;
use crate::engine::queries::views;
use crate::engine::seal;

/// What every token begins with, so that people and scanners recognise one.
const PREFIX: &str = "talaria_";
/// How many hex digits its public part has.
const ID: usize = 12;
/// How many bytes its secret part has.
const SECRET: usize = 32;
/// How often the use of one token is written down.
const TOUCH: i64 = 60_000;
/// The longest sleep until a token ends by its time; longer than that it is looked at again.
const NAP: Duration = Duration::from_secs(3600);

/// The tokens that are not revoked.
#[derive(Default)]
pub(crate) struct TokenDesk {
    live: Mutex<HashMap<String, LiveToken>>,
}

struct LiveToken {
    hash: Vec<u8>,
    grant: Arc<TokenGrant>,
    touched_at: i64,
    revoked: watch::Sender<bool>,
}

/// A call with a valid token.
pub struct TokenCall {
    /// Who calls.
    pub identity: Identity,
    /// The id of the token: the key of its limits.
    pub id: String,
    /// When it ends.
    pub end: TokenEnd,
}

/// The end of a token.
#[derive(Clone)]
pub struct TokenEnd {
    revoked: watch::Receiver<bool>,
    expires_at: Option<i64>,
}

impl TokenEnd {
    /// Waits until the token is revoked or its time is over.
    pub async fn reached(mut self) {
        loop {
            let left = self.expires_at.map(|at| u64::try_from(at - now_ms()).unwrap_or(0));
            if left == Some(0) {
                return;
            }
            let nap = left.map_or(NAP, |left| Duration::from_millis(left).min(NAP));
            tokio::select! {
                // Its desk is gone with the engine.
                _ = self.revoked.wait_for(|revoked| *revoked) => return,
                () = tokio::time::sleep(nap) => {}
            }
        }
    }
}

impl TokenDesk {
    /// Reads what is stored.
    pub(crate) async fn load(store: &Store) -> Result<Self, StoreError> {
        let desk = Self::default();
        for row in store.api_tokens().await?.into_iter().filter(|row| row.revoked_at.is_none()) {
            let touched_at = row.used_at.unwrap_or_default();
            match grant_of(&row.token) {
                Some(grant) => desk.add(&row.token, grant, touched_at),
                // A newer program may know more scopes: without knowing all of them it is not accepted.
                None => {
                    tracing::warn!("the token {} is not accepted: its rights cannot be read", row.token.id);
                }
            }
        }
        Ok(desk)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, LiveToken>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, token: &NewApiToken, grant: TokenGrant, touched_at: i64) {
        let live = LiveToken {
            hash: token.hash.clone(),
            grant: Arc::new(grant),
            touched_at,
            revoked: watch::Sender::new(false),
        };
        self.lock().insert(token.id.clone(), live);
    }

    fn end(&self, id: &str) {
        if let Some(live) = self.lock().remove(id) {
            live.revoked.send_replace(true);
        }
    }

    /// Returns what a token permits, its end, and whether this use is to be written down.
    fn check(&self, text: &str, now: i64) -> Option<(String, Arc<TokenGrant>, TokenEnd, bool)> {
        let (id, secret) = split(text)?;
        let mut all = self.lock();
        let live = all.get_mut(id)?;
        if !is_same(&live.hash, &digest(secret)) || live.grant.is_expired(now) {
            return None;
        }
        let is_due = now.saturating_sub(live.touched_at) >= TOUCH;
        if is_due {
            live.touched_at = now;
        }
        let end = TokenEnd { revoked: live.revoked.subscribe(), expires_at: live.grant.expires_at };
        Some((id.to_owned(), Arc::clone(&live.grant), end, is_due))
    }
}

impl Engine {
    /// Returns who shows this token, from this address; `None` if it is not valid. No other call makes that slow or fail.
    pub fn find_token(&self, token: &str, from: &str) -> Option<TokenCall> {
        let (id, grant, end, is_due) = self.inner.tokens.check(token, now_ms())?;
        if is_due {
            let (store, id, from) = (self.inner.shelf.store.clone(), id.clone(), from.to_owned());
            self.inner.tasks.spawn(async move {
                if let Err(error) = store.touch_api_token(&id, now_ms(), &from).await {
                    tracing::warn!("the use of the token {id} is not written down: {error}");
                }
            });
        }
        Some(TokenCall { identity: Identity::of_token(grant, from), id, end })
    }

    /// Records that a call without a valid token was refused, and returns the refusal. The token is nowhere in it.
    pub async fn refuse_stranger(&self, what: &str, from: &str) -> Problem {
        let problem = Problem::new(ProblemCode::Unauthenticated, what)
            .try_this("make a token with `talaria token create` on the machine of the engine");
        self.for_caller(Identity::stranger(from)).refused_remote("token", problem).await
    }

    /// How many tokens are accepted now.
    pub(crate) fn valid_tokens(&self) -> usize {
        let now = now_ms();
        self.inner.tokens.lock().values().filter(|live| !live.grant.is_expired(now)).count()
    }

    /// Makes a token. One that is made with a token has no more rights than that.
    pub async fn create_token(&self, new: NewToken) -> Result<TokenMade, Problem> {
        self.require(Needs::Admin, "create_token", "make a token").await?;
        let bad = |message: String| Problem::new(ProblemCode::BadRequest, message);
        if Principal::new(PrincipalKind::Token, &new.name).name() != new.name || new.name == "unknown" {
            return Err(bad(format!("{:?} cannot be the name of a token", plain::one_line(&new.name)))
                .try_this("use one word of letters, digits and -_.@/+, at most 64"));
        }
        let now = now_ms();
        let mut scopes = new.scopes.clone();
        scopes.sort_unstable();
        scopes.dedup();
        let grant = TokenGrant {
            name: new.name.clone(),
            scopes,
            roots: self.token_roots(&new.roots).await?,
            expires_at: new.lasts_ms.map(|lasts| now.saturating_add_unsigned(lasts)),
        };
        grant.check().map_err(|error| bad(error.to_string()))?;
        if let Some(maker) = self.identity().grant()
            && let Err(error) = grant.check_below(maker)
        {
            let problem = Problem::new(ProblemCode::Forbidden, error.to_string());
            return Err(self.refused("create_token", None, problem).await);
        }
        let unsure = |error: std::io::Error| {
            Problem::new(ProblemCode::Internal, format!("there are no random numbers: {error}"))
        };
        let (mut id, mut secret) = ([0; ID / 2], [0; SECRET]);
        seal::random(&mut id).and_then(|()| seal::random(&mut secret)).map_err(unsure)?;
        let (id, secret) = (hex::encode(id), hex::encode(secret));
        let row = NewApiToken {
            id: id.clone(),
            name: grant.name.clone(),
            hash: digest(&secret),
            scopes: serde_json::to_string(&grant.scopes).unwrap_or_default(),
            roots: serde_json::to_string(&grant.roots).unwrap_or_default(),
            created_at: now,
            created_by: self.principal().to_string(),
            expires_at: grant.expires_at,
        };
        faults::point("before:token-made").await;
        let store = &self.inner.shelf.store;
        let entry = self.token_entry("create_token", &grant.name);
        let is_new = store.add_api_token(row.clone(), entry).await.map_err(|error| views::problem(&error))?;
        if !is_new {
            let message = format!("there is a token {:?} already", grant.name);
            return Err(Problem::new(ProblemCode::Conflict, message)
                .try_this("choose another name, or revoke that one first"));
        }
        faults::point("after:token-made").await;
        self.inner.tokens.add(&row, grant, 0);
        let stored = ApiTokenRow { token: row, used_at: None, used_from: None, revoked_at: None };
        Ok(TokenMade { token: format!("{PREFIX}{id}_{secret}"), info: info(stored, now)? })
    }

    /// Every token, the newest first.
    pub async fn tokens(&self) -> Result<Vec<TokenInfo>, Problem> {
        self.require(Needs::Admin, "tokens", "list tokens").await?;
        let rows = self.inner.shelf.store.api_tokens().await.map_err(|error| views::problem(&error))?;
        let now = now_ms();
        rows.into_iter().map(|row| info(row, now)).collect()
    }

    /// Revokes a token, by its name or id. When this returns, no call with it is accepted, and its streams end.
    pub async fn revoke_token(&self, id: &str) -> Result<TokenInfo, Problem> {
        self.require(Needs::Admin, "revoke_token", "revoke a token").await?;
        let store = &self.inner.shelf.store;
        let rows = store.api_tokens().await.map_err(|error| views::problem(&error))?;
        let is_it = |row: &&ApiTokenRow| row.token.id == id || row.token.name == id;
        let mut found: Vec<&ApiTokenRow> = rows.iter().filter(is_it).collect();
        // A name can be that of earlier tokens, too.
        found.sort_by_key(|row| row.revoked_at.is_some());
        let Some(row) = found.first().copied().cloned() else {
            let message = format!("there is no token {:?}", plain::one_line(id));
            return Err(
                Problem::new(ProblemCode::Unknown, message).try_this("`talaria token list` names them")
            );
        };
        let now = now_ms();
        if row.revoked_at.is_some() {
            return Err(Problem::new(
                ProblemCode::Conflict,
                format!("{} is revoked already", row.token.name),
            ));
        }
        // First here: while the disk is slow, it is refused already.
        self.inner.tokens.end(&row.token.id);
        faults::point("before:token-revoked").await;
        let entry = self.token_entry("revoke_token", &row.token.name);
        let revoked = store.revoke_api_token(&row.token.id, now, entry).await;
        revoked.map_err(|error| {
            let problem = views::problem(&error);
            let message = format!("it is refused until the engine ends, but this is not stored: {problem}");
            Problem { message, ..problem }
        })?;
        faults::point("after:token-revoked").await;
        info(ApiTokenRow { revoked_at: Some(now), ..row }, now)
    }

    /// The canonical paths of the directories of a new token.
    async fn token_roots(&self, given: &[String]) -> Result<Vec<String>, Problem> {
        let mut roots = Vec::with_capacity(given.len());
        for root in given {
            let path = user_path(root, self.inner.user_home.as_deref());
            if !Path::new(&path).is_absolute() {
                return Err(Problem::new(
                    ProblemCode::BadRequest,
                    format!("{:?} is not an absolute path", plain::one_line(root)),
                ));
            }
            let real = scope::directory("the directory", &path.to_string_lossy()).await?;
            roots.push(real.to_string_lossy().into_owned());
        }
        Ok(roots)
    }

    fn token_entry(&self, action: &str, name: &str) -> NewAudit {
        NewAudit { reason: Some(format!("token:{name}")), ..self.audit_entry(action) }
    }

    /// The directories to which this token is limited; `None` for every other caller.
    pub(crate) fn bound_roots(&self) -> Option<Vec<String>> {
        match self.access().roots {
            RootRight::Below(roots) if self.identity().is_remote() => Some(roots),
            _ => None,
        }
    }
}

/// The public and the secret part of a token.
fn split(text: &str) -> Option<(&str, &str)> {
    let (id, secret) = text.strip_prefix(PREFIX)?.split_once('_')?;
    (id.len() == ID && secret.len() == 2 * SECRET).then_some((id, secret))
}

fn digest(secret: &str) -> Vec<u8> {
    Sha256::digest(secret.as_bytes()).to_vec()
}

/// Compares without saying, by its time, how much is the same.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && one.iter().zip(other).fold(0, |seen, (one, other)| seen | (one ^ other)) == 0
}

/// Reads the rights of a row; `None` if this program does not know all of them.
fn grant_of(token: &NewApiToken) -> Option<TokenGrant> {
    let scopes: Vec<TokenScope> = serde_json::from_str(&token.scopes).ok()?;
    let roots: Vec<String> = serde_json::from_str(&token.roots).ok()?;
    Some(TokenGrant { name: token.name.clone(), scopes, roots, expires_at: token.expires_at })
}

fn info(row: ApiTokenRow, now: i64) -> Result<TokenInfo, Problem> {
    let unread = || Problem::new(ProblemCode::Store, format!("the token {} cannot be read", row.token.id));
    let grant = grant_of(&row.token).ok_or_else(unread)?;
    let state = match row.revoked_at {
        Some(_) => TokenState::Revoked,
        None if grant.is_expired(now) => TokenState::Expired,
        None => TokenState::Valid,
    };
    Ok(TokenInfo {
        id: row.token.id,
        name: grant.name,
        scopes: grant.scopes,
        roots: grant.roots,
        state,
        created_at: views::time(row.token.created_at),
        created_by: row.token.created_by,
        expires_at: row.token.expires_at.map(views::time),
        used_at: row.used_at.map(views::time),
        used_from: row.used_from,
        revoked_at: row.revoked_at.map(views::time),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET_TEXT: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    fn desk(expires_at: Option<i64>) -> TokenDesk {
        let row = NewApiToken {
            id: "a1b2c3d4e5f6".to_owned(),
            name: "ci".to_owned(),
            hash: digest(SECRET_TEXT),
            scopes: "[\"view\"]".to_owned(),
            roots: "[]".to_owned(),
            created_at: 0,
            created_by: "person:me".to_owned(),
            expires_at,
        };
        let desk = TokenDesk::default();
        desk.add(&row, grant_of(&row).unwrap(), 0);
        desk
    }

    #[test]
    fn only_the_whole_token_is_accepted() {
        let desk = desk(None);
        let right = format!("talaria_a1b2c3d4e5f6_{SECRET_TEXT}");
        assert!(desk.check(&right, 1).is_some());
        for wrong in [
            String::new(),
            right[..right.len() - 1].to_owned(),
            format!("{right}0"),
            right.replace("a1b2", "ffff"),
            right.replace("0123456789abcdef0", "0123456789abcdef1"),
            right.replace("talaria_", ""),
            format!("talaria_a1b2c3d4e5f6_{}", hex::encode(digest(SECRET_TEXT))),
        ] {
            assert!(desk.check(&wrong, 1).is_none(), "{wrong}");
        }
    }

    #[test]
    fn a_token_ends_with_its_time_and_with_its_revocation() {
        let right = format!("talaria_a1b2c3d4e5f6_{SECRET_TEXT}");
        let desk = desk(Some(10));
        assert!(desk.check(&right, 9).is_some());
        assert!(desk.check(&right, 10).is_none());
        desk.end("a1b2c3d4e5f6");
        assert!(desk.check(&right, 1).is_none());
    }

    #[test]
    fn rights_that_are_not_known_are_no_rights() {
        let row = NewApiToken {
            scopes: "[\"view\",\"everything\"]".to_owned(),
            ..NewApiToken {
                id: "x".to_owned(),
                name: "x".to_owned(),
                hash: Vec::new(),
                scopes: String::new(),
                roots: "[]".to_owned(),
                created_at: 0,
                created_by: String::new(),
                expires_at: None,
            }
        };
        assert_eq!(grant_of(&row), None);
    }
}
