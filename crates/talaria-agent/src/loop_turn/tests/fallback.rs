//! Another model, another key, and answers that are continued, as the machine decides them.

use super::*;
use crate::loop_turn::ladder::{LeftModel, ModelRoute};

const EMPTY_ACCOUNT: &str =
    r#"{"type":"error","error":{"type":"billing_error","message":"Your credit balance is too low"}}"#;

/// An answer in Chat's protocol.
const OTHER_ANSWER: &str = concat!(
    "data: {\"id\":\"c\",\"model\":\"tiny\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Two.\"},\"finish_reason\":\"stop\"}]}\n\n",
    "data: {\"id\":\"c\",\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n",
);

fn other(provider: &str) -> ModelRoute {
    let profile = builtin_profile(provider).unwrap();
    ModelRoute {
        issuer: ModelIssuer {
            provider: profile.name.clone(),
            base_url: profile.base_url.clone(),
            account: None,
        },
        profile,
        model: "tiny".to_owned(),
        omissions: RequestOmissions::default(),
        rests_until: None,
    }
}

fn chain() -> LoopSetup {
    LoopSetup { fallbacks: vec![other("groq"), other("mistral")], ..setup() }
}

impl Stage {
    fn refuse_until(&mut self, until: i64) {
        let wait = (until - 1_000).to_string();
        self.wire(WireNews::Connecting);
        self.wire(WireNews::Sent);
        let headers = vec![("retry-after".to_owned(), wait)];
        self.wire(WireNews::Accepted { status: 402, headers });
        self.wire(WireNews::Bytes(EMPTY_ACCOUNT.as_bytes().to_vec()));
        self.wire(WireNews::Eof);
    }

    fn changes(&self) -> Vec<&str> {
        self.lines.iter().filter_map(|line| line.strip_prefix("change ")).collect()
    }
}

#[test]
fn the_next_model_of_the_chain_answers_when_one_fails() {
    let mut stage = Stage::with(chain(), question());
    stage.refuse(402, EMPTY_ACCOUNT);
    stage.refuse(403, r#"{"error":{"message":"no access"}}"#);
    assert!(stage.bodies[2].contains("\"tiny\"") && stage.bodies[2].contains("What is here?"));
    stage.answer(OTHER_ANSWER);
    assert_eq!(stage.report().outcome, Outcome::Completed, "{:#?}", stage.lines);
    let changes = stage.changes();
    assert!(changes[0].starts_with("anthropic/claude-opus-4-8 -> groq/tiny: "), "{changes:?}");
    assert!(changes[1].starts_with("groq/tiny -> mistral/tiny: "), "{changes:?}");
    assert_eq!(stage.count("end"), 3, "every attempt is booked");
}

#[test]
fn the_last_failure_of_a_chain_is_the_failure_of_the_turn() {
    let mut stage = Stage::with(chain(), question());
    for _ in 0..3 {
        stage.refuse(402, EMPTY_ACCOUNT);
    }
    let report = stage.report();
    let Outcome::Failed { code: FailureCode::UsageLimit, message } = &report.outcome else {
        panic!("{report:?}")
    };
    assert!(message.starts_with("Mistral"), "{message}");
}

#[test]
fn a_long_turn_returns_to_the_chosen_model_at_its_reset_time() {
    let mut stage = Stage::with(chain(), question());
    stage.refuse_until(1_100);
    stage.answer(&OTHER_ANSWER.replace(
        "{\"content\":\"Two.\"},\"finish_reason\":\"stop\"",
        "{\"tool_calls\":[{\"index\":0,\"id\":\"c9\",\"function\":{\"name\":\"read\",\"arguments\":\"{}\"}}]},\"finish_reason\":\"tool_calls\"",
    ));
    stage.unix = 1_099;
    stage.ended("c9", "text of a");
    assert_eq!(stage.changes().len(), 1, "not yet: {:#?}", stage.lines);
    stage.answer(&OTHER_ANSWER.replace(
        "{\"content\":\"Two.\"},\"finish_reason\":\"stop\"",
        "{\"tool_calls\":[{\"index\":0,\"id\":\"c10\",\"function\":{\"name\":\"run\",\"arguments\":\"{}\"}}]},\"finish_reason\":\"tool_calls\"",
    ));
    stage.unix = 1_100;
    stage.ended("c10", "more");
    assert!(stage.changes()[1].starts_with("groq/tiny -> anthropic/claude-opus-4-8: "), "{:#?}", stage.lines);
    stage.answer(ANSWER);
    assert_eq!(stage.report().outcome, Outcome::Completed);
}

#[test]
fn a_model_that_rests_is_not_asked_while_another_one_can_answer() {
    let stage = Stage::with(LoopSetup { rests_until: Some(1_001), ..chain() }, question());
    assert!(stage.changes()[0].contains("-> groq/tiny"), "{:#?}", stage.lines);
    let over = Stage::with(LoopSetup { rests_until: Some(1_000), ..chain() }, question());
    assert!(over.changes().is_empty(), "{:#?}", over.lines);
    let alone = Stage::with(LoopSetup { rests_until: Some(1_001), ..setup() }, question());
    assert!(alone.changes().is_empty() && alone.bodies.len() == 1, "{:#?}", alone.lines);
}

#[test]
fn the_next_engine_continues_with_the_model_that_took_over() {
    let mut before = Stage::with(chain(), question());
    before.refuse(402, EMPTY_ACCOUNT);
    let model = LeftModel { name: "groq/tiny".to_owned(), until: Some(1_500) };
    let left = LeftTurn { attempts: 2, model: Some(model), ..LeftTurn::default() };
    let after = Stage::left(chain(), before.stored.clone(), left);
    assert_eq!(after.bodies[0], before.bodies[1], "byte for byte");
    assert!(after.changes().is_empty(), "people have read it: {:#?}", after.lines);
    let gone = LeftModel { name: "nowhere/tiny".to_owned(), until: None };
    let left = LeftTurn { model: Some(gone), ..LeftTurn::default() };
    let after = Stage::left(chain(), before.stored.clone(), left);
    assert_eq!(after.bodies[0], before.bodies[0], "a model that was taken out of the chain is not asked");
}

#[test]
fn another_key_is_used_at_once_and_as_often_as_there_are_some() {
    let mut stage = Stage::new();
    stage.feed(LoopInput::SpareKeys(1));
    stage.refuse(402, EMPTY_ACCOUNT);
    assert_eq!((stage.count("emit retrying"), stage.bodies.len()), (1, 2), "{:#?}", stage.lines);
    assert_eq!(stage.bodies[0], stage.bodies[1]);
    stage.feed(LoopInput::SpareKeys(0));
    stage.refuse(402, EMPTY_ACCOUNT);
    assert!(matches!(stage.report().outcome, Outcome::Failed { code: FailureCode::UsageLimit, .. }));
}

#[test]
fn a_refused_parameter_is_reported_so_that_it_can_be_remembered() {
    let mut setup = setup();
    setup.profile.extra_body.push(("top_k".to_owned(), json!(4)));
    let mut stage = Stage::with(setup, question());
    stage.refuse(400, r#"{"error":{"message":"Unknown parameter: 'top_k'","code":"unknown_parameter"}}"#);
    assert_eq!(stage.count("learn top_k"), 1, "{:#?}", stage.lines);
    assert!(!stage.bodies[1].contains("top_k"));
}
