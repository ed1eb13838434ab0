//! What a piece of an answer costs the engine, from the socket to the committed events, beside the limit program with the same
//! answer.

use std::time::Duration;

use talaria_core::event::Event;

use crate::provider::Answer;
use crate::scene::Scene;
use crate::{limit, median, row};

/// Pieces of an answer, and answers.
const PIECES: usize = 20_000;
const ROUNDS: usize = 15;
/// Pieces that come one by one.
const PACED: usize = 2_000;
const PAUSE: Duration = Duration::from_micros(500);

/// For one piece of text, from earlier measurements.
const OTHERS: [(&str, &str); 3] = [
    ("codex exec 0.166.0 --json", "14 us, x12"),
    ("Hermes 0.19.0, codex_responses, callback per piece", "139-179, x125+"),
    ("Hermes 0.19.0, chat_completions", "213-217, x160"),
];

pub(crate) async fn measure() {
    let mut scene = Scene::start().await;
    let address = scene.provider.address.to_string();
    answer(&mut scene, Answer::Pieces(1)).await;
    let [mut full, mut empty, mut bound, mut bound_empty, mut shown] = [const { Vec::new() }; 5];
    for _ in 0..ROUNDS {
        full.push(answer(&mut scene, Answer::Pieces(PIECES)).await);
        empty.push(answer(&mut scene, Answer::Pieces(1)).await);
        shown.push(followed_answer(&mut scene, Answer::Pieces(PIECES)).await);
        scene.provider.answers(Answer::Pieces(PIECES));
        bound.push(limit::measure(&address));
        scene.provider.answers(Answer::Pieces(1));
        bound_empty.push(limit::measure(&address));
    }
    // A tick of the kernel is long, so that sums count and not single answers.
    let mean = |times: &[f64]| times.iter().sum::<f64>() / times.len() as f64;
    let each = |full: &[f64], empty: &[f64]| (mean(full) - mean(empty)) * 1e3 / PIECES as f64;
    let (ours, ours_shown) = (each(&full, &empty), each(&shown, &empty));
    let limit = (median(bound) - median(bound_empty)) * 1e3 / PIECES as f64;
    row("a piece of text, socket to committed events: CPU of the engine", &micros(ours), "<= 4 us");
    row("  the limit: hyper, framing, envelope, text joined", &micros(limit), "-");
    row("  of the limit", &format!("x{:.1}", ours / limit), "<= 4");
    row("  with a client that follows the conversation", &micros(ours_shown), "-");
    let committed = scene.count("select count(*) from event where kind = 'text_delta'").await;
    let answers = i64::try_from(2 * ROUNDS).unwrap();
    row(
        "  committed events of text for an answer of 20,000 pieces",
        &format!("{}", committed / answers),
        "-",
    );
    for (figure, measured) in OTHERS {
        row(&format!("  {figure}"), measured, "-");
    }
    let paced = answer(&mut scene, Answer::Paced(PACED, PAUSE)).await - mean(&empty);
    row("  pieces that come one by one, about 0.6 ms apart", &micros(paced * 1e3 / PACED as f64), "-");
    scene.close().await;
}

/// Runs a turn in a new conversation; returns the milliseconds that the engine has run for it.
async fn answer(scene: &mut Scene, answer: Answer) -> f64 {
    scene.provider.answers(answer);
    let before = scene.cpu();
    scene.begin().await;
    scene.rest().await;
    scene.cpu() - before
}

/// The same, with a client that gets each event.
async fn followed_answer(scene: &mut Scene, answer: Answer) -> f64 {
    scene.provider.answers(answer);
    let before = scene.cpu();
    let id = scene.begin().await;
    let mut follow = scene.client.follow(&id, 0).await.unwrap();
    while let Some(event) = follow.next().await {
        if matches!(event.unwrap().event, Event::Outcome(_)) {
            break;
        }
    }
    scene.rest().await;
    scene.cpu() - before
}

fn micros(micros: f64) -> String {
    format!("{micros:.2} us")
}
