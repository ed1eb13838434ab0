//! ntfy: the message to a topic, and which server gets the access token.

use expect_test::expect;
use talaria_core::notice::{Notice, NoticeKind, RequestNotice};

use super::receiver::Receiver;
use super::{notice, parcel, send, senders};

fn config(own: &Receiver, other: &Receiver) -> String {
    format!(
        "ntfy_server = \"http://127.0.0.1:{0}\"\nntfy_token_env = \"HOOK_KEY\"\n\
         allow_private = [\"127.0.0.1:{0}\", \"127.0.0.1:{1}\"]\n",
        own.port, other.port
    )
}

#[tokio::test]
async fn a_topic_gets_title_text_urgency_and_tag() {
    let (mut own, other) = (Receiver::ok().await, Receiver::ok().await);
    let asked = RequestNotice {
        id: "req-1".to_owned(),
        kind: "command".to_owned(),
        summary: "cargo test".to_owned(),
        choices: vec!["accept".to_owned(), "decline".to_owned()],
    };
    let question = Notice {
        kind: NoticeKind::Request,
        status: "waiting_for_approval".to_owned(),
        title: "Grüße\r\nX-Priority: 5".to_owned(),
        request: Some(asked),
        respond: Some("talaria requests answer req-1 accept".to_owned()),
        ..notice()
    };
    send(&senders(&config(&own, &other)), "ntfy:my-tasks", &parcel(question)).await.unwrap();
    let arrived = own.next().await;
    assert_eq!(arrived.path, "/");
    assert_eq!(arrived.header("authorization"), "Bearer a key for webhooks");
    expect![[r#"
        {
          "message": "Grüße X-Priority: 5\n\ncargo test\n\n1 file changed, +3 -1, on talaria/codex-ab12\nAnswers: accept, decline\nLook: talaria task show codex-ab12\nAnswer: talaria requests answer req-1 accept",
          "priority": 4,
          "tags": [
            "raised_hand"
          ],
          "title": "codex-ab12 waiting for approval: Grüße X-Priority: 5",
          "topic": "my-tasks"
        }"#]].assert_eq(&serde_json::to_string_pretty(&arrived.json()).unwrap());
}

#[tokio::test]
async fn the_access_token_goes_to_the_configured_server_alone() {
    let (own, mut other) = (Receiver::ok().await, Receiver::ok().await);
    let target = format!("ntfy:http://127.0.0.1:{}/base/topic", other.port);
    send(&senders(&config(&own, &other)), &target, &parcel(notice())).await.unwrap();
    let arrived = other.next().await;
    assert_eq!((arrived.path.as_str(), &arrived.json()["topic"]), ("/base/", &"topic".into()));
    assert!(arrived.headers.iter().all(|(name, _)| name != "authorization"), "{:?}", arrived.headers);
}

#[tokio::test]
async fn a_long_message_stays_a_message() {
    let (mut own, other) = (Receiver::ok().await, Receiver::ok().await);
    let long = Notice { title: "🚀".repeat(500), answer: Some("🚀".repeat(5000)), ..notice() };
    send(&senders(&config(&own, &other)), "ntfy:t", &parcel(long)).await.unwrap();
    let arrived = own.next().await.json();
    assert!(arrived["message"].as_str().unwrap().len() <= 4000);
}

#[tokio::test]
async fn a_server_of_a_target_must_be_public_too() {
    let mut receiver = Receiver::ok().await;
    let target = format!("ntfy:https://127.0.0.1:{}/topic", receiver.port);
    let error = send(&senders(""), &target, &parcel(notice())).await.unwrap_err();
    assert!(error.message.contains("private address"), "{error}");
    assert_eq!(receiver.visitors().await, 0);
}
