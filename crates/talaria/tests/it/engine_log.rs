//! The log of an engine in the background: it contains no secret, also after a panic, and only its owner can
//! read it.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use talaria_testkit::eventually;

use crate::scene::Scene;

#[tokio::test]
async fn what_an_engine_logs_and_its_panics_hold_no_secret() {
    let mut scene = Scene::empty().await;
    let log = scene.home().join("engine.log");
    fs::write(&log, "an earlier line\n").unwrap();
    fs::set_permissions(&log, Permissions::from_mode(0o644)).unwrap();
    let secret = format!("ghp_{}", "Uniq4Material7NotReal2Uniq4Material7");
    scene.set("TALARIA_PANIC", "serve");
    scene.set("TALARIA_PANIC_WORDS", format!("refused: {secret}, contraseña: Uniq4gatito"));
    scene.set("RUST_BACKTRACE", "0");
    scene.run(&["sessions", "list"]).await.exits(0);
    let is_whole = |text: &String| {
        text.contains("a fault that a test asked for") && text.matches("[redacted:").count() >= 4
    };
    let written = async || Some(fs::read_to_string(&log).unwrap()).filter(is_whole);
    let text = eventually("the panic is in the log, redacted", written).await;
    assert!(text.starts_with("an earlier line\n"), "{text}");
    assert!(text.contains("WARN a test wants a panic: refused: [redacted:github-token:40]"), "{text}");
    assert!(text.contains("panicked at ") && !text.contains("Uniq4"), "{text}");
    assert_eq!(fs::metadata(&log).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(scene.engine_pid().await.is_some(), "the engine goes on");
    scene.close().await;
}
