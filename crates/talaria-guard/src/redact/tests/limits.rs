//! Where the rules end: each bound is tried at its last value and one beyond it.
//!
//! A bound that moves shows here. The corpora do not decide it: a real key is well inside, ordinary text well outside.

use super::*;

/// Letters of a key, with capitals, digits and signs of base64.
fn letters(count: usize) -> String {
    "Fake/Material4+NotReal7".chars().cycle().take(count).collect()
}

/// Letters of a token: no sign that would end a word.
fn token(count: usize) -> String {
    "Fake4Material7NotReal2".chars().cycle().take(count).collect()
}

/// `secret` is hidden as a whole, alone and in a stream, and the surrounding text is kept.
#[track_caller]
fn hidden(before: &str, kind: &str, secret: &str, after: &str) {
    let text = format!("{before}{secret}{after}");
    let expected = format!("{before}[redacted:{kind}:{}]{after}", secret.len());
    assert_eq!(redact(&text), expected);
    assert_eq!(char_by_char(&text), expected, "in a stream");
}

/// Nothing is hidden.
#[track_caller]
fn untouched(text: &str) {
    assert_eq!(redact(text), text);
    assert_eq!(char_by_char(text), text, "in a stream");
}

const BEGIN: &str = "-----BEGIN PRIVATE KEY-----";
const END: &str = "-----END PRIVATE KEY-----";

#[test]
fn a_gap_in_a_key_has_at_most_64_bytes() {
    let key = |gap: usize| format!("{BEGIN}\n{}{}", " ".repeat(gap - 1), letters(64));
    hidden("", "private-key", &key(64), " done");
    untouched(&format!("{} done", key(65)));
}

#[test]
fn a_full_line_of_a_key_has_at_least_40_letters() {
    hidden("", "private-key", &format!("{BEGIN}\n{}", letters(40)), " follows");
    untouched(&format!("{BEGIN}\n{} follows", letters(39)));
}

#[test]
fn a_short_last_line_belongs_to_a_key_that_was_cut_off_and_a_word_after_it_does_not() {
    hidden("", "private-key", &format!("{BEGIN}\n{}\n{}", letters(64), letters(12)), "\n\nThe rest.");
    hidden("", "private-key", &format!("{BEGIN}\n{}", letters(64)), "\nThe rest.");
}

#[test]
fn a_label_has_at_most_40_letters() {
    let key = |label: usize| {
        let label = format!("{} PRIVATE KEY", "A".repeat(label - 12));
        format!("-----BEGIN {label}-----\n{}\n-----END {label}-----", letters(64))
    };
    hidden("", "private-key", &key(40), " done");
    untouched(&format!("{} done", key(41)));
}

#[test]
fn a_header_of_a_key_may_have_98_letters_and_its_lines_six_digits_of_numbers() {
    let headed = format!("{BEGIN}\nComment: {}\n{}\n{END}", "x".repeat(98), letters(64));
    hidden("", "private-key", &headed, "\ndone");
    let numbered = format!("{BEGIN}\n123456|{}\n123457|{}\n123458|{END}", letters(64), letters(64));
    hidden("", "private-key", &numbered, "\ndone");
}

#[test]
fn the_end_of_a_key_of_short_lines_is_found_within_256_bytes() {
    // Each line has ten letters and its end; the search begins after the first.
    let key = |lines: usize| format!("{BEGIN}{}\n{END}", format!("\n{}", token(10)).repeat(lines));
    hidden("", "private-key", &key(25), " done");
    let found = redact(&key(27)).into_owned();
    assert!(found.ends_with(END), "a list of short words is no key: {found}");
}

#[test]
fn a_jwt_has_a_head_of_12_letters_and_a_second_part_of_16() {
    let head = |count: usize| format!("eyJ{}", token(count - 3));
    hidden("x ", "jwt", &format!("{}.{}", head(12), token(16)), " x");
    hidden("x ", "jwt", &format!("{}.eyJ", head(12)), " x");
    hidden("x ", "jwt", &format!("{}..{}", head(12), token(16)), " x");
    untouched(&format!("x {}.{} x", head(11), token(16)));
    untouched(&format!("x {}.{} x", head(12), token(15)));
    untouched(&format!("x {}..{} x", head(12), token(15)));
}

