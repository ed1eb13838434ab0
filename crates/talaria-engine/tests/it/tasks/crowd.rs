//! Many tasks at once: all reach their end, and resource use stays within the limits of `status`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use talaria_core::api::{TaskQuery, TaskStatus};
use talaria_scripted::Reply;
use talaria_testkit::Codex;

use super::eventually;
use crate::home::Home;

/// Peak use.
#[derive(Debug, Default)]
struct Peak {
    working: usize,
    hosts: usize,
    threads: usize,
    memory_kib: u64,
    processes: usize,
}

/// Starts this many tasks at once, watches them to their end, and checks their peak use.
async fn crowd(mut home: Home, count: usize) {
    home.max_tasks = 4;
    home.open().await;
    let began = Instant::now();
    let is_over = Arc::new(AtomicBool::new(false));
    let (engine, over) = (home.engine().clone(), Arc::clone(&is_over));
    let watching = tokio::spawn(async move {
        let mut peak = Peak::default();
        while !over.load(Ordering::Relaxed) {
            let status = engine.status().await.unwrap();
            let limits = status.limits;
            assert_eq!(limits.tasks, 4);
            let draining = status.hosts.iter().filter(|host| host.draining).count();
            assert!(status.tasks.working <= limits.tasks, "{:?}", status.tasks);
            assert!(status.hosts.len() - draining <= limits.hosts, "{:?}", status.hosts);
            for host in &status.hosts {
                assert!(host.threads <= limits.threads_per_host, "{host:?}");
                assert!(limits.host_memory_kib.is_none_or(|most| host.memory_kib <= most), "{host:?}");
                peak.threads = peak.threads.max(host.threads);
                peak.memory_kib = peak.memory_kib.max(host.memory_kib);
            }
            peak.working = peak.working.max(status.tasks.working);
            peak.hosts = peak.hosts.max(status.hosts.len());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        peak
    });
    let starting = (0..count).map(|number| home.start_task(home.task(&format!("task {number}"))));
    let tasks = futures_util::future::join_all(starting).await;
    let started = began.elapsed();
    for task in &tasks {
        let ended = home.ends(task).await;
        assert_eq!(ended.status, TaskStatus::Completed, "{:?}", ended.outcome);
        let number = ended.title.trim_start_matches("task ");
        assert_eq!(ended.answer.as_deref().map(|answer| answer.ends_with(number)), Some(true));
    }
    let took = began.elapsed();
    is_over.store(true, Ordering::Relaxed);
    let mut peak = watching.await.unwrap();
    peak.processes = home.marker.survivors().len();
    println!("{count} tasks: written down in {started:?}, all ended in {took:?}; {peak:?}");
    let lines = home.engine().tasks(TaskQuery { limit: count + 1, ..TaskQuery::default() }).await.unwrap();
    assert_eq!(lines.iter().filter(|line| line.status == TaskStatus::Completed).count(), count);
    let counts = eventually("nobody works", async || {
        let tasks = home.engine().status().await.unwrap().tasks;
        (tasks == Default::default()).then_some(tasks)
    });
    counts.await;
    home.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_tasks_at_once_all_reach_their_end_within_the_limits() {
    let home = Home::real(&Codex::v0_166()).await;
    home.model.route(|request| Some(Reply::say(format!("done: {}", request.prompt()))));
    crowd(home, 200).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_tasks_on_a_codex_that_answers_at_once() {
    crowd(Home::standing_in().await, 200).await;
}
