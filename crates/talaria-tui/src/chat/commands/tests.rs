//! Slash commands and their parsing.

use expect_test::expect;

use super::*;
use talaria_render::Look;

const PIPE: Look = Look { color: false, width: Some(80), live: false, unicode: true };

#[test]
fn every_example_of_the_table_is_read_as_its_own_command() {
    for one in TABLE {
        let command = parse(one.example).unwrap_or_else(|mistake| panic!("{}: {mistake}", one.example));
        assert_eq!(definition(&command).map(|found| found.name), Some(one.name), "{}", one.example);
    }
}

#[test]
fn no_name_stands_for_two_commands() {
    let mut names: Vec<_> =
        TABLE.iter().flat_map(|one| std::iter::once(&one.name).chain(one.aliases)).collect();
    let count = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), count);
}

#[test]
fn help_lists_every_command() {
    expect![[r#"
        /new                        start a new conversation; the old one is kept
        /resume [SESSION]           resume a conversation, or choose one
        /sessions                   list conversations, latest activity first
        /search WORDS               search the text of all conversations
        /model [[PROVIDER] MODEL]   choose the model from the next turn on
        /reasoning [EFFORT]         choose the reasoning effort from the next turn
        /permissions [WORD…]        show or change sandbox, approvals, network, folders
        /diff                       show what is not committed in the folder
        /copy                       copy the last answer to the clipboard
        /compact                    shorten the model's context
        /fork [--at TURN | --before-compaction]
                                    continue this conversation in another one
        /undo                       undo the last turn; its changes to files stay
        /retry                      undo the last turn and send its input again
        /rename TITLE               change the title of this conversation
        /usage                      show the tokens used and the limits of the account
        /context                    show what every part of the prompt costs
        /memory [ACTION] …          list what is remembered, undo, approve, …
        /status                     show conversation, permissions and turn
        /tasks                      list background tasks
        /task ACTION [TASK] …       start, show, watch, … tasks; see /task --help
        /ps [ID | stop ID [--all]]  list background commands, show or stop one
        /skills [ACTION NAME]       list skills, decide what models propose
        /requests                   list the open requests
        /approve [REQUEST] [once|session|always]
                                    approve a request, by default the one shown
        /deny [REQUEST] [REASON]    decline a request, with a reason for the model
        /stop                       stop the running turn; the conversation is kept
        /steer TEXT                 send a message to the running turn
        /queue TEXT                 queue a message for the next turn
        /codex-runtime [auto|codex_app_server|on|off]
                                    show or choose the runtime of turns
        /login [device|cancel]      log in to Codex with ChatGPT
        /export [FILE]              write the conversation to a file
        /theme [terminal|contrast|mono]
                                    show or choose the theme
        /help [COMMAND]             list the commands, or explain one
        /quit                       leave; turns and tasks continue
        !COMMAND                    run a shell command in the conversation's sandbox
        @FILE                       name a file; on the screen Tab or an arrow chooses
                                    it
        //TEXT                      send a text that begins with a slash
    "#]]
    .assert_eq(&help(None, PIPE).unwrap().text());
}

#[test]
fn keys_are_told_in_a_row_each() {
    expect![[r#"
        Enter                send; during a turn: steer or queue, as shown
        Esc                  close a list or panel, else stop the running turn
        Ctrl-C               stop a ! command, else the turn, else clear; twice: leave
        Ctrl-D               leave, if the input is empty; turns continue
        y s a n r x, 1-9     answer a request: the keys beside its choices
        Up, Down, Enter      mark a choice of a request, and take the marked one
        u                    accept a long patch after the list of its files
        Ctrl-G               switch between a request and the input
        F1, ?                show the keys
        F2                   show the open requests of all conversations
        Shift-Tab            switch between the modes auto and approval-required
        F3                   choose whether Enter steers or queues
        PageUp, PageDown     scroll; Shift-Up, Shift-Down: by a row
        Ctrl-Home, Ctrl-End  go to the beginning or the end of the conversation
        Ctrl-O, Alt-O        expand the last step, again: the one before it; or all
        Up, Down             move between rows, then through sent messages
        Ctrl-V               insert the image or the text of the clipboard
        Ctrl-R               search sent messages
        Tab                  choose from a list and insert it
        Alt-Enter, Ctrl-J    start a new line; so does a backslash before Enter
        Ctrl-A, Ctrl-E       go to the beginning or the end of the line
        Alt-B, Alt-F         go back or forward one word
        Ctrl-W, Alt-D        cut the word before or after the cursor
        Ctrl-U, Ctrl-K       cut the line up to or from the cursor
        Ctrl-Y               paste what was cut
        Ctrl-_, Alt-_        undo, redo
        Ctrl-Z               suspend the program; `fg` returns
    "#]]
    .assert_eq(&keys(PIPE).text());
}

#[test]
fn help_fits_a_narrow_window() {
    let text = help(None, Look { width: Some(32), ..PIPE }).unwrap().text();
    expect![[r#"
        /new
          start a new conversation; the
          old one is kept
        /resume [SESSION]
          resume a conversation, or
          choose one"#]]
    .assert_eq(&text.lines().take(6).collect::<Vec<_>>().join("\n"));
}

#[test]
fn help_tells_about_one_command() {
    let mut text = String::new();
    for name in ["approve", "/q", "steer", "stp"] {
        text += &help(Some(name), PIPE).map_or_else(|mistake| format!("{mistake}\n"), |help| help.text());
    }
    expect![[r#"
        /approve [REQUEST] [once|session|always]
          approve a request, by default the one shown
          also: /yes
          example: /approve req-1a2b3c session
        /quit
          leave; turns and tasks continue
          also: /exit, /q
          example: /quit
        /steer TEXT
          send a message to the running turn
          needs a running turn
          example: /steer leave the tests alone
        there is no command /stp; did you mean /stop? // at the start sends the line as text
    "#]]
    .assert_eq(&text);
}

#[test]
fn arguments_are_read() {
    let mut told = String::new();
    for line in [
        "/NEW",
        "/resume",
        "/resume 'a b'",
        "/search  two  words ",
        "/task send codex-1 \"two words\" --wait",
        "/approve",
        "/approve req-1",
        "/approve always req-1",
        "/deny",
        "/deny req-1",
        "/deny req-1 not here",
        "/deny too dangerous",
        "/steer a\nb",
        "/codex-runtime ON",
        "/exit",
    ] {
        told += &format!("{line:?} {:?}\n", parse(line).unwrap());
    }
    expect![[r#"
        "/NEW" New
        "/resume" Resume(None)
        "/resume 'a b'" Resume(Some("a b"))
        "/search  two  words " Search("two  words")
        "/task send codex-1 \"two words\" --wait" Task("send codex-1 \"two words\" --wait")
        "/approve" Approve { request: None, decision: Accept }
        "/approve req-1" Approve { request: Some("req-1"), decision: Accept }
        "/approve always req-1" Approve { request: Some("req-1"), decision: AcceptAlways }
        "/deny" Deny { request: None, reason: None }
        "/deny req-1" Deny { request: Some("req-1"), reason: None }
        "/deny req-1 not here" Deny { request: Some("req-1"), reason: Some("not here") }
        "/deny too dangerous" Deny { request: None, reason: Some("too dangerous") }
        "/steer a\nb" Steer("a\nb")
        "/codex-runtime ON" CodexRuntime(Some("on"))
        "/exit" Quit
    "#]]
    .assert_eq(&told);
}

#[test]
fn mistakes_say_what_to_do() {
    let mut told = String::new();
    for line in [
        "/",
        "/ new",
        "/sesions",
        "/xyzzy",
        "/new now",
        "/search",
        "/task",
        "/resume 'open",
        "/model a b c",
        "/theme dark",
        "/approve maybe",
        "/approve req-1 req-2",
        "/approve once always",
        "!",
        "/\u{1b}[2J",
    ] {
        told += &format!("{line:?} {}\n", read(line).unwrap_err());
    }
    expect![[r#"
        "/" there is no command after the slash; /help lists them; // sends a slash
        "/ new" there is no command after the slash; /help lists them; // sends a slash
        "/sesions" there is no command /sesions; did you mean /sessions? // at the start sends the line as text
        "/xyzzy" there is no command /xyzzy; /help lists the commands; $NAME uses a skill; // at the start sends the line as text
        "/new now" /new takes no argument; usage: /new
        "/search" /search needs a text; usage: /search WORDS
        "/task" /task needs one of: list, show, watch, start, send, steer, interrupt, apply, discard, notify; usage: /task ACTION [TASK] …
        "/resume 'open" a quote is not closed; usage: /resume [SESSION]
        "/model a b c" /model takes two words at most; usage: /model [[PROVIDER] MODEL]
        "/theme dark" /theme does not take dark; usage: /theme [terminal|contrast|mono]
        "/approve maybe" /approve cannot use maybe; usage: /approve [REQUEST] [once|session|always]
        "/approve req-1 req-2" /approve cannot use req-2; usage: /approve [REQUEST] [once|session|always]
        "/approve once always" /approve cannot use always; usage: /approve [REQUEST] [once|session|always]
        "!" there is nothing to run; type a shell command after the !, such as !git status
        "/\u{1b}[2J" there is no command /␛[2J; /help lists the commands; $NAME uses a skill; // at the start sends the line as text
    "#]].assert_eq(&told);
}
