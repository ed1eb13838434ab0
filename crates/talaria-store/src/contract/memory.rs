//! Memory: no text is lost, no writer overwrites another, and a proposal is decided once.

use talaria_core::memory::{MemoryChange, MemoryScope};

use super::scene;
use crate::{
    MemoryAuthor, MemoryMirror, MemoryOrigin, MemoryProposalRow, MemoryProposalState, MemoryRevisionFilter,
    MemoryRevisionRow, MemorySnapshotRow, MemoryWrite, MemoryWriteResult, PrunePolicy, Store,
};

fn change(entry: &str, expects: Option<i64>, before: Option<&str>, after: Option<&str>) -> MemoryChange {
    MemoryChange {
        entry: entry.to_owned(),
        scope: MemoryScope::Project("/work".to_owned()),
        expects,
        before: before.map(str::to_owned),
        after: after.map(str::to_owned),
    }
}

fn write(changes: Vec<MemoryChange>) -> MemoryWrite {
    let origin = MemoryOrigin {
        author: MemoryAuthor::Model,
        session: Some(talaria_core::ids::SessionId::new("one")),
        turn: Some("t".to_owned()),
        call: Some("c".to_owned()),
    };
    MemoryWrite::new(changes, origin, 5)
}

async fn written(store: &Store, changes: Vec<MemoryChange>) -> Vec<i64> {
    match store.write_memory(write(changes)).await.unwrap() {
        MemoryWriteResult::Written(revisions) => revisions,
        other => panic!("{other:?}"),
    }
}

async fn texts(store: &Store) -> Vec<String> {
    store.memory_entries().await.unwrap().into_iter().map(|row| row.entry.text).collect()
}

/// A write of which one entry cannot be changed changes none.
pub async fn an_entry_changes_with_its_revision_or_not_at_all(store: Store) {
    let first = written(&store, vec![change("a", None, None, Some("x")), change("b", None, None, Some("y"))]);
    let first = first.await;
    let stale =
        vec![change("a", Some(first[0]), Some("x"), Some("z")), change("b", Some(99), Some("y"), None)];
    let refused = store.write_memory(write(stale)).await.unwrap();
    assert_eq!(refused, MemoryWriteResult::Stale { entry: "b".to_owned() });
    assert_eq!(texts(&store).await, ["x", "y"]);
    let rows = store.memory_revisions(&MemoryRevisionFilter::default(), 10).await.unwrap();
    let [newest, oldest] = &rows[..] else { panic!("{rows:?}") };
    let expected = MemoryRevisionRow {
        id: first[1],
        change: change("b", None, None, Some("y")),
        origin: write(vec![]).origin,
        undoes: None,
        at: 5,
    };
    assert_eq!((newest, oldest.id), (&expected, first[0]));
}

/// A new entry needs a new id, and an entry changes only for a writer that read its last revision.
pub async fn of_two_writers_one_has_to_read_again(store: Store) {
    let first = written(&store, vec![change("a", None, None, Some("x"))]).await[0];
    let both = [
        store.write_memory(write(vec![change("a", Some(first), Some("x"), Some("left"))])),
        store.write_memory(write(vec![change("a", Some(first), Some("x"), Some("right"))])),
    ];
    let results = futures_util::future::join_all(both).await;
    let stale = MemoryWriteResult::Stale { entry: "a".to_owned() };
    assert_eq!(results.iter().filter(|result| *result == &Ok(stale.clone())).count(), 1, "{results:?}");
    let again = store.write_memory(write(vec![change("a", None, None, Some("other"))])).await;
    assert_eq!(again, Ok(stale));
    assert_eq!(texts(&store).await.len(), 1);
}

/// A removed entry keeps its row, and every former text is a revision. Order and numbers never change.
pub async fn every_former_text_is_kept(store: Store) {
    let a = written(&store, vec![change("a", None, None, Some("one"))]).await[0];
    written(&store, vec![change("b", None, None, Some("other"))]).await;
    let two = written(&store, vec![change("a", Some(a), Some("one"), Some("two"))]).await[0];
    let gone = written(&store, vec![change("a", Some(two), Some("two"), None)]).await[0];
    assert_eq!(texts(&store).await, ["other"]);
    let row = store.memory_entry("a").await.unwrap().unwrap();
    assert_eq!((row.is_removed, row.entry.text.as_str(), row.entry.revision), (true, "two", gone));
    let undo = MemoryWrite { undoes: Some(gone), ..write(vec![change("a", Some(gone), None, Some("two"))]) };
    store.write_memory(undo).await.unwrap();
    assert_eq!(texts(&store).await, ["two", "other"], "it is where it was");
    let filter = MemoryRevisionFilter { entry: Some("a".to_owned()), ..MemoryRevisionFilter::default() };
    let rows = store.memory_revisions(&filter, 10).await.unwrap();
    let befores: Vec<Option<&str>> = rows.iter().map(|row| row.change.before.as_deref()).collect();
    assert_eq!(befores, [None, Some("two"), Some("one"), None]);
    assert_eq!(store.memory_revision(rows[0].id).await.unwrap().unwrap().undoes, Some(gone));
    let older = MemoryRevisionFilter { before: Some(gone), ..filter };
    assert_eq!(store.memory_revisions(&older, 1).await.unwrap()[0].id, two);
}

