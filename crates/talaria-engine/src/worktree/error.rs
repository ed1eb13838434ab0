//! Why a worktree could not be made, read, applied or discarded, and what to do next; one variant per remedy.

use std::io;
use std::path::{Path, PathBuf};

use talaria_core::next_step::NextStep;
use talaria_core::quantity::quantity;

/// How many names are shown of a list.
const SHOWN: usize = 10;

/// Why something with a task's worktree did not work. Nothing of the user's was changed unless the variant says so.
#[derive(Debug, thiserror::Error)]
pub enum WorktreeError {
    /// There is no git.
    #[error("git was not found on PATH")]
    GitMissing,
    /// It lacks what we rely on.
    #[error("git {found} is too old: worktrees need {} or newer", super::git::OLDEST)]
    GitTooOld {
        /// The version found.
        found: String,
    },
    /// The directory belongs to no repository.
    #[error("{} is not in a git repository", .0.display())]
    NotGit(PathBuf),
    /// It is a repository without files to work on, or its git directory.
    #[error("{} is not in a checkout: the repository is bare, or this is its git directory", .0.display())]
    NoCheckout(PathBuf),
    /// There is nothing to start from.
    #[error("the repository {} has no commit yet", .0.display())]
    NoCommits(PathBuf),
    /// There are uncommitted changes, and the request does not say what to do with them.
    #[error("there are uncommitted changes: {}", listed(.0))]
    Dirty(Vec<String>),
    /// A merge was left half-way.
    #[error("files with conflicts cannot be copied: {}", listed(.0))]
    Unmerged(Vec<String>),
    /// The name cannot be part of a branch.
    #[error("{0:?} cannot be the name of a branch and a directory")]
    BadTask(String),
    /// The branch exists already.
    #[error("the branch {0} exists already")]
    BranchExists(String),
    /// A branch has the name that our branches need as their folder.
    #[error("a branch named talaria is in the way: talaria/… cannot be created")]
    BranchInTheWay,
    /// The repository keeps its references in a way that cannot be opened narrowly.
    #[error(
        "the repository keeps its references as {0}, where a task cannot be given its own branches alone"
    )]
    ReferenceFormat(String),
    /// The git directory does not belong to the checkout that names it.
    #[error("{} names a git directory that does not name it back", .0.display())]
    Redirected(PathBuf),
    /// Something is in the place of the worktree.
    #[error("{} exists already", .0.display())]
    PathTaken(PathBuf),
    /// The worktree would be seen as new files of the user's.
    #[error("{} lies in the checkout {} and is not ignored there", into.display(), repository.display())]
    InsideCheckout {
        /// Where worktrees go.
        into: PathBuf,
        /// The user's checkout.
        repository: PathBuf,
    },
    /// A path that is not valid UTF-8.
    #[error("{} is not UTF-8", .0.display())]
    NotText(PathBuf),
    /// git said no.
    #[error("git {command} failed: {detail}")]
    Git {
        /// The git arguments.
        command: String,
        /// Its error output.
        detail: String,
    },
    /// git did not come to an end.
    #[error("git {command} was ended after {seconds} s")]
    TimedOut {
        /// The git arguments.
        command: String,
        /// The time limit.
        seconds: u64,
    },
    /// git said more than we keep.
    #[error("git {command} printed more than {limit} bytes")]
    TooMuch {
        /// The git arguments.
        command: String,
        /// Maximum size of the output, in bytes.
        limit: usize,
    },
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The task replaced something that we created.
    #[error("{what} is not what was made for the task")]
    Tampered {
        /// The replaced part.
        what: String,
    },
    /// The user's checkout is gone.
    #[error("the checkout {} is gone", .0.display())]
    CheckoutGone(PathBuf),
    /// There is nothing to apply.
    #[error("{0} has no changes")]
    NothingToApply(String),
    /// Files of the user's that git does not know are in the way.
    #[error("these files would be overwritten: {}", listed(files))]
    Overwrites {
        /// The files.
        files: Vec<String>,
        /// The branch with the work.
        branch: String,
    },
    /// The user's files are not what the work was based on.
    #[error("the changes do not fit the checkout, and nothing was changed: {detail}")]
    DoesNotApply {
        /// What git said.
        detail: String,
        /// The branch with the work.
        branch: String,
    },
    /// Applying broke off: the user's checkout was changed in part.
    #[error("applying broke off ({detail}); changed so far: {}", listed(touched))]
    HalfApplied {
        /// What git said.
        detail: String,
        /// The files that are not as they were.
        touched: Vec<String>,
        /// The branch with the work.
        branch: String,
    },
    /// There is work that is nowhere else.
    #[error("{branch} has work that is nowhere else: {commits} commits, {}", uncommitted(*files))]
    WouldLose {
        /// The branch.
        branch: String,
        /// How many commits.
        commits: usize,
        /// How many files with uncommitted changes.
        files: usize,
    },
}

