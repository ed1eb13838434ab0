//! A name and the place of its value: `NAME=…`, `name: …`, `"name": "…"`, `--name …`, `<name>…`, `"name", "value": "…"`.
//!
//! Owns what may stand between a name and its value. Whether the value is secret is decided in `value.rs`.

use super::bytes::{BLANK, LETTER};
use super::look::{Look, More};
use super::names::{Name, Style};
use super::quote::Quote;

/// Blanks that may stand in front of the sign between name and value.
const BLANKS_BEFORE: usize = 24;
/// Blanks and line ends that may stand behind it.
const BLANKS_BEHIND: usize = 64;

/// A name that is given a value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Assignment {
    /// The name.
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

/// Finds the value of `name`, which stands behind the byte `before` and ends at `end`.
pub(super) fn find(look: Look<'_>, name: Name, before: u8, end: usize) -> Result<Option<Assignment>, More> {
    if before == b'<' {
        let element = look.is(end, b'>')?;
        return Ok(element.then_some(Assignment { name, form: Form::Element, value: end + 1 }));
    }
    match Quote::at(look, end)? {
        Some((_, behind)) => find_field(look, name, behind),
        None => find_plain(look, name, before, end),
    }
}

/// Finds the value of a name in quotation marks that end at `at`.
fn find_field(look: Look<'_>, name: Name, at: usize) -> Result<Option<Assignment>, More> {
    let at = if look.is(at, b']')? { at + 1 } else { at };
    let sign = look.run_of(at, BLANKS_BEFORE, |byte| byte.is_ascii_whitespace())?;
    let (form, behind) = match (look.get(sign)?, look.get(sign + 1)?) {
        (Some(b'='), Some(b'=')) => (Form::Compared, look.run_of(sign, 3, |byte| byte == b'=')?),
        (Some(b'='), Some(b'>')) => (Form::Field, sign + 2),
        (Some(b'=' | b':'), _) => (Form::Field, sign + 1),
        _ => return find_pair(look, name, sign),
    };
    let value = look.run_of(behind, BLANKS_BEHIND, |byte| byte.is_ascii_whitespace())?;
    Ok(Some(Assignment { name, form, value }))
}

/// Finds the value in `"name": "TOKEN", "value": "…"` and `name="token" value="…"`, from behind the name.
fn find_pair(look: Look<'_>, name: Name, at: usize) -> Result<Option<Assignment>, More> {
    let is_gap = |byte: u8| byte.is_ascii_whitespace() || byte == b',';
    let at = look.run_of(at, BLANKS_BEFORE, is_gap)?;
    let at = Quote::at(look, at)?.map_or(at, |(_, behind)| behind);
    if !look.begins(at, b"value")? {
        return Ok(None);
    }
    let at = at + b"value".len();
    let at = Quote::at(look, at)?.map_or(at, |(_, behind)| behind);
    let at = look.run(at, BLANK, BLANKS_BEFORE)?;
    if !matches!(look.get(at)?, Some(b'=' | b':')) {
        return Ok(None);
    }
    let value = look.run(at + 1, BLANK, BLANKS_BEHIND)?;
    Ok(Some(Assignment { name, form: Form::Field, value }))
}

fn find_plain(look: Look<'_>, name: Name, before: u8, end: usize) -> Result<Option<Assignment>, More> {
    let sign = look.run(end, BLANK, BLANKS_BEFORE)?;
    let tight = sign == end;
    let (form, behind) = match (look.get(sign)?, look.get(sign + 1)?) {
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
    let behind = if form == Form::Colon && look.begins(behind, b"** ")? { behind + 2 } else { behind };
    let value = look.run(behind, BLANK, BLANKS_BEHIND)?;
    let apart = value > behind && matches!(form, Form::Query | Form::Setting | Form::Tight);
    let form = if apart { Form::Spaced } else { form };
    Ok(Some(Assignment { name, form, value }))
}
