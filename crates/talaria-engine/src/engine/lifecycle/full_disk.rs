//! Lets a test fill the disk. Only in test builds (feature `faults`).
//!
//! The file that `TALARIA_MAX_PAGES` names contains the maximum number of pages of the database: this simulates a full
//! disk; an empty file removes the limit.

use talaria_store::Store;

/// Lets a test fill the disk.
#[cfg(not(feature = "faults"))]
#[inline]
pub(crate) fn limit_disk(_store: &Store) {}

/// Lets a test fill the disk, for as long as the process lives.
#[cfg(feature = "faults")]
pub(crate) fn limit_disk(store: &Store) {
    /// More than any database has.
    const NO_LIMIT: u32 = u32::MAX - 1;
    let Some(file) = std::env::var_os("TALARIA_MAX_PAGES") else { return };
    let store = store.clone();
    tokio::spawn(async move {
        let mut in_force = NO_LIMIT;
        loop {
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            let wanted = text.trim().parse().unwrap_or(NO_LIMIT);
            if wanted != in_force && store.limit_pages(wanted).await.is_ok() {
                in_force = wanted;
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    });
}
