//! Decides whether the value assigned to a secret name is a secret, and where it ends.
//!
//! The hard part is code: `password: String`, `token = next_token(x)` and `secret=os.environ["X"]` are no secrets. The
//! clearer the place (a query, a variable of the environment, a field of JSON), the less the value has to look like a
//! secret. Reads a bounded stretch of the value; a longer value is a secret.

use super::assignment::{Assignment, Form};
use super::bytes::{
    ALNUM, BLANK, DIGIT, DOT, IDENT, LETTER, LOWER, TOKEN68, UPPER, WORD, all, any, is_mixed,
};
use super::headers;
use super::hiding::{Hidden, Step, Until, step_bare};
use super::look::{Look, More};
use super::marker;
use super::names::{self, Name, Role, Style};
use super::phrase;
use super::placeholder::{
    is_capitalised, is_identifier, is_placeholder, is_scrambled, is_template, is_word, names_a_secret,
};
use super::quote::Quote;
use super::token;

/// How much of a value is looked at. Longer values are no words, names or types.
const SEEN: usize = 128;
/// The longest type between a name and its value: `token: &'static str = "…"`.
const LONGEST_TYPE: usize = 48;

/// Finds the secret in the value of a name.
pub(super) fn find(look: Look<'_>, given: &Assignment) -> Result<Option<Hidden>, More> {
    match given.name.role {
        Role::Authorization => return headers::authorization(look, given.value),
        Role::Cookie => return headers::cookie(look, given.value),
        Role::Phrase => return phrase::value(look, given.value),
        Role::Password | Role::Strong | Role::Weak | Role::Vague | Role::Query => {}
    }
    if marker::end(look, given.value)?.is_some() {
        return Ok(None);
    }
    if given.name.role == Role::Query && !matches!(given.form, Form::Query | Form::Tight) {
        return Ok(None);
    }
    if given.form == Form::Element {
        return element(look, given);
    }
    if let Some((quote, from)) = find_opening(look, given)? {
        return quoted(look, given, quote, from);
    }
    if given.form == Form::Compared { Ok(None) } else { bare(look, given) }
}

/// Finds the quotation mark that opens the value, also after a type or inside `Some(…)`.
fn find_opening(look: Look<'_>, given: &Assignment) -> Result<Option<(Quote, usize)>, More> {
    if let Some(open) = Quote::open(look, given.value)? {
        return Ok(Some(open));
    }
    if look.begins(given.value, b"Some(")? {
        return Quote::open(look, given.value + 5);
    }
    if given.form != Form::Colon {
        return Ok(None);
    }
    let lifetime = b"&'static ";
    let from = if look.begins(given.value, lifetime)? { given.value + lifetime.len() } else { given.value };
    let in_type = |byte: u8| IDENT.has(byte) || b"&<>:'*[]?".contains(&byte);
    let to = look.run_of(from, LONGEST_TYPE, in_type)?;
    let sign = look.run(to, BLANK, 4)?;
    if to == from || token::is_dense(look.slice(from, to)) || !look.is(sign, b'=')? {
        return Ok(None);
    }
    Quote::open(look, look.run(sign + 1, BLANK, 4)?)
}

fn quoted(look: Look<'_>, given: &Assignment, quote: Quote, from: usize) -> Result<Option<Hidden>, More> {
    // In code a mark after a name may also be the end of a text: `input("Password: ")`.
    let certain = given.form == Form::Field;
    let first = look.get(from)?;
    if !certain && first.is_none_or(|byte| byte.is_ascii_whitespace() || b"),;]}+\"'`".contains(&byte)) {
        return Ok(None);
    }
    let end = quote.end(look, from, SEEN)?;
    if marker::is_within(look, from, end.unwrap_or(from + SEEN))? {
        return Ok(None);
    }
    if let Some(end) = end {
        let text = look.slice(from, end);
        let name = given.name;
        if is_key(look, text, end)? {
            return Ok(None);
        }
        if is_placeholder(text) || repeats_name(text) || is_path(text) || !certain && is_template(text) {
            return Ok(None);
        }
        let secret = match name.role {
            Role::Password => true,
            Role::Strong => text.len() >= 4,
            Role::Weak | Role::Vague => is_weak_secret(text, name, given.form),
            Role::Query | Role::Authorization | Role::Cookie | Role::Phrase => false,
        };
        if !secret {
            return Ok(None);
        }
    } else if given.name.role == Role::Query {
        return Ok(None);
    }
    hide(look, given.name, from, Until::Quote(quote))
}

/// Whether `text`, which ends with the quotation mark at `end`, is itself the name of a value: `secrets: "token": "…"`.
fn is_key(look: Look<'_>, text: &[u8], end: usize) -> Result<bool, More> {
    if text.len() > names::LONGEST || !all(text, WORD) || names::read(text).is_none() {
        return Ok(false);
    }
    let after = Quote::at(look, end)?.map_or(end, |(_, after)| after);
    let sign = look.run(after, BLANK, 8)?;
    Ok(look.is(sign, b':')? || look.begins(sign, b"=>")?)
}

