//! The report after an import.

use expect_test::expect;

use talaria_import::hermes::UndoneFiles;

use super::super::undo_report::UndoReport;
use super::*;

fn left(key: &str, why: &str, near: Option<&str>) -> SkippedSetting {
    SkippedSetting { key: key.to_owned(), why: why.to_owned(), near: near.map(str::to_owned) }
}

fn report() -> Report {
    let variable = |name: &str, place: &str, found: Option<&str>| Variable {
        name: name.to_owned(),
        used_by: vec![place.to_owned()],
        found_in: found.map(str::to_owned),
    };
    let file = |path: &str, why: &str| SkippedFile { path: path.to_owned(), why: why.to_owned() };
    Report {
        home: "/home/ada/.hermes".to_owned(),
        ours: "/home/ada/.talaria".to_owned(),
        settings: Settings {
            taken: vec![ImportedSetting {
                from: "agent.reasoning_effort".to_owned(),
                key: "model.effort".to_owned(),
                value: "\"high\"".to_owned(),
            }],
            already_here: 2,
            kept: vec![KeptSetting { from: "model".to_owned(), key: "model.default".to_owned() }],
            not_taken: vec![
                left("approvals.mode", "too much \u{1b}[2J", Some("approvals.mode")),
                left("command_allowlist", "too much", Some("approvals.allow")),
                left("tts.voice", UNKNOWN[0], None),
                left("tts.speed", UNKNOWN[0], None),
                left("agent.gateway_timeout", UNKNOWN[0], Some("codex.turn_timeout")),
                left("memory.enabled", UNKNOWN[1], None),
            ],
            more_not_taken: 3,
        },
        memories: Files { copied: vec!["memories/MEMORY.md".to_owned()], ..Files::default() },
        skills: Files {
            already_here: 4,
            not_copied: vec![file("skills/a\u{1b}b", "it is a link")],
            more_not_copied: 7,
            ..Files::default()
        },
        sessions: Some(ImportedSessions {
            new: 3,
            grown: 1,
            empty: 2,
            messages: 40,
            left_out: 5,
            newer: Some(99),
            ..ImportedSessions::default()
        }),
        variables: vec![variable("TOKEN", "mcp_servers.a.env.TOKEN", Some(".env")), variable("X", "y", None)],
        secrets: Secrets {
            settings: vec!["model.api_key".to_owned()],
            variables: (0..22).map(|n| format!("KEY_{n}")).collect(),
            logins: Some(Vec::new()),
        },
        stays: vec![Stays { name: "SOUL.md", what: "its persona" }],
        ..Report::default()
    }
}

#[test]
fn a_report_says_what_came_what_did_not_and_what_to_do() {
    expect![[r#"
        imported from /home/ada/.hermes

        settings
          model.effort = "high"
          2 already here
          yours is kept: model.default (there: model)
          not imported: approvals.mode: too much ␛[2J
          not imported: command_allowlist: too much [here: approvals.allow]
          without a counterpart here: agent (1), tts (2)
            nearest to agent.gateway_timeout is codex.turn_timeout
          for a later version: memory (1)
          and 3 more are not imported

        memories
          1 file to /home/ada/.talaria/memories

        skills
          4 already here
          not copied: skills/a␛b: it is a link
          and 7 more are not copied

        conversations
          3 new; 40 new messages
          1 continued since the last import
          2 empty, and not imported
          5 messages not imported: prompts of Hermes itself, or longer than 16 MiB
          this Hermes is newer than this Talaria supports (its database is version 99); check whether everything is there

        set these variables where you start Talaria
          TOKEN: for mcp_servers.a.env.TOKEN; Hermes has it in .env
          X: for y

        secrets, which stay where they are
          config.yaml: model.api_key
          .env: KEY_0, KEY_1, KEY_2, KEY_3, KEY_4, KEY_5, KEY_6, KEY_7, KEY_8, KEY_9, KEY_10, KEY_11, KEY_12, KEY_13, KEY_14, KEY_15, KEY_16, KEY_17, KEY_18, KEY_19 and 2 more
          auth.json: logins

        stays in Hermes
          SOUL.md: its persona

        next
          memories are used in new conversations
          read the conversations: talaria sessions list, talaria sessions search WORDS
          continue one: talaria --resume ID
          undo this import: talaria import hermes --undo
    "#]].assert_eq(&report().text());
}

#[test]
fn a_preview_says_that_nothing_was_changed() {
    let preview = Report { dry_run: true, named: " --home /x".to_owned(), ..report() };
    let text = preview.text();
    assert!(
        text.starts_with("nothing was changed; this would be imported from /home/ada/.hermes\n"),
        "{text}"
    );
    assert!(text.ends_with("  import it: talaria import hermes --home /x\n"), "{text}");
    assert!(!text.contains("--undo"), "{text}");
}

#[test]
fn a_database_that_cannot_be_read_is_told_beside_the_rest() {
    let mut report = Report { sessions: None, ..report() };
    let damaged = || Some(Trouble { cause: "it is damaged".to_owned(), hint: Some("mend it".to_owned()) });
    report.add_sessions(ReadSessions { sessions: ImportedSessions::default(), not_read: damaged() });
    let text = report.text();
    assert!(text.contains("conversations\n  not imported: it is damaged\n  hint: mend it\n"), "{text}");
    assert!(report.brought_sessions(), "some may have come before");
    let came = ImportedSessions { seen: 2, new: 2, messages: 5, ..ImportedSessions::default() };
    report.add_sessions(ReadSessions { sessions: came, not_read: damaged() });
    let text = report.text();
    let both = "conversations\n  the rest was not imported: it is damaged\n  hint: mend it\n  2 new; 5 new messages\n";
    assert!(text.contains(both), "{text}");
}

#[test]
fn an_import_that_brought_nothing_offers_nothing_to_take_back() {
    let text = Report { home: "/home/ada/.hermes".to_owned(), ..Report::default() }.text();
    assert!(text.starts_with("nothing new to import from"), "{text}");
    assert!(!text.contains("--undo"), "{text}");
}

#[test]
fn what_was_taken_back_is_told_with_what_stays() {
    let left = SkippedFile { path: "memories/MEMORY.md".to_owned(), why: "it was changed since".to_owned() };
    let report = UndoReport {
        home: "/home/ada/.hermes".to_owned(),
        files: UndoneFiles {
            settings: vec!["a".to_owned()],
            files: vec!["b".to_owned(), "c".to_owned()],
            changed_settings: vec!["model.effort".to_owned()],
            changed_files: vec![left],
        },
        sessions: ImportedSessions {
            removed: 3,
            shortened: 1,
            left: vec![talaria_core::ids::SessionId::new("0199")],
            ..ImportedSessions::default()
        },
        ..UndoReport::default()
    };
    expect![[r#"
        import undone: /home/ada/.hermes
          1 setting
          2 files
          3 conversations
          the new messages of 1 conversation
          kept, because you changed it: model.effort
          kept: memories/MEMORY.md: it was changed since
          kept, because it was used since: 0199
    "#]]
    .assert_eq(&report.text());
}
