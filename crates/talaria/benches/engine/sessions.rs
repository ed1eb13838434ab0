//! Memory of an idle engine: alone, and with conversations that completed a turn and wait for the next.

use talaria_server::client::Client;

use crate::memory::Memory;
use crate::play::{self, completed, said};
use crate::row;
use crate::scene::{Layout, Scene};

const FEW: usize = 10;
const SOME: usize = 50;
const MANY: usize = 210;
/// How much a model says in a long turn.
const LONG: usize = 200_000;

pub(crate) async fn measure() {
    one_turn_each("a short turn each", "Done.").await;
    one_turn_each("a turn of 200 KB each", &"All of it is done.\n".repeat(LONG / 19)).await;
}

async fn one_turn_each(what: &str, text: &str) {
    let codex = play::codex([said(text), completed("completed")]);
    let mut scene = Scene::scripted(&codex, Layout { hosts: 1, threads: 2 * MANY }).await;
    let client = scene.start().await;
    let empty = scene.engine_memory();
    Memory::tell(empty, "engine on an empty home", "< 30 MB");
    run(&scene, &client, 0..FEW).await;
    let few = scene.engine_memory();
    run(&scene, &client, FEW..SOME).await;
    Memory::tell(scene.engine_memory(), &format!("engine after {SOME} conversations, {what}"), "< 30 MB");
    run(&scene, &client, SOME..MANY).await;
    let many = scene.engine_memory();
    Memory::tell(many, &format!("engine after {MANY}, {what}"), "-");
    if let (Some(few), Some(many)) = (few, many) {
        let more = many - few;
        let each = |kib: f64| format!("{:.1} KB", kib * 1024.0 / 1e3 / (MANY - FEW) as f64);
        row(&format!("idle conversation, {what}: resident"), &each(more.resident), "< 100 KB");
        row("  of that heap and stacks", &each(more.own), "< 100 KB");
    }
    scene.close().await;
}

/// Runs conversations of one turn, a few at a time, and leaves them open.
async fn run(scene: &Scene, client: &Client, numbers: std::ops::Range<usize>) {
    let end = numbers.end;
    for number in numbers {
        scene.begin(client).await;
        if number % 5 == 4 {
            scene.wait(client, |status| status.turns.is_empty()).await;
        }
    }
    let all = |threads: usize| threads == end;
    scene
        .wait(client, |status| {
            status.turns.is_empty() && status.hosts.iter().map(|host| host.threads).any(all)
        })
        .await;
}
