//! One pass over text: finds words, asks the rules at each, and writes markers in the place of secrets.
//!
//! Owns the position in the text; the rules define secrets. It never goes back: a rule looks ahead over a bounded
//! stretch, and a found secret is counted, not kept. So the time is linear for any text. The same scanner reads whole
//! texts and streams; for a stream `held_from` is the start of the text that must be held until more arrives.

use super::bytes::{ALNUM, FOLLOWED, IDENT, SPECIAL, WORD};
use super::encoded::{self, Encoded};
use super::hiding::{Hidden, Step, Until, dots};
use super::look::{Look, More, Tail};
use super::pem::Within;
use super::token::Opening;
use super::{
    assignment, commands, escape, foreign, link, marker, mysql, names, pem, people, putty, token, value,
};

/// Up to this many bytes of a word are kept, to read the name at its end.
const WORD_KEPT: usize = names::LONGEST + 1;
/// Maximum length of the head of a JWT; a longer one is data.
pub(super) const JWT_KEPT: usize = 8192;

/// A scanner between two pieces of text.
#[derive(Debug)]
pub(super) struct Scanner {
    state: State,
    /// Everything in front of it has been looked at.
    pos: usize,
    /// Everything in front of it has been written, as it was or as a marker.
    written: usize,
    /// A place and the byte in front of it, where that is not the byte in the text.
    edge: (usize, u8),
}

#[derive(Debug)]
enum State {
    Text,
    Word(Word),
    Hiding(Hiding),
}

/// A word that is being read: identifiers joined by dashes and dots.
#[derive(Clone, Copy, Debug)]
struct Word {
    start: usize,
    /// The byte in front of it.
    before: u8,
    /// The identifier that is being read.
    segment: usize,
    /// What follows the last dot.
    part: usize,
    /// A JWT may begin there.
    jwt: Option<usize>,
    progress: Progress,
}

/// Whether the segment of a word has been looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    Begun,
    NoSecret,
}

/// A secret that is being counted.
#[derive(Debug)]
struct Hiding {
    kind: &'static str,
    length: usize,
    /// Dots at its end so far.
    dots: usize,
    /// It is known to continue up to there.
    known: usize,
    until: Until,
}

impl Scanner {
    /// A scanner at the beginning of a text that follows the byte `before`.
    pub(super) fn after(before: u8) -> Self {
        Self { state: State::Text, pos: 0, written: 0, edge: (0, before) }
    }

    /// Continues through `text`, as far as it can be decided, and writes the text before a secret, and its marker.
    pub(super) fn run(&mut self, text: &str, tail: Tail, out: &mut String) {
        let look = Look::new(text, tail);
        loop {
            let found = match &mut self.state {
                State::Text => self.read_text(look),
                State::Word(word) => {
                    let mut word = *word;
                    self.read_word(look, &mut word)
                }
                State::Hiding(hiding) => match hide(hiding, &mut self.pos, look) {
                    Ok(()) => {
                        self.finish_hiding(out);
                        continue;
                    }
                    Err(More) => {
                        self.written = self.pos;
                        return;
                    }
                },
            };
            match found {
                Ok(Some(hidden)) => self.begin_hiding(hidden, text, out),
                Ok(None) if self.pos < text.len() => {}
                Ok(None) | Err(More) => return,
            }
        }
    }

    /// Whether a secret has begun and not ended.
    pub(super) fn is_hiding(&self) -> bool {
        matches!(self.state, State::Hiding(_))
    }

    /// How much of the text has been written.
    pub(super) fn written(&self) -> usize {
        self.written
    }

    /// Everything before this position is decided; the rest must be passed again, with more after it.
    pub(super) fn held_from(&self) -> usize {
        match &self.state {
            State::Text | State::Hiding(_) => self.pos,
            State::Word(word) => {
                let kept = word.start.max(self.pos.saturating_sub(WORD_KEPT));
                match word.jwt {
                    Some(jwt) if self.pos - jwt <= JWT_KEPT => kept.min(jwt),
                    _ => kept,
                }
            }
        }
    }

    /// Forgets the first `count` bytes of the text, of which `last` is the last.
    pub(super) fn forget(&mut self, count: usize, last: u8) {
        self.edge = match self.edge.0.checked_sub(count) {
            Some(place) => (place, self.edge.1),
            None => (0, last),
        };
        self.pos -= count;
        self.written = self.written.saturating_sub(count);
        match &mut self.state {
            State::Text => {}
            State::Word(word) => {
                word.start = word.start.saturating_sub(count);
                word.part = word.part.saturating_sub(count);
                word.segment = word.segment.saturating_sub(count);
                word.jwt = word.jwt.and_then(|jwt| jwt.checked_sub(count));
            }
            State::Hiding(hiding) => hiding.known -= count,
        }
    }

    fn before(&self, bytes: &[u8]) -> u8 {
        if self.edge.0 == self.pos { self.edge.1 } else { bytes[self.pos - 1] }
    }

