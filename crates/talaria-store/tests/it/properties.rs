//! The promises hold for any sequence of operations.

use proptest::prelude::*;
use talaria_core::api::UsageBy;
use talaria_core::budget::{BudgetAmount, BudgetScope, ScopedLimit};
use talaria_core::event::Stage;
use talaria_core::ids::SessionId;
use talaria_store::contract::scene::{self, EPOCH};
use talaria_store::contract::{budgets, model_attempts};
use talaria_store::{
    AttemptEnding, AttemptState, Batch, Change, ModelAttemptFacts, NewReservation, PrunePolicy,
    SessionFilter, Store, Takeover, TurnPatch, UsageFilter,
};
use tokio::runtime::Runtime;

/// Runs something on an empty store.
fn with_store<T>(work: impl AsyncFnOnce(Store) -> T) -> T {
    let place = tempfile::tempdir().unwrap();
    let runtime = Runtime::new().unwrap();
    runtime.block_on(async {
        let store = crate::open(&place.path().join("talaria.db")).await;
        let result = work(store.clone()).await;
        store.close().await;
        result
    })
}

/// One append: to which session, how many events, and what is wrong with it.
#[derive(Clone, Debug)]
struct Append {
    session: usize,
    events: usize,
    fault: Fault,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    Fenced,
    Conflict,
    Dropped,
}

fn append() -> impl Strategy<Value = Append> {
    let fault = prop_oneof![
        6 => Just(Fault::None),
        1 => Just(Fault::Fenced),
        1 => Just(Fault::Conflict),
        1 => Just(Fault::Dropped),
    ];
    (0..3_usize, 0..6_usize, fault).prop_map(|(session, events, fault)| Append { session, events, fault })
}

async fn run(store: Store, session: SessionId, append: Append) -> Option<(i64, i64)> {
    let mut batch = scene::batch(&session, 1, &vec!["text"; append.events]);
    match append.fault {
        Fault::Fenced => batch.epoch = EPOCH - 1,
        Fault::Conflict => {
            batch.changes = vec![Change::Turn(TurnPatch { ordinal: 1, ..TurnPatch::default() })];
        }
        Fault::None | Fault::Dropped => {}
    }
    if append.fault == Fault::Dropped {
        // Asked once and then forgotten.
        let _ = futures_util::FutureExt::now_or_never(store.append(batch));
        return None;
    }
    let result = store.append(batch).await;
    assert_eq!(result.is_ok(), append.fault == Fault::None, "{result:?}");
    result.ok().map(|appended| (appended.first_seq, appended.last_seq))
}

/// One step of a conversation that spends, or the end of the engine.
#[derive(Clone, Copy, Debug)]
enum BudgetStep {
    Reserve {
        session: usize,
        tokens: u64,
    },
    /// The oldest open request ends with a part of what it reserved.
    Settle {
        session: usize,
        percent: u64,
        is_cut: bool,
    },
    Crash,
}

fn budget_step() -> impl Strategy<Value = BudgetStep> {
    let reserve =
        (0..2_usize, 1..60_u64).prop_map(|(session, tokens)| BudgetStep::Reserve { session, tokens });
    let settle = (0..2_usize, 0..=100_u64, any::<bool>())
        .prop_map(|(session, percent, is_cut)| BudgetStep::Settle { session, percent, is_cut });
    prop_oneof![5 => reserve, 4 => settle, 1 => Just(BudgetStep::Crash)]
}

