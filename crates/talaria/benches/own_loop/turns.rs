//! What a turn costs beside the model: CPU of the engine, and the time from "go" to the first byte of the request.

use std::time::Instant;

use crate::provider::Answer;
use crate::scene::Scene;
use crate::{best, median, row};

/// Turns of one conversation, and conversations.
const TURNS: usize = 100;
const CONVERSATIONS: usize = 3;

/// For a whole turn with one piece of text, from earlier measurements.
const OTHERS: [(&str, &str); 4] = [
    ("limit (hyper), warm", "0.1 ms"),
    ("Hermes 0.19.0, warm: CPU", "44-52 ms"),
    ("Hermes 0.19.0, cold: CPU", "2.5-3.1 s"),
    ("codex exec 0.166.0, cold: CPU", "176-186 ms"),
];

pub(crate) async fn measure() {
    let mut scene = Scene::start().await;
    scene.provider.answers(Answer::Pieces(1));
    // The first conversation of an engine reads what later ones find read.
    scene.begin().await;
    scene.provider.request();
    scene.rest().await;
    let (mut costs, mut opened, mut sent) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..CONVERSATIONS {
        let go = Instant::now();
        let id = scene.begin().await;
        opened.push(millis(scene.provider.request().0 - go));
        scene.rest().await;
        let turn = scene.turn();
        let before = scene.cpu();
        for _ in 0..TURNS {
            let go = Instant::now();
            scene.client.start_turn(&id, &turn).await.unwrap();
            sent.push(millis(scene.provider.request().0 - go));
            scene.rest().await;
        }
        costs.push((scene.cpu() - before) / TURNS as f64);
    }
    row(
        "a turn of one piece of text: CPU of the engine",
        &format!("{:.2} ms", median(costs.clone())),
        "<= 1 ms",
    );
    row("  the cheapest conversation of three", &format!("{:.2} ms", best(&costs)), "-");
    for (figure, measured) in OTHERS {
        row(&format!("  {figure}"), measured, "-");
    }
    row("from \"go\" to the first byte sent, median", &format!("{:.1} ms", median(sent.clone())), "<= 5 ms");
    row("  best", &format!("{:.1} ms", best(&sent)), "-");
    row("  in a new conversation, median", &format!("{:.1} ms", median(opened)), "-");
    scene.close().await;
}

fn millis(time: std::time::Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
