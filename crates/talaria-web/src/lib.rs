//! Reads web pages for models: connections that lead only to judged addresses, pages as Markdown, text fenced as untrusted.
//!
//! `connect` resolves a name once, judges every address of it and connects to one of those (`tls` secures the
//! connection); notifications use it as well. `fetch` follows redirects over it with limits of time and size, `body` collects
//! a response under them. The rest is pure: `address` judges, `charset`,
//! `media`, `bounded_tree`, `main_part` and `html` turn bytes into text, `page` divides text into pages and finds passages, `fence` writes
//! what a model gets, `cache` remembers pages. PDF files are parsed (`pdf`, a feature) in a process of their own, which
//! `pdf_reader` starts and limits. Nothing here knows sessions, permissions or the store: the engine's tool `talaria_web` does.

mod address;
mod body;
mod bounded_tree;
mod cache;
mod charset;
mod connect;
mod fence;
mod fetch;
mod html;
mod main_part;
mod media;
mod page;
#[cfg(feature = "pdf")]
mod pdf;
mod pdf_reader;
mod tls;

pub use address::{BadPageAddress, RefusedAddress, has_secret, judge, mask_address, parse_page_address};
pub use cache::PageCache;
pub use connect::{ConnectError, GuardedConnector, Network, WebStream};
pub use fence::{Fence, PageFacts};
pub use fetch::{FetchError, FetchLimits, FetchedBody, HopRules, PageFetcher, judge_literal};
pub use page::{PassageSearch, WebPage, is_pdf, pdf_page, read_page};
#[cfg(feature = "pdf")]
pub use pdf::extract_pdf;
pub use pdf_reader::{PdfFailure, PdfReader, PdfReading, PdfText};
pub use tls::{Roots, Tls, TlsSettingsError};
