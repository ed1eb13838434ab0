//! Properties of every text in every chunking: nothing hostile passes, and drafts leave no trace.

use talaria_core::event::Event;
use talaria_core::item::Status;

use super::screen::Screen;
use super::tests::{rendered, seen, turn};
use super::{Look, sample};

#[test]
fn no_escape_is_written_without_colour() {
    let mut events = turn();
    events.extend(sample::one_of_each());
    events.push(sample::text("h", "\u{1b}[2J\u{9b}2J\u{202e}"));
    for look in [sample::PIPE, Look { live: true, width: Some(80), ..sample::PIPE }] {
        let text = rendered(look, &events);
        assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
    }
}

#[test]
fn hostile_text_cannot_command_the_terminal() {
    let evil = "\u{1b}]52;c;ZXZpbA==\u{7}\u{1b}[1A\u{9b}2K\r\u{202e}x";
    let events = [
        sample::turn_started(),
        sample::text("m", evil),
        sample::began("c", sample::command_body(evil, Status::InProgress, None, None)),
        sample::output("c", evil),
        sample::opened(sample::ask_command(evil)),
        sample::ended("c", sample::command_body(evil, Status::Failed, Some(1), Some(evil))),
        Event::Warning { message: evil.into() },
        sample::completed(evil),
    ];
    // The screen refuses every sequence that is not one of ours.
    let text = seen(&events);
    assert!(!text.contains(['\u{1b}', '\u{9b}', '\u{202e}', '\u{7}']), "{text:?}");
    assert_eq!(text.matches("⟨U+202E⟩").count(), 5, "{text}");
}

#[test]
fn no_question_can_command_the_terminal_or_hide_anything() {
    let evil = "\u{1b}]52;c;ZXZpbA==\u{7}\u{1b}[1A\u{9b}2K\r\u{202e}x";
    for ask in sample::every_ask(evil) {
        let text = seen(&[sample::turn_started(), sample::opened(ask.clone())]);
        assert!(!text.contains(['\u{1b}', '\u{9b}', '\u{202e}', '\u{7}', '\r']), "{text:?}");
        let told = serde_json::to_string(&ask).unwrap().matches('\u{202e}').count();
        // All foreign text is present and marked as such.
        assert!(text.matches("⟨U+202E⟩").count() >= told, "{told} times: {text}");
    }
}

#[test]
fn any_chunking_of_a_message_ends_in_the_same_screen() {
    let text = "Some **bold words** in a line that is long enough to be wrapped on a terminal of eighty columns, \
        with `code` and *.rs\n\n```sh\ncargo test\n```\n| a | b |\n|--|--|\n| 1 | 2 |\n";
    let after = [sample::ended("m", sample::message_body(text, None)), sample::completed(text)];
    let show = |chunks: &[&str]| {
        let mut events = vec![sample::turn_started()];
        events.extend(chunks.iter().map(|chunk| sample::text("m", chunk)));
        events.extend_from_slice(&after);
        // The time differs with the number of chunks.
        [seen(&events), rendered(sample::PIPE, &events)]
            .map(|all| all.rsplit_once("tokens").unwrap().0.to_owned())
    };
    let whole = show(&[text]);
    for size in [1, 2, 3, 7, 20, 50] {
        let chunks: Vec<&str> =
            text.as_bytes().chunks(size).map(|chunk| std::str::from_utf8(chunk).unwrap()).collect();
        assert_eq!(show(&chunks), whole, "chunks of {size}");
    }
}

#[test]
fn no_text_in_any_chunking_breaks_the_screen() {
    const PIECES: [&str; 28] = [
        "word",
        " ",
        " ",
        "\n",
        "\n",
        "\n\n",
        "*",
        "**",
        "_",
        "`",
        "```",
        "~~",
        "[",
        "](",
        ")",
        "#",
        "- ",
        "1. ",
        "> ",
        "|",
        "|-|\n",
        "世界",
        "\t",
        "\r",
        "\u{1b}[2J",
        "&#27;",
        "\\",
        "averyveryverylongwordwithoutanyspaces/in/it",
    ];
    let mut state = 1_u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    for round in 0..400 {
        let pieces: Vec<&str> = (0..1 + random(60)).map(|_| PIECES[random(PIECES.len())]).collect();
        let text = pieces.concat();
        let look = Look { width: Some(24 + random(40)), ..sample::TERMINAL };
        let show = |chunks: &[&str]| {
            let mut events = vec![sample::turn_started()];
            events.extend(chunks.iter().map(|chunk| sample::text("m", chunk)));
            events.extend([sample::ended("m", sample::message_body(&text, None)), sample::completed("")]);
            let mut screen = Screen::new(look.width.unwrap());
            screen.feed(&rendered(look, &events));
            let text = screen.text();
            text.rsplit_once("tokens").unwrap().0.to_owned()
        };
        assert_eq!(show(&pieces), show(&[&text]), "round {round}: {text:?}");
    }
}
