//! No text makes the redactor look at the same bytes again and again. Counted are looks at bytes, not time, so that no
//! machine is too slow for it.

use super::*;

/// Looks for each byte of the text, at most. The worst of the texts below takes 38.
const LOOKS: usize = 100;

fn looks(work: impl FnOnce()) -> usize {
    let before = STEPS.get();
    work();
    STEPS.get() - before
}

/// What begins something, and could make a careless reader begin again at every byte: signs, two of them, and secrets.
fn hostile() -> Vec<String> {
    let mut units: Vec<String> = SIGNS.iter().map(|sign| (*sign).to_owned()).collect();
    units.extend(SIGNS.iter().flat_map(|first| SIGNS.iter().map(move |second| format!("{first}{second}"))));
    units.extend(
        ["a.", "a-", "a_", "a=", "a:b@", "eyJa.eyJb.", "{\"token\":{", "%2", "=\n"].map(str::to_owned),
    );
    units.extend(examples().into_iter().map(|example| example.text));
    units
}

#[test]
fn no_text_is_looked_at_again_and_again() {
    for unit in hostile() {
        let text = unit.repeat(512 / unit.len() + 1);
        let whole = looks(|| drop(redact(&text)));
        assert!(whole <= LOOKS * text.len(), "{whole} looks at {} bytes of {unit:?}", text.len());
    }
}

#[test]
fn text_that_comes_in_pieces_is_not_looked_at_again_for_each_of_them() {
    for unit in SIGNS.iter().map(|sign| (*sign).to_owned()).chain(examples().into_iter().map(|one| one.text))
    {
        let piece = unit.repeat(64 / unit.len() + 1);
        let streamed = looks(|| drop(in_pieces(std::iter::repeat_n(piece.as_str(), 100))));
        assert!(streamed <= LOOKS * piece.len() * 100, "{streamed} looks at 100 pieces of {piece:?}");
    }
}