/// The sums of all usage rows: tokens, and the tokens of requests without an end, for which their bound counts.
async fn usage_sum(store: &Store) -> (u64, u64) {
    let rows = store.usage(UsageFilter { by: UsageBy::Session, since: 0 }).await.unwrap();
    let sum = |of: fn(&talaria_store::UsageSumRow) -> u64| rows.iter().map(of).sum::<u64>();
    (sum(|row| row.usage.total), sum(|row| u64::try_from(row.unreported).unwrap()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn no_interleaving_of_requests_and_crashes_passes_a_budget(
        steps in prop::collection::vec(budget_step(), 1..40),
    ) {
        const LIMIT: u64 = 200;
        with_store(async |store| {
            let ids = [scene::session(&store, "a").await, scene::session(&store, "b").await];
            let day = ScopedLimit { scope: BudgetScope::Day(1), limit: BudgetAmount::Tokens(LIMIT) };
            let limits = |id: &SessionId| [budgets::tokens_of(id, LIMIT * 2 / 3), day.clone()];
            let mut open: [Vec<(i64, u64)>; 2] = Default::default();
            let (mut numbers, mut epoch) = ([0_i64; 2], EPOCH);
            let (mut settled, mut lost, mut lost_requests) = (0, 0, 0);
            for step in steps {
                match step {
                    BudgetStep::Reserve { session, tokens } => {
                        numbers[session] += 1;
                        let (id, number) = (&ids[session], numbers[session]);
                        let new = NewReservation { epoch, ..budgets::reservation(id, number, tokens, &limits(id)) };
                        if store.reserve_budget(new).await.unwrap().is_none() {
                            let sent = Change::AttemptStage(
                                model_attempts::key(number), AttemptState::Sent, ModelAttemptFacts::default(),
                            );
                            let changes = vec![Change::NewAttempt(model_attempts::plan(number)), sent];
                            let batch = Batch { epoch, changes, ..scene::batch(id, 86_400_000, &[]) };
                            store.append(batch).await.unwrap();
                            open[session].push((number, tokens));
                        }
                    }
                    BudgetStep::Settle { session, percent, is_cut } => {
                        if open[session].is_empty() {
                            continue;
                        }
                        let (number, tokens) = open[session].remove(0);
                        let cost = tokens * percent / 100;
                        let ending = if is_cut { AttemptEnding::Cut } else { AttemptEnding::Completed };
                        let end = Box::new(budgets::spent(ending, cost));
                        let change = Change::AttemptEnd(model_attempts::key(number), end);
                        let batch = Batch { epoch, ..scene::change(&ids[session], 86_400_001, change) };
                        store.append(batch).await.unwrap();
                        settled += cost;
                    }
                    BudgetStep::Crash => {
                        epoch += 1;
                        for id in &ids {
                            store.take_lease(scene::lease(id, epoch), Takeover::Older).await.unwrap();
                        }
                        store.abandon_attempts(epoch, 86_400_002).await.unwrap();
                        for (_, tokens) in open.iter_mut().flat_map(std::mem::take) {
                            lost += tokens;
                            lost_requests += 1;
                        }
                    }
                }
                let states = store.budget_states(std::slice::from_ref(&day), &[]).await.unwrap();
                let reserved: u64 = open.iter().flatten().map(|(_, tokens)| tokens).sum();
                assert_eq!((states[0].spent, states[0].uncertain, states[0].reserved), (settled + lost, lost, reserved));
                assert!(states[0].spent + states[0].reserved <= LIMIT, "{states:?}");
                for id in &ids {
                    let own = store.budget_states(&[budgets::tokens_of(id, LIMIT * 2 / 3)], &[]).await.unwrap();
                    assert!(own[0].spent + own[0].reserved <= LIMIT * 2 / 3, "{own:?}");
                }
            }
            assert_eq!(usage_sum(&store).await, (settled, lost_requests), "each request is one row of the usage");
        });
    }

    #[test]
    fn any_interleaving_of_appends_keeps_the_numbers_without_a_gap(
        appends in prop::collection::vec(append(), 1..40),
    ) {
        with_store(async |store| {
            let mut ids = Vec::new();
            for n in 0..3 {
                ids.push(scene::session(&store, &format!("s{n}")).await);
            }
            let tasks: Vec<_> = appends
                .iter()
                .map(|append| tokio::spawn(run(store.clone(), ids[append.session].clone(), append.clone())))
                .collect();
            let mut got = vec![Vec::new(); 3];
            for (append, task) in appends.iter().zip(tasks) {
                got[append.session].extend(task.await.unwrap());
            }
            for (id, mut got) in ids.iter().zip(got) {
                // The queue is in order: everything sent before this is done.
                let last = store.append(scene::batch(id, 9, &["end"])).await.unwrap().last_seq;
                let numbers: Vec<i64> =
                    store.events(id, 0, 10_000).await.unwrap().iter().map(|event| event.seq).collect();
                assert_eq!(numbers, (1..=last).collect::<Vec<_>>());
                // A batch without events takes no number; the others do not overlap.
                got.retain(|(first, last)| first <= last);
                got.sort_unstable();
                assert!(got.windows(2).all(|pair| pair[0].1 < pair[1].0), "{got:?}");
            }
        });
    }

    #[test]
    fn pruning_never_removes_what_runs_or_waits(
        sessions in prop::collection::vec((0..100_i64, 0..5_u8), 1..12),
        older_than in prop::option::of(0..120_i64),
        keep in prop::option::of(0..12_usize),
        max_bytes in prop::option::of(0..200_000_i64),
    ) {
        with_store(async |store| {
            let mut living = Vec::new();
            for (n, (at, kind)) in sessions.iter().enumerate() {
                let id = scene::session_at(&store, &format!("s{n}"), *at).await;
                let turn = Change::NewTurn(scene::turn(1));
                let settled =
                    Change::Turn(TurnPatch { ordinal: 1, stage: Some(Stage::Settled), ..TurnPatch::default() });
                let request = Change::NewRequest(scene::request(&format!("req-{n}"), "ls"));
                let changes = match kind {
                    0 => vec![],
                    1 => vec![turn, settled],
                    2 => vec![turn],
                    3 => vec![request],
                    _ => vec![turn, settled, request],
                };
                store.append(Batch { changes, ..scene::batch(&id, *at, &["a"]) }).await.unwrap();
                if *kind >= 2 {
                    living.push(id);
                }
            }
            let policy = PrunePolicy { older_than, keep, max_bytes };
            let preview = store.preview_prune(&policy, 1000).await.unwrap();
            let pruned = store.prune(&policy, 1000).await.unwrap();
            assert_eq!(pruned.sessions, preview.sessions.len() as i64);
            for id in &living {
                let session = store.session(id).await.unwrap();
                assert_eq!(session.map(|session| session.last_seq), Some(1), "{id}");
                assert_eq!(store.events(id, 0, 10).await.unwrap().len(), 1);
            }
            let left = store.sessions(&SessionFilter::default(), None, 100).await.unwrap().sessions;
            assert_eq!(left.len() + preview.sessions.len(), sessions.len());
            if let Some(time) = older_than {
                let is_over = |id: &SessionId| !living.contains(id);
                assert!(left.iter().all(|session| session.updated_at >= time || !is_over(&session.id)));
            }
        });
    }
}
