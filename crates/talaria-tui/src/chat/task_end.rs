//! The end of a task in the background, in words.

use talaria_core::api::TaskLine;

use talaria_render::plain_line;

/// How a task ended, and in a second line where to read more.
pub fn task_end_text(task: &TaskLine) -> String {
    let (id, title) = (plain_line(&task.id), plain_line(task.title.trim()));
    let about = if title.is_empty() { String::new() } else { format!(" ({title})") };
    format!("task {id} {}{about}\nsee /task show {id}", task.status.word())
}
