//! `talaria sessions export`: one conversation as Markdown, JSON lines, a page or a trajectory, page by page, so that a long
//! one does not have to fit into memory.

use std::io::{self, IsTerminal, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use talaria_core::api::{SessionDetail, StoredMessage};
use talaria_core::export::{self, MarkdownWriter, PatchBook, TrajectoryWriter};
use talaria_core::json_line::json_line;
use talaria_core::next_step::NextStep;
use talaria_server::client::Client;
use tempfile::NamedTempFile;

use crate::args::{Export, Format};
use crate::engine::{refused, refused_id};
use crate::progress::with_progress;
use crate::trouble::{Trouble, complain, exit};
use talaria_render::{HtmlWriter, plain, plain_line};

/// How many messages are read at once.
const PAGE: usize = 500;

pub(super) async fn run(client: &Client, options: &Export) -> Result<(), Trouble> {
    if let Some(words) = export(client, options, Existing::IsReplaced).await? {
        complain(&words);
    }
    Ok(())
}

/// Writes a conversation into a new file, and reports it.
pub(crate) async fn to_file(client: &Client, id: &str, path: PathBuf) -> Result<String, Trouble> {
    let options = Export { id: id.to_owned(), format: Format::Markdown, output: Some(path) };
    Ok(export(client, &options, Existing::Stays).await?.unwrap_or_default())
}

/// Writes it; a file is named.
async fn export(client: &Client, options: &Export, existing: Existing) -> Result<Option<String>, Trouble> {
    let detail = match client.session(&options.id).await {
        Ok(detail) => detail,
        Err(error) => {
            return Err(refused_id("cannot export this conversation", &error));
        }
    };
    let mut target = Target::open(options.output.as_deref(), existing)?;
    let mut writer = Writer::new(options.format, &detail);
    target.write(&writer.head(&detail))?;
    let id = detail.info.id.as_str();
    let exporting = async {
        let failed = |error| refused("cannot read the conversation", &error);
        // Messages before the first event are at 0.
        let (mut after, mut events_to) = (-1, -1);
        let mut patches = PatchBook::default();
        loop {
            let page = client.messages(id, after, PAGE).await.map_err(failed)?;
            let Some(last) = page.last().map(|stored| stored.seq) else { return Ok(()) };
            // An engine that returned the same page again would cause an endless loop.
            if last <= after {
                return Ok(());
            }
            after = last;
            // What a patch changed is in the event of its end, which is not later than its message.
            while writer.shows_patches() && events_to < last {
                let events = client.events(id, events_to, PAGE).await.map_err(failed)?;
                match events.last().map(|event| event.seq).filter(|seq| *seq > events_to) {
                    Some(seq) => events_to = seq,
                    None => break,
                }
                events.into_iter().for_each(|event| patches.note(event));
            }
            for stored in page {
                target.write(&writer.message(&stored, &mut patches))?;
            }
        }
    };
    with_progress("exporting", exporting).await?;
    target.write(&writer.foot(&detail))?;
    target.finish().await
}

/// Turns messages into text.
enum Writer {
    Markdown(MarkdownWriter),
    Jsonl,
    Html(HtmlWriter),
    Trajectory(TrajectoryWriter),
}

impl Writer {
    fn new(format: Format, detail: &SessionDetail) -> Self {
        match format {
            Format::Markdown => Self::Markdown(MarkdownWriter::new(detail)),
            Format::Jsonl => Self::Jsonl,
            Format::Html => Self::Html(HtmlWriter::new(detail)),
            Format::Trajectory => Self::Trajectory(TrajectoryWriter::default()),
        }
    }

    fn head(&self, detail: &SessionDetail) -> String {
        match self {
            Self::Markdown(_) => export::head(detail),
            Self::Jsonl => String::new(),
            Self::Html(page) => page.head(detail),
            Self::Trajectory(trajectory) => trajectory.begin(),
        }
    }

    fn shows_patches(&self) -> bool {
        !matches!(self, Self::Jsonl)
    }

    fn message(&mut self, stored: &StoredMessage, patches: &mut PatchBook) -> String {
        match self {
            Self::Markdown(document) => document.message(stored, patches),
            // Chat models read it: the conversation continued without this.
            Self::Jsonl if stored.undone => String::new(),
            Self::Jsonl => json_line(&stored.message),
            Self::Html(page) => page.message(stored, patches),
            Self::Trajectory(trajectory) => trajectory.message(stored, patches),
        }
    }

    fn foot(&mut self, detail: &SessionDetail) -> String {
        match self {
            Self::Markdown(_) | Self::Jsonl => String::new(),
            Self::Html(page) => page.foot().to_owned(),
            Self::Trajectory(trajectory) => trajectory.end(detail),
        }
    }
}

/// The target. A file is written atomically, and private to its owner.
enum Target {
    Stdout { live: bool },
    File { path: PathBuf, file: NamedTempFile, existing: Existing },
}

/// Treatment of an existing file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Existing {
    IsReplaced,
    Stays,
}

