//! Input of a turn from the command line: the prompt, images, the directory. Everything is checked before Codex is
//! started, so that a mistake costs nothing.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use talaria_core::input::InputPart;

mod image;
mod piped;

pub(crate) use piped::Silence;

use crate::trouble::{Trouble, exit};

/// The longest input that Codex takes, in characters.
const INPUT_LIMIT: usize = 1_048_576;

/// Reads the prompt, from standard input if it is `-`, and the images.
pub(crate) fn read(prompt: &str, images: &[PathBuf]) -> Result<Vec<InputPart>, Trouble> {
    let text = if prompt == "-" { read_prompt()? } else { prompt.to_owned() };
    parts(text, images)
}

/// Reads the input of `exec`: the prompt, with standard input appended if there is some; without a prompt, standard input is
/// the prompt.
pub(crate) fn for_exec(
    prompt: Option<&str>,
    silence: Silence,
    images: &[PathBuf],
) -> Result<Vec<InputPart>, Trouble> {
    let text = match prompt {
        Some("-") => read_prompt()?,
        Some(prompt) => match piped::read(silence)? {
            Some(text) => piped::with_prompt(prompt, &text),
            None => prompt.to_owned(),
        },
        None if piped::is_there() => read_prompt()?,
        None => {
            return Err(Trouble::new(exit::USAGE, "there is no prompt").try_this(
                "say what Codex should do: talaria exec \"explain this repo\"; a pipe is read as the prompt: \
                 git diff | talaria exec, or talaria exec -",
            ));
        }
    };
    parts(text, images)
}

/// Whether standard input has, or may have, input of its own.
pub(crate) fn is_piped() -> bool {
    piped::is_there()
}

/// Checks a prompt and its images.
pub(crate) fn parts(text: String, images: &[PathBuf]) -> Result<Vec<InputPart>, Trouble> {
    if text.trim().is_empty() && images.is_empty() {
        return Err(Trouble::new(exit::USAGE, "the prompt is empty")
            .try_this("say what Codex should do: talaria exec \"explain this repo\""));
    }
    let length = text.chars().count();
    if length > INPUT_LIMIT {
        return Err(too_long(length.to_string()));
    }
    let mut input = Vec::new();
    if !text.trim().is_empty() {
        input.push(InputPart::Text { text });
    }
    for image in images {
        input.push(InputPart::LocalImage { path: image_path(image)? });
    }
    Ok(input)
}

fn too_long(length: String) -> Trouble {
    Trouble::new(exit::USAGE, format!("the prompt is too long: {length} characters"))
        .because(format!("Codex accepts at most {INPUT_LIMIT}"))
        .try_this("put the text into a file and ask Codex to read it")
}

/// Reads standard input, but never more than could be a prompt.
fn read_prompt() -> Result<String, Trouble> {
    let unreadable = |error: io::Error| {
        Trouble::new(exit::USAGE, "cannot read the prompt from standard input").because(error)
    };
    let longest = INPUT_LIMIT * 4;
    let mut bytes = Vec::new();
    io::stdin().lock().take(longest as u64 + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() > longest {
        return Err(too_long(format!("more than {INPUT_LIMIT}")));
    }
    String::from_utf8(bytes).map_err(|error| {
        Trouble::new(exit::USAGE, "the prompt on standard input is not text")
            .because(format!("byte {} is not valid UTF-8", error.utf8_error().valid_up_to() + 1))
            .try_this("save it to a file and ask Codex to read it")
    })
}

/// An image file that can be sent, as an absolute path.
pub(crate) fn image_path(image: &Path) -> Result<String, Trouble> {
    let trouble = |cause: String| {
        Trouble::new(exit::USAGE, format!("cannot use the image {}", image.display())).because(cause)
    };
    let path = image.canonicalize().map_err(|error| trouble(error.to_string()))?;
    if !path.is_file() {
        return Err(trouble("it is not a file".to_owned()));
    }
    image::check(&path).map_err(trouble)?;
    path.into_os_string().into_string().map_err(|_| trouble("its path is not valid UTF-8".to_owned()))
}

/// The directory to work in, as an absolute path.
pub(crate) fn working_directory(cwd: Option<&Path>) -> Result<String, Trouble> {
    let wanted = cwd.map_or_else(|| PathBuf::from("."), Path::to_owned);
    let trouble = |cause: String| {
        let what = format!("cannot work in {}", wanted.display());
        Trouble::new(exit::USAGE, what).because(cause).try_this("name a directory that exists with --cwd")
    };
    let path = wanted.canonicalize().map_err(|error| trouble(error.to_string()))?;
    if !path.is_dir() {
        return Err(trouble("it is not a directory".to_owned()));
    }
    path.into_os_string().into_string().map_err(|_| trouble("its path is not valid UTF-8".to_owned()))
}
