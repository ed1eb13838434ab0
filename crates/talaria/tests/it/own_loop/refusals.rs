//! Requests that fail: the class, the provider's own words, the next step and the exit code; how often a provider is asked;
//! and that every wait can be ended.

use std::time::{Duration, Instant};

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};
use talaria_scripted::Reply;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::own_loop::{FAMILIES, KEY, MODEL, answer, exec, prefer, scene};
use crate::scene::{Ended, Scene, of_type, only};
use crate::tasks::{rest, shown, start};

/// A picture that every program can read.
pub(super) const PICTURE: &[u8] = &[
    0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0x0d, b'I', b'H', b'D', b'R', 0, 0, 0, 1, 0, 0,
    0, 1, 8, 6, 0, 0, 0, 0x1f, 0x15, 0xc4, 0x89, 0, 0, 0, 0x0a, b'I', b'D', b'A', b'T', 0x78, 0x9c, 0x63, 0,
    1, 0, 0, 5, 0, 1, 0x0d, 0x0a, 0x2d, 0xb4, 0, 0, 0, 0, b'I', b'E', b'N', b'D', 0xae, 0x42, 0x60, 0x82,
];

/// A refusal that is not repeated: status, code, words, class, exit code, and words of the next step.
const REFUSALS: [(u16, &str, &str, &str, i32, &str); 8] = [
    (401, "invalid_api_key", "Incorrect API key provided", "auth", 6, "OWN_KEY"),
    (402, "billing_error", "Your credit balance is too low", "usage_limit", 1, "add credit"),
    (429, "insufficient_quota", "You exceeded your current quota", "usage_limit", 1, "add credit"),
    (404, "model_not_found", "The model tiny does not exist", "model_not_found", 1, "choose another model"),
    (
        403,
        "unsupported_country_region_territory",
        "Country, region, or territory not supported",
        "not_permitted",
        1,
        "the key is not the problem",
    ),
    (
        403,
        "forbidden",
        "Your API key was rejected by a filter",
        "not_permitted",
        1,
        "the key is not the problem",
    ),
    (
        400,
        "context_length_exceeded",
        "This model's maximum context length is 8192 tokens, you asked for 9001",
        "context_window",
        1,
        "start a new conversation",
    ),
    (400, "invalid_request_error", "messages: something is wrong", "bad_request", 1, "check the model"),
];

fn outcome(ended: &Ended) -> Value {
    ended.events().pop().unwrap()
}

#[tokio::test]
async fn a_refusal_has_its_class_the_providers_words_and_a_next_step_and_is_not_repeated() {
    for family in FAMILIES {
        let scene = scene().await;
        for (index, (status, code, words, class, exit, next)) in REFUSALS.into_iter().enumerate() {
            scene.model.push(Reply::refuse(status, code, words));
            let ended = exec(&scene, family, &["--json", "Go."]).await.exits(exit);
            let outcome = outcome(&ended);
            let place = format!("{family} {status} {code}: {ended}");
            assert_eq!((&outcome["outcome"], &outcome["code"]), (&json!("failed"), &json!(class)), "{place}");
            let message = outcome["message"].as_str().unwrap();
            assert!(message.contains(words) && message.contains(&format!("status {status}")), "{place}");
            assert!(outcome["hint"].as_str().unwrap().contains(next), "{place}");
            assert!(!outcome["hint"].as_str().unwrap().contains("odex"), "{place}");
            if status == 403 {
                assert!(!message.contains("does not accept the key"), "{place}");
            }
            assert_eq!(scene.model.requests().len(), index + 1, "{place}");
        }
        scene.close().await;
    }
}