impl Target {
    fn open(path: Option<&Path>, existing: Existing) -> Result<Self, Trouble> {
        let Some(path) = path else { return Ok(Self::Stdout { live: io::stdout().is_terminal() }) };
        let directory =
            path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let file = NamedTempFile::new_in(directory).map_err(|error| unwritable(path, &error))?;
        let private = std::fs::Permissions::from_mode(0o600);
        file.as_file().set_permissions(private).map_err(|error| unwritable(path, &error))?;
        Ok(Self::File { path: path.to_owned(), file, existing })
    }

    fn write(&mut self, text: &str) -> Result<(), Trouble> {
        match self {
            // On a terminal nothing may act on it; a pipe or a file gets what was said.
            Self::Stdout { live: true } => crate::output::print(&plain(text)),
            Self::Stdout { live: false } => crate::output::print(text),
            Self::File { path, file, .. } => {
                file.write_all(text.as_bytes()).map_err(|error| unwritable(path, &error))
            }
        }
    }

    async fn finish(self) -> Result<Option<String>, Trouble> {
        let Self::File { path, file, existing } = self else { return Ok(None) };
        let name = path.clone();
        // A slow disk does not block other tasks.
        let kept = tokio::task::spawn_blocking(move || {
            file.as_file().sync_all()?;
            let kept = match existing {
                Existing::IsReplaced => file.persist(name),
                Existing::Stays => file.persist_noclobber(name),
            };
            kept.map(drop).map_err(|error| error.error)
        });
        let kept = kept.await.unwrap_or_else(|error| Err(io::Error::other(error)));
        kept.map_err(|error| unwritable(&path, &error))?;
        Ok(Some(format!("wrote {}\n", plain_line(&path.display().to_string()))))
    }
}

fn unwritable(path: &Path, error: &io::Error) -> Trouble {
    // The words of an error that is wrapped name a file for the meantime, which means nothing to the user.
    let cause = match error.kind() {
        io::ErrorKind::NotFound => "its directory does not exist".to_owned(),
        io::ErrorKind::AlreadyExists => "it already exists".to_owned(),
        kind if error.get_ref().is_some() => kind.to_string(),
        _ => error.to_string(),
    };
    Trouble::new(exit::FAILED, format!("cannot write {}", plain_line(&path.display().to_string())))
        .because(cause)
        .try_this(NextStep::WriteElsewhere)
}

#[cfg(test)]
mod tests {
    use talaria_core::transcript::Message;

    use super::*;

    #[test]
    fn json_lines_have_the_shape_that_chat_models_read() {
        let mut writer = Writer::Jsonl;
        let mut patches = PatchBook::default();
        let said = [Message::user("count"), Message::tool("c", "5 a"), Message::assistant("There are 5.")];
        let stored = |(seq, message)| StoredMessage { seq, turn: 1, undone: false, message };
        let text: String = (1..).zip(said).map(|said| writer.message(&stored(said), &mut patches)).collect();
        let roles: Vec<String> = text
            .lines()
            .map(|line| {
                serde_json::from_str::<serde_json::Value>(line).unwrap()["role"].as_str().unwrap().to_owned()
            })
            .collect();
        assert_eq!(roles, ["user", "tool", "assistant"]);
    }

    #[tokio::test]
    async fn a_file_is_there_whole_or_not_at_all_and_private() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("talk.md");
        let mut target = Target::open(Some(&path), Existing::IsReplaced).unwrap();
        target.write("half").unwrap();
        drop(target);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
        let mut target = Target::open(Some(&path), Existing::IsReplaced).unwrap();
        target.write("whole\u{1b}[1m").unwrap();
        target.finish().await.unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "whole\u{1b}[1m");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let trouble = Target::open(Some(Path::new("/nowhere/talk.md")), Existing::Stays).err().unwrap();
        assert_eq!(trouble.summary(), "cannot write /nowhere/talk.md: its directory does not exist");
    }

    #[tokio::test]
    async fn a_file_that_came_meanwhile_stays_and_its_name_is_harmless() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("talk\u{1b}[2J.md");
        let target = Target::open(Some(&path), Existing::Stays).unwrap();
        std::fs::write(&path, "theirs").unwrap();
        let told = target.finish().await.unwrap_err().summary();
        assert!(told.ends_with("talk␛[2J.md: it already exists"), "{told}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "theirs");
        let target = Target::open(Some(&path), Existing::IsReplaced).unwrap();
        let told = target.finish().await.unwrap().unwrap();
        assert!(told.ends_with("talk␛[2J.md\n"), "{told}");
    }
}
