//! A call that changes something takes effect once, regardless of repeated deliveries and crashes; and nothing unknown is
//! claimed about it.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use talaria_core::ids::{ItemId, ThreadId, TurnId};
use talaria_core::tool::ToolCaller;
use talaria_store::{Lease, NewSessionRow, OpenOptions, SessionKind, Store, Takeover};
use tempfile::TempDir;

use super::*;
use crate::engine::run::background::BackgroundList;
use talaria_codex::permit::Permits;

const TOOL: &str = "talaria_x";
const LIMIT: Duration = Duration::from_secs(60);

/// A home on which engines follow one another.
struct Place {
    folder: TempDir,
    store: Store,
    session: SessionId,
    /// How often a tool took effect.
    effects: Arc<AtomicUsize>,
}

/// One engine, as far as the ledger knows it.
struct TestEngine {
    shelf: EngineServices,
    ledger: CallLedger,
    tasks: TaskTracker,
    ended: watch::Sender<bool>,
    session: SessionId,
}

impl Place {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("talaria.db"), 0, &OpenOptions::default()).await.unwrap();
        let session = SessionId::new("session");
        let row = NewSessionRow {
            id: session.clone(),
            kind: SessionKind::Chat,
            alias: None,
            title: None,
            cwd: "/work".to_owned(),
            runtime: "codex_app_server".to_owned(),
            model: None,
            asked: None,
            settings: None,
            task: None,
            first_turn: None,
            created_at: 1,
            audit: None,
        };
        store.create_session(row, lease(&session, 0)).await.unwrap();
        Self { folder, store, session, effects: Arc::default() }
    }

    /// The next engine, which knows that the one before is gone.
    async fn engine(&self) -> TestEngine {
        let (store, session) = (self.store.clone(), self.session.clone());
        let epoch = store.next_epoch().await.unwrap();
        store.take_lease(lease(&session, epoch), Takeover::Older).await.unwrap();
        store.abandon_tool_calls(epoch, 1).await.unwrap();
        let shelf = EngineServices {
            background: BackgroundList::load(&store).await.unwrap(),
            store,
            epoch,
            seal: Seal::open(&self.folder.path().join("key")).unwrap(),
            permits: Permits::new(self.folder.path().join("permits")),
            troubles: Default::default(),
            nudge: Arc::default(),
            tried: Arc::default(),
            task_ended: Arc::default(),
        };
        let (ledger, tasks) = (CallLedger::default(), TaskTracker::new());
        TestEngine { shelf, ledger, tasks, ended: watch::Sender::new(false), session }
    }

    async fn row(&self, call: &ToolInvocation) -> ToolCallRow {
        self.store.tool_call(&key(call)).await.unwrap().unwrap()
    }

    fn effects(&self) -> usize {
        self.effects.load(Ordering::SeqCst)
    }

    /// A tool that takes effect, and says for which time.
    fn works(&self) -> impl Fn() -> BoxFuture<'static, ToolReturn> + Send + Sync + 'static {
        let effects = Arc::clone(&self.effects);
        move || {
            let effects = Arc::clone(&effects);
            async move {
                let count = effects.fetch_add(1, Ordering::SeqCst) + 1;
                Ok(format!("Effect {count}, complete."))
            }
            .boxed()
        }
    }

    /// A tool that takes effect and never returns; the receiver learns that it did.
    fn hangs(
        &self,
    ) -> (impl Fn() -> BoxFuture<'static, ToolReturn> + Send + Sync + 'static, oneshot::Receiver<()>) {
        let effects = Arc::clone(&self.effects);
        let (begun, is_begun) = oneshot::channel();
        let hang = once(move || {
            async move {
                effects.fetch_add(1, Ordering::SeqCst);
                let _ = begun.send(());
                std::future::pending().await
            }
            .boxed()
        });
        (hang, is_begun)
    }
}

