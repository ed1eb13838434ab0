//! Input that is closed, or ends in the middle of a line. The plain mode itself is tested in `chat_plain`.

use std::process::Stdio;

use talaria_scripted::Reply;
use tokio::process::Command;

use super::stage::Stage;
use crate::scene::Running;

#[tokio::test]
async fn closed_input_ends_the_chat() {
    let stage = Stage::usual().await;
    stage.scene.run(&[]).await.exits(0);
    // Not an empty input, but none at all.
    let mut command = Command::new("/bin/sh");
    let like = stage.scene.command(&[]);
    let variables = like.as_std().get_envs().filter_map(|(name, value)| Some((name, value?)));
    command.args(["-c", "exec \"$0\" <&-", env!("CARGO_BIN_EXE_talaria")]).envs(variables);
    command.current_dir(stage.folder()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    Running::from(command.spawn().unwrap()).end().await.exits(0);
    stage.close().await;
}

#[tokio::test]
async fn the_last_line_without_a_break_is_sent_and_answered() {
    let stage = Stage::usual().await;
    stage.scene.model.push(Reply::say("Answered."));
    stage.scene.run_with_input(&["--plain"], b"Hello").await.exits(0).prints(&["Answered."]);
    stage.close().await;
}
