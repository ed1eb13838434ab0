//! TLS, programs of others as clients, and peers that take too much.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::*;
use talaria_server::web::WebError;

/// Lists tasks with nothing but Python's own library.
const PYTHON: &str = r#"
import json, ssl, sys, urllib.request
url, token, ca = sys.argv[1], sys.stdin.readline().strip(), sys.argv[2]
context = ssl.create_default_context(cafile=ca) if ca else None
def ask(path):
    request = urllib.request.Request(url + path, headers={"Authorization": "Bearer " + token})
    with urllib.request.urlopen(request, context=context, timeout=20) as answer:
        return json.load(answer)
print(ask("/v1/info")["api"], ask("/v1/tasks"))
"#;

async fn python(url: String, token: &str, ca: &Path) -> (bool, String) {
    use std::process::Stdio;
    let mut python = tokio::process::Command::new("python3");
    // The token is not an argument: those are in the list of processes.
    let mut child = python
        .args(["-c", PYTHON, &url])
        .arg(ca)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(format!("{token}\n").as_bytes()).await.unwrap();
    let output = child.wait_with_output().await.unwrap();
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (output.status.success(), text)
}

#[tokio::test]
async fn a_client_of_others_uses_the_api_with_a_token() {
    let web = WebScene::of(Scene::start().await).await;
    let token = web.token("script", &[TokenScope::View], &[]).await;
    let (done, text) =
        python(format!("http://localhost:{}", web.address.port()), &token, Path::new("")).await;
    assert!(done && text.starts_with("1 []"), "{text}");
    let (done, text) = python(format!("http://{}", web.address), "talaria_no", Path::new("")).await;
    assert!(!done && text.contains("401"), "{text}");
}

#[tokio::test]
async fn tls_is_spoken_with_the_users_own_certificate() {
    let place = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (cert, key) = (place.path().join("cert.pem"), place.path().join("key.pem"));
    std::fs::write(&cert, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    let path = |path: &Path| path.to_str().unwrap().to_owned();
    let listen = ListenConfig {
        address: Some("127.0.0.1:0".parse().unwrap()),
        tls_cert: Some(path(&cert)),
        tls_key: Some(path(&key)),
        ..ListenConfig::default()
    };
    let plan = listen.plan().unwrap().unwrap();
    std::fs::set_permissions(&key, PermissionsExt::from_mode(0o644)).unwrap();
    let open = WebListener::open(&plan, |path| path.into()).await;
    assert!(matches!(open, Err(WebError::Tls { .. })), "others can read the key");
    std::fs::set_permissions(&key, PermissionsExt::from_mode(0o600)).unwrap();
    let web = WebScene::planned(Scene::start().await, &plan).await;
    let token = web.token("script", &[TokenScope::View], &[]).await;
    let url = format!("https://localhost:{}", web.address.port());
    let (done, text) = python(url.clone(), &token, &cert).await;
    assert!(done && text.starts_with("1 []"), "{text}");
    let (done, text) = python(url, &token, Path::new("")).await;
    assert!(!done && text.contains("CERTIFICATE_VERIFY_FAILED"), "{text}");
    // Without TLS there is no response at all.
    let mut plain = TcpStream::connect(web.address).await.unwrap();
    plain.write_all(&web.call(&route::INFO, "").bearing(&token).text("close")).await.unwrap();
    let mut answer = Vec::new();
    let _ = plain.read_to_end(&mut answer).await;
    assert!(!String::from_utf8_lossy(&answer).contains("HTTP/1.1"), "{answer:?}");
}

#[tokio::test]
async fn five_hundred_streams_of_one_token_leave_room_for_others() {
    let web = WebScene::of(Scene::start().await).await;
    let client = web.scene.client().await;
    let (session, _) = web.scene.started(&client, "run").await;
    let (greedy, other) = (
        web.token("greedy", &[TokenScope::View], &[]).await,
        web.token("other", &[TokenScope::View], &[]).await,
    );
    let call = web.call(&route::FOLLOW, session.id.as_str()).bearing(&greedy);
    let (mut open, mut refused) = (Vec::new(), 0);
    for _ in 0..500 {
        let mut stream = TcpStream::connect(web.address).await.unwrap();
        stream.write_all(&call.text("keep-alive")).await.unwrap();
        let mut head = [0; 12];
        stream.read_exact(&mut head).await.unwrap();
        match parsed(&head).0 {
            200 => open.push(stream),
            429 => refused += 1,
            status => panic!("a stream is answered with {status}"),
        }
    }
    assert_eq!((open.len(), refused), (32, 468));
    web.expect(200, &web.call(&route::TASKS, "").bearing(&other), "another token").await;
    assert!(client.status().await.is_ok(), "the unix socket has its own room");
    drop(open);
    eventually("there is room again", async || {
        let mut stream = TcpStream::connect(web.address).await.ok()?;
        stream.write_all(&call.text("close")).await.ok()?;
        let mut head = [0; 12];
        stream.read_exact(&mut head).await.ok()?;
        (parsed(&head).0 == 200).then_some(())
    })
    .await;
}

#[tokio::test]
async fn heads_and_bodies_without_end_are_refused() {
    let web = WebScene::of(Scene::start().await).await;
    let token = web.token("big", &every_scope(), &[]).await;
    let huge = web.call(&route::TASKS, "").bearing(&token).with("x-filler", &"x".repeat(20_000));
    web.expect(431, &huge, "a head").await;
    let mut body = web.call(&route::START_TASK, "").bearing(&token);
    body.body = vec![b' '; route::BODY_LIMIT + 1];
    web.expect(400, &body, "a body").await;
    assert_eq!(web.scene.received("turn/start").len(), 0);
}
