//! Bodies of every size, speed, packing and encoding.

use std::io::Write as _;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use talaria_web::{FetchError, FetchLimits, FetchedBody, read_page};

use crate::server::{Net, Script, Server, html, reply};

const HOST: (&str, &[&str]) = ("a.test", &["93.184.216.34"]);

async fn fetched(script: Script) -> Result<FetchedBody, FetchError> {
    let server = Server::start(vec![script]).await;
    Net::new(&server, &[HOST]).fetch("http://a.test/").await
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[tokio::test]
async fn a_body_of_a_gigabyte_is_cut_while_it_streams() {
    let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 1000000000\r\n\r\n".to_vec();
    let fetched = fetched(Script::Endless(head, vec![b'x'; 65_536])).await.unwrap();
    assert_eq!((fetched.bytes.len(), fetched.is_cut), (5_000_000, true));
    let page = read_page(fetched).unwrap();
    assert_eq!(page.notes[0], "the page is longer than 5 MB and was cut there");
}

#[tokio::test]
async fn a_bomb_is_unpacked_up_to_the_limit() {
    let bomb = gzip(&vec![b' '; 200_000_000]);
    assert!(bomb.len() < 1_000_000);
    let fetched =
        fetched(reply("200 OK\r\ncontent-type: text/html\r\ncontent-encoding: gzip", &bomb)).await.unwrap();
    assert_eq!((fetched.bytes.len(), fetched.is_cut), (5_000_000, true));
}

#[tokio::test]
async fn a_packed_page_is_unpacked_and_a_wrong_or_unknown_packing_is_said() {
    let packed = gzip("<p>日本語".as_bytes());
    let good =
        fetched(reply("200 OK\r\ncontent-type: text/html\r\ncontent-encoding: GZip", &packed)).await.unwrap();
    assert!(read_page(good).unwrap().text.contains("日本語"));
    let wrong = fetched(reply("200 OK\r\ncontent-encoding: gzip", b"not packed at all")).await;
    assert_eq!(wrong, Err(FetchError::Encoding("gzip".to_owned())));
    let unknown = fetched(reply("200 OK\r\ncontent-encoding: br", b"x")).await;
    assert_eq!(unknown, Err(FetchError::Encoding("br".to_owned())));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_drips_is_given_up_after_the_limit() {
    // The clock runs ahead whenever nothing moves.
    for head in ["HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nslow", "HTTP/1.1 200", ""] {
        let fetched = fetched(Script::Stalls(head.as_bytes().to_vec())).await;
        assert_eq!(fetched, Err(FetchError::TooSlow(Duration::from_secs(20))), "{head:?}");
    }
}

#[tokio::test]
async fn a_server_that_drips_forever_is_given_up_too() {
    let server = Server::start(vec![Script::Endless(
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_vec(),
        b"1\r\nx\r\n".to_vec(),
    )])
    .await;
    let limits =
        FetchLimits { total: Duration::from_millis(200), bytes: usize::MAX / 2, ..FetchLimits::default() };
    let fetched = Net::new(&server, &[HOST]).fetch_within("http://a.test/", limits, &[], |_| true).await;
    assert_eq!(fetched, Err(FetchError::TooSlow(limits.total)));
}

#[tokio::test]
async fn headers_without_end_are_refused() {
    let first = b"HTTP/1.1 200 OK\r\n".to_vec();
    let fetched = fetched(Script::Endless(first, b"x-more: and more and more and more\r\n".to_vec())).await;
    assert!(matches!(fetched, Err(FetchError::Broken(_))), "{fetched:?}");
}

#[tokio::test]
async fn pages_in_other_encodings_are_read() {
    let japanese = b"<html><head><meta charset='Shift_JIS'><title>\x93\xfa\x96\x7b</title></head><body><p>\x8c\xea</p></body>";
    let page =
        read_page(fetched(reply("200 OK\r\ncontent-type: text/html", japanese)).await.unwrap()).unwrap();
    assert_eq!((page.title.as_deref(), page.text.as_str()), (Some("日本"), "語"));
    let chinese = b"\xd6\xd0\xce\xc4";
    let page =
        read_page(fetched(reply("200 OK\r\ncontent-type: text/plain; charset=gbk", chinese)).await.unwrap())
            .unwrap();
    assert_eq!(page.text, "中文");
    let latin = b"caf\xe9";
    let page = read_page(fetched(reply("200 OK\r\ncontent-type: text/plain", latin)).await.unwrap()).unwrap();
    assert_eq!(page.text, "café");
    let page = read_page(fetched(html("<p>한국어 ελληνικά")).await.unwrap()).unwrap();
    assert_eq!(page.text, "한국어 ελληνικά");
}

#[tokio::test]
async fn an_error_page_is_read_with_its_status_and_other_types_are_refused() {
    let page = read_page(
        fetched(reply("404 Not Found\r\ncontent-type: text/plain", b"no such page")).await.unwrap(),
    );
    assert_eq!((page.as_ref().unwrap().status, page.unwrap().text.as_str()), (404, "no such page"));
    let json =
        read_page(fetched(reply("200 OK\r\ncontent-type: application/json", b"{\"a\": 1}")).await.unwrap());
    assert_eq!(json.unwrap().text, "{\"a\": 1}");
    let pdf = read_page(fetched(reply("200 OK\r\ncontent-type: application/pdf", b"%PDF")).await.unwrap());
    assert!(pdf.unwrap_err().starts_with("the type application/pdf is not read"));
    let head = b"HTTP/1.1 200 OK\r\ncontent-type: application/pdf\r\n\r\n".to_vec();
    let endless = fetched(Script::Endless(head, vec![b'x'; 65_536])).await.unwrap();
    assert_eq!((endless.bytes.len(), endless.is_cut), (20_000_000, true));
}