#[tokio::test]
async fn what_passes_by_itself_is_tried_a_bounded_number_of_times() {
    for family in FAMILIES {
        let scene = scene().await;
        for (status, code, class) in [
            (503, "server_is_overloaded", "rate_limit"),
            (500, "server_error", "server"),
            (429, "rate_limit_exceeded", "rate_limit"),
        ] {
            let before = scene.model.requests().len();
            (0..6).for_each(|_| {
                scene
                    .model
                    .push(Reply::refuse(status, code, "come back later").header("retry-after-ms", "1"));
            });
            let ended = exec(&scene, family, &["--json", "Go."]).await.exits(1);
            let outcome = outcome(&ended);
            assert_eq!(outcome["code"], class, "{ended}");
            assert!(outcome["message"].as_str().unwrap().contains("come back later"), "{ended}");
            assert_eq!(scene.model.requests().len() - before, 6, "{family} {status}: {ended}");
            assert_eq!(of_type(&ended.events(), "retrying").len(), 5, "{ended}");
        }
        scene.close().await;
    }
}

#[tokio::test]
async fn a_wait_that_a_provider_asks_for_is_obeyed_and_visible() {
    let scene = scene().await;
    scene.model.push(Reply::refuse(429, "rate_limit_exceeded", "slow down").header("retry-after", "2"));
    scene.model.push(Reply::say("Now."));
    let ended = exec(&scene, "chat", &["--json", "Go."]).await.exits(0);
    let events = ended.events();
    assert_eq!(answer(&events), json!("Now."), "{ended}");
    let message = only(&events, "retrying")["message"].as_str().unwrap();
    assert!(message.contains("slow down") && message.contains("trying again in 2."), "{message}");
    scene.close().await;
}

#[tokio::test]
async fn a_long_wait_is_told_with_its_time_and_not_slept() {
    for family in FAMILIES {
        let scene = scene().await;
        let before = seconds_now();
        scene.model.push(Reply::refuse(429, "rate_limit_exceeded", "slow down").header("retry-after", "900"));
        let ended = exec(&scene, family, &["--json", "Go."]).await.exits(1);
        let outcome = outcome(&ended);
        assert_eq!(outcome["code"], "rate_limit", "{ended}");
        let at = outcome["retry_at"].as_i64().unwrap();
        assert!((before + 900..before + 1_100).contains(&at), "{at}: {ended}");
        let hint = outcome["hint"].as_str().unwrap();
        assert!(hint.starts_with("send the prompt again after 20") && hint.contains("UTC"), "{hint}");
        assert_eq!(scene.model.requests().len(), 1);
        scene.close().await;
    }
}

fn seconds_now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    i64::try_from(since.as_secs()).unwrap()
}

#[tokio::test]
async fn a_wait_ends_at_once_when_a_person_stops_the_turn() {
    let scene = scene().await;
    let wait = || Reply::refuse(429, "rate_limit_exceeded", "slow down").header("retry-after", "100");
    scene.model.push(wait());
    let arguments = ["exec", "--json", "--provider", "own-messages", "--model", MODEL, "Go."];
    let mut running = scene.interruptible(&arguments);
    running.wait_for("\"retrying\"").await;
    let begun = Instant::now();
    kill_process(running.pid(), Signal::INT).unwrap();
    let ended = running.end().await.exits(4);
    assert_eq!(outcome(&ended)["outcome"], "interrupted", "{ended}");
    assert!(begun.elapsed() < Duration::from_secs(60), "the wait was slept");

    scene.model.push(wait());
    prefer(&scene, "own-chat", MODEL);
    let id = start(&scene, &["Go."]).await;
    scene.model.wait_for_requests(2).await;
    scene.run(&["task", "interrupt", &id]).await.exits(0);
    rest(&scene).await;
    assert_eq!(shown(&scene, &id).await["outcome"]["outcome"], "interrupted");
    assert_eq!(scene.model.requests().len(), 2);
    scene.close().await;
}

