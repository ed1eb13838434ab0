//! Collects the string literals of a crate in source order: follows `mod` items from `lib.rs` or `main.rs`, so that a file
//! which only tests compile is not read. `messages.rs` decides which of them are messages.

use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::visit::{self, Visit};

/// Configurations that only test builds have.
const TEST_CONFIGURATIONS: [&str; 4] =
    ["test", "any(test, feature = \"samples\")", "feature = \"contract\"", "feature = \"faults\""];

/// The literals of one source file.
pub(super) struct FileTexts {
    /// Relative to `src`.
    pub(super) file: String,
    /// In source order.
    pub(super) texts: Vec<String>,
}

/// Returns the literals of a crate, sorted by file.
pub(super) fn texts_of(package: &Path) -> Vec<FileTexts> {
    let source = package.join("src");
    let roots = ["lib.rs", "main.rs"].map(|name| source.join(name));
    let mut waiting: Vec<PathBuf> = roots.into_iter().filter(|root| root.is_file()).collect();
    assert!(!waiting.is_empty(), "{} has neither lib.rs nor main.rs", source.display());
    let mut found = Vec::new();
    while let Some(path) = waiting.pop() {
        let parsed = syn::parse_file(&fs::read_to_string(&path).unwrap()).unwrap();
        let mut collector =
            Collector { folder: folder_of_children(&path), texts: Vec::new(), modules: Vec::new() };
        collector.visit_file(&parsed);
        waiting.append(&mut collector.modules);
        let file = path.strip_prefix(&source).unwrap().display().to_string();
        found.push(FileTexts { file, texts: collector.texts });
    }
    found.sort_by(|one, other| one.file.cmp(&other.file));
    found
}

/// Where the files of the modules are that this file declares.
fn folder_of_children(path: &Path) -> PathBuf {
    let is_root = path.ends_with("src/lib.rs") || path.ends_with("src/main.rs");
    if is_root || path.ends_with("mod.rs") {
        path.parent().unwrap().to_owned()
    } else {
        path.with_extension("")
    }
}

/// Is the item compiled for tests alone?
fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::Path(path) => path.segments.last().is_some_and(|segment| segment.ident == "test"),
        syn::Meta::List(list) if list.path.is_ident("cfg") => {
            let text = list.tokens.to_string();
            TEST_CONFIGURATIONS.iter().any(|known| without_spaces(known) == without_spaces(&text))
        }
        _ => false,
    })
}

fn without_spaces(text: &str) -> String {
    text.split_whitespace().collect()
}

fn attributes(item: &syn::Item) -> &[syn::Attribute] {
    match item {
        syn::Item::Const(item) => &item.attrs,
        syn::Item::Enum(item) => &item.attrs,
        syn::Item::Fn(item) => &item.attrs,
        syn::Item::Impl(item) => &item.attrs,
        syn::Item::Macro(item) => &item.attrs,
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Static(item) => &item.attrs,
        syn::Item::Struct(item) => &item.attrs,
        syn::Item::Trait(item) => &item.attrs,
        _ => &[],
    }
}

struct Collector {
    folder: PathBuf,
    texts: Vec<String>,
    modules: Vec<PathBuf>,
}

impl Collector {
    /// Collects from the tokens of a macro call. Doc comments in it are attributes by now.
    fn collect_tokens(&mut self, tokens: TokenStream) {
        let mut tokens = tokens.into_iter().peekable();
        while let Some(token) = tokens.next() {
            match token {
                TokenTree::Punct(sign) if sign.as_char() == '#' => {
                    let is_attribute = matches!(tokens.peek(), Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Bracket);
                    if is_attribute {
                        tokens.next();
                    }
                }
                TokenTree::Group(group) => self.collect_tokens(group.stream()),
                TokenTree::Literal(literal) => {
                    if let Ok(syn::Lit::Str(text)) = syn::parse2(TokenTree::Literal(literal).into()) {
                        self.texts.push(text.value());
                    }
                }
                _ => {}
            }
        }
    }
}

impl<'ast> Visit<'ast> for Collector {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if is_for_tests(attributes(item)) {
            return;
        }
        let syn::Item::Mod(module) = item else { return visit::visit_item(self, item) };
        let folder = self.folder.join(module.ident.to_string());
        if module.content.is_some() {
            let outer = std::mem::replace(&mut self.folder, folder);
            visit::visit_item(self, item);
            self.folder = outer;
        } else {
            let file = folder.with_extension("rs");
            self.modules.push(if file.is_file() { file } else { folder.join("mod.rs") });
        }
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        if !is_for_tests(&function.attrs) {
            visit::visit_impl_item_fn(self, function);
        }
    }

    /// `#[error("…")]` is a message; documentation, clap and lint attributes are not.
    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        if let syn::Meta::List(list) = &attribute.meta
            && list.path.is_ident("error")
        {
            self.collect_tokens(list.tokens.clone());
        }
    }

    /// A literal in a pattern is input that is recognised.
    fn visit_pat(&mut self, pattern: &'ast syn::Pat) {
        if !matches!(pattern, syn::Pat::Lit(_)) {
            visit::visit_pat(self, pattern);
        }
    }

    fn visit_lit_str(&mut self, text: &'ast syn::LitStr) {
        self.texts.push(text.value());
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.collect_tokens(call.tokens.clone());
    }
}
