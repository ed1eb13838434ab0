//! What a conversation takes that waits: for its provider, and for a person's next words.

use std::time::Duration;

use crate::provider::Answer;
use crate::row;
use crate::scene::Scene;

/// Pieces of text of an answer.
const PIECES: usize = 20;
const CONVERSATIONS: usize = 200;
/// Before anything is measured, so that what the engine makes once does not count.
const WARM: usize = 40;
/// Writes that follow a turn are over then.
const SETTLED: Duration = Duration::from_secs(1);

pub(crate) async fn measure() {
    let mut scene = Scene::start().await;
    scene.provider.answers(Answer::Pieces(PIECES));
    begin(&scene, WARM).await;
    scene.rest().await;
    let ended = grown(&mut scene, Answer::Pieces(PIECES)).await;
    scene.provider.answers(Answer::Silence(PIECES));
    begin(&scene, WARM).await;
    let waiting = grown(&mut scene, Answer::Silence(PIECES)).await;
    row("a conversation that waits for its provider", &format!("{waiting:.0} KB"), "<= 100 KB");
    row("  one whose turn has ended", &format!("{ended:.0} KB"), "-");
    row("  the engine, with all of these", &format!("{:.0} MB", own(&scene) / 1e3), "-");
    row("  Hermes 0.19.0 / codex exec 0.166.0, each conversation a process", "115-151 MiB", "-");
    scene.close().await;
}

/// By how many KB heap and stacks of the engine grow with each further conversation.
async fn grown(scene: &mut Scene, answer: Answer) -> f64 {
    scene.provider.answers(answer);
    tokio::time::sleep(SETTLED).await;
    let before = own(scene);
    begin(scene, CONVERSATIONS).await;
    if matches!(answer, Answer::Pieces(_)) {
        scene.rest().await;
    }
    tokio::time::sleep(SETTLED).await;
    (own(scene) - before) / CONVERSATIONS as f64
}

async fn begin(scene: &Scene, count: usize) {
    for _ in 0..count {
        scene.begin().await;
        scene.provider.request();
    }
}

/// Anonymous memory of the engine, in KB.
fn own(scene: &Scene) -> f64 {
    let rollup = std::fs::read_to_string(format!("/proc/{}/smaps_rollup", scene.engine())).unwrap();
    let line = rollup.lines().find(|line| line.starts_with("Pss_Anon:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() * 1.024
}
