//! SQLite is held to the contract.

use talaria_store::{OpenOptions, Store};
use tempfile::TempDir;

async fn sqlite() -> (Store, TempDir) {
    let place = tempfile::tempdir().unwrap();
    let store = Store::open(&place.path().join("talaria.db"), 0, &OpenOptions::default()).await.unwrap();
    (store, place)
}

talaria_store::contract_tests!(super::sqlite);
