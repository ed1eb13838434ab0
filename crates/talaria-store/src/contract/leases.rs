//! Only the lease holder writes to a session.

use talaria_core::ids::SessionId;

use super::scene::{self, EPOCH};
use crate::{Batch, Lease, Store, StoreError, Takeover};

/// The number of an engine is never given twice.
pub async fn every_engine_gets_a_higher_epoch(store: Store) {
    let first = store.next_epoch().await.unwrap();
    let second = store.next_epoch().await.unwrap();
    assert!(second > first && first > 0, "{first} {second}");
}

/// After another engine took the session, writes of the first one are refused and none of them is stored.
pub async fn a_write_under_an_older_epoch_is_refused(store: Store) {
    let id = scene::session(&store, "one").await;
    store.append(scene::batch(&id, 1, &["mine"])).await.unwrap();
    store.take_lease(scene::lease(&id, EPOCH + 1), Takeover::Older).await.unwrap();
    let refused = store.append(scene::batch(&id, 2, &["late"])).await;
    let held = Some((EPOCH + 1, "engine-2".to_owned()));
    assert_eq!(refused, Err(StoreError::Fenced { session: id.clone(), epoch: EPOCH, held }));
    let refused = store.expire_escrow(&id, EPOCH, 2, 3).await;
    assert!(matches!(refused, Err(StoreError::Fenced { .. })), "{refused:?}");
    let ahead = store.append(Batch { epoch: EPOCH + 2, ..scene::batch(&id, 2, &["early"]) }).await;
    assert!(matches!(ahead, Err(StoreError::Fenced { .. })), "nobody writes without the lease: {ahead:?}");
    store.append(Batch { epoch: EPOCH + 1, ..scene::batch(&id, 2, &["theirs"]) }).await.unwrap();
    assert_eq!(store.events(&id, 0, 10).await.unwrap().len(), 2);
}

/// A lease is renewed by its holder, and taken by others only when they may.
pub async fn a_living_lease_is_not_taken(store: Store) {
    let id = scene::session(&store, "one").await;
    let until = |epoch, expires_at| Lease { expires_at, ..scene::lease(&id, epoch) };
    store.take_lease(until(EPOCH, 100), Takeover::Expired { at: 1 }).await.unwrap();
    let refused = store.take_lease(until(2, 200), Takeover::Expired { at: 99 }).await;
    assert!(matches!(refused, Err(StoreError::Fenced { .. })), "{refused:?}");
    assert_eq!(store.lease(&id).await.unwrap(), Some(until(EPOCH, 100)));
    store.take_lease(until(2, 200), Takeover::Expired { at: 100 }).await.unwrap();
    let refused = store.take_lease(until(EPOCH, 300), Takeover::Older).await;
    assert!(matches!(refused, Err(StoreError::Fenced { .. })), "a newer epoch stays: {refused:?}");
    assert_eq!(store.lease(&id).await.unwrap(), Some(until(2, 200)));
}

/// There is no lease without a session.
pub async fn a_lease_on_nothing_is_refused(store: Store) {
    let nobody = SessionId::new("nobody");
    let refused = store.take_lease(scene::lease(&nobody, 1), Takeover::Older).await;
    assert_eq!(refused, Err(StoreError::UnknownSession(nobody.clone())));
    assert_eq!(store.lease(&nobody).await.unwrap(), None);
}