/// Of two decisions one counts, and its changes are made with it.
pub async fn a_proposal_is_decided_once(store: Store) {
    let proposal = MemoryProposalRow {
        id: "prop-1".to_owned(),
        state: MemoryProposalState::Pending,
        reason: "asked for".to_owned(),
        changes: "[]".to_owned(),
        origin: write(vec![]).origin,
        at: 4,
        decided_at: None,
    };
    store.propose_memory(proposal.clone()).await.unwrap();
    assert!(store.propose_memory(proposal.clone()).await.is_err(), "the id is taken");
    assert_eq!(store.pending_memory().await.unwrap(), [proposal]);
    let decides = |state| Some(("prop-1".to_owned(), state));
    let approve = MemoryWrite {
        decides: decides(MemoryProposalState::Approved),
        ..write(vec![change("a", None, None, Some("x"))])
    };
    let reject = MemoryWrite { decides: decides(MemoryProposalState::Rejected), ..write(vec![]) };
    assert!(matches!(store.write_memory(approve.clone()).await.unwrap(), MemoryWriteResult::Written(_)));
    let state = MemoryProposalState::Approved;
    for late in [approve, reject] {
        assert_eq!(store.write_memory(late).await.unwrap(), MemoryWriteResult::Decided { state });
    }
    let row = store.memory_proposal("prop-1").await.unwrap().unwrap();
    assert_eq!((row.state, row.decided_at), (state, Some(5)));
    assert_eq!((texts(&store).await.len(), store.pending_memory().await.unwrap()), (1, vec![]));
}

/// The text of a file, the changes that it made and the new base are one write.
pub async fn a_file_and_the_changes_it_made_are_written_together(store: Store) {
    let text = |text: &str| Some(MemoryMirror { scope: "user".to_owned(), text: text.to_owned() });
    let read = |entry: &str, expects| MemoryWrite {
        mirror: text("typed"),
        file_text: text("typed"),
        ..write(vec![change(entry, expects, None, Some("typed"))])
    };
    store.write_memory(read("a", None)).await.unwrap();
    assert!(matches!(store.write_memory(read("b", Some(7))).await.unwrap(), MemoryWriteResult::Stale { .. }));
    assert_eq!(store.memory_file_texts("user").await.unwrap(), ["typed"]);
    let rewritten = MemoryWrite { mirror: text("written"), ..write(vec![]) };
    store.write_memory(rewritten).await.unwrap();
    assert_eq!(store.memory_mirror("user").await.unwrap(), text("written"));
    assert_eq!(store.memory_mirror("notes").await.unwrap(), None);
}

/// Snapshots are found by their session and removed with it; the memory is kept.
pub async fn what_a_conversation_was_sent_is_kept_as_long_as_it(store: Store) {
    let session = scene::session(&store, "one").await;
    written(&store, vec![change("a", None, None, Some("x"))]).await;
    let snapshot = |digest: &str, at| MemorySnapshotRow {
        session: session.clone(),
        digest: digest.to_owned(),
        text: format!("text of {digest}"),
        entries: vec!["a".to_owned()],
        at,
    };
    let sent = [snapshot("d1", 1), snapshot("d2", 2), snapshot("d1", 3)];
    for one in &sent {
        store.add_memory_snapshot(one.clone()).await.unwrap();
    }
    assert_eq!(store.memory_snapshots(&session).await.unwrap(), sent);
    store.prune(&PrunePolicy { older_than: Some(1000), ..PrunePolicy::default() }, 1000).await.unwrap();
    assert_eq!(store.session(&session).await.unwrap(), None);
    assert_eq!(store.memory_snapshots(&session).await.unwrap(), []);
    assert_eq!(texts(&store).await, ["x"]);
}
