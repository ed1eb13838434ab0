//! The pages that were read last, so that the next page of a long one, or a search in it, needs no second fetch.
//!
//! In memory, because nothing depends on it: after a restart a page is fetched again, and foreign pages are not stored on
//! disk. Keys are conversation and address, so that no conversation sees a page that another one was permitted to read.
//! Pure: the time is an argument.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use url::Url;

use crate::page::WebPage;

/// How many bytes of text are remembered.
const MOST_BYTES: usize = 16_000_000;
/// How many pages are remembered.
const MOST_PAGES: usize = 64;
/// How long a page is remembered.
const LONGEST: Duration = Duration::from_secs(15 * 60);

#[derive(Debug)]
struct Remembered {
    owner: String,
    url: Url,
    at: Duration,
    page: Arc<WebPage>,
}

/// The pages that were read last. Times are durations since some fixed moment.
#[derive(Debug, Default)]
pub struct PageCache {
    /// The least recently used first.
    pages: VecDeque<Remembered>,
}

impl PageCache {
    /// Returns a page that `owner` read at this address, and how old it is.
    pub fn get(&mut self, owner: &str, url: &Url, now: Duration) -> Option<(Arc<WebPage>, Duration)> {
        self.pages.retain(|kept| now.saturating_sub(kept.at) < LONGEST);
        let at = self.pages.iter().position(|kept| kept.owner == owner && kept.url == *url)?;
        let kept = self.pages.remove(at)?;
        let found = (Arc::clone(&kept.page), now.saturating_sub(kept.at));
        self.pages.push_back(kept);
        Some(found)
    }

    /// Remembers a page under the address that was asked for; the least recently used ones make room.
    pub fn put(&mut self, owner: &str, url: &Url, now: Duration, page: Arc<WebPage>) {
        self.pages.retain(|kept| kept.owner != owner || kept.url != *url);
        self.pages.push_back(Remembered { owner: owner.to_owned(), url: url.clone(), at: now, page });
        let mut bytes: usize = self.pages.iter().map(|kept| kept.page.text.len()).sum();
        while self.pages.len() > MOST_PAGES || (bytes > MOST_BYTES && self.pages.len() > 1) {
            let Some(oldest) = self.pages.pop_front() else { return };
            bytes -= oldest.page.text.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fetch::FetchedBody;
    use crate::page::read_page;

    fn url(path: usize) -> Url {
        Url::parse(&format!("https://example.org/{path}")).unwrap()
    }

    fn page(bytes: usize) -> Arc<WebPage> {
        let (content_type, bytes) = (Some("text/plain".to_owned()), vec![b'x'; bytes]);
        Arc::new(
            read_page(FetchedBody { url: url(0), status: 200, content_type, bytes, is_cut: false }).unwrap(),
        )
    }

    #[test]
    fn a_page_is_remembered_for_its_owner_with_its_age() {
        let (mut cache, seconds) = (PageCache::default(), Duration::from_secs);
        cache.put("one", &url(1), seconds(100), page(1));
        assert_eq!(cache.get("one", &url(1), seconds(160)).unwrap().1, seconds(60));
        assert!(cache.get("two", &url(1), seconds(160)).is_none());
        assert!(cache.get("one", &url(2), seconds(160)).is_none());
        assert!(cache.get("one", &url(1), seconds(100) + LONGEST).is_none(), "too old");
    }

    #[test]
    fn the_least_recently_used_make_room() {
        let (mut cache, now) = (PageCache::default(), Duration::ZERO);
        for path in 0..MOST_PAGES {
            cache.put("o", &url(path), now, page(1));
        }
        assert!(cache.get("o", &url(0), now).is_some());
        cache.put("o", &url(100), now, page(1));
        assert!(cache.get("o", &url(0), now).is_some() && cache.get("o", &url(1), now).is_none());
        let long = page(1_900_000);
        for path in 200..220 {
            cache.put("o", &url(path), now, Arc::clone(&long));
        }
        let bytes: usize = cache.pages.iter().map(|kept| kept.page.text.len()).sum();
        assert!(bytes <= MOST_BYTES && cache.get("o", &url(219), now).is_some());
    }
}