/// A tool that is to run once; a second run breaks the test.
fn once(
    work: impl FnOnce() -> BoxFuture<'static, ToolReturn> + Send + 'static,
) -> impl Fn() -> BoxFuture<'static, ToolReturn> + Send + Sync + 'static {
    let work = Mutex::new(Some(work));
    move || work.lock().unwrap().take().expect("the tool ran twice")()
}

/// No hook.
async fn permit() -> CallPermit {
    CallPermit::Run { decided: None }
}

fn lease(session: &SessionId, epoch: i64) -> Lease {
    Lease { session: session.clone(), epoch, owner: "test".to_owned(), expires_at: i64::MAX }
}

fn call(id: &str, arguments: Value) -> ToolInvocation {
    ToolInvocation {
        thread: ThreadId::new("thread"),
        turn: TurnId::new("turn"),
        item: ItemId::new(id),
        tool: TOOL.to_owned(),
        arguments,
        caller: ToolCaller::Session,
        confinement: talaria_core::tool::ToolConfinement::default(),
    }
}

impl TestEngine {
    /// The journal's part before a call arrives.
    async fn offer(&self, call: &ToolInvocation) {
        self.change(Change::ToolOffered(offered(&self.shelf.seal, 1, 1, call))).await;
    }

    async fn change(&self, change: Change) {
        let (session, epoch) = (self.session.clone(), self.shelf.epoch);
        let batch = Batch { session, epoch, at: 1, events: Vec::new(), changes: vec![change] };
        self.shelf.store.append(batch).await.unwrap();
    }

    async fn answer<W: Future<Output = ToolReturn> + Send + 'static>(
        &self,
        call: &ToolInvocation,
        effect: ToolEffect,
        limit: Duration,
        work: impl Fn() -> W + Send + Sync + 'static,
    ) -> ToolOutcome {
        self.answer_judged(call, effect, limit, permit, work).await
    }

    async fn answer_judged<J, W>(
        &self,
        call: &ToolInvocation,
        effect: ToolEffect,
        limit: Duration,
        judge: impl FnOnce() -> J + Send + 'static,
        work: impl Fn() -> W + Send + Sync + 'static,
    ) -> ToolOutcome
    where
        J: Future<Output = CallPermit> + Send + 'static,
        W: Future<Output = ToolReturn> + Send + 'static,
    {
        self.offer(call).await;
        let ground = LedgerGround { shelf: &self.shelf, tasks: &self.tasks, ended: self.ended.subscribe() };
        let (session, check) = (self.session.clone(), "Look first.");
        let asked = LedgerCall { session, call: call.clone(), effect, limit, check };
        self.ledger.answer(ground, asked, judge, work).await
    }

    /// Begins a call that hangs, and drops this engine in the middle of it.
    async fn die_while_it_runs(self, place: &Place, call: &ToolInvocation, effect: ToolEffect) {
        let (hang, begun) = place.hangs();
        tokio::select! {
            outcome = self.answer(call, effect, LIMIT, hang) => panic!("{outcome:?}"),
            begun = begun => begun.unwrap(),
        }
    }
}

#[tokio::test]
async fn a_call_that_is_offered_again_gets_the_same_result_and_no_second_effect() {
    let place = Place::new().await;
    let (engine, one) = (place.engine().await, call("1", json!({ "a": 1 })));
    let first = engine.answer(&one, ToolEffect::Changes, LIMIT, place.works()).await;
    assert_eq!((first.text(), first.is_success()), ("Effect 1, complete.", true));
    assert_eq!(engine.answer(&one, ToolEffect::Changes, LIMIT, place.works()).await, first);
    let next = place.engine().await;
    assert_eq!(next.answer(&one, ToolEffect::Changes, LIMIT, place.works()).await, first);
    assert_eq!(place.effects(), 1);

    next.change(Change::ToolDelivered(key(&one))).await;
    let late = next.answer(&one, ToolEffect::Changes, LIMIT, place.works()).await;
    assert!(late.is_success() && late.text().contains("was carried out before, once"), "{late:?}");
    assert_eq!(place.effects(), 1);
    let other = next.answer(&call("2", json!({})), ToolEffect::Changes, LIMIT, place.works()).await;
    assert_eq!((other.text(), place.effects()), ("Effect 2, complete.", 2), "another call is another effect");
}

