//! Which files fit the letters that were typed, the best first. Pure.

use std::cmp::Reverse;

/// The paths that have these letters in this order, at most so many.
pub(crate) fn best(paths: &[String], letters: &str, most: usize) -> Vec<String> {
    let wanted: Vec<char> = letters.to_lowercase().chars().collect();
    let mut fitting: Vec<(Reverse<u8>, usize, &String)> = paths
        .iter()
        .filter_map(|path| grade(path, letters, &wanted).map(|grade| (Reverse(grade), path.len(), path)))
        .collect();
    fitting.sort();
    fitting.into_iter().take(most).map(|(_, _, path)| path.clone()).collect()
}

/// How well a path fits; `None` if it does not.
fn grade(path: &str, letters: &str, wanted: &[char]) -> Option<u8> {
    let lower = path.to_lowercase();
    let name = lower.rsplit('/').next().unwrap_or(&lower);
    let letters = letters.to_lowercase();
    if name == letters || lower == letters {
        Some(5)
    } else if lower.starts_with(&letters) {
        Some(4)
    } else if name.starts_with(&letters) {
        Some(3)
    } else if name.contains(&letters) {
        Some(2)
    } else if lower.contains(&letters) {
        Some(1)
    } else {
        has_in_order(&lower, wanted).then_some(0)
    }
}

fn has_in_order(path: &str, wanted: &[char]) -> bool {
    let mut path = path.chars();
    wanted.iter().all(|wanted| path.any(|letter| letter == *wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_goes_before_a_part_of_a_path_and_letters_may_be_left_out() {
        let paths: Vec<String> =
            ["src/chat/driver.rs", "driver/notes.md", "docs/old-driver.txt", "d/r/iver", "Cargo.toml"]
                .map(str::to_owned)
                .into();
        assert_eq!(
            best(&paths, "Driver", 9),
            ["driver/notes.md", "src/chat/driver.rs", "docs/old-driver.txt", "d/r/iver"]
        );
        assert_eq!(best(&paths, "cgt", 9), ["Cargo.toml"]);
        assert_eq!(best(&paths, "", 2).len(), 2);
        assert!(best(&paths, "zz", 9).is_empty());
    }
}
