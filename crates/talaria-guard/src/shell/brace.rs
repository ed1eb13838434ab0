//! Brace expansion: `{a,b}` is two words before anything else happens to them.
//!
//! Owns what counts as a brace expression and how many words it may become; a sequence `{1..9}` and anything larger
//! than the limit is undecidable. Without recursion, so that no text makes it deep. Called by the lexer.

use super::word::{Word, WordExtent, WordPiece};

/// How many words one word may become.
const LIMIT: usize = 64;

/// How deep braces may be nested: each level copies what is inside once more.
const DEPTH: usize = 16;

/// A part of a word before braces are expanded.
#[derive(Debug, Clone)]
pub(super) enum Part {
    Piece(WordPiece),
    /// An unquoted `{`.
    Open,
    /// An unquoted `,`.
    Comma,
    /// An unquoted `}`.
    Close,
}

/// An opened brace: the alternatives that are complete, and the one being read. Each in all its variants.
struct Frame {
    done: Vec<Vec<WordPiece>>,
    commas: usize,
    current: Vec<Vec<WordPiece>>,
}

impl Frame {
    fn new() -> Self {
        Self { done: Vec::new(), commas: 0, current: vec![Vec::new()] }
    }
}

/// Joins the parts as they are written, as in an assignment.
pub(super) fn literal(parts: Vec<Part>, extent: WordExtent) -> Word {
    let pieces = parts.into_iter().map(|part| match part {
        Part::Piece(piece) => piece,
        Part::Open => text("{"),
        Part::Comma => text(","),
        Part::Close => text("}"),
    });
    Word::new(pieces.collect(), extent)
}

/// Expands the braces of a word.
pub(super) fn expand(parts: Vec<Part>, extent: WordExtent) -> Vec<Word> {
    if !parts.iter().any(|part| matches!(part, Part::Open)) {
        return vec![literal(parts, extent)];
    }
    match variants(parts) {
        Some(variants) => variants.into_iter().map(|pieces| Word::new(pieces, extent)).collect(),
        None => vec![Word::anything()],
    }
}

fn variants(parts: Vec<Part>) -> Option<Vec<Vec<WordPiece>>> {
    let mut open: Vec<Frame> = Vec::new();
    let mut base = Frame::new();
    for part in parts {
        let frame = open.last_mut().unwrap_or(&mut base);
        match part {
            Part::Piece(piece) => append(&mut frame.current, &[vec![piece]])?,
            Part::Open if open.len() == DEPTH => return None,
            Part::Open => open.push(Frame::new()),
            Part::Comma if open.is_empty() => append(&mut base.current, &[vec![text(",")]])?,
            Part::Comma => {
                let frame = open.last_mut()?;
                frame.commas += 1;
                frame.done.append(&mut frame.current);
                frame.current.push(Vec::new());
            }
            Part::Close => match open.pop() {
                None => append(&mut base.current, &[vec![text("}")]])?,
                Some(frame) => {
                    let values = if frame.commas == 0 {
                        closed_without_comma(frame.current)?
                    } else {
                        frame.done.into_iter().chain(frame.current).collect()
                    };
                    append(&mut open.last_mut().unwrap_or(&mut base).current, &values)?;
                }
            },
        }
    }
    // A brace that is never closed is itself; its commas too. How they mix with inner ones is not worth knowing.
    while let Some(frame) = open.pop() {
        if frame.commas > 0 {
            return None;
        }
        let outer = open.last_mut().unwrap_or(&mut base);
        append(&mut outer.current, &[vec![text("{")]])?;
        append(&mut outer.current, &frame.current)?;
    }
    Some(base.current)
}

/// `{x}` and `{}` are themselves; `{1..5}` is a sequence.
fn closed_without_comma(mut variants: Vec<Vec<WordPiece>>) -> Option<Vec<Vec<WordPiece>>> {
    for variant in &mut variants {
        if variant.iter().any(|piece| matches!(piece, WordPiece::Text(text) if text.contains("..")))
            || variant.windows(2).any(|pair| matches!(pair, [a, b] if ends_in_dot(a) && starts_with_dot(b)))
        {
            return None;
        }
        variant.insert(0, text("{"));
        variant.push(text("}"));
    }
    Some(variants)
}

fn ends_in_dot(piece: &WordPiece) -> bool {
    matches!(piece, WordPiece::Text(text) if text.ends_with('.'))
}

fn starts_with_dot(piece: &WordPiece) -> bool {
    matches!(piece, WordPiece::Text(text) if text.starts_with('.'))
}

/// Appends every variant of `values` to every variant of `current`; none if there are too many.
fn append(current: &mut Vec<Vec<WordPiece>>, values: &[Vec<WordPiece>]) -> Option<()> {
    if let [value] = values {
        for variant in current.iter_mut() {
            variant.extend(value.iter().cloned());
        }
        return Some(());
    }
    if current.len() * values.len() > LIMIT {
        return None;
    }
    *current = current
        .iter()
        .flat_map(|before| values.iter().map(move |value| before.iter().chain(value).cloned().collect()))
        .collect();
    Some(())
}

fn text(text: &str) -> WordPiece {
    WordPiece::Text(text.to_owned())
}
