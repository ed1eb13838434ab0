//! What a person is told who leaves: how to come back, and whether something goes on. Pure.

use super::driver::Driver;

/// How the conversation is left.
pub(super) fn words(driver: &Driver) -> Option<String> {
    let current = driver.current()?;
    Some(line(current.id.as_str(), driver.is_running()))
}

fn line(id: &str, is_running: bool) -> String {
    let running = if is_running { "the turn goes on; " } else { "" };
    format!("{running}come back with: talaria --resume {id}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_leaves_is_told_how_to_come_back_and_what_goes_on() {
        assert_eq!(line("0199a", false), "come back with: talaria --resume 0199a\n");
        assert_eq!(line("0199a", true), "the turn goes on; come back with: talaria --resume 0199a\n");
    }
}
