//! The deliverer: once, to the right target, and no other target is delayed.

use std::sync::Arc;
use std::time::Duration;

use expect_test::expect;
use talaria_core::notice::Notice;
use talaria_engine::notify::{Deliverer, DeliveryLeftovers, SendTimeouts, Senders};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::memory::Memory;
use super::receiver::{Receiver, Reply, says};
use super::{AMPLE, TOKEN, ample, notice, payload, senders};

struct Running {
    nudge: Arc<Notify>,
    stop: CancellationToken,
    task: JoinHandle<DeliveryLeftovers>,
}

fn start(name: &str, memory: &Memory, senders: &Arc<Senders>) -> Running {
    let (nudge, stop) = (Arc::new(Notify::new()), CancellationToken::new());
    let senders = senders.clone();
    let deliverer = Deliverer::new(memory.clone(), move || senders.clone(), name, nudge.clone());
    let task = tokio::spawn(deliverer.run(stop.clone()));
    Running { nudge, stop, task }
}

/// Senders that may reach these, and do not wait at the end.
fn permit(receivers: &[&Receiver]) -> Arc<Senders> {
    let hosts: Vec<String> =
        receivers.iter().map(|receiver| format!("\"127.0.0.1:{}\"", receiver.port)).collect();
    let senders = senders(&format!("allow_private = [{}]\nattempts = 3\n", hosts.join(", ")));
    Arc::new(senders.with_limits(SendTimeouts { stop: Duration::ZERO, ..ample() }))
}

#[tokio::test]
async fn what_fails_is_tried_again_later_and_says_which_attempt_it_is() {
    let mut receiver = Receiver::start(vec![says("500 Oh", "no"), says("200 OK", "")]).await;
    let memory = Memory::new();
    memory.owe("a", &receiver.webhook("/"), &payload(notice()));
    let before = jiff::Timestamp::now().as_millisecond();
    let running = start("one", &memory, &permit(&[&receiver]));
    let row = memory.wait("a", "failed").await;
    assert_eq!(row.error, "HTTP 500: no");
    assert!(memory.due_at("a") >= before + 12_000, "{} after {before}", memory.due_at("a"));
    memory.hurry();
    running.nudge.notify_one();
    memory.wait("a", "sent").await;
    for attempt in [1, 2] {
        let told = receiver.next().await.json();
        assert_eq!((&told["attempt"], &told["repeat"]), (&attempt.into(), &false.into()));
    }
    running.stop.cancel();
    assert_eq!(running.task.await.unwrap(), DeliveryLeftovers { cut_off: 0, released: 0 });
}

