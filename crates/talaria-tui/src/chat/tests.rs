//! Inputs and news in; the screen and the wishes out.

use std::time::Duration;

use jiff::Timestamp;
use talaria_core::api::{
    AccountInfo, EffortOffer, ModelOffer, Numbered, Offers, RequestInfo, RequestState, TaskCounts,
};
use talaria_core::config::{Enter, Theme};
use talaria_core::event::Event;
use talaria_core::ids::{SessionId, TicketId};
use talaria_core::request::Ask;

use super::commands::SlashCommand;
use super::contract::{ChatEffect, ChatInput, Code, KeyPress, News};
use super::{Chat, RequestedSettings, Setup};
use talaria_render::{Look, sample};

mod asking;
mod background;
mod choosing;
mod elsewhere;
mod first_prompt;
mod first_screen;
mod fuzz;
mod holding;
mod lasting;
mod leaving;
mod losing;
mod marking;
mod meant;
mod own;
mod properties;
mod reading;
mod saying;
mod sizes;
mod telling;
mod truth;

/// A chat, a clock, and the size of a window.
struct Play {
    chat: Chat,
    now: Duration,
    seq: i64,
    size: (u16, u16),
}

fn play() -> Play {
    with_look(Look { color: true, width: None, live: true, unicode: true })
}

fn with_look(look: Look) -> Play {
    let setup = Setup {
        look,
        theme: Theme::Terminal,
        enter: Enter::Steer,
        version: "0.6.0".into(),
        cwd: "/home/me/project".into(),
        home: Some("/home/me".into()),
        asked: RequestedSettings::default(),
        history: Vec::new(),
    };
    Play { chat: Chat::new(setup), now: Duration::from_secs(60), seq: 0, size: (80, 24) }
}

impl Play {
    fn at(mut self, columns: u16, rows: u16) -> Self {
        self.size = (columns, rows);
        self
    }

    /// Draws, as the driver does after every step, and lets a second pass.
    fn settle(&mut self) -> &mut Self {
        self.draw().wait(1000)
    }

    fn draw(&mut self) -> &mut Self {
        self.chat.frame(self.size.0, self.size.1, self.now);
        self.chat.drawn(self.now);
        self
    }

    fn wait(&mut self, milliseconds: u64) -> &mut Self {
        self.now += Duration::from_millis(milliseconds);
        self.chat.tick(self.now);
        self
    }

    fn key(&mut self, key: KeyPress) -> &mut Self {
        self.chat.input(self.now, ChatInput::Key(key));
        self
    }

    /// Presses keys by their names, one after the other. A letter that decides is followed by nothing at once.
    fn press(&mut self, names: &str) -> &mut Self {
        for name in names.split(' ') {
            self.key(key(name));
            if self.chat.held().is_some() {
                self.wait(200);
            }
        }
        self
    }

    fn write(&mut self, text: &str) -> &mut Self {
        for c in text.chars() {
            self.key(KeyPress { code: Code::Char(c), ctrl: false, alt: false, shift: false });
        }
        self
    }

    fn paste(&mut self, text: &str) -> &mut Self {
        self.chat.input(self.now, ChatInput::Paste(text.to_owned()));
        self
    }

    fn news(&mut self, news: News) -> &mut Self {
        self.chat.news(self.now, news);
        self
    }

    fn event(&mut self, event: Event) -> &mut Self {
        let numbered = self.numbered(event);
        self.news(News::Event(Box::new(numbered)))
    }

    fn numbered(&mut self, event: Event) -> Numbered {
        self.seq += 1;
        let at = Timestamp::UNIX_EPOCH + jiff::SignedDuration::try_from(self.now).unwrap();
        Numbered { session: session(), seq: self.seq, at, turn: Some(1), event }
    }

    /// A conversation whose turn runs.
    fn running(&mut self) -> &mut Self {
        self.write("go").press("Enter");
        self.chat.wishes();
        self.news(News::Started { session: session(), turn: 1 });
        self.event(sample::session_started()).event(sample::turn_started())
    }

    /// Codex asks something in this conversation.
    fn asked(&mut self, id: &str, ask: Ask) -> &mut Self {
        self.event(Event::RequestOpened {
            id: TicketId::new(id),
            ask: Box::new(ask),
            place: None,
            digest: Some(format!("digest of {id}")),
        })
    }

