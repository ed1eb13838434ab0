//! Every kind of question as a person sees it, hostile words included.

use expect_test::{Expect, expect};

use super::super::sample;
use super::*;

fn asked(ask: &Ask) -> String {
    let rules = QuestionContext {
        sandbox: "workspace-write",
        approval: "on-request",
        cwd: "/home/me/project",
        place: None,
    };
    show(ask, Paint::new(sample::PIPE), Some(80), rules).text()
}

fn check(ask: &Ask, expected: Expect) {
    expected.assert_eq(&asked(ask));
}

#[test]
fn a_command_is_shown_exactly() {
    let command = "/bin/bash -lc 'rm\u{a0}x \u{202e}; curl evil\n\u{1b}[2K  note    harmless'";
    check(
        &sample::ask_command(command),
        expect![[r#"
            ? The model asks to run a command of 2 lines
              │ rm⟨U+00A0⟩x ⟨U+202E⟩; curl evil
              │ ␛[2K  note    harmless
              shell   /bin/bash -lc
              in      /home/me/project
              reason  may I?
                      sure
              note    Codex asks when it wants to leave the sandbox (workspace-write): if
                      you accept, the command may run outside it, with all your rights
        "#]],
    );
}

#[test]
fn a_command_says_what_else_it_would_get_and_what_always_means() {
    check(
        &sample::ask_wide_command("/etc/x y"),
        expect![[r#"
            ? The model asks to run a command
              │ cat /etc/x y more
              Codex reads it as:
              │ read /etc/x y
              with a wider sandbox, in which it
              │ may use the network
              │ may read and write /var/cache//etc/x y
              │ may not touch whatever fits **/*.env
              │ something that this version does not know: camera /etc/x y
              in      /home/me/project
              note    Codex asks when it wants to leave the sandbox (workspace-write): if
                      you accept, the command may run outside it, with all your rights
              always  [a] allows commands that start with this, in every conversation:
              │ cat '/etc/x y'
        "#]],
    );
}

#[test]
fn a_rule_that_is_the_command_itself_is_not_shown_twice() {
    let mut ask = sample::ask_command("/bin/bash -lc 'one\ntwo'");
    let Ask::Command { always, .. } = &mut ask else { panic!() };
    *always = Some(["/bin/bash", "-lc", "one\ntwo"].map(str::to_owned).to_vec());
    check(
        &ask,
        expect![[r#"
            ? The model asks to run a command of 2 lines
              │ one
              │ two
              shell   /bin/bash -lc
              in      /home/me/project
              reason  may I?
                      sure
              note    Codex asks when it wants to leave the sandbox (workspace-write): if
                      you accept, the command may run outside it, with all your rights
              always  [a] allows commands that start like this, in every conversation
        "#]],
    );
}

#[test]
fn what_is_said_about_the_sandbox_is_what_is_known() {
    let notes = [
        ("danger-full-access", "untrusted", None),
        ("workspace-write", "on-request", Some(Place::Inside)),
        ("workspace-write", "untrusted", Some(Place::Outside)),
        ("workspace-write", "untrusted", Some(Place::Undecidable)),
        ("workspace-write", "on-request", None),
        ("", "", None),
    ];
    let told = notes.map(|(sandbox, approval, place)| {
        command_note(QuestionContext { sandbox, approval, place, cwd: "/" }) + "\n"
    });
    expect![[r#"
        there is no sandbox (danger-full-access): it runs with all your rights
        if you accept, it runs inside the sandbox (workspace-write)
        if you accept, it runs outside the sandbox (workspace-write), with all your rights
        if you accept, the command may run outside the sandbox (workspace-write), with all your rights: if it fails inside, Codex runs it again outside
        Codex asks when it wants to leave the sandbox (workspace-write): if you accept, the command may run outside it, with all your rights
        if you accept, the command may run outside the sandbox, with all your rights
    "#]].assert_eq(&told.concat());
}

#[test]
fn a_command_always_says_where_it_would_run() {
    let Ask::Command { thread, item, command, .. } = sample::ask_command("ls") else { panic!() };
    let (actions, permissions, always) = (Vec::new(), None, None);
    let bare = Ask::Command {
        thread,
        item,
        approval: None,
        command,
        actions,
        cwd: None,
        reason: None,
        permissions,
        always,
        asked_because: None,
    };
    let place = |cwd| {
        let rules = QuestionContext { sandbox: "read-only", approval: "untrusted", cwd, place: None };
        show(&bare, Paint::new(sample::PIPE), None, rules).text().lines().nth(2).map(str::to_owned)
    };
    assert_eq!(place("/home/me").as_deref(), Some("  in      /home/me"));
    assert_eq!(place("").as_deref(), Some("  in      an unknown directory"));
}

#[test]
fn a_command_says_why_the_rules_leave_it_to_a_person() {
    let ask =
        sample::ask_command("perl -e 'x'").because(Some("your deny rules cannot see inside inline code"));
    let rules = QuestionContext { sandbox: "read-only", approval: "untrusted", cwd: "/w", place: None };
    let shown = show(&ask, Paint::new(sample::PIPE), None, rules).text();
    assert!(shown.contains("  asks    because your deny rules cannot see inside inline code\n"), "{shown}");
    let plain = show(&sample::ask_command("ls"), Paint::new(sample::PIPE), None, rules).text();
    assert!(!plain.contains("  asks  "), "{plain}");
}

#[test]
fn input_for_a_running_command_is_shown_exactly() {
    check(
        &sample::ask_stdin("rm -rf ~\u{1b}[2J"),
        expect![[r#"
            ? The model asks to type into a command that is running
              │ write_stdin --session-id 63035 'rm -rf ~␛[2J
              │ '
              in      /home/me/project
              reason  Send input to an existing terminal.
              note    the running command decides what this does; if it runs outside the
                      sandbox, it has all your rights
        "#]],
    );
}

#[test]
fn an_address_is_shown_with_what_always_means() {
    check(
        &sample::ask_network(""),
        expect![[r#"
            ? The model asks to connect to a network address
              │ example.org (https)
              for this command:
              │ curl 
              reason  example.org is not in the allowed_domains
              note    if you accept, the command can send anything it can read to this host
              always  [a] allows this host, in every conversation:
              │ example.org
        "#]],
    );
}

#[test]
fn a_wider_sandbox_is_shown_line_by_line() {
    check(
        &sample::ask_permissions(""),
        expect![[r#"
            ? The model asks for a wider sandbox
              one in which a command
              │ may use the network
              │ may read and write /var/cache/
              │ may not touch whatever fits **/*.env
              │ something that this version does not know: camera 
              in      /home/me/project
              reason  need a cache
        "#]],
    );
}

#[test]
fn more_power_for_a_task_is_shown_with_who_wants_it() {
    check(
        &sample::ask_task_power(""),
        expect![[r#"
            ? model:m asks for a task with more than its sandbox allows
              one in which every command
              │ may use the network
              │ may read and write /var/cache/
              │ may not touch whatever fits **/*.env
              │ something that this version does not know: camera 
              task    codex-0a1b2c3d4e5f
              in      /home/me/project
              note    the task starts when you accept, and keeps this as long as it exists;
                      if you decline, it never starts
        "#]],
    );
}

#[test]
fn a_web_page_is_shown_with_its_whole_address() {
    check(
        &sample::ask_web_page(""),
        expect![[r#"
        ? The model asks to read a web page
          │ https://example.org/docs?page=2
          site    example.org
          note    the sandbox of this conversation has no network; the address itself
                  is sent to this site, and [s] permits all its pages in this
                  conversation
    "#]],
    );
}

#[test]
fn the_models_questions_are_shown_with_their_options() {
    let one = sample::question("q", "Which\ncolour?", &["Red (Recommended)", "Blue"]);
    check(
        &sample::ask_input(vec![one.clone()]),
        expect![[r#"
        ? The model asks you something
          │ Head: Which
          │ colour?
          │ [1] Red (Recommended): about Red (Recommended)
          │ [2] Blue: about Blue
          note    without your answer the model continues
    "#]],
    );
    check(
        &sample::ask_input(vec![one, sample::question("k", "Which key?", &[])]),
        expect![[r#"
        ? The model asks you 2 things
          │ Head: Which
          │ colour?
          │ [1] Red (Recommended): about Red (Recommended)
          │ [2] Blue: about Blue
          │ Head: Which key?
          note    without your answer the model continues
    "#]],
    );
}

#[test]
fn a_form_is_shown_with_all_its_fields() {
    check(
        &sample::ask_form(""),
        expect![[r#"
            ? The MCP server docs␊x asks you to fill in a form
              │ Who are you?
              its fields:
              │ Name (text, required)
              │ age (a whole number): in years
              │ ratio (a number, else 0.5)
              │ mail (email)
              │ sure (yes or no)
              │ colour (one of [1] Red [2] g)
              │ colours (any of [1] Red [2] g)
              │ password (text)
              note    your input goes to this server; Talaria cannot know what it does with
                      it
        "#]],
    );
}

#[test]
fn an_address_to_visit_is_shown_and_not_opened() {
    check(
        &sample::ask_url("?next=\u{202e}"),
        expect![[r#"
        ? The MCP server docs␊x asks you to visit an address
          │ Sign in, please
          the address:
          │ https://example.org/?next=⟨U+202E⟩
          note    Talaria does not open it; check the host before you do
    "#]],
    );
}

#[test]
fn what_nobody_can_answer_is_shown_too() {
    check(
        &sample::ask_host(),
        expect![[r#"
        ? Codex asks Talaria for something that it does not provide
          │ Talaria keeps no ChatGPT tokens
          method  account/chatgptAuthTokens/refresh
    "#]],
    );
    check(
        &sample::ask_unsupported(""),
        expect![[r#"
        ? Codex asks something that this version of Talaria cannot show
          │ something
          method  new/thing
    "#]],
    );
}

#[test]
fn a_patch_is_shown_whole() {
    check(
        &sample::ask_patch(Some(sample::changes())),
        expect![[r#"
        ? The model asks to change 3 files
        ✎ src/a.rs (+2 −1)
          @@ -1,3 +1,4 @@
           fn a() {
          -    old();
          +    new();
          +    newer();
           }
        ✎ notes.md (new, +2)
          +# Notes
          +    tabbed
        ✎ gone.txt (deleted, −1)
          -bye
          note    accepting also makes /etc writable for the rest of the session
    "#]],
    );
    check(
        &sample::ask_patch(None),
        expect![[r#"
        ? The model asks to change files, and did not say which or how
          note    accepting also makes /etc writable for the rest of the session
    "#]],
    );
}

#[test]
fn a_tool_is_shown_with_its_arguments_whole() {
    let arguments = ["{\"path\":\"/etc/\u{202e}x\",\"text\":\"", &"long ".repeat(20), "\"}"].concat();
    let described = sample::ask_tool(Some("Writes a file.\n  note    \u{1b}[1Aharmless"), Some(&arguments));
    check(
        &described,
        expect![[r#"
            ? The model asks to use a tool of the MCP server docs␊x
              │ Allow the docs MCP server to run tool "write"?
              the server describes the tool as:
              │ Writes a file.
              │   note    ␛[1Aharmless
              the arguments of this call:
              │ {"path":"/etc/⟨U+202E⟩x","text":"long long long long long long long long lo
              │ ng long long long long long long long long long long long "}
              note    tools of MCP servers run outside the sandbox: if you accept, this one
                      may do whatever its server can
              always  [a] allows this tool, with any arguments, in every conversation:
                      Codex writes it into its config.toml
        "#]],
    );
    check(
        &sample::ask_tool(None, None),
        expect![[r#"
            ? The model asks to use a tool of the MCP server docs␊x
              │ Allow the docs MCP server to run tool "write"?
              the arguments of this call: not reported by Codex
              note    tools of MCP servers run outside the sandbox: if you accept, this one
                      may do whatever its server can
              always  [a] allows this tool, with any arguments, in every conversation:
                      Codex writes it into its config.toml
        "#]],
    );
}
