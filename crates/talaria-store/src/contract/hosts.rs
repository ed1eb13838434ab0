//! Hosts are accounted for from before their start to their end.

use crate::{HostProcess, HostState, NewHost, Store, StoreError, TrimPolicy};

/// Intended, running, ended; and nothing comes back to life.
pub async fn a_host_is_kept_before_it_exists_and_until_it_ends(store: Store) {
    let new = |nonce: &str, created_at| NewHost {
        nonce: nonce.to_owned(),
        socket: "/run/s".to_owned(),
        dir: "/run/d".to_owned(),
        version: "0.166.0".to_owned(),
        codex_home: None,
        key: "digest".to_owned(),
        created_at,
    };
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