#[tokio::test]
async fn two_offers_at_once_are_one_run() {
    let place = Place::new().await;
    let (engine, one) = (place.engine().await, call("1", json!({})));
    let answers = (0..5).map(|_| engine.answer(&one, ToolEffect::Changes, LIMIT, place.works()));
    let answers = futures_util::future::join_all(answers).await;
    assert!(answers.iter().all(|answer| answer.text() == "Effect 1, complete."), "{answers:?}");
    assert_eq!((place.effects(), place.row(&one).await.runs), (1, 1));
}

#[tokio::test]
async fn what_ran_when_an_engine_died_is_unknown_and_is_not_repeated() {
    let place = Place::new().await;
    let one = call("1", json!({}));
    place.engine().await.die_while_it_runs(&place, &one, ToolEffect::Changes).await;
    for _ in 0..3 {
        let next = place.engine().await;
        let answer = next.answer(&one, ToolEffect::Changes, LIMIT, place.works()).await;
        assert_eq!(answer.verdict(), ToolVerdict::Unknown);
        assert_eq!(
            answer.text(),
            "Outcome unknown: talaria_x was running when Talaria was stopped, and it is not known whether it took effect. \
             Look first."
        );
        // A later version that calls it harmless changes nothing.
        let answer = next.answer(&one, ToolEffect::Reads, LIMIT, place.works()).await;
        assert_eq!(answer.verdict(), ToolVerdict::Unknown);
    }
    let row = place.row(&one).await;
    assert_eq!((place.effects(), row.runs, row.state), (1, 1, ToolCallState::Unknown));
}

#[tokio::test]
async fn what_only_reads_runs_again_after_its_engine_died() {
    let place = Place::new().await;
    let one = call("1", json!({}));
    place.engine().await.die_while_it_runs(&place, &one, ToolEffect::Reads).await;
    let next = place.engine().await;
    let answer = next.answer(&one, ToolEffect::Reads, LIMIT, place.works()).await;
    assert_eq!(answer.text(), "Effect 2, complete.");
    let row = place.row(&one).await;
    assert_eq!((row.runs, row.state), (2, ToolCallState::Done));
}

#[tokio::test]
async fn other_arguments_under_the_same_id_are_refused() {
    let place = Place::new().await;
    let (engine, other) = (place.engine().await, call("1", json!({ "a": 2 })));
    let (hang, begun) = place.hangs();
    let one = call("1", json!({ "a": 1 }));
    let running = engine.answer(&one, ToolEffect::Changes, LIMIT, hang);
    let meanwhile = async {
        begun.await.unwrap();
        engine.answer(&other, ToolEffect::Changes, LIMIT, place.works()).await
    };
    let answer = tokio::select! {
        outcome = running => panic!("{outcome:?}"),
        answer = meanwhile => answer,
    };
    assert!(!answer.is_success() && answer.text().starts_with("talaria_x: refused"), "{answer:?}");
    let next = place.engine().await;
    let answer = next.answer(&other, ToolEffect::Changes, LIMIT, place.works()).await;
    assert!(answer.text().starts_with("talaria_x: refused"), "{answer:?}");
    assert_eq!(place.effects(), 1);
}

#[tokio::test]
async fn a_call_that_hangs_or_breaks_is_unknown_if_it_may_have_changed_something() {
    let place = Place::new().await;
    let engine = place.engine().await;
    for (effect, verdict) in
        [(ToolEffect::Changes, ToolVerdict::Unknown), (ToolEffect::Reads, ToolVerdict::Failed)]
    {
        let slow = call(&format!("slow {effect:?}"), json!({}));
        let (hang, _begun) = place.hangs();
        let answer = engine.answer(&slow, effect, Duration::from_millis(1), hang).await;
        assert_eq!(answer.verdict(), verdict, "{answer:?}");
        assert!(answer.text().contains("returned no result within 0 s"), "{answer:?}");
        let broken = call(&format!("broken {effect:?}"), json!({}));
        let breaks = || async { panic!("broken at work") };
        let answer = engine.answer(&broken, effect, LIMIT, breaks).await;
        assert_eq!(answer.verdict(), verdict, "{answer:?}");
        let states = [place.row(&slow).await.state, place.row(&broken).await.state];
        let is_told =
            |state: &ToolCallState| (*state == ToolCallState::Failed) == (verdict == ToolVerdict::Failed);
        assert!(states.iter().all(is_told), "{states:?}");
    }
}