#[tokio::test]
async fn an_image_that_is_refused_is_left_out_once_and_that_is_said() {
    for family in FAMILIES {
        let scene = scene().await;
        std::fs::write(scene.work().join("dot.png"), PICTURE).unwrap();
        let refusal =
            || Reply::refuse(400, "invalid_request_error", "image exceeds 5 MB maximum: 9 MB > 5 MB");
        scene.model.push(refusal());
        scene.model.push(Reply::say("I see nothing."));
        let ended = exec(&scene, family, &["--json", "--image", "dot.png", "Look."]).await.exits(0);
        let events = ended.events();
        let message = only(&events, "retrying")["message"].as_str().unwrap();
        assert!(message.contains("image exceeds 5 MB") && message.contains("without images"), "{message}");
        let requests = scene.model.requests();
        assert!(
            requests[0].text.contains("image/png") && !requests[1].text.contains("image/png"),
            "{family}"
        );
        assert_eq!(requests.len(), 2);
        // A second refusal ends the turn.
        scene.model.push(refusal());
        scene.model.push(refusal());
        let ended = exec(&scene, family, &["--json", "--image", "dot.png", "Look."]).await.exits(1);
        assert_eq!(outcome(&ended)["code"], "input_too_large", "{ended}");
        assert_eq!(scene.model.requests().len(), 4);
        scene.close().await;
    }
}

/// What `providers test --json` says about a provider.
async fn tested(scene: &Scene, name: &str, exit: i32) -> Value {
    let ended = scene.run(&["providers", "test", name, "--model", MODEL, "--json"]).await.exits(exit);
    assert!(!ended.stdout.contains(KEY) && !ended.stderr.contains(KEY), "{ended}");
    ended.json().remove(0)
}

#[tokio::test]
async fn a_provider_is_tested_with_one_small_request_and_without_an_engine() {
    let scene = scene().await;
    for family in FAMILIES {
        let before = scene.model.requests().len();
        scene.model.push(Reply::say("ok").model("tiny-2").header("x-request-id", "req_77"));
        let found = tested(&scene, &format!("own-{family}"), 0).await;
        assert_eq!(
            (&found["works"], &found["model"], &found["text"]),
            (&json!(true), &json!("tiny-2"), &json!("ok"))
        );
        assert_eq!((&found["tokens"]["input"], &found["price_usd"]), (&json!(1000), &Value::Null), "{found}");
        assert_eq!(found["request_id"], "req_77");
        assert!(found["first_byte_ms"].is_u64(), "{found}");
        let requests = scene.model.requests();
        assert_eq!(requests.len() - before, 1);
        assert!(
            requests[before].text.len() < 1_000 && requests[before].body.get("tools").is_none(),
            "{family}"
        );
    }
    scene.model.push(Reply::say("ok"));
    let ended = scene.run(&["providers", "test", "own-chat"]).await.exits(0);
    ended.prints(&[
        "own-chat",
        "model         tiny",
        "first byte",
        "1000 in, 50 out",
        "price         unknown",
    ]);
    for (status, code, words, class, exit, next) in REFUSALS {
        scene.model.push(Reply::refuse(status, code, words));
        let found = tested(&scene, "own-messages", exit).await;
        assert_eq!((&found["works"], &found["code"]), (&json!(false), &json!(class)), "{found}");
        assert!(found["message"].as_str().unwrap().contains(words), "{found}");
        assert!(found["hint"].as_str().unwrap().contains(next), "{found}");
    }
    scene.model.push(Reply::refuse(401, "invalid_api_key", format!("Incorrect API key: {KEY}")));
    let ended = scene.run(&["providers", "test", "own-chat"]).await.exits(6);
    ended.complains(&[
        "error: cannot test the provider own-chat",
        "does not accept the key",
        "hint: check the key in OWN_KEY",
    ]);
    assert!(scene.status().await["engine"].is_null(), "an engine was started");
    let unknown = scene.run(&["providers", "test", "nowhere"]).await.exits(2);
    unknown.complains(&["there is no such provider", "talaria providers list"]);
    scene.run(&["providers", "test", "openai"]).await.exits(6).complains(&["OPENAI_API_KEY is not set"]);
    scene.close().await;
}

