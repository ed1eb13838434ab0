//! Memory of the engine for finished conversations: 1,200 commands of one turn each, one after another.
//!
//! The first ones warm caches and the allocator up; growth is counted after them, when the last conversation has been released.

use std::time::Duration;

use talaria_core::api::Kind;
use talaria_server::client::Client;

use crate::memory::Memory;
use crate::play::{self, completed, said};
use crate::row;
use crate::scene::{Layout, Scene};

const WARM: usize = 200;
const ALL: usize = 1200;
/// The defaults of an engine.
const LAYOUT: Layout = Layout { hosts: 8, threads: 16 };
/// A little more than the time that a conversation of a single command stays open.
const RELEASED: Duration = Duration::from_secs(8);

pub(crate) async fn measure() {
    let codex = play::codex([said("Done."), completed("completed")]);
    let mut scene = Scene::scripted(&codex, LAYOUT).await;
    let client = scene.start().await;
    run(&scene, &client, WARM).await;
    let warm = scene.engine_memory();
    run(&scene, &client, ALL - WARM).await;
    let all = scene.engine_memory();
    Memory::tell(all, &format!("engine after {ALL} commands of one turn"), "< 40 MB");
    if let (Some(warm), Some(all)) = (warm, all) {
        let more = all - warm;
        let each = |kib: f64| format!("{:.1} KB", kib * 1024.0 / 1e3 / (ALL - WARM) as f64);
        row("growth for each finished conversation: resident", &each(more.resident), "< 5 KB");
        row("  of that heap and stacks", &each(more.own), "< 5 KB");
    }
    let status = client.status().await.unwrap();
    let most = status.hosts.iter().map(|host| host.threads).max().unwrap_or_default();
    let (hosts, limit) = (status.hosts.len(), LAYOUT.threads);
    row(
        &format!("conversations loaded on one of {hosts} hosts, at most"),
        &most.to_string(),
        &format!("<= {limit}"),
    );
    scene.close().await;
}

/// Runs commands one after another, and waits until the last is released.
async fn run(scene: &Scene, client: &Client, count: usize) {
    for _ in 0..count {
        scene.begin_as(client, Kind::Exec).await;
        scene.wait(client, |status| status.turns.is_empty()).await;
    }
    tokio::time::sleep(RELEASED).await;
}
