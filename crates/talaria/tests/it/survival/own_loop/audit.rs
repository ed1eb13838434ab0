//! The audit of a turn of the loop: effects, results, outcome, requests to people and to the model, and what people saw.

use std::collections::HashMap;
use std::fs;

use serde_json::Value;
use talaria_core::api::Numbered;
use talaria_core::event::Event;
use talaria_scripted::{ModelRequest, ScriptedFamily};

use super::faults::LoopFault;
use super::model;
use crate::survival::audit::{Violation, Wrong};
use crate::survival::database;
use crate::survival::lane::Lane;
use crate::survival::own_loop::SPARE;
use crate::survival::play::People;

/// Looks at what a fault left.
pub(super) async fn examine(
    lane: &Lane,
    fault: &LoopFault,
    prompt: &str,
    number: usize,
    people: &People,
) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut add = |wrong, what: String| found.push(Violation { wrong, what });
    let requests: Vec<ModelRequest> =
        lane.model.requests().into_iter().filter(|request| request.user_texts().contains(&prompt)).collect();
    let turns = database::turns(&lane.database(), prompt).await;
    let turn = match &turns[..] {
        [turn] => turn,
        [] if people.promised.is_empty() && requests.is_empty() => return found,
        _ => {
            add(Wrong::Unaccounted, format!("{turns:?}"));
            return found;
        }
    };
    let text = format!("done {number}");
    let is_completed = turn.outcome.as_deref() == Some("completed");
    if !is_completed || !turn.report.as_deref().is_some_and(|report| report.contains(&text)) {
        add(Wrong::FalseOutcome, format!("{turn:?}"));
    }
    let Some(last) = requests.last() else {
        add(Wrong::ResultLost, "the model was never asked".to_owned());
        return found;
    };
    let results = last.tool_outputs();
    if results.len() != calls_in(last) {
        add(Wrong::ResultLost, format!("{} calls: {results:?}", calls_in(last)));
    }
    if fault.case.name != "speaks" && fault.case.name != "thinks" && results.is_empty() {
        add(Wrong::ResultLost, "the model has no result".to_owned());
    }
    if let Some(first) = results.first() {
        for (wrong, what) in effects(lane, fault, number, first, &results).await {
            add(wrong, format!("{what}: {results:?}"));
        }
    }
    let is_spare = |request: &ModelRequest| request.body["model"] == SPARE;
    let took_over = requests.iter().position(is_spare).unwrap_or(requests.len());
    if requests[took_over..].iter().any(|request| !is_spare(request)) {
        add(Wrong::OtherBytes, "the model that failed was asked again in the same turn".to_owned());
    }
    if fault.case.name == "fallback" && took_over == requests.len() {
        add(Wrong::FalseOutcome, "no other model was asked".to_owned());
    }
    let begin = if took_over < requests.len() { took_over } else { 0 };
    for pair in requests[begin..].windows(2) {
        if let Some(what) = changed(&pair[0], &pair[1]) {
            add(Wrong::OtherBytes, what);
        }
    }
    let asked = database::requests(&lane.database(), prompt).await;
    let is_asking = matches!(fault.case.name, "approval" | "declined" | "question" | "serves");
    if asked.len() != usize::from(is_asking) || asked.iter().any(|row| row.state != "delivered") {
        add(Wrong::Orphaned, format!("{asked:?}"));
    }
    let open = database::open_attempts(&lane.database(), &turn.session).await;
    if open > 0 {
        add(Wrong::Unaccounted, format!("{open} model requests have no end"));
    }
    let calls = database::calls(&lane.database(), &turn.session).await;
    if calls.iter().any(|call| call.state == "running" || call.is_result_kept) {
        add(Wrong::FalseCall, format!("the ledger after the turn: {calls:?}"));
    }
    match lane.client().await {
        None => add(Wrong::Unaccounted, "there is no engine".to_owned()),
        Some(client) => {
            let events = client.events(&turn.session, 0, 5000).await.unwrap_or_default();
            seen(&events).into_iter().for_each(|what| add(Wrong::FalseCall, what));
        }
    }
    found
}

