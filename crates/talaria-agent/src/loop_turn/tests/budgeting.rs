//! A request that a budget does not allow: nothing is sent, no time passes for it, and the turn ends or continues as a person decides.

use talaria_core::next_step::NextStep;

use super::*;
use crate::loop_turn::ladder::ModelRoute;

fn withheld(setup: LoopSetup) -> Stage {
    let mut stage = Stage::with(setup, question());
    stage.feed(LoopInput::Withheld);
    stage.wait(Duration::from_secs(100_000));
    assert_eq!(stage.turn.wake_at(), None, "a person has all the time");
    assert_eq!(stage.count("end"), 0);
    stage
}

fn forgone(asks_another: bool) -> LoopInput<'static> {
    let next = NextStep::from("raise it".to_owned());
    LoopInput::Forgone { message: "the budget is reached".to_owned(), next, asks_another }
}

#[test]
fn a_request_that_a_person_allows_is_answered_as_if_it_had_not_waited() {
    let mut stage = withheld(setup());
    stage.feed(LoopInput::Granted);
    stage.answer(ANSWER);
    assert_eq!(stage.report().outcome, Outcome::Completed, "{:#?}", stage.lines);
    assert_eq!((stage.count("plan"), stage.count("end")), (1, 1));
}

#[test]
fn a_request_that_is_never_sent_ends_the_turn_and_costs_nothing() {
    let mut stage = withheld(setup());
    stage.feed(forgone(true));
    let report = stage.report();
    let Outcome::Failed { code: FailureCode::UsageLimit, message } = &report.outcome else {
        panic!("{report:?}")
    };
    assert_eq!((message.as_str(), report.hint.as_deref()), ("the budget is reached", Some("raise it")));
    assert_eq!((report.usage.total, stage.tokens[0].usage().total), (0, 0));
}

#[test]
fn another_model_of_the_chain_continues_only_if_a_person_wants_it() {
    let other = builtin_profile("groq").unwrap();
    let route = ModelRoute {
        issuer: ModelIssuer { provider: "groq".to_owned(), base_url: other.base_url.clone(), account: None },
        profile: other,
        model: "tiny".to_owned(),
        omissions: RequestOmissions::default(),
        rests_until: None,
    };
    let chain = || LoopSetup { fallbacks: vec![route.clone()], bounds_output: true, ..setup() };
    let mut stage = withheld(chain());
    stage.feed(forgone(false));
    assert_eq!(stage.report().outcome.word(), "failed");
    let mut stage = withheld(chain());
    stage.feed(forgone(true));
    assert!(stage.bodies[1].contains("\"tiny\""));
    assert!(stage.bodies[1].contains("32768"), "an unknown output limit is bounded: {}", stage.bodies[1]);
    stage.feed(LoopInput::Interrupt(Who::User));
    assert_eq!(stage.report().outcome, Outcome::Interrupted { by: Who::User });
}

#[test]
fn an_answer_that_was_cut_has_a_bound_above_what_was_reported() {
    let mut stage = Stage::new();
    stage.accept(200);
    stage.wire(WireNews::Bytes(half().as_bytes().to_vec()));
    stage.feed(LoopInput::Interrupt(Who::User));
    let bound = stage.bounds[0].unwrap();
    assert!(bound.usage().total > stage.tokens[0].usage().total, "{bound:?}");
    assert!(bound.input >= stage.tokens[0].input);
}
