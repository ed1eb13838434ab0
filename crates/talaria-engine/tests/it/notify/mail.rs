//! Mail: what arrives in a mailbox, and what becomes of bad servers.

use expect_test::expect;
use talaria_core::notice::{Fault, Notice};
use talaria_engine::notify::{Roots, Senders};

use super::mail_sink::{MailSink, Manner};
use super::receiver::Identity;
use super::{TOKEN, impatient, notice, parcel, send, senders};

const TO: &str = "email:ada@example.org";

fn through(scheme: &str, sink: &MailSink, more: &str) -> Senders {
    senders(&format!(
        "email_server = \"{scheme}://localhost:{}\"\nemail_from = \"talaria@example.org\"\n{more}",
        sink.port
    ))
}

const USER: &str = "email_user = \"ada\"\nemail_password_env = \"MAIL_PASSWORD\"\n";

/// Headers without the date, which is now.
fn undated(mail: &str) -> String {
    mail.split("\r\n").filter(|line| !line.starts_with("Date: ")).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn a_mail_tells_everything_in_plain_text() {
    let mut sink = MailSink::start(Manner::default()).await;
    let receipt = send(&through("smtp", &sink, ""), TO, &parcel(notice())).await.unwrap();
    assert_eq!(receipt.note, "SMTP 250");
    let mail = sink.next().await;
    assert_eq!(mail.said[1..3], ["MAIL FROM:<talaria@example.org>", "RCPT TO:<ada@example.org>"]);
    expect![[r#"
        From: talaria@example.org
        To: ada@example.org
        Subject: codex-ab12 completed: fix the flaky test
        Message-ID: <talaria-32801b2af63170aba6d9aa0b79478880@example.org>
        Auto-Submitted: auto-generated
        Content-Type: text/plain; charset=utf-8
        Content-Transfer-Encoding: 7bit

        codex-ab12 completed
        fix the flaky test

        Done: it waited for the wrong port.

        1 file changed, +3 -1, on talaria/codex-ab12
        Look: talaria task show codex-ab12

    "#]]
    .assert_eq(&undated(&mail.text));
}

#[tokio::test]
async fn hostile_text_cannot_add_headers_commands_or_an_early_end() {
    let mut sink = MailSink::start(Manner::default()).await;
    let hostile = Notice {
        title: format!("x\r\nBcc: eve@example.org\r\n\r\nhello {TOKEN} \u{1b}[2J"),
        answer: Some(format!("a\r\n.\r\nMAIL FROM:<eve@example.org>\n.\n\u{7}end {TOKEN}")),
        ..notice()
    };
    send(&through("smtp", &sink, ""), TO, &parcel(hostile)).await.unwrap();
    let mail = sink.next().await;
    let (head, body) = mail.text.split_once("\r\n\r\n").unwrap();
    assert!(!head.lines().any(|line| line.starts_with("Bcc")), "{head}");
    assert_eq!(sink.said.lock().unwrap().iter().filter(|line| line.starts_with("MAIL")).count(), 1);
    let told = decoded(body);
    assert!(told.contains("\r\n.\r\nMAIL FROM:<eve@example.org>\r\n.\r\n␇end"), "{told:?}");
    assert!(!told.contains("ghp_") && !told.contains('\u{1b}'), "{told}");
    assert!(sink.is_empty());
}

/// Undoes quoted-printable, as far as it is used here.
fn decoded(body: &str) -> String {
    let joined = body.replace("=\r\n", "");
    let mut bytes = Vec::new();
    let mut rest = joined.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let hex = after.get(..2).filter(|_| first == b'=').and_then(|two| std::str::from_utf8(two).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).unwrap()
}

#[tokio::test]
async fn every_attempt_of_one_notice_has_the_same_message_id() {
    let mut sink = MailSink::start(Manner::default()).await;
    let senders = through("smtp", &sink, "");
    let mut ids = Vec::new();
    for (id, repeat) in [("a/1/0", false), ("a/1/0", true), ("a/1/1", false)] {
        let mut parcel = parcel(Notice { repeat, ..notice() });
        parcel.id = id.to_owned();
        send(&senders, TO, &parcel).await.unwrap();
        let text = sink.next().await.text;
        assert_eq!(text.contains("(may be a repeat)"), repeat, "{text}");
        ids.extend(text.lines().find(|line| line.starts_with("Message-ID: ")).map(str::to_owned));
    }
    assert!(ids.len() == 3 && ids[0] == ids[1] && ids[1] != ids[2], "{ids:?}");
}

#[tokio::test]
async fn what_a_server_says_decides_about_another_attempt() {
    for (reply, fault, quoted) in [
        ("550 no such mailbox", Fault::Permanent, "no such mailbox"),
        ("451 greylisted", Fault::PASSING, "greylisted"),
    ] {
        let sink = MailSink::start(Manner { recipient: Some(reply), ..Manner::default() }).await;
        let error = send(&through("smtp", &sink, ""), TO, &parcel(notice())).await.unwrap_err();
        assert_eq!(error.fault, fault, "{error}");
        assert!(error.message.contains(quoted), "{error}");
    }
    let sink = MailSink::start(Manner { is_mute: true, ..Manner::default() }).await;
    let senders = through("smtp", &sink, "").with_limits(impatient());
    let error = send(&senders, TO, &parcel(notice())).await.unwrap_err();
    assert_eq!(
        (error.fault, error.message.as_str()),
        (Fault::PASSING, "the mail server does not answer in time")
    );
}

#[tokio::test]
async fn a_password_goes_out_under_tls_from_the_start_or_after_starttls() {
    let identity = Identity::of("localhost");
    let tls = Some(identity.acceptor());
    for (scheme, manner) in [
        ("smtps", Manner { wrapped: tls.clone(), ..Manner::default() }),
        ("smtp+starttls", Manner { upgrade: tls.clone(), ..Manner::default() }),
    ] {
        let mut sink = MailSink::start(manner).await;
        let untrusting = through(scheme, &sink, USER);
        send(&untrusting, TO, &parcel(notice())).await.unwrap_err();
        let senders =
            through(scheme, &sink, USER).with_roots(Roots::Only(vec![identity.certificate.clone()]));
        send(&senders, TO, &parcel(notice())).await.unwrap();
        let mail = sink.next().await;
        assert!(mail.said.iter().any(|line| line.starts_with("AUTH PLAIN")), "{:?}", mail.said);
        assert!(sink.is_empty());
    }
}

#[tokio::test]
async fn a_server_without_starttls_gets_neither_password_nor_mail() {
    let sink = MailSink::start(Manner::default()).await;
    send(&through("smtp+starttls", &sink, USER), TO, &parcel(notice())).await.unwrap_err();
    let said = sink.said.lock().unwrap().clone();
    assert!(said.iter().all(|line| !line.starts_with("AUTH") && !line.starts_with("MAIL")), "{said:?}");
    assert!(sink.is_empty());
}
