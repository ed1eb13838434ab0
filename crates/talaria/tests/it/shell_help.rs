//! Completion scripts, with a real bash, and manual pages.

use std::fs;
use std::process::Command;

use crate::scene::Scene;

#[tokio::test]
async fn bash_completes_commands_and_options() {
    let scene = Scene::empty().await;
    let script = scene.run(&["completions", "bash"]).await.exits(0).stdout;
    let file = scene.home().join("completions");
    fs::write(&file, script).unwrap();
    let complete = |words: &[&str]| {
        let ask = "source \"$1\"; shift; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); \
                   _talaria talaria \"${@: -1}\" \"${@: -2:1}\"; echo \"${COMPREPLY[*]}\"";
        let mut bash = Command::new("bash");
        let done = bash.args(["--norc", "-c", ask, "bash"]).arg(&file).args(words).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    };
    assert_eq!(complete(&["talaria", "ex"]), "exec\n");
    assert_eq!(complete(&["talaria", "task", "st"]), "start steer\n");
    assert!(complete(&["talaria", "exec", "--sand"]).contains("--sandbox"));
    scene.close().await;
}

#[tokio::test]
async fn every_shell_gets_a_script_and_an_unknown_one_the_list() {
    let scene = Scene::empty().await;
    for (shell, mark) in [("zsh", "#compdef talaria"), ("fish", "complete -c talaria")] {
        let script = scene.run(&["completions", shell]).await.exits(0).stdout;
        assert!(script.contains(mark) && script.contains("requests"), "{shell}: {script}");
    }
    scene.run(&["completions", "tcsh"]).await.exits(2).complains(&["bash", "zsh", "fish"]);
    scene.close().await;
}

#[tokio::test]
async fn every_command_has_a_page_and_the_first_is_printed() {
    let scene = Scene::empty().await;
    let page = scene.run(&["man"]).await.exits(0).stdout;
    assert!(page.contains(".TH talaria 1") && page.contains("requests"), "{page}");
    let directory = scene.home().join("pages/man1");
    scene.run(&["man", "--dir", directory.to_str().unwrap()]).await.exits(0).complains(&["pages to "]);
    let exec = fs::read_to_string(directory.join("talaria-exec.1")).unwrap();
    assert!(exec.contains("sandbox") && exec.contains("Examples"), "{exec}");
    assert!(directory.join("talaria-task-start.1").is_file());
    assert!(!directory.join("talaria-keep-terminal.1").exists(), "hidden commands have no page");
    let file = scene.home().join("a-file");
    fs::write(&file, "").unwrap();
    scene
        .run(&["man", "--dir", file.to_str().unwrap()])
        .await
        .exits(1)
        .complains(&["cannot write ", "hint: "]);
    scene.close().await;
}
