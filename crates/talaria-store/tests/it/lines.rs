//! After any sequence of changes the stored list of tasks agrees with the rows; only triggers maintain it.

use proptest::prelude::*;
use sqlx::Row as _;
use talaria_core::event::Stage;
use talaria_core::ids::{SessionId, TicketId};
use talaria_store::contract::scene::{self, EPOCH};
use talaria_store::{
    Batch, Change, NewOutbox, NewRequest, PrunePolicy, RequestPatch, RequestState, SessionPatch, Store,
    TaskFilter, TurnPatch,
};

#[derive(Clone, Debug)]
enum Deed {
    Turn,
    Stage(Stage),
    Interrupted,
    TakenBack,
    Ask(&'static str),
    Answer,
    Void,
    Title(String),
    Worktree(Option<String>),
    Events,
    Outbox,
    Prune,
}

fn deed() -> impl Strategy<Value = Deed> {
    prop_oneof![
        3 => Just(Deed::Turn),
        3 => prop::sample::select(vec![Stage::Sent, Stage::Accepted, Stage::Settled, Stage::Unknown])
            .prop_map(Deed::Stage),
        1 => Just(Deed::Interrupted),
        1 => Just(Deed::TakenBack),
        3 => prop::sample::select(vec!["command", "patch", "input", "elicitation"]).prop_map(Deed::Ask),
        2 => Just(Deed::Answer),
        2 => Just(Deed::Void),
        2 => "\\PC{0,8}|[\u{0}-\u{1f}\"\\\\]{0,4}".prop_map(Deed::Title),
        1 => prop::option::of(Just(r#"{"branch":"talaria/x"}"#.to_owned())).prop_map(Deed::Worktree),
        3 => Just(Deed::Events),
        1 => Just(Deed::Outbox),
        1 => Just(Deed::Prune),
    ]
}

/// Applies it, if possible: a refused operation changes nothing.
async fn act(store: &Store, session: &SessionId, at: i64, deed: Deed) {
    let ordinal = store.last_turns(session, None, 1).await.unwrap().last().map_or(0, |turn| turn.ordinal);
    let ticket = |n: i64| TicketId::new(format!("{session}-{n}"));
    let turn = |patch: TurnPatch| Change::Turn(TurnPatch { ordinal, ..patch });
    let change = match deed {
        Deed::Turn => Change::NewTurn(scene::turn(ordinal + 1)),
        Deed::Stage(stage) => turn(TurnPatch { stage: Some(stage), ..TurnPatch::default() }),
        Deed::Interrupted => turn(TurnPatch {
            stage: Some(Stage::Settled),
            outcome: Some(r#"{"by":"user"}"#.to_owned()),
            outcome_kind: Some("interrupted".to_owned()),
            code: Some("other".to_owned()),
            ..TurnPatch::default()
        }),
        Deed::TakenBack => {
            let Some(running) = store.next_unsettled(session).await.unwrap() else { return };
            let ordinal = running.ordinal;
            let settled = TurnPatch { ordinal, stage: Some(Stage::Settled), ..TurnPatch::default() };
            let changes = vec![Change::TakeBack { after: ordinal }, Change::Turn(settled)];
            let _ = store.append(Batch { changes, ..scene::batch(session, at, &["outcome"]) }).await;
            return;
        }
        Deed::Ask(kind) => Change::NewRequest(NewRequest {
            kind: kind.to_owned(),
            id: ticket(at),
            ..scene::request("any", "ls")
        }),
        Deed::Void => Change::Request(RequestPatch::state(ticket(at - 1), RequestState::Void)),
        Deed::Title(title) => Change::Session(SessionPatch { title: Some(title), ..SessionPatch::default() }),
        Deed::Worktree(worktree) => Change::TaskWorktree(worktree),
        Deed::Events => {
            let _ = store.append(scene::batch(session, at, &["a", "b"])).await;
            return;
        }
        Deed::Answer => {
            let _ = store.answer_request(&ticket(at - 1), scene::answer("accept", "me")).await;
            return;
        }
        Deed::Outbox => Change::Outbox(NewOutbox {
            id: format!("{session}/{at}"),
            kind: "outcome".to_owned(),
            payload: "{}".to_owned(),
            target: None,
            due_at: at,
        }),
        Deed::Prune => {
            let policy = PrunePolicy { older_than: Some(at - 5), ..PrunePolicy::default() };
            store.prune(&policy, at).await.unwrap();
            return;
        }
    };
    let _ = store.append(scene::change(session, at, change)).await;
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_kept_lines_say_what_the_rows_say(deeds in prop::collection::vec((0..3_usize, deed()), 1..40)) {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("talaria.db");
        tokio::runtime::Runtime::new().unwrap().block_on(async {
            let store = crate::open(&path).await;
            let ids = ["a", "b", "c"].map(SessionId::new);
            for id in &ids {
                store.create_session(scene::new_task(id.as_str(), 1), scene::lease(id, EPOCH)).await.unwrap();
            }
            let mut at = 1;
            for (session, deed) in deeds {
                at += 1;
                act(&store, &ids[session], at, deed).await;
            }
            let mut conn = crate::foreign(&path).await;
            let columns = "select updated_at, session, owner, active, line";
            let wrong = sqlx::query(sqlx::AssertSqlSafe(format!(
                "select * from ({columns} from task_line except {columns} from task_shown)
                 union all select * from ({columns} from task_shown except {columns} from task_line)"
            )))
            .fetch_all(&mut conn)
            .await
            .unwrap();
            let lines: Vec<String> = wrong.iter().map(|row| row.get("line")).collect();
            assert_eq!(lines, [] as [&str; 0]);
            for line in store.tasks(&TaskFilter::default(), None, 10).await.unwrap().tasks {
                let session = store.session(&line.id).await.unwrap().unwrap();
                assert_eq!((line.title, line.updated_at), (session.title, session.updated_at));
            }
            store.close().await;
        });
    }
}
