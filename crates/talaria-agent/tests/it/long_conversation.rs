//! Conversations of hundreds of turns in a small context, over the real transport with a scripted model that counts: what was
//! promised is in every later request, calls and results stay together, and requests only grow between compactions.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use talaria_agent::attempt::WireNews;
use talaria_agent::compaction::{CompactionSettings, CompactionSetup, MeasuredPrompt, Summariser};
use talaria_agent::encode::{LoopToolSpec, RequestHead, RequestOmissions};
use talaria_agent::family::ModelFamily;
use talaria_agent::history::{CallDisposition, LogEntry, LogItem, LogPart, ModelIssuer};
use talaria_agent::loop_turn::{
    AttemptPurpose, LeftTurn, LoopInput, LoopMoment, LoopOutput, LoopSetup, LoopTurn,
};
use talaria_agent::profile::{ModelFacts, ProviderProfile};
use talaria_agent::rendered::RenderedRequest;
use talaria_agent::spending::TokenSource;
use talaria_agent::transport::{ModelEndpoint, ModelTransport, ProxySettings, TransportLimits};
use talaria_core::event::Event;
use talaria_core::ids::TurnId;
use talaria_core::item::{Compaction, ItemBody};
use talaria_core::outcome::{FailureCode, Outcome, Report};
use talaria_core::tool::ToolEffect;
use talaria_scripted::{Gate, ModelRequest, ModelUsage, Reply, ScriptedModel};
use talaria_web::Roots;

const WINDOW: u64 = 64_000;
const FAMILIES: [ModelFamily; 3] = [ModelFamily::Responses, ModelFamily::Chat, ModelFamily::Messages];

/// How the model that summarises behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Summaries {
    /// It repeats every fact that it reads.
    Faithful,
    Fail,
    Stall,
    Nonsense,
    /// Longer than what it replaces.
    TooLong,
    /// Refuses everything as too long for it.
    TooShort,
}

/// Four bytes are a token for this server.
fn tokens(text: &str) -> u64 {
    (text.len() as u64).div_ceil(4)
}

fn facts(text: &str) -> Vec<String> {
    let words = text.match_indices("FACT-").map(|(at, word)| {
        let rest = &text[at + word.len()..];
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        format!("{word}{}", &rest[..end])
    });
    let mut found: Vec<String> = words.collect();
    found.sort();
    found.dedup();
    found
}

fn is_summary(request: &ModelRequest) -> bool {
    request.text.contains("<conversation>")
}

/// A model that plants a fact in each answer, calls a tool in every third turn, and refuses what exceeds its context.
async fn model(window: u64, summaries: Summaries, gate: &Gate) -> ScriptedModel {
    let model = ScriptedModel::start().await.unwrap();
    let gate = gate.clone();
    model.route(move |request| {
        let input = tokens(&request.text);
        let used = |output| ModelUsage { input, cached: 0, output, reasoning: 0 };
        let too_long = || {
            Reply::refuse(400, "context_length_exceeded", "This model's maximum context length is exceeded.")
        };
        if input > window {
            return Some(too_long());
        }
        if is_summary(request) {
            return Some(match summaries {
                Summaries::Faithful => {
                    let known = facts(&request.text).join(" ");
                    let text = format!("<summary>\n## Goal\nKeep every fact.\n## State\n{known}\n</summary>");
                    Reply::say(&text).usage(used(tokens(&text)))
                }
                Summaries::Fail => Reply::status(500),
                Summaries::Stall => Reply::new().gate(&gate),
                Summaries::Nonsense => Reply::say("Quack.").usage(used(2)),
                Summaries::TooLong => {
                    Reply::say(format!("<summary>{}</summary>", "duck ".repeat(60_000))).usage(used(75_000))
                }
                Summaries::TooShort => too_long(),
            });
        }
        let prompt =
            request.user_texts().into_iter().rfind(|text| text.starts_with("TURN-")).unwrap_or_default();
        let turn: u64 = prompt[5..].split(' ').next().and_then(|number| number.parse().ok()).unwrap_or(0);
        if turn.is_multiple_of(3) && !request.is_after_tool() {
            return Some(Reply::say("Looking.").function("read", json!({ "turn": turn })).usage(used(20)));
        }
        let said = format!("FACT-a{turn} is noted. {}", "The heron stands still. ".repeat(30));
        Some(Reply::say(&said).usage(used(tokens(&said))))
    });
    model
}

