//! A number with its noun, in the form that fits: "1 entry", "2 entries".

/// Writes a count with its noun.
pub fn quantity(count: usize, one: &str, many: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {many}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_singular_and_everything_else_plural() {
        let entries = |count| quantity(count, "entry", "entries");
        assert_eq!([entries(0), entries(1), entries(2)], ["0 entries", "1 entry", "2 entries"]);
    }
}
