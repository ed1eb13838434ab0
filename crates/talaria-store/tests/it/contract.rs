//! Runs the contract on SQLite.

use talaria_store::Store;
use tempfile::TempDir;

async fn sqlite() -> (Store, TempDir) {
    let place = tempfile::tempdir().unwrap();
    let store = crate::open(&place.path().join("talaria.db")).await;
    (store, place)
}

talaria_store::contract_tests!(super::sqlite);
