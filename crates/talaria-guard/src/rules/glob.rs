//! One word of a pattern, and its comparison with a word of a command.
//!
//! Owns quoting and `*` in patterns. Takes time proportional to both lengths, on every input. Called by `pattern` and
//! for the tools of MCP servers.

use super::pattern::BadPattern;
use crate::shell::{Word, WordPiece};

/// A character of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    /// Itself.
    Char(char),
    /// Any characters.
    Star,
    /// The home directory.
    Home,
}

/// A character of a word, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Symbol {
    /// Itself.
    Char(char),
    /// Any text, nothing included.
    Any,
}

/// One word of a pattern.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Glob {
    signs: Vec<Sign>,
    /// How much of it is `NAME=`, not quoted.
    name: Option<usize>,
    /// Is it a bare `>`?
    is_write_sign: bool,
    is_quoted: bool,
}

/// Splits a pattern into its words.
pub(super) fn split(text: &str) -> Result<Vec<Glob>, BadPattern> {
    let mut globs = Vec::new();
    let mut current: Option<Glob> = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        let is_first = current.is_none();
        if c.is_whitespace() {
            globs.extend(current.take());
            continue;
        }
        let glob = current.get_or_insert_default();
        match c {
            '\'' | '"' => {
                glob.is_quoted = true;
                loop {
                    match chars.next() {
                        None => return Err(BadPattern::Unclosed),
                        Some(end) if end == c => break,
                        Some(inside) => glob.signs.push(Sign::Char(inside)),
                    }
                }
            }
            '\\' => {
                glob.is_quoted = true;
                glob.signs.push(Sign::Char(chars.next().ok_or(BadPattern::Unclosed)?));
            }
            '*' => glob.signs.push(Sign::Star),
            '~' if is_first => glob.signs.push(Sign::Home),
            '>' => {
                if !is_first || chars.as_str().starts_with(|next: char| !next.is_whitespace()) {
                    return Err(BadPattern::Operator(c));
                }
                glob.is_write_sign = true;
            }
            ';' | '&' | '|' | '<' | '(' | ')' => return Err(BadPattern::Operator(c)),
            '$' | '`' => return Err(BadPattern::Expansion(c)),
            '=' if glob.name.is_none() && !glob.is_quoted && glob.is_name() => {
                glob.signs.push(Sign::Char(c));
                glob.name = Some(glob.signs.len());
            }
            _ => glob.signs.push(Sign::Char(c)),
        }
    }
    globs.extend(current);
    Ok(globs)
}

/// Known characters of a word.
pub(super) fn symbols(word: &Word, home: Option<&str>) -> Vec<Symbol> {
    let mut symbols = Vec::new();
    for piece in word.pieces() {
        match piece {
            WordPiece::Text(text) => symbols.extend(text.chars().map(Symbol::Char)),
            WordPiece::Home => symbols.extend(home.unwrap_or("~").chars().map(Symbol::Char)),
            WordPiece::Glob(_) | WordPiece::Variable(_) | WordPiece::Unknown => symbols.push(Symbol::Any),
        }
    }
    symbols
}

impl Glob {
    /// A pattern in which `*` is the only sign.
    pub(super) fn plain(text: &str) -> Self {
        let sign = |c| if c == '*' { Sign::Star } else { Sign::Char(c) };
        Self { signs: text.chars().map(sign).collect(), ..Self::default() }
    }

    fn is_name(&self) -> bool {
        let chars: Option<String> = self
            .signs
            .iter()
            .map(|sign| match sign {
                Sign::Char(c) => Some(*c),
                Sign::Star | Sign::Home => None,
            })
            .collect();
        chars.is_some_and(|name| crate::shell::is_name(&name))
    }

    /// Name and pattern of the value, if it is an assignment.
    pub(super) fn assigned(&self) -> Option<(String, Self)> {
        let (name, value) = self.signs.split_at(self.name?);
        let name = name.iter().filter_map(|sign| match sign {
            Sign::Char('=') | Sign::Star | Sign::Home => None,
            Sign::Char(c) => Some(*c),
        });
        Some((name.collect(), Self { signs: value.to_vec(), ..Self::default() }))
    }

    pub(super) fn is_write_sign(&self) -> bool {
        self.is_write_sign
    }

    /// Is it `*` or `**` alone?
    pub(super) fn is_rest(&self) -> bool {
        matches!(self.signs.as_slice(), [Sign::Star] | [Sign::Star, Sign::Star])
    }

