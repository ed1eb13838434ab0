//! `talaria status`: the engine, its Codex processes, running and waiting work; without an engine, the leftovers of a
//! dead one. Starts nothing.

use jiff::Timestamp;
use serde_json::{Value, json};
use talaria_core::api::{BudgetInfo, EngineStatus, HostInfo, Limits, RunningTurn, TaskCounts, WebStatus};
use talaria_core::event::Stage;
use talaria_core::json_line::json_line;
use talaria_core::next_step::NextStep;
use talaria_engine::engine::leftovers;

use crate::advice::Reader;
use crate::amounts::{bytes, since};
use crate::engine::{self, refused};
use crate::output::{encoded, print};
use crate::progress::with_progress;
use crate::requests::open_requests;
use crate::settings::Settings;
use crate::trouble::Trouble;
use crate::{args, leftover_text, look, ps};
use talaria_render::sheet::Sheet;
use talaria_render::{Look, StyledText, plain_line, styled_in_rows};

pub(crate) async fn run(options: &args::Status) -> Result<u8, Trouble> {
    let settings = Settings::load()?;
    let asking = async {
        match engine::find(&settings.home).await? {
            Some(client) => client.status().await.map(Some),
            None => Ok(None),
        }
    };
    let status = with_progress("asking the engine", asking).await;
    let status = status.map_err(|error| refused("cannot ask the engine", &error))?;
    let was_held = leftovers::is_held(&settings.home);
    let left = if status.is_none() { leftovers::find(&settings.home) } else { Vec::new() };
    let is_held = was_held || leftovers::is_held(&settings.home);
    print(&match (&status, options.json) {
        (Some(status), true) => json_line(status),
        (None, true) => {
            // While an engine starts or ends, what belongs to it cannot be distinguished from what was left.
            let left = if left.is_empty() && is_held { Value::Null } else { leftover_text::json(&left) };
            json_line(&without_an_engine(&left))
        }
        (Some(status), false) => {
            let look = look::of_stdout();
            let page = page(status, Timestamp::now(), look, Reader::Shell);
            encoded(&styled_in_rows(page, look.width))
        }
        (None, false) if left.is_empty() => match leftovers::original_in_use(&settings.home) {
            Some(original) => format!(
                "no engine is running; this home is a copy of {}, which is in use\n",
                plain_line(&original.display().to_string())
            ),
            None if is_held => {
                "the engine is starting or ending: it holds this home and does not answer\n".to_owned()
            }
            None => "no engine is running; `talaria exec` starts one\n".to_owned(),
        },
        (None, false) => format!(
            "no engine is running; still running from the last one: {}\n{}\
             `talaria stop` ends it; the next command that needs the engine resumes it\n",
            leftover_text::count(&left),
            leftover_text::lines(&left)
        ),
    })?;
    Ok(0)
}

/// The fields of a status of which only an engine knows something, and the processes that were found. An empty list would be
/// a false state: turns, requests and queued tasks may wait in the database, and Codex may run.
fn without_an_engine(left: &Value) -> Value {
    json!({
        "engine": null,
        "hosts": null,
        "turns": null,
        "background": null,
        "requests": null,
        "tasks": null,
        "limits": null,
        "budgets": null,
        "web": null,
        "notes": null,
        "left": left,
    })
}

/// The status for people.
pub(crate) fn page(status: &EngineStatus, now: Timestamp, look: Look, reader: Reader) -> StyledText {
    let engine = &status.engine;
    let mut out = StyledText::from(format!(
        "engine    Talaria {}, process {}, for {}\nhome      {}\n",
        plain_line(&engine.version),
        engine.pid,
        since(engine.since, now),
        plain_line(&engine.home),
    ));
    out += format!("tasks     {}\n", tasks(status.tasks));
    out += limits(status.limits);
    out += budgets(&status.budgets);
    if let Some(web) = &status.web {
        out += format!("web       {}\n", plain_line(&reach(web)));
    }
    for note in &status.notes {
        out += format!("note      {}\n", plain_line(note));
    }
    out += section("Codex", &hosts(&status.hosts, now), status.hosts.len(), look);
    // One that Codex was not given does not run: it waits for a place, or for the turn before it.
    let is_sent = |turn: &RunningTurn| turn.stage != Stage::Prepared;
    let (keyless, others): (Vec<RunningTurn>, Vec<RunningTurn>) =
        status.turns.iter().cloned().partition(|turn| turn.waits_for.is_some());
    let (running, queued): (Vec<RunningTurn>, Vec<RunningTurn>) = others.into_iter().partition(is_sent);
    out += section("Running turns", &turns(&running, now, look), running.len(), look);
    if !queued.is_empty() {
        out += section("Turns that have not started", &turns(&queued, now, look), queued.len(), look);
    }
    if !keyless.is_empty() {
        out += section("Turns that wait for a key", &turns(&keyless, now, look), keyless.len(), look);
    }
    if !status.background.is_empty() {
        out += "\nBackground commands:\n";
        out += ps::list(&status.background, now, look, reader);
    }
    if !status.turns.is_empty() {
        out += format!("follow one with: {}\n", reader.says(&NextStep::FollowListed));
    }
    if status.requests.is_empty() {
        return out + "\nNo open requests.\n";
    }
    out + "\nWaiting for an answer:\n" + open_requests(&status.requests, now, look, reader)
}

