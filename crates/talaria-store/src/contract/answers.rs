//! A question is stored before it is shown, and has one answer.

use talaria_core::ids::TicketId;

use super::scene;
use crate::{
    AnswerResult, Change, NewRequest, RequestFilter, RequestOrigin, RequestPatch, RequestState, Store,
};

/// However many answer at once, exactly one wins, and the others get its decision.
pub async fn one_of_many_answers_wins_and_the_others_learn_whose(store: Store) {
    let id = scene::session(&store, "one").await;
    let ticket = scene::asked(&store, &id, scene::request("req-1", "ls")).await;
    let all = (0..20).map(|n| {
        let (store, ticket) = (store.clone(), ticket.clone());
        tokio::spawn(async move {
            let by = format!("person-{n}");
            (
                by.clone(),
                store.answer_request(&ticket, scene::answer(&format!("decision-{n}"), &by)).await.unwrap(),
            )
        })
    });
    let results: Vec<_> = futures_util::future::join_all(all).await.into_iter().map(Result::unwrap).collect();
    let winners: Vec<_> = results.iter().filter(|(_, result)| *result == AnswerResult::Won).collect();
    assert_eq!(winners.len(), 1, "{results:?}");
    let winner = &winners[0].0;
    for (loser, result) in results.iter().filter(|(by, _)| by != winner) {
        match result {
            AnswerResult::AlreadyAnswered { by, decision, at: 7 } => {
                assert_eq!((by, decision), (winner, &winner.replace("person", "decision")), "{loser}");
            }
            other => panic!("{loser} was told {other:?}"),
        }
    }
    let kept = store.request(&ticket).await.unwrap().unwrap();
    assert_eq!((kept.state, kept.answered_by.as_ref()), (RequestState::Answered, Some(winner)));
}

/// A question that is over, or never was, takes no answer.
pub async fn what_is_closed_cannot_be_answered(store: Store) {
    let id = scene::session(&store, "one").await;
    let ticket = scene::asked(&store, &id, scene::request("req-1", "ls")).await;
    let void = RequestPatch::state(ticket.clone(), RequestState::Void);
    store.append(scene::change(&id, 9, Change::Request(void))).await.unwrap();
    let late = store.answer_request(&ticket, scene::answer("accept", "me")).await.unwrap();
    assert_eq!(late, AnswerResult::Closed { state: RequestState::Void });
    assert_eq!(store.request(&ticket).await.unwrap().unwrap().closed_at, Some(9));
    let unknown = store.answer_request(&TicketId::new("req-2"), scene::answer("accept", "me")).await.unwrap();
    assert_eq!(unknown, AnswerResult::Unknown);
}

/// A secret answer that was not delivered is asked for again.
pub async fn an_answer_that_is_taken_back_leaves_nothing(store: Store) {
    let id = scene::session(&store, "one").await;
    let ticket = scene::asked(&store, &id, scene::request("req-1", "ls")).await;
    store.answer_request(&ticket, scene::answer("accept", "me")).await.unwrap();
    let open = RequestPatch::state(ticket.clone(), RequestState::Open);
    store.append(scene::change(&id, 9, Change::Request(open))).await.unwrap();
    let kept = store.request(&ticket).await.unwrap().unwrap();
    assert_eq!((kept.state, kept.decision, kept.answer_sealed), (RequestState::Open, None, None));
    assert_eq!((kept.answered_by, kept.answered_at, kept.closed_at), (None, None, None));
    let again = store.answer_request(&ticket, scene::answer("decline", "me")).await.unwrap();
    assert_eq!(again, AnswerResult::Won);
}

/// A delivered answer needs no copy.
pub async fn a_sealed_answer_is_erased_when_it_is_delivered(store: Store) {
    let id = scene::session(&store, "one").await;
    let ticket = scene::asked(&store, &id, scene::request("req-1", "ls")).await;
    store.answer_request(&ticket, scene::answer("accept", "me")).await.unwrap();
    for (state, is_kept) in [(RequestState::Delivering, true), (RequestState::Delivered, false)] {
        let patch = RequestPatch::state(ticket.clone(), state);
        store.append(scene::change(&id, 9, Change::Request(patch))).await.unwrap();
        let kept = store.request(&ticket).await.unwrap().unwrap();
        assert_eq!((kept.state, kept.answer_sealed.is_some()), (state, is_kept));
        assert_eq!(kept.decision.as_deref(), Some("accept"));
    }
}

/// The list is what was asked for, oldest first.
pub async fn requests_are_listed_by_session_and_state(store: Store) {
    let (one, two) = (scene::session(&store, "one").await, scene::session(&store, "two").await);
    for (session, ticket) in [(&one, "req-1"), (&two, "req-2"), (&one, "req-3")] {
        scene::asked(&store, session, scene::request(ticket, ticket)).await;
    }
    store.answer_request(&TicketId::new("req-1"), scene::answer("accept", "me")).await.unwrap();
    let ids = async |session: Option<&_>, states: Option<Vec<RequestState>>| {
        let filter = RequestFilter { session: session.cloned(), states };
        let found = store.requests(&filter).await.unwrap();
        found.into_iter().map(|request| request.id.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(ids(None, None).await, ["req-1", "req-2", "req-3"]);
    assert_eq!(ids(None, Some(vec![RequestState::Open])).await, ["req-2", "req-3"]);
    assert_eq!(
        ids(Some(&one), Some(vec![RequestState::Open, RequestState::Answered])).await,
        ["req-1", "req-3"]
    );
    assert_eq!(store.counts().await.unwrap().open_requests, 2);
}

/// The origin is opaque: it is returned byte for byte, also if it is not JSON.
pub async fn who_asks_comes_back_unchanged(store: Store) {
    let id = scene::session(&store, "one").await;
    let origins = [
        RequestOrigin {
            host: Some("nonce".to_owned()),
            json: r#"{"from":"codex","id":9007199254740993}"#.to_owned(),
        },
        RequestOrigin { host: None, json: r#"{ "from": "talaria",  "b":1, "a": 1.0 }"#.to_owned() },
        RequestOrigin { host: None, json: "no JSON at all '\u{0}\u{1F980}".to_owned() },
    ];
    for (origin, ticket) in origins.iter().zip(["req-1", "req-2", "req-3"]) {
        let request = NewRequest { origin: origin.clone(), ..scene::request(ticket, "ls") };
        scene::asked(&store, &id, request).await;
        store.answer_request(&TicketId::new(ticket), scene::answer("accept", "me")).await.unwrap();
    }
    let kept = store.requests(&RequestFilter::default()).await.unwrap();
    assert_eq!(kept.into_iter().map(|request| request.origin).collect::<Vec<_>>(), origins);
}

/// A request that no host asks is open, answered and delivered like any other.
pub async fn a_request_without_a_host_lives_like_any_other(store: Store) {
    let id = scene::session(&store, "one").await;
    let origin = RequestOrigin { host: None, json: "{}".to_owned() };
    let request = NewRequest { origin, binding: None, ..scene::request("req-1", "") };
    let ticket = scene::asked(&store, &id, request).await;
    assert_eq!(store.counts().await.unwrap().open_requests, 1);
    let won = store.answer_request(&ticket, scene::answer("accept", "me")).await.unwrap();
    assert_eq!(won, AnswerResult::Won);
    let patch = RequestPatch::state(ticket.clone(), RequestState::Delivered);
    store.append(scene::change(&id, 9, Change::Request(patch))).await.unwrap();
    let kept = store.request(&ticket).await.unwrap().unwrap();
    assert_eq!((kept.state, kept.closed_at, kept.origin.host), (RequestState::Delivered, Some(9), None));
}
