//! Every row of the table, and what the budget of a turn allows.

use super::*;
use crate::failure::{FailureClass, classify_response};

const NOW: i64 = 1_000;

fn failed(class: FailureClass) -> ModelFailure {
    ModelFailure::transport(class, "x")
}

/// A provider with one key, without a fallback.
const ALONE: AttemptSituation = AttemptSituation {
    stage: AttemptStage::Accepted,
    has_shown: false,
    has_spare_key: false,
    has_fallback: false,
    asks_on_refusal: false,
    now: NOW,
    chance: 0.5,
};
const SPEAKING: AttemptSituation = AttemptSituation { stage: AttemptStage::Speaking, ..ALONE };

fn decide(budget: &mut RetryBudget, failure: &ModelFailure, has_shown: bool) -> RetryDecision {
    budget.decide(AttemptTrouble::Failed(failure), AttemptSituation { has_shown, ..ALONE })
}

/// The steps against a class until the turn ends or another model is asked, joined where they repeat.
fn course(trouble: AttemptTrouble<'_>, situation: AttemptSituation, mut keys: u32) -> String {
    let mut budget = RetryBudget::default();
    let mut steps: Vec<(&str, u32)> = Vec::new();
    loop {
        let decision = budget.decide(trouble, AttemptSituation { has_spare_key: keys > 0, ..situation });
        let word = match &decision {
            RetryDecision::Retry { repair: Some(_), .. } => "repair",
            RetryDecision::Retry { repair: None, .. } => "again",
            RetryDecision::NextKey => "key",
            RetryDecision::Fallback { .. } => "fallback",
            RetryDecision::Stop { .. } => "stop",
        };
        keys -= u32::from(decision == RetryDecision::NextKey);
        match steps.last_mut() {
            Some((last, count)) if *last == word => *count += 1,
            _ => steps.push((word, 1)),
        }
        if matches!(decision, RetryDecision::Fallback { .. } | RetryDecision::Stop { .. }) {
            let words = steps.iter().map(|(word, count)| match count {
                1 => (*word).to_owned(),
                count => format!("{word} x{count}"),
            });
            return words.collect::<Vec<_>>().join(", ");
        }
    }
}

