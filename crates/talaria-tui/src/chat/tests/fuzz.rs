//! Ten thousand random keys against the key table of the guide. The model below knows that table, the keys with their times, and
//! the screens that were drawn; it does not know the code. Everything that decides or sends has to be explained by it.

use talaria_core::request::{Answer, Decision, Who};

use super::*;

/// How long a card is on the screen before a key answers it.
const CARD: Duration = Duration::from_millis(500);
/// How long nothing may follow a letter before it answers.
const LETTER: Duration = Duration::from_millis(200);

/// The guide's table of keys for a command.
const TABLE: [(char, char, &str); 5] = [
    ('1', 'y', "accept"),
    ('2', 's', "accept_for_session"),
    ('3', 'n', "decline"),
    ('4', 'r', "reason"),
    ('5', 'x', "cancel"),
];

/// What a person at the keyboard knows.
#[derive(Default)]
struct Person {
    /// The last drawn screen.
    screen: String,
    /// The card on it, and since when it has been on every drawn screen.
    card: Option<(String, Duration)>,
    /// The last keys with their times and with the screens and cards that they were pressed at, newest last.
    keys: Vec<Pressed>,
}

#[derive(Clone)]
struct Pressed {
    at: Duration,
    key: KeyPress,
    screen: String,
    card: Option<(String, Duration)>,
}

impl Person {
    /// Looks at a drawn screen.
    fn look(&mut self, now: Duration, screen: String) {
        let name = screen.lines().find_map(|row| row.strip_prefix("  │ cmd-"));
        let is_card = screen.contains("? The model asks to run a command");
        self.card = match (name.filter(|_| is_card), self.card.take()) {
            (Some(name), Some((shown, since))) if shown == name => Some((shown, since)),
            (Some(name), _) => Some((name.to_owned(), now)),
            (None, _) => None,
        };
        self.screen = screen;
    }

    fn press(&mut self, at: Duration, key: KeyPress) {
        self.keys.push(Pressed { at, key, screen: self.screen.clone(), card: self.card.clone() });
        if self.keys.len() > 8 {
            self.keys.remove(0);
        }
    }

    /// Is there an explanation for this answer?
    fn explains(&self, now: Duration, ticket: &str, answer: &Answer) -> bool {
        let Some(last) = self.keys.last() else { return false };
        let is_on_card = |pressed: &Pressed| {
            pressed.card.as_ref().is_some_and(|(shown, since)| shown == ticket && pressed.at >= *since + CARD)
        };
        if last.key.code == Code::Enter && last.at == now {
            if !is_on_card(last) {
                return false;
            }
            return said(answer, marked(&last.screen).as_deref())
                || is_reason(&last.screen, answer)
                || is_command(&last.screen, answer);
        }
        // Enter after a letter neither hastens nor hinders it.
        let Some(letter) = self.keys.iter().rev().find(|pressed| pressed.key.code != Code::Enter) else {
            return false;
        };
        let Code::Char(c) = letter.key.code else { return false };
        let has_keys = letter.screen.contains("[y") && !letter.screen.contains("Ctrl-G answers it");
        let decision = TABLE.iter().find(|(number, key, _)| c == *number || c.eq_ignore_ascii_case(key));
        !letter.key.ctrl
            && has_keys
            && is_on_card(letter)
            && now >= letter.at + LETTER
            && said(answer, decision.map(|(_, _, decision)| *decision))
    }

    /// Was this text in the input line when Enter was pressed?
    fn sent(&self, now: Duration, text: &str) -> bool {
        self.keys.last().is_some_and(|last| {
            let input = input_line(&last.screen);
            let is_shown = !input.is_empty() && squeezed(text).ends_with(&input);
            last.key.code == Code::Enter && last.at == now && is_shown
        })
    }

    fn pressed(&self, now: Duration, is_meant: impl Fn(&KeyPress) -> bool) -> bool {
        self.keys.last().is_some_and(|last| last.at == now && is_meant(&last.key))
    }
}

fn said(answer: &Answer, decision: Option<&str>) -> bool {
    let given = serde_json::to_value(answer).unwrap();
    decision.is_some_and(|decision| given["decision"] == decision) && given["reason"].is_null()
}

