//! Skills as a list for a model: one line each, descriptions whole, as many as the budget allows, and what was left out.
//!
//! The same skills make the same text, so that a prompt cache stays valid.

use std::fmt::Write as _;

/// How many names of skills that do not fit are named.
const NAMED: usize = 20;

/// A skill as it is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexedSkill<'a> {
    /// Its name.
    pub name: &'a str,
    /// Description, in one line.
    pub description: &'a str,
}

/// A list of skills.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillIndex {
    /// One line a skill.
    pub lines: String,
    /// How many it lists.
    pub shown: usize,
    /// The names of those that did not fit.
    pub left_out: Vec<String>,
}

impl SkillIndex {
    /// Lists skills in their order. `budget` counts the characters of the lines; a line is listed whole or not at all.
    pub fn of<'a>(skills: impl IntoIterator<Item = IndexedSkill<'a>>, budget: usize) -> Self {
        let mut index = Self { lines: String::new(), shown: 0, left_out: Vec::new() };
        let mut room = budget;
        for IndexedSkill { name, description } in skills {
            let size = name.chars().count() + description.chars().count() + 5;
            if size > room {
                index.left_out.push(name.to_owned());
                continue;
            }
            room -= size;
            index.shown += 1;
            let _ = writeln!(index.lines, "- {name}: {description}");
        }
        index
    }

    /// Names what was left out, as the end of a sentence; none if nothing was.
    pub fn rest(&self) -> Option<String> {
        let named = self.left_out.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
        let more = match self.left_out.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let all = self.shown + self.left_out.len();
        (!self.left_out.is_empty())
            .then(|| format!("{} of {all} skills are not listed: {named}{more}", self.left_out.len()))
    }

    /// The part of a prompt; none if there are no skills. These are skills that the runtime does not list itself.
    pub fn prompt(&self) -> Option<String> {
        if self.shown + self.left_out.len() == 0 {
            return None;
        }
        let mut text =
            "# Skills\n\nFurther skills that Talaria keeps. Before work that one of them is about, and when \
                        the user writes $ and its name, read it with the tool talaria_skill (op read, with its name).\n\n"
                .to_owned();
        text.push_str(&self.lines);
        if let Some(rest) = self.rest() {
            let _ =
                writeln!(text, "\n{rest}. Find them with talaria_skill (op list, with a part of the name).");
        }
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_index_lists_what_fits_whole_and_names_the_rest() {
        let long = "d".repeat(1024);
        let skill = |name, description| IndexedSkill { name, description };
        let skills = [skill("a", "first"), skill("b", long.as_str()), skill("c", "third")];
        expect![[r#"
            # Skills

            Further skills that Talaria keeps. Before work that one of them is about, and when the user writes $ and its name, read it with the tool talaria_skill (op read, with its name).

            - a: first
            - c: third

            1 of 3 skills are not listed: b. Find them with talaria_skill (op list, with a part of the name).
        "#]]
        .assert_eq(&SkillIndex::of(skills, 100).prompt().unwrap());
        assert!(SkillIndex::of(skills, 2000).lines.contains(&long), "a description is never cut");
        assert_eq!(SkillIndex::of([], 100).prompt(), None);
    }

    proptest! {
        #[test]
        fn no_skill_is_lost_and_the_budget_holds(
            sizes in proptest::collection::vec((1_usize..64, 0_usize..1500), 0..60),
            budget in 0_usize..20_000,
        ) {
            let texts: Vec<(String, String)> =
                sizes.iter().map(|(name, description)| ("n".repeat(*name), "d".repeat(*description))).collect();
            let skills = texts.iter().map(|(name, description)| IndexedSkill { name, description });
            let index = SkillIndex::of(skills, budget);
            prop_assert!(index.lines.chars().count() <= budget);
            prop_assert_eq!(index.shown + index.left_out.len(), texts.len());
            prop_assert_eq!(index.lines.lines().count(), index.shown);
        }
    }
}
