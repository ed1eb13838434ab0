//! A change and its audit row are written together; refusals are bounded.

use super::scene;
use crate::{AnswerResult, AuditOutcome, Change, NewAudit, NewSessionRow, Store};

pub(super) fn entry(action: &str, outcome: AuditOutcome) -> NewAudit {
    NewAudit {
        at: 3,
        action: action.to_owned(),
        outcome,
        principal: "person:me".to_owned(),
        established: "/dev/pts/1, process 7".to_owned(),
        pid: Some(7),
        terminal: Some("/dev/pts/1".to_owned()),
        program: Some("/bin/talaria".to_owned()),
        session: Some("one".to_owned()),
        request: None,
        digest: None,
        decision: None,
        reason: None,
    }
}

async fn actions(store: &Store) -> Vec<String> {
    store.audit(None, 100).await.unwrap().into_iter().map(|row| row.entry.action).collect()
}

/// The winning answer has an audit row; one that arrives too late, or for a closed question, has none.
pub async fn only_the_answer_that_won_is_in_the_log(store: Store) {
    let id = scene::session(&store, "one").await;
    let ticket = scene::asked(&store, &id, scene::request("req-1", "ls")).await;
    let audited = |action: &str, by: &str| {
        let audit = Some(entry(action, AuditOutcome::Done));
        crate::NewAnswer { audit, ..scene::answer("accept", by) }
    };
    assert_eq!(store.answer_request(&ticket, audited("first", "a")).await.unwrap(), AnswerResult::Won);
    let late = store.answer_request(&ticket, audited("second", "b")).await.unwrap();
    assert!(matches!(late, AnswerResult::AlreadyAnswered { .. }));
    assert_eq!(actions(&store).await, ["first"]);
}

/// A session, and a turn, come with their rows or not at all.
pub async fn a_start_and_its_row_are_written_together(store: Store) {
    let audit = Some(entry("start_session", AuditOutcome::Done));
    let new = NewSessionRow { audit: audit.clone(), ..scene::new_session("one", 1) };
    let lease = scene::lease(&new.id, scene::EPOCH);
    store.create_session(new.clone(), lease.clone()).await.unwrap();
    assert!(store.create_session(new.clone(), lease).await.is_err(), "the id is taken");
    let changes = |ordinal| {
        vec![Change::Audit(entry("start_turn", AuditOutcome::Done)), Change::NewTurn(scene::turn(ordinal))]
    };
    let batch = |changes| crate::Batch { changes, ..scene::batch(&new.id, 2, &[]) };
    store.append(batch(changes(1))).await.unwrap();
    assert!(store.append(batch(changes(1))).await.is_err(), "the turn is there already");
    assert_eq!(actions(&store).await, ["start_turn", "start_session"]);
}

/// Rows are read newest first, a page at a time, with everything that was written.
pub async fn the_log_is_paged_newest_first(store: Store) {
    for n in 0..5 {
        store.add_audit(NewAudit { at: n, ..entry(&n.to_string(), AuditOutcome::Refused) }).await.unwrap();
    }
    let first = store.audit(None, 2).await.unwrap();
    assert_eq!(first[0].entry, NewAudit { at: 4, ..entry("4", AuditOutcome::Refused) });
    let next = store.audit(first.last().map(|row| row.id), 10).await.unwrap();
    assert_eq!(next.iter().map(|row| row.entry.at).collect::<Vec<_>>(), [2, 1, 0]);
}

/// Refusals beyond the limit remove the oldest refusals and nothing else.
pub async fn refusals_are_bounded_and_never_push_out_what_was_done(store: Store) {
    let id = scene::session(&store, "one").await;
    store.append(scene::change(&id, 2, Change::Audit(entry("kept", AuditOutcome::Done)))).await.unwrap();
    let many = crate::REFUSALS_KEPT + 10;
    let refused = (0..many).map(|_| Change::Audit(entry("refused", AuditOutcome::Refused)));
    store.append(crate::Batch { changes: refused.collect(), ..scene::batch(&id, 2, &[]) }).await.unwrap();
    store.add_audit(entry("last", AuditOutcome::Refused)).await.unwrap();
    let left = store.audit(None, u32::MAX).await.unwrap();
    assert_eq!(i64::try_from(left.len()).unwrap(), crate::REFUSALS_KEPT + 1);
    assert_eq!(left.last().map(|row| row.entry.action.as_str()), Some("kept"));
    assert_eq!(left.first().map(|row| row.entry.action.as_str()), Some("last"));
}
