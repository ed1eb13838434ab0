//! Which tasks have ended since they were looked at before. Pure.

use std::collections::HashMap;

use jiff::Timestamp;
use talaria_core::api::TaskLine;

#[derive(Debug, Default)]
pub(super) struct Ends(Option<Known>);

#[derive(Debug)]
struct Known {
    /// The last end before the first look: what ended by then is old, also if it is seen only later.
    before: Option<Timestamp>,
    /// When the last turn of a task ended.
    ends: HashMap<String, Timestamp>,
}

impl Ends {
    /// Those that have ended since, in the order of their ends. Ends seen by the first poll are old.
    pub(super) fn news(&mut self, tasks: Vec<TaskLine>) -> impl Iterator<Item = TaskLine> {
        let over = |task: TaskLine| {
            let at = task.completed_at.filter(|_| task.status.is_terminal())?;
            Some((at, task))
        };
        let mut over: Vec<(Timestamp, TaskLine)> = tasks.into_iter().filter_map(over).collect();
        over.sort_by_key(|(at, _)| *at);
        let is_first = self.0.is_none();
        let known = self
            .0
            .get_or_insert_with(|| Known { before: over.last().map(|(at, _)| *at), ends: HashMap::new() });
        over.retain(|(at, task)| {
            !is_first
                && known.before.is_none_or(|before| *at > before)
                && known.ends.insert(task.id.clone(), *at) != Some(*at)
        });
        over.into_iter().map(|(_, task)| task)
    }
}

#[cfg(test)]
mod tests {
    use talaria_core::api::TaskStatus;
    use talaria_core::ids::SessionId;
    use talaria_core::principal::Principal;

    use super::*;

    fn task(id: &str, status: TaskStatus, ended: Option<i64>) -> TaskLine {
        let at = |second| Timestamp::from_second(second).unwrap();
        TaskLine {
            id: id.to_owned(),
            session: SessionId::new(id),
            title: String::new(),
            owner: Principal::person("p"),
            status,
            cwd: String::new(),
            open_requests: 0,
            created_at: at(0),
            updated_at: at(0),
            completed_at: ended.map(at),
            waits_for: None,
        }
    }

    fn working(id: &str) -> TaskLine {
        task(id, TaskStatus::Working, None)
    }

    fn done(id: &str, at: i64) -> TaskLine {
        task(id, TaskStatus::Completed, Some(at))
    }

    fn new_ends<const N: usize>(ends: &mut Ends, tasks: [TaskLine; N]) -> Vec<String> {
        ends.news(tasks.into()).map(|task| task.id).collect()
    }

    #[test]
    fn an_end_is_told_once_and_the_next_end_of_the_same_task_again() {
        let mut ends = Ends::default();
        assert!(new_ends(&mut ends, [working("a"), working("b"), done("old", 5)]).is_empty());
        assert_eq!(new_ends(&mut ends, [done("b", 8), done("a", 7), done("old", 5)]), ["a", "b"]);
        assert!(new_ends(&mut ends, [done("b", 8), done("a", 7)]).is_empty());
        assert!(new_ends(&mut ends, [working("a")]).is_empty());
        assert_eq!(new_ends(&mut ends, [task("a", TaskStatus::Failed, Some(9))]), ["a"]);
    }

    #[test]
    fn a_task_that_began_and_ended_between_two_looks_is_told_and_an_old_one_never() {
        let mut ends = Ends::default();
        assert!(new_ends(&mut ends, [done("old", 5)]).is_empty());
        assert_eq!(new_ends(&mut ends, [done("quick", 6), done("older", 3)]), ["quick"]);
        let mut ends = Ends::default();
        assert!(new_ends(&mut ends, []).is_empty());
        assert_eq!(new_ends(&mut ends, [done("first", 1)]), ["first"]);
    }
}
