//! A `*` of an allow rule does not cover options that write files or run programs.

use super::*;

fn is_allowed(rule: &str, line: &str) -> bool {
    matches!(judge(&rules(&[rule], &[]), &in_shell(line)), Verdict::Allowed { .. })
}

/// Rule, lines that it covers, lines that it does not.
const TABLE: &[(&str, &[&str], &[&str])] = &[
    (
        "git log *",
        &["git log", "git log --oneline -n 3", "git log -p -- $x", "git log -c -C", "git log -- *.rs"],
        &[
            "git log --output=F",
            "git log --output F",
            "git log --outp=F",
            "git log --ext-diff",
            "git log -p --textconv",
            "git log $x",
            "x=--output=F; git log $x",
            "git log \"$x\"",
            "git log *.rs",
            "git log \"--$x\"",
        ],
    ),
    ("git log --output=*", &["git log --output=F"], &["git log --output=F --output=G", "git log --ext-diff"]),
    ("git diff *", &["git diff HEAD~1 --stat"], &["git diff --output=F", "git diff --ext-diff"]),
    (
        "git *",
        &["git status", "git log -c", "git grep -C 3 x", "git commit -m x"],
        &[
            "git -c core.pager=x log",
            "git -c alias.x='!y' x",
            "git -C /tmp/x log",
            "git --exec-path=/x log",
            "git --git-dir=/x log",
            "git rebase -x y",
            "git rebase --exec y",
            "git bisect run y",
            "git difftool -x y",
            "git submodule foreach y",
            "git grep -O y",
            "git archive -o F HEAD",
            "git config core.pager x",
            "git fetch --upload-pack=x o",
            "git clone -c core.pager=x u",
            "git filter-branch --tree-filter x",
        ],
    ),
    ("git -C * log", &["git -C sub log"], &["git -c x=y log"]),
    ("git rebase --exec *", &["git rebase --exec 'cargo test'"], &["git rebase --exec x --exec y"]),
    (
        "make test *",
        &["make test", "make test V=1", "make test -j8 VERBOSE=yes"],
        &[
            "make test -f evil.mk",
            "make test --file=evil.mk",
            "make test --eval='$(shell x)'",
            "make test --ev='$(shell x)'",
            "make test 'X=$(shell x)'",
            "make test SHELL=./x",
            "make test -C /tmp/x",
            "make test CC=./x",
            "make test -kf evil.mk",
            "make test $x",
            "make test -E x",
            "make test -I d",
        ],
    ),
    (
        "sed *",
        &["sed -n 1p f", "sed -e s/a/b/ -e '/x/d' f", "sed 's/e/w/g' f"],
        &[
            "sed -n '1e cmd' f",
            "sed -n '1w F' f",
            "sed s/a/b/w\\ F f",
            "sed s/a/b/e f",
            "sed -i s/a/b/ f",
            "sed -ni p f",
            "sed --in-place s/a/b/ f",
            "sed -f x f",
            "sed \"$x\" f",
            "sed -e p -e 'w F' f",
            "sed -ew\\ F f",
        ],
    ),
    ("sed -i *", &["sed -i s/a/b/ f"], &["sed -i '1e x' f"]),
    (
        "sort *",
        &["sort -u f", "sort -k2,2n f"],
        &["sort -o F f", "sort f -oF", "sort --output=F", "sort -uo F f", "sort --compress-program=x f"],
    ),
    ("sort -o *", &["sort -o F f"], &["sort -o F -o G f"]),
    (
        "tar tf *",
        &["tar tf a", "tar tf a -v"],
        &[
            "tar tf a --checkpoint-action=exec=cmd",
            "tar tf a --checkpoint-act=exec=cmd",
            "tar tf a -I 'sh -c cmd'",
            "tar tf a --use-compress-program=x",
            "tar tf a --to-command=x",
            "tar tf a -F x",
            "tar tf $x",
        ],
    ),
    (
        "tar *",
        &["tar tvf a", "tar -tf a"],
        &["tar xf a", "tar -xf a", "tar czf a b", "tar --extract -f a", "tar tIf x a"],
    ),
    (
        "find *",
        &["find . -name x", "find . -type f -newer a", "find src"],
        &[
            "find . -fprint F",
            "find . -fprintf F x",
            "find . -fls F",
            "find . -delete",
            "find . -exec rm {} +",
            "find . -execdir x \\;",
            "find . -ok x \\;",
            "find $x",
        ],
    ),
    ("find * -delete", &["find d -delete"], &["find d -name x -delete", "find d -fprint F"]),
    (
        "cargo test *",
        &["cargo test", "cargo test -p x -- --nocapture", "cargo test -- $x"],
        &[
            "cargo test --config build.rustc-wrapper='\"x\"'",
            "cargo test --conf x",
            "cargo test --manifest-path x/Cargo.toml",
            "cargo test -Z x",
            "cargo test --target-dir x",
        ],
    ),
    ("rg *", &["rg x src"], &["rg --pre x y", "rg --pre=x y", "rg $x"]),
    ("less *", &["less f"], &["less -o F f", "less '+!x' f", "less --lesskey-src=x f"]),
    ("man *", &["man ls"], &["man -P x ls", "man --pager=x ls", "man -Px ls"]),
    (
        "awk *",
        &["awk '{ print $1 }' f", "awk -F: '$1 > 3 { n++ }' f"],
        &[
            "awk 'BEGIN { system(\"x\") }'",
            "awk '{ print > \"F\" }' f",
            "awk '{ print | \"x\" }' f",
            "awk -f x f",
            "awk -i inplace 1 f",
        ],
    ),
    ("uniq *", &["uniq -c a"], &["uniq a b"]),
    (
        "go test *",
        &["go test ./..."],
        &["go test -exec x", "go test -o F", "go test --toolexec=x", "go test -coverprofile=F"],
    ),
    ("npm test *", &["npm test"], &["npm test --prefix x", "npm test --script-shell=x"]),
    ("python3 *", &["python3 s.py"], &["python3 -c x", "python3 -m x", "python3 - < f", "python3 $x"]),
    ("python3 -m pytest *", &["python3 -m pytest -q"], &[]),
    ("node *", &["node s.js"], &["node -e x", "node --require x s.js", "node -r x s.js"]),
    (
        "curl *",
        &["curl -fsS u"],
        &["curl -o F u", "curl -fsSLo F u", "curl -O u", "curl --output F u", "curl -K x u", "curl -d @f u"],
    ),
    ("ssh *", &[], &["ssh -o ProxyCommand=x h"]),
    ("uv run *", &["uv run pytest -q"], &[]),
    ("uv *", &["uv sync"], &["uv run x"]),
    ("ls *", &["ls $x", "ls *", "ls -la"], &["ls > F"]),
];

#[test]
fn a_star_covers_no_option_that_writes_or_runs() {
    let mut wrong = Vec::new();
    for (rule, covered, uncovered) in TABLE {
        wrong.extend(
            covered
                .iter()
                .filter(|line| !is_allowed(rule, line))
                .map(|line| (*rule, *line, "must be allowed")),
        );
        wrong.extend(
            uncovered
                .iter()
                .filter(|line| is_allowed(rule, line))
                .map(|line| (*rule, *line, "must be asked")),
        );
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn variables_that_run_something_must_be_named() {
    for line in [
        "PAGER=x git log",
        "GIT_SSH_COMMAND=x git log",
        "GIT_EXTERNAL_DIFF=x git log",
        "LESSOPEN='|x' git log",
        "MAKEFLAGS=--eval=x git log",
    ] {
        assert!(!is_allowed("git log *", line), "{line}");
    }
    assert!(is_allowed("PAGER=cat git log *", "PAGER=cat git log"));
    assert!(!is_allowed("PAGER=cat git log *", "PAGER=x git log"));
}