    fn read_text(&mut self, look: Look<'_>) -> Result<Option<Hidden>, More> {
        let bytes = look.bytes();
        while let Some(&byte) = bytes.get(self.pos) {
            if WORD.has(byte) {
                if let Some(end) = end_of_plain_word(bytes, self.pos) {
                    self.pos = end;
                    continue;
                }
                let start = self.pos;
                let mut word = Word {
                    start,
                    before: self.before(bytes),
                    segment: start,
                    part: start,
                    jwt: None,
                    progress: Progress::Begun,
                };
                if let Some(hidden) = self.read_word(look, &mut word)? {
                    return Ok(Some(hidden));
                }
            } else if SPECIAL.has(byte) {
                if let Some(hidden) = self.read_special(look, byte)? {
                    return Ok(Some(hidden));
                }
            } else {
                self.pos += 1;
            }
        }
        Ok(None)
    }

    fn read_special(&mut self, look: Look<'_>, byte: u8) -> Result<Option<Hidden>, More> {
        let found = match byte {
            b'<' => people::mention(look, self.pos)?,
            b'+' => people::phone(look, self.pos, self.before(look.bytes()))?,
            b'[' => {
                if let Some(end) = marker::end(look, self.pos)? {
                    self.pos = end;
                    return Ok(None);
                }
                None
            }
            0x80.. => foreign::begun(look, self.pos)?,
            _ => {
                // `\n` may also be a backslash in front of `npm_…`.
                if let Some(hidden) = token::by_family(look, self.pos + 1)? {
                    return Ok(Some(hidden));
                }
                self.pos = escape::end(look, self.pos)?;
                self.edge = (self.pos, byte);
                return Ok(None);
            }
        };
        if found.is_none() {
            self.pos += 1;
        }
        Ok(found)
    }

    /// Continues reading a word, and remembers the position if there is not enough text.
    fn read_word(&mut self, look: Look<'_>, word: &mut Word) -> Result<Option<Hidden>, More> {
        let found = self.read_segments(look, word);
        self.state = match found {
            Ok(_) => State::Text,
            Err(More) => State::Word(*word),
        };
        found
    }

    fn read_segments(&mut self, look: Look<'_>, word: &mut Word) -> Result<Option<Hidden>, More> {
        let bytes = look.bytes();
        loop {
            if word.progress == Progress::Begun {
                if let Some(hidden) = read_opening(look, word)? {
                    return Ok(Some(hidden));
                }
                if word.segment == word.start
                    && bytes.get(word.start).is_some_and(|first| encoded::may_open(*first))
                {
                    match encoded::find(look, word.start)? {
                        Encoded::Secret(hidden) => return Ok(Some(hidden)),
                        // What begins like a JWT is read to its dot.
                        Encoded::Searched(to) if word.jwt.is_none() => {
                            self.pos = to;
                            return Ok(None);
                        }
                        Encoded::Searched(_) | Encoded::Nothing => {}
                    }
                }
                word.progress = Progress::NoSecret;
            }
            let mut at = self.pos;
            while at < bytes.len() && IDENT.has(bytes[at]) {
                at += 1;
            }
            self.pos = at;
            match bytes.get(at) {
                None => {
                    look.beyond()?;
                    return Ok(None);
                }
                Some(b'-') => {}
                Some(b'.') => {
                    if let Some(hidden) = read_parts(look, word, at)? {
                        return Ok(Some(hidden));
                    }
                    (word.jwt, word.part) = (None, at + 1);
                }
                Some(&next) => return read_end(look, word, at, next),
            }
            self.pos = at + 1;
            word.segment = at + 1;
            word.progress = Progress::Begun;
        }
    }

    fn begin_hiding(&mut self, hidden: Hidden, text: &str, out: &mut String) {
        // A rule may have looked past words that hide a secret of their own: `mysql --password='a b' -phunter2`.
        let looked_at = self.pos.clamp(self.written, hidden.from);
        out.push_str(&text[self.written..looked_at]);
        let before = text[..looked_at].bytes().next_back().unwrap_or(b'\n');
        out.push_str(&super::redact_behind(before, &text[looked_at..hidden.from]));
        let sure = &text.as_bytes()[hidden.from..hidden.sure];
        self.pos = hidden.sure;
        self.written = hidden.sure;
        let (length, dots) = (sure.len(), dots(sure));
        self.state = State::Hiding(Hiding {
            kind: hidden.kind,
            length,
            dots,
            known: hidden.sure,
            until: hidden.until,
        });
    }

    fn finish_hiding(&mut self, out: &mut String) {
        let State::Hiding(hiding) = std::mem::replace(&mut self.state, State::Text) else { return };
        let dots = if hiding.until.gives_back_dots() { hiding.dots } else { 0 };
        if hiding.length == 0 {
            return;
        }
        marker::write(hiding.kind, hiding.length - dots, out);
        out.extend(std::iter::repeat_n('.', dots));
        self.written = self.pos;
        self.edge = (self.pos, if dots > 0 { b'.' } else { b']' });
    }
}

