//! Removing the system or a home directory, by `rm`, by `find`, or by `xargs` from a list of names.
//!
//! Owns which programs remove recursively. A target that is not known is no hit.

use super::Call;
use super::paths::is_vital;
use crate::shell::{At, Extent, Word};

/// Expressions of `find` that do not choose among the files.
const UNCHOOSY: &[&str] = &[
    "-delete",
    "-depth",
    "-d",
    "-xdev",
    "-mount",
    "-print",
    "-print0",
    "-a",
    "-and",
    "-o",
    "-or",
    "-noleaf",
    "-ignore_readdir_race",
];

/// Expressions of `find` with one value that do not choose either: what is left is as good as nothing.
const UNCHOOSY_VALUES: &[&str] = &["-mindepth", "-maxdepth", "-type"];

/// Would the call remove what nobody removes?
pub(super) fn hits(call: &Call<'_>) -> bool {
    match call.name {
        "rm" | "grm" | "srm" | "rimraf" => removes(call),
        "find" | "gfind" => empties(call),
        _ => false,
    }
}

fn removes(call: &Call<'_>) -> bool {
    let is_recursive = call.name == "rimraf" || call.has_option("rR", &["recursive"]);
    // Options that are not known may hold the one that matters.
    let may_be = call.arguments().iter().any(|word| word.extent() == Extent::Many && word.start().is_empty());
    if !is_recursive && !may_be {
        return false;
    }
    let is_fearless = call.arguments().iter().any(|word| word.is("--no-preserve-root"));
    let removes_vital = call.operands().iter().any(|word| is_vital(&call.path(word)));
    is_recursive && (is_fearless || gets_vital_names(call)) || removes_vital
}

/// `echo / | xargs rm -rf`: the names come from the stage before.
fn gets_vital_names(call: &Call<'_>) -> bool {
    let scene = call.scene;
    let commands = &scene.line.commands;
    let is_xargs = |index: &usize| commands[*index].program().as_deref() == Some("xargs");
    let Some(xargs) = scene.line.wrappers_of(call.index).find(is_xargs) else { return false };
    let At { pipeline, stage, .. } = commands[xargs].at;
    let Some(before) = stage.checked_sub(1).and_then(|stage| scene.stage(pipeline, stage)) else {
        return false;
    };
    scene.readings(before).iter().any(|words| {
        let name = super::program(words).unwrap_or_default();
        let source = Call { scene, index: before, name: &name, words };
        match name.as_str() {
            "echo" | "printf" => source.operands().iter().any(|word| is_vital(&source.path(word))),
            "find" => looks_everywhere(&source),
            _ => false,
        }
    })
}

fn empties(call: &Call<'_>) -> bool {
    let deletes = call.arguments().iter().any(|word| word.is("-delete"))
        || call.arguments().windows(2).any(|pair| is_exec(&pair[0]) && is_remover(&pair[1]));
    deletes && looks_everywhere(call)
}

/// Does `find` list everything below a directory that nobody removes?
fn looks_everywhere(call: &Call<'_>) -> bool {
    let is_expression = |word: &&Word| word.start().starts_with(['-', '(', '!']);
    let arguments = call.arguments();
    let options = arguments.iter().take_while(|word| ["-H", "-L", "-P"].iter().any(|o| word.is(o))).count();
    let places = arguments[options..].iter().position(|word| is_expression(&word));
    let places = places.unwrap_or(arguments.len() - options);
    let is_vital_place = if places == 0 {
        is_vital(&call.path(&Word::known(".")))
    } else {
        let places = &arguments[options..options + places];
        places.iter().any(|word| is_vital(&call.path(word)))
    };
    is_vital_place && !chooses(&arguments[options + places..])
}

fn chooses(expression: &[Word]) -> bool {
    let mut words = expression.iter();
    while let Some(word) = words.next() {
        if is_exec(word) {
            let _ = words.find(|word| word.is(";") || word.is("+"));
        } else if UNCHOOSY_VALUES.iter().any(|known| word.is(known)) {
            words.next();
        } else if !UNCHOOSY.iter().any(|known| word.is(known)) {
            return true;
        }
    }
    false
}

fn is_exec(word: &Word) -> bool {
    ["-exec", "-execdir", "-ok", "-okdir"].iter().any(|name| word.is(name))
}

fn is_remover(word: &Word) -> bool {
    let name = word.text().and_then(|text| text.rsplit('/').next()).unwrap_or_default();
    ["rm", "grm", "srm", "shred", "unlink"].contains(&name)
}
