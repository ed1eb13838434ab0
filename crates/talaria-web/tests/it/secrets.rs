//! Every secret that the redactor knows, in an address: it is recognised wherever it is, so that nothing is fetched.

#[path = "../../../talaria-guard/src/redact/tests/corpus.rs"]
mod corpus;

use corpus::examples;
use talaria_web::has_secret;

#[test]
fn no_secret_of_the_corpus_leaves_in_an_address() {
    let mut missed = Vec::new();
    for example in examples() {
        let encoded: String = url::form_urlencoded::byte_serialize(example.text.as_bytes()).collect();
        for url in [
            format!("https://example.org/?q={encoded}"),
            format!("https://example.org/{encoded}"),
            format!("https://example.org/a/{encoded}/b?c=d"),
            format!("https://example.org/a#{encoded}"),
        ] {
            if !has_secret(&url) {
                missed.push(format!("{} ({:?})", url, example.secrets));
            }
        }
    }
    assert!(missed.is_empty(), "{} missed:\n{}", missed.len(), missed.join("\n"));
    for plain in
        ["https://example.org/a/b?page=2&q=rust+lifetimes#top", "https://example.org/2024/11/token-bucket"]
    {
        assert!(!has_secret(plain), "{plain}");
    }
}