#[tokio::test]
async fn a_call_runs_to_its_end_though_nothing_waits_for_it() {
    let place = Place::new().await;
    let (engine, one) = (place.engine().await, call("1", json!({})));
    let (release, released) = oneshot::channel::<()>();
    let (begun, is_begun) = oneshot::channel();
    let work = once(move || {
        async move {
            let _ = begun.send(());
            let _ = released.await;
            Ok("complete".to_owned())
        }
        .boxed()
    });
    tokio::select! {
        outcome = engine.answer(&one, ToolEffect::Changes, LIMIT, work) => panic!("{outcome:?}"),
        begun = is_begun => begun.unwrap(),
    }
    engine.change(Change::ToolsClosed(1)).await;
    release.send(()).unwrap();
    engine.ended.send_replace(true);
    engine.tasks.close();
    engine.tasks.wait().await;
    let row = place.row(&one).await;
    assert_eq!((row.state, row.result_sealed), (ToolCallState::Done, None), "its turn was over");
}

#[tokio::test]
async fn an_engine_that_ends_leaves_a_call_that_reads_to_the_next_one() {
    let place = Place::new().await;
    let (engine, one) = (place.engine().await, call("1", json!({})));
    let (hang, begun) = place.hangs();
    let ending = async {
        begun.await.unwrap();
        engine.ended.send_replace(true);
        engine.tasks.close();
        engine.tasks.wait().await;
    };
    tokio::select! {
        outcome = engine.answer(&one, ToolEffect::Reads, LIMIT, hang) => panic!("{outcome:?}"),
        () = ending => {}
    }
    assert_eq!(place.row(&one).await.state, ToolCallState::Running);
    let next = place.engine().await;
    assert!(next.answer(&one, ToolEffect::Reads, LIMIT, place.works()).await.is_success());
}

#[tokio::test]
async fn nothing_of_arguments_and_result_is_kept_in_clear() {
    let place = Place::new().await;
    let (engine, one) = (place.engine().await, call("1", json!({ "text": "pelican" })));
    let work = || async { Ok("The pelican, complete.".to_owned()) };
    engine.answer(&one, ToolEffect::Changes, LIMIT, work).await;
    let row = place.row(&one).await;
    assert!(!format!("{row:?}").contains("pelican"), "{row:?}");
    let sealed = row.result_sealed.unwrap();
    assert!(!sealed.windows(7).any(|part| part == b"pelican"));
    assert!(engine.shelf.seal.reveal(&sealed).unwrap().contains("pelican"));
}

#[tokio::test]
async fn a_call_without_a_row_does_not_run() {
    let place = Place::new().await;
    let (engine, one) = (place.engine().await, call("1", json!({})));
    let ground = LedgerGround { shelf: &engine.shelf, tasks: &engine.tasks, ended: engine.ended.subscribe() };
    let session = place.session.clone();
    let asked = LedgerCall { session, call: one, effect: ToolEffect::Changes, limit: LIMIT, check: "" };
    let answer = engine.ledger.answer(ground, asked, permit, place.works()).await;
    assert!(!answer.is_success() && answer.text().contains("so it was not run"), "{answer:?}");
    assert_eq!(place.effects(), 0);
}

/// What the hook decided, as the audit log has it.
fn decided(decision: &str) -> Option<Box<NewAudit>> {
    Some(Box::new(NewAudit {
        at: 1,
        action: "decide".to_owned(),
        outcome: talaria_store::AuditOutcome::Done,
        principal: "hook".to_owned(),
        established: "decided by your hook".to_owned(),
        pid: None,
        terminal: None,
        program: None,
        session: Some("session".to_owned()),
        request: None,
        digest: None,
        decision: Some(decision.to_owned()),
        reason: None,
    }))
}

