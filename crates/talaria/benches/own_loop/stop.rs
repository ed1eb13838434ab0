//! How soon the connection to the provider is closed when a person stops a turn.

use std::time::{Duration, Instant};

use talaria_core::api::Interrupt;
use talaria_core::request::Who;

use crate::provider::Answer;
use crate::scene::Scene;
use crate::{median, row};

const RUNS: usize = 30;
/// The engine has read what the provider sent: nothing reports that, so it is waited for.
const READ: Duration = Duration::from_millis(150);

pub(crate) async fn measure() {
    let mut scene = Scene::start().await;
    for (what, pieces) in [("during silence", 0), ("after text", 50)] {
        scene.provider.answers(Answer::Silence(pieces));
        let (mut closed, mut settled) = (Vec::new(), Vec::new());
        for _ in 0..RUNS {
            let id = scene.begin().await;
            scene.provider.request();
            tokio::time::sleep(READ).await;
            let stop = Instant::now();
            scene.client.interrupt(&id, Interrupt { by: Who::User }).await.unwrap();
            closed.push((scene.provider.closed() - stop).as_secs_f64() * 1e3);
            scene.rest().await;
            settled.push(stop.elapsed().as_secs_f64() * 1e3);
        }
        let slowest = closed.iter().copied().fold(0.0, f64::max);
        row(
            &format!("stop {what}: connection closed, median (slowest {slowest:.1})"),
            &format!("{:.1} ms", median(closed)),
            "<= 20 ms",
        );
        row("  the turn has ended", &format!("{:.1} ms", median(settled)), "-");
    }
    row("  Hermes 0.19.0, during silence / during text", "10 / 18 ms", "-");
    scene.close().await;
}
