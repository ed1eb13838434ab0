//! The numbered contract of a thread: which tools a thread was started with, and what is said of one that has fewer.
//!
//! A runtime fixes the tools of a thread when the thread starts, so a thread keeps its contract permanently. A conversation
//! is never moved to another thread because of tools; the person is notified once that it lacks some.

/// The contract of a thread without tools.
pub const NO_TOOLS: i64 = 0;
/// The contract of new threads that are offered tools.
pub const CURRENT: i64 = 1;

/// The contract of a thread that is started with these tools.
pub fn of_new_thread(tools: &[&str]) -> i64 {
    if tools.is_empty() { NO_TOOLS } else { CURRENT }
}

/// Whether a thread has the tools of the current contract.
pub fn is_current(kept: Option<i64>) -> bool {
    matches!(kept, Some(CURRENT..))
}

/// Notice, shown once, in a conversation whose thread may lack tools. `kept` is its contract, `None` if none was
/// recorded; `offered` are the tools of a thread that starts now. A conversation lacks nothing where no tool is switched
/// on.
pub fn lack_notice(kept: Option<i64>, offered: &[&str]) -> Option<String> {
    let why = match kept {
        kept if is_current(kept) => return None,
        Some(_) => "This conversation was started without",
        None => "An earlier version of Talaria started this conversation, so it may lack",
    };
    let names = offered.join(", ");
    (!offered.is_empty()).then(|| {
        format!(
            "{why} tools that new conversations have ({names}). It continues to work as it is; start a new conversation \
             to use them."
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_says_what_it_lacks_and_only_what_is_known() {
        assert_eq!(lack_notice(Some(CURRENT), &["talaria_x"]), None);
        assert_eq!(lack_notice(Some(CURRENT + 1), &["talaria_x"]), None);
        assert_eq!(lack_notice(None, &[]), None);
        assert_eq!(lack_notice(Some(NO_TOOLS), &[]), None);
        let known = lack_notice(Some(NO_TOOLS), &["talaria_x", "talaria_y"]).unwrap();
        assert!(known.starts_with("This conversation was started without tools"), "{known}");
        assert!(known.contains("(talaria_x, talaria_y)"), "{known}");
        let in_doubt = lack_notice(None, &["talaria_x"]).unwrap();
        assert!(in_doubt.contains("may lack"), "it is not known whether it has them: {in_doubt}");
        assert_eq!((of_new_thread(&[]), of_new_thread(&["talaria_x"])), (NO_TOOLS, CURRENT));
    }
}
