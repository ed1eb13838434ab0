//! A name and the place of its value: `NAME=…`, `name: …`, `"name": "…"`, `--name …`, `<name>…`, `"name", "value":
//! "…"`.
//!
//! Owns what is allowed between a name and its value. Whether the value is secret is decided in `value.rs`.

use super::bytes::{BLANK, LETTER};
use super::look::{Look, More};
use super::names::{Name, Style};
use super::quote::Quote;

/// Maximum number of blanks before the sign between name and value.
const BLANKS_BEFORE: usize = 24;
/// Maximum number of blanks and line ends after it.
const BLANKS_AFTER: usize = 64;

/// A name that is given a value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Assignment {
    pub(super) name: Name,
    /// How the value is given.
    pub(super) form: Form,
    /// Where the value begins.
    pub(super) value: usize,
}

/// How a value is given to a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// In a query or a form: `?name=value`, `&name=value`.
    Query,
    /// Like a variable of the environment or an option of a command: `NAME=value`, `--name=value`.
    Setting,
    /// `name=value`, without blanks.
    Tight,
    /// `name = value`, `name := value`.
    Spaced,
    /// `name: value`.
    Colon,
    /// `"name": value`, `"name" => value`.
    Field,
    /// `name == value`.
    Compared,
    /// `--name value`.
    Option,
    /// `<name>value</name>`.
    Element,
}

/// Finds the value of `name`, which follows the byte `before` and ends at `end`.
pub(super) fn find(look: Look<'_>, name: Name, before: u8, end: usize) -> Result<Option<Assignment>, More> {
    if before == b'<' {
        let element = look.is(end, b'>')?;
        return Ok(element.then_some(Assignment { name, form: Form::Element, value: end + 1 }));
    }
    match Quote::at(look, end)? {
        Some((_, after)) => find_field(look, name, after),
        None => find_plain(look, name, before, end),
    }
}

/// Finds the value of a name in quotation marks that end at `at`.
fn find_field(look: Look<'_>, name: Name, at: usize) -> Result<Option<Assignment>, More> {
    let at = if look.is(at, b']')? { at + 1 } else { at };
    let sign = look.run_of(at, BLANKS_BEFORE, |byte| byte.is_ascii_whitespace())?;
    let (form, after) = match (look.get(sign)?, look.get(sign + 1)?) {
        (Some(b'='), Some(b'=')) => (Form::Compared, look.run_of(sign, 3, |byte| byte == b'=')?),
        (Some(b'='), Some(b'>')) => (Form::Field, sign + 2),
        (Some(b'=' | b':'), _) => (Form::Field, sign + 1),
        _ => return find_pair(look, name, sign),
    };
    let value = look.run_of(after, BLANKS_AFTER, |byte| byte.is_ascii_whitespace())?;
    Ok(Some(Assignment { name, form, value }))
}

/// Finds the value in `"name": "TOKEN", "value": "…"` and `name="token" value="…"`, starting after the name.
fn find_pair(look: Look<'_>, name: Name, at: usize) -> Result<Option<Assignment>, More> {
    let is_gap = |byte: u8| byte.is_ascii_whitespace() || byte == b',';
    let at = look.run_of(at, BLANKS_BEFORE, is_gap)?;
    let at = Quote::at(look, at)?.map_or(at, |(_, after)| after);
    if !look.begins(at, b"value")? {
        return Ok(None);
    }
    let at = at + b"value".len();
    let at = Quote::at(look, at)?.map_or(at, |(_, after)| after);
    let at = look.run(at, BLANK, BLANKS_BEFORE)?;
    if !matches!(look.get(at)?, Some(b'=' | b':')) {
        return Ok(None);
    }
    let value = look.run(at + 1, BLANK, BLANKS_AFTER)?;
    Ok(Some(Assignment { name, form: Form::Field, value }))
}

fn find_plain(look: Look<'_>, name: Name, before: u8, end: usize) -> Result<Option<Assignment>, More> {
    let sign = look.run(end, BLANK, BLANKS_BEFORE)?;
    let tight = sign == end;
    let (form, after) = match (look.get(sign)?, look.get(sign + 1)?) {
        (Some(b'='), Some(b'=')) => (Form::Compared, look.run_of(sign, 3, |byte| byte == b'=')?),
        (Some(b'='), Some(b'>')) => (Form::Spaced, sign + 2),
        (Some(b':'), Some(b'=')) => (Form::Spaced, sign + 2),
        (Some(b'='), _) if tight => {
            let query = matches!(before, b'?' | b'&');
            let setting = matches!(name.style, Style::Capitals | Style::Flag);
            let form = if query {
                Form::Query
            } else if setting {
                Form::Setting
            } else {
                Form::Tight
            };
            (form, sign + 1)
        }
        (Some(b'='), _) => (Form::Spaced, sign + 1),
        (Some(b':'), Some(b':')) => return Ok(None),
        (Some(b':'), _) => (Form::Colon, sign + 1),
        (Some(byte), _) if !tight && name.style == Style::Flag && !LETTER.has(before) && byte != b'-' => {
            return Ok(Some(Assignment { name, form: Form::Option, value: sign }));
        }
        // SQL: `WITH PASSWORD '…'`
        (Some(b'\''), _) if !tight && name.style == Style::Capitals => {
            return Ok(Some(Assignment { name, form: Form::Spaced, value: sign }));
        }
        _ => return Ok(None),
    };
    // Markdown sets labels in bold, with the colon inside: `**Password:** …`
    let after = if form == Form::Colon && look.begins(after, b"** ")? { after + 2 } else { after };
    let value = look.run(after, BLANK, BLANKS_AFTER)?;
    let apart = value > after && matches!(form, Form::Query | Form::Setting | Form::Tight);
    let form = if apart { Form::Spaced } else { form };
    Ok(Some(Assignment { name, form, value }))
}