/// Counts a secret to its end. If a private key begins in it, that is hidden with it, whatever the secret ends by.
fn hide(hiding: &mut Hiding, pos: &mut usize, look: Look<'_>) -> Result<(), More> {
    loop {
        if *pos == hiding.known {
            match hiding.until.step(look, *pos)? {
                Step::Hide(to) => hiding.known = to,
                Step::Stop => return Ok(()),
            }
        }
        let mut to = hiding.known;
        if !matches!(hiding.until, Until::Key(_)) {
            match pem::within(look, *pos, to)? {
                Within::Nothing => {}
                Within::NotBefore(begin) => to = begin,
                Within::Key(key) => {
                    (hiding.kind, hiding.until) = (key.kind, key.until);
                    (hiding.known, to) = (key.sure, key.sure);
                }
            }
        }
        let piece = look.slice(*pos, to);
        let dots = dots(piece);
        hiding.dots = if dots == piece.len() { hiding.dots + dots } else { dots };
        hiding.length += piece.len();
        *pos = to;
    }
}

/// Returns the end of a word to which no rule applies, as most are: it neither begins like a secret nor is followed by
/// anything. `None` for other words; `read_word` has the same result for all, only slower.
#[inline]
fn end_of_plain_word(bytes: &[u8], start: usize) -> Option<usize> {
    if Opening::of(bytes.get(start..start + 3)?).may_be_secret() || !IDENT.has(bytes[start]) {
        return None;
    }
    let end = start + bytes[start..].iter().position(|byte| !IDENT.has(*byte))?;
    if end - start >= encoded::LEAST && encoded::may_begin(&bytes[start..]) {
        return None;
    }
    let plain = match bytes[end] {
        b' ' => {
            let next = *bytes.get(end + 1)?;
            !matches!(next, b'=' | b':' | b' ' | b'\t' | b'\'') && !commands::is_one(&bytes[start..end])
        }
        next => !FOLLOWED.has(next),
    };
    plain.then_some(end)
}

/// Asks the rules for secrets that begin with a segment of a word.
#[inline]
fn read_opening(look: Look<'_>, word: &mut Word) -> Result<Option<Hidden>, More> {
    let at = word.segment;
    let Some(opening) = Opening::at(look, at)? else { return Ok(None) };
    if !opening.may_be_secret() {
        return Ok(None);
    }
    if opening == Opening::JWT && word.jwt.is_none_or(|jwt| at - jwt > JWT_KEPT) {
        word.jwt = Some(at);
    }
    if opening == Opening::PEM && at - word.start >= 5 {
        return pem::private_key(look, at);
    }
    token::by_family(look, at)
}

/// Asks the rules for secrets of several parts, at the dot after the first.
fn read_parts(look: Look<'_>, word: &Word, dot: usize) -> Result<Option<Hidden>, More> {
    if let Some(from) = word.jwt
        && dot - from <= JWT_KEPT
        && token::is_jwt(look, from, dot)?
    {
        return Ok(Some(Hidden { kind: "jwt", from, sure: dot + 1, until: Until::Chars(WORD) }));
    }
    token::discord(look, word.part, dot)
}

/// Asks the rules for secrets that follow a word.
#[inline]
fn read_end(look: Look<'_>, word: &Word, end: usize, next: u8) -> Result<Option<Hidden>, More> {
    let bytes = look.bytes();
    let from = word.start.max(end.saturating_sub(names::LONGEST));
    let text = &bytes[from..end];
    match next {
        b' ' | b'\t' => {
            // Most words end in a blank. A name is followed by its sign then, unless it is an option.
            let sign = matches!(bytes.get(end + 1), None | Some(b'=' | b':' | b' ' | b'\t' | b'\''));
            if let Some(hidden) = commands::find(look, text, end)? {
                return Ok(Some(hidden));
            }
            if !sign && text[0] != b'-' {
                return Ok(None);
            }
        }
        b':' => {
            if text.last().is_some_and(|byte| ALNUM.has(*byte)) && look.begins(end, b"://")? {
                return link::credentials(look, text, end + 3);
            }
            if let Some(hidden) = token::telegram(look, text, end)? {
                return Ok(Some(hidden));
            }
            if let Some(hidden) = putty::private_key(look, text, end)? {
                return Ok(Some(hidden));
            }
        }
        0x80.. => return foreign::continued(look, text, word.before, end),
        b'"' | b'\'' | b'\\' if mysql::is_client(text) => return mysql::in_list(look, end),
        b'~' => return token::azure(look, text, end),
        b'=' | b'"' | b'\'' | b'`' | b'\\' | b'>' => {}
        _ => return Ok(None),
    }
    let Some(name) = names::read(text) else { return Ok(None) };
    match assignment::find(look, name, word.before, end)? {
        Some(given) => value::find(look, &given),
        None => Ok(None),
    }
}
