//! Turns against a provider that fails in every way, over the real transport: every turn ends as the server knows that it ended,
//! retries stay within their budget, nothing is sent or run twice that must not be, and what is booked is what the server says.
//!
//! The server chooses a fault for each request from a seed (`TALARIA_CHAOS_SEED`). An ordinary run plays a part;
//! `TALARIA_CAMPAIGN=1` plays 1,000 turns in each family.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use talaria_agent::attempt::{AttemptEnd, WireNews};
use talaria_agent::encode::{LoopToolSpec, RequestHead, RequestOmissions};
use talaria_agent::family::ModelFamily;
use talaria_agent::history::{CallDisposition, LogEntry, LogItem, LogPart, ModelIssuer};
use talaria_agent::key_pool::{KeyChoice, KeyLedger, PooledKey};
use talaria_agent::loop_turn::{
    EndedAttempt, LeftTurn, LoopInput, LoopMoment, LoopOutput, LoopSetup, LoopTurn, ModelRoute,
};
use talaria_agent::profile::{KeyRules, ProviderProfile};
use talaria_agent::rendered::RenderedRequest;
use talaria_agent::spending::TokenSource;
use talaria_agent::transport::{
    ApiKey, KeyHeader, ModelEndpoint, ModelTransport, ProxySettings, TransportLimits,
};
use talaria_core::event::Event;
use talaria_core::ids::TurnId;
use talaria_core::outcome::{Outcome, Report};
use talaria_core::tool::ToolEffect;
use talaria_scripted::{ModelRequest, ModelUsage, Reply, ScriptedModel};
use talaria_web::Roots;

const FAMILIES: [ModelFamily; 3] = [ModelFamily::Responses, ModelFamily::Chat, ModelFamily::Messages];
/// The keys of the provider.
const KEYS: usize = 3;
/// Turns of one conversation, so that requests stay small.
const TURNS: u64 = 40;
/// After how many seconds a key that was not accepted may be tried again.
const REST: i64 = 300;
/// No turn may send more: rounds of calls, each with the retries, keys and repairs of the whole turn, and a second model.
const MOST_REQUESTS: usize = 60;

/// What the server does with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Deed {
    Answer,
    Call,
    RateLimit,
    Overloaded,
    ServerError,
    ProxyPage,
    FailedInStream,
    CutBeforeText,
    CutInText,
    DroppedInText,
    Stall,
    StallInText,
    Forbidden,
    FilteredOut,
    DeadKey,
    NoCredit,
}

impl Deed {
    const FAULTS: [Self; 12] = [
        Self::RateLimit,
        Self::Overloaded,
        Self::ServerError,
        Self::ProxyPage,
        Self::FailedInStream,
        Self::CutBeforeText,
        Self::CutInText,
        Self::DroppedInText,
        Self::Stall,
        Self::StallInText,
        Self::Forbidden,
        Self::FilteredOut,
    ];

    fn is_answer(self) -> bool {
        matches!(self, Self::Answer | Self::Call)
    }

    /// Is it about the key, and not about the request?
    fn is_of_key(self) -> bool {
        matches!(self, Self::DeadKey | Self::NoCredit)
    }

    /// May the same request follow with the same key and model?
    fn may_be_repeated(self) -> bool {
        !matches!(self, Self::Forbidden | Self::FilteredOut | Self::DeadKey | Self::NoCredit)
    }
}

/// A request as the server had it.
#[derive(Clone, Debug)]
struct Served {
    deed: Deed,
    body: String,
    key: String,
    model: Value,
    text: String,
    usage: u64,
    at: i64,
}

#[derive(Debug, Default)]
struct ServerBook {
    served: Vec<Served>,
    turn: u64,
    now: i64,
}

type Book = Arc<Mutex<ServerBook>>;

fn locked(book: &Book) -> std::sync::MutexGuard<'_, ServerBook> {
    book.lock().unwrap_or_else(PoisonError::into_inner)
}

