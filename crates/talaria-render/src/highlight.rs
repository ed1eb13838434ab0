//! Code in colours: which pieces of a line are words of the language, strings, comments and so on.
//!
//! Loading takes tens of milliseconds and reading a line up to a millisecond, so neither is done while something waits to
//! be drawn for it: the driver of the chat loads, and the transcript reads a few lines for each frame. `exec` does without.

use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxReference, SyntaxSet};

use super::style::{Color, Style};

/// A longer line is left as it is: it is data rather than code, and slow.
const LONGEST_LINE: usize = 500;

/// Kind of a piece of code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of every highlighter")]
pub enum Class {
    Plain,
    Keyword,
    Text,
    Comment,
    Number,
    Type,
    Function,
}

impl Class {
    /// Its style, on top of that of the surrounding text.
    pub fn style(self, base: Style) -> Style {
        match self {
            Self::Plain => base,
            Self::Keyword => base.color(Color::Magenta),
            Self::Text => base.color(Color::Green),
            Self::Comment => base.dim().italic(),
            Self::Number => base.color(Color::Cyan),
            Self::Type => base.color(Color::Yellow),
            Self::Function => base.color(Color::Blue),
        }
    }
}

/// The beginnings of scopes, the special before the general.
const CLASSES: [(&str, Class); 23] = [
    ("comment", Class::Comment),
    ("punctuation.definition.comment", Class::Comment),
    ("string", Class::Text),
    ("punctuation.definition.string", Class::Text),
    ("constant.character", Class::Text),
    ("constant", Class::Number),
    ("keyword.operator.word", Class::Keyword),
    ("keyword.operator.logical.python", Class::Keyword),
    ("keyword.operator", Class::Plain),
    ("keyword", Class::Keyword),
    ("storage", Class::Keyword),
    ("variable.language", Class::Keyword),
    ("entity.name.tag", Class::Keyword),
    ("entity.name.function", Class::Function),
    ("variable.function", Class::Function),
    ("support.function", Class::Function),
    ("support.macro", Class::Function),
    ("entity.name.macro", Class::Function),
    ("entity.name", Class::Type),
    ("entity.other.inherited-class", Class::Type),
    ("support.type", Class::Type),
    ("support.class", Class::Type),
    ("entity.other.attribute-name", Class::Type),
];

/// Names that people write after a fence for a language that is near enough.
const NEAREST: [(&str, &str); 8] = [
    ("ts", "js"),
    ("tsx", "js"),
    ("jsx", "js"),
    ("typescript", "js"),
    ("javascriptreact", "js"),
    ("console", "sh"),
    ("zsh", "sh"),
    ("jsonc", "json"),
];

/// Knows the languages.
#[derive(Debug)]
pub struct Highlighter {
    syntaxes: SyntaxSet,
    classes: Vec<(Scope, Class)>,
}

impl Highlighter {
    /// Loads all languages. Slow: not where something is drawn.
    pub fn load() -> Self {
        let classes = CLASSES.iter().filter_map(|(name, class)| Some((Scope::new(name).ok()?, *class)));
        Self { syntaxes: SyntaxSet::load_defaults_newlines(), classes: classes.collect() }
    }

    /// Begins a block of code, if its language is known.
    pub fn begin(&self, language: &str) -> Option<Reader> {
        let syntax = self.syntax(language)?;
        Some(Reader { state: ParseState::new(syntax), stack: ScopeStack::new() })
    }

    /// Is the language known?
    pub fn knows(&self, language: &str) -> bool {
        self.syntax(language).is_some()
    }

    fn syntax(&self, language: &str) -> Option<&SyntaxReference> {
        let language = language.to_ascii_lowercase();
        let near = NEAREST.iter().find(|(name, _)| *name == language).map_or(&*language, |(_, near)| near);
        let syntax = self.syntaxes.find_syntax_by_token(near)?;
        (syntax.name != "Plain Text").then_some(syntax)
    }

    fn class(&self, stack: &ScopeStack) -> Class {
        let of = |scope: &Scope| self.classes.iter().find(|(prefix, _)| prefix.is_prefix_of(*scope));
        stack.scopes.iter().rev().find_map(of).map_or(Class::Plain, |(_, class)| *class)
    }
}

/// Reads a block of code, line by line, from its beginning.
#[derive(Clone, Debug)]
pub struct Reader {
    state: ParseState,
    stack: ScopeStack,
}

impl Reader {
    /// The pieces of the next line: number of bytes and kind. Unknown code is plain.
    pub fn line(&mut self, line: &str, highlighter: &Highlighter) -> Vec<(usize, Class)> {
        let mut pieces: Vec<(usize, Class)> = Vec::new();
        let mut put = |bytes: usize, class| match pieces.last_mut().filter(|last| last.1 == class) {
            Some(last) => last.0 += bytes,
            None if bytes > 0 => pieces.push((bytes, class)),
            None => {}
        };
        let mut at = 0;
        if line.len() <= LONGEST_LINE
            && let Ok(changes) = self.state.parse_line(&format!("{line}\n"), &highlighter.syntaxes)
        {
            for (place, change) in changes {
                let place = place.min(line.len());
                put(place.saturating_sub(at), highlighter.class(&self.stack));
                at = at.max(place);
                if self.stack.apply(&change).is_err() {
                    break;
                }
            }
            put(line.len() - at, highlighter.class(&self.stack));
        } else {
            put(line.len(), Class::Plain);
        }
        pieces
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn told(language: &str, code: &str) -> String {
        let highlighter = Highlighter::load();
        let mut reader = highlighter.begin(language).unwrap();
        let mut out = String::new();
        for line in code.lines() {
            let mut rest = line;
            for (bytes, class) in reader.line(line, &highlighter) {
                let (piece, behind) = rest.split_at(bytes);
                rest = behind;
                out += &if class == Class::Plain { piece.to_owned() } else { format!("<{class:?} {piece}>") };
            }
            assert_eq!(rest, "");
            out.push('\n');
        }
        out
    }

    #[test]
    fn pieces_of_code_are_told_apart() {
        expect![[r#"
            <Comment // Größe>
            <Keyword fn> <Function main>() -> Option<<Keyword u8>> {
                <Keyword let> x = <Text "a\n>
            <Text   b">; <Comment /* 1>
            <Comment  2 */> <Function call>(<Number 42>, <Text 'c'>)
            }
        "#]]
        .assert_eq(&told(
            "rust",
            "// Größe\nfn main() -> Option<u8> {\n    let x = \"a\\n\n  b\"; /* 1\n 2 */ call(42, 'c')\n}",
        ));
        expect![[r#"
            <Keyword class> <Type A>(<Type B>):
                <Keyword def> <Function f>(self): <Keyword return> <Keyword not> <Number 1> <Comment # no>
        "#]]
        .assert_eq(&told("py", "class A(B):\n    def f(self): return not 1 # no"));
        expect![[r#"
            <Keyword const> a = <Text `x`>; <Keyword if> (a) { <Function f>(<Number 1>) }
        "#]]
        .assert_eq(&told("ts", "const a = `x`; if (a) { f(1) }"));
    }

    #[test]
    fn what_is_no_language_is_not_known() {
        let highlighter = Highlighter::load();
        assert!(highlighter.knows("Rust") && highlighter.knows("sh") && highlighter.knows("json"));
        assert!(!highlighter.knows("") && !highlighter.knows("nonsense") && !highlighter.knows("text"));
    }
}
