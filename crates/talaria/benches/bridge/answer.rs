//! From an answer that is stored until Codex has it. The engine is in this process: its call returns when the answer was
//! committed, and what is between that and the arrival is the figure.

use talaria_codex::pool::PoolLimits;
use talaria_core::api::{AnswerRequest, Stop};
use talaria_core::request::{Answer, Decision, Who};
use talaria_engine::engine::{Engine, EngineOptions, OpenOptions};
use talaria_home::home::TalariaHome;

use crate::arrivals::now;
use crate::samples::Samples;
use crate::scene::Scene;

const RUNS: usize = 100;

pub(crate) async fn measure() {
    let scene = Scene::new();
    let home = TalariaHome::resolve(Some(scene.home().into()), None).unwrap();
    let options = EngineOptions {
        version: "0.0.0".to_owned(),
        build: 0,
        idle: None,
        limits: PoolLimits { max_hosts: 1, threads_per_host: 2 * RUNS, ..PoolLimits::default() },
        max_tasks: 2 * RUNS,
        store: OpenOptions::default(),
        user_home: None,
        pdf: None,
        debug_requests: None,
    };
    let engine = Engine::open(home, options).await.unwrap();
    let mut arrivals = scene.arrivals();
    let (mut all, mut stored, mut rest) = <(Samples, Samples, Samples)>::default();
    for _ in 0..RUNS {
        let started = engine.start_task(scene.task("ask")).await.unwrap();
        let request = loop {
            match engine.requests().await.unwrap().pop() {
                Some(request) => break request,
                None => tokio::time::sleep(std::time::Duration::from_millis(2)).await,
            }
        };
        let answer = Answer::from(Decision::Accept).revealed();
        let begun = now();
        engine
            .answer(request.id.as_str(), AnswerRequest { answer, by: Who::User, digest: None })
            .await
            .unwrap();
        let kept = now();
        let arrived = arrivals.until("answer").await.pop().unwrap().at;
        all.take(arrived - begun);
        stored.take(kept - begun);
        rest.take(arrived - kept);
        while !engine.task(&started.id).await.unwrap().status.is_terminal() {
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
    }
    all.tell("answer until it is at Codex", "-");
    stored.tell("  until it is stored", "-");
    rest.tell("  from then on: that it is being sent is committed, then it is sent", "< 1 ms");
    engine.stop(Stop::default()).await.unwrap();
    engine.stopped().await;
    scene.close().await;
}
