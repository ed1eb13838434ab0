//! Images that are not dropped on the terminal: from the clipboard, whose programs are stand-ins here, from `@`, and from the
//! command line.

use std::fs;
use std::path::Path;

use talaria_scripted::Reply;
use talaria_testkit::Key;

use super::stage::{Stage, ended, quit, send};
use crate::options::PNG;
use crate::scene::write_program;

/// A program on the path that does what these lines of a shell do.
fn stand_in(stage: &mut Stage, name: &str, lines: &str) {
    let programs = stage.scene.codex_home.root().join("bin");
    fs::create_dir_all(&programs).unwrap();
    write_program(&programs.join(name), lines);
    let path = std::env::var("PATH").unwrap();
    stage.scene.set("PATH", format!("{}:{path}", programs.display()));
}

fn sent_images(stage: &Stage) -> usize {
    stage.scene.model.requests().pop().unwrap().body["input"].to_string().matches("data:image/png").count()
}

fn has_file(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some())
}

#[tokio::test]
async fn ctrl_v_inserts_an_image_or_the_text_of_the_clipboard() {
    let mut stage = Stage::usual().await;
    let image = stage.scene.user_home().join("image");
    fs::write(&image, PNG).unwrap();
    let lines = format!(
        "case \"$*\" in *--list-types*) cat '{0}.types' ;; *image/png*) cat '{0}' ;; *) printf 'from the clipboard' ;; esac",
        image.display()
    );
    stand_in(&mut stage, "wl-paste", &lines);
    fs::write(image.with_extension("types"), "text/html\nimage/png\n").unwrap();
    let mut terminal = stage.open(&[]).await;
    stage.scene.model.push(Reply::say("It is red."));
    terminal.type_keys("Which colour has ").await;
    terminal.key(Key::Ctrl('v')).await;
    terminal.wait_shown("[image clipboard-").await;
    assert!(has_file(&stage.scene.home().join("pasted")));
    terminal.key(Key::Enter).await;
    ended(&mut terminal, "It is red.").await;
    assert_eq!(sent_images(&stage), 1);

    fs::write(image.with_extension("types"), "text/plain\n").unwrap();
    terminal.key(Key::Ctrl('v')).await;
    terminal.wait_shown("› from the clipboard").await;
    terminal.key(Key::Ctrl('u')).await;
    quit(terminal).await;
    stage.close().await;
}

#[tokio::test]
async fn an_image_file_of_the_folder_is_attached_and_so_is_one_of_the_command_line() {
    let stage = Stage::usual().await;
    fs::write(stage.folder().join("shot.png"), PNG).unwrap();
    fs::write(stage.folder().join("fake.png"), "no image").unwrap();
    let mut terminal = stage.open(&["--image", "shot.png"]).await;
    terminal.wait_shown("› [image shot.png]").await;
    stage.scene.model.push(Reply::say("One."));
    send(&mut terminal, " and what is this?").await;
    ended(&mut terminal, "One.").await;
    assert_eq!(sent_images(&stage), 1);

    terminal.type_keys("see @shot").await;
    terminal.wait_shown("  shot.png").await;
    terminal.key(Key::Tab).await;
    terminal.wait_shown("› see [image shot.png]").await;
    stage.scene.model.push(Reply::say("Two."));
    terminal.key(Key::Enter).await;
    ended(&mut terminal, "Two.").await;
    assert_eq!(sent_images(&stage), 2, "the first one is in the history");
    // A file that only has the name of an image stays a name.
    terminal.type_keys("see @fake").await;
    terminal.wait_shown("fake.png").await;
    terminal.key(Key::Tab).await;
    terminal.wait_shown("› see fake.png").await;
    terminal.key(Key::Ctrl('u')).await;
    quit(terminal).await;
    let fake = stage.folder().join("fake.png");
    let refused = stage.scene.run(&["--image", fake.to_str().unwrap()]).await.exits(2);
    refused.complains(&["not a PNG, JPEG, GIF or WebP image"]);
    stage.close().await;
}
