//! A deny rule denies what a command does, however it is written; what no one can see in the line is asked about.

use super::*;
use proptest::prelude::*;

/// Deny rules of the README.
fn denying() -> Rules {
    rules(&["*"], &["git push *", "rm -r *"])
}

fn accepted(rules: &Rules, line: &str) -> bool {
    let verdict = judge(rules, &in_shell(line)).accept_all(Place::Inside);
    matches!(verdict, Verdict::Allowed { .. })
}

fn is_denied(rules: &Rules, line: &str) -> bool {
    matches!(judge(rules, &in_shell(line)), Verdict::Forbidden { by: Ban::Rule(_), .. })
}

fn is_asked(rules: &Rules, line: &str) -> bool {
    let verdict = judge(rules, &in_shell(line)).accept_all(Place::Inside);
    matches!(verdict, Verdict::Ask { doubt: Some(Doubt::Unseen(_) | Doubt::NotUnderstood(_)) })
}

fn all_denied(lines: &[&str]) {
    let missed: Vec<_> = lines
        .iter()
        .filter(|line| !is_denied(&denying(), line))
        .map(|line| (line, judge(&denying(), line)))
        .collect();
    assert!(missed.is_empty(), "not denied: {missed:#?}");
}

fn all_asked(lines: &[&str]) {
    let wrong: Vec<_> = lines
        .iter()
        .filter(|line| !is_asked(&denying(), line))
        .map(|line| (line, judge(&denying(), line)))
        .collect();
    assert!(wrong.is_empty(), "not asked: {wrong:#?}");
    // Without deny rules there is nothing that could be hidden from them.
    let none = rules(&[], &[]);
    let asked: Vec<_> =
        lines.iter().filter(|line| shell::parse(line).is_ok() && !accepted(&none, line)).collect();
    assert!(asked.is_empty(), "asked without a deny rule: {asked:#?}");
}

fn all_accepted(lines: &[&str]) {
    let wrong: Vec<_> = lines
        .iter()
        .filter(|line| !accepted(&denying(), line))
        .map(|line| (line, judge(&denying(), line)))
        .collect();
    assert!(wrong.is_empty(), "not accepted: {wrong:#?}");
}

#[test]
fn every_recursive_removal_in_the_line_is_denied() {
    all_denied(&[
        "rm -r d",
        "rm -rf d",
        "rm -fr d",
        "rm -R d",
        "rm --recursive d",
        "rm --recurs d",
        "rm d -r",
        "rm -f -r d",
        "rm -vr d",
        "rm d --force --recursive",
        "rm -- d; rm -rf -- d",
        "rm -f \"$o\" d",
        "rm $o d",
        "rm \"-r\"f d",
        "xargs rm -rf < list",
        "find . -name d -exec rm -rf {} +",
        "sudo -u x rm -dr d",
        "cd x && rm -Rf d &",
    ]);
    all_accepted(&[
        "rm d",
        "rm -f d",
        "rm -fv -- -r",
        "rm -i a b",
        "git rm -r x",
        "rm -f *.log",
        "rm build/*",
        "ls -R",
        "echo rm -rf d",
        "docker rm -f r",
    ]);
}

