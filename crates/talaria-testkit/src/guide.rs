//! The README and the guide as data: their code blocks, and the commands in those, so that tests can run them.
//!
//! Reads Markdown and shell only as far as these pages use them. Used by the tests of `talaria` that parse every command and
//! run those that can run.

use std::fs;
use std::path::Path;

/// A page that people read.
#[derive(Clone, Debug)]
pub struct Page {
    /// Its path from the root of the repository.
    pub name: String,
    text: String,
}

/// A code block.
#[derive(Clone, Debug)]
pub struct Block {
    /// The page and the line of its first line, for messages.
    pub place: String,
    /// Its content.
    pub text: String,
}

/// The README and every page of the guide.
pub fn pages() -> Vec<Page> {
    let root =
        Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap_or_else(|| panic!("no repository"));
    let guide = root.join("docs/guide");
    let entries = fs::read_dir(&guide).unwrap_or_else(|error| panic!("{}: {error}", guide.display()));
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.ends_with(".md"))
        .map(|name| format!("docs/guide/{name}"))
        .collect();
    names.push("README.md".to_owned());
    names.sort();
    let read = |name: String| {
        let text = fs::read_to_string(root.join(&name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        Page { name, text }
    };
    names.into_iter().map(read).collect()
}

impl Page {
    /// The blocks of one language, in order.
    pub fn blocks(&self, language: &str) -> Vec<Block> {
        let mut found = Vec::new();
        let mut lines = self.text.lines().enumerate();
        while let Some((number, line)) = lines.next() {
            let Some(opened) = line.strip_prefix("```") else { continue };
            let inside: Vec<&str> =
                lines.by_ref().map(|(_, line)| line).take_while(|line| *line != "```").collect();
            if opened == language {
                let place = format!("{}:{}", self.name, number + 2);
                found.push(Block { place, text: inside.join("\n") + "\n" });
            }
        }
        found
    }

    /// The command lines of its `sh` blocks, in order: continued lines are joined, comments are gone.
    pub fn command_lines(&self) -> Vec<String> {
        let blocks = self.blocks("sh");
        let joined = blocks.iter().map(|block| block.text.replace("\\\n", ""));
        let lines: Vec<String> =
            joined.flat_map(|text| text.lines().map(without_comment).collect::<Vec<_>>()).collect();
        lines.into_iter().filter(|line| !line.is_empty()).collect()
    }
}

fn without_comment(line: &str) -> String {
    let mut quote = None;
    let mut before = ' ';
    for (at, letter) in line.char_indices() {
        match (quote, letter) {
            (None, '#') if before == ' ' => return line[..at].trim().to_owned(),
            (None, '\'' | '"') => quote = Some(letter),
            (Some(open), letter) if open == letter => quote = None,
            _ => {}
        }
        before = letter;
    }
    line.trim().to_owned()
}

/// The simple commands of a line as words: those of a pipe, of a list and inside `$(…)`. Redirections and assignments are left out.
pub fn simple_commands(line: &str) -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut is_target = false;
    let mut letters = line.chars().peekable();
    let finish = |word: &mut Option<String>, is_target: &mut bool, commands: &mut Vec<Vec<String>>| {
        let Some(word) = word.take() else { return };
        let is_assignment = word.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
        });
        if let Some(command) = commands.last_mut()
            && !std::mem::take(is_target)
            && !(is_assignment && command.is_empty())
        {
            command.push(word);
        }
    };
    while let Some(letter) = letters.next() {
        match letter {
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                word.extend(letters.by_ref().take_while(|inside| *inside != letter));
            }
            '$' if letters.peek() == Some(&'(') => {
                letters.next();
                finish(&mut word, &mut is_target, &mut commands);
                commands.push(Vec::new());
            }
            '|' | '&' | ';' | ')' => {
                finish(&mut word, &mut is_target, &mut commands);
                commands.push(Vec::new());
            }
            '<' | '>' => {
                finish(&mut word, &mut is_target, &mut commands);
                is_target = true;
            }
            letter if letter.is_whitespace() => finish(&mut word, &mut is_target, &mut commands),
            letter => word.get_or_insert_default().push(letter),
        }
    }
    finish(&mut word, &mut is_target, &mut commands);
    commands.retain(|command| !command.is_empty());
    commands
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commands_of_a_line_are_found_wherever_they_are() {
        let words =
            |line: &str| simple_commands(line).iter().map(|words| words.join("|")).collect::<Vec<_>>();
        assert_eq!(
            words("git diff | talaria exec \"review this\""),
            ["git|diff", "talaria|exec|review this"]
        );
        assert_eq!(words("x=$(talaria exec 'a; b')"), ["talaria|exec|a; b"]);
        assert_eq!(words("A=1 talaria exec - < prompt.txt > out"), ["talaria|exec|-"]);
        assert_eq!(
            words("talaria config set model.default gpt-5.5 && talaria"),
            ["talaria|config|set|model.default|gpt-5.5", "talaria"]
        );
    }

    #[test]
    fn the_commands_of_a_page_are_its_sh_blocks_without_comments() {
        let text =
            "# A\n```sh\ntalaria exec \"a # b\"   # c\n# d\ntalaria \\\n  --last\n```\n```toml\nx = 1\n```\n";
        let page = Page { name: "A".to_owned(), text: text.to_owned() };
        assert_eq!(page.command_lines(), ["talaria exec \"a # b\"", "talaria   --last"]);
        assert_eq!(page.blocks("toml")[0].place, "A:9");
    }
}
