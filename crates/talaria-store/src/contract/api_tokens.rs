//! A token is made and revoked once, each together with its audit row; of a name there is one at a time.

use crate::{AuditOutcome, NewApiToken, NewAudit, Store};

fn token(id: &str, name: &str) -> NewApiToken {
    NewApiToken {
        id: id.to_owned(),
        name: name.to_owned(),
        hash: vec![7; 32],
        scopes: "[\"view\"]".to_owned(),
        roots: "[\"/work\"]".to_owned(),
        created_at: 5,
        created_by: "person:me".to_owned(),
        expires_at: Some(50),
    }
}

fn entry(action: &str) -> NewAudit {
    NewAudit {
        at: 5,
        action: action.to_owned(),
        outcome: AuditOutcome::Done,
        principal: "person:me".to_owned(),
        established: "/dev/pts/1".to_owned(),
        pid: None,
        terminal: None,
        program: None,
        session: None,
        request: None,
        digest: None,
        decision: None,
        reason: None,
    }
}

async fn actions(store: &Store) -> Vec<String> {
    store.audit(None, 100).await.unwrap().into_iter().map(|row| row.entry.action).collect()
}

/// A token comes back as it was stored, with its audit row; a second one with a name in use changes nothing.
pub async fn a_name_is_that_of_one_token_at_a_time(store: Store) {
    assert!(store.add_api_token(token("a", "ci"), entry("made")).await.unwrap());
    assert!(!store.add_api_token(token("b", "ci"), entry("again")).await.unwrap());
    assert!(!store.add_api_token(token("a", "other"), entry("again")).await.unwrap());
    let rows = store.api_tokens().await.unwrap();
    assert_eq!(rows.iter().map(|row| row.token.clone()).collect::<Vec<_>>(), [token("a", "ci")]);
    assert!(store.revoke_api_token("a", 9, entry("revoked")).await.unwrap());
    assert!(store.add_api_token(token("b", "ci"), entry("made")).await.unwrap(), "the name is free again");
    assert_eq!(actions(&store).await, ["made", "revoked", "made"]);
}

/// The first revocation counts, and stays.
pub async fn a_token_is_revoked_once(store: Store) {
    assert!(!store.revoke_api_token("a", 9, entry("revoked")).await.unwrap(), "there is none");
    store.add_api_token(token("a", "ci"), entry("made")).await.unwrap();
    assert!(store.revoke_api_token("a", 9, entry("revoked")).await.unwrap());
    assert!(!store.revoke_api_token("a", 10, entry("revoked")).await.unwrap());
    assert_eq!(store.api_tokens().await.unwrap()[0].revoked_at, Some(9));
    assert_eq!(actions(&store).await, ["revoked", "made"]);
}

/// The last use of a token is the latest, in whatever order uses are written.
pub async fn the_latest_use_of_a_token_is_kept(store: Store) {
    store.add_api_token(token("a", "ci"), entry("made")).await.unwrap();
    for (at, from) in [(10, "one"), (30, "three"), (20, "two")] {
        store.touch_api_token("a", at, from).await.unwrap();
    }
    let row = store.api_tokens().await.unwrap().remove(0);
    assert_eq!((row.used_at, row.used_from.as_deref()), (Some(30), Some("three")));
}
