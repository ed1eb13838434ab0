//! Decisions of the gate on the real Codex: rules and floor before people, in a sandbox and without one.

use std::path::PathBuf;

use talaria_codex::conversation::Options;
use talaria_codex_proto::wire::call::ThreadStart;
use talaria_core::event::Event;
use talaria_core::outcome::Outcome;
use talaria_core::policy::{Answers, ApprovalPolicy, Sandbox};
use talaria_core::request::{Decision, Who};
use talaria_guard::place::Place;
use talaria_guard::rules::{Rule, RuleReach, Rules};
use talaria_scripted::Reply;
use talaria_testkit::Codex;

use crate::stage::{Ended, Real, begin, both_versions};

both_versions!(
    rules_and_floor_decide_what_would_leave_the_sandbox,
    rules_and_floor_decide_where_there_is_no_sandbox;
    newest:
    accepting_everything_ends_at_the_sandbox,
    accepting_everything_without_a_sandbox_still_has_a_floor,
);

/// Ends in an error wherever it is run after all: there is no such disk.
const FORBIDDEN: &str = "mkfs.ext4 /dev/sdzz9";

fn rules() -> Rules {
    let allow = [("touch *", RuleReach::Anywhere), ("mkdir *", RuleReach::Inside)];
    Rules {
        allow: allow.map(|(text, reach)| Rule::allow(text, reach).unwrap()).into(),
        deny: vec![Rule::deny("cp *").unwrap()],
        are_incomplete: false,
    }
}

fn confined(real: &Real) -> ThreadStart {
    let sandbox = Some(Sandbox::WorkspaceWrite);
    ThreadStart { sandbox, ..real.unconfined(ApprovalPolicy::OnRequest) }
}

/// A folder outside the sandbox.
fn outside(real: &Real) -> PathBuf {
    let folder = real.home.root().join("outside");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("original"), "").unwrap();
    folder
}

fn places(ended: &Ended) -> Vec<Option<Place>> {
    let place = |event: &Event| match event {
        Event::RequestOpened { place, .. } => Some(*place),
        _ => None,
    };
    ended.events.iter().filter_map(place).collect()
}

fn decisions(ended: &Ended) -> Vec<(Decision, Who, &str)> {
    let closed = ended.events.iter().filter_map(|event| match event {
        Event::RequestClosed { decision, by, why, .. } => {
            Some((*decision, *by, why.as_deref().unwrap_or_default()))
        }
        _ => None,
    });
    closed.collect()
}

/// The text about each refusal for the model.
fn reasons(real: &Real) -> Vec<String> {
    let last = real.model.requests().pop().unwrap();
    let told = last.user_texts().into_iter().filter(|text| text.starts_with("This request was declined"));
    told.map(|text| text.split_once("The reason: ").unwrap().1.to_owned()).collect()
}

fn lines(folder: &std::path::Path) -> [String; 4] {
    let out = folder.display();
    let line = |text: &str| text.replace("OUT", &out.to_string());
    [
        line("touch OUT/touched"),
        line("mkdir OUT/made"),
        line("cp OUT/original OUT/copied"),
        FORBIDDEN.to_owned(),
    ]
}

async fn rules_and_floor_decide_what_would_leave_the_sandbox(codex: Codex) {
    let real = Real::start(&codex).await;
    let out = outside(&real);
    real.model.play(lines(&out).map(|line| Reply::new().escalated_command(line, "May I?")));
    real.model.push(Reply::say("That was all."));
    let options = Options { rules: rules(), ..Options::default() };
    let mut turn = begin(real.session_as(confined(&real), options).await, "try");
    // The first is decided already; of the second its rule says nothing here.
    turn.request().await;
    turn.answer(Decision::Decline, Who::User).await;
    let ended = turn.end().await;
    assert_eq!((&ended.report.outcome, ended.text()), (&Outcome::Completed, "That was all."));
    assert_eq!(places(&ended), [Some(Place::Outside); 4]);
    let [touch, mkdir, cp, mkfs] = decisions(&ended)[..] else { panic!("{:#?}", ended.events) };
    assert_eq!((touch.0, touch.1), (Decision::Accept, Who::Rule));
    assert!(touch.2.contains("touch *"), "{}", touch.2);
    assert_eq!((mkdir.0, mkdir.1), (Decision::Decline, Who::User));
    assert_eq!((cp.0, cp.1), (Decision::Decline, Who::Rule));
    assert!(cp.2.contains("cp *"), "{}", cp.2);
    assert_eq!((mkfs.0, mkfs.1), (Decision::Decline, Who::Floor));
    assert_eq!((ended.report.declined, ended.report.exit_code()), (2, 3), "a person's no is not counted");
    assert_eq!(reasons(&real), [cp.2, mkfs.2], "the model is told why");
    let is_there = ["touched", "made", "copied"].map(|name| out.join(name).exists());
    assert_eq!(is_there, [true, false, false]);
    real.close().await;
}

