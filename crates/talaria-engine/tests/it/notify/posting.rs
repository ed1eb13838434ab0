//! Webhooks: delivered requests, refused addresses, and faulty servers.

use std::time::Duration;

use expect_test::expect;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use talaria_core::notice::{Fault, Notice};
use talaria_engine::notify::Roots;

use super::receiver::{Identity, Receiver, Reply, says};
use super::{KEY, TOKEN, impatient, notice, parcel, send, senders, write_private};

#[tokio::test]
async fn a_webhook_gets_signed_json_that_its_receiver_can_check() {
    let mut receiver = Receiver::ok().await;
    let senders = senders(&receiver.permit());
    let receipt = send(&senders, &receiver.webhook("/hook?x=1"), &parcel(notice())).await.unwrap();
    assert_eq!(receipt.note, "HTTP 200");
    let arrived = receiver.next().await;
    assert_eq!(arrived.path, "/hook?x=1");
    assert_eq!(arrived.header("content-type"), "application/json");
    assert_eq!(arrived.header("host"), format!("127.0.0.1:{}", receiver.port));
    assert_eq!(arrived.header("talaria-delivery"), "codex-ab12/1/0");
    assert_eq!(serde_json::from_str::<Notice>(&arrived.body).unwrap(), notice());
    let (time, signature) = arrived.header("talaria-signature").split_once(",v1=").unwrap();
    let seconds = time.strip_prefix("t=").unwrap();
    let mut mac = Hmac::<Sha256>::new_from_slice(KEY.as_bytes()).unwrap();
    mac.update(format!("{seconds}.{}", arrived.body).as_bytes());
    let expected: String = mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(signature, expected);
    let age = jiff::Timestamp::now().as_second() - seconds.parse::<i64>().unwrap();
    assert!((0..60).contains(&age), "{age}");
}

#[tokio::test]
async fn no_secret_arrives_and_hostile_text_stays_inside_its_string() {
    let mut receiver = Receiver::ok().await;
    let senders = senders(&receiver.permit());
    let hostile = Notice {
        title: format!("\u{1b}]0;x\u{7}\r\nX-Evil: 1 {TOKEN}"),
        answer: Some(format!("the token is {TOKEN}")),
        files: vec![format!("{TOKEN}.txt")],
        ..notice()
    };
    send(&senders, &receiver.webhook("/"), &parcel(hostile)).await.unwrap();
    let arrived = receiver.next().await;
    assert!(!arrived.body.contains("ghp_"), "{}", arrived.body);
    assert!(!arrived.body.contains(char::is_control), "{}", arrived.body);
    assert!(arrived.headers.iter().all(|(name, _)| name != "x-evil"));
    assert!(arrived.json()["answer"].as_str().unwrap().starts_with("the token is [redacted:"));
}

