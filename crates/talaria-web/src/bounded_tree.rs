//! Parses HTML into a tree of bounded depth and size.
//!
//! The parser looks through its open elements at almost every tag, and writers of trees call themselves for what is nested:
//! a page of a million open elements would take hours or end the process. Browsers stop at 512 levels. A page that is deeper
//! or has too many elements is given up here after the piece in which it became so; `html` reads it as bare text then.
//! The methods of the sink that count come first; the others only pass on to the document.

use std::borrow::Cow;
use std::cell::{Cell, Ref};
use std::rc::Rc;

use dom_query::{Document, NodeId, NodeRef};
use html5ever::interface::{ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::tendril::{StrTendril, TendrilSink};
use html5ever::{Attribute, ParseOpts, QualName, parse_document};

/// The deepest page.
const DEEPEST: u32 = 512;
/// The most elements of a page.
const MOST: usize = 300_000;
/// How much is parsed between two looks at the bounds.
const PIECE: usize = 4096;

/// Parses a page; `None` if it is beyond the bounds.
pub(crate) fn parse_bounded(html: &str) -> Option<Document> {
    let sink =
        BoundedSink { document: Document::default(), elements: Cell::default(), is_beyond: Cell::default() };
    let mut options = ParseOpts::default();
    // The content of <noscript> is for clients that run no scripts, like this one.
    options.tree_builder.scripting_enabled = false;
    let mut parser = parse_document(sink, options);
    let mut rest = html;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.floor_char_boundary(PIECE.min(rest.len())));
        parser.process(StrTendril::from_slice(piece));
        if parser.tokenizer.sink.sink.is_beyond.get() {
            return None;
        }
        rest = after;
    }
    let document = parser.finish();
    // Nodes that were moved while the page was repaired may be deeper than they were when they were counted.
    (depth(&document) <= 2 * DEEPEST).then_some(document)
}

fn depth(document: &Document) -> u32 {
    let (mut deepest, mut at) = (0_u32, 0_u32);
    let mut node: Option<NodeRef<'_>> = Some(document.root());
    while let Some(current) = node {
        deepest = deepest.max(at);
        if let Some(child) = current.first_child() {
            (node, at) = (Some(child), at + 1);
            continue;
        }
        let mut leaf = current;
        node = loop {
            if let Some(next) = leaf.next_sibling() {
                break Some(next);
            }
            match leaf.parent() {
                Some(parent) => (leaf, at) = (parent, at.saturating_sub(1)),
                None => break None,
            }
        };
    }
    deepest
}

struct BoundedSink {
    document: Document,
    elements: Cell<usize>,
    is_beyond: Cell<bool>,
}

/// A node, with its depth when it was last inserted.
#[derive(Clone)]
struct TreeHandle {
    id: NodeId,
    depth: Rc<Cell<u32>>,
}

impl TreeHandle {
    fn new(id: NodeId, depth: u32) -> Self {
        Self { id, depth: Rc::new(Cell::new(depth)) }
    }
}

impl BoundedSink {
    /// Counts a child that becomes one of `depth`, and returns it for the document.
    fn place(&self, depth: u32, child: NodeOrText<TreeHandle>) -> NodeOrText<NodeId> {
        match child {
            NodeOrText::AppendText(text) => NodeOrText::AppendText(text),
            NodeOrText::AppendNode(node) => {
                node.depth.set(depth);
                if depth > DEEPEST {
                    self.is_beyond.set(true);
                }
                NodeOrText::AppendNode(node.id)
            }
        }
    }
}

impl TreeSink for BoundedSink {
    type Handle = TreeHandle;
    type Output = Document;
    type ElemName<'a> = Ref<'a, QualName>;

    fn finish(self) -> Document {
        self.document
    }

