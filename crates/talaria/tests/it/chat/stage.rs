//! A chat in a terminal: its folder, typed keys, and screens that are the same everywhere.
//!
//! The folder lies in the home of the scene, so that it is shown as `~/shop` wherever the tests run.

use std::path::PathBuf;
use std::{env, fs};

use expect_test::{ExpectFile, expect_file};
use talaria_testkit::screen::{Filter, Screen};
use talaria_testkit::terminal::Command;
use talaria_testkit::{Codex, Key, Terminal};

use crate::scene::Scene;

/// Text before the input position.
pub(crate) const PROMPT: &str = "› ";

/// The status line once Codex has reported its settings.
pub(crate) const READY: &str = "codex·gpt-5.5";

/// Text below an ended turn.
pub(crate) const ENDED: &str = "tokens: ";

/// A scene with a folder to talk about.
pub(crate) struct Stage {
    pub(crate) scene: Scene,
}

impl Stage {
    /// A stage with a real Codex.
    pub(crate) async fn new(codex: &Codex) -> Self {
        let mut scene = Scene::real(codex).await;
        put_sandbox_on_path(&mut scene, codex);
        Self::in_scene(scene)
    }

    /// A stage with the Codex of most scenarios.
    pub(crate) async fn usual() -> Self {
        Self::new(&Codex::v0_166()).await
    }

    /// A stage in a scene that was made for something special.
    pub(crate) fn in_scene(scene: Scene) -> Self {
        let stage = Self { scene };
        fs::create_dir(stage.folder()).unwrap();
        fs::write(stage.folder().join("greeting.txt"), "Hello.\nThis is a greeting.\n").unwrap();
        stage
    }

    /// The folder that the chat works in.
    pub(crate) fn folder(&self) -> PathBuf {
        self.scene.user_home().join("shop")
    }

    /// Opens the chat in a terminal of the usual size, and waits until it knows what it runs on.
    pub(crate) async fn open(&self, arguments: &[&str]) -> Terminal {
        let mut terminal = self.start(24, 80, arguments);
        let is_ready = |screen: &Screen| screen.contains(READY) && is_at_prompt(screen);
        terminal.wait_until("what runs, and a place to type", is_ready).await;
        terminal
    }

    /// Opens the chat so that commands are asked about and then run without a sandbox.
    pub(crate) async fn open_asking(&self) -> Terminal {
        self.open(&ASKING).await
    }

    /// Starts the chat in a terminal of any size.
    pub(crate) fn start(&self, rows: u16, columns: u16, arguments: &[&str]) -> Terminal {
        Terminal::spawn_sized(self.command(arguments), rows, columns)
    }

    /// The program in the folder, with colours.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let command = self.scene.terminal_command(arguments).current_dir(self.folder());
        command.env_remove("NO_COLOR").env_remove("COLUMNS")
    }

    /// Parts of the screens that differ between runs.
    pub(crate) fn filter(&self) -> Filter {
        let root = self.scene.codex_home.root();
        Filter::new()
            .replace(self.folder().to_str().unwrap(), "~/shop")
            .replace(root.to_str().unwrap(), "/scene")
            .replace(Codex::v0_166().native.to_str().unwrap(), "/codex")
    }

    /// Waits for the screen that is committed under that name, and compares.
    pub(crate) async fn shows(&self, name: &str, terminal: &mut Terminal) -> Screen {
        self.shows_filtered(name, terminal, &self.filter()).await
    }

    /// The same, with more replaced that differs from run to run.
    pub(crate) async fn shows_filtered(
        &self,
        name: &str,
        terminal: &mut Terminal,
        filter: &Filter,
    ) -> Screen {
        let committed = expect_file![format!("screens/{name}.txt")];
        let expected = committed_text(&committed);
        let screen = terminal
            .settled_as(|screen| expected.as_ref().is_none_or(|text| *text == screen.snapshot(filter)))
            .await;
        committed.assert_eq(&screen.snapshot(filter));
        screen
    }

    /// Leaves the scene and checks the invariants of every scenario.
    pub(crate) async fn close(self) {
        self.scene.close().await;
    }
}

/// The committed text, unless it is being updated.
pub(crate) fn committed_text(committed: &ExpectFile) -> Option<String> {
    env::var_os("UPDATE_EXPECT").is_none().then(|| committed.data())
}

/// Codex warns where no bubblewrap is on the path: whether this machine has one must not be seen on the screens. The one
/// that ships with Codex is added, so that sandboxed commands really run in the sandbox.
pub(crate) fn put_sandbox_on_path(scene: &mut Scene, codex: &Codex) {
    let bundled = codex.native.ancestors().map(|above| above.join("codex-resources/bwrap"));
    let Some(bundled) = bundled.into_iter().find(|program| program.exists()) else { return };
    let programs = scene.codex_home.root().join("bin");
    fs::create_dir(&programs).unwrap();
    std::os::unix::fs::symlink(bundled, programs.join("bwrap")).unwrap();
    let path = env::var("PATH").unwrap();
    scene.set("PATH", format!("{}:{path}", programs.display()));
}

/// Commands are asked about, and run without a sandbox.
pub(crate) const ASKING: [&str; 4] = ["--sandbox", "danger-full-access", "--approval", "untrusted"];

/// Nothing is asked, and nothing is restricted.
pub(crate) const FREE: [&str; 4] = ["--sandbox", "danger-full-access", "--approval", "never"];

/// Types a line and sends it.
pub(crate) async fn send(terminal: &mut Terminal, line: &str) {
    terminal.type_keys(line).await;
    terminal.key(Key::Enter).await;
}

/// Waits for a request on the screen until it takes keys: not before a person could have seen it.
pub(crate) async fn asked(terminal: &mut Terminal) -> Screen {
    let takes_keys = |screen: &Screen| {
        screen.contains("[y]") && screen.style_of("keys answer").is_some_and(|style| style.is_bold)
    };
    terminal.wait_until("a request that takes keys", takes_keys).await;
    terminal.settled().await
}

/// Waits until a turn has ended with these words, and nothing changes any more.
pub(crate) async fn ended(terminal: &mut Terminal, words: &str) -> Screen {
    let is_over = |screen: &Screen| screen.contains(words) && screen.contains(ENDED) && is_at_prompt(screen);
    terminal.wait_until("the end of the turn", is_over).await;
    terminal.settled().await
}

/// Whether a frame is complete: the cursor is positioned, or hidden for a question, last.
pub(crate) fn is_at_prompt(screen: &Screen) -> bool {
    let is_asking = screen.modes().is_cursor_hidden;
    is_asking || screen.lines()[usize::from(screen.cursor().0)].starts_with(PROMPT)
}

/// Leaves the chat by its command, and checks that the terminal is as it was.
pub(crate) async fn quit(mut terminal: Terminal) {
    send(&mut terminal, "/quit").await;
    assert_eq!(terminal.exit_code().await, Some(0), "{}", terminal.screen());
    super::restoring::assert_restored(&terminal);
}
