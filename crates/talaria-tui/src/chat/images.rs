//! Images in what a person says: each has a marker in the text, where it is.
//!
//! The marker is what the input line shows and what the model reads, so that "compare this with that" keeps its sense.
//! It must not stay in a text whose image was removed. Used by the input line, the history, and the transcript.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use talaria_guard::plain::reveal_line;

/// The marker of an image that has its name for itself.
pub(super) fn marker(path: &str) -> String {
    format!("[image {}]", name(path))
}

/// The markers of images, in the order in which they are sent. No two are alike.
pub(super) fn markers<S: AsRef<str>>(paths: &[S]) -> Vec<String> {
    let (mut taken, mut counts) = (HashSet::new(), HashMap::new());
    let free = |path: &S| {
        let path = path.as_ref();
        let count = counts.entry(name(path)).or_insert(0_usize);
        loop {
            *count += 1;
            let numbered = if *count == 1 { marker(path) } else { format!("[image {} {count}]", name(path)) };
            // A file may be called like the second one of another name.
            if taken.insert(numbered.clone()) {
                return numbered;
            }
        }
    };
    paths.iter().map(free).collect()
}

/// Where these images are in a text, each after the one before it.
pub(super) fn places<S: AsRef<str>>(text: &str, paths: &[S]) -> Vec<Option<Range<usize>>> {
    let mut from = 0;
    let place = |marker: String| {
        let start = from + text[from..].find(&marker)?;
        from = start + marker.len();
        Some(start..from)
    };
    markers(paths).into_iter().map(place).collect()
}

/// The text without the markers of images: sent again, it must not refer to a missing image. Typed text that looks
/// like a marker is not distinguished from one.
pub(super) fn without_images(text: &str, paths: &[String]) -> String {
    let detach = |text: String, marker: String| {
        let gone = format!("{}, not attached]", marker.trim_end_matches(']'));
        text.replace(&marker, &gone)
    };
    markers(paths).into_iter().fold(text.to_owned(), detach)
}

/// The text, and after it the markers of images that it does not have.
pub(super) fn with_markers<S: AsRef<str>>(text: &str, paths: &[S]) -> String {
    let missing = places(text, paths).into_iter().zip(markers(paths)).filter(|(place, _)| place.is_none());
    missing.fold(
        text.to_owned(),
        |text, (_, marker)| if text.is_empty() { marker } else { text + " " + &marker },
    )
}

fn name(path: &str) -> String {
    let name = path.rsplit('/').find(|part| !part.is_empty()).unwrap_or(path);
    reveal_line(name).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_markers_are_alike() {
        let paths = ["/v/a.png", "/w/a.png 2", "/w/a.png", "/w/b\u{202e}.png", "/a.png"];
        let expected = [
            "[image a.png]",
            "[image a.png 2]",
            "[image a.png 3]",
            "[image b⟨U+202E⟩.png]",
            "[image a.png 4]",
        ];
        assert_eq!(markers(&paths), expected);
    }

    #[test]
    fn images_are_found_in_their_order() {
        let text = "[image b.png] is typed, [image a.png 2] too: [image a.png] [image b.png] [image a.png 2]";
        let found = places(text, &["/v/a.png", "/v/b.png", "/v/none.png", "/w/a.png"]);
        let starts: Vec<_> = found.iter().map(|place| place.as_ref().map(|place| place.start)).collect();
        assert_eq!(starts, [Some(45), Some(59), None, Some(73)]);
    }

    #[test]
    fn an_image_is_named_once_whether_the_text_has_its_marker_or_not() {
        for (text, paths, shown) in [
            ("see [image a.png] now", vec!["/w/a.png"], "see [image a.png] now"),
            ("[image a.png][image a.png 2]", vec!["/w/a.png", "/v/a.png"], "[image a.png][image a.png 2]"),
            ("see", vec!["/w/a.png", "/w/b.png"], "see [image a.png] [image b.png]"),
            ("see [image a.png]", vec!["/w/a.png", "/v/a.png"], "see [image a.png] [image a.png 2]"),
            ("", vec!["/w/a.png"], "[image a.png]"),
            ("see\n[image /w/a.png]", vec![], "see\n[image /w/a.png]"),
        ] {
            assert_eq!(with_markers(text, &paths), shown);
        }
    }
}