impl WorktreeError {
    /// What to do next.
    pub fn next_step(&self) -> NextStep {
        let text = match self {
            Self::GitMissing | Self::GitTooOld { .. } => {
                "install a newer git, or start the task without --worktree"
            }
            Self::NotGit(_) => {
                "start the task without --worktree, or make it a repository: git init, then a first commit"
            }
            Self::NoCheckout(_) => "use a directory of a checkout, or make one: git worktree add DIRECTORY",
            Self::NoCommits(_) => "make a first commit: git commit --allow-empty -m start",
            Self::Dirty(_) => {
                "commit or stash them, leave them out of the task (--worktree=leave), or copy them into its worktree \
                 (--worktree=copy)"
            }
            Self::Unmerged(_) => "finish or abort the merge, or leave the changes out of the task",
            Self::BadTask(_) => "use letters, digits, '-', '_' and single dots",
            Self::BranchExists(_) => "choose another task id, or rename that branch: git branch -m OLD NEW",
            Self::BranchInTheWay => "rename it: git branch -m talaria OTHER",
            Self::ReferenceFormat(_) => {
                "start the task without --worktree, or convert it: git refs migrate --ref-format=files"
            }
            Self::Redirected(_) => "run git worktree repair in it, or use another checkout of the repository",
            Self::PathTaken(_) => "move it away, or choose another task id",
            Self::InsideCheckout { .. } => "set TALARIA_HOME to a directory outside, or add it to .gitignore",
            Self::NotText(_) => "use a path that is UTF-8",
            Self::Git { .. } => "correct what git says, then try again",
            Self::TimedOut { .. } | Self::TooMuch { .. } => {
                "try again when the machine is less busy, or look with git itself"
            }
            Self::Io { .. } => "check the permissions and the space on the disk",
            Self::Tampered { .. } => {
                "do not run git in that worktree; look at the files, then discard the task"
            }
            Self::CheckoutGone(_) => "merge the branch into another checkout of the repository",
            Self::NothingToApply(_) => "look at what the task did, or discard it",
            Self::WouldLose { branch, .. } => {
                return format!("apply it, merge it (git merge {branch}), or discard it with force").into();
            }
            Self::Overwrites { branch, .. } | Self::DoesNotApply { branch, .. } => {
                return format!(
                    "commit or move what is in the way and apply again, or merge what is committed: git merge {branch}"
                )
                .into();
            }
            Self::HalfApplied { branch, .. } => {
                return format!(
                    "the whole work is still in {branch} and its worktree; restore those files and apply again"
                )
                .into();
            }
        };
        text.into()
    }

    pub(super) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { path: path.to_owned(), source }
    }
}

fn uncommitted(files: usize) -> String {
    if files == 0 {
        "nothing uncommitted".to_owned()
    } else {
        format!("{} with uncommitted changes", quantity(files, "file", "files"))
    }
}

fn listed(names: &[String]) -> String {
    let shown = names.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
