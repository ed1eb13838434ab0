//! The whole matrix: what each kind of process may do under each claim.

use super::*;
use crate::config::parse;
use crate::principal::Principal;

fn facts(pid: i32) -> ProcessFacts {
    let namespace = |name: &str| Some(format!("{name}:[1]"));
    ProcessFacts {
        pid,
        namespaces: Namespaces { pid: namespace("pid"), user: namespace("user"), mount: namespace("mnt") },
        no_new_privs: false,
        seccomp: (0, 0),
        cgroup: Some("/user.slice/session.scope".to_owned()),
        codex: None,
        keeper: None,
    }
}

fn sign_of(change: impl Fn(&mut ProcessFacts)) -> Option<SandboxSign> {
    let mut peer = facts(2);
    change(&mut peer);
    match classify(&facts(1), &peer, &[]) {
        PeerClass::Sandboxed { sign, .. } => Some(sign),
        _ => None,
    }
}

#[test]
fn every_sign_of_a_sandbox_is_seen() {
    assert_eq!(sign_of(|_| {}), None);
    let other = || Some("x:[2]".to_owned());
    assert_eq!(sign_of(|peer| peer.namespaces.pid = other()), Some(SandboxSign::PidNamespace));
    assert_eq!(sign_of(|peer| peer.namespaces.user = other()), Some(SandboxSign::UserNamespace));
    assert_eq!(sign_of(|peer| peer.namespaces.mount = other()), Some(SandboxSign::MountNamespace));
    assert_eq!(sign_of(|peer| peer.no_new_privs = true), Some(SandboxSign::NoNewPrivileges));
    assert_eq!(sign_of(|peer| peer.seccomp = (2, 1)), Some(SandboxSign::SystemCallFilter));
}

#[test]
fn an_engine_that_is_confined_itself_takes_peers_of_the_same_confinement() {
    let confined = |pid| ProcessFacts { no_new_privs: true, seccomp: (2, 1), ..facts(pid) };
    assert_eq!(classify(&confined(1), &confined(2), &[]), PeerClass::Person);
    assert_eq!(classify(&confined(1), &facts(2), &[]), PeerClass::Person, "less confined is no sandbox");
    let stricter = ProcessFacts { seccomp: (2, 2), ..confined(2) };
    assert!(matches!(classify(&confined(1), &stricter, &[]), PeerClass::Sandboxed { .. }));
}

#[test]
fn only_an_environment_that_is_named_and_not_codexs_own_is_admitted() {
    let boxed = |cgroup: &str| ProcessFacts {
        namespaces: Namespaces { mount: Some("mnt:[2]".to_owned()), ..facts(2).namespaces },
        cgroup: Some(cgroup.to_owned()),
        ..facts(2)
    };
    let classed = |cgroup, pattern: &str| classify(&facts(1), &boxed(cgroup), &[pattern.to_owned()]);
    assert_eq!(classed("/machine.slice/libpod-12.scope", "machine.slice/libpod-*.scope"), PeerClass::Person);
    assert_eq!(classed("/a/b/c", "/a/*/c"), PeerClass::Person);
    for (cgroup, pattern) in [
        ("/machine.slice/libpod-12.scope", "/machine.slice/libpod-13.scope"),
        ("/a/b", "/a"),
        ("/a/b", "*/c"),
        ("/a/b", ""),
        // The engine's own control group is where the commands of Codex run.
        ("/user.slice/session.scope", "*"),
    ] {
        assert!(matches!(classed(cgroup, pattern), PeerClass::Sandboxed { .. }), "{cgroup} by {pattern}");
    }
    let below =
        [ProcessFacts { codex: Some(9), ..boxed("/a/b") }, ProcessFacts { keeper: Some(9), ..boxed("/a/b") }];
    for below in below {
        assert!(matches!(classify(&facts(1), &below, &["*".to_owned()]), PeerClass::Sandboxed { .. }));
    }
    let kept = ProcessFacts { keeper: Some(9), ..facts(2) };
    assert_eq!(classify(&facts(1), &kept, &[]), PeerClass::BelowKeeper { keeper: 9 });
}

