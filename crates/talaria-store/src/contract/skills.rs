//! Skills: the same change waits once, a proposal is decided once with what it made, uses are counted once, and rows outlive
//! the sessions that they name.

use talaria_core::ids::SessionId;

use super::scene;
use crate::{
    Change, NewSkillUse, PrunePolicy, SkillArchiveRow, SkillAuthor, SkillDecision, SkillDecisionResult,
    SkillOrigin, SkillProposalRow, SkillProposalState, SkillProposeResult, SkillReviewResult, SkillUsageRow,
    Store,
};

fn proposal(id: &str, edit: &str, at: i64) -> SkillProposalRow {
    SkillProposalRow {
        id: id.to_owned(),
        state: SkillProposalState::Pending,
        name: "haiku".to_owned(),
        folder: "/skills/haiku".to_owned(),
        file: "SKILL.md".to_owned(),
        edit: edit.to_owned(),
        diff: "+x".to_owned(),
        base_digest: None,
        after_digest: Some("d".to_owned()),
        warning: None,
        reason: None,
        origin: SkillOrigin {
            author: SkillAuthor::Model,
            session: Some(SessionId::new("one")),
            turn: Some("t".to_owned()),
            call: Some("c".to_owned()),
        },
        at,
        decided_at: None,
    }
}

async fn pending(store: &Store) -> Vec<String> {
    let rows = store.skill_proposals(Some(SkillProposalState::Pending), 10).await.unwrap();
    rows.into_iter().map(|row| row.id).collect()
}

/// A pending change is not stored a second time, and the number of pending ones is limited.
pub async fn the_same_change_waits_once_and_their_number_is_bounded(store: Store) {
    assert_eq!(store.propose_skill(proposal("a", "x", 1), 2).await.unwrap(), SkillProposeResult::Added);
    let same = store.propose_skill(proposal("b", "x", 2), 2).await.unwrap();
    assert_eq!(same, SkillProposeResult::Same { id: "a".to_owned() });
    let changed = SkillProposalRow { base_digest: Some("other".to_owned()), ..proposal("c", "x", 3) };
    assert_eq!(store.propose_skill(changed, 2).await.unwrap(), SkillProposeResult::Added);
    let full = store.propose_skill(proposal("d", "y", 4), 2).await.unwrap();
    assert_eq!(full, SkillProposeResult::Full { pending: 2 });
    assert_eq!(pending(&store).await, ["c", "a"]);
    assert_eq!(store.skill_proposal("a").await.unwrap(), Some(proposal("a", "x", 1)));
    assert_eq!(store.skill_proposal("b").await.unwrap(), None);
}

/// The first decision wins, and the created skill has its origin.
pub async fn a_proposal_about_a_skill_is_decided_once(store: Store) {
    for (id, edit) in [("a", "x"), ("b", "y")] {
        store.propose_skill(proposal(id, edit, 1), 9).await.unwrap();
    }
    let decide =
        |id: &str, state, makes_skill| SkillDecision { proposal: id.to_owned(), state, makes_skill, at: 7 };
    let accept = decide("a", SkillProposalState::Accepted, true);
    assert_eq!(store.decide_skill(accept).await.unwrap(), SkillDecisionResult::Recorded);
    let late = store.decide_skill(decide("a", SkillProposalState::Rejected, false)).await.unwrap();
    assert_eq!(late, SkillDecisionResult::Decided { state: SkillProposalState::Accepted });
    store.decide_skill(decide("b", SkillProposalState::Rejected, false)).await.unwrap();
    assert!(store.decide_skill(decide("none", SkillProposalState::Rejected, false)).await.is_err());
    let all = store.skill_proposals(None, 10).await.unwrap();
    let line = |row: &SkillProposalRow| format!("{} {} {:?}", row.id, row.state.as_str(), row.decided_at);
    assert_eq!(all.iter().map(line).collect::<Vec<_>>(), ["a accepted Some(7)", "b rejected Some(7)"]);
    let sources = store.skill_sources().await.unwrap();
    let [source] = &sources[..] else { panic!("{sources:?}") };
    assert_eq!((source.folder.as_str(), source.proposal.as_str(), source.at), ("/skills/haiku", "a", 7));
    assert_eq!(source.origin, proposal("a", "x", 1).origin);
}

