//! The code in a message: its blocks, and the colours of those lines that have been read.
//!
//! A block can only be highlighted from its beginning, and that is slow: so it is done for visible rows within the frame's
//! budget, and the result is cached for any width of the window.

use talaria_render::highlight::{Class, Reader};
use talaria_render::markdown::CodeLine;
use talaria_render::{Color, Highlighter, Paint, Style, StyledLine};

/// Cost of a line besides its length.
const LINE_COST: usize = 16;

/// How much may be read for a frame, in bytes.
#[derive(Debug)]
pub(super) struct Budget(pub(super) usize);

/// Which line: the block, and the line in it.
pub(super) type Place = (usize, usize);

/// What decides how code looks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Looks<'a> {
    /// Capabilities of the output.
    pub(super) paint: Paint,
    /// Knows the languages.
    pub(super) lights: Option<&'a Highlighter>,
}

/// All code of a message.
#[derive(Debug, Default)]
pub(super) struct Code {
    blocks: Vec<Block>,
}

#[derive(Debug)]
struct Block {
    language: String,
    lines: Vec<Text>,
    reader: Option<Reader>,
    /// Can the language be read? Found out once.
    is_known: Option<bool>,
    /// How many lines have been read.
    read: usize,
}

#[derive(Debug)]
struct Text {
    code: String,
    pieces: Option<Box<[(usize, Class)]>>,
}

impl Code {
    /// Records a line, given the position of the previous one. Earlier highlighting of the same line is kept.
    pub(super) fn note(&mut self, before: Option<Place>, line: &CodeLine) -> Place {
        let (block, row) = match before {
            Some((block, row)) if !line.is_first => (block, row + 1),
            Some((block, _)) => (block + 1, 0),
            None => (0, 0),
        };
        if self.blocks.get(block).is_none_or(|block| row == 0 && block.language != line.language) {
            self.blocks.truncate(block);
            let language = line.language.clone();
            self.blocks.push(Block { language, lines: Vec::new(), reader: None, is_known: None, read: 0 });
        }
        let at = self.blocks.len() - 1;
        let block = block.min(at);
        let lines = &mut self.blocks[block];
        if lines.lines.get(row).is_none_or(|text| text.code != line.text) {
            lines.lines.truncate(row);
            lines.lines.push(Text { code: line.text.clone(), pieces: None });
            if lines.read > row {
                (lines.read, lines.reader) = (0, None);
                lines.lines.iter_mut().for_each(|text| text.pieces = None);
            }
        }
        (block, row)
    }

    /// Forgets what was read.
    pub(super) fn clear(&mut self) {
        self.blocks.clear();
    }

    /// Highlights up to this line, within the budget. Returns whether it is done.
    pub(super) fn read(
        &mut self,
        (block, row): Place,
        highlighter: &Highlighter,
        budget: &mut Budget,
    ) -> bool {
        let Some(block) = self.blocks.get_mut(block) else { return false };
        while block.read <= row {
            let Some(line) = block.lines.get_mut(block.read) else { return false };
            // A line that is longer than all of the budget is read too, alone.
            if budget.0 == 0 {
                return false;
            }
            if block.reader.is_none() {
                block.reader = highlighter.begin(&block.language);
            }
            let Some(reader) = &mut block.reader else { return false };
            budget.0 = budget.0.saturating_sub(line.code.len() + LINE_COST);
            line.pieces = Some(reader.line(&line.code, highlighter).into());
            block.read += 1;
        }
        true
    }

    /// Has this line been read?
    pub(super) fn is_read(&self, (block, row): Place) -> bool {
        self.blocks.get(block).is_some_and(|block| block.read > row)
    }

    /// Is this line in a language that can be read?
    pub(super) fn is_known(&mut self, (block, _): Place, lights: &Highlighter) -> bool {
        let Some(block) = self.blocks.get_mut(block) else { return false };
        *block.is_known.get_or_insert_with(|| lights.knows(&block.language))
    }

    /// The pieces of a line as they look by now. `base` is how the text around looks.
    pub(super) fn line(&self, (block, row): Place, base: Style, page: Looks<'_>) -> StyledLine {
        let mut line = StyledLine::default();
        let Some(block) = self.blocks.get(block) else { return line };
        let Some(text) = block.lines.get(row) else { return line };
        let Some(pieces) = &text.pieces else {
            // Code that is about to get colours does not change from one colour to others.
            let is_known = page.lights.is_some_and(|_| block.is_known == Some(true));
            line.push(page.paint.seen(if is_known { base } else { base.color(Color::Cyan) }), &text.code);
            return line;
        };
        let mut rest = text.code.as_str();
        for (bytes, class) in pieces {
            let Some((piece, behind)) = rest.split_at_checked(*bytes) else { break };
            line.push(page.paint.seen(class.style(base)), piece);
            rest = behind;
        }
        line
    }

    /// Its memory use.
    pub(super) fn weight(&self) -> usize {
        let lines = self.blocks.iter().flat_map(|block| &block.lines);
        lines.map(|text| text.code.len() + text.pieces.as_ref().map_or(0, |pieces| pieces.len() * 16)).sum()
    }
}