#[tokio::test]
async fn a_private_address_is_refused_and_nobody_is_connected_to() {
    let mut receiver = Receiver::ok().await;
    let senders = senders("");
    let port = receiver.port;
    let hosts = [
        "127.0.0.1",
        "127.1",
        "0x7f000001",
        "[::ffff:127.0.0.1]",
        "10.0.0.1",
        "169.254.169.254",
        "localhost",
    ];
    let mut told = String::new();
    for host in hosts {
        let error =
            send(&senders, &format!("webhook:https://{host}:{port}/"), &parcel(notice())).await.unwrap_err();
        told += &format!("{host}: {:?}: {error}\n", error.fault);
    }
    let plain = send(&senders, &receiver.webhook("/KEY"), &parcel(notice())).await.unwrap_err();
    assert!(!plain.message.contains("KEY"));
    told += &plain.message.replace(&port.to_string(), "PORT");
    told.push('\n');
    expect![[r#"
        127.0.0.1: Permanent: the host has a private address: list it in notify.allow_private if that is intended
        127.1: Permanent: the host has a private address: list it in notify.allow_private if that is intended
        0x7f000001: Permanent: the host has a private address: list it in notify.allow_private if that is intended
        [::ffff:127.0.0.1]: Permanent: the host has a private address: list it in notify.allow_private if that is intended
        10.0.0.1: Permanent: the host has a private address: list it in notify.allow_private if that is intended
        169.254.169.254: Permanent: the host has a forbidden address
        localhost: Passing { retry_after: None }: the host has a private address: list it in notify.allow_private if that is intended
        webhook:http://127.0.0.1:PORT is not protected: use https://, or list the host in notify.allow_private
    "#]].assert_eq(&told);
    assert_eq!(receiver.visitors().await, 0);
}

#[tokio::test]
async fn a_host_that_is_listed_is_reached_also_by_name_but_on_its_port_alone() {
    let mut receiver = Receiver::ok().await;
    let mut other = Receiver::ok().await;
    let senders = senders(&receiver.permit());
    let target = format!("webhook:http://localhost:{}/", receiver.port);
    // Where localhost is first ::1, there is no listener, and the next address is tried.
    send(&senders, &target, &parcel(notice())).await.unwrap();
    assert_eq!(receiver.next().await.header("host"), format!("localhost:{}", receiver.port));
    let other_port = format!("webhook:https://localhost:{}/", other.port);
    send(&senders, &other_port, &parcel(notice())).await.unwrap_err();
    assert_eq!(other.visitors().await, 0);
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let mut elsewhere = Receiver::ok().await;
    let head = format!("302 Found\r\nlocation: http://127.0.0.1:{}/", elsewhere.port);
    let receiver = Receiver::start(vec![says(head.leak(), "")]).await;
    let config =
        format!("allow_private = [\"127.0.0.1:{}\", \"127.0.0.1:{}\"]\n", receiver.port, elsewhere.port);
    let error = send(&senders(&config), &receiver.webhook("/"), &parcel(notice())).await.unwrap_err();
    assert_eq!(error.fault, Fault::Permanent);
    expect!["HTTP 302; redirects are not followed, name the final address"].assert_eq(&error.message);
    assert_eq!(elsewhere.visitors().await, 0);
}

#[tokio::test]
async fn the_status_says_whether_another_attempt_makes_sense() {
    let later = |seconds| Fault::Passing { retry_after: Some(Duration::from_secs(seconds)) };
    let long_ago = "503 Busy\r\nretry-after: Wed, 21 Oct 2015 07:28:00 GMT";
    let cases = [
        (says("404 Not Found", "no\u{1b}[2J such hook"), Fault::Permanent, "HTTP 404: no␛[2J such hook"),
        (
            says("401 No", &format!("bad {TOKEN}")),
            Fault::Permanent,
            "HTTP 401: bad [redacted:github-token:40]",
        ),
        (says("500 Oh", ""), Fault::PASSING, "HTTP 500"),
        (says("429 Slow\r\nretry-after: 120", ""), later(120), "HTTP 429"),
        (says(long_ago, ""), Fault::PASSING, "HTTP 503"),
        (says("429 Slow\r\nretry-after: soon", ""), Fault::PASSING, "HTTP 429"),
    ];
    for (reply, fault, message) in cases {
        let receiver = Receiver::start(vec![reply]).await;
        let senders = senders(&receiver.permit());
        let error = send(&senders, &receiver.webhook("/"), &parcel(notice())).await.unwrap_err();
        assert_eq!((error.fault, error.message.as_str()), (fault, message));
    }
}

#[tokio::test]
async fn a_wish_for_patience_may_be_a_time_of_day() {
    let at = jiff::Timestamp::now() + jiff::SignedDuration::from_hours(1);
    let at = at.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
    let receiver = Receiver::start(vec![says(format!("503 Busy\r\nretry-after: {at}").leak(), "")]).await;
    let error =
        send(&senders(&receiver.permit()), &receiver.webhook("/"), &parcel(notice())).await.unwrap_err();
    let Fault::Passing { retry_after: Some(wait) } = error.fault else { panic!("{error:?}") };
    assert!((3000..=3600).contains(&wait.as_secs()), "{wait:?}");
}

#[tokio::test]
async fn a_server_that_is_silent_slow_endless_or_gone_costs_its_limit_and_no_more() {
    for (reply, message) in [
        (Reply::Never, "the server does not answer in time"),
        (Reply::Trickle, "the server does not answer in time"),
    ] {
        let receiver = Receiver::start(vec![reply]).await;
        let senders = senders(&receiver.permit()).with_limits(impatient());
        let error = send(&senders, &receiver.webhook("/"), &parcel(notice())).await.unwrap_err();
        assert_eq!((error.fault, error.message.as_str()), (Fault::PASSING, message));
    }
    let receiver = Receiver::start(vec![Reply::Flood("200 OK"), Reply::Flood("400 Bad")]).await;
    let flooded = senders(&receiver.permit());
    send(&flooded, &receiver.webhook("/"), &parcel(notice())).await.unwrap();
    let error = send(&flooded, &receiver.webhook("/"), &parcel(notice())).await.unwrap_err();
    assert!(error.fault == Fault::Permanent && error.message.len() < 200, "{error:?}");

    let unused = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let gone = senders(&format!("allow_private = [\"127.0.0.1:{unused}\"]\n"));
    let target = format!("webhook:http://127.0.0.1:{unused}/");
    let error = send(&gone, &target, &parcel(notice())).await.unwrap_err();
    assert!(error.fault == Fault::PASSING && error.message.starts_with("cannot connect"), "{error:?}");
}

#[tokio::test]
async fn tls_is_checked_authority_and_name() {
    let (ours, theirs) = (Identity::of("localhost"), Identity::of("localhost"));
    let mut receiver = Receiver::start_tls(vec![says("204 No Content", "")], &ours).await;
    let trusting = |identity: &Identity| {
        senders(&receiver.permit()).with_roots(Roots::Only(vec![identity.certificate.clone()]))
    };
    let (good, bad) = (trusting(&ours), trusting(&theirs));
    let target = format!("webhook:https://localhost:{}/", receiver.port);
    let receipt = send(&good, &target, &parcel(notice())).await.unwrap();
    assert_eq!(receipt.note, "HTTP 204");
    assert_eq!(receiver.next().await.json()["task"], "codex-ab12");

    let other_name = format!("webhook:https://127.0.0.1:{}/", receiver.port);
    for (senders, target) in [(bad, target), (good, other_name)] {
        let error = send(&senders, &target, &parcel(notice())).await.unwrap_err();
        assert!(error.fault == Fault::PASSING && error.message.starts_with("TLS: "), "{error:?}");
    }
    assert!(receiver.is_empty());
}

#[tokio::test]
async fn the_key_comes_from_a_file_that_nobody_else_can_read() {
    use std::os::unix::fs::PermissionsExt;
    let mut receiver = Receiver::ok().await;
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("hook.key");
    let senders = senders(&format!("webhook_secret_file = \"{}\"\n{}", file.display(), receiver.permit()));
    let attempt = async || send(&senders, &receiver.webhook("/"), &parcel(notice())).await;
    let shown = |error: &str| error.replace(home.path().to_str().unwrap(), "HOME");
    let mut told = vec![attempt().await.unwrap_err().message];
    write_private(&file, "\n");
    told.push(attempt().await.unwrap_err().message);
    write_private(&file, "another key\n");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
    told.push(attempt().await.unwrap_err().message);
    let told: Vec<String> = told.iter().map(|error| shown(error) + "\n").collect();
    expect![[r#"
        cannot read HOME/hook.key: No such file or directory (os error 2)
        the configured secret is empty
        HOME/hook.key can be read by others: run chmod 600 HOME/hook.key
    "#]]
    .assert_eq(&told.concat());
    assert!(receiver.is_empty());
    write_private(&file, "another key\n");
    attempt().await.unwrap();
    receiver.next().await;
}
