//! Follows the operators of a page and the forms that it draws, as far as they are about text.

use std::collections::HashMap;
use std::rc::Rc;

use lopdf::content::{Content, Operation};
use lopdf::{Dictionary, Document, Object, ObjectId};

use super::LONGEST_STREAM;
use super::font::PdfFont;
use super::layout::{Extent, PageText};
use crate::page::LONGEST;

/// How deep forms are drawn within forms.
const DEEPEST: usize = 8;
/// How many states are saved.
const MOST_STATES: usize = 128;
/// How many operators one page has at most, with its forms: a form may be drawn again and again.
const MOST_OPERATIONS: usize = 4_000_000;
/// A move of this many thousandths of the height inside of a string is a space.
const SPACE: f32 = 180.0;

/// Maps points: `[a b c d e f]` of the standard.
#[derive(Clone, Copy, Debug)]
struct Matrix([f32; 6]);

impl Matrix {
    const UNIT: Self = Self([1.0, 0.0, 0.0, 1.0, 0.0, 0.0]);

    fn shift(x: f32, y: f32) -> Self {
        Self([1.0, 0.0, 0.0, 1.0, x, y])
    }

    fn of(operands: &[Object]) -> Self {
        let mut matrix = Self::UNIT;
        for (place, operand) in matrix.0.iter_mut().zip(operands) {
            *place = operand.as_float().unwrap_or(*place);
        }
        matrix
    }

    /// First `self`, then `next`.
    fn then(self, next: Self) -> Self {
        let ([a, b, c, d, e, f], [g, h, i, j, k, l]) = (self.0, next.0);
        Self([
            a * g + b * i,
            a * h + b * j,
            c * g + d * i,
            c * h + d * j,
            e * g + f * i + k,
            e * h + f * j + l,
        ])
    }

    fn point(self, x: f32, y: f32) -> (f32, f32) {
        let [a, b, c, d, e, f] = self.0;
        (a * x + c * y + e, b * x + d * y + f)
    }

    /// How high something of the height 1 becomes.
    fn height(self) -> f32 {
        self.0[2].hypot(self.0[3])
    }
}

/// The dictionaries in which names of fonts and forms are looked up, the nearest first.
pub(super) struct Resources<'a>(Vec<&'a Dictionary>);

impl<'a> Resources<'a> {
    /// Those of a page, its own and the inherited ones.
    pub(super) fn of_page(document: &'a Document, page: ObjectId) -> Self {
        let Ok((own, inherited)) = document.get_page_resources(page) else { return Self(Vec::new()) };
        let inherited = inherited.into_iter().filter_map(|id| document.get_dictionary(id).ok());
        Self(own.into_iter().chain(inherited).collect())
    }

    fn find(&self, document: &'a Document, kind: &[u8], name: &[u8]) -> Option<&'a Object> {
        self.0.iter().find_map(|resources| {
            let named = resources.get_deref(kind, document).and_then(Object::as_dict).ok()?;
            named.get_deref(name, document).ok()
        })
    }
}

/// What operators change and `q` and `Q` save.
#[derive(Clone)]
struct TextState<'a> {
    place: Matrix,
    font: Option<Rc<PdfFont<'a>>>,
    size: f32,
    letter_gap: f32,
    word_gap: f32,
    stretch: f32,
    leading: f32,
}

/// Reads one page.
pub(super) struct PageReader<'a> {
    document: &'a Document,
    text: PageText,
    fonts: HashMap<*const Dictionary, Rc<PdfFont<'a>>>,
    operations: usize,
    is_whole: bool,
}

impl<'a> PageReader<'a> {
    /// An empty page of this document.
    pub(super) fn new(document: &'a Document) -> Self {
        Self { document, text: PageText::default(), fonts: HashMap::new(), operations: 0, is_whole: true }
    }

    /// Follows the content of the page.
    pub(super) fn read(&mut self, content: &[u8], resources: &Resources<'a>) {
        let state = TextState {
            place: Matrix::UNIT,
            font: None,
            size: 1.0,
            letter_gap: 0.0,
            word_gap: 0.0,
            stretch: 1.0,
            leading: 0.0,
        };
        self.follow(content, resources, state, 0);
    }

    /// Returns the text, and whether all of it could be read.
    pub(super) fn finish(self) -> (String, bool) {
        (self.text.finish(), self.is_whole)
    }

    fn follow(&mut self, content: &[u8], resources: &Resources<'a>, state: TextState<'a>, depth: usize) {
        let mut run = ContentRun { state, saved: Vec::new(), line: Matrix::UNIT, letters: Matrix::UNIT };
        for operation in Content::decode_iter(content) {
            let Ok(operation) = operation else {
                self.is_whole = false;
                return;
            };
            self.operations += 1;
            if self.operations > MOST_OPERATIONS || self.text.len() > LONGEST {
                self.is_whole = false;
                return;
            }
            match operation.operator.as_str() {
                "Tf" => self.choose_font(&operation, resources, &mut run),
                "Do" => self.draw_form(&operation, resources, &run, depth),
                _ => run.apply(&operation, self),
            }
        }
    }

