//! Size of a unified diff.

/// How many lines a diff adds and removes.
pub fn size(diff: &str) -> (usize, usize) {
    // The first two lines name the files.
    let body = || diff.lines().skip(2);
    let count = |sign: char| body().filter(|line| line.starts_with(sign)).count();
    (count('+'), count('-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_the_files_are_no_changes() {
        assert_eq!(size("--- a\n+++ b\n@@ -1 +1,2 @@\n-old\n+new\n+newer\n same\n"), (2, 1));
        assert_eq!(size(""), (0, 0));
    }
}
