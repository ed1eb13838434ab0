//! Programs as targets: their input, their child processes, and faulty ones.

use std::ffi::OsString;
use std::time::Duration;

use expect_test::expect;
use talaria_core::notice::{Fault, Notice, Target};
use talaria_engine::notify::{NotifyError, Receipt, Senders};
use talaria_testkit::Marker;

use super::{AMPLE, TOKEN, impatient, notice, parcel, send, senders};

/// Runs a script of the shell with `$1` as a place to write to.
fn script(text: &str, place: &std::path::Path) -> String {
    Target::Command(["sh", "-c", text, "sh", place.to_str().unwrap()].map(str::to_owned).to_vec()).to_string()
}

/// Senders whose programs carry a mark.
fn marked(marker: &Marker) -> Senders {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let environment: Vec<(OsString, OsString)> =
        vec![("PATH".into(), path), ("LC_MARK".into(), marker.environment().1.into())];
    Senders::new(talaria_core::config::NotifyConfig::default(), environment)
}

async fn run(text: &str, notice: Notice) -> Result<Receipt, NotifyError> {
    let place = tempfile::tempdir().unwrap();
    send(&senders(""), &script(text, place.path()), &parcel(notice)).await
}

#[tokio::test]
async fn a_program_gets_the_notice_on_its_input_its_words_unsplit_and_little_else() {
    let place = tempfile::tempdir().unwrap();
    let target =
        script("cat > \"$1/in\"; env | cut -d= -f1 | sort > \"$1/env\"; pwd > \"$1/cwd\"", place.path());
    send(&senders(""), &target, &parcel(notice())).await.unwrap();
    let read = |name: &str| std::fs::read_to_string(place.path().join(name)).unwrap();
    assert_eq!(serde_json::from_str::<Notice>(&read("in")).unwrap(), notice());
    assert_eq!(read("cwd"), "/\n");
    let own = ["PWD", "OLDPWD", "SHLVL", "_"];
    let given: Vec<String> =
        read("env").lines().filter(|name| !own.contains(name)).map(str::to_owned).collect();
    assert_eq!(given, ["PATH"]);
}

#[tokio::test]
async fn a_program_that_fails_is_quoted_with_its_last_line_and_no_secret() {
    let complaint = format!("echo first >&2; printf 'no \\033[2J way %s\\n\\n' {TOKEN} >&2; exit 3");
    let error = run(&complaint, notice()).await.unwrap_err();
    assert_eq!(error.fault, Fault::PASSING);
    expect!["sh ended with exit status: 3: no ␛[2J way [redacted:github-token:40]"].assert_eq(&error.message);
}

#[tokio::test]
async fn a_program_that_is_not_there_is_given_up() {
    for target in ["command:/nowhere/tell", "command:no-such-program-anywhere", "command:/etc/passwd"] {
        let error = send(&senders(""), target, &parcel(notice())).await.unwrap_err();
        assert_eq!(error.fault, Fault::Permanent, "{error}");
    }
}

#[tokio::test]
async fn a_program_may_ignore_its_input_and_flood_its_output() {
    let huge = Notice { answer: Some("x".repeat(4 << 20)), ..notice() };
    run("exit 0", huge.clone()).await.unwrap();
    run("yes | head -c 8000000; yes | head -c 8000000 >&2; cat > /dev/null", huge).await.unwrap();
    let error = run("yes | head -c 8000000 >&2; exit 1", notice()).await.unwrap_err();
    assert!(error.message.len() < 100, "{error}");
}

#[tokio::test]
async fn a_program_that_hangs_is_killed_at_the_limit_with_its_children() {
    let (marker, place) = (Marker::new(), tempfile::tempdir().unwrap());
    let senders = marked(&marker).with_limits(impatient());
    let target = script("(trap '' TERM HUP; sleep 1000) & sleep 1000", place.path());
    let error = send(&senders, &target, &parcel(notice())).await.unwrap_err();
    assert_eq!((error.fault, error.message.as_str()), (Fault::PASSING, "sh took longer than 300ms"));
    marker.wait_gone(AMPLE).await.unwrap();
}

#[tokio::test]
async fn a_child_that_stays_behind_holds_up_nobody_and_is_killed() {
    let (marker, place) = (Marker::new(), tempfile::tempdir().unwrap());
    let target = script("sleep 1000 & echo told >&2; exit 0", place.path());
    send(&marked(&marker), &target, &parcel(notice())).await.unwrap();
    marker.wait_gone(AMPLE).await.unwrap();
}

#[tokio::test]
async fn an_attempt_that_nobody_waits_for_leaves_no_process() {
    let (marker, place) = (Marker::new(), tempfile::tempdir().unwrap());
    let (senders, target) = (marked(&marker), script("touch \"$1/up\"; sleep 1000", place.path()));
    let parcel = parcel(notice());
    let up = async {
        // A new file sends no notification.
        while !place.path().join("up").exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        ended = send(&senders, &target, &parcel) => panic!("{ended:?}"),
        () = up => {}
    }
    marker.wait_gone(AMPLE).await.unwrap();
}