/// One conversation; every turn is begun as a new engine would begin it.
struct Talk {
    transport: ModelTransport,
    profile: ProviderProfile,
    settings: CompactionSettings,
    summarisers: Vec<Summariser>,
    log: Vec<LogEntry>,
    measured: Option<MeasuredPrompt>,
    /// Where a summary that never comes waits.
    stalls_at: Option<Gate>,
    turn: u64,
    now: Duration,
    /// The body of the last request for an answer.
    last: Option<String>,
    compactions: Vec<Compaction>,
    warnings: Vec<String>,
    /// Tokens of all attempts, as the rows have them, and as the turns report them.
    booked: u64,
    reported: u64,
}

impl Talk {
    fn new(model: &ScriptedModel, family: ModelFamily, window: u64) -> Self {
        let mut profile = ProviderProfile::custom("house", family, &model.base_url());
        let facts = ModelFacts { window: Some(window), ..ModelFacts::default() };
        profile.models.push(("tiny".to_owned(), facts));
        Self {
            transport: ModelTransport::new(Roots::Only(Vec::new())),
            profile,
            settings: CompactionSettings::default(),
            summarisers: Vec::new(),
            log: Vec::new(),
            measured: None,
            stalls_at: None,
            turn: 0,
            now: Duration::ZERO,
            last: None,
            compactions: Vec::new(),
            warnings: Vec::new(),
            booked: 0,
            reported: 0,
        }
    }

    fn issuer(&self) -> ModelIssuer {
        ModelIssuer { provider: "house".to_owned(), base_url: self.profile.base_url.clone(), account: None }
    }

    fn setup(&self, request: u64) -> LoopSetup {
        let tool = LoopToolSpec {
            name: "read".to_owned(),
            description: "Reads.".to_owned(),
            schema: json!({ "type": "object" }),
            effect: ToolEffect::Reads,
        };
        LoopSetup {
            turn: TurnId::new(format!("t-{}", self.turn)),
            profile: self.profile.clone(),
            issuer: self.issuer(),
            head: RequestHead::new("tiny", vec!["SYSTEM-HEAD".to_owned()], vec![tool], "key"),
            omissions: RequestOmissions::default(),
            rounds: 50,
            rests_until: None,
            fallbacks: Vec::new(),
            asks_on_refusal: false,
            bounds_output: false,
            compaction: Some(CompactionSetup {
                settings: self.settings.clone(),
                summarisers: self.summarisers.clone(),
                request: Some(request),
                measured: self.measured,
            }),
        }
    }

    /// Says something and follows the turn to its end.
    async fn say(&mut self) -> Report {
        self.turn += 1;
        let prompt =
            format!("TURN-{0} My own FACT-u{0} counts. {1}", self.turn, "Please note it. ".repeat(6));
        let seq = self.log.last().map_or(0, |entry| entry.seq + 1);
        self.log.push(LogEntry::own(seq, LogItem::User { parts: vec![LogPart::text(&prompt)] }));
        let mut machine = LoopTurn::new(self.setup(seq), self.log.clone(), LeftTurn::default());
        machine.begin(self.moment());
        let (mut purpose, mut planned) = (AttemptPurpose::Answer, 0);
        loop {
            let Some(output) = machine.poll() else {
                self.now = machine.wake_at().unwrap();
                machine.handle(self.moment(), LoopInput::Tick);
                continue;
            };
            match output {
                LoopOutput::Plan(plan) => (purpose, planned) = (plan.purpose, plan.number),
                LoopOutput::Send(request) => {
                    if purpose == AttemptPurpose::Answer {
                        self.check(&request, &prompt);
                    }
                    self.exchange(&mut machine, (planned, purpose), *request).await;
                }
                LoopOutput::End(ended) => {
                    self.booked += ended.tokens.usage().total;
                    let adds = ended.entries.first().map(|entry| entry.seq);
                    if let (AttemptPurpose::Answer, Some(from), Some(tokens), TokenSource::Provider) =
                        (purpose, adds, ended.tokens.input, ended.tokens.source)
                    {
                        self.measured = Some(MeasuredPrompt { tokens, from });
                    } else if adds.is_some() {
                        (self.measured, self.last) = (None, None);
                    }
                    self.log.extend(ended.entries);
                }
                LoopOutput::Append(entries) => self.log.extend(entries),
                LoopOutput::Start(calls) => {
                    for call in calls {
                        let text = format!("{} {}", facts(&prompt).join(" "), "wet feathers ".repeat(600));
                        let parts = vec![LogPart::text(text)];
                        let disposition = CallDisposition::Done;
                        machine.handle(
                            self.moment(),
                            LoopInput::CallEnded { seq: call.seq, disposition, parts },
                        );
                    }
                }
                LoopOutput::Emit(Event::ItemCompleted { item }) => {
                    if let ItemBody::Compaction(facts) = item.body {
                        self.compactions.push(facts);
                    }
                }
                LoopOutput::Emit(Event::Warning { message }) => self.warnings.push(message),
                LoopOutput::Finish(report) => {
                    self.reported += report.usage.total;
                    return *report;
                }
                _ => {}
            }
        }
    }

