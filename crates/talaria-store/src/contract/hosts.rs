//! Hosts are accounted for from before their start to their end.

use super::scene;
use crate::{HostProcess, HostState, NewHost, NewRequest, RequestOrigin, Store, StoreError, TrimPolicy};

/// Intended, running, ended; and nothing comes back to life.
pub async fn a_host_is_kept_before_it_exists_and_until_it_ends(store: Store) {
    store.intend_host(new("one", 1)).await.unwrap();
    store.intend_host(new("two", 2)).await.unwrap();
    let twice = store.intend_host(new("one", 3)).await;
    assert!(matches!(twice, Err(StoreError::Conflict(_))), "{twice:?}");
    let process = HostProcess { pid: 42, started: "1234".to_owned(), boot: "b".to_owned() };
    store.complete_host("one", process.clone()).await.unwrap();
    let living = store.living_hosts().await.unwrap();
    let living: Vec<_> = living.iter().map(|host| (host.nonce.as_str(), host.state)).collect();
    assert_eq!(living, [("one", HostState::Running), ("two", HostState::Intended)]);
    assert_eq!(store.host("one").await.unwrap().unwrap().process, Some(process.clone()));
    store.end_host("one", "exited", 9).await.unwrap();
    store.end_host("one", "again", 10).await.unwrap();
    let ended = store.host("one").await.unwrap().unwrap();
    assert_eq!(
        (ended.state, ended.why.as_deref(), ended.ended_at),
        (HostState::Ended, Some("exited"), Some(9))
    );
    let back = store.complete_host("one", process).await;
    assert!(matches!(back, Err(StoreError::Conflict(_))), "{back:?}");
    assert_eq!(store.counts().await.unwrap().living_hosts, 1);
    store.trim(TrimPolicy { older_than: Some(9), keep: None }).await.unwrap();
    assert!(store.host("one").await.unwrap().is_some(), "not yet old");
    store.trim(TrimPolicy { older_than: Some(10), keep: None }).await.unwrap();
    assert_eq!(store.host("one").await.unwrap(), None);
    assert!(store.host("two").await.unwrap().is_some(), "what lives is never forgotten");
}

/// A host that has ended is forgotten with the last request that names it, and requests without a host keep none.
pub async fn a_host_is_kept_as_long_as_a_request_names_it(store: Store) {
    let id = scene::session(&store, "one").await;
    for nonce in ["nonce", "other"] {
        store.intend_host(new(nonce, 1)).await.unwrap();
        store.end_host(nonce, "exited", 2).await.unwrap();
    }
    scene::asked(&store, &id, scene::request("req-1", "ls")).await;
    let nobodys = NewRequest {
        origin: RequestOrigin { host: None, json: r#"{"host":"other"}"#.to_owned() },
        ..scene::request("req-2", "ls")
    };
    scene::asked(&store, &id, nobodys).await;
    store.trim(TrimPolicy { older_than: Some(10), keep: None }).await.unwrap();
    assert!(store.host("nonce").await.unwrap().is_some(), "a request names it");
    assert_eq!(store.host("other").await.unwrap(), None);
}

fn new(nonce: &str, created_at: i64) -> NewHost {
    NewHost {
        nonce: nonce.to_owned(),
        socket: "/run/s".to_owned(),
        dir: "/run/d".to_owned(),
        version: "0.166.0".to_owned(),
        codex_home: None,
        key: "digest".to_owned(),
        created_at,
    }
}
