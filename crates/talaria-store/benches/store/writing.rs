//! Durable events per second.

use std::path::Path;
use std::time::Instant;

use talaria_core::ids::SessionId;
use talaria_store::contract::scene;
use talaria_store::{Batch, NewEvent, OpenOptions, Store};
use tokio::runtime::Runtime;

use crate::{baseline, fresh, row};

/// The size of an event, about what a completed step takes.
const BYTES: usize = 300;
/// Each figure is the best of this many interleaved runs: any disturbance makes a run slower.
const RUNS: usize = 5;

pub(crate) fn measure(runtime: &Runtime, place: &Path) {
    let program = baseline::build();
    for (batch, events) in [(1_usize, 2_000_usize), (10, 20_000), (100, 50_000), (1000, 100_000)] {
        let raw = || {
            let file = fresh(place, "raw").join("raw.db");
            let [events, batch, bytes] = [events, batch, BYTES].map(|number| number.to_string());
            baseline::run(&program, &["prepared", file.to_str().unwrap(), "full", &events, &batch, &bytes])
        };
        let ours = || runtime.block_on(one_caller(place, events, batch));
        compare(&format!("batches of {batch}, one caller, of raw inserts"), ">= 0.60", raw, ours);
        // As many callers as a batch has events, each with one: the writer makes batches of what has come by then.
        if batch > 1 && batch <= 100 {
            let ours = || runtime.block_on(many_callers(place, events, batch));
            compare(&format!("  {batch} callers with one event each, of the same"), "-", raw, ours);
        }
    }
    let reference = || {
        let file = fresh(place, "raw").join("raw.db");
        baseline::run(&program, &["reference", file.to_str().unwrap(), "full", "300", &BYTES.to_string()])
    };
    let mut ratios = Vec::new();
    for _ in 0..RUNS {
        ratios.push(runtime.block_on(one_caller(place, 50_000, 100)) / reference());
    }
    row(
        "batches of 100, of one connection and two commits per event",
        &format!("{:.0}x", median(ratios)),
        ">= 50x",
    );
}

fn compare(figure: &str, aim: &str, raw: impl Fn() -> f64, ours: impl Fn() -> f64) {
    let pairs: Vec<(f64, f64)> = (0..RUNS).map(|_| (raw(), ours())).collect();
    let best = |rates: &mut dyn Iterator<Item = f64>| rates.fold(0.0, f64::max);
    let (raw, ours) =
        (best(&mut pairs.iter().map(|pair| pair.0)), best(&mut pairs.iter().map(|pair| pair.1)));
    row(figure, &format!("{:.2} ({:.0}k/s)", ours / raw, ours / 1000.0), aim);
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn events(count: usize) -> Vec<NewEvent> {
    let text = "x".repeat(BYTES - 36);
    let json = format!(r#"{{"type":"item_completed","text":"{text}"}}"#);
    vec![NewEvent { turn: Some(1), kind: "item_completed".to_owned(), json }; count]
}

async fn store(place: &Path) -> (Store, SessionId) {
    let path = fresh(place, "ours").join("talaria.db");
    let store = Store::open(&path, 0, &OpenOptions::default()).await.unwrap();
    let session = scene::session(&store, "0199a2b4-0000-7000-8000-000000000001").await;
    (store, session)
}

async fn one_caller(place: &Path, count: usize, batch: usize) -> f64 {
    let (store, session) = store(place).await;
    let batches: Vec<Batch> = (0..count / batch)
        .map(|_| Batch { events: events(batch), ..scene::batch(&session, 1_794_800_571_123, &[]) })
        .collect();
    let begun = Instant::now();
    for batch in batches {
        store.append(batch).await.unwrap();
    }
    let rate = count as f64 / begun.elapsed().as_secs_f64();
    store.close().await;
    rate
}

async fn many_callers(place: &Path, count: usize, callers: usize) -> f64 {
    let (store, session) = store(place).await;
    let begun = Instant::now();
    let tasks = (0..callers).map(|_| {
        let (store, session) = (store.clone(), session.clone());
        tokio::spawn(async move {
            let batch = Batch { events: events(1), ..scene::batch(&session, 1_794_800_571_123, &[]) };
            for _ in 0..count / callers {
                store.append(batch.clone()).await.unwrap();
            }
        })
    });
    futures_util::future::join_all(tasks).await;
    let rate = count as f64 / begun.elapsed().as_secs_f64();
    store.close().await;
    rate
}
