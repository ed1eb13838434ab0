//! Invariants for any keys and pastes.

use proptest::prelude::*;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use super::super::fragment::Kind;
use super::*;
use crate::chat::images;

/// Something a person does.
#[derive(Clone, Debug)]
enum Act {
    Key(KeyPress),
    Paste(String),
    Show(u16, u16),
    Files(Vec<String>),
    Image,
    PutBack(PromptDraft),
}

const HOSTILE: &[char] = &[
    'a',
    'B',
    ' ',
    '\t',
    '/',
    '@',
    '!',
    '\\',
    '\'',
    '_',
    '世',
    '🚀',
    '\u{301}',
    '\u{200d}',
    '\u{200b}',
    '\u{202e}',
    'ش',
    'ל',
    'ا',
    '\u{1b}',
    '\u{7f}',
    '🇩',
    '🇪',
    '한',
    '\u{1100}',
    '\u{fe0f}',
    '\u{a0}',
    '\u{2028}',
    '\u{e0061}',
];

const NAMED: &[&str] = &[
    "Enter", "A-Enter", "S-Enter", "C-j", "Esc", "Tab", "BackTab", "BS", "A-BS", "C-BS", "Del", "C-Del",
    "Up", "Down", "Left", "Right", "C-Left", "A-Right", "Home", "End", "C-Home", "C-End", "PageUp", "C-a",
    "C-e", "C-k", "C-u", "C-y", "C-w", "C-z", "A-z", "C-r", "C-s", "C-n", "C-p", "C-d", "C-c", "A-b", "A-f",
    "A-d",
];

fn text() -> impl Strategy<Value = String> {
    let letters = prop::collection::vec(prop::sample::select(HOSTILE), 0..20);
    let lines = prop::collection::vec(letters.prop_map(String::from_iter), 0..14);
    lines.prop_flat_map(|lines| {
        prop::sample::select(vec!["\n", "\r", "\r\n", " "]).prop_map(move |end| lines.join(end))
    })
}

fn key() -> impl Strategy<Value = KeyPress> {
    let plain = prop::sample::select(HOSTILE).prop_map(|c| keys(&c.to_string())[0]);
    let named = prop::sample::select(NAMED).prop_map(named);
    prop_oneof![3 => plain, 2 => named]
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        20 => key().prop_map(Act::Key),
        3 => text().prop_map(Act::Paste),
        3 => (0_u16..40, 0_u16..6).prop_map(|(width, rows)| Act::Show(width, rows)),
        1 => Just(Act::Files(vec!["src/".into(), "a b/世.rs".into(), "\u{202e}x".into()])),
        1 => Just(Act::Paste("'/tmp/a shot.png'".into())),
        1 => Just(Act::Image),
        1 => text().prop_map(|text| Act::PutBack(PromptDraft { text, images: vec!["/tmp/x.png".into()] })),
    ]
}

fn perform(composer: &mut Composer, acts: &[Act]) {
    let mut wanted = String::new();
    for act in acts {
        let reaction = match act {
            Act::Key(key) => composer.key(*key),
            Act::Paste(text) => composer.paste(text),
            Act::Show(width, rows) => {
                check_rows(composer, *width, *rows);
                continue;
            }
            Act::Files(paths) => {
                composer.offer(&wanted, paths.clone());
                continue;
            }
            Act::Image => {
                composer.image("/tmp/a shot.png", Some("/tmp/a shot.png"));
                continue;
            }
            Act::PutBack(prompt) => {
                composer.put_back(prompt.clone());
                continue;
            }
        };
        if let Reaction::WantFiles(letters) = reaction {
            wanted = letters;
        }
        check_cursor(composer);
    }
}

/// The cursor is between graphemes, and not in a unit; units are whole.
fn check_cursor(composer: &Composer) {
    let (buffer, cursor) = (&composer.buffer, composer.buffer.cursor());
    assert!(buffer.units().is_sorted_by(|left, right| left.end <= right.start), "{:?}", buffer.units());
    for unit in buffer.units() {
        let text = &buffer.text()[unit.start..unit.end];
        let whole = match &unit.kind {
            Kind::Paste => Fragment::pasted(text.to_owned()),
            Kind::Image(path) => Fragment::image(path),
        };
        assert_eq!(whole.text, text);
        assert!(unit.kind != Kind::Paste || whole.units[0].label == unit.label, "{unit:?}");
    }
    // Images on the screen equal those that are sent and recalled.
    let (sent, images) = (buffer.content().sent(), buffer.content().images());
    let labels = buffer.units().iter().filter(|unit| unit.kind != Kind::Paste).map(|unit| &unit.label);
    assert!(labels.eq(&images::markers(&images)), "{:?}", buffer.units());
    assert!(images::places(&sent, &images).iter().all(Option::is_some), "{sent:?}");
    let mut from = 0;
    for unit in buffer.units() {
        assert!(cursor <= unit.start || unit.end <= cursor, "{cursor} in {unit:?}");
        from = if unit.end <= cursor { unit.end } else { from };
    }
    let to = buffer.units().iter().map(|unit| unit.start).find(|&start| start >= cursor);
    let text = &buffer.text()[from..to.unwrap_or(buffer.text().len())];
    let is_between =
        text.grapheme_indices(true).any(|(at, _)| from + at == cursor) || from + text.len() == cursor;
    assert!(is_between, "{cursor} in {text:?} from {from}");
}

