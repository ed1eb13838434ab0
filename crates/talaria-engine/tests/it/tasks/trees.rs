//! Tasks with a worktree of their own, on the real Codex in its sandbox.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use talaria_core::api::{Dirty, Discard, NewTask, ProblemCode, TaskInfo, TaskStatus};
use talaria_core::policy::ApprovalPolicy;
use talaria_scripted::{ModelRequest, Reply};
use talaria_testkit::Codex;

use crate::home::Home;
use crate::stage::both_versions;

both_versions!(
    newest:
    work_in_a_worktree_is_shown_applied_and_thrown_away,
    two_tasks_of_one_repository_commit_without_touching_each_other_or_the_checkout,
    a_follow_up_after_a_restart_still_commits,
);

fn git(cwd: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    let output = command.args(["-c", "user.name=Ada", "-c", "user.email=ada@localhost"]);
    let output = output.current_dir(cwd).args(arguments).output().unwrap();
    assert!(output.status.success(), "git {arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

/// A repository of the user's with one commit.
fn repository(home: &Home) -> PathBuf {
    let path = home.codex_home.root().join("repository");
    fs::create_dir(&path).unwrap();
    git(&path, &["init", "--quiet", "--initial-branch=main"]);
    fs::write(path.join("a.txt"), "one\n").unwrap();
    git(&path, &["add", "--all"]);
    git(&path, &["commit", "--quiet", "--message", "first"]);
    path
}

fn in_a_worktree(home: &Home, repository: &Path, prompt: &str) -> NewTask {
    NewTask {
        cwd: repository.to_str().unwrap().to_owned(),
        approval: Some(ApprovalPolicy::OnRequest),
        worktree: Some(Dirty::Refuse),
        ..home.writing_task(prompt)
    }
}

/// A command that writes a file and commits it.
fn commit(name: &str) -> String {
    format!(
        "echo {name} > {name}.txt && git add {name}.txt && \
         git -c user.name=Codex -c user.email=codex@localhost commit -q -m 'made {name}'"
    )
}

/// Lets the model run this command, then say so.
fn model(home: &Home, command: impl Fn(&str) -> String + Send + 'static) {
    home.model.route(move |request: &ModelRequest| {
        Some(match request.is_after_tool() {
            true => Reply::say("done"),
            false => Reply::new().command(command(request.prompt())),
        })
    });
}

/// The last tool results.
fn outputs(home: &Home) -> Vec<String> {
    home.model.requests().last().unwrap().tool_outputs()
}

fn subjects(info: &TaskInfo) -> Vec<String> {
    let changes = info.worktree.as_ref().unwrap().changes.as_ref().unwrap();
    changes.commits.iter().map(|(_, subject)| subject.clone()).collect()
}

/// State that must not change while a task works.
fn state(repository: &Path) -> (String, String, Vec<u8>, usize) {
    (
        git(repository, &["status", "--porcelain"]),
        git(repository, &["rev-parse", "HEAD", "main"]),
        fs::read(repository.join(".git/config")).unwrap(),
        fs::read_dir(repository.join(".git/hooks")).unwrap().count(),
    )
}

async fn work_in_a_worktree_is_shown_applied_and_thrown_away(codex: Codex) {
    let mut home = Home::real(&codex).await;
    let user = repository(&home);
    home.open().await;
    let before = state(&user);
    let common = user.join(".git");
    model(&home, move |_| {
        let evil = format!("echo evil >> {0}/config; echo evil > {0}/hooks/evil", common.display());
        format!("{}; {evil}; true", commit("made"))
    });
    let task = home.start_task(in_a_worktree(&home, &user, "go")).await;
    assert_eq!(task.branch.as_deref(), Some(format!("talaria/{}", task.id).as_str()));
    let ended = home.ends(&task).await;
    assert_eq!(ended.status, TaskStatus::Completed, "{:?}", ended.outcome);
    assert_eq!(state(&user), before, "the checkout, its configuration and its hooks: {:?}", outputs(&home));
    assert_eq!(subjects(&ended), ["made made"], "{:?}", outputs(&home));
    assert_eq!(ended.files, ["made.txt"]);
    let changes = ended.worktree.as_ref().unwrap().changes.as_ref().unwrap();
    assert_eq!((changes.insertions, changes.deletions, changes.uncommitted), (1, 0, false));
    assert!(home.engine().diff(&task.id).await.unwrap().diff.contains("+made"));

    let applied = home.engine().apply(&task.id).await.unwrap();
    assert_eq!(applied.files, ["made.txt"]);
    assert_eq!(fs::read_to_string(user.join("made.txt")).unwrap(), "made\n");
    assert_eq!(git(&user, &["rev-parse", "HEAD"]), git(&user, &["rev-parse", "main"]));
    let gone = home.engine().discard(&task.id, Discard { force: true }).await.unwrap();
    assert_eq!((Some(&gone.branch), gone.commit.is_some()), (task.branch.as_ref(), true));
    assert!(!Path::new(&task.cwd).exists());
    assert_eq!(git(&user, &["branch", "--list", "talaria/*"]), "");
    let shown = home.show(&task).await.worktree.unwrap();
    assert!(shown.changes.is_none() && shown.problem.is_some(), "{shown:?}");
    for problem in [
        home.engine().apply(&task.id).await.map(drop).unwrap_err(),
        home.engine().diff(&task.id).await.map(drop).unwrap_err(),
    ] {
        assert_eq!(problem.code, ProblemCode::Conflict);
        assert!(problem.message.contains("gone") && problem.hint.is_some(), "{problem:?}");
    }
    let asked = home.model.requests().len();
    let problem = home.send(&task, "go on").await.unwrap_err();
    assert_eq!(problem.code, ProblemCode::Conflict);
    assert!(problem.message.contains("the worktree of this task is gone"), "{problem:?}");
    assert_eq!(home.model.requests().len(), asked, "nothing was sent");
    home.close().await;
}

async fn two_tasks_of_one_repository_commit_without_touching_each_other_or_the_checkout(codex: Codex) {
    let mut home = Home::real(&codex).await;
    let user = repository(&home);
    home.open().await;
    let before = state(&user);
    model(&home, commit);
    let (one, two) = tokio::join!(
        home.start_task(in_a_worktree(&home, &user, "one")),
        home.start_task(in_a_worktree(&home, &user, "two"))
    );
    for (task, name) in [(&one, "one"), (&two, "two")] {
        let ended = home.ends(task).await;
        assert_eq!(ended.status, TaskStatus::Completed, "{:?}", ended.outcome);
        assert_eq!(subjects(&ended), [format!("made {name}")], "{:?}", outputs(&home));
        assert_eq!(ended.files, [format!("{name}.txt")]);
        let parent = git(&user, &["rev-parse", &format!("{}^", task.branch.as_deref().unwrap())]);
        assert_eq!(parent, git(&user, &["rev-parse", "main"]));
    }
    assert_eq!(state(&user), before);
    home.close().await;
}

async fn a_follow_up_after_a_restart_still_commits(codex: Codex) {
    let mut home = Home::real(&codex).await;
    let user = repository(&home);
    home.open().await;
    model(&home, commit);
    let task = home.start_task(in_a_worktree(&home, &user, "one")).await;
    home.ends(&task).await;
    home.stop(false).await;
    home.open().await;
    home.send(&task, "two").await.unwrap();
    let ended = home.reaches_turn(&task, 2).await;
    assert_eq!(ended.status, TaskStatus::Completed, "{:?}", ended.outcome);
    assert_eq!(subjects(&ended), ["made one", "made two"], "{:?}", outputs(&home));
    home.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worktree_that_would_be_useless_or_lose_something_is_refused_with_a_choice() {
    let mut home = Home::standing_in().await;
    let user = repository(&home);
    home.open().await;
    let read_only = NewTask { sandbox: None, ..in_a_worktree(&home, &user, "go") };
    let refused = home.try_task(read_only).await.unwrap_err();
    assert_eq!(refused.code, ProblemCode::BadRequest);
    assert!(refused.hint.unwrap().contains("workspace-write"));
    let plain = tempfile::tempdir().unwrap();
    let nowhere = in_a_worktree(&home, plain.path(), "go");
    fs::write(user.join("b.txt"), "mine\n").unwrap();
    for (new, word) in [(nowhere, "git"), (in_a_worktree(&home, &user, "go"), "b.txt")] {
        let refused = home.try_task(new).await.unwrap_err();
        assert_eq!(refused.code, ProblemCode::Conflict);
        assert!(refused.message.contains(word) && refused.hint.is_some(), "{refused:?}");
    }
    assert!(home.engine().tasks(Default::default()).await.unwrap().is_empty());
    assert_eq!(git(&user, &["branch", "--list", "talaria/*"]), "");
    for (dirty, has_it) in [(Dirty::Leave, false), (Dirty::Copy, true)] {
        let new = NewTask { worktree: Some(dirty), ..in_a_worktree(&home, &user, "go") };
        let task = home.start_task(new).await;
        assert_eq!(home.ends(&task).await.status, TaskStatus::Completed);
        assert_eq!(Path::new(&task.cwd).join("b.txt").exists(), has_it);
    }
    assert_eq!(git(&user, &["status", "--porcelain"]), "?? b.txt", "it stays where it was");
    home.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_takes_a_worktree_away_from_under_a_turn_or_throws_away_work_by_accident() {
    let mut home = Home::standing_in().await;
    let user = repository(&home);
    home.open().await;
    let task = home.start_task(in_a_worktree(&home, &user, "ask-it")).await;
    let ticket = home.news(&task).await.request().await;
    let discard = async |force| home.engine().discard(&task.id, Discard { force }).await;
    assert_eq!(home.engine().apply(&task.id).await.unwrap_err().code, ProblemCode::Busy);
    assert_eq!(discard(true).await.unwrap_err().code, ProblemCode::Busy);
    super::accept(home.engine(), &ticket).await;
    home.ends(&task).await;
    assert!(Path::new(&task.cwd).join("ask-it").exists(), "the stand-in has worked there");
    let refused = discard(false).await.unwrap_err();
    assert!(refused.hint.is_some() && Path::new(&task.cwd).exists(), "{refused:?}");
    discard(true).await.unwrap();
    assert!(!Path::new(&task.cwd).exists());
    home.close().await;
}
