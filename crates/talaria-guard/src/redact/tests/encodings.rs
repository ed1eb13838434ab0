//! Properties of base64: at any position of a secret in a run, and for any wrapping, no part of it leaks.

use super::*;

const SECRET: &str = "OPENAI_API_KEY=sk-proj-Uniq4Material7NotReal2Uniq4Material7NotReal2\n";

/// Settings without a secret, of `length` bytes.
fn filler(length: usize) -> String {
    "GREETING=hello there\nMODE=production\nWORKERS=12\n# nothing else\n"
        .chars()
        .cycle()
        .take(length)
        .collect()
}

/// The run as tools print it: in one line, wrapped, wrapped and indented, wrapped inside a string of JSON.
fn printed(text: &str) -> [String; 5] {
    let run = BASE64_STANDARD.encode(text);
    let wrapped = |width: usize, end: &str| {
        let lines: Vec<&str> =
            run.as_bytes().chunks(width).map(|line| std::str::from_utf8(line).unwrap()).collect();
        lines.join(end)
    };
    [run.clone(), wrapped(76, "\n"), wrapped(64, "\r\n"), wrapped(76, "\n    "), wrapped(76, "\\n")]
}

/// The decoded remaining runs.
fn decoded(text: &str) -> String {
    let letters: Vec<u8> = text
        .replace("\\n", "")
        .bytes()
        .take_while(|byte| *byte != b'[')
        .filter(|byte| byte.is_ascii_alphanumeric() || b"+/".contains(byte))
        .collect();
    let whole = &letters[..letters.len() / 4 * 4];
    String::from_utf8_lossy(&BASE64_STANDARD.decode(whole).unwrap()).into_owned()
}

#[test]
fn a_secret_anywhere_in_a_run_is_hidden_with_the_rest_of_the_run() {
    for place in (0..1500).step_by(61) {
        for run in printed(&(filler(place) + SECRET + &filler(700))) {
            let found = redact(&run);
            assert!(found.contains("[redacted:encoded-secret:"), "at {place}: {found}");
            assert!(found.ends_with(']'), "at {place}: {found}");
            assert!(!decoded(&found).contains("Uniq4"), "at {place}: {found}");
            assert_eq!(in_pieces([&run[..run.len() / 2], &run[run.len() / 2..]]), found, "at {place}");
        }
    }
}

#[test]
fn a_run_without_a_secret_is_untouched_and_ends_where_it_ends() {
    for length in (12..1500).step_by(97) {
        for run in printed(&filler(length)) {
            let text = format!("{run}\nThe next line is text; PASSWORD=hunter2");
            assert_eq!(redact(&text), text.replace("hunter2", "[redacted:password:7]"), "of {length}");
            assert_eq!(char_by_char(&text), redact(&text), "of {length}");
        }
    }
}

#[test]
fn text_after_a_run_with_a_secret_is_left_alone() {
    // Also where the last line of the run is as long as the others.
    for length in 0..240 {
        for run in printed(&(SECRET.to_owned() + &filler(length))) {
            for behind in
                ["\nThen the log goes on.", "\ndone\n", " | base64 -d", "\",\"n\":1}", "\n\n## Next"]
            {
                let found = redact(&format!("{run}{behind}")).into_owned();
                assert!(found.ends_with(behind) && found.starts_with("[redacted:"), "{length} {found}");
            }
        }
    }
}

#[test]
fn base64_of_base64_is_read_too() {
    let twice = BASE64_STANDARD.encode(BASE64_STANDARD.encode(SECRET));
    assert_eq!(redact(&twice), format!("[redacted:encoded-secret:{}]", twice.len()));
}