/// Whether a text in quotation marks is a secret although its name has other meanings.
fn is_weak_secret(text: &[u8], name: Name, form: Form) -> bool {
    let token = |byte: &u8| TOKEN68.has(*byte) || b":%|@".contains(byte);
    let made_up = match (form, name.role) {
        (_, Role::Vague) => is_mixed(text),
        (Form::Field, _) => any(text, LETTER),
        _ => is_mixed(text) || token::is_dense(text),
    };
    text.len() >= 8
        && made_up
        && !any(text, BLANK)
        && (form == Form::Field || text.iter().all(token))
        && !is_path(text)
        && !(all(text, LETTER) && names_a_secret(text))
}

fn element(look: Look<'_>, given: &Assignment) -> Result<Option<Hidden>, More> {
    let from = given.value;
    let end = look.run_of(from, SEEN, |byte| byte != b'<' && byte != b'\n')?;
    let text = look.slice(from, end);
    let closed = text.len() == SEEN || look.begins(end, b"</")?;
    if marker::is_within(look, from, end)? {
        return Ok(None);
    }
    let long = given.name.role.is_strong() || text.len() >= 8 && !text.contains(&b' ');
    if !closed || !long || is_placeholder(text) || repeats_name(text) {
        return Ok(None);
    }
    hide(look, given.name, from, Until::Tag)
}

/// Finds the secret in a value without quotation marks.
fn bare(look: Look<'_>, given: &Assignment) -> Result<Option<Hidden>, More> {
    let from = given.value;
    let mut end = from;
    while end - from < SEEN {
        match step_bare(look, end)? {
            Step::Hide(to) => end = to,
            Step::Stop => break,
        }
    }
    let end = end.min(from + SEEN);
    if marker::is_within(look, from, end)? {
        return Ok(None);
    }
    let value = look.slice(from, end);
    let next = look.get(end)?;
    let form = if given.form == Form::Tight && next == Some(b'&') { Form::Query } else { given.form };
    let place = Place { form, next, after: what_follows(look, end, form)? };
    if value.len() < SEEN && !is_secret(value, given.name, &place) {
        return Ok(None);
    }
    if given.name.role == Role::Query && form != Form::Query {
        return Ok(None);
    }
    hide(look, given.name, from, Until::Bare)
}

/// The context of a value without quotation marks.
struct Place {
    form: Form,
    /// The byte after it.
    next: Option<u8>,
    /// What follows after blanks.
    after: Following,
}

/// What follows a value, apart from blanks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Following {
    /// The end of the line or of the surrounding text, a comment, a further option.
    End,
    /// An equals sign: what looks like the value is a type.
    Sign,
    /// Something else.
    Other,
}

fn what_follows(look: Look<'_>, end: usize, form: Form) -> Result<Following, More> {
    let next = look.run(end, BLANK, 16)?;
    let apart = next > end;
    Ok(match look.get(next)? {
        None | Some(b'\n' | b'\r' | b'"' | b'\'' | b'`' | b'\\') => Following::End,
        Some(b'#') if apart => Following::End,
        Some(b'-' | b'|' | b'&' | b'>') if apart && form == Form::Option => Following::End,
        Some(b'=') => Following::Sign,
        _ => Following::Other,
    })
}

fn is_secret(value: &[u8], name: Name, place: &Place) -> bool {
    if is_placeholder(value) || is_reference(value) || is_path(value) {
        return false;
    }
    let strong = name.role.is_strong();
    let clear = matches!(place.form, Form::Query | Form::Setting);
    if name.role == Role::Query {
        return place.form == Form::Query && value.len() >= 16 && is_mixed(value) && is_token(value);
    }
    if place.form == Form::Field && value.iter().all(|byte| DIGIT.has(*byte) || b"+-.eE".contains(byte)) {
        return false;
    }
    if all(value, DIGIT) {
        return if strong { value.len() >= 4 } else { clear && value.len() >= 10 };
    }
    if !strong && value.starts_with(b"0x") {
        return false;
    }
    if clear {
        let constant = is_capitalised(value) && value.len() < 8;
        return strong || value.len() >= 3 && !constant && (name.role != Role::Vague || is_mixed(value));
    }
    // A variable in a file of settings has no type, and is seldom given another one.
    if strong && name.style == Style::Capitals && place.after == Following::End && all(value, LOWER) {
        return value.len() >= 4;
    }
    // Nor has a field of YAML; dashes are in no name of a program.
    let phrase = name.style != Style::Header && value.iter().all(|byte| LOWER.has(*byte) || *byte == b'-');
    if name.role == Role::Password && place.form == Form::Colon && place.after == Following::End && phrase {
        return value.len() >= 12 || value.contains(&b'-') || value.len() >= 6 && !names_a_secret(value);
    }
    let typed = place.after == Following::Sign && all(value, IDENT.and(DOT));
    let named = is_identifier(value) && !(strong && place.after == Following::End);
    if typed || named || names_a_secret(value) || is_capitalised(value) || is_expression(value) {
        return false;
    }
    if place.form == Form::Colon && name.style == Style::Header && name.role != Role::Vague && is_mixed(value)
    {
        return value.len() >= 6;
    }
    let symbols = value.iter().any(|byte| b"!@#$%^*+/=~?".contains(byte));
    if is_mixed(value) || symbols {
        return if strong { value.len() >= 6 } else { value.len() >= 12 && is_token(value) };
    }
    if is_scrambled(value) {
        return value.len() >= if strong { 8 } else { 16 };
    }
    let plain = all(value, LOWER);
    let called = matches!(place.next, Some(b')' | b',' | b';' | b']' | b'}'));
    match (strong, place.form) {
        _ if !plain || called => false,
        (false, Form::Tight) => value.len() >= 20,
        (true, Form::Tight) => value.len() >= 6,
        (true, _) => value.len() >= 6 && place.after == Following::End,
        (false, _) => value.len() >= 20 && place.after == Following::End,
    }
}