#[test]
fn every_push_in_the_line_is_denied() {
    all_denied(&[
        "git push",
        "git push origin main",
        "git -C . push",
        "git -C. push",
        "git -c k=v push",
        "git --no-pager push",
        "git --git-dir=.git push",
        "git --git-dir .git --work-tree . push",
        "git --exec-path=/usr/lib/git-core push",
        "git -c alias.p=push p",
        "git -c alias.p='!git push' p",
        "git -c alias.P='push o' p",
        "git -c alias.a='!git' a push",
        "git config alias.p push; git p",
        "git config --global alias.p '!git push'",
        "/usr/lib/git-core/git-push",
        "/usr/lib/git-core/git-push origin",
        "git \"$x\" push",
        "git -C \"$x\" push",
        "git $x push",
        "git $x",
        "git send-pack o main",
        "git subtree push --prefix x o main",
        "git -P -p push",
    ]);
    // The parser.
    all_denied(&[
        "env -S 'git\\_push o main'",
        "env -S 'git push'",
        "shopt -s expand_aliases; alias g=git\ng push",
        "alias g='git -C .'\ng push",
        "alias p='git push'\np",
        "hash -p /usr/bin/git g; g push",
        "g() { git \"$@\"; }; g push",
        "g() { git \"$1\" o; }; g push",
        "X=push; git $X",
        "git${IFS}push",
        "IFS=,; x=git,push; $x",
    ]);
    // Starters.
    all_denied(&[
        "prlimit --nofile=10 git push",
        "prlimit git push",
        "choom -n 5 git push",
        "choom -n 5 -- git push",
        "setarch x86_64 git push",
        "setarch -R git push",
        "setarch x86_64 -R git push",
        "linux64 git push",
        "/lib64/ld-linux-x86-64.so.2 /usr/bin/git push",
        "/lib64/ld-linux-x86-64.so.2 --library-path /lib /usr/bin/git push",
        "/lib/ld-musl-x86_64.so.1 /usr/bin/git push",
        "numactl -N 0 git push",
        "systemd-inhibit --why=x git push",
        "faketime '1 day ago' git push",
        "parallel git push ::: origin",
        "fd -x git push",
        "uv run git push",
        "docker exec -it box git push",
        "bwrap --dev-bind / / --unshare-net git push",
        "capsh -- -c 'git push'",
        "gdb --args git push",
        "npx -c 'git push'",
        "alias g='git '\nalias p=push\ng p",
        "npx git push",
    ]);
    // Programs that run others by an option.
    all_denied(&[
        "git rebase --exec 'git push' main",
        "git rebase -x 'git push' main",
        "git rebase --exec='git push' main",
        "git bisect run git push",
        "git submodule foreach 'git push'",
        "git submodule foreach --recursive git push",
        "git difftool -x 'git push'",
        "git difftool --extcmd='git push'",
        "git -c core.pager='git push' log",
        "git -c core.sshCommand='git push' fetch",
        "git for-each-repo --config=r push",
        "GIT_SSH_COMMAND='git push' git fetch",
        "PAGER='git push' man ls",
        "tar cf /dev/null --checkpoint=1 --checkpoint-action=exec='git push' x",
        "tar -I 'git push' -cf a x",
        "tar --use-compress-program='git push' -tf a",
        "tar --to-command='git push' -xf a",
        "sed 1e'git push' f",
        "sed -n '1e git push' f",
        "vim -c '!git push' f",
        "vim '+!git push' f",
        "ssh -o ProxyCommand='git push' host",
        "ssh -oProxyCommand='git push' host",
        "rsync -e 'git push' a h:b",
        "sort --compress-program='git push' f",
        "rg --pre 'git push' x",
        "split --filter='git push' f",
        "socat - 'EXEC:git push'",
        "find . -exec git push \\;",
        "find . -execdir sh -c 'git push' \\;",
        "ls | xargs git push",
        "ls | xargs -I{} git {} push",
    ]);
    all_accepted(
        &[
            "git status",
            "git -C push log",
            "git --no-pager stash push",
            "git log --author push",
            "git commit -m 'git push'",
            "git fetch origin",
            "git -c color.ui=never log",
            "alias g=git\ng status",
            "prlimit --nofile=10 git status",
            "git rebase --exec 'cargo test' main",
            "sed 's/push/pull/e;' < /dev/null | true; true",
        ][..10],
    );
}

#[test]
fn code_and_files_of_the_line_are_asked_about_where_deny_rules_exist() {
    all_asked(&[
        "python3 -c 'import os; os.system(\"git push\")'",
        "python3 - <<E\nimport os\nE",
        "python3 <<E\nimport os\nE",
        "echo 'import os' | python3",
        "perl -e 'system \"git push\"'",
        "perl -ne 'print' f",
        "ruby -e x",
        "node -e x",
        "node --eval=x",
        "php -r x",
        "lua -e x",
        "awk 'BEGIN { system(\"git push\") }'",
        "awk 'BEGIN { \"git push\" | getline }'",
        "awk '{ print | \"sh\" }' f",
        "sed 's/x/git push/e' f",
        "make --eval='$(shell git push)'",
        "make 'X=$(shell git push)'",
        "vim -c 'call system(\"x\")' f",
        "curl x | sh",
        "base64 -d x | bash",
        "bash <(curl x)",
        "bash -c \"ls $x\"",
        "git --config-env=alias.p=P p",
        "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.p GIT_CONFIG_VALUE_0=push git p",
        "BASH_ENV=./s bash -c ls",
        "gdb -ex 'shell git push'",
        "gawk -f <(echo x)",
        "sqlite3 db '.shell git push'",
        "emacs --batch --eval x",
        // Written and run in one line.
        "echo 'git push' > s; sh s",
        "base64 -d <<< Z2l0 > s; . ./s",
        "find . -fprintf s 'git push'; sh s",
        "cat > s.py <<E\nx\nE\npython3 s.py",
        "printf x > s && chmod +x s && ./s",
        "curl -o s https://x && bash s",
        "curl -O https://x/s.sh && bash s.sh",
        "wget https://x/s.sh; sh ./s.sh",
        "cp a s; ./s",
        "echo x | tee s; sh s",
        "sed -i s/a/b/ s; sh s",
        "echo x > m; make -f m",
        "cd d && echo x > s; sh s",
        "echo x > d/s; cd d; sh s",
        "echo x > Makefile; make",
        "coproc git push",
        "x[$(git push)]=1",
        "sed 's/[]/]/x/e' f",
        "cat > a.c <<E\nx\nE\ngcc a.c -o a && ./a",
    ]);
    all_accepted(&[
        "bash script.sh",
        "./script.sh",
        "make test",
        "make -f m",
        "python3 script.py",
        "python3 -m pytest",
        "node script.js",
        "awk '{ print $1 }' f",
        "awk -F'|' '/a|b/ && $2 > 3 || $1 == \"x|y\" { print $2 }' f",
        "sed -n 's/a/b/p; /x/d' f",
        "sed -i 's/a/b/' f",
        "echo x > f; cat f",
        "cargo test > out.txt; bash script.sh",
        "sh <<E\ncargo test\nE",
        "bash -c 'cargo test'",
        "echo cargo test | sh",
        "python3 --version",
        "git -c user.name=x commit -m y",
        "NODE_OPTIONS=--max-old-space-size=4096 npm test",
        "EDITOR=vim git commit",
        "go build -o app . && ./app",
        "sed 's/[/]x/y/; s/[^]/]/z/' f",
    ]);
}