#[tokio::test]
async fn what_cannot_be_delivered_is_given_up_with_the_reason() {
    let receiver = Receiver::start(vec![says("404 Not Found", "")]).await;
    let memory = Memory::new();
    let good = payload(notice());
    memory.owe("gone", &receiver.webhook("/"), &good);
    memory.owe("chat", "feishu:oc_1", &good);
    memory.owe("torn", "local", "{}");
    let senders = permit(&[&receiver]);
    let running = start("one", &memory, &senders);
    let mut told = String::new();
    for id in ["gone", "chat", "torn"] {
        let row = memory.wait(id, "abandoned").await;
        told += &format!("{id}, attempt {}: {}\n", row.owed.attempts, row.error);
    }
    expect![[r#"
        gone, attempt 1: HTTP 404
        chat, attempt 1: feishu is not there yet: chat platforms come with a later version; allowed: local, command:PROGRAM [ARGUMENTS], webhook:https://…, ntfy:TOPIC, email:ADDRESS
        torn, attempt 1: the stored notification cannot be read: missing field `kind` at line 1 column 2
    "#]].assert_eq(&told);
    drop(running);
}

#[tokio::test]
async fn after_the_last_attempt_it_is_given_up() {
    let receiver = Receiver::start(vec![says("500 Oh", "")]).await;
    let memory = Memory::new();
    memory.owe("a", &receiver.webhook("/"), &payload(notice()));
    let running = start("one", &memory, &permit(&[&receiver]));
    for _ in 1..3 {
        memory.wait("a", "failed").await;
        memory.hurry();
        running.nudge.notify_one();
        memory.wait("a", "sending").await;
    }
    assert_eq!(memory.wait("a", "abandoned").await.owed.attempts, 3);
}

#[tokio::test]
async fn a_silent_receiver_holds_up_nobody_else_and_gets_one_at_a_time() {
    let mut silent = Receiver::start(vec![Reply::Never]).await;
    let mut quick = Receiver::ok().await;
    let memory = Memory::new();
    for n in 0..20 {
        memory.owe(&format!("silent-{n}"), &silent.webhook("/"), &payload(notice()));
    }
    for n in 0..20 {
        memory.owe(&format!("quick-{n}"), &quick.webhook(&format!("/{n}")), &payload(notice()));
    }
    let running = start("one", &memory, &permit(&[&silent, &quick]));
    for n in 0..20 {
        memory.wait(&format!("quick-{n}"), "sent").await;
        quick.next().await;
    }
    silent.next().await;
    assert!(silent.is_empty());
    running.stop.cancel();
    // Three waited after the silent one and are released; the fate of the one in progress is unknown.
    assert_eq!(running.task.await.unwrap(), DeliveryLeftovers { cut_off: 1, released: 3 });
    let left: Vec<u32> = (0..4).map(|n| memory.row(&format!("silent-{n}")).owed.attempts).collect();
    assert_eq!(left, [1, 0, 0, 0]);
}

#[tokio::test]
async fn a_keeper_that_cannot_leave_out_targets_costs_patience_and_nothing_else() {
    let mut silent = Receiver::start(vec![Reply::Never]).await;
    let quick = Receiver::ok().await;
    let memory = Memory::new();
    for n in 0..520 {
        memory.owe(&format!("silent-{n}"), &silent.webhook("/"), &payload(notice()));
    }
    memory.owe("quick", &quick.webhook("/"), &payload(notice()));
    let running = start("one", &memory.giving_all(), &permit(&[&silent, &quick]));
    memory.wait("quick", "sent").await;
    silent.next().await;
    running.stop.cancel();
    assert_eq!(running.task.await.unwrap(), DeliveryLeftovers { cut_off: 1, released: 512 });
    assert!(silent.is_empty());
}

#[tokio::test]
async fn two_deliverers_send_everything_once() {
    let mut receiver = Receiver::ok().await;
    let memory = Memory::new();
    for n in 0..40 {
        memory.owe(&n.to_string(), &receiver.webhook("/"), &payload(notice()));
    }
    let senders = permit(&[&receiver]);
    let both = [start("one", &memory, &senders), start("two", &memory, &senders)];
    for n in 0..40 {
        memory.wait(&n.to_string(), "sent").await;
        receiver.next().await;
    }
    assert!(receiver.is_empty());
    drop(both);
}

#[tokio::test]
async fn what_was_sent_by_an_engine_that_died_before_it_could_say_so_is_marked_as_a_repeat() {
    let mut receiver = Receiver::ok().await;
    let senders = permit(&[&receiver]);
    let memory = Memory::new();
    memory.owe("a", &receiver.webhook("/"), &payload(notice()));
    let dying = start("one", &memory.dying(), &senders);
    assert_eq!(receiver.next().await.json()["repeat"], false);
    dying.task.abort();
    dying.task.await.unwrap_err();
    assert_eq!(memory.row("a").state, "sending");

    memory.owe("b", "local", &payload(notice()));
    let next = start("two", &memory, &senders);
    memory.wait("b", "sent").await;
    assert_eq!(memory.row("a").state, "sending", "a claim holds until it runs out");
    memory.hurry();
    next.nudge.notify_one();
    let told = receiver.next().await;
    assert_eq!((&told.json()["repeat"], &told.json()["attempt"]), (&true.into(), &2.into()));
    assert_eq!(told.header("talaria-delivery"), "a");
    memory.wait("a", "sent").await;
}

#[tokio::test]
async fn a_clock_that_jumps_over_a_claim_sends_nothing_twice() {
    let gate = Arc::new(Notify::new());
    let mut slow = Receiver::start(vec![Reply::Gated(gate.clone()), says("200 OK", "")]).await;
    let senders = Arc::new(senders(&slow.permit()));
    let memory = Memory::new();
    memory.owe("a", &slow.webhook("/"), &payload(notice()));
    let running = start("one", &memory.giving_all(), &senders);
    slow.next().await;
    for claims in 2..5 {
        memory.hurry();
        running.nudge.notify_one();
        memory.wait_for("a", |row| row.owed.attempts == claims).await;
    }
    gate.notify_one();
    memory.wait("a", "sent").await;
    running.stop.cancel();
    assert_eq!(running.task.await.unwrap(), DeliveryLeftovers { cut_off: 0, released: 0 });
    assert!(slow.is_empty());
}

#[tokio::test]
async fn an_attempt_that_is_under_way_may_end_before_everything_stops() {
    let gate = Arc::new(Notify::new());
    let mut receiver = Receiver::start(vec![Reply::Gated(gate.clone())]).await;
    let senders = Arc::new(senders(&receiver.permit()));
    let memory = Memory::new();
    memory.owe("a", &receiver.webhook("/"), &payload(notice()));
    let running = start("one", &memory, &senders);
    receiver.next().await;
    running.stop.cancel();
    gate.notify_one();
    assert_eq!(running.task.await.unwrap(), DeliveryLeftovers { cut_off: 0, released: 0 });
    assert_eq!(memory.row("a").state, "sent");
}

#[tokio::test]
async fn a_notice_that_waits_reaches_its_receiver_without_its_secrets() {
    let mut receiver = Receiver::ok().await;
    let memory = Memory::new();
    memory.owe("a", &receiver.webhook("/"), &payload(Notice { answer: Some(TOKEN.to_owned()), ..notice() }));
    let _running = start("one", &memory, &permit(&[&receiver]));
    let told = tokio::time::timeout(AMPLE, receiver.next()).await.unwrap();
    assert!(!told.body.contains("ghp_"), "{}", told.body);
}

#[test]
fn a_preview_shows_what_would_be_sent_to_whom_and_what_is_missing() {
    let senders = senders("");
    let leaking = Notice { answer: Some(TOKEN.to_owned()), ..notice() };
    let mut told = String::new();
    for target in ["local", "ntfy:topic", "webhook:https://example.org/KEY", "email:ada@example.org"] {
        let preview = senders.preview(&target.parse().unwrap(), &leaking);
        let missing = preview.missing.map(|missing| missing.to_string());
        told += &format!("{} | {}\n{}\n{missing:?}\n\n", preview.target, preview.subject, preview.content);
    }
    expect![[r#"
        local | codex-ab12 completed: fix the flaky test
        codex-ab12 completed: fix the flaky test
        None

        ntfy | codex-ab12 completed: fix the flaky test
        codex-ab12 completed
        fix the flaky test

        [redacted:github-token:40]

        1 file changed, +3 -1, on talaria/codex-ab12
        Look: talaria task show codex-ab12
        None

        webhook:https://example.org | codex-ab12 completed: fix the flaky test
        {"kind":"outcome","task":"codex-ab12","session":"s-1","title":"fix the flaky test","status":"completed","answer":"[redacted:github-token:40]","error":null,"files":["src/port.rs"],"diff_stat":"1 file changed, +3 -1","branch":"talaria/codex-ab12","request":null,"look":"talaria task show codex-ab12","respond":null,"created_at":"1970-01-01T00:00:00Z","completed_at":"1970-01-01T00:00:00Z","repeat":false,"attempt":1}
        None

        email:ada@example.org | codex-ab12 completed: fix the flaky test
        codex-ab12 completed
        fix the flaky test

        [redacted:github-token:40]

        1 file changed, +3 -1, on talaria/codex-ab12
        Look: talaria task show codex-ab12
        Some("email:ada@example.org needs a mail server: set notify.email_server, for example smtps://mail.example.org")

    "#]].assert_eq(&told);
}
