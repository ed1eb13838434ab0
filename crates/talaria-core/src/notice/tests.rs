//! Promises of a notice: harmless and short text, unambiguous targets, bounded retries.

use std::time::Duration;

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;

fn notice() -> Notice {
    Notice {
        kind: NoticeKind::Outcome,
        task: "codex-ab12".to_owned(),
        session: SessionId::new("s-1"),
        title: "fix the flaky test".to_owned(),
        status: "completed".to_owned(),
        answer: Some("It waited for the wrong port.\nNow it waits for the right one.".to_owned()),
        error: None,
        files: vec!["src/port.rs".to_owned()],
        diff_stat: Some("1 file changed, +3 -1".to_owned()),
        branch: Some("talaria/codex-ab12".to_owned()),
        request: None,
        look: "talaria task show codex-ab12".to_owned(),
        respond: None,
        created_at: Timestamp::UNIX_EPOCH,
        completed_at: None,
        repeat: false,
        attempt: 1,
    }
}

fn question() -> Notice {
    Notice {
        kind: NoticeKind::Request,
        status: "waiting_for_approval".to_owned(),
        answer: None,
        diff_stat: None,
        branch: None,
        request: Some(RequestNotice {
            id: "req-0123456789ab".to_owned(),
            kind: "command".to_owned(),
            summary: "cargo test --workspace".to_owned(),
            choices: vec!["accept".to_owned(), "decline".to_owned()],
        }),
        respond: Some("talaria requests answer req-0123456789ab accept".to_owned()),
        ..notice()
    }
}

fn check(notice: &Notice, expected: &Expect) {
    expected.assert_eq(&format!("{}\n", notice.text()));
}