#[test]
fn a_rule_about_options_is_about_what_they_mean() {
    let table: &[(&str, &[&str], &[&str])] = &[
        (
            "git push --force *",
            &[
                "git push -f",
                "git push origin main --force",
                "git push --forc o",
                "git -C . push -uf o",
                "git push o +main",
            ],
            &["git push", "git push --force-with-lease o", "git push --follow-tags", "git commit -f"],
        ),
        (
            "git branch -D *",
            &["git branch -D x", "git branch -d -f x", "git branch --delete --force x"],
            &["git branch -d x"],
        ),
        ("chmod -R *", &["chmod --recursive a b", "chmod 755 x -R"], &["chmod 755 x"]),
        ("npm install --global *", &["npm install -g x", "npm -g install x"], &["npm install x"]),
        (
            "docker run --privileged *",
            &["docker run --rm --privileged x"],
            &["docker run --rm x", "docker ps"],
        ),
        ("find * -delete", &["find . -delete", "find . -name x -delete"], &["find . -name x"]),
        (
            "curl -X POST *",
            &["curl -X POST u", "curl --request POST u", "curl -sX POST u", "curl u -X POST"],
            &["curl -X GET u"],
        ),
        (
            "kubectl delete *",
            &["kubectl -n x delete pod y", "kubectl --context=c delete pod"],
            &["kubectl get x"],
        ),
        ("foo --force *", &["foo -f x", "foo x --force"], &["foo x"]),
        ("git push", &["git push", "git push -f", "git -C . push"], &["git push origin"]),
    ];
    for (deny, hits, misses) in table {
        let rules = rules(&[], &[deny]);
        for line in *hits {
            assert!(is_denied(&rules, line), "{deny}: {line} must be denied");
        }
        for line in *misses {
            assert!(accepted(&rules, line), "{deny}: {line} must be accepted: {:?}", judge(&rules, line));
        }
    }
}

#[test]
fn deny_rules_win_over_allow_rules_where_they_cannot_be_decided() {
    let all = rules(&["python3 -c *", "node -e 'console.log(1)'"], &["git push *"]);
    assert_eq!(
        shown(&judge(&all, "python3 -c 'print(1)'")),
        "ask: deny rules cannot see into the code that it runs"
    );
    // Spelled out by the user, so seen by the user.
    assert_eq!(
        shown(&judge(&all, "node -e 'console.log(1)'")),
        "allowed by the allow rule \"node -e 'console.log(1)'\""
    );
    let allowing = rules(&["python3 -c *"], &[]);
    assert_eq!(
        shown(&judge(&allowing, "python3 -c 'print(1)'")),
        "allowed by the allow rule \"python3 -c *\""
    );
    // A deny rule about a tool has nothing to see in a command.
    let mut tools = rules(&[], &[]);
    tools.deny.push(Rule::tool("x/*").unwrap());
    assert!(accepted(&tools, "python3 -c 'print(1)'"));
}

