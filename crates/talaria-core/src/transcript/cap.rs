//! The beginning and the end of a long text, with the size of what was left out between them.

use std::borrow::Cow;

/// Keeps at most `limit` bytes of a text: half from its beginning, half from its end, cut between characters.
pub fn cap(text: &str, limit: usize) -> Cow<'_, str> {
    if text.len() <= limit {
        return Cow::Borrowed(text);
    }
    let head = &text[..text.floor_char_boundary(limit / 2)];
    let tail = &text[text.ceil_char_boundary(text.len() - limit.div_ceil(2))..];
    let left_out = text.len() - head.len() - tail.len();
    Cow::Owned(format!("{head}\n[{left_out} bytes left out]\n{tail}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_text_that_fits_is_kept_as_it_is() {
        assert!(matches!(cap("1234", 4), Cow::Borrowed("1234")));
        assert_eq!(cap("12345", 4), "12\n[1 bytes left out]\n45");
        assert_eq!(cap("12345", 0), "\n[5 bytes left out]\n");
    }

    proptest! {
        #[test]
        fn what_is_kept_and_what_is_counted_is_the_whole(text in "[a-c\u{e9}\u{1f600}]{0,60}", limit in 0_usize..40) {
            let capped = cap(&text, limit);
            if text.len() <= limit {
                prop_assert_eq!(&capped, &text);
            } else {
                let (head, rest) = capped.split_once("\n[").unwrap();
                let (count, tail) = rest.split_once(" bytes left out]\n").unwrap();
                prop_assert!(head.len() + tail.len() <= limit);
                // A character is at most four bytes: no more than that is given away on either side.
                prop_assert!(head.len() + tail.len() + 6 >= limit);
                prop_assert!(text.starts_with(head) && text.ends_with(tail));
                prop_assert_eq!(count.parse::<usize>().unwrap() + head.len() + tail.len(), text.len());
            }
        }
    }
}
