//! Words for "password" that are written with other letters than `a` to `z`: `contraseña`, `hasło`, `пароль`, `密码`.
//!
//! The scanner reads words of ASCII only, so a word that continues with another letter is checked at its end, and one
//! that begins with another letter at its first byte. Words that need no such letter are in `names.rs`. `bytes.rs`
//! marks the bytes at which these tables are asked, so text in ASCII pays nothing for them.

use super::assignment::{self, Assignment, Form};
use super::bytes::{ALNUM, BLANK, LOWER, UPPER, any};
use super::hiding::Hidden;
use super::look::{Look, More};
use super::names::{Name, Role, Style};
use super::value;

/// Words that begin in ASCII: the part before the first non-ASCII letter, and the rest.
const MIXED: &[(&str, &str)] = &[
    ("contrase", "ña"),
    ("contrase", "Ña"),
    ("contrasen", "\u{303}a"),
    ("has", "ło"),
    ("has", "Ło"),
    ("l", "ösenord"),
    ("l", "Ösenord"),
    ("jelsz", "ó"),
    ("jelsz", "Ó"),
    ("parol", "ă"),
    ("parol", "Ă"),
    ("m", "ật khẩu"),
    ("m", "ẬT KHẨU"),
    ("slapta", "žodis"),
];

/// Words that begin with another letter. In the bytes of the first letter `bytes.rs` has each of them.
const OTHER: &[&str] = &[
    "şifre",
    "Şifre",
    "пароль",
    "Пароль",
    "ПАРОЛЬ",
    "парола",
    "Парола",
    "лозинка",
    "Лозинка",
    "κωδικός",
    "Κωδικός",
    "συνθηματικό",
    "Συνθηματικό",
    "كلمة المرور",
    "كلمة السر",
    "گذرواژه",
    "رمز عبور",
    "סיסמה",
    "סיסמא",
    "पासवर्ड",
    "পাসওয়ার্ড",
    "รหัสผ่าน",
    "密码",
    "密碼",
    "口令",
    "パスワード",
    "暗証番号",
    "비밀번호",
    "패스워드",
];

/// Labels of several words, of which the first is in ASCII.
const SPACED: &[(&str, &str)] = &[("mot", " de passe"), ("kata", " sandi"), ("palavra", " passe")];

/// Whether `word` may be the first of a label of several words.
#[inline]
pub(super) fn is_first(word: &[u8]) -> bool {
    match word.len() {
        3 => word.eq_ignore_ascii_case(b"mot"),
        4 => word.eq_ignore_ascii_case(b"kata"),
        7 => word.eq_ignore_ascii_case(b"palavra"),
        _ => false,
    }
}

/// Finds the secret after a label of several words, whose first word `text` ends at `end`.
pub(super) fn spaced(look: Look<'_>, text: &[u8], end: usize) -> Result<Option<Hidden>, More> {
    for (first, rest) in SPACED {
        if text.eq_ignore_ascii_case(first.as_bytes()) && begins(look, end, rest)? {
            return find_value(look, Style::Plain, b' ', end + rest.len());
        }
    }
    Ok(None)
}

/// Reads the whole name of a field.
pub(super) fn read(name: &str) -> Option<Name> {
    let is_end = |word: &str| {
        let end = name.as_bytes().split_at_checked(name.len().wrapping_sub(word.len())).map(|(_, end)| end);
        end.is_some_and(|end| end.eq_ignore_ascii_case(word.as_bytes()))
    };
    let mixed = || MIXED.iter().any(|(stem, rest)| is_end(rest) && is_end(&[*stem, *rest].concat()));
    let spaced = || SPACED.iter().any(|(first, rest)| is_end(rest) && is_end(&[*first, *rest].concat()));
    let found = OTHER.iter().any(|word| is_end(word)) || mixed() || spaced();
    found.then_some(Name { kind: "password", role: Role::Password, style: Style::Plain })
}

/// Finds the secret after a word that began with `text` and continues with the letter at `end`.
pub(super) fn continued(look: Look<'_>, text: &[u8], before: u8, end: usize) -> Result<Option<Hidden>, More> {
    for (stem, rest) in MIXED {
        let Some((front, last)) = text.split_at_checked(text.len().wrapping_sub(stem.len())) else {
            continue;
        };
        let is_word = front.last().is_none_or(|byte| !ALNUM.has(*byte));
        if is_word && last.eq_ignore_ascii_case(stem.as_bytes()) && begins(look, end, rest)? {
            let style = if any(last, UPPER) && !any(last, LOWER) { Style::Capitals } else { Style::Plain };
            return find_value(look, style, before, end + rest.len());
        }
    }
    Ok(None)
}

/// Finds the secret after the word that begins at `at`.
pub(super) fn begun(look: Look<'_>, at: usize) -> Result<Option<Hidden>, More> {
    for word in OTHER {
        if begins(look, at, word)? {
            return find_value(look, Style::Plain, b' ', at + word.len());
        }
    }
    Ok(None)
}

/// Whether `word` is at `at`, ignoring the case of its ASCII letters.
fn begins(look: Look<'_>, at: usize, word: &str) -> Result<bool, More> {
    for (offset, byte) in word.bytes().enumerate() {
        if !look.get(at + offset)?.is_some_and(|found| found.eq_ignore_ascii_case(&byte)) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn find_value(look: Look<'_>, style: Style, before: u8, end: usize) -> Result<Option<Hidden>, More> {
    let name = Name { kind: "password", role: Role::Password, style };
    // French has a blank before the colon, often a non-breaking one.
    let end = if look.begins(end, "\u{a0}".as_bytes())? { end + 2 } else { end };
    let wide = ["：", "＝"];
    let found = if look.begins(end, wide[0].as_bytes())? || look.begins(end, wide[1].as_bytes())? {
        let value = look.run(end + wide[0].len(), BLANK, 64)?;
        Some(Assignment { name, form: Form::Colon, value })
    } else {
        assignment::find(look, name, before, end)?
    };
    match found {
        Some(given) => value::find(look, &given),
        None => Ok(None),
    }
}
