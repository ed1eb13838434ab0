//! Which candidates fit the letters typed, and in which order. Case counts only where it is typed.

/// How well letters fit; less is better.
///
/// A match at the beginning of a name ranks before one in its middle, that before one in the middle of the whole
/// path, and scattered letters rank last. Among equals the shorter one is first.
pub fn rank(letters: &str, candidate: &str) -> Option<Rank> {
    let has_capitals = letters.chars().any(char::is_uppercase);
    let (letters, folded) = if has_capitals {
        (letters.to_owned(), candidate.to_owned())
    } else {
        (letters.to_lowercase(), candidate.to_lowercase())
    };
    let whole = folded.trim_end_matches('/');
    let name = whole.rsplit('/').next().unwrap_or(whole);
    let (class, gaps) = if folded == letters || name == letters {
        (0, 0)
    } else if name.starts_with(&letters) {
        (1, 0)
    } else if folded.starts_with(&letters) {
        (2, 0)
    } else if let Some(at) = name.find(&letters) {
        (3, at)
    } else if let Some(at) = folded.find(&letters) {
        (4, at)
    } else {
        (5, spread(&letters, name).or_else(|| spread(&letters, &folded).map(|gaps| gaps + 1_000))?)
    };
    Some(Rank { class, gaps, length: candidate.chars().count() })
}

/// How well something fits; less is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank {
    class: u8,
    gaps: usize,
    length: usize,
}

impl Rank {
    /// The same, where the longer is as good as the shorter.
    pub fn without_length(self) -> Self {
        Self { length: 0, ..self }
    }

    /// Did the letters begin it?
    pub fn is_beginning(self) -> bool {
        self.class <= 2
    }
}

/// How many characters are between the first and the last letter, if all of them follow each other.
fn spread(letters: &str, text: &str) -> Option<usize> {
    let mut wanted = letters.chars().peekable();
    let (mut first, mut last) = (None, 0);
    for (at, c) in text.chars().enumerate() {
        if wanted.next_if_eq(&c).is_some() {
            first.get_or_insert(at);
            last = at;
        }
    }
    wanted.peek().is_none().then(|| last - first.unwrap_or(last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_of_a_name_goes_before_the_middle_and_that_before_single_letters() {
        let order = ["main", "src/main.rs", "src/domain.rs", "src/mainly/x.rs", "m/a/i/n.rs"];
        let ranks: Vec<_> = order.iter().map(|path| rank("main", path).unwrap()).collect();
        assert!(ranks.is_sorted_by(|a, b| a < b), "{ranks:?}");
        assert_eq!(rank("main", "niam"), None);
        assert_eq!(rank("Main", "main"), None);
        assert!(rank("main", "Main.java").is_some());
        assert!(rank("", "x").is_some());
    }
}