#[tokio::test]
async fn a_call_that_is_declined_never_runs_and_stays_declined() {
    let place = Place::new().await;
    let (engine, one) = (place.engine().await, call("1", json!({})));
    let no =
        || async { CallPermit::Refuse { why: "not on Fridays".to_owned(), decided: decided("decline") } };
    let answer = engine.answer_judged(&one, ToolEffect::Changes, LIMIT, no, place.works()).await;
    assert_eq!((answer.text(), answer.is_success()), ("talaria_x: not on Fridays", false));
    let row = place.row(&one).await;
    assert_eq!((row.state, row.runs), (ToolCallState::Failed, 0));
    // The next engine does not ask again: the decision is on record.
    let next = place.engine().await;
    let again = next.answer(&one, ToolEffect::Changes, LIMIT, place.works()).await;
    assert_eq!((again, place.effects()), (answer, 0));
    let audit = place.store.audit(None, 10).await.unwrap();
    assert!(audit.iter().any(|row| row.entry.decision.as_deref() == Some("decline")), "{audit:?}");
}

#[tokio::test]
async fn a_call_that_was_being_judged_when_its_engine_ended_is_judged_by_the_next() {
    let place = Place::new().await;
    let (engine, one) = (place.engine().await, call("1", json!({})));
    let (begun, is_begun) = oneshot::channel();
    let slow = || async move {
        let _ = begun.send(());
        std::future::pending().await
    };
    let ending = async {
        is_begun.await.unwrap();
        engine.ended.send_replace(true);
        engine.tasks.close();
        engine.tasks.wait().await;
    };
    tokio::select! {
        outcome = engine.answer_judged(&one, ToolEffect::Changes, LIMIT, slow, place.works()) => panic!("{outcome:?}"),
        () = ending => {}
    }
    assert_eq!(place.row(&one).await.state, ToolCallState::Offered, "nothing began");
    let yes = || async { CallPermit::Run { decided: decided("accept") } };
    let next = place.engine().await;
    let answer = next.answer_judged(&one, ToolEffect::Changes, LIMIT, yes, place.works()).await;
    assert_eq!((answer.text(), place.effects()), ("Effect 1, complete.", 1));
}

#[tokio::test]
async fn a_tool_that_could_store_nothing_is_run_again_until_it_can() {
    let place = Place::new().await;
    let (engine, one) = (place.engine().await, call("1", json!({})));
    let failures = Arc::new(AtomicUsize::new(0));
    let (effects, troubles) = (Arc::clone(&place.effects), engine.shelf.troubles.clone());
    let work = move || {
        let (failures, effects) = (Arc::clone(&failures), Arc::clone(&effects));
        let troubles = troubles.clone();
        async move {
            if failures.fetch_add(1, Ordering::SeqCst) < 3 {
                return Err(ToolFailure::of_store("nothing was done".to_owned(), &StoreError::Full));
            }
            assert_eq!(troubles.notes().len(), 1, "a person can see what it waits for");
            effects.fetch_add(1, Ordering::SeqCst);
            Ok("stored, complete".to_owned())
        }
    };
    let answer = engine.answer(&one, ToolEffect::Changes, LIMIT, work).await;
    assert!(answer.is_success(), "{answer:?}");
    let row = place.row(&one).await;
    assert_eq!((place.effects(), row.runs, row.state), (1, 1, ToolCallState::Done));
    assert!(engine.shelf.troubles.notes().is_empty());
    // What cannot pass is an answer.
    let two = call("2", json!({}));
    let lost = || async { Err(ToolFailure::of_store("nothing was done".to_owned(), &StoreError::Closed)) };
    let answer = engine.answer(&two, ToolEffect::Changes, LIMIT, lost).await;
    assert_eq!(answer.text(), "talaria_x: nothing was done");
}