    /// The errors are not read, and a hostile page has millions.
    fn parse_error(&self, _message: Cow<'static, str>) {}

    fn create_element(&self, name: QualName, attributes: Vec<Attribute>, flags: ElementFlags) -> TreeHandle {
        self.elements.set(self.elements.get() + 1);
        if self.elements.get() > MOST {
            self.is_beyond.set(true);
        }
        TreeHandle::new(self.document.create_element(name, attributes, flags), 0)
    }

    fn append(&self, parent: &TreeHandle, child: NodeOrText<TreeHandle>) {
        self.document.append(&parent.id, self.place(parent.depth.get() + 1, child));
    }

    fn append_based_on_parent_node(
        &self,
        element: &TreeHandle,
        before: &TreeHandle,
        child: NodeOrText<TreeHandle>,
    ) {
        let child = self.place(element.depth.get().max(before.depth.get() + 1), child);
        self.document.append_based_on_parent_node(&element.id, &before.id, child);
    }

    fn append_before_sibling(&self, sibling: &TreeHandle, child: NodeOrText<TreeHandle>) {
        self.document.append_before_sibling(&sibling.id, self.place(sibling.depth.get(), child));
    }

    fn get_template_contents(&self, target: &TreeHandle) -> TreeHandle {
        TreeHandle::new(self.document.get_template_contents(&target.id), target.depth.get() + 1)
    }

    fn get_document(&self) -> TreeHandle {
        TreeHandle::new(self.document.get_document(), 0)
    }

    fn elem_name<'a>(&'a self, target: &'a TreeHandle) -> Ref<'a, QualName> {
        self.document.elem_name(&target.id)
    }

    fn create_comment(&self, text: StrTendril) -> TreeHandle {
        TreeHandle::new(self.document.create_comment(text), 0)
    }

    fn create_pi(&self, target: StrTendril, data: StrTendril) -> TreeHandle {
        TreeHandle::new(self.document.create_pi(target, data), 0)
    }

    fn append_doctype_to_document(&self, name: StrTendril, public_id: StrTendril, system_id: StrTendril) {
        self.document.append_doctype_to_document(name, public_id, system_id);
    }

    fn same_node(&self, one: &TreeHandle, other: &TreeHandle) -> bool {
        one.id == other.id
    }

    fn set_quirks_mode(&self, mode: QuirksMode) {
        self.document.set_quirks_mode(mode);
    }

    fn add_attrs_if_missing(&self, target: &TreeHandle, attributes: Vec<Attribute>) {
        self.document.add_attrs_if_missing(&target.id, attributes);
    }

    fn remove_from_parent(&self, target: &TreeHandle) {
        self.document.remove_from_parent(&target.id);
    }

    fn reparent_children(&self, node: &TreeHandle, new_parent: &TreeHandle) {
        self.document.reparent_children(&node.id, &new_parent.id);
    }

    fn is_mathml_annotation_xml_integration_point(&self, handle: &TreeHandle) -> bool {
        self.document.is_mathml_annotation_xml_integration_point(&handle.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_beyond_the_bounds_are_given_up() {
        for hostile in [
            "<div>",
            "<div></b>",
            "<div/>",
            "<b><i>",
            "<div\"a></div>",
            "<svg><g>",
            "<svg><title><div>",
            "<template><div>",
            "<ul><li>",
            "<table><td>",
            "<div></body></html><!-- -->",
            "<noscript><span>",
            "<blockquote>",
        ] {
            assert!(parse_bounded(&hostile.repeat(3_000)).is_none(), "{hostile}");
        }
        assert!(parse_bounded(&"<br>".repeat(MOST + 1)).is_none());
    }

    #[test]
    fn ordinary_pages_are_parsed_as_without_bounds() {
        for html in [
            "<p>one<p>two",
            "<ul><li>a<li>b<ul><li>c</ul></ul><table><tr><td>x</table>",
            "<b><p>mis</b>nested</p><svg><path d='m'/><path/></svg><template><p>t</p></template>",
            "<title>t</title>日本<!-- c --><noscript><img src=a></noscript>",
        ] {
            let html = html.repeat(50);
            let (bounded, free) = (parse_bounded(&html).unwrap(), Document::from(html.as_str()));
            assert_eq!(bounded.html(), free.html(), "{html}");
        }
        assert!(parse_bounded(&"<li>one<br><img><p>two".repeat(20_000)).is_some());
        assert!(parse_bounded(&format!("{}x", "<div>".repeat(400))).is_some());
    }
}