#[test]
fn an_outcome_tells_state_prompt_answer_changes_and_where_to_look() {
    check(
        &notice(),
        &expect![[r#"
            codex-ab12 completed
            fix the flaky test

            It waited for the wrong port.
            Now it waits for the right one.

            1 file changed, +3 -1, on talaria/codex-ab12
            Look: talaria task show codex-ab12
        "#]],
    );
    let failed = Notice { answer: None, error: Some("usage limit reached".to_owned()), ..notice() };
    check(
        &Notice { status: "failed".to_owned(), diff_stat: None, branch: None, ..failed },
        &expect![[r#"
            codex-ab12 failed
            fix the flaky test

            usage limit reached

            Look: talaria task show codex-ab12
        "#]],
    );
}

#[test]
fn a_request_tells_the_question_and_how_to_answer() {
    check(
        &Notice { repeat: true, ..question() },
        &expect![[r#"
            codex-ab12 waiting for approval (may be a repeat)
            fix the flaky test

            cargo test --workspace

            Answers: accept, decline
            Look: talaria task show codex-ab12
            Answer: talaria requests answer req-0123456789ab accept
        "#]],
    );
}

#[test]
fn the_json_is_the_documented_one_and_reads_back() {
    let json = serde_json::to_string_pretty(&question()).unwrap();
    expect![[r#"
        {
          "kind": "request",
          "task": "codex-ab12",
          "session": "s-1",
          "title": "fix the flaky test",
          "status": "waiting_for_approval",
          "answer": null,
          "error": null,
          "files": [
            "src/port.rs"
          ],
          "diff_stat": null,
          "branch": null,
          "request": {
            "id": "req-0123456789ab",
            "kind": "command",
            "summary": "cargo test --workspace",
            "choices": [
              "accept",
              "decline"
            ]
          },
          "look": "talaria task show codex-ab12",
          "respond": "talaria requests answer req-0123456789ab accept",
          "created_at": "1970-01-01T00:00:00Z",
          "completed_at": null,
          "repeat": false,
          "attempt": 1
        }"#]]
    .assert_eq(&json);
    assert_eq!(serde_json::from_str::<Notice>(&json).unwrap(), question());
}

#[test]
fn a_summary_has_at_most_700_characters_with_its_ellipsis() {
    for (length, shown) in [(699, 699), (700, 700), (701, 700), (5000, 700)] {
        let answer = Some("ü".repeat(length));
        let text = Notice { answer, ..notice() }.body();
        let summary = text.split("\n\n").nth(1).unwrap();
        assert_eq!(summary.chars().count(), shown, "of {length}");
        assert_eq!(summary.ends_with('…'), length > 700);
    }
}

#[test]
fn hostile_text_neither_moves_a_cursor_nor_ends_a_line() {
    let title = "x\u{1b}]0;owned\u{7}\r\nBcc: eve@example.org\r\n\u{202e}gpj\u{9b}2J".to_owned();
    let hostile = Notice { title, answer: Some("a\u{1b}[2J\r\nb\rc\td\u{200b}".to_owned()), ..notice() };
    expect!["codex-ab12 completed: x␛]0;owned␇ Bcc: eve@example.org ⟨U+202E⟩gpj⟨U+009B⟩2J"]
        .assert_eq(&hostile.subject());
    check(
        &hostile,
        &expect![[r#"
            codex-ab12 completed
            x␛]0;owned␇ Bcc: eve@example.org ⟨U+202E⟩gpj⟨U+009B⟩2J

            a␛[2J
            b␍c    d⟨U+200B⟩

            1 file changed, +3 -1, on talaria/codex-ab12
            Look: talaria task show codex-ab12
        "#]],
    );
}

#[test]
fn a_secret_that_the_maker_overlooked_is_not_told() {
    let secrets = [
        ("ghp_0123456789abcdefABCDEF0123456789abcd", "ghp_"),
        ("mysql -uroot -pZk9herons", "Zk9herons"),
        ("contraseña: Zk9garza", "Zk9garza"),
        // PASSWORD=hunter2
        ("UEFTU1dPUkQ9aHVudGVyMg==", "UEFTU1dPUkQ9"),
    ];
    for (said, secret) in secrets {
        let leaking = Notice {
            title: format!("use {said}"),
            answer: Some(format!("{}{said}", "x ".repeat(340))),
            error: Some(said.to_owned()),
            files: vec![format!("notes/{said}")],
            request: Some(RequestNotice { summary: format!("echo {said}"), ..question().request.unwrap() }),
            ..notice()
        };
        for kind in [NoticeKind::Outcome, NoticeKind::Request] {
            let leaking = Notice { kind, ..leaking.clone() };
            let told =
                [leaking.text(), leaking.subject(), serde_json::to_string(&leaking.covered()).unwrap()];
            for told in told {
                assert!(!told.contains(secret), "{told}");
            }
        }
    }
}

#[test]
fn targets_parse_and_are_written_in_one_way() {
    let cases = [
        (" local ", "local"),
        ("command:/opt/tell  a 'b c' \"d \\\" e\" f\\ g ''", "command:/opt/tell a 'b c' 'd \" e' 'f g' ''"),
        ("command:tell it\\'s", "command:tell 'it'\\''s'"),
        ("command:~/bin/tell --to=me", "command:~/bin/tell --to=me"),
        ("webhook:HTTPS://Example.org:443", "webhook:https://example.org/"),
        ("webhook:http://127.1:8080/x?y=1", "webhook:http://127.0.0.1:8080/x?y=1"),
        ("webhook:https://bücher.example/h", "webhook:https://xn--bcher-kva.example/h"),
        ("ntfy:my-topic_1", "ntfy:my-topic_1"),
        ("ntfy:https://ntfy.example/base/topic", "ntfy:https://ntfy.example/base/topic"),
        ("email:Ada.L+x@Example.org", "email:Ada.L+x@example.org"),
    ];
    for (given, written) in cases {
        let target: Target = given.parse().unwrap();
        assert_eq!(target.to_string(), written);
        assert_eq!(written.parse::<Target>().unwrap(), target);
    }
}

#[test]
fn what_is_no_target_is_told_with_what_is() {
    let given = [
        "",
        "nowhere",
        "webhook",
        "local:x",
        "telegram:42",
        "Slack:#ops",
        "fax:1",
        "https://example.org/x",
        "command:",
        "command:''",
        "command:bin/tell",
        "command:tell | sh",
        "command:tell $HOME",
        "command:tell \"`id`\"",
        "command:tell 'x",
        "command:a\u{1b}b",
        "webhook:",
        "webhook:ftp://x/",
        "webhook:https://u:p@example.org/",
        "webhook:https://example.org/#k",
        "webhook:https:///x",
        "webhook:https:\\\\x",
        "webhook:https://a\tb/",
        "ntfy:",
        "ntfy:a b",
        "ntfy:https://ntfy.example/",
        "email:ada",
        "email:a@b@c",
        "email:a b@c.d",
        "email:a@b.c\r\nBcc: x@y.z",
        "email:<a@b.c>",
    ];
    let told: Vec<String> =
        given.iter().map(|text| format!("{text:?}: {}\n", text.parse::<Target>().unwrap_err())).collect();
    expect![[r#"
        "": a target must not be empty; allowed: local, command:PROGRAM [ARGUMENTS], webhook:https://…, ntfy:TOPIC, email:ADDRESS
        "nowhere": no such target; allowed: local, command:PROGRAM [ARGUMENTS], webhook:https://…, ntfy:TOPIC, email:ADDRESS
        "webhook": webhook needs to know where: write webhook:…; allowed: local, command:PROGRAM [ARGUMENTS], webhook:https://…, ntfy:TOPIC, email:ADDRESS
        "local:x": local takes no value: write local
        "telegram:42": telegram is not there yet: chat platforms come with a later version; allowed: local, command:PROGRAM [ARGUMENTS], webhook:https://…, ntfy:TOPIC, email:ADDRESS
        "Slack:#ops": slack is not there yet: chat platforms come with a later version; allowed: local, command:PROGRAM [ARGUMENTS], webhook:https://…, ntfy:TOPIC, email:ADDRESS
        "fax:1": no such target; allowed: local, command:PROGRAM [ARGUMENTS], webhook:https://…, ntfy:TOPIC, email:ADDRESS
        "https://example.org/x": write webhook:https://… to post to an address
        "command:": command: write the program, command:PROGRAM [ARGUMENTS]
        "command:''": command: write the program, command:PROGRAM [ARGUMENTS]
        "command:bin/tell": command: the engine works elsewhere: write the whole path of the program
        "command:tell | sh": command: '|' needs a shell, and none is run; quote it, or name a script
        "command:tell $HOME": command: '$' needs a shell, and none is run; quote it, or name a script
        "command:tell \"`id`\"": command: '`' needs a shell, and none is run; quote it, or name a script
        "command:tell 'x": command: a ' is not closed
        "command:a\u{1b}b": command: it has a control character
        "webhook:": webhook: not an address; write https://…
        "webhook:ftp://x/": webhook: only https:// is allowed, and http:// to hosts in notify.allow_private
        "webhook:https://u:p@example.org/": webhook: it must not hold a user or a password
        "webhook:https://example.org/#k": webhook: it must not hold a #
        "webhook:https:///x": webhook: not an address; write https://…
        "webhook:https:\\\\x": webhook: not an address; write https://…
        "webhook:https://a\tb/": webhook: not an address; write https://…
        "ntfy:": ntfy: a topic is 1 to 64 letters, digits, - and _; write ntfy:TOPIC or ntfy:https://SERVER/TOPIC
        "ntfy:a b": ntfy: a topic is 1 to 64 letters, digits, - and _; write ntfy:TOPIC or ntfy:https://SERVER/TOPIC
        "ntfy:https://ntfy.example/": ntfy: a topic is 1 to 64 letters, digits, - and _; write ntfy:TOPIC or ntfy:https://SERVER/TOPIC
        "email:ada": email: write an address such as ada@example.org
        "email:a@b@c": email: write an address such as ada@example.org
        "email:a b@c.d": email: write an address such as ada@example.org
        "email:a@b.c\r\nBcc: x@y.z": email: write an address such as ada@example.org
        "email:<a@b.c>": email: write an address such as ada@example.org
    "#]].assert_eq(&told.concat());
}

#[test]
fn a_label_holds_no_key() {
    let label = |text: &str| text.parse::<Target>().unwrap().label();
    assert_eq!(label("webhook:https://hooks.example/services/T0/KEY?k=KEY"), "webhook:https://hooks.example");
    assert_eq!(label("command:tell --token KEY"), "command:tell");
    assert_eq!(label("ntfy:https://ntfy.example/KEY"), "ntfy:https://ntfy.example");
    assert_eq!(label("ntfy:KEY"), "ntfy");
}

#[test]
fn only_addresses_of_the_internet_are_public() {
    let public = "1.1.1.1 172.32.0.1 100.128.0.1 2606:4700::1111 ::ffff:8.8.8.8 64:ff9b::808:808";
    let private = "127.0.0.1 127.255.0.9 10.1.2.3 172.16.0.1 172.31.255.255 192.168.0.1 169.254.169.254 \
        100.64.0.1 100.127.255.255 198.18.0.1 ::1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::127.0.0.1 \
        ::ffff:0:192.168.1.1 64:ff9b::10.0.0.1 64:ff9b:1::1 2002:7f00:1:: fc00::1 fd12::1 fe80::1 \
        fec0::1 2002:c0a8:101::1";
    let never = "0.0.0.0 0.1.2.3 224.0.0.1 255.255.255.255 240.0.0.1 192.0.0.8 192.0.2.1 203.0.113.9 :: \
        ff02::1 2001::1 2001:db8::1 100::1 ::ffff:0.0.0.0 4000::1";
    for (expected, list) in [(Reach::Public, public), (Reach::Private, private), (Reach::Never, never)] {
        for address in list.split_whitespace() {
            assert_eq!(reach(address.parse().unwrap()), expected, "{address}");
        }
    }
}

#[test]
fn ten_attempts_take_about_a_day_and_then_it_is_given_up() {
    let (mut now, mut waits) = (0, Vec::new());
    for attempt in 1..=10 {
        match RetryPolicy::default().next(Fault::PASSING, attempt, now, 0.5) {
            Next::Retry { due_at } => {
                waits.push((due_at - now) / 1000);
                now = due_at;
            }
            Next::Abandon => assert_eq!(attempt, 10),
        }
    }
    assert_eq!(waits, [15, 60, 240, 960, 3840, 15360, 21600, 21600, 21600]);
    assert_eq!(now / 3_600_000, 23);
}

#[test]
fn what_cannot_get_better_is_given_up_at_once_and_a_wish_for_patience_is_heard() {
    let backoff = RetryPolicy::default();
    assert_eq!(backoff.next(Fault::Permanent, 1, 0, 0.5), Next::Abandon);
    let wish = |seconds| Fault::of_status(429, Some(Duration::from_secs(seconds))).unwrap();
    assert_eq!(backoff.next(wish(300), 1, 1000, 0.5), Next::Retry { due_at: 301_000 });
    assert_eq!(backoff.next(wish(1), 1, 0, 0.5), Next::Retry { due_at: 15_000 });
    assert_eq!(backoff.next(wish(u64::MAX), 1, 0, 0.5), Next::Retry { due_at: 86_400_000 });
    for (status, fault) in [
        (200, None),
        (204, None),
        (302, Some(Fault::Permanent)),
        (404, Some(Fault::Permanent)),
        (408, Some(Fault::PASSING)),
        (425, Some(Fault::PASSING)),
        (429, Some(Fault::PASSING)),
        (500, Some(Fault::PASSING)),
        (503, Some(Fault::PASSING)),
    ] {
        assert_eq!(Fault::of_status(status, None), fault, "{status}");
    }
}

proptest! {
    #[test]
    fn any_words_written_out_are_split_again(words in prop::collection::vec("[^\\x00]{0,12}", 0..5)) {
        let words: Vec<String> = std::iter::once("/p".to_owned()).chain(words).collect();
        let target = Target::Command(words);
        prop_assert_eq!(target.to_string().parse::<Target>(), Ok(target));
    }

    #[test]
    fn any_text_is_a_target_that_reads_back_or_an_error(text in "(local|command:|webhook:https://|ntfy:|email:)?.{0,40}") {
        if let Ok(target) = text.parse::<Target>() {
            prop_assert_eq!(target.to_string().parse::<Target>(), Ok(target));
        }
    }

    #[test]
    fn no_text_breaks_a_line_or_a_limit(title in any::<String>(), answer in any::<String>()) {
        let told = Notice { title, answer: Some(answer), ..notice() };
        let subject = told.subject();
        prop_assert!(!subject.contains(char::is_control) && subject.chars().count() <= 22 + 80 * 12);
        prop_assert!(!told.body().contains(|c: char| c.is_control() && c != '\n'));
    }

    #[test]
    fn a_wait_never_lies_in_the_past(attempt in 1_u32..200, now in any::<i64>(), chance in any::<f64>()) {
        match RetryPolicy::new(150).next(Fault::PASSING, attempt, now, chance) {
            Next::Retry { due_at } => prop_assert!(due_at > now || now == i64::MAX),
            Next::Abandon => prop_assert!(attempt >= 150),
        }
    }
}