/// The decision of the marked choice on a screen.
fn marked(screen: &str) -> Option<String> {
    let row = screen.lines().find_map(|row| row.strip_prefix("› ").filter(|row| row.contains("] ")))?;
    let key = row.split_once('[')?.1.chars().next()?;
    TABLE.iter().find(|(_, letter, _)| *letter == key).map(|(_, _, decision)| (*decision).to_owned())
}

fn is_reason(screen: &str, answer: &Answer) -> bool {
    let given = serde_json::to_value(answer).unwrap();
    let typed = screen.lines().find_map(|row| row.strip_prefix("tell the model why (empty line: back): "));
    given["decision"] == "decline" && typed.is_some_and(|typed| given["reason"] == typed.trim())
}

fn is_command(screen: &str, answer: &Answer) -> bool {
    let given = serde_json::to_value(answer).unwrap();
    match input_line(screen).as_str() {
        "/approve" => given["decision"] == "accept",
        "/deny" => given["decision"] == "decline",
        _ => false,
    }
}

/// The input line without its blanks: the rows from the last that begins as it does; a shell command begins with `$`, a line
/// whose beginning is not shown with `↑`.
fn input_line(screen: &str) -> String {
    let rows: Vec<&str> = screen.lines().collect();
    let first = rows.iter().rposition(|row| ["› ", "$ ", "↑ "].iter().any(|sign| row.starts_with(sign)));
    let status = rows.len().saturating_sub(1);
    let input = first.map_or(&[][..], |first| &rows[first..status.max(first)]);
    squeezed(&input.join("").chars().skip(1).collect::<String>())
}

fn squeezed(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

/// The same numbers in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[usize::try_from(self.roll(from.len() as u64)).unwrap()]
    }

    fn key(&mut self) -> KeyPress {
        let name = match self.roll(100) {
            0..28 => self.pick(&["y", "s", "a", "n", "r", "x", "Y", "u"]),
            28..36 => self.pick(&["1", "2", "3", "4", "5", "6"]),
            36..46 => self.pick(&["e", "o", "t", "h", "z", "Space"]),
            46..60 => "Enter",
            60..74 => self.pick(&["Up", "Down", "Down"]),
            74..77 => "Esc",
            77..86 => "Ctrl-G",
            86..93 => self.pick(&["Ctrl-U", "Backspace", "Backspace"]),
            93..96 => self.pick(&["F1", "F2", "PageUp", "PageDown", "Home", "End"]),
            96..99 => self.pick(&["/", "?", "@", "!", "Tab", "Shift-Tab"]),
            _ => "Ctrl-C",
        };
        key(name)
    }
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    approved: u32,
    declined: u32,
    with_reason: u32,
    sent: u32,
    modes: u32,
}

/// Plays this many keys; returns how often each thing happened.
fn fuzz(seed: u64, keys: u32) -> Counts {
    let (mut play, mut dice, mut person) = (play(), Dice(seed), Person::default());
    play.running();
    play.wishes();
    let (mut counts, mut opened, mut open) = (Counts::default(), 0u32, Vec::new());
    for _ in 0..keys {
        if open.len() < 2 && dice.roll(3) == 0 {
            opened += 1;
            open.push(opened);
            play.asked(&opened.to_string(), sample::ask_command(&format!("cmd-{opened}")));
        }
        look(&mut play, &mut person);
        let gap = [5, 60, 150, 199, 260, 600, 1100, 2600][usize::try_from(dice.roll(8)).unwrap()];
        play.wait(gap);
        check(&mut play, &person, &mut open, &mut counts);
        look(&mut play, &mut person);
        // Now and then a whole word, as a person types it.
        let words: &[&str] = &["/approve", "/deny", "yes please", "no", "stop it"];
        if dice.roll(25) == 0 {
            for c in dice.pick(words).chars() {
                let key = KeyPress { code: Code::Char(c), ctrl: false, alt: false, shift: false };
                press(&mut play, &mut person, key);
                check(&mut play, &person, &mut open, &mut counts);
                look(&mut play, &mut person);
                play.wait(70);
                check(&mut play, &person, &mut open, &mut counts);
            }
            look(&mut play, &mut person);
        }
        let key = dice.key();
        press(&mut play, &mut person, key);
        check(&mut play, &person, &mut open, &mut counts);
    }
    counts
}