    fn choose_font(&mut self, operation: &Operation, resources: &Resources<'a>, run: &mut ContentRun<'a>) {
        run.state.size = operation.operands.get(1).and_then(|size| size.as_float().ok()).unwrap_or(1.0);
        let name = operation.operands.first().and_then(|name| name.as_name().ok()).unwrap_or_default();
        let font = resources.find(self.document, b"Font", name).and_then(|font| font.as_dict().ok());
        let document = self.document;
        run.state.font = font.map(|font| {
            let known = self.fonts.entry(std::ptr::from_ref(font));
            Rc::clone(known.or_insert_with(|| Rc::new(PdfFont::new(document, font))))
        });
    }

    fn draw_form(
        &mut self,
        operation: &Operation,
        resources: &Resources<'a>,
        run: &ContentRun<'a>,
        depth: usize,
    ) {
        let name = operation.operands.first().and_then(|name| name.as_name().ok()).unwrap_or_default();
        let form = resources.find(self.document, b"XObject", name).and_then(|form| form.as_stream().ok());
        let is_form = |kind: &[u8]| kind == b"Form";
        let Some(form) =
            form.filter(|form| form.dict.get(b"Subtype").and_then(Object::as_name).is_ok_and(is_form))
        else {
            return;
        };
        let Some(content) =
            form.get_plain_content_with_limit(LONGEST_STREAM).ok().filter(|_| depth < DEEPEST)
        else {
            self.is_whole = false;
            return;
        };
        let matrix = form.dict.get_deref(b"Matrix", self.document).and_then(Object::as_array);
        let matrix = matrix.map_or(Matrix::UNIT, |numbers| Matrix::of(numbers));
        let own = form.dict.get_deref(b"Resources", self.document).and_then(Object::as_dict).ok();
        let resources = Resources(own.into_iter().chain(resources.0.iter().copied()).collect());
        let state = TextState { place: matrix.then(run.state.place), ..run.state.clone() };
        self.follow(&content, &resources, state, depth + 1);
    }
}

/// The state of one content while it is followed.
struct ContentRun<'a> {
    state: TextState<'a>,
    saved: Vec<TextState<'a>>,
    line: Matrix,
    letters: Matrix,
}

impl<'a> ContentRun<'a> {
    fn apply(&mut self, operation: &Operation, page: &mut PageReader<'a>) {
        let operands = operation.operands.as_slice();
        let number =
            |at: usize| operands.get(at).and_then(|operand| operand.as_float().ok()).unwrap_or_default();
        match operation.operator.as_str() {
            "q" if self.saved.len() < MOST_STATES => self.saved.push(self.state.clone()),
            "Q" => self.state = self.saved.pop().unwrap_or_else(|| self.state.clone()),
            "cm" => self.state.place = Matrix::of(operands).then(self.state.place),
            "BT" => self.set_line(Matrix::UNIT),
            "Tm" => self.set_line(Matrix::of(operands)),
            "Td" => self.move_line(number(0), number(1)),
            "TD" => {
                self.state.leading = -number(1);
                self.move_line(number(0), number(1));
            }
            "T*" => self.move_line(0.0, -self.state.leading),
            "TL" => self.state.leading = number(0),
            "Tc" => self.state.letter_gap = number(0),
            "Tw" => self.state.word_gap = number(0),
            "Tz" => self.state.stretch = number(0) / 100.0,
            "Tj" => self.show(operands, page),
            "TJ" => {
                if let Some(Object::Array(pieces)) = operands.first() {
                    self.show(pieces, page);
                }
            }
            "'" => {
                self.move_line(0.0, -self.state.leading);
                self.show(operands, page);
            }
            "\"" => {
                (self.state.word_gap, self.state.letter_gap) = (number(0), number(1));
                self.move_line(0.0, -self.state.leading);
                self.show(operands.get(2..).unwrap_or_default(), page);
            }
            _ => {}
        }
    }

    fn set_line(&mut self, matrix: Matrix) {
        (self.line, self.letters) = (matrix, matrix);
    }

    fn move_line(&mut self, x: f32, y: f32) {
        self.set_line(Matrix::shift(x, y).then(self.line));
    }

    /// Shows strings with the moves between them.
    fn show(&mut self, pieces: &[Object], page: &mut PageReader<'a>) {
        let Some(font) = self.state.font.clone() else {
            page.is_whole &= pieces.is_empty();
            return;
        };
        let (mut text, from) = (String::new(), self.letters);
        for piece in pieces {
            if let Object::String(bytes, _) = piece {
                let decoded = font.decode(bytes);
                page.is_whole &= decoded.is_whole;
                text.push_str(&decoded.text);
                let gaps = self.state.letter_gap * decoded.codes as f32
                    + self.state.word_gap * decoded.spaces as f32;
                self.advance(decoded.width / 1000.0 * self.state.size + gaps);
            } else if let Ok(back) = piece.as_float() {
                if -back > SPACE && !text.is_empty() && !text.ends_with(char::is_whitespace) {
                    text.push(' ');
                }
                self.advance(-back / 1000.0 * self.state.size);
            }
        }
        let (from, to) = (from.then(self.state.place), self.letters.then(self.state.place));
        let height = self.state.size.abs() * from.height();
        page.text.add(&text, Extent { from: from.point(0.0, 0.0), to: to.point(0.0, 0.0), height });
    }

    fn advance(&mut self, by: f32) {
        self.letters = Matrix::shift(by * self.state.stretch, 0.0).then(self.letters);
    }
}
