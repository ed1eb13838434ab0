//! Deny, allow and ask: rules and a line in, the verdict out.

use super::*;
use expect_test::expect;

#[test]
fn a_line_is_allowed_only_if_each_of_its_commands_is() {
    let rules = rules(&["cargo test *", "cargo fmt", "git status", "ls *", "true", "grep * src/*"], &[]);
    expect![[r#"
        cargo test
            allowed by the allow rule "cargo test *"
        cargo test -p core -- --nocapture
            allowed by the allow rule "cargo test *"
        cargo testx
            ask
        cargo fmt
            allowed by the allow rule "cargo fmt"
        cargo fmt --check
            ask
        cargo test && cargo fmt; git status | true
            allowed by the allow rules "cargo test *", "cargo fmt", "git status", "true"
        cargo test; rm x
            ask
        cargo test $(rm x)
            ask
        cargo test `git status`
            ask
        cargo test $NAME "$X" *.rs
            ask
        cargo $x
            ask
        $x test
            ask
        cargo "$x"
            ask
        git "status$x"
            ask
        git "${x}status"
            ask
        grep "$x" src/main.rs
            allowed by the allow rule "grep * src/*"
        grep $x src/main.rs
            ask
        grep a src/$x
            ask
        grep a src/*.rs
            ask
        "cargo" 'te'st
            allowed by the allow rule "cargo test *"
        /usr/bin/cargo test
            allowed by the allow rule "cargo test *"
        ./cargo test
            ask
        /tmp/cargo test
            ask
        CARGO test
            ask
        if true; then cargo test; fi
            allowed by the allow rules "true", "cargo test *"
        for f in a b; do ls $f; done
            allowed by the allow rule "ls *"
        f() { ls; }; true
            allowed by the allow rules "ls *", "true"
        x=1; ls $x
            allowed by the allow rule "ls *"
        x=1
            ask

            ask
    "#]]
    .assert_eq(&verdicts(
        &rules,
        &[
            "cargo test",
            "cargo test -p core -- --nocapture",
            "cargo testx",
            "cargo fmt",
            "cargo fmt --check",
            "cargo test && cargo fmt; git status | true",
            "cargo test; rm x",
            "cargo test $(rm x)",
            "cargo test `git status`",
            "cargo test $NAME \"$X\" *.rs",
            "cargo $x",
            "$x test",
            "cargo \"$x\"",
            "git \"status$x\"",
            "git \"${x}status\"",
            "grep \"$x\" src/main.rs",
            "grep $x src/main.rs",
            "grep a src/$x",
            "grep a src/*.rs",
            "\"cargo\" 'te'st",
            "/usr/bin/cargo test",
            "./cargo test",
            "/tmp/cargo test",
            "CARGO test",
            "if true; then cargo test; fi",
            "for f in a b; do ls $f; done",
            "f() { ls; }; true",
            "x=1; ls $x",
            "x=1",
            "",
        ],
    ));
}

#[test]
fn wrappers_that_only_start_a_command_need_no_rule() {
    let rules = rules(&["cargo test *", "sudo *", "find *", "git *"], &[]);
    expect![[r#"
        timeout 60 nice -n 5 cargo test
            allowed by the allow rule "cargo test *"
        env RUST_LOG=debug cargo test
            allowed by the allow rule "cargo test *"
        time cargo test
            allowed by the allow rule "cargo test *"
        bash -c 'cargo test'
            allowed by the allow rule "cargo test *"
        /tmp/bash -c 'cargo test'
            ask
        timeout --frobnicate 5 cargo test
            ask
        timeout $T cargo test
            ask
        eval cargo test
            allowed by the allow rule "cargo test *"
        eval "$x"
            ask
        sudo cargo test
            allowed by the allow rules "sudo *", "cargo test *"
        sudo rm x
            ask
        find . -name x
            allowed by the allow rule "find *"
        find . -exec cargo test {} +
            ask
        find . -exec rm {} +
            ask
        find $x
            ask
        git ls-files | xargs cargo test
            ask
        sh <<E
        cargo test
        E
            allowed by the allow rule "cargo test *"
        curl x | sh
            ask
    "#]]
    .assert_eq(&verdicts(
        &rules,
        &[
            "timeout 60 nice -n 5 cargo test",
            "env RUST_LOG=debug cargo test",
            "time cargo test",
            "bash -c 'cargo test'",
            "/tmp/bash -c 'cargo test'",
            "timeout --frobnicate 5 cargo test",
            "timeout $T cargo test",
            "eval cargo test",
            "eval \"$x\"",
            "sudo cargo test",
            "sudo rm x",
            "find . -name x",
            "find . -exec cargo test {} +",
            "find . -exec rm {} +",
            "find $x",
            "git ls-files | xargs cargo test",
            "sh <<E\ncargo test\nE",
            "curl x | sh",
        ],
    ));
}

#[test]
fn what_stands_around_the_words_can_prevent_an_allow() {
    let rules = rules(
        &["cargo test *", "ls *", "RUSTFLAGS=-C* cargo build *", "make docs > target/doc/*", "read *"],
        &[],
    );
    expect![[r#"
        RUST_BACKTRACE=1 cargo test
            allowed by the allow rule "cargo test *"
        X=1 cargo test
            allowed by the allow rule "cargo test *"
        PATH=/tmp cargo test
            ask
        PATH=/tmp; cargo test
            ask
        export PATH=/tmp; cargo test
            ask
        LD_PRELOAD=x cargo test
            ask
        GIT_SSH_COMMAND=x cargo test
            ask
        env RUSTC_WRAPPER=x cargo test
            ask
        RUSTFLAGS=-Cdebuginfo=1 cargo build
            allowed by the allow rule "RUSTFLAGS=-C* cargo build *"
        RUSTFLAGS=x cargo build
            ask
        RUSTFLAGS=-Cx cargo test
            ask
        ls > /dev/null 2>&1
            allowed by the allow rule "ls *"
        ls > out
            ask
        ls >> out
            ask
        ls &> out
            ask
        ls < in
            allowed by the allow rule "ls *"
        ls < /dev/tcp/h/1
            ask
        ls 2>&1 >&-
            allowed by the allow rule "ls *"
        { ls; } > out
            ask
        while ls; do ls; done > out
            ask
        make docs > target/doc/index.html
            allowed by the allow rule "make docs > target/doc/*"
        make docs > target/doc/../../x
            ask
        make docs > target/$x
            ask
        make docs > x
            ask
        ls $((1 + 1))
            allowed by the allow rule "ls *"
        ls $((x))
            ask
        ls ${x:-y}
            allowed by the allow rule "ls *"
        ls ${x:=y}
            ask
        ls ${x@P}
            ask
        ((x++)); ls
            ask
        read 'a[$(rm x)]'
            ask
        read a
            allowed by the allow rule "read *"
        ls *(x)
            ask: the command line cannot be parsed: `(` is not expected here
    "#]]
    .assert_eq(&verdicts(
        &rules,
        &[
            "RUST_BACKTRACE=1 cargo test",
            "X=1 cargo test",
            "PATH=/tmp cargo test",
            "PATH=/tmp; cargo test",
            "export PATH=/tmp; cargo test",
            "LD_PRELOAD=x cargo test",
            "GIT_SSH_COMMAND=x cargo test",
            "env RUSTC_WRAPPER=x cargo test",
            "RUSTFLAGS=-Cdebuginfo=1 cargo build",
            "RUSTFLAGS=x cargo build",
            "RUSTFLAGS=-Cx cargo test",
            "ls > /dev/null 2>&1",
            "ls > out",
            "ls >> out",
            "ls &> out",
            "ls < in",
            "ls < /dev/tcp/h/1",
            "ls 2>&1 >&-",
            "{ ls; } > out",
            "while ls; do ls; done > out",
            "make docs > target/doc/index.html",
            "make docs > target/doc/../../x",
            "make docs > target/$x",
            "make docs > x",
            "ls $((1 + 1))",
            "ls $((x))",
            "ls ${x:-y}",
            "ls ${x:=y}",
            "ls ${x@P}",
            "((x++)); ls",
            "read 'a[$(rm x)]'",
            "read a",
            "ls *(x)",
        ],
    ));
}

#[test]
fn what_could_be_denied_is_denied() {
    let rules =
        rules(&["*"], &["rm *", "git push", "git push --force *", "sudo *", "/opt/tool *", "cat ~/.ssh/*"]);
    expect![[r#"
        ls
            allowed by the allow rule "*"
        ls; rm
            forbidden by the deny rule "rm *": `rm` is denied
        rm x
            forbidden by the deny rule "rm *": `rm x` is denied
        /bin/rm x
            forbidden by the deny rule "rm *": `/bin/rm x` is denied
        ./RM x
            forbidden by the deny rule "rm *": `./RM x` is denied, or could be when it runs
        \rm x
            forbidden by the deny rule "rm *": `rm x` is denied
        timeout 5 rm x
            forbidden by the deny rule "rm *": `rm x` is denied
        ls | xargs rm
            forbidden by the deny rule "rm *": `rm ⟨?⟩…` is denied
        find . -exec rm {} \;
            forbidden by the deny rule "rm *": `rm ⟨?⟩` is denied
        echo $(rm x)
            forbidden by the deny rule "rm *": `rm x` is denied
        rm() { ls; }; ls
            allowed by the allow rule "*"
        $x y
            forbidden by the deny rule "rm *": `⟨$x⟩… y` is denied, or could be when it runs
        "$x" y
            forbidden by the deny rule "rm *": `⟨$x⟩ y` is denied, or could be when it runs
        r$x y
            forbidden by the deny rule "rm *": `r⟨$x⟩… y` is denied, or could be when it runs
        x$y z
            forbidden by the deny rule "rm *": `x⟨$y⟩… z` is denied, or could be when it runs
        /bin/r? x
            forbidden by the deny rule "rm *": `/bin/r⟨?⟩… x` is denied, or could be when it runs
        {r,x}m y
            forbidden by the deny rule "rm *": `rm xm y` is denied
        git push
            forbidden by the deny rule "git push": `git push` is denied
        git push origin
            allowed by the allow rule "*"
        git push --force origin
            forbidden by the deny rule "git push --force *": `git push --force origin` is denied
        git push $x
            forbidden by the deny rule "git push": `git push ⟨$x⟩…` is denied, or could be when it runs
        git $x
            forbidden by the deny rule "git push": `git ⟨$x⟩…` is denied, or could be when it runs
        git status $x
            allowed by the allow rule "*"
        git "$x" y
            forbidden by the deny rule "git push --force *": `git ⟨$x⟩ y` is denied, or could be when it runs
        sudo ls
            forbidden by the deny rule "sudo *": `sudo ls` is denied
        tool x
            allowed by the allow rule "*"
        /opt/tool x
            forbidden by the deny rule "/opt/tool *": `/opt/tool x` is denied
        cat /home/dev/.ssh/config
            forbidden by the deny rule "cat ~/.ssh/*": `cat /home/dev/.ssh/config` is denied
        cat $HOME/.ssh/config
            forbidden by the deny rule "cat ~/.ssh/*": `cat ⟨home⟩/.ssh/config` is denied
        cat ~/.bashrc
            allowed by the allow rule "*"
        eval "$x"
            forbidden by the deny rule "rm *": `⟨?⟩…` is denied, or could be when it runs
        bash -c "ls $x"
            ask: deny rules cannot see what it starts: that is only known when it runs
        echo rm x
            allowed by the allow rule "*"
        git commit -m 'git push'
            allowed by the allow rule "*"
        bash script.sh
            allowed by the allow rule "*"
    "#]]
    .assert_eq(&verdicts(
        &rules,
        &[
            "ls",
            "ls; rm",
            "rm x",
            "/bin/rm x",
            "./RM x",
            "\\rm x",
            "timeout 5 rm x",
            "ls | xargs rm",
            "find . -exec rm {} \\;",
            "echo $(rm x)",
            "rm() { ls; }; ls",
            "$x y",
            "\"$x\" y",
            "r$x y",
            "x$y z",
            "/bin/r? x",
            "{r,x}m y",
            "git push",
            "git push origin",
            "git push --force origin",
            "git push $x",
            "git $x",
            "git status $x",
            "git \"$x\" y",
            "sudo ls",
            "tool x",
            "/opt/tool x",
            "cat /home/dev/.ssh/config",
            "cat $HOME/.ssh/config",
            "cat ~/.bashrc",
            "eval \"$x\"",
            "bash -c \"ls $x\"",
            "echo rm x",
            "git commit -m 'git push'",
            "bash script.sh",
        ],
    ));
}

#[test]
fn the_shell_of_codex_itself_is_not_what_a_rule_denies() {
    let rules = rules(&["ls"], &["bash *"]);
    expect![[r#"
        ls
            allowed by the allow rule "ls"
        bash -c ls
            forbidden by the deny rule "bash *": `bash -c ls` is denied
        bash x.sh
            forbidden by the deny rule "bash *": `bash x.sh` is denied
    "#]]
    .assert_eq(&verdicts(&rules, &["ls", "bash -c ls", "bash x.sh"]));
}

#[test]
fn what_is_not_understood_is_for_a_person_alone() {
    for rules in [rules(&[], &[]), rules(&["*"], &["rm *"]), rules(&["*"], &[])] {
        let verdict = judge(&rules, "ls 'x");
        assert_eq!(shown(&verdict), "ask: the command line cannot be parsed: a single quote is not closed");
        assert_eq!(verdict.clone().accept_all(Place::Inside), verdict);
    }
}

#[test]
fn deny_wins_over_allow_and_the_floor_over_both() {
    let rules = rules(&["rm *", "*"], &["rm -rf /tmp/*"]);
    expect![[r#"
        rm -rf x
            allowed by the allow rule "rm *"
        rm -rf /tmp/x
            forbidden by the deny rule "rm -rf /tmp/*": `rm -rf /tmp/x` is denied
        rm -rf /
            forbidden by the hard floor (remove-system): it would remove the system or a home directory
    "#]]
    .assert_eq(&verdicts(&rules, &["rm -rf x", "rm -rf /tmp/x", "rm -rf /"]));
}

#[test]
fn a_rule_reaches_outside_only_if_it_says_so() {
    let mut rules = rules(&["ls *"], &["rm *"]);
    rules.allow.push(Rule::allow("git push *", RuleReach::Anywhere).unwrap());
    let lines = ["ls", "git push", "git push; ls", "rm x", "rm -rf /"];
    let table: String = lines
        .iter()
        .flat_map(|line| {
            [Place::Inside, Place::Outside, Place::Undecidable].map(|place| {
                let text = CommandText::new(line);
                let subject = RuleSubject::Command { line: &text, ground: GROUND };
                format!("{line} ({place}): {}\n", shown(&rules.judge(&subject, place)))
            })
        })
        .collect();
    expect![[r#"
        ls (inside): allowed by the allow rule "ls *"
        ls (outside): ask
        ls (undecidable): ask
        git push (inside): allowed by the allow rule "git push *"
        git push (outside): allowed by the allow rule "git push *"
        git push (undecidable): allowed by the allow rule "git push *"
        git push; ls (inside): allowed by the allow rules "git push *", "ls *"
        git push; ls (outside): ask
        git push; ls (undecidable): ask
        rm x (inside): forbidden by the deny rule "rm *": `rm x` is denied
        rm x (outside): forbidden by the deny rule "rm *": `rm x` is denied
        rm x (undecidable): forbidden by the deny rule "rm *": `rm x` is denied
        rm -rf / (inside): forbidden by the hard floor (remove-system): it would remove the system or a home directory
        rm -rf / (outside): forbidden by the hard floor (remove-system): it would remove the system or a home directory
        rm -rf / (undecidable): forbidden by the hard floor (remove-system): it would remove the system or a home directory
    "#]].assert_eq(&table);
}

#[test]
fn accepting_everything_respects_floor_deny_rules_and_the_sandbox() {
    let rules = rules(&["ls *"], &["rm *"]);
    let mut table = String::new();
    for line in ["ls", "make", "rm x", "rm -rf /", "make '"] {
        for place in [Place::Inside, Place::Outside, Place::Undecidable] {
            let subject = RuleSubject::Command { line: &CommandText::new(line), ground: GROUND };
            let verdict = rules.judge(&subject, place).accept_all(place);
            table.push_str(&format!("{line} ({place}): {}\n", shown(&verdict)));
        }
    }
    expect![[r#"
        ls (inside): allowed by the allow rule "ls *"
        ls (outside): ask: it would leave the sandbox
        ls (undecidable): ask: it may leave the sandbox; this cannot be decided
        make (inside): allowed by the choice to accept everything
        make (outside): ask: it would leave the sandbox
        make (undecidable): ask: it may leave the sandbox; this cannot be decided
        rm x (inside): forbidden by the deny rule "rm *": `rm x` is denied
        rm x (outside): forbidden by the deny rule "rm *": `rm x` is denied
        rm x (undecidable): forbidden by the deny rule "rm *": `rm x` is denied
        rm -rf / (inside): forbidden by the hard floor (remove-system): it would remove the system or a home directory
        rm -rf / (outside): forbidden by the hard floor (remove-system): it would remove the system or a home directory
        rm -rf / (undecidable): forbidden by the hard floor (remove-system): it would remove the system or a home directory
        make ' (inside): ask: the command line cannot be parsed: a single quote is not closed
        make ' (outside): ask: the command line cannot be parsed: a single quote is not closed
        make ' (undecidable): ask: the command line cannot be parsed: a single quote is not closed
    "#]].assert_eq(&table);
}

#[test]
fn tools_of_servers_have_rules_of_their_own() {
    let mut rules = rules(&["*"], &["rm *"]);
    rules.allow.push(Rule::tool("github/get_*").unwrap());
    rules.allow.push(Rule::tool("docs/*").unwrap());
    rules.deny.push(Rule::tool("*/delete_*").unwrap());
    let tools = [
        ("github", Some("get_issue")),
        ("github", Some("create_issue")),
        ("github", Some("delete_repo")),
        ("github", None),
        ("docs", Some("search")),
        ("docs", None),
        ("docsx", Some("search")),
        ("rm", Some("x")),
    ];
    let table: String = tools
        .iter()
        .map(|(server, tool)| {
            let verdict = rules.judge(&RuleSubject::Tool { server, tool: *tool }, Place::Outside);
            format!("{server}/{}: {}\n", tool.unwrap_or("?"), shown(&verdict))
        })
        .collect();
    expect![[r#"
        github/get_issue: allowed by the allow rule "github/get_*"
        github/create_issue: ask
        github/delete_repo: forbidden by the deny rule "*/delete_*": this tool is denied
        github/?: forbidden by the deny rule "*/delete_*": this tool is denied
        docs/search: allowed by the allow rule "docs/*"
        docs/?: forbidden by the deny rule "*/delete_*": this tool is denied
        docsx/search: ask
        rm/x: ask
    "#]]
    .assert_eq(&table);
}

#[test]
fn a_pattern_that_can_never_match_is_refused_with_the_reason() {
    let allow = |text: &str| Rule::allow(text, RuleReach::Inside).err();
    let deny = |text: &str| Rule::deny(text).err();
    let told = |text: &str, error: Option<BadPattern>| {
        format!("{text:?}: {}\n", error.map_or("fine".to_owned(), |error| error.to_string()))
    };
    let mut table = String::new();
    for text in [
        "",
        "  ",
        "cargo 'x",
        "cargo \\",
        "a | b",
        "a; b",
        "a && b",
        "ls $HOME",
        "ls `x`",
        "a (b)",
        "a < b",
        "a >b",
        "a >",
        "a > b c",
        "> x",
        "X=1",
        "X=1 a",
        "a ** b",
        "a **",
        "*",
        "'' x",
        "bin/ x",
        "bash -lc *",
        "timeout 60 cargo test *",
        "nohup *",
        "env",
        "env X=1 ls",
        "bash x.sh",
        "bash *",
        "sudo *",
        "echo '|' \\; \"$x\"",
        "~/bin/x *",
    ] {
        table.push_str(&told(text, allow(text)));
    }
    table.push_str("deny\n");
    for text in ["", "X=1 a", "a > b", "bash -lc *", "timeout *", "*"] {
        table.push_str(&told(text, deny(text)));
    }
    table.push_str("tool\n");
    for text in ["", "github", "github/", "/x", "github/*", "*/x", "a/b/c"] {
        table.push_str(&told(text, Rule::tool(text).err()));
    }
    expect![[r#"
        "": is empty: it would never match
        "  ": is empty: it would never match
        "cargo 'x": has a quote that is not closed
        "cargo \\": has a quote that is not closed
        "a | b": can never match: a rule is about one command, and '|' is a shell operator; write a rule for each command
        "a; b": can never match: a rule is about one command, and ';' is a shell operator; write a rule for each command
        "a && b": can never match: a rule is about one command, and '&' is a shell operator; write a rule for each command
        "ls $HOME": can never match: '$' is not expanded in rules; write * for what differs
        "ls `x`": can never match: '`' is not expanded in rules; write * for what differs
        "a (b)": can never match: a rule is about one command, and '(' is a shell operator; write a rule for each command
        "a < b": can never match: a rule is about one command, and '<' is a shell operator; write a rule for each command
        "a >b": can never match: a rule is about one command, and '>' is a shell operator; write a rule for each command
        "a >": ends in > without a file
        "a > b c": ends in > without a file
        "> x": names no program: it would never match
        "X=1": names no program: it would never match
        "X=1 a": fine
        "a ** b": has ** before other words: it may only be the last word
        "a **": fine
        "*": fine
        "'' x": names no program: it would never match
        "bin/ x": names no program: it would never match
        "bash -lc *": can never match: what bash starts is looked at in its place; write that command alone
        "timeout 60 cargo test *": can never match: what timeout starts is looked at in its place; write that command alone
        "nohup *": can never match: what nohup starts is looked at in its place; write that command alone
        "env": fine
        "env X=1 ls": can never match: what env starts is looked at in its place; write that command alone
        "bash x.sh": fine
        "bash *": fine
        "sudo *": fine
        "echo '|' \\; \"$x\"": fine
        "~/bin/x *": fine
        deny
        "": is empty: it would never match
        "X=1 a": cannot deny an assignment: a deny rule is about the words of a command
        "a > b": cannot deny a write: a deny rule is about the words of a command
        "bash -lc *": fine
        "timeout *": fine
        "*": fine
        tool
        "": is empty: it would never match
        "github": must be server/tool, for example github/* or github/get_issue
        "github/": must be server/tool, for example github/* or github/get_issue
        "/x": must be server/tool, for example github/* or github/get_issue
        "github/*": fine
        "*/x": fine
        "a/b/c": fine
    "#]].assert_eq(&table);
}

#[test]
fn only_harmless_variables_may_stand_before_an_allowed_command() {
    let rules = rules(&["cargo test *"], &[]);
    let ask = [
        "https_proxy",
        "http_proxy",
        "all_proxy",
        "no_proxy",
        "pip_index_url",
        "npm_config_registry",
        "path",
        "fpath",
        "cdpath",
        "manpath",
        "mailpath",
        "module_path",
        "prompt",
        "psvar",
        "argv",
        "_",
        "_x",
        "LD_PRELOAD",
        "LD_LIBRARY_PATH",
        "DYLD_INSERT_LIBRARIES",
        "PATH",
        "HOME",
        "IFS",
        "ENV",
        "BASH_ENV",
        "SHELL",
        "EDITOR",
        "PAGER",
        "GIT_PAGER",
        "RUSTC_WRAPPER",
        "RUSTFLAGS",
        "CARGO_HOME",
        "PYTHONPATH",
        "NODE_OPTIONS",
        "HTTPS_PROXY",
        "xY",
        "LC",
        "LCX",
        "CI_X",
        "XCI",
    ];
    let allowed =
        ["x", "X", "name", "a_1", "proxy", "xpip_", "RUST_LOG", "CI", "TZ", "LC_ALL", "LANG", "NO_COLOR"];
    for (names, is_allowed) in [(&ask[..], false), (&allowed[..], true)] {
        for name in names {
            for line in [
                format!("{name}=/tmp/x cargo test"),
                format!("{name}=/tmp/x; cargo test"),
                format!("env {name}=/tmp/x cargo test"),
                format!("A=1 {name}=/tmp/x cargo test"),
            ] {
                let verdict = shown(&judge(&rules, &in_shell(&line)));
                assert_eq!(verdict.starts_with("allowed"), is_allowed, "{line}: {verdict}");
            }
        }
    }
}