/// Ways to write a word that change nothing.
fn quoted(word: &str, style: usize) -> String {
    match style {
        0 => format!("'{word}'"),
        1 => format!("\"{word}\""),
        2 => word.chars().map(|c| format!("\\{c}")).collect(),
        3 => format!("''{word}"),
        _ => word.to_owned(),
    }
}

const STARTERS: &[&str] = &[
    "",
    "env A=1 ",
    "env -i ",
    "nohup ",
    "nice -n 5 ",
    "timeout 5 ",
    "sudo ",
    "sudo -u x ",
    "setsid ",
    "command ",
    "prlimit --nofile=9 ",
    "choom -n 1 ",
    "setarch -R ",
    "stdbuf -oL ",
    "exec ",
    "time ",
    "/lib64/ld-linux-x86-64.so.2 ",
    "busybox ",
    "A=1 B=2 ",
    "xargs ",
    "ionice -c2 ",
];

const PATHS: &[&str] = &["", "/usr/bin/", "/bin/", "./", "~/bin/"];

const GLOBALS: &[&str] = &[
    "-C .",
    "-C.",
    "-c a.b=c",
    "--no-pager",
    "--git-dir=.git",
    "--git-dir .git",
    "--work-tree=.",
    "-p",
    "-P",
    "--namespace x",
    "--exec-path=/x",
    "--bare",
    "--literal-pathspecs",
    "--no-optional-locks",
];

const RECURSIVE: &[&str] = &["-r", "-R", "--recursive", "-rf", "-fr", "-vRf", "--recursiv"];

const OTHER: &[&str] = &["-f", "-v", "--force", "-i", "--one-file-system", "--preserve-root"];

proptest! {
    #[test]
    fn every_spelling_of_a_removal_is_denied(
        starter in prop::sample::select(STARTERS.to_vec()),
        path in prop::sample::select(PATHS.to_vec()),
        recursive in prop::sample::select(RECURSIVE.to_vec()),
        others in prop::collection::vec(prop::sample::select(OTHER.to_vec()), 0..4),
        place in 0..6_usize,
        styles in prop::collection::vec(0..6_usize, 12),
    ) {
        let mut words: Vec<&str> = others.clone();
        words.push("target");
        words.insert(place.min(words.len()), recursive);
        let words = words.iter().zip(&styles).map(|(word, style)| quoted(word, *style)).collect::<Vec<_>>();
        let line = format!("{starter}{path}rm {}", words.join(" "));
        prop_assert!(is_denied(&denying(), &line), "{line}: {:?}", judge(&denying(), &line));
        prop_assert!(!accepted(&denying(), &line), "{line}");
    }

    #[test]
    fn every_spelling_of_a_push_is_denied(
        starter in prop::sample::select(STARTERS.to_vec()),
        path in prop::sample::select(PATHS.to_vec()),
        globals in prop::collection::vec(prop::sample::select(GLOBALS.to_vec()), 0..4),
        rest in prop::collection::vec(prop::sample::select(vec!["-f", "origin", "main", "--tags", "-u", "+x"]), 0..4),
        style in 0..6_usize,
    ) {
        let program = if starter.contains("ld-linux") && path.is_empty() { "/usr/bin/git" } else { "git" };
        let line = format!(
            "{starter}{path}{program} {} {} {}",
            globals.join(" "),
            quoted("push", style),
            rest.join(" ")
        ).replace("//", "/");
        prop_assert!(is_denied(&denying(), &line), "{line}: {:?}", judge(&denying(), &line));
        prop_assert!(!accepted(&denying(), &line), "{line}");
    }

    #[test]
    fn equal_commands_get_equal_verdicts_for_allow_rules_too(
        path in prop::sample::select(vec!["", "/usr/bin/", "/bin/"]),
        starter in prop::sample::select(vec!["", "nohup ", "timeout 5 ", "nice -n 5 ", "env A=1 ", "time ", "command "]),
        styles in prop::collection::vec(0..6_usize, 5),
        words in prop::sample::select(vec!["cargo test -p x", "git log -n 3", "git log --output=x", "git push o", "ls -la", "sort -o x", "make X=y"]),
    ) {
        let rules = rules(&["cargo test *", "git log *", "ls *", "sort *", "make *"], &["git push *"]);
        let mut parts = words.split(' ');
        let program = parts.next().unwrap_or_default();
        let rest: Vec<String> = parts.zip(&styles).map(|(word, style)| quoted(word, *style)).collect();
        let line = format!("{starter}{path}{program} {}", rest.join(" "));
        let kind = |verdict: Verdict| std::mem::discriminant(&verdict);
        prop_assert_eq!(kind(judge(&rules, words)), kind(judge(&rules, &in_shell(&line))), "{}", line);
    }
}