    pub(super) fn is_double_star(&self) -> bool {
        self.signs.as_slice() == [Sign::Star, Sign::Star]
    }

    pub(super) fn is_empty(&self) -> bool {
        self.signs.is_empty()
    }

    pub(super) fn contains(&self, c: char) -> bool {
        self.signs.contains(&Sign::Char(c)) || c == '/' && self.signs.contains(&Sign::Home)
    }

    pub(super) fn ends_with(&self, c: char) -> bool {
        self.signs.last() == Some(&Sign::Char(c))
    }

    pub(super) fn to_lower_case(&self) -> Self {
        let lower = |sign: &Sign| match sign {
            Sign::Char(c) => Sign::Char(c.to_ascii_lowercase()),
            other => *other,
        };
        Self { signs: self.signs.iter().map(lower).collect(), ..self.clone() }
    }

    /// How many bytes of known text it begins with.
    pub(super) fn literal_start(&self) -> usize {
        let known = |sign: &Sign| match sign {
            Sign::Char(c) => Some(c.len_utf8()),
            Sign::Star | Sign::Home => None,
        };
        self.signs.iter().map_while(known).sum()
    }

    /// Is it an option: a dash and more?
    pub(super) fn is_option(&self) -> bool {
        self.signs.len() > 1 && self.signs[0] == Sign::Char('-')
    }

    pub(super) fn has_star(&self) -> bool {
        self.signs.contains(&Sign::Star)
    }

    /// The pattern after the first `=`, if there is one.
    pub(super) fn value_glob(&self) -> Option<Self> {
        let equals = self.signs.iter().position(|sign| *sign == Sign::Char('='))?;
        Some(Self { signs: self.signs[equals + 1..].to_vec(), ..Self::default() })
    }

    /// A word that fits.
    pub(super) fn sample(&self) -> String {
        let text = |sign: &Sign| match sign {
            Sign::Char(c) => *c,
            Sign::Star => 'x',
            Sign::Home => '~',
        };
        self.signs.iter().map(text).collect()
    }

    /// Whether both can match the same text.
    pub(super) fn could_match(&self, symbols: &[Symbol], home: Option<&str>) -> bool {
        self.run(symbols, home, |reached| {
            let first = reached.iter().position(|reached| *reached).unwrap_or(reached.len());
            reached[first..].fill(true);
        })
    }

    /// Does it match whatever the unknown parts turn out to be? They fit nothing but a `*`.
    pub(super) fn must_match(&self, symbols: &[Symbol], home: Option<&str>) -> bool {
        let signs = self.signs(home);
        self.run(symbols, home, |reached| {
            for (at, reached) in reached.iter_mut().enumerate() {
                *reached &= signs.get(at) == Some(&Sign::Star);
            }
        })
    }

    /// Walks the word with the set of reachable positions in the pattern; `any` is the effect of unknown text.
    fn run(&self, symbols: &[Symbol], home: Option<&str>, any: impl Fn(&mut [bool])) -> bool {
        let signs = self.signs(home);
        let mut reached = vec![false; signs.len() + 1];
        reached[0] = true;
        skip_stars(&signs, &mut reached);
        for symbol in symbols {
            match symbol {
                Symbol::Any => any(&mut reached),
                Symbol::Char(c) => {
                    // From the end, so that each place is read before it is written.
                    for at in (0..=signs.len()).rev() {
                        let stays = reached[at] && signs.get(at) == Some(&Sign::Star);
                        let comes = at > 0 && reached[at - 1] && signs[at - 1] == Sign::Char(*c);
                        reached[at] = stays || comes;
                    }
                }
            }
            skip_stars(&signs, &mut reached);
            if !reached.contains(&true) {
                return false;
            }
        }
        reached[signs.len()]
    }

    fn signs(&self, home: Option<&str>) -> Vec<Sign> {
        let mut signs = Vec::with_capacity(self.signs.len());
        for sign in &self.signs {
            match sign {
                Sign::Home => signs.extend(home.unwrap_or("~").chars().map(Sign::Char)),
                other => signs.push(*other),
            }
        }
        signs
    }
}

fn skip_stars(signs: &[Sign], reached: &mut [bool]) {
    for (at, sign) in signs.iter().enumerate() {
        reached[at + 1] |= reached[at] && *sign == Sign::Star;
    }
}