/// SplitMix64: the same seed plays the same faults.
fn chance(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Keys fail for whole stretches of turns, one or two at a time, sometimes all.
fn trouble_of_key(turn: u64, key: u64) -> Option<Deed> {
    match (turn / 12 + key) % 7 {
        0 => Some(Deed::DeadKey),
        1 if turn % 36 > 20 => Some(Deed::NoCredit),
        _ => None,
    }
}

async fn server(seed: u64, book: &Book) -> ScriptedModel {
    let model = ScriptedModel::start().await.unwrap();
    let book = Arc::clone(book);
    model.route(move |request| {
        let mut book = locked(&book);
        let number = book.served.len() as u64;
        let key = key_of(request);
        let drawn = chance(seed ^ number.wrapping_mul(0x1_0001));
        let deed = trouble_of_key(book.turn, key.trim_start_matches("key-").parse().unwrap()).unwrap_or({
            match drawn % 100 {
                0..45 => Deed::Answer,
                45..57 => Deed::Call,
                _ => Deed::FAULTS[usize::try_from(drawn / 100 % Deed::FAULTS.len() as u64).unwrap()],
            }
        });
        let text = format!("ANSWER-{number} of the heron.");
        let usage = ModelUsage { input: 100 + number % 50, cached: 0, output: 7 + number % 5, reasoning: 0 };
        let at = book.now;
        book.served.push(Served {
            deed,
            at,
            body: request.text.clone(),
            key,
            model: request.body["model"].clone(),
            text: text.clone(),
            usage: if deed.is_answer() { usage.input + usage.output } else { 0 },
        });
        Some(match deed {
            Deed::Answer => Reply::say(text).usage(usage),
            Deed::Call => Reply::say(text).function("read", json!({ "number": number })).usage(usage),
            Deed::RateLimit => {
                Reply::refuse(429, "rate_limit_exceeded", "Too many requests").header("retry-after", "1")
            }
            Deed::Overloaded => Reply::refuse(529, "overloaded_error", "Overloaded"),
            Deed::ServerError => {
                Reply::refuse(500 + u16::from(number.is_multiple_of(2)) * 3, "server_error", "Sorry")
            }
            Deed::ProxyPage => Reply::html(502, "<html><body>Bad gateway</body></html>"),
            Deed::FailedInStream => Reply::say(text).fail("server_error", "The server had an error"),
            Deed::CutBeforeText => Reply::new().end_stream(),
            Deed::CutInText => Reply::say(text).end_stream(),
            Deed::DroppedInText => Reply::say(text).drop_stream(),
            Deed::Stall => Reply::new().stall(),
            Deed::StallInText => Reply::say(text).stall(),
            Deed::Forbidden => Reply::refuse(403, "model_not_available", "Not in your plan"),
            Deed::FilteredOut => Reply::refuse(400, "content_policy_violation", "Not this"),
            Deed::DeadKey => Reply::refuse(401, "invalid_api_key", "Incorrect API key provided"),
            Deed::NoCredit => Reply::refuse(402, "insufficient_quota", "You exceeded your current quota"),
        })
    });
    model
}

fn key_of(request: &ModelRequest) -> String {
    let value = request.header("authorization").or_else(|| request.header("x-api-key")).unwrap_or_default();
    value.trim_start_matches("Bearer ").to_owned()
}

/// What a turn did, as its shell saw it.
#[derive(Debug, Default)]
struct Seen {
    planned: usize,
    started: Vec<u64>,
    shown: BTreeMap<u64, usize>,
    voided: BTreeSet<u64>,
    ended: Vec<EndedAttempt>,
}

/// The shell of turns: keys, clock, log.
struct Shell {
    transport: ModelTransport,
    profile: ProviderProfile,
    keys: Vec<PooledKey>,
    ledger: KeyLedger,
    kept: Option<PooledKey>,
    book: Book,
    log: Vec<LogEntry>,
    now: Duration,
    turn: u64,
    booked: u64,
    requests: usize,
    waited: Duration,
    outcomes: BTreeMap<String, usize>,
}

impl Shell {
    fn new(model: &ScriptedModel, family: ModelFamily, book: Book) -> Self {
        let profile = ProviderProfile::custom("house", family, &model.base_url());
        let key = |place| PooledKey {
            provider: "house".to_owned(),
            source: format!("KEY_{place}"),
            key: ApiKey::parse(&format!("key-{place}")).unwrap(),
        };
        Self {
            transport: ModelTransport::new(Roots::Only(Vec::new())),
            profile,
            keys: (0..KEYS).map(key).collect(),
            ledger: KeyLedger::default(),
            kept: None,
            book,
            log: Vec::new(),
            now: Duration::ZERO,
            turn: 0,
            booked: 0,
            requests: 0,
            waited: Duration::ZERO,
            outcomes: BTreeMap::new(),
        }
    }

    fn moment(&self) -> LoopMoment {
        let unix = 1_000_000 + i64::try_from(self.now.as_secs()).unwrap();
        LoopMoment { now: self.now, unix, chance: 0.5 }
    }

    fn setup(&self) -> LoopSetup {
        let tool = LoopToolSpec {
            name: "read".to_owned(),
            description: "Reads.".to_owned(),
            schema: json!({ "type": "object" }),
            effect: ToolEffect::Reads,
        };
        let issuer = ModelIssuer {
            provider: "house".to_owned(),
            base_url: self.profile.base_url.clone(),
            account: None,
        };
        let spare = ModelRoute {
            profile: self.profile.clone(),
            issuer: issuer.clone(),
            model: "spare".to_owned(),
            omissions: RequestOmissions::default(),
            rests_until: None,
        };
        LoopSetup {
            turn: TurnId::new(format!("t-{}", self.turn)),
            profile: self.profile.clone(),
            issuer,
            head: RequestHead::new("tiny", vec!["Be brief.".to_owned()], vec![tool], "key"),
            omissions: RequestOmissions::default(),
            rounds: 50,
            rests_until: None,
            fallbacks: if self.turn % 2 == 1 { vec![spare] } else { Vec::new() },
            asks_on_refusal: self.turn % 4 == 1,
            compaction: None,
            bounds_output: false,
        }
    }

    /// Plays one turn and compares it with what the server knows.
    async fn play(&mut self) {
        self.turn += 1;
        if self.turn % TURNS == 1 {
            self.log.clear();
        }
        locked(&self.book).turn = self.turn;
        let from = locked(&self.book).served.len();
        self.kept = None;
        self.now += Duration::from_secs(20);
        let seq = self.log.last().map_or(0, |entry| entry.seq + 1);
        let parts = vec![LogPart::text(format!("TURN-{}", self.turn))];
        self.log.push(LogEntry::own(seq, LogItem::User { parts }));
        let (seen, report) = self.run().await;
        let served = locked(&self.book).served[from..].to_vec();
        self.compare(&seen, &report, &served);
    }

    async fn run(&mut self) -> (Seen, Report) {
        let mut machine = LoopTurn::new(self.setup(), self.log.clone(), LeftTurn::default());
        let (mut seen, mut attempt) = (Seen::default(), 0);
        machine.begin(self.moment());
        loop {
            let Some(output) = machine.poll() else {
                let wake = machine.wake_at().unwrap();
                self.waited += wake.saturating_sub(self.now);
                self.now = wake;
                machine.handle(self.moment(), LoopInput::Tick);
                continue;
            };
            match output {
                LoopOutput::Plan(plan) => {
                    seen.planned += 1;
                    attempt = plan.number;
                }
                LoopOutput::Send(request) => self.exchange(&mut machine, attempt, *request).await,
                LoopOutput::End(ended) => {
                    self.log.extend(ended.entries.clone());
                    self.judge_key(&ended);
                    seen.ended.push(*ended);
                }
                LoopOutput::Append(entries) => self.log.extend(entries),
                LoopOutput::Emit(Event::TextDelta { delta, .. }) => {
                    *seen.shown.entry(attempt).or_default() += delta.chars().count();
                }
                LoopOutput::Void { attempt, shown_chars, .. } => {
                    assert_eq!(seen.shown.get(&attempt).copied().unwrap_or(0) as u64, shown_chars);
                    seen.voided.insert(attempt);
                }
                LoopOutput::Start(calls) => {
                    for call in calls {
                        seen.started.push(call.seq);
                        let parts = vec![LogPart::text(format!("read for {}", call.seq))];
                        let disposition = CallDisposition::Done;
                        let ended = LoopInput::CallEnded { seq: call.seq, disposition, parts };
                        machine.handle(self.moment(), ended);
                    }
                }
                LoopOutput::Doubt { text, .. } => panic!("no turn repeats itself: {text}"),
                LoopOutput::Finish(report) => return (seen, *report),
                _ => {}
            }
        }
    }

    /// What the end of an attempt says about its key.
    fn judge_key(&mut self, ended: &EndedAttempt) {
        let Some(key) = &self.kept else { return };
        match &ended.end {
            AttemptEnd::Failed(failure) => self.ledger.failed(key, failure, self.moment().unix),
            AttemptEnd::Completed(_) => self.ledger.worked(key, ended.tokens.usage().total),
            _ => {}
        }
    }

    async fn exchange(&mut self, machine: &mut LoopTurn, attempt: u64, request: RenderedRequest) {
        let moment = self.moment();
        let KeyChoice::Use { place, spare } =
            self.ledger.take(&self.keys, KeyRules::default(), self.kept.as_ref(), moment.unix)
        else {
            panic!("a request without a key");
        };
        let key = self.keys[place].clone();
        self.kept = Some(key.clone());
        locked(&self.book).now = moment.unix;
        machine.handle(moment, LoopInput::SpareKeys(spare));
        let news = |machine: &mut LoopTurn, news: &WireNews| {
            machine.handle(moment, LoopInput::Wire { attempt, news });
        };
        news(machine, &WireNews::Connecting);
        let proxies = ProxySettings::none();
        let header = match self.profile.family {
            ModelFamily::Messages => KeyHeader::XApiKey,
            ModelFamily::Responses | ModelFamily::Chat => KeyHeader::Bearer,
        };
        let endpoint = ModelEndpoint {
            base_url: &self.profile.base_url,
            key: Some((&key.key, header)),
            proxies: &proxies,
            limits: TransportLimits::from(self.profile.limits),
        };
        let response = self.transport.send(&request, endpoint, &mut || {}).await;
        news(machine, &WireNews::Sent);
        let deed = locked(&self.book).served.last().unwrap().deed;
        match response {
            Err(error) => news(machine, &WireNews::Broken(error.to_failure())),
            Ok(mut response) => {
                let headers = std::mem::take(&mut response.headers);
                news(machine, &WireNews::Accepted { status: response.status, headers });
                let mut shown = String::new();
                while machine.attempt() == Some(attempt) {
                    // A server that says nothing more is waited for by the clock of the machine.
                    let is_silent =
                        deed == Deed::Stall || (deed == Deed::StallInText && shown.contains("of the heron"));
                    if is_silent {
                        self.now = machine.wake_at().unwrap();
                        machine.handle(self.moment(), LoopInput::Tick);
                        continue;
                    }
                    match response.body.next().await {
                        Ok(Some(bytes)) => {
                            shown.push_str(&String::from_utf8_lossy(&bytes));
                            news(machine, &WireNews::Bytes(bytes.to_vec()));
                        }
                        Ok(None) => news(machine, &WireNews::Eof),
                        Err(error) => news(machine, &WireNews::Broken(error.to_failure())),
                    }
                }
            }
        }
        self.ledger.release(&key);
    }

    /// The turn as the machine reports it is the turn as the server knows it.
    fn compare(&mut self, seen: &Seen, report: &Report, served: &[Served]) {
        let turn = self.turn;
        let facts = || {
            let deeds: Vec<Deed> = served.iter().map(|one| one.deed).collect();
            format!(
                "turn {turn}: {report:?}\n{deeds:?}\n{:?}",
                seen.ended.iter().map(|end| &end.end).collect::<Vec<_>>()
            )
        };
        assert_eq!((seen.planned, seen.ended.len()), (served.len(), served.len()), "{}", facts());
        assert!(served.len() <= MOST_REQUESTS, "{}", facts());
        // A turn is completed if, and only if, the last word of the server was a whole answer; then that is its text.
        let last = served.last().unwrap();
        assert_eq!(report.outcome == Outcome::Completed, last.deed == Deed::Answer, "{}", facts());
        if last.deed == Deed::Answer {
            assert_eq!(report.text.as_deref(), Some(last.text.as_str()), "{}", facts());
        } else {
            assert!(report.code.is_some() && report.message.is_some(), "{}", facts());
        }
        for (at, (ended, one)) in seen.ended.iter().zip(served).enumerate() {
            let is_completed = matches!(ended.end, AttemptEnd::Completed(_));
            assert_eq!(is_completed, one.deed.is_answer(), "attempt {at}; {}", facts());
            let usage = ended.tokens.usage().total;
            if is_completed {
                assert_eq!((usage, ended.tokens.source), (one.usage, TokenSource::Provider), "{}", facts());
                self.booked += usage;
            } else {
                assert!(ended.entries.is_empty(), "a failed attempt adds nothing; {}", facts());
            }
            // Whatever people saw of an attempt that does not count is struck out, and nothing else is.
            let has_shown = seen.shown.get(&ended.number).is_some_and(|shown| *shown > 0);
            let is_void = seen.voided.contains(&ended.number);
            assert_eq!(is_void, has_shown && !is_completed, "attempt {at}; {}", facts());
        }
        let reported: u64 = seen.ended.iter().map(|ended| ended.tokens.usage().total).sum();
        assert_eq!(report.usage.total, reported, "{}", facts());
        // Each call of a whole answer ran once, and no other call ran.
        let calls = served.iter().filter(|one| one.deed == Deed::Call).count();
        let distinct: BTreeSet<u64> = seen.started.iter().copied().collect();
        assert_eq!((seen.started.len(), distinct.len()), (calls, calls), "{}", facts());
        // The same request is never sent again after a refusal; a key that failed only after its rest.
        for (at, one) in served.iter().enumerate().filter(|(_, one)| !one.deed.may_be_repeated()) {
            let same = |later: &&Served| {
                let has_rested = one.deed.is_of_key() && later.at - one.at >= REST;
                !has_rested && later.body == one.body && later.model == one.model && later.key == one.key
            };
            assert!(!served[at + 1..].iter().any(|later| same(&later)), "{at} was repeated; {}", facts());
        }
        let word = match &report.outcome {
            Outcome::Completed => "completed".to_owned(),
            _ => report.code.map(|code| format!("{code:?}")).unwrap_or_default(),
        };
        *self.outcomes.entry(word).or_default() += 1;
        self.requests += served.len();
    }
}

#[tokio::test]
async fn every_turn_ends_as_the_server_knows_it_whatever_fails() {
    let turns = if std::env::var_os("TALARIA_CAMPAIGN").is_some() { 1_000 } else { 120 };
    let seed = std::env::var("TALARIA_CHAOS_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(19);
    for family in FAMILIES {
        let (book, began) = (Book::default(), Instant::now());
        let model = server(seed, &book).await;
        let mut shell = Shell::new(&model, family, Arc::clone(&book));
        for _ in 0..turns {
            shell.play().await;
        }
        let served = locked(&book).served.clone();
        let answered: u64 = served.iter().map(|one| one.usage).sum();
        assert_eq!((shell.requests, shell.booked), (served.len(), answered), "{family:?}");
        assert_eq!(model.requests().len(), served.len(), "{family:?}");
        let mut deeds: BTreeMap<Deed, usize> = BTreeMap::new();
        for one in &served {
            *deeds.entry(one.deed).or_default() += 1;
        }
        assert_eq!(deeds.len(), Deed::FAULTS.len() + 4, "{family:?}: every fault was played: {deeds:?}");
        println!(
            "{family:?}: {turns} turns, {} requests, {answered} tokens of whole answers, outcomes {:?}, {:.0} s of pauses; \
             {:.1} s\n  {deeds:?}",
            served.len(),
            shell.outcomes,
            shell.waited.as_secs_f64(),
            began.elapsed().as_secs_f64()
        );
    }
}