    fn screen(&mut self) -> String {
        let frame = self.chat.frame(self.size.0, self.size.1, self.now);
        assert_eq!(frame, self.chat.frame(self.size.0, self.size.1, self.now), "a second look is the same");
        self.chat.drawn(self.now);
        frame.text()
    }

    /// The rows that contain a word.
    fn rows_with(&mut self, word: &str) -> String {
        self.screen()
            .lines()
            .filter(|line| line.contains(word))
            .map(|line| format!("{}\n", line.trim()))
            .collect()
    }

    /// The wishes, a line each.
    fn wishes(&mut self) -> String {
        let told = |wish: &ChatEffect| match wish {
            ChatEffect::Answer { ticket, answer, digest } => {
                let answer = serde_json::to_string(answer).unwrap();
                format!("answer {ticket} {answer} [{}]\n", digest.as_deref().unwrap_or_default())
            }
            wish => format!("{wish:?}\n"),
        };
        self.chat.wishes().iter().map(told).collect()
    }
}

fn session() -> SessionId {
    SessionId::new("s-1")
}

fn key(name: &str) -> KeyPress {
    let mut key = KeyPress { code: Code::Esc, ctrl: false, alt: false, shift: false };
    let mut rest = name;
    for (prefix, flag) in [("Ctrl-", 0), ("Alt-", 1), ("Shift-", 2)] {
        if let Some(short) = rest.strip_prefix(prefix) {
            rest = short;
            *[&mut key.ctrl, &mut key.alt, &mut key.shift][flag] = true;
        }
    }
    key.code = match rest {
        "Enter" => Code::Enter,
        "Esc" => Code::Esc,
        "Tab" if key.shift => Code::BackTab,
        "Tab" => Code::Tab,
        "Backspace" => Code::Backspace,
        "Up" => Code::Up,
        "Down" => Code::Down,
        "Left" => Code::Left,
        "Home" => Code::Home,
        "End" => Code::End,
        "PageUp" => Code::PageUp,
        "PageDown" => Code::PageDown,
        "Space" => Code::Char(' '),
        "F1" => Code::F(1),
        "F2" => Code::F(2),
        "F3" => Code::F(3),
        other => Code::Char(other.chars().next().unwrap()),
    };
    // Terminals report a letter with Ctrl or Alt in lower case.
    if let Code::Char(c) = &mut key.code
        && (key.ctrl || key.alt)
    {
        *c = c.to_ascii_lowercase();
    }
    key
}

fn offers() -> Box<Offers> {
    let model = |id: &str, is_default| ModelOffer {
        id: id.into(),
        name: id.into(),
        description: format!("about {id}"),
        efforts: vec![EffortOffer { effort: "high".into(), description: "thinks long".into() }],
        default_effort: Some("medium".into()),
        takes_images: None,
        is_default,
    };
    Box::new(Offers {
        codex: "0.166.0".into(),
        account: AccountInfo {
            needed: false,
            kind: Some("chatgpt".into()),
            name: Some("me@example.org".into()),
            plan: Some("plus".into()),
        },
        models: vec![model("gpt-5.5", true), model("mini", false)],
        hidden_models: Vec::new(),
        lists_every_model: true,
        model: None,
        effort: None,
        provider: Some("openai".into()),
        untrusted: false,
        sandbox: Some("workspace-write".into()),
        approval: Some("on-request".into()),
        limits: None,
        notes: Vec::new(),
    })
}

/// The engine says that nothing waits.
fn nothing_waits() -> News {
    News::Waiting { requests: Vec::new(), tasks: TaskCounts::default(), background: 0 }
}

/// A request from a task in the background.
fn of_task(id: &str, task: &str) -> RequestInfo {
    let ask = sample::ask_command("make deploy");
    RequestInfo {
        id: TicketId::new(id),
        session: SessionId::new("s-2"),
        task: Some(task.into()),
        title: None,
        kind: "command".into(),
        summary: "make deploy".into(),
        since: Timestamp::UNIX_EPOCH,
        state: RequestState::Open,
        place: None,
        choices: ask.choices(),
        answered_by: None,
        decision: None,
        answered_at: None,
        digest: Some(format!("digest of {id}")),
        ask: Some(ask),
    }
}
