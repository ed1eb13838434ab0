//! Completion: entries, selection, effect of Enter.

use expect_test::expect;

use super::*;
use talaria_render::StyledLine;

fn with_files(script: &str, paths: &[&str]) -> Composer {
    let mut composer = Composer::new(LOOK);
    if let Reaction::WantFiles(letters) = type_in(&mut composer, script) {
        composer.offer(&letters, paths.iter().map(|path| (*path).to_owned()).collect());
    }
    composer
}

#[test]
fn a_slash_lists_commands_with_their_help() {
    expect![[r#"
        › /▏
        |  /new          start a new conversation; the old one is ke…
        |  /resume       resume a conversation, or choose one
        |  /sessions     list conversations, latest activity first
        |  /search       search the text of all conversations
        |  /model        choose the model from the next turn on
        |  /reasoning    choose the reasoning effort from the next t…
        |  /permissions  show or change sandbox, approvals, network,…
        |  … 27 more
    "#]]
    .assert_eq(&screen(&mut typed("/"), 60, 3));
    expect![[r#"
        › /s▏
        |  /sessions  list conversations, latest activity first
        |  /search    search the text of all conversations
        |  /status    show conversation, permissions and turn
        |  /skills    list skills, decide what models propose
        |  /stop      stop the running turn; the conversation is kept
        |  /steer     send a message to the running turn
    "#]]
    .assert_eq(&screen(&mut typed("/s"), 60, 3));
    expect![[r#"
        › /ex▏
        |  /export  write the co…
        |  /exit    leave; turns…
    "#]]
    .assert_eq(&screen(&mut typed("/ex"), 24, 3));
    expect![[r#"
        › /▏
        |  … 27 more
        |  /queue          queue a message for t…
        |  /codex-runtime  show or choose the ru…
        |  /login          log in to Codex with …
        |  /export         write the conversatio…
        |  /theme          show or choose the th…
        |  /help           list the commands, or…
        |› /quit           leave; turns and task…
    "#]]
    .assert_eq(&screen(&mut typed("/<Up>"), 40, 3));
    for text in ["//s", "x /s", " /s", "/usr/s", "/zzz"] {
        assert_eq!(typed(text).popup(80, 8), [], "{text}");
    }
}

#[test]
fn enter_sends_as_typed_unless_something_was_chosen() {
    assert_eq!(type_in(&mut typed("/new"), "<Enter>"), Reaction::Command(SlashCommand::New));
    let mut composer = typed("/re");
    assert!(matches!(type_in(&mut composer, "<Enter>"), Reaction::Mistake(_)));
    let mut composer = typed("/re<Down><Down>");
    expect![[r#"
        › /re▏
        |  /resume     resume a conversation, or choose one
        |› /reasoning  choose the reasoning effort from the next turn
        |  /retry      undo the last turn and send its input again
        |  /rename     change the title of this conversation
        |  /requests   list the open requests
    "#]]
    .assert_eq(&screen(&mut composer, 60, 3));
    assert_eq!(type_in(&mut composer, "<Enter>"), Reaction::Changed);
    assert_eq!(composer.text(), "/reasoning ");
    let mut composer = with_files("see @ma", &["src/main.rs"]);
    assert_eq!(
        type_in(&mut composer, "<Enter>"),
        Reaction::Submit(PromptDraft { text: "see @ma".to_owned(), images: vec![] })
    );
}

#[test]
fn tab_takes_the_only_one_or_chooses_and_then_takes() {
    assert_eq!(typed("/mod<Tab>").text(), "/model ");
    let mut composer = typed("/s<Tab>");
    assert_eq!(composer.text(), "/s");
    type_in(&mut composer, "<Tab>");
    assert_eq!(composer.text(), "/sessions ");
}

#[test]
fn arguments_are_listed_by_what_the_command_takes() {
    let mut composer = Composer::new(LOOK);
    composer.know(
        CompletionSource::Models,
        vec![CompletionChoice::new("gpt-5.2", "the default"), CompletionChoice::new("gpt-5.2-codex", "")],
    );
    composer.know(CompletionSource::Tasks, vec![CompletionChoice::new("codex-1a2b", "running")]);
    composer.know(CompletionSource::Requests, vec![CompletionChoice::new("req-1a2b", "rm x")]);
    for (script, rows) in [
        (
            "/model ",
            expect![[r#"
            › /model ▏
            |  gpt-5.2        the default
            |  gpt-5.2-codex
        "#]],
        ),
        (
            "/model cod",
            expect![[r#"
            › /model cod▏
            |  gpt-5.2-codex
        "#]],
        ),
        (
            "/task ",
            expect![[r#"
                › /task ▏
                |  list       list tasks
                |  show       show the status, answer and changes …
                |  watch      follow a task as it works
                |  start      start a task
                |  send       start the next turn of a task
                |  steer      send a message to the running turn
                |  interrupt  stop a task
                |  … 3 more
            "#]],
        ),
        (
            "/task show ",
            expect![[r#"
            › /task show ▏
            |  codex-1a2b  running
        "#]],
        ),
        (
            "/task start co",
            expect![[r#"
            › /task start co▏
        "#]],
        ),
        (
            "/approve ",
            expect![[r#"
                › /approve ▏
                |  req-1a2b  rm x
                |  once      only this time
                |  session   for this conversation: do not ask aga…
                |  always    always, by the rule that is shown
            "#]],
        ),
        (
            "/approve req-1a2b al",
            expect![[r#"
                › /approve req-1a2b al▏
                |  always  always, by the rule that is shown
            "#]],
        ),
        (
            "/codex-runtime o",
            expect![[r#"
                › /codex-runtime o▏
                |  on                the same as codex_app_server
                |  off               never Codex: the built-in loop
                |  codex_app_server  Codex for OpenAI's models
                |  auto              Codex where it is installed
            "#]],
        ),
        (
            "/help /qu",
            expect![[r#"
                › /help /qu▏
                |  queue     queue a message for the next turn
                |  quit      leave; turns and tasks continue
                |  requests  list the open requests
            "#]],
        ),
        (
            "/new ",
            expect![[r#"
            › /new ▏
        "#]],
        ),
    ] {
        let mut composer = composer.clone();
        type_in(&mut composer, script);
        rows.assert_eq(&screen(&mut composer, 50, 3));
    }
    type_in(&mut composer, "/task show <Tab>");
    assert_eq!(composer.text(), "/task show codex-1a2b ");
}

#[test]
fn files_are_asked_for_at_the_start_of_a_word_only() {
    assert_eq!(type_in(&mut Composer::new(LOOK), "@"), Reaction::WantFiles(String::new()));
    assert_eq!(type_in(&mut Composer::new(LOOK), "in @sr"), Reaction::WantFiles("sr".to_owned()));
    assert_eq!(type_in(&mut Composer::new(LOOK), "/steer see @x"), Reaction::WantFiles("x".to_owned()));
    assert_eq!(type_in(&mut Composer::new(LOOK), "!cat @x"), Reaction::WantFiles("x".to_owned()));
    assert_eq!(type_in(&mut Composer::new(LOOK), "/export no"), Reaction::WantFiles("no".to_owned()));
    assert_eq!(type_in(&mut Composer::new(LOOK), "me@example"), Reaction::Changed);
}

#[test]
fn files_are_ordered_and_put_in_as_one_word() {
    let paths = ["docs/domain.md", "m/a/i/n.txt", "src/main.rs", "my main/", "src/main/"];
    let mut composer = with_files("see @main now<Left><Left><Left><Left>", &paths);
    assert_eq!(composer.popup(80, 8), [], "it was asked for before the cursor moved on");
    composer = with_files("see @main", &paths);
    expect![[r#"
        › see @main▏
        |  src/main/
        |  src/main.rs
        |  docs/domain.md
        |  my main/
        |  m/a/i/n.txt
    "#]]
    .assert_eq(&screen(&mut composer, 40, 3));
    for (script, text) in [
        ("<Down><Enter>", "see src/main/ "),
        ("<Down><Tab>", "see @src/main/"),
        ("<Up><Up><Enter>", "see 'my main/' "),
        ("<Up><Up><Tab>", "see 'my main/' "),
        ("<Down><Down><Enter>x", "see src/main.rs x"),
    ] {
        let mut composer = composer.clone();
        type_in(&mut composer, script);
        assert_eq!(composer.text(), text, "{script}");
    }
}

#[test]
fn what_is_put_in_takes_one_space_and_no_part_of_a_paste() {
    let mut composer = typed("now<Home> <Left>/mod");
    type_in(&mut composer, "<Tab>");
    assert_eq!(composer.text(), "/model now");
    let mut composer = Composer::new(LOOK);
    let long = " x".repeat(600);
    composer.paste(&long);
    type_in(&mut composer, "<Home>/mod<Tab>");
    expect![[r#"
        › /model ▏[pasted 1200 characters]
    "#]]
    .assert_eq(&screen(&mut composer, 60, 3));
    assert_eq!(composer.text(), format!("/model {long}"));
}

#[test]
fn late_answers_and_closed_lists_stay_closed() {
    let mut composer = typed("@ma");
    composer.offer("m", vec!["main.rs".to_owned()]);
    assert_eq!(composer.popup(80, 8), []);
    composer.offer("ma", vec!["main.rs".to_owned()]);
    assert_eq!(composer.popup(80, 8).len(), 1);
    assert_eq!(type_in(&mut composer, "<Esc>"), Reaction::Changed);
    assert_eq!(type_in(&mut composer, "i"), Reaction::Changed);
    composer.offer("mai", vec!["main.rs".to_owned()]);
    assert_eq!(composer.popup(80, 8), []);
    assert_eq!(type_in(&mut composer, "<Esc>"), Reaction::NotMine);
    assert_eq!(type_in(&mut composer, "<Tab>"), Reaction::WantFiles("mai".to_owned()));
    composer.offer("mai", vec!["main.rs".to_owned()]);
    assert_eq!(composer.popup(80, 8).len(), 1);
    assert_eq!(type_in(&mut composer, "<Esc> @m"), Reaction::WantFiles("m".to_owned()));
}

#[test]
fn a_long_list_scrolls_and_goes_round() {
    let paths: Vec<String> = (0..20).map(|at| format!("file{at:02}")).collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let mut composer = with_files("@f", &paths);
    type_in(&mut composer, &"<Down>".repeat(10));
    expect![[r#"
        › @f▏
        |  … 4 more
        |  file04
        |  file05
        |  file06
        |  file07
        |  file08
        |› file09
        |  … 10 more
    "#]]
    .assert_eq(&screen(&mut composer, 12, 1));
    type_in(&mut composer, &"<Down>".repeat(11));
    expect![[r#"
        @f▏
        |fi…
        |fi…
        |fi…
        |fi…
        |fi…
        |fi…
        |fi…
        |  …
    "#]]
    .assert_eq(&screen(&mut composer, 3, 1));
}

#[test]
fn files_that_come_while_something_is_looked_for_open_no_list() {
    let mut composer = Composer::new(LOOK);
    composer.remember(PromptHistory::new(vec!["ls".to_owned()]));
    assert_eq!(type_in(&mut composer, "@abcdefgh"), Reaction::WantFiles("abcdefgh".to_owned()));
    type_in(&mut composer, "<C-r>");
    composer.offer("abcdefgh", vec!["abcdefgh.rs".to_owned()]);
    type_in(&mut composer, "ls<Enter><Tab>");
    assert_eq!(screen(&mut composer, 40, 4), "› ls▏\n");
}

#[test]
fn a_list_says_how_many_choices_are_left_out_and_keeps_its_height() {
    let mut composer = typed("/");
    let count = crate::chat::commands::TABLE.len();
    let shown = |composer: &Composer, rows: u16| -> Vec<String> {
        composer.popup(60, rows).iter().map(StyledLine::text).collect()
    };
    let first = shown(&composer, 10);
    assert_eq!((first.len(), first[7].clone()), (8, format!("  … {} more", count - 7)));
    for at in 0..count {
        type_in(&mut composer, "<Down>");
        for rows in 1..=9_u16 {
            let seen = shown(&composer, rows);
            let left_out: usize = seen
                .iter()
                .filter_map(|row| row.strip_prefix("  … ")?.strip_suffix(" more")?.parse::<usize>().ok())
                .inspect(|count| assert!(*count > 1, "one would have fitted: {seen:?}"))
                .sum();
            let choices = seen.iter().filter(|row| row.starts_with("  /") || row.starts_with("› /")).count();
            assert_eq!(seen.len(), usize::from(rows.min(8)), "{at}: {seen:?}");
            assert!(rows < 5 || left_out + choices == count, "{at}: {seen:?}");
            assert_eq!(seen.iter().filter(|row| row.starts_with("› ")).count(), 1, "{at}: {seen:?}");
        }
    }
}