#[test]
fn every_class_has_its_course_at_every_stage() {
    let mut table = String::new();
    let refused = r#"{"error":{"message":"Unknown parameter: 'store'","code":"unknown_parameter"}}"#;
    for class in FailureClass::ALL {
        let failure = match class {
            FailureClass::InvalidRequest => classify_response(400, &[], refused.as_bytes()),
            class => failed(class),
        };
        let trouble = AttemptTrouble::Failed(&failure);
        let chain = AttemptSituation { has_fallback: true, ..ALONE };
        let alone = course(trouble, ALONE, 0);
        table.push_str(&format!("{class}: alone {alone}; chain {}; ", course(trouble, chain, 2)));
        let shown = AttemptSituation { has_shown: true, ..chain };
        let shown = AttemptSituation { stage: AttemptStage::Speaking, ..shown };
        let wanted = AttemptSituation { asks_on_refusal: true, ..chain };
        table.push_str(&format!("shown {}", course(trouble, shown, 0)));
        if course(trouble, wanted, 2) != course(trouble, chain, 2) {
            table.push_str(&format!("; wanted {}", course(trouble, wanted, 2)));
        }
        table.push('\n');
        for stage in [AttemptStage::Connecting, AttemptStage::Sent, AttemptStage::Speaking] {
            let at = AttemptSituation { stage, ..ALONE };
            assert_eq!(course(trouble, at, 0), alone, "the stage changes pauses alone: {class}");
        }
    }
    let cut = AttemptTrouble::Cut;
    let chain = AttemptSituation { has_fallback: true, ..SPEAKING };
    let shown = AttemptSituation { has_shown: true, ..chain };
    table.push_str(&format!(
        "cut: alone {}; chain {}; shown {}\n",
        course(cut, SPEAKING, 0),
        course(cut, chain, 2),
        course(cut, shown, 0)
    ));
    expect_test::expect![[r#"
        auth: alone stop; chain key x2, fallback; shown fallback
        entitlement: alone stop; chain fallback; shown fallback
        rate_limit: alone again x5, stop; chain key x2, again x5, fallback; shown again x2, fallback
        quota: alone stop; chain key x2, fallback; shown fallback
        overloaded: alone again x5, stop; chain again x5, fallback; shown again x2, fallback
        server: alone again x5, stop; chain again x5, fallback; shown again x2, fallback
        transport: alone again x5, stop; chain again x5, fallback; shown again x2, fallback
        context_too_long: alone stop; chain stop; shown stop
        output_limit: alone repair, stop; chain repair, stop; shown repair, stop
        image: alone repair, stop; chain repair, stop; shown repair, stop
        invalid_request: alone repair, stop; chain repair, stop; shown repair, stop
        reasoning_refused: alone repair, stop; chain repair, stop; shown repair, stop
        content_filter: alone stop; chain stop; shown stop; wanted fallback
        model_gone: alone stop; chain fallback; shown fallback
        certificate: alone stop; chain stop; shown stop
        cut: alone again x5, stop; chain again x5, fallback; shown again x2, fallback
    "#]]
    .assert_eq(&table);
}

#[test]
fn a_long_wait_is_not_slept_where_another_key_or_model_can_answer() {
    let wait = Some(WaitHint::After(Duration::from_secs(900)));
    let limited = ModelFailure { wait, ..failed(FailureClass::RateLimit) };
    let decide = |situation| RetryBudget::default().decide(AttemptTrouble::Failed(&limited), situation);
    let spare = AttemptSituation { has_spare_key: true, has_fallback: true, ..ALONE };
    assert_eq!(decide(spare), RetryDecision::NextKey);
    let chain = AttemptSituation { has_fallback: true, ..ALONE };
    assert_eq!(decide(chain), RetryDecision::Fallback { until: Some(NOW + 900) });
    assert_eq!(decide(ALONE), RetryDecision::Stop { retry_at: Some(NOW + 900) });
}

#[test]
fn another_model_has_its_own_repairs_and_two_retries() {
    let mut budget = RetryBudget::default();
    let refused = failed(FailureClass::ReasoningRefused);
    assert!(matches!(decide(&mut budget, &refused, false), RetryDecision::Retry { .. }));
    while matches!(budget.decide(AttemptTrouble::Cut, ALONE), RetryDecision::Retry { .. }) {}
    budget.change_model();
    assert!(matches!(decide(&mut budget, &refused, false), RetryDecision::Retry { repair: Some(_), .. }));
    let mut cut = || budget.decide(AttemptTrouble::Cut, ALONE);
    assert_eq!((0..9).filter(|_| matches!(cut(), RetryDecision::Retry { .. })).count(), 2);
}

#[test]
fn keys_that_recover_again_and_again_do_not_keep_a_turn_for_ever() {
    let spare = AttemptSituation { has_spare_key: true, ..ALONE };
    let mut budget = RetryBudget::default();
    let failure = failed(FailureClass::Quota);
    let mut next = || budget.decide(AttemptTrouble::Failed(&failure), spare);
    assert_eq!((0..99).filter(|_| next() == RetryDecision::NextKey).count(), 16);
}

#[test]
fn only_what_passes_by_itself_is_sent_again_as_it_was() {
    for class in FailureClass::ALL {
        let decision = decide(&mut RetryBudget::default(), &failed(class), false);
        let is_retried = matches!(decision, RetryDecision::Retry { repair: None, .. });
        let passes = [
            FailureClass::RateLimit,
            FailureClass::Overloaded,
            FailureClass::Server,
            FailureClass::Transport,
        ];
        assert_eq!(is_retried, passes.contains(&class), "{class}: {decision:?}");
    }
}

#[test]
fn the_budget_is_one_for_the_turn_and_smaller_for_text_that_was_shown() {
    let count = |has_shown| {
        let mut budget = RetryBudget::default();
        let mut cut = || budget.decide(AttemptTrouble::Cut, AttemptSituation { has_shown, ..SPEAKING });
        (0..20).filter(|_| matches!(cut(), RetryDecision::Retry { .. })).count()
    };
    assert_eq!((count(false), count(true)), (5, 2));
}

#[test]
fn waits_grow_obey_hints_and_are_never_slept_when_they_are_long() {
    let mut budget = RetryBudget::default();
    let mut waits = Vec::new();
    while let RetryDecision::Retry { wait, .. } = budget.decide(AttemptTrouble::Cut, SPEAKING) {
        waits.push(wait.as_secs());
    }
    assert_eq!(waits, [1, 2, 4, 8, 16]);
    let hinted = |wait| ModelFailure { wait: Some(wait), ..failed(FailureClass::RateLimit) };
    let after = |seconds| hinted(WaitHint::After(Duration::from_secs(seconds)));
    match decide(&mut RetryBudget::default(), &after(10), false) {
        RetryDecision::Retry { wait, .. } => {
            assert!(wait >= Duration::from_secs(10) && wait <= Duration::from_secs(12));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(
        decide(&mut RetryBudget::default(), &after(121), false),
        RetryDecision::Stop { retry_at: Some(NOW + 121) }
    );
    let until = hinted(WaitHint::Until(NOW + 9_000));
    assert_eq!(
        decide(&mut RetryBudget::default(), &until, false),
        RetryDecision::Stop { retry_at: Some(NOW + 9_000) }
    );
    let unsent = failed(FailureClass::Transport);
    let at_once = RetryBudget::default().decide(
        AttemptTrouble::Failed(&unsent),
        AttemptSituation { stage: AttemptStage::Connecting, ..ALONE },
    );
    assert_eq!(at_once, RetryDecision::Retry { wait: Duration::ZERO, repair: None });
}

#[test]
fn each_repair_is_made_once() {
    let body =
        r#"{"error":{"message":"Unknown parameter: 'store'","code":"unknown_parameter","param":"store"}}"#;
    let unknown = classify_response(400, &[], body.as_bytes());
    let cases = [
        (failed(FailureClass::ReasoningRefused), RequestRepair::DropReasoning),
        (failed(FailureClass::OutputLimit), RequestRepair::LowerOutput),
        (failed(FailureClass::Image), RequestRepair::LeaveOutImages),
        (unknown, RequestRepair::DropParameter("store".to_owned())),
    ];
    let mut budget = RetryBudget::default();
    for (failure, repair) in &cases {
        let expected = RetryDecision::Retry { wait: Duration::ZERO, repair: Some(repair.clone()) };
        assert_eq!(decide(&mut budget, failure, false), expected);
    }
    for (failure, _) in &cases {
        assert_eq!(
            decide(&mut budget, failure, false),
            RetryDecision::Stop { retry_at: None },
            "{failure:?}"
        );
    }
    assert_eq!(budget.retries, 5, "a repair is no retry of the same bytes");
}