    fn moment(&self) -> LoopMoment {
        LoopMoment { now: self.now, unix: 1_000, chance: 0.5 }
    }

    /// Sends a request over the real transport. A server that says nothing more is waited for by the clock of the machine.
    async fn exchange(
        &mut self,
        machine: &mut LoopTurn,
        (attempt, purpose): (u64, AttemptPurpose),
        request: RenderedRequest,
    ) {
        let base_url = match purpose {
            AttemptPurpose::Summary { by: Some(by) } => &self.summarisers[by].profile.base_url,
            AttemptPurpose::Summary { by: None } | AttemptPurpose::Answer => &self.profile.base_url,
        };
        let news = |machine: &mut LoopTurn, moment, news: &WireNews| {
            machine.handle(moment, LoopInput::Wire { attempt, news });
        };
        news(machine, self.moment(), &WireNews::Connecting);
        let proxies = ProxySettings::none();
        let endpoint = ModelEndpoint {
            base_url,
            key: None,
            proxies: &proxies,
            limits: TransportLimits::from(self.profile.limits),
        };
        let response = self.transport.send(&request, endpoint, &mut || {}).await;
        news(machine, self.moment(), &WireNews::Sent);
        let mut response = response.unwrap();
        let headers = std::mem::take(&mut response.headers);
        news(machine, self.moment(), &WireNews::Accepted { status: response.status, headers });
        let is_summary = purpose != AttemptPurpose::Answer;
        if let Some(gate) = self.stalls_at.as_ref().filter(|_| is_summary) {
            // The answer has begun and nothing follows: the limit of the attempt passes.
            gate.reached().await;
            while machine.attempt() == Some(attempt) {
                self.now = machine.wake_at().unwrap();
                machine.handle(self.moment(), LoopInput::Tick);
            }
            return;
        }
        while machine.attempt() == Some(attempt) {
            match response.body.next().await.unwrap() {
                Some(bytes) => news(machine, self.moment(), &WireNews::Bytes(bytes.to_vec())),
                None => news(machine, self.moment(), &WireNews::Eof),
            }
        }
    }

    /// What every request for an answer must have.
    fn check(&mut self, request: &RenderedRequest, prompt: &str) {
        let text = String::from_utf8(request.body.clone()).unwrap();
        let marked = r#","cache_control":{"type":"ephemeral"}"#;
        let plain = text.replace(marked, "");
        if let Some(last) = &self.last {
            assert!(
                plain.starts_with(last.trim_end_matches([']', '}'])),
                "the prefix changed in {}",
                self.turn
            );
        }
        assert!(plain.contains(prompt), "the request of turn {} is not word for word", self.turn);
        assert!(plain.contains("SYSTEM-HEAD"));
        pairs(&serde_json::from_str(&text).unwrap(), self.profile.family);
        self.last = Some(plain);
    }

    /// Every fact that was planted so far is in the last request: those of the model in summaries, the person's own words, too.
    fn remembers(&self) {
        let last = self.last.as_deref().unwrap_or_default();
        let known: std::collections::HashSet<String> = facts(last).into_iter().collect();
        for turn in 1..self.turn {
            assert!(known.contains(&format!("FACT-a{turn}")), "FACT-a{turn} is lost in turn {}", self.turn);
            assert!(known.contains(&format!("FACT-u{turn}")), "FACT-u{turn} is lost in turn {}", self.turn);
        }
    }
}

/// Every call has its result after it, and every result its call before it.
fn pairs(body: &Value, family: ModelFamily) {
    let entries =
        body[if family == ModelFamily::Responses { "input" } else { "messages" }].as_array().unwrap();
    let mut open: Vec<String> = Vec::new();
    let close = |open: &mut Vec<String>, id: &Value| {
        let at = open.iter().position(|call| Some(call.as_str()) == id.as_str());
        open.remove(at.unwrap_or_else(|| panic!("a result without its call: {id}")));
    };
    let id = |value: &Value| value.as_str().unwrap().to_owned();
    for entry in entries {
        match family {
            ModelFamily::Responses if entry["type"] == "function_call" => open.push(id(&entry["call_id"])),
            ModelFamily::Responses if entry["type"] == "function_call_output" => {
                close(&mut open, &entry["call_id"]);
            }
            ModelFamily::Chat => {
                let calls = entry["tool_calls"].as_array().into_iter().flatten();
                open.extend(calls.map(|call| id(&call["id"])));
                if entry["role"] == "tool" {
                    close(&mut open, &entry["tool_call_id"]);
                }
            }
            ModelFamily::Messages => {
                for block in entry["content"].as_array().into_iter().flatten() {
                    match block["type"].as_str() {
                        Some("tool_use") => open.push(id(&block["id"])),
                        Some("tool_result") => close(&mut open, &block["tool_use_id"]),
                        _ => {}
                    }
                }
            }
            ModelFamily::Responses => {}
        }
    }
    assert!(open.is_empty(), "calls without a result: {open:?}");
}

