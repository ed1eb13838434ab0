//! The main part of a large page: the innermost container around nearly all of its text. Pure.
//!
//! Looking for an article weighs every element again and again, which takes longest in a large page. Most of these have one
//! container with everything that is worth reading, and one pass finds it. Where there is none, or what is found is called
//! comments, the caller has to look closer.

use dom_query::{NodeData, NodeRef};

/// Elements that pages put around what they are about. Not lists and tables: the longest list of a page is not the page.
const CONTAINERS: [&str; 6] = ["div", "section", "article", "main", "center", "td"];
/// How much of the text it has at least, in hundredths.
const SHARE: usize = 95;
/// Parts of names that pages give to what others say about their text, which may be much longer than it.
const REPLIES: [&str; 5] = ["comment", "discuss", "disqus", "replies", "respond"];

/// Finds the main part below `body`, and the length of its text. Elements of the names `left_out` do not count.
pub(crate) fn main_part<'a>(body: &NodeRef<'a>, left_out: &[&str]) -> Option<(NodeRef<'a>, usize)> {
    let mut length = 0;
    // The elements around the present node, each with the length of the text before it.
    let mut open: Vec<(NodeRef<'a>, usize)> = Vec::new();
    // Each container with the length of its text; an inner one comes before the one around it.
    let mut containers = Vec::new();
    let mut next = body.first_child();
    while let Some(node) = next {
        length += text_length(&node);
        next = match is_named(&node, left_out) {
            true => None,
            false => node.first_child(),
        };
        if next.is_some() {
            open.push((node, length));
            continue;
        }
        next = node.next_sibling();
        while next.is_none() {
            let Some((element, before)) = open.pop() else { break };
            if is_named(&element, &CONTAINERS) {
                containers.push((element, length - before));
            }
            next = element.next_sibling();
        }
    }
    let (found, own) = containers.into_iter().find(|(_, own)| own * 100 >= length * SHARE)?;
    let mut around = std::iter::once(found).chain(found.ancestors_it(None));
    let is_of_page = !around.any(|element| is_replies(&element));
    (length > 0 && is_of_page).then_some((found, own))
}

fn is_named(node: &NodeRef<'_>, names: &[&str]) -> bool {
    node.qual_name_ref().is_some_and(|name| names.contains(&name.local.as_ref()))
}

/// The bytes of a text node, without the white space around it; nothing for other nodes.
fn text_length(node: &NodeRef<'_>) -> usize {
    node.query_or(0, |node| match &node.data {
        NodeData::Text { contents } => contents.trim().len(),
        _ => 0,
    })
}

fn is_replies(element: &NodeRef<'_>) -> bool {
    ["id", "class"].into_iter().filter_map(|name| element.attr(name)).any(|value| {
        let value = value.to_ascii_lowercase();
        REPLIES.iter().any(|part| value.contains(part))
    })
}

#[cfg(test)]
mod tests {
    use dom_query::Document;

    use super::*;

    /// The id of the main part.
    fn found(html: &str) -> Option<String> {
        let document = Document::from(html);
        let (part, _) = main_part(&document.body().unwrap(), &["nav", "script"])?;
        part.attr("id").map(|id| id.to_string())
    }

    #[test]
    fn the_main_part_is_the_innermost_container_of_nearly_all_text() {
        let text = "The cache moves to the pelican cluster. ".repeat(50);
        let page = |inner: &str| {
            format!(
                "<nav>{text}</nav><script>{text}</script><div id=outer><p>Above</p><div id=inner>{inner}</div>\
                 <div id=beside>Beside it</div></div>"
            )
        };
        assert_eq!(found(&page(&format!("<p>{text}</p>"))).as_deref(), Some("inner"));
        // Half of it is not nearly all of it.
        let halves = format!("<div id=a>{text}</div><div id=b>{text}</div>");
        assert_eq!(found(&page(&halves)).as_deref(), Some("inner"));
        assert_eq!(found(&format!("<div id=a>{text}</div><div id=b>{text}</div>")), None);
        // The longest list of a page is not the page, and neither is what is said below it.
        assert_eq!(found(&page(&format!("<ul id=list><li>{text}</ul>"))).as_deref(), Some("inner"));
        assert_eq!(found(&format!("<p>Post<div id=c class='all Comments'><p>{text}</div>")), None);
        assert_eq!(found(&format!("<p>Post<div class=comments><div id=list>{text}</div></div>")), None);
        assert_eq!(found(""), None);
        assert_eq!(found("<div id=a></div><div id=b> </div>"), None);
    }
}