async fn rules_and_floor_decide_where_there_is_no_sandbox(codex: Codex) {
    let real = Real::start(&codex).await;
    let out = outside(&real);
    real.model.play(lines(&out).map(|line| Reply::new().command(line)));
    real.model.push(Reply::say("That was all."));
    let options = Options { rules: rules(), ..Options::default() };
    let start = real.unconfined(ApprovalPolicy::Untrusted);
    let ended = begin(real.session_as(start, options).await, "try").end().await;
    assert_eq!((&ended.report.outcome, ended.text()), (&Outcome::Completed, "That was all."));
    assert_eq!(places(&ended), [Some(Place::Inside); 4], "there is nothing to leave");
    let decided: Vec<_> = decisions(&ended).into_iter().map(|(decision, by, _)| (decision, by)).collect();
    let (accept, decline) = (Decision::Accept, Decision::Decline);
    assert_eq!(
        decided,
        [(accept, Who::Rule), (accept, Who::Rule), (decline, Who::Rule), (decline, Who::Floor)]
    );
    assert_eq!((ended.report.declined, ended.report.exit_code()), (2, 3));
    assert_eq!(reasons(&real).len(), 2);
    let is_there = ["touched", "made", "copied"].map(|name| out.join(name).exists());
    assert_eq!(is_there, [true, true, false]);
    real.close().await;
}

async fn accepting_everything_ends_at_the_sandbox(codex: Codex) {
    let real = Real::start(&codex).await;
    let out = outside(&real);
    // Codex asks about this one although it stays in the sandbox.
    real.model.push(Reply::new().command("rm -rf nothing && touch within"));
    real.model.push(Reply::new().escalated_command(format!("touch {}/touched", out.display()), "May I?"));
    real.model.push(Reply::say("That was all."));
    let options = Options { answers: Answers::Everything, ..Options::default() };
    let mut turn = begin(real.session_as(confined(&real), options).await, "try");
    turn.request().await;
    turn.answer(Decision::Decline, Who::Nobody).await;
    let ended = turn.end().await;
    assert_eq!(places(&ended), [Some(Place::Inside), Some(Place::Outside)]);
    let decided: Vec<_> = decisions(&ended).into_iter().map(|(decision, by, _)| (decision, by)).collect();
    assert_eq!(decided, [(Decision::Accept, Who::Mode), (Decision::Decline, Who::Nobody)]);
    assert!(real.home.work().join("within").exists() && !out.join("touched").exists());
    assert_eq!((ended.report.declined, ended.report.exit_code()), (1, 3));
    real.close().await;
}

async fn accepting_everything_without_a_sandbox_still_has_a_floor(codex: Codex) {
    let real = Real::start(&codex).await;
    let out = outside(&real);
    real.model.play(lines(&out).map(|line| Reply::new().command(line)));
    real.model.push(Reply::say("That was all."));
    let rules = Rules { allow: Vec::new(), ..rules() };
    let options = Options { rules, answers: Answers::Everything, ..Options::default() };
    let start = real.unconfined(ApprovalPolicy::Untrusted);
    let ended = begin(real.session_as(start, options).await, "try").end().await;
    let decided: Vec<_> = decisions(&ended).into_iter().map(|(decision, by, _)| (decision, by)).collect();
    let (accept, decline) = (Decision::Accept, Decision::Decline);
    assert_eq!(
        decided,
        [(accept, Who::Mode), (accept, Who::Mode), (decline, Who::Rule), (decline, Who::Floor)]
    );
    let is_there = ["touched", "made", "copied"].map(|name| out.join(name).exists());
    assert_eq!(is_there, [true, true, false]);
    real.close().await;
}