/// Compares results with what happened.
async fn effects(
    lane: &Lane,
    fault: &LoopFault,
    number: usize,
    first: &str,
    results: &[String],
) -> Vec<(Wrong, String)> {
    let mut found = Vec::new();
    let read = |name: String| fs::read_to_string(lane.work().join(name)).unwrap_or_default();
    let effect = read(model::effect_file(number));
    let ran = effect.lines().filter(|line| *line == "ran").count();
    let typed = effect.lines().filter(|line| *line == "typed").count();
    let mut add = |wrong, what: String| found.push((wrong, what));
    // What only reads may be called again.
    if (ran > 1 && fault.case.name != "peeks") || typed > 1 {
        add(Wrong::EffectDoubled, format!("the command ran {ran} times and read {typed} times"));
    }
    let can_be_known = !matches!(fault.case.name, "memory" | "serves") && !fault.ends_keepers();
    if can_be_known && results.iter().any(|result| is_unknown(result)) {
        add(Wrong::FalseCall, "unknown, though it can be known".to_owned());
    }
    let is_true = match fault.case.name {
        // A background command may not have come to its first line.
        "process" => ran == 0 && says_ran(first) || is_true_of_command(first, ran),
        "run" | "fallback" | "approval" | "waits" => is_true_of_command(first, ran),
        "declined" => ran == 0 && first.contains("declined") && first.contains("not today"),
        "edit" => {
            match (results.get(1).map_or("", String::as_str), read(model::edited_file(number)).as_str()) {
                (result, "two\n") => result.contains("changed, complete"),
                (result, "one\n") => result.contains("was not changed"),
                _ => false,
            }
        }
        "write" => is_true_of_write(first, &read(model::written_file(number))),
        "several" => {
            let result = |at: usize| results.get(at).map_or("", String::as_str);
            let is_written = is_true_of_write(first, &read(model::written_file(number)));
            is_written && result(1).contains("one") && is_true_of_command(result(2), ran)
        }
        "peeks" => ran >= 1 && first.contains("peek ran"),
        "serves" => is_unknown(first) || ran == 1 && first.contains("ask ran"),
        "searches" => first.contains("https://birds.example/wren"),
        "memory" => {
            let saved = database::memories(&lane.database(), &model::fact(number)).await;
            if saved > 1 {
                add(Wrong::EffectDoubled, format!("saved {saved} times"));
            }
            is_unknown(first) || saved == 1 && first.starts_with("Memory (complete): 1 change, done.")
        }
        "question" => first.contains("blue"),
        _ => true,
    };
    if !is_true {
        add(Wrong::FalseCall, format!("the result is not true (ran {ran}, typed {typed})"));
    }
    found
}

fn is_unknown(result: &str) -> bool {
    result.starts_with("Outcome unknown")
}

fn says_ran(result: &str) -> bool {
    ["Exit code", "Ended by signal", "Still running"].iter().any(|begin| result.starts_with(begin))
}

/// Compares the result of a command with how often it ran.
fn is_true_of_command(result: &str, ran: usize) -> bool {
    match (says_ran(result), ran) {
        (true, ran) => ran == 1,
        (false, ran) => is_unknown(result) || ran == 0 && result.contains("not started"),
    }
}

/// Compares the result of `write` with the file.
fn is_true_of_write(result: &str, written: &str) -> bool {
    match written {
        "written\n" => result.contains("changed, complete"),
        "" => result.contains("was not changed"),
        _ => false,
    }
}

/// How many calls a request has in its history.
fn calls_in(request: &ModelRequest) -> usize {
    let entries = history(request);
    let listed = |value: &Value, name: &str| value[name].as_array().map_or(0, Vec::len);
    match request.family {
        ScriptedFamily::Responses => entries.iter().filter(|entry| entry["type"] == "function_call").count(),
        ScriptedFamily::Chat => entries.iter().map(|entry| listed(entry, "tool_calls")).sum(),
        ScriptedFamily::Messages => {
            let blocks = entries.iter().filter_map(|entry| entry["content"].as_array()).flatten();
            blocks.filter(|block| block["type"] == "tool_use").count()
        }
    }
}

fn history(request: &ModelRequest) -> Vec<Value> {
    let field = if request.family == ScriptedFamily::Responses { "input" } else { "messages" };
    request.body[field].as_array().cloned().unwrap_or_default()
}

/// Says how a later request does not continue an earlier one.
fn changed(before: &ModelRequest, after: &ModelRequest) -> Option<String> {
    if before.tool_outputs().len() == after.tool_outputs().len() {
        return (before.text != after.text)
            .then(|| format!("the same request has other bytes:\n{}\n{}", before.text, after.text));
    }
    let unmarked = |request: &ModelRequest| {
        let mut body = request.body.clone();
        unmark(&mut body);
        let field = if request.family == ScriptedFamily::Responses { "input" } else { "messages" };
        let entries = body[field].take();
        (body, entries.as_array().cloned().unwrap_or_default())
    };
    let ((head, entries), (later_head, later)) = (unmarked(before), unmarked(after));
    (head != later_head || !later.starts_with(&entries))
        .then(|| format!("a request does not continue the last one:\n{}\n{}", before.text, after.text))
}

/// Removes the marks of the cache, which wander.
fn unmark(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("cache_control");
            fields.values_mut().for_each(unmark);
        }
        Value::Array(values) => values.iter_mut().for_each(unmark),
        _ => {}
    }
}

/// What people saw twice, or without an end.
fn seen(events: &[Numbered]) -> Vec<String> {
    let mut begun: HashMap<String, usize> = HashMap::new();
    let mut ended: HashMap<String, usize> = HashMap::new();
    let mut wrong = Vec::new();
    for numbered in events {
        match &numbered.event {
            Event::ItemStarted { item } => *begun.entry(item.id.to_string()).or_default() += 1,
            Event::ItemCompleted { item } => *ended.entry(item.id.to_string()).or_default() += 1,
            Event::AttemptVoid { items, .. } => {
                items.iter().for_each(|item| *ended.entry(item.to_string()).or_default() += 1);
            }
            Event::RequestOpened { id, .. } => *begun.entry(id.to_string()).or_default() += 1,
            Event::RequestClosed { id, .. } => *ended.entry(id.to_string()).or_default() += 1,
            _ => {}
        }
    }
    for (id, count) in &begun {
        if *count > 1 {
            wrong.push(format!("people see {id} begin {count} times"));
        }
        if !ended.contains_key(id) {
            wrong.push(format!("people see no end of {id}"));
        }
    }
    wrong.extend(
        ended
            .iter()
            .filter(|(_, count)| **count > 1)
            .map(|(id, count)| format!("people see {id} end {count} times")),
    );
    wrong
}
