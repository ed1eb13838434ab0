//! Commands that get every name below a directory: from `find` around them, or from one before them by `xargs`.
//!
//! Owns when an expression of `find` chooses among the files, and when it lists them all. Called by the entries of the
//! floor that remove and that change permissions.

use super::Call;
use crate::shell::{At, Word};

/// How deep parentheses of an expression are followed.
const DEPTH: usize = 16;

/// Expressions of `find` that do not choose among the files.
const UNCHOOSY: &[&str] = &[
    "-delete",
    "-depth",
    "-d",
    "-xdev",
    "-mount",
    "-print",
    "-print0",
    "-ls",
    "-true",
    "-a",
    "-and",
    "-noleaf",
    "-ignore_readdir_race",
    "-follow",
    "-daystart",
    "-warn",
    "-nowarn",
    "-readable",
    "-writable",
];

/// Expressions of `find` with one value that do not restrict the selection either.
const UNCHOOSY_VALUES: &[&str] =
    &["-mindepth", "-maxdepth", "-type", "-xtype", "-fstype", "-regextype", "-printf", "-fprint", "-fprint0"];

/// Expressions of `find` that compare names with a pattern.
const NAMES: &[&str] = &[
    "-name",
    "-iname",
    "-path",
    "-ipath",
    "-wholename",
    "-iwholename",
    "-regex",
    "-iregex",
    "-lname",
    "-ilname",
];

/// Is the call given everything below a directory that `is_place` is about?
pub(super) fn is_given_everything(call: &Call<'_>, is_place: fn(&str) -> bool) -> bool {
    let scene = call.scene;
    let commands = &scene.line.commands;
    let named = |index: &usize, names: &[&str]| {
        commands[*index].program().is_some_and(|name| names.contains(&name.as_str()))
    };
    for owner in scene.line.wrappers_of(call.index).take(DEPTH) {
        if named(&owner, &["find", "gfind", "fd", "fdfind"]) && lists_everything(call, owner, is_place) {
            return call.operands().iter().any(|word| !word.is_settled());
        }
        if !named(&owner, &["xargs", "parallel"]) {
            continue;
        }
        let At { pipeline, stage, .. } = commands[owner].at;
        let before = stage.checked_sub(1).and_then(|stage| scene.stage(pipeline, stage));
        return before.is_some_and(|before| lists_everything(call, before, is_place));
    }
    false
}

fn lists_everything(call: &Call<'_>, index: usize, is_place: fn(&str) -> bool) -> bool {
    let scene = call.scene;
    scene.readings(index).iter().any(|words| {
        let Some(name) = super::program(words) else { return false };
        let source = Call { scene, index, name: &name, words };
        match name.as_str() {
            "find" | "gfind" => looks_everywhere(&source, is_place),
            _ => false,
        }
    })
}

/// Does `find` list everything below a directory that `is_place` is about?
pub(super) fn looks_everywhere(call: &Call<'_>, is_place: fn(&str) -> bool) -> bool {
    let is_expression = |word: &&Word| word.start().starts_with(['-', '(', '!']);
    let is_option =
        |word: &&Word| ["-H", "-L", "-P"].iter().any(|o| word.is(o)) || word.start().starts_with("-O");
    let arguments = call.arguments();
    let options = arguments.iter().take_while(is_option).count();
    let places = arguments[options..].iter().position(|word| is_expression(&word));
    let places = places.unwrap_or(arguments.len() - options);
    let is_whole_place = if places == 0 {
        is_place(&call.path(&Word::known(".")))
    } else {
        let places = &arguments[options..options + places];
        places.iter().any(|word| is_place(&call.path(word)))
    };
    is_whole_place && !chooses(&arguments[options + places..], DEPTH)
}

/// Does every alternative of the expression choose among the files?
fn chooses(expression: &[Word], depth: usize) -> bool {
    if depth == 0 {
        return true;
    }
    alternatives(expression).iter().all(|part| part_chooses(part, depth))
}

/// The parts of an expression between `-o` and `,`, parentheses left whole.
fn alternatives(expression: &[Word]) -> Vec<&[Word]> {
    let (mut parts, mut start, mut open) = (Vec::new(), 0, 0_usize);
    let mut in_command = false;
    for (at, word) in expression.iter().enumerate() {
        match word.text().unwrap_or_default() {
            ";" | "+" if in_command => in_command = false,
            _ if in_command => {}
            "(" => open += 1,
            ")" => open = open.saturating_sub(1),
            "-o" | "-or" | "," if open == 0 => {
                parts.push(&expression[start..at]);
                start = at + 1;
            }
            _ => in_command = is_exec(word),
        }
    }
    parts.push(&expression[start..]);
    parts
}

fn part_chooses(part: &[Word], depth: usize) -> bool {
    let mut next = 0;
    let mut is_negated = false;
    while let Some(word) = part.get(next) {
        next += 1;
        let text = word.text().unwrap_or_default();
        let chosen = if is_exec(word) {
            let end = part[next..].iter().position(|word| word.is(";") || word.is("+"));
            next = end.map_or(part.len(), |end| next + end + 1);
            false
        } else if matches!(text, "!" | "-not") {
            is_negated = !is_negated;
            continue;
        } else if text == "(" {
            let end = closing(&part[next..]);
            let chosen = chooses(&part[next..next + end], depth - 1);
            next = (next + end + 1).min(part.len());
            chosen
        } else if NAMES.contains(&text) {
            let pattern = part.get(next);
            next += 1;
            // All but those of one name are still as good as all.
            !is_negated && !pattern.is_some_and(fits_every_name)
        } else if UNCHOOSY_VALUES.contains(&text) {
            next += 1;
            false
        } else {
            !UNCHOOSY.contains(&text)
        };
        is_negated = false;
        if chosen {
            return true;
        }
    }
    false
}

fn closing(words: &[Word]) -> usize {
    let mut open = 0_usize;
    for (at, word) in words.iter().enumerate() {
        match word.text().unwrap_or_default() {
            "(" => open += 1,
            ")" if open == 0 => return at,
            ")" => open -= 1,
            _ => {}
        }
    }
    words.len()
}

/// `*`, `.*`, `?*`, `/*`: every name fits.
fn fits_every_name(pattern: &Word) -> bool {
    let text = pattern.text().unwrap_or_default();
    text.contains('*') && text.chars().all(|c| "*?./^$".contains(c)) && text != "*.*"
}

fn is_exec(word: &Word) -> bool {
    ["-exec", "-execdir", "-ok", "-okdir"].iter().any(|name| word.is(name))
}