/// How a terminal counts: grapheme by grapheme.
fn columns(text: &str) -> usize {
    text.graphemes(true).map(UnicodeWidthStr::width).sum()
}

fn check_rows(composer: &mut Composer, width: u16, max_rows: u16) {
    let rows = composer.rows(width, max_rows);
    if width == 0 || max_rows == 0 {
        assert_eq!(rows, Rows::default());
        return;
    }
    let (column, row) = rows.cursor;
    assert!((1..=usize::from(max_rows)).contains(&rows.lines.len()), "{rows:?}");
    assert!(column < width && usize::from(row) < rows.lines.len(), "{rows:?}");
    let popup = composer.popup(width, max_rows);
    assert!(popup.len() <= 8 && popup.len() <= usize::from(max_rows));
    for line in rows.lines.iter().chain(&popup) {
        let text = line.text();
        assert!(columns(&text) <= usize::from(width), "{text:?} in {width} columns");
        let is_harmless =
            |c: char| !c.is_control() && !('\u{200b}'..='\u{200c}').contains(&c) && c != '\u{202e}';
        assert!(text.chars().all(is_harmless), "{text:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn no_row_is_wider_than_the_window_and_the_cursor_is_within(
        acts in prop::collection::vec(act(), 0..40), width in 0_u16..50, rows in 0_u16..8,
    ) {
        let mut composer = Composer::new(LOOK);
        perform(&mut composer, &acts);
        check_rows(&mut composer, width, rows);
    }

    #[test]
    fn what_was_typed_and_pasted_is_what_is_sent(pieces in prop::collection::vec(text(), 1..6)) {
        let mut composer = Composer::new(LOOK);
        let mut expected = String::new();
        for (at, piece) in pieces.iter().enumerate() {
            if at % 2 == 0 {
                composer.paste(piece);
                expected += &paste::with_line_ends(piece);
                continue;
            }
            for c in piece.chars().filter(|c| !c.is_control()) {
                composer.key(keys(&c.to_string())[0]);
                expected.push(c);
            }
        }
        // Otherwise it is a command, continues in another line, or is empty.
        type_in(&mut composer, "x<C-Home>x<C-End>");
        let expected = format!("x{expected}x");
        prop_assert_eq!(composer.text(), &*expected);
        prop_assert_eq!(type_in(&mut composer, "<Enter>"), Reaction::Submit(PromptDraft { text: expected, images: vec![] }));
        prop_assert!(composer.is_empty());
    }

    #[test]
    fn everything_can_be_undone_and_done_again(acts in prop::collection::vec(act(), 0..40)) {
        let mut composer = Composer::new(LOOK);
        let sends = |act: &&Act| !matches!(act, Act::Key(KeyPress { code: Code::Enter, .. }));
        let acts: Vec<_> = acts.iter().filter(sends).cloned().collect();
        perform(&mut composer, &acts);
        type_in(&mut composer, "<Esc><Esc>");
        while composer.buffer.redo() {}
        let content = composer.buffer.content().clone();
        while composer.buffer.undo() {}
        prop_assert!(composer.is_empty());
        while composer.buffer.redo() {}
        prop_assert_eq!(composer.buffer.content(), &content);
    }

    #[test]
    fn what_was_refused_is_sent_again_as_it_was(pieces in (text(), text(), text())) {
        let text = format!("{}[image x.png]{}[image x.png 2]{}", pieces.0, pieces.1, pieces.2);
        prop_assume!(!text.ends_with('\\'));
        let prompt = PromptDraft { text, images: vec!["/tmp/x.png".into(), "/tmp/y/x.png".into()] };
        let mut composer = Composer::new(LOOK);
        composer.put_back(prompt.clone());
        prop_assert_eq!(type_in(&mut composer, "<Enter>"), Reaction::Submit(prompt));
    }
}

proptest! {
    // Each step lays everything out again.
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_step_to_the_right_is_seen(acts in prop::collection::vec(act(), 0..15), width in 4_u16..40) {
        let mut composer = Composer::new(LOOK);
        perform(&mut composer, &acts);
        type_in(&mut composer, "<Esc><Esc><C-Home>");
        let mut last = None;
        loop {
            let cursor = composer.rows(width, 1_000).cursor;
            let place = Some((cursor.1, cursor.0));
            prop_assert!(last < place, "{last:?} {place:?} {:?}", composer.text());
            last = place;
            if type_in(&mut composer, "<Right>") == Reaction::Nothing {
                break;
            }
        }
        while type_in(&mut composer, "<Left>") != Reaction::Nothing {}
        prop_assert_eq!(composer.buffer.cursor(), 0);
    }
}
