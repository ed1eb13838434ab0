//! Finished conversations do not fill the hosts: the number of loaded ones stays within the limits, and a conversation is
//! resumed when it continues.

use talaria_codex::pool::PoolLimits;
use talaria_core::outcome::Outcome;
use talaria_scripted::Reply;
use talaria_testkit::Codex;

use crate::home::Home;
use crate::stage::both_versions;

both_versions!(
    newest:
    finished_conversations_make_room_and_go_on_elsewhere,
);

/// The most conversations that a host has loaded, as the engine says.
async fn most_loaded(home: &Home) -> usize {
    let status = home.engine().status().await.unwrap();
    status.hosts.iter().map(|host| host.threads).max().unwrap_or_default()
}

async fn finished_conversations_make_room_and_go_on_elsewhere(codex: Codex) {
    let mut home = Home::real(&codex).await;
    home.limits = PoolLimits { max_hosts: 1, threads_per_host: 2, ..PoolLimits::default() };
    home.open().await;
    let mut all = Vec::new();
    for number in 0..5 {
        home.model.push(Reply::say(format!("the word is heron-{number}")));
        let (started, report) = home.run("remember a word").await;
        assert_eq!(report.outcome, Outcome::Completed);
        all.push(started);
        assert!(most_loaded(&home).await <= 2, "after {number}");
    }
    let first = &all[0];
    home.model.push(Reply::say("heron"));
    let turn = home.turn("which?");
    let next = home.engine().start_turn(first.id.as_str(), turn).await.unwrap();
    let report = home.events(first, next.after).await.outcome().await;
    assert_eq!((&report.outcome, report.text.as_deref()), (&Outcome::Completed, Some("heron")));
    let request = home.model.requests().pop().unwrap();
    assert!(request.assistant_texts().contains(&"the word is heron-0"), "it remembers");
    assert!(most_loaded(&home).await <= 2);
    home.close().await;
}