/// A review proposes once, however often it is applied, and not what waits or was rejected. Two at once are one.
pub async fn a_review_proposes_skills_once_and_repeats_no_decision(store: Store) {
    let of_review = |review: &str, id: &str, file: &str, edit: &str| {
        let row = proposal(id, edit, 3);
        let origin = SkillOrigin { author: SkillAuthor::Review, call: Some(review.to_owned()), ..row.origin };
        SkillProposalRow { file: file.to_owned(), reason: Some("why".to_owned()), origin, ..row }
    };
    let ids = |result: SkillReviewResult| {
        let ids: Vec<String> = result.proposals.into_iter().map(|row| row.id).collect();
        (ids, result.refused)
    };
    let first =
        || vec![of_review("review-1", "a", "SKILL.md", "x"), of_review("review-1", "b", "scripts/x", "x")];
    let again =
        || vec![of_review("review-1", "c", "SKILL.md", "x"), of_review("review-1", "d", "scripts/x", "x")];
    let both = tokio::join!(
        store.propose_reviewed_skills("review-1", first(), 9),
        store.propose_reviewed_skills("review-1", again(), 9),
    );
    let (one, other) = (ids(both.0.unwrap()), ids(both.1.unwrap()));
    assert_eq!(one, other);
    assert_eq!((one.0.len(), one.1), (2, 0));
    let after = ids(store.propose_reviewed_skills("review-1", vec![], 9).await.unwrap());
    assert_eq!(after, one, "what it made is found by its name");
    assert_eq!(pending(&store).await.len(), 2);

    let decide = |id: &str| SkillDecision {
        proposal: id.to_owned(),
        state: SkillProposalState::Rejected,
        makes_skill: false,
        at: 7,
    };
    store.decide_skill(decide(&one.0[0])).await.unwrap();
    assert_eq!(
        ids(store.propose_reviewed_skills("review-1", again(), 9).await.unwrap()),
        one,
        "decided or not"
    );
    let file = store.skill_proposal(&one.0[0]).await.unwrap().unwrap().file;
    let other_file = if file == "SKILL.md" { "scripts/x" } else { "SKILL.md" };
    let second =
        vec![of_review("review-2", "e", &file, "x"), of_review("review-2", "f", other_file, "another text")];
    let nothing = store.propose_reviewed_skills("review-2", second, 9).await.unwrap();
    assert_eq!(ids(nothing), (vec![], 0), "one was rejected, the file of the other waits");
    let another = vec![of_review("review-2", "g", &file, "y"), of_review("review-2", "h", "scripts/y", "y")];
    let bounded = store.propose_reviewed_skills("review-2", another, 2).await.unwrap();
    assert_eq!(ids(bounded), (vec!["g".to_owned()], 1), "too many wait");
    assert_eq!(store.skill_proposal("g").await.unwrap().unwrap().reason.as_deref(), Some("why"));
}

/// A step that is reported again is one use, whichever way it is recorded; pruning its session keeps the count.
pub async fn a_use_of_a_skill_counts_once_and_stays(store: Store) {
    let session = scene::session(&store, "one").await;
    let used = |step: &str, at| NewSkillUse {
        folder: "/skills/haiku".to_owned(),
        session: session.clone(),
        step: step.to_owned(),
        at,
    };
    store.add_skill_use(used("a", 3)).await.unwrap();
    store.add_skill_use(used("a", 4)).await.unwrap();
    let step = || Change::SkillUse { folder: "/skills/haiku".to_owned(), step: "b".to_owned() };
    store.append(scene::change(&session, 5, step())).await.unwrap();
    store.append(scene::change(&session, 6, step())).await.unwrap();
    let counted = [SkillUsageRow { folder: "/skills/haiku".to_owned(), uses: 2, last_at: 5 }];
    assert_eq!(store.skill_usage().await.unwrap(), counted);
    assert!(store.skill_uses_since().await.unwrap() > 0);
    assert_eq!(store.skills_read_in(&session).await.unwrap(), ["/skills/haiku"]);
    assert_eq!(store.skills_read_in(&SessionId::new("other")).await.unwrap(), Vec::<String>::new());
    store.prune(&PrunePolicy { older_than: Some(1000), ..PrunePolicy::default() }, 1000).await.unwrap();
    assert_eq!(store.session(&session).await.unwrap(), None);
    assert_eq!(store.skill_usage().await.unwrap(), counted);
}

/// The original location of an archived skill is recorded, also after it was restored.
pub async fn an_archived_skill_is_known_by_where_it_was(store: Store) {
    let row = |id: &str, at| SkillArchiveRow {
        id: id.to_owned(),
        name: "haiku".to_owned(),
        folder: "/skills/haiku".to_owned(),
        kept: format!("/skills-archive/{id}"),
        at,
        restored_at: None,
    };
    store.add_skill_archive(row("b", 1)).await.unwrap();
    store.add_skill_archive(row("a", 2)).await.unwrap();
    store.restore_skill("b", 9).await.unwrap();
    let restored = SkillArchiveRow { restored_at: Some(9), ..row("b", 1) };
    assert_eq!(store.skill_archives().await.unwrap(), [restored, row("a", 2)]);
}