#[test]
fn a_jwt_is_held_back_for_8192_letters() {
    let jwt = |head: usize| format!("eyJ{}.{}", "A".repeat(head - 3), token(16));
    hidden("x ", "jwt", &jwt(8192), " x");
    untouched(&format!("x {} x", jwt(8193)));
    let (mut stream, mut out) = (Stream::new(), String::new());
    stream.push(&format!("eyJ{}", "A".repeat(8192 - 3)), &mut out);
    assert_eq!((stream.held(), out.as_str()), (8192, ""), "nothing of what may be a JWT gets out");
}

#[test]
fn a_token_of_discord_has_parts_of_23_to_28_of_6_and_of_27() {
    let bot = |first: usize, second: usize, third: usize| {
        format!("M{}.{}.{}", token(first - 1), token(second), token(third))
    };
    for (first, third) in [(23, 27), (28, 27), (24, 38)] {
        hidden("x ", "discord-token", &bot(first, 6, third), " x");
    }
    for (first, second, third) in [(22, 6, 27), (29, 6, 27), (24, 5, 27), (24, 7, 27), (24, 6, 26)] {
        untouched(&format!("x {} x", bot(first, second, third)));
    }
}

#[test]
fn a_token_of_telegram_has_a_number_of_6_to_12_digits_and_30_letters() {
    for digits in [6, 12] {
        hidden(&format!("x {}:", "7".repeat(digits)), "telegram-token", &token(30), " x");
    }
    for (digits, body) in [(5, 30), (13, 30), (8, 29)] {
        untouched(&format!("x {}:{} x", "7".repeat(digits), token(body)));
    }
}

#[test]
fn a_client_secret_of_azure_has_28_letters_after_its_tilde() {
    hidden("x ", "azure-client-secret", &format!("abc8Q~{}", token(28)), " x");
    untouched(&format!("x abc8Q~{} x", token(27)));
}

#[test]
fn encoded_text_is_read_from_16_letters_on_and_follows_lines_of_60() {
    hidden("x ", "encoded-secret", &BASE64_STANDARD.encode("PWD=hunter2!"), " x");
    untouched(&format!("x {} x", BASE64_STANDARD.encode("PWD=hunt2")));
    let run = BASE64_STANDARD.encode(format!("OPENAI_API_KEY=sk-proj-{}\n", token(80)));
    let lines: Vec<&str> = run.as_bytes().chunks(60).map(|line| std::str::from_utf8(line).unwrap()).collect();
    hidden("", "encoded-secret", &lines.join("\n"), "\nThe rest.");
}

#[test]
fn a_value_of_128_bytes_is_no_name_whatever_it_reads_like() {
    let name = |count: usize| "some_name_".chars().cycle().take(count).collect::<String>();
    hidden("x secret: ", "secret", &name(128), ", y");
    untouched(&format!("x secret: {}, y", name(127)));
}

#[test]
fn a_type_between_name_and_value_may_have_48_letters() {
    hidden(&format!("password: {} = \"", "Rc<".repeat(16)), "password", "hunter2", "\"");
}

#[test]
fn a_value_continues_over_a_sign_only_if_a_word_follows() {
    for (value, after) in [
        ("hunter2)more", " x"),
        ("hunter2]more", " x"),
        ("hunter2", ") x"),
        ("hunter2", "], x"),
        ("hunter2,more", " x"),
        ("hunter2;more", " x"),
        ("hunter2", ", x"),
        ("hunter2", ",name=x"),
        ("hunter2", "&name=x"),
        ("hunter2\\more", " x"),
        ("hunter2", "\\nmore"),
        ("hunter2", "\\\" x"),
    ] {
        hidden("PASSWORD=", "password", value, after);
    }
}

#[test]
fn a_placeholder_is_a_mask_of_three_a_type_of_three_digits_or_an_invitation_with_one() {
    for kept in ["xxx", "u128", "your-key-1", "[hidden]", "{token}", "%s", "<a1-b2>", "$TOKEN", "***"] {
        untouched(&format!(r#"{{"password": "{kept}"}}"#));
    }
    for secret in ["xx", "u1024", "your-key-12", "[hidden1]", "{token1}", "%s1", "yours", "$token1"] {
        hidden(r#"{"password": ""#, "password", secret, r#""}"#);
    }
}