/// Where the API can be reached over TCP, or why it cannot.
fn reach(web: &WebStatus) -> String {
    let tokens = match web.tokens {
        1 => "1 valid token".to_owned(),
        tokens => format!("{tokens} valid tokens"),
    };
    match (&web.problem, &web.url) {
        (Some(problem), _) => format!("not reachable over TCP: {problem}"),
        (None, url) => format!("{}, {tokens}", url.as_deref().unwrap_or("not reachable over TCP")),
    }
}

fn tasks(tasks: TaskCounts) -> String {
    match tasks {
        TaskCounts { working: 0, waiting: 0, queued: 0 } => "none running".to_owned(),
        TaskCounts { working, waiting, queued } => {
            format!("{working} working, {waiting} waiting for you, {queued} queued")
        }
    }
}

/// The budgets and how much of each is spent, a line each.
pub(crate) fn budgets(budgets: &[BudgetInfo]) -> String {
    budgets.iter().map(|budget| format!("budget    {}\n", plain_line(&budget.line()))).collect()
}

/// The limits; none from an engine that does not report them.
fn limits(limits: Limits) -> String {
    if limits.tasks == 0 {
        return String::new();
    }
    let memory = limits.host_memory_kib.map(|kib| format!(", {} of memory", bytes(kib.saturating_mul(1024))));
    let count = |count: usize, one: &str, more: &str| match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {more}"),
    };
    format!(
        "limits    {} at once; {}, each with {}{}\n",
        count(limits.tasks, "task", "tasks"),
        count(limits.hosts, "Codex process", "Codex processes"),
        count(limits.threads_per_host, "thread", "threads"),
        memory.unwrap_or_default(),
    )
}

fn section(title: &str, sheet: &Sheet, rows: usize, look: Look) -> StyledText {
    match rows {
        0 => format!("\n{title}: none\n").into(),
        _ => StyledText::from(format!("\n{title}:\n")) + sheet.show(look),
    }
}

fn hosts(hosts: &[HostInfo], now: Timestamp) -> Sheet {
    let mut sheet =
        Sheet::new(&["process", "codex", "threads", "turns", "memory", "for"], "codex").to_be_read();
    for host in hosts {
        let codex =
            if host.draining { format!("{} (to be replaced)", host.codex) } else { host.codex.clone() };
        sheet.row([
            host.pid.to_string(),
            codex,
            host.threads.to_string(),
            host.turns.to_string(),
            bytes(host.memory_kib.saturating_mul(1024)),
            since(host.since, now),
        ]);
    }
    sheet
}