#[test]
fn the_matrix_of_rights() {
    let bridge = parse(
        "[bridge]\nroots = [\"/all\"]\nanswers = [\"input\"]\n[bridge.callers.m]\nall = true\nanswers = [\"command\"]\n",
    )
    .unwrap()
    .config
    .bridge;
    let sandboxed = |codex| PeerClass::Sandboxed {
        sign: SandboxSign::PidNamespace,
        codex,
        cgroup: Some("/x".to_owned()),
    };
    let classes = [
        ("outside", PeerClass::Person),
        ("below codex", PeerClass::BelowCodex { codex: 9 }),
        ("below a keeper", PeerClass::BelowKeeper { keeper: 8 }),
        ("sandboxed", sandboxed(None)),
        ("sandboxed by codex", sandboxed(Some(9))),
        ("unknown", PeerClass::Unknown { why: "gone".to_owned() }),
    ];
    let claims =
        [None, Some("person:ada"), Some("model:m"), Some("model:n"), Some("token:t"), Some("chat:c")];
    let mut table = String::new();
    for (name, class) in classes {
        for claim in claims {
            let identity =
                Identity::of_peer(Principal::person("owner"), class.clone(), PeerEvidence::default());
            let identity = match claim {
                Some(claim) => identity.claiming(&claim.parse().unwrap()),
                None => identity,
            };
            let access = Access::of(&identity, &bridge);
            assert_eq!(Access::of_owner(&identity).is_some(), access == Access::OWNER, "{name} as {claim:?}");
            let rights = if access == Access::OWNER {
                assert!(access.may_search_ids() && access.may_retry_notices());
                "everything".to_owned()
            } else if access.is_none() {
                assert!(identity.exclusion().is_some(), "{name} as {claim:?} is not told why");
                assert!(!access.may_search_ids() && !access.may_retry_notices());
                "nothing".to_owned()
            } else {
                assert!(!access.shell && !access.admin && access.starts == StartRight::Tasks);
                assert!(!access.may_search_ids() && !access.may_retry_notices());
                format!("sees {:?}, answers {:?}, works {:?}", access.sees, access.answers, access.roots)
            };
            let claim = claim.unwrap_or("-");
            table.push_str(&format!(
                "{name:18} {claim:11} {:24} {rights}\n",
                identity.principal().to_string()
            ));
        }
    }
    expect_test::expect![[r#"
        outside            -           person:owner             everything
        outside            person:ada  person:owner             everything
        outside            model:m     model:m                  sees AllTasks, answers Kinds(["input", "command"]), works Below(["/all"])
        outside            model:n     model:n                  sees Own, answers Kinds(["input"]), works Below(["/all"])
        outside            token:t     token:t                  nothing
        outside            chat:c      chat:c                   nothing
        below codex        -           model:command-of-codex   nothing
        below codex        person:ada  model:command-of-codex   nothing
        below codex        model:m     model:codex/m            sees Own, answers Kinds(["input"]), works Below(["/all"])
        below codex        model:n     model:codex/n            sees Own, answers Kinds(["input"]), works Below(["/all"])
        below codex        token:t     model:command-of-codex   nothing
        below codex        chat:c      model:command-of-codex   nothing
        below a keeper     -           model:command-of-loop    nothing
        below a keeper     person:ada  model:command-of-loop    nothing
        below a keeper     model:m     model:loop/m             sees Own, answers Kinds(["input"]), works Below(["/all"])
        below a keeper     model:n     model:loop/n             sees Own, answers Kinds(["input"]), works Below(["/all"])
        below a keeper     token:t     model:command-of-loop    nothing
        below a keeper     chat:c      model:command-of-loop    nothing
        sandboxed          -           model:sandboxed-command  nothing
        sandboxed          person:ada  model:sandboxed-command  nothing
        sandboxed          model:m     model:sandboxed-command  nothing
        sandboxed          model:n     model:sandboxed-command  nothing
        sandboxed          token:t     model:sandboxed-command  nothing
        sandboxed          chat:c      model:sandboxed-command  nothing
        sandboxed by codex -           model:sandboxed-command  nothing
        sandboxed by codex person:ada  model:sandboxed-command  nothing
        sandboxed by codex model:m     model:sandboxed-command  nothing
        sandboxed by codex model:n     model:sandboxed-command  nothing
        sandboxed by codex token:t     model:sandboxed-command  nothing
        sandboxed by codex chat:c      model:sandboxed-command  nothing
        unknown            -           model:unidentified       nothing
        unknown            person:ada  model:unidentified       nothing
        unknown            model:m     model:unidentified       nothing
        unknown            model:n     model:unidentified       nothing
        unknown            token:t     model:unidentified       nothing
        unknown            chat:c      model:unidentified       nothing
    "#]].assert_eq(&table);
}

#[test]
fn what_a_person_reads_who_is_taken_for_a_model() {
    let told = |class: PeerClass| {
        let evidence = PeerEvidence { pid: Some(77), ..PeerEvidence::default() };
        Identity::of_peer(Principal::person("owner"), class, evidence).exclusion().unwrap()
    };
    let sandboxed = |codex| PeerClass::Sandboxed {
        sign: SandboxSign::MountNamespace,
        codex,
        cgroup: Some("/machine.slice/toolbox".to_owned()),
    };
    let all = [
        told(sandboxed(None)),
        told(sandboxed(Some(5))),
        told(PeerClass::BelowCodex { codex: 5 }),
        told(PeerClass::BelowKeeper { keeper: 6 }),
        told(PeerClass::Unknown { why: "no such process".to_owned() }),
    ];
    expect_test::expect![[r#"
        [
            (
                "process 77 counts as a model's: it runs in a sandbox: its mount namespace is not the engine's",
                "if this is a container or service of yours, admit it with access.environments = [\"/machine.slice/toolbox\"] in config.toml; or run the command outside, in a terminal of your own",
            ),
            (
                "process 77 counts as a model's: it runs in a sandbox: its mount namespace is not the engine's",
                "run the command outside, in a terminal of your own",
            ),
            (
                "process 77 acts for a model: it runs below Codex (process 5), which Talaria started",
                "a model uses `talaria mcp`; a person runs the command in a terminal of their own",
            ),
            (
                "process 77 acts for a model: it runs in a command of the built-in loop (process 6)",
                "a model uses `talaria mcp`; a person runs the command in a terminal of their own",
            ),
            (
                "process 77 counts as a model's: the system does not show what it is: no such process",
                "run the command in a terminal of your own, where the engine can see its process",
            ),
        ]
    "#]].assert_debug_eq(&all);
}