/// Whether `value` is made of what tokens are made of, and does not read like words.
fn is_token(value: &[u8]) -> bool {
    value.iter().all(|byte| TOKEN68.has(*byte) || b":%|".contains(byte)) && token::is_dense(value)
}

/// Whether `value` refers to something: `os.environ[…]`, `get_token(…)`, `self.token`, `&str`, `Auth::new`, `[…`, `{…`.
fn is_reference(value: &[u8]) -> bool {
    if matches!(
        value.first(),
        Some(b'[' | b'{' | b'(' | b'&' | b'*' | b'!' | b'@' | b'|' | b',' | b';' | b'?' | b':')
    ) {
        // A password may begin with such a sign, but then it has digits or letters in a row and nothing else of code.
        let rest = &value[1..];
        let sign = value[0];
        return !(matches!(sign, b'!' | b'@' | b'*') && is_mixed(rest) && all(rest, ALNUM));
    }
    let path = value.iter().position(|byte| !IDENT.has(*byte) && *byte != b'.').unwrap_or(value.len());
    let (path, rest) = value.split_at(path);
    let identifier = path.first().is_some_and(|byte| !DIGIT.has(*byte)) && !any(path, DIGIT);
    let dotted = path.contains(&b'.') && !path.ends_with(b".");
    identifier
        && (dotted && rest.is_empty()
            || matches!(rest.first(), Some(b'(' | b'[' | b'{'))
            || [&b"::"[..], b"->", b"?.", b"!("].iter().any(|sign| rest.starts_with(sign)))
}

/// Whether `value` is a file or a URL.
pub(super) fn is_path(value: &[u8]) -> bool {
    let absolute = [&b"/"[..], b"./", b"../", b"~/"].iter().any(|root| value.starts_with(root));
    // Base64 may begin with a slash too; it has capitals, no dot, and does not read like words.
    absolute && (!any(value, UPPER) || value.contains(&b'.') || !token::is_dense(value)) || is_url(value)
}

/// Whether `value` begins like a URL. Secrets in it are found by their own rules.
pub(super) fn is_url(value: &[u8]) -> bool {
    let scheme = value.iter().position(|byte| !LETTER.has(*byte) && !b"+.-".contains(byte)).unwrap_or(0);
    scheme > 0 && value[scheme..].starts_with(b"://") && !any(value, BLANK)
}

/// Whether `value` is a piece of code rather than text, by its signs: `a+b`, `x=>y`, `foo(1`.
fn is_expression(value: &[u8]) -> bool {
    let calls = value.iter().any(|byte| b"([{".contains(byte));
    let words = value.split(|byte| !IDENT.has(*byte)).filter(|part| !part.is_empty());
    calls && value.first().is_some_and(|byte| LETTER.has(*byte))
        || value.iter().any(|byte| b"+*/=?".contains(byte))
            && words.clone().all(|part| part.len() < 8 && !is_mixed(part))
}

/// Whether `text` is the name of a secret, as labels are: `"password": "Password"`.
fn repeats_name(text: &[u8]) -> bool {
    let is_name = |name: Name| name.role != Role::Phrase;
    all(text, LETTER) && text.len() < 16 && names::read(text).is_some_and(is_name) || is_word(text)
}

fn hide(look: Look<'_>, name: Name, from: usize, until: Until) -> Result<Option<Hidden>, More> {
    let kind = token::family(look, from)?.map_or(name.kind, |family| family.kind);
    Ok(Some(Hidden { kind, from, sure: from, until }))
}