fn turns(turns: &[RunningTurn], now: Timestamp, look: Look) -> Sheet {
    let mut sheet = Sheet::new(&["id", "turn", "for", "title"], "title");
    for turn in turns {
        let id = turn.task.as_deref().unwrap_or_else(|| look::session_id(&turn.session, look)).to_owned();
        sheet.row([id, turn.turn.to_string(), since(turn.since, now), turn.title.clone()]);
    }
    sheet
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use talaria_core::api::{EngineInfo, RequestInfo, RequestState};
    use talaria_core::ids::{SessionId, TicketId};

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn idle() -> EngineStatus {
        let engine = EngineInfo {
            pid: 41,
            version: "0.1.0".to_owned(),
            build: 0,
            api: 1,
            home: "/home/a/.talaria".to_owned(),
            since: at(0),
        };
        EngineStatus {
            engine,
            hosts: Vec::new(),
            turns: Vec::new(),
            background: Vec::new(),
            requests: Vec::new(),
            tasks: TaskCounts::default(),
            limits: Limits { tasks: 4, hosts: 2, threads_per_host: 32, host_memory_kib: None },
            keys: Vec::new(),
            budgets: Vec::new(),
            web: None,
            notes: Vec::new(),
        }
    }

    fn busy() -> EngineStatus {
        let session = SessionId::new("0199a000-0000-7000-8000-000000000001");
        let host = HostInfo {
            pid: 42,
            codex: "0.166.0".to_owned(),
            threads: 3,
            turns: 1,
            memory_kib: 51_200,
            draining: true,
            since: at(3000),
        };
        let turn = RunningTurn {
            session: session.clone(),
            task: Some("codex-1a2b3c4d5e6f".to_owned()),
            turn: 2,
            stage: Stage::Accepted,
            title: "find out why\nthe build is slow".to_owned(),
            since: at(3590),
            host: Some(42),
            waits_for: None,
        };
        let request = RequestInfo {
            id: TicketId::new("req-0a1b2c3d4e5f"),
            session,
            task: Some("codex-1a2b3c4d5e6f".to_owned()),
            title: None,
            kind: "command".to_owned(),
            summary: "cargo clean".to_owned(),
            since: at(3595),
            state: RequestState::Open,
            place: None,
            choices: Vec::new(),
            digest: None,
            answered_by: None,
            decision: None,
            answered_at: None,
            ask: None,
        };
        let notes = vec!["one conversation asks about nothing".to_owned()];
        let tasks = TaskCounts { working: 4, waiting: 1, queued: 12 };
        let limits = Limits { host_memory_kib: Some(1_048_576), ..idle().limits };
        EngineStatus {
            hosts: vec![host],
            turns: vec![turn],
            requests: vec![request],
            tasks,
            limits,
            keys: Vec::new(),
            notes,
            ..idle()
        }
    }

    #[test]
    fn a_turn_that_waits_is_not_said_to_run() {
        let mut status = busy();
        status.turns[0].stage = Stage::Prepared;
        let text = shown(&status, 100);
        assert!(text.contains("Running turns: none\n\nTurns that have not started:\nID"), "{text}");
    }

    #[test]
    fn a_turn_that_waits_for_a_key_is_not_said_to_run() {
        let mut status = busy();
        status.turns[0].waits_for = Some("OWN_KEY".to_owned());
        let text = shown(&status, 100);
        assert!(text.contains("Running turns: none\n\nTurns that wait for a key:\nID"), "{text}");
    }

    fn shown(status: &EngineStatus, width: usize) -> String {
        let look = Look { color: false, width: Some(width), live: false, unicode: true };
        page(status, at(3600), look, Reader::Shell).text()
    }

    #[test]
    fn an_idle_engine_says_so() {
        expect![[r#"
            engine    Talaria 0.1.0, process 41, for 1 hour
            home      /home/a/.talaria
            tasks     none running
            limits    4 tasks at once; 2 Codex processes, each with 32 threads

            Codex: none

            Running turns: none

            No open requests.
        "#]]
        .assert_eq(&shown(&idle(), 100));
    }

    #[test]
    fn a_busy_engine_shows_what_runs_and_how_to_answer() {
        expect![[r#"
            engine    Talaria 0.1.0, process 41, for 1 hour
            home      /home/a/.talaria
            tasks     4 working, 1 waiting for you, 12 queued
            limits    4 tasks at once; 2 Codex processes, each with 32 threads, 1.0 GB of memory
            note      one conversation asks about nothing

            Codex:
            PROCESS  CODEX                     THREADS  TURNS  MEMORY   FOR
            42       0.166.0 (to be replaced)  3        1      52.4 MB  10 minutes

            Running turns:
            ID                  TURN  FOR         TITLE
            codex-1a2b3c4d5e6f  2     10 seconds  find out why␊the build is slow
            follow one with: talaria exec --attach ID

            Waiting for an answer:
            REQUEST           KIND     ASKED          FOR                 ABOUT
            req-0a1b2c3d4e5f  command  5 seconds ago  codex-1a2b3c4d5e6f  cargo clean
            read it whole with: talaria requests show req-0a1b2c3d4e5f
            answer with: talaria requests answer req-0a1b2c3d4e5f accept (or decline, …)
        "#]]
        .assert_eq(&shown(&busy(), 100));
    }

    #[test]
    fn what_runs_and_what_waits_is_told_in_a_narrow_window_too() {
        let lists = |width| shown(&busy(), width).split_once("\n\n").unwrap().1.to_owned();
        assert_eq!(lists(80), lists(100));
        expect![[r#"
            Codex:
            PROCESS  CODEX           THREADS  TURNS  MEMORY   FOR
            42       0.166.0 (to be  3        1      52.4 MB  10 minutes
                     replaced)

            Running turns:
            ID                  TURN  FOR         TITLE
            codex-1a2b3c4d5e6f  2     10 seconds  find out why␊the buil…
            follow one with: talaria exec --attach ID

            Waiting for an answer:
            request: req-0a1b2c3d4e5f
            kind: command
            asked: 5 seconds ago
            for: codex-1a2b3c4d5e6f
            about: cargo clean
            read it whole with: talaria requests show req-0a1b2c3d4e5f
            answer with: talaria requests answer req-0a1b2c3d4e5f accept (or decline, …)
        "#]]
        .assert_eq(&lists(60));
    }

    #[test]
    fn json_has_the_promised_fields() {
        let value: Value = serde_json::from_str(&json_line(&busy())).unwrap();
        assert!(value["engine"]["pid"].is_u64() && value["engine"]["version"].is_string());
        let host = &value["hosts"][0];
        for field in ["pid", "codex", "threads", "memory_kib"] {
            assert!(!host[field].is_null(), "{field}");
        }
        assert_eq!(value["tasks"]["queued"], 12);
        assert_eq!(value["limits"]["tasks"], 4);
        assert!(value["turns"].is_array() && value["requests"].is_array());
    }
}