fn look(play: &mut Play, person: &mut Person) {
    play.draw();
    let screen = play.chat.frame(play.size.0, play.size.1, play.now).text();
    play.chat.drawn(play.now);
    person.look(play.now, screen);
}

fn press(play: &mut Play, person: &mut Person, key: KeyPress) {
    person.press(play.now, key);
    play.key(key);
}

/// Everything that the chat wishes for has an explanation; then the engine does it.
fn check(play: &mut Play, person: &Person, open: &mut Vec<u32>, counts: &mut Counts) {
    let explain = |what: &str| {
        let keys: Vec<String> =
            person.keys.iter().map(|key| format!("{:?} {:?}", key.at, key.key.code)).collect();
        format!(
            "{what} at {:?}\n{}\n{}",
            play.now,
            keys.join("\n"),
            person.keys.last().map_or("", |key| &key.screen)
        )
    };
    let mut news = Vec::new();
    for wish in play.chat.wishes() {
        match wish {
            ChatEffect::Answer { ticket, answer, digest } => {
                let is_explained = person.explains(play.now, ticket.as_str(), &answer);
                assert!(is_explained, "{}", explain(&format!("{ticket}: {answer:?}")));
                assert_eq!(digest, Some(format!("digest of {ticket}")));
                let given = serde_json::to_value(&answer).unwrap();
                match given["decision"].as_str().unwrap() {
                    "accept" | "accept_for_session" => counts.approved += 1,
                    _ if given["reason"].is_string() => counts.with_reason += 1,
                    _ => counts.declined += 1,
                }
                open.retain(|id| id.to_string() != ticket.as_str());
                let closed = Event::RequestClosed {
                    id: ticket,
                    decision: Decision::Decline,
                    by: Who::User,
                    why: None,
                };
                news.push(closed);
            }
            ChatEffect::Say(prompt, _) | ChatEffect::Send(prompt) => {
                assert!(person.sent(play.now, &prompt.text), "{}", explain(&prompt.text));
                counts.sent += 1;
            }
            ChatEffect::Shell(command) => {
                let line = format!("!{command}");
                assert!(person.sent(play.now, &line), "{}", explain(&line));
                play.chat.news(play.now, News::ShellEnded { exit: Some(0), took_ms: Some(1), note: None });
            }
            ChatEffect::Interrupt | ChatEffect::StopShell => {
                let is_stop =
                    |key: &KeyPress| key.code == Code::Esc || key.ctrl && key.code == Code::Char('c');
                assert!(person.pressed(play.now, is_stop), "{}", explain("stop"));
            }
            ChatEffect::Leave => {
                let is_ctrl_c = |key: &KeyPress| key.ctrl && key.code == Code::Char('c');
                assert!(person.pressed(play.now, is_ctrl_c), "{}", explain("leave"));
            }
            ChatEffect::Run(SlashCommand::Permissions(words)) if words == ["next"] => {
                let is_shift_tab = |key: &KeyPress| key.code == Code::BackTab;
                assert!(person.pressed(play.now, is_shift_tab), "{}", explain("a mode"));
                let is_free = person.keys.last().is_some_and(|last| last.card.is_none());
                assert!(is_free, "{}", explain("a mode beside a card"));
                counts.modes += 1;
            }
            ChatEffect::Run(_) => {
                assert!(person.pressed(play.now, |key| key.code == Code::Enter), "{}", explain("a command"));
            }
            _ => {}
        }
    }
    for event in news {
        play.event(event);
    }
}

#[test]
fn every_answer_and_every_message_follows_the_key_table_on_a_card_that_was_seen() {
    let mut all = Counts::default();
    for seed in 1..=4 {
        let counts = fuzz(0x9e37_79b9_7f4a_7c15 ^ seed, 2_500);
        all.approved += counts.approved;
        all.declined += counts.declined;
        all.with_reason += counts.with_reason;
        all.sent += counts.sent;
        all.modes += counts.modes;
    }
    // A fuzz in which nothing happens would show nothing.
    let is_enough =
        all.approved > 100 && all.declined > 50 && all.with_reason > 5 && all.sent > 100 && all.modes > 0;
    assert!(is_enough, "{all:?}");
}
