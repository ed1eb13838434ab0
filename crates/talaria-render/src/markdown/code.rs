//! Lines of code in Markdown: written unchanged, and recorded for the highlighter.

use super::super::block::Fence;
use super::super::sanitize::sanitize;
use super::super::style::Color;
use super::super::styled::StyledText;
use super::Markdown;

/// Where code begins.
const CODE_INDENT: usize = 2;

/// A line of code as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeLine {
    /// Which line of the output it is, counted from the beginning of the text that it was appended to.
    pub at: usize,
    /// Does a block of code begin with it?
    pub is_first: bool,
    /// The word after the fence.
    pub language: String,
    /// How far it is indented.
    pub indent: usize,
    /// The code, harmless.
    pub text: String,
}

impl Markdown {
    /// Notes lines of code from now on.
    pub fn with_code(self) -> Self {
        Self { code: Some(Vec::new()), ..self }
    }

    /// The lines of code written since the last call. Called after each piece, while the positions are valid.
    pub fn take_code(&mut self) -> Vec<CodeLine> {
        self.code.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Code is not wrapped: copied text must equal the model's.
    pub(super) fn code_line(&mut self, fence: Fence, out: &mut StyledText) {
        self.owe_gap(out);
        let at = out.ended_count();
        let text = self.push_code(fence, out);
        out.end_line();
        let is_first = !std::mem::replace(&mut self.is_code_begun, true);
        if let Some(code) = &mut self.code {
            let (indent, language) = (CODE_INDENT + fence.indent, self.language.clone());
            code.push(CodeLine { at, is_first, language, indent, text });
        }
    }

    pub(super) fn push_code(&self, fence: Fence, out: &mut StyledText) -> String {
        let outer = self.pending.len() - self.pending.trim_start_matches(' ').len();
        let code = sanitize(&self.pending[outer.min(fence.indent)..]).into_owned();
        out.push_line(self.margin.clone());
        if !code.is_empty() {
            out.push_spaces(CODE_INDENT + fence.indent);
        }
        self.paint.push(out, self.base.color(Color::Cyan), &code);
        code
    }
}