#[tokio::test]
async fn a_conversation_of_hundreds_of_turns_keeps_what_was_promised() {
    let turns = match std::env::var_os("TALARIA_CAMPAIGN") {
        Some(_) => [500; 3],
        None => [120, 500, 120],
    };
    for (family, turns) in FAMILIES.into_iter().zip(turns) {
        let model = model(WINDOW, Summaries::Faithful, &Gate::new()).await;
        let mut talk = Talk::new(&model, family, WINDOW);
        let began = Instant::now();
        for _ in 0..turns {
            let report = talk.say().await;
            assert_eq!(report.outcome, Outcome::Completed, "{family:?}, turn {}: {report:?}", talk.turn);
            talk.remembers();
        }
        let (asked, count) = (model.requests().len(), talk.compactions.len());
        assert!(count >= 2 && talk.warnings.is_empty(), "{family:?}: {count} {:?}", talk.warnings);
        assert_eq!(talk.booked, talk.reported, "{family:?}: turns report what their attempts cost");
        for facts in &talk.compactions {
            assert!(facts.after < facts.before && facts.spent > Some(0) && facts.kept.is_some(), "{facts:?}");
        }
        let spent: u64 = talk.compactions.iter().filter_map(|facts| facts.spent).sum();
        println!(
            "{family:?}: {turns} turns, {asked} requests, {count} compactions; {} tokens, {spent} of them for summaries; {:.1} s",
            talk.booked,
            began.elapsed().as_secs_f64()
        );
    }
}

#[tokio::test]
async fn a_summary_that_does_not_come_changes_nothing_and_another_model_is_asked_where_there_is_one() {
    let cases =
        [Summaries::Fail, Summaries::Stall, Summaries::Nonsense, Summaries::TooLong, Summaries::TooShort];
    for (family, summaries) in FAMILIES.into_iter().cycle().zip(cases) {
        let window = 40_000;
        let gate = Gate::new();
        let bad = model(window, summaries, &gate).await;
        let mut talk = Talk::new(&bad, family, window);
        talk.stalls_at = (summaries == Summaries::Stall).then(|| gate.clone());
        let mut failed = None;
        for _ in 0..200 {
            let report = talk.say().await;
            if report.outcome != Outcome::Completed {
                failed = Some(report);
                break;
            }
            // Nothing is dropped: every word is still in the request.
            talk.remembers();
        }
        // The conversation continues until it is full, and then that is what is said.
        let report = failed.unwrap_or_else(|| panic!("{summaries:?}: it never became full"));
        assert_eq!(report.code, Some(FailureCode::ContextWindow), "{summaries:?}: {report:?}");
        assert!(talk.compactions.is_empty() && !talk.warnings.is_empty(), "{summaries:?}");
        for warning in &talk.warnings {
            assert!(warning.contains("nothing of it was dropped"), "{summaries:?}: {warning}");
        }
        let marks =
            talk.log.iter().filter(|entry| matches!(entry.item, LogItem::NotCompacted { .. })).count();
        assert!((2..=6).contains(&marks), "{summaries:?}: {marks} times until the context was full");

        // With a model that can, the same conversation is shortened and continues.
        let good = model(window, Summaries::Faithful, &gate).await;
        talk.stalls_at = None;
        let mut profile = ProviderProfile::custom("other", ModelFamily::Chat, &good.base_url());
        let facts = ModelFacts { window: Some(window), ..ModelFacts::default() };
        profile.models.push(("small".to_owned(), facts));
        let issuer = ModelIssuer { provider: "other".to_owned(), ..talk.issuer() };
        talk.summarisers = vec![Summariser { profile, issuer, model: "small".to_owned() }];
        talk.last = None;
        let report = talk.say().await;
        assert_eq!(report.outcome, Outcome::Completed, "{summaries:?}: {report:?}");
        assert_eq!((talk.compactions.len(), good.requests().len()), (1, 1), "{summaries:?}");
    }
}