#[tokio::test]
async fn what_is_wrong_on_the_way_to_a_provider_is_named() {
    let mut scene = scene().await;
    let (tls, connections) = untrusted_server().await;
    let proxy = refusing_proxy().await;
    scene.configure(&format!(
        "[providers.forged]\nbase_url = \"https://127.0.0.1:{tls}/v1\"\napi = \"chat\"\nkey_env = \"OWN_KEY\"\n\
         [providers.nowhere]\nbase_url = \"https://no-such-host.invalid/v1\"\napi = \"chat\"\nkey_env = \"OWN_KEY\"\n\
         [providers.far]\nbase_url = \"https://models.example.com/v1\"\napi = \"messages\"\nkey_env = \"OWN_KEY\"\n\
         [providers.closed]\nbase_url = \"http://127.0.0.1:9/v1\"\napi = \"responses\"\nkey_env = \"OWN_KEY\"\n"
    ));
    let arguments = ["exec", "--json", "--provider", "forged", "--model", MODEL, "Go."];
    let ended = scene.run(&arguments).await.exits(1);
    let failed = outcome(&ended);
    assert_eq!(failed["code"], "connection", "{ended}");
    assert!(failed["message"].as_str().unwrap().contains("certificate"), "{ended}");
    assert!(failed["hint"].as_str().unwrap().contains("SSL_CERT_FILE"), "{ended}");
    assert_eq!(*connections.lock().unwrap(), 1, "a certificate does not become good by trying again");
    assert_eq!(tested(&scene, "forged", 1).await["class"], "certificate");

    let expect = |found: Value, words: &str| {
        assert_eq!((&found["code"], &found["class"]), (&json!("connection"), &json!("transport")), "{found}");
        assert!(found["message"].as_str().unwrap().contains(words), "{words}: {found}");
        assert!(found["hint"].as_str().unwrap().contains("check the network, the proxy"), "{found}");
    };
    expect(tested(&scene, "closed", 1).await, "cannot be reached");
    // The scene's proxy is a port where nothing listens.
    expect(tested(&scene, "far", 1).await, "proxy");
    scene.set("HTTPS_PROXY", format!("http://{proxy}"));
    scene.set("https_proxy", format!("http://{proxy}"));
    expect(tested(&scene, "far", 1).await, "407");
    // Small letters win.
    for name in ["NO_PROXY", "no_proxy"] {
        scene.set(name, "no-such-host.invalid,127.0.0.1");
    }
    expect(tested(&scene, "nowhere", 1).await, "no-such-host.invalid");
    scene.close().await;
}

/// A server with a certificate that no one vouches for, and how many clients it had.
async fn untrusted_server() -> (u16, std::sync::Arc<std::sync::Mutex<usize>>) {
    let pair = rcgen::KeyPair::generate().unwrap();
    let parameters = rcgen::CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
    let certificate = parameters.self_signed(&pair).unwrap().der().clone();
    let key = tokio_rustls::rustls::pki_types::PrivatePkcs8KeyDer::from(pair.serialize_der());
    let provider = std::sync::Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let config = tokio_rustls::rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key.into())
        .unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(std::sync::Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let connections = std::sync::Arc::new(std::sync::Mutex::new(0));
    let counted = connections.clone();
    tokio::spawn(async move {
        loop {
            let Ok((stream, _)) = listener.accept().await else { return };
            *counted.lock().unwrap() += 1;
            // The client leaves; that is what the test is about.
            let _ = acceptor.accept(stream).await;
        }
    });
    (port, connections)
}

/// A proxy that wants a login.
async fn refusing_proxy() -> std::net::SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let Ok((mut stream, _)) = listener.accept().await else { return };
            let mut head = [0; 4096];
            let _ = stream.read(&mut head).await;
            let _ = stream
                .write_all(b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n")
                .await;
        }
    });
    address
}

/// The conversation is still loaded with the environment of the command before.
#[tokio::test]
async fn a_corrected_key_counts_for_the_next_prompt() {
    let mut scene = scene().await;
    scene.model.push(Reply::refuse(401, "invalid_api_key", "Incorrect API key provided"));
    let refused = exec(&scene, "chat", &["--json", "Go."]).await.exits(6);
    let session = refused.events()[0]["session"].as_str().unwrap().to_owned();
    let corrected = "sk-corrected-0123456789abcdef";
    scene.set("OWN_KEY", corrected);
    scene.model.push(Reply::say("Gone."));
    scene.run(&["exec", "--resume", &session, "Go again."]).await.exits(0);
    let requests = scene.model.requests();
    assert_eq!(requests[1].header("authorization"), Some(&*format!("Bearer {corrected}")));
    scene.close().await;
}
