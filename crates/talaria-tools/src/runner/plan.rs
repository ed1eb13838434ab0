//! The first step: what a call would do, where, and whether a person has to agree. Reads files, changes nothing.

use std::time::Duration;

use serde_json::{Value, json};
use talaria_core::item::FileChange;
use talaria_core::subject::{CommandSubject, CommandUse, Subject};
use talaria_core::tool::ToolEffect;
use talaria_guard::place::Place;
use talaria_guard::shell::CommandText;
use talaria_home::user_file::UserFile;

use super::{EffectRecord, LoopScene, LoopToolRunner, PreparedCall};
use crate::batch::CallTouches;
use crate::call::{CommandWait, InputEnd, MachineCall};
use crate::consent::{CallConsent, consent_to_change, consent_to_command, consent_to_read};
use crate::files::{
    ContentDigest, FileKind, FilePermission, LineRange, PlannedChange, ResolvedPath, SearchMode, SearchWish,
    apply_edit, fit_whole_text, judge_read, judge_write, resolve_path,
};
use crate::keeper::{CommandId, CommandInput, KeptCommandSpec, SpoolLimits};
use crate::sandbox::{SandboxLeave, launch};

/// Why a call does nothing, for the model.
pub type ToolRefusal = String;

/// What a call would do.
#[derive(Clone, Debug)]
pub struct ToolPlan {
    pub(super) action: PlannedAction,
    consent: CallConsent,
    touches: CallTouches,
    asked: PlannedSubject,
}

/// What happens when the plan is performed.
#[derive(Clone, Debug)]
pub(super) enum PlannedAction {
    Run {
        spec: KeptCommandSpec,
        wait: CommandWait,
        environment: Vec<(std::ffi::OsString, std::ffi::OsString)>,
    },
    Poll {
        process: CommandId,
        from: Option<u64>,
        wait: Duration,
    },
    Input {
        process: CommandId,
        text: String,
        end: InputEnd,
    },
    Kill {
        process: CommandId,
    },
    Read {
        path: ResolvedPath,
        range: LineRange,
    },
    Search {
        wish: SearchWish,
        bounds: crate::files::FileBounds,
    },
    View {
        path: ResolvedPath,
    },
    Change {
        planned: PlannedChange,
        after: String,
        shown: FileChange,
    },
}

/// What gate and person are asked about.
#[derive(Clone, Debug)]
enum PlannedSubject {
    Nothing,
    Command {
        line: String,
        cwd: String,
        action: CommandUse<'static>,
        place: Place,
    },
    Patch {
        changes: Vec<FileChange>,
        place: Place,
    },
    /// To read a file that the tools do not read by themselves.
    Reading {
        cwd: String,
        wanted: Value,
    },
}

impl ToolPlan {
    /// Whether a person is needed. The gate is asked about `subject` in any case.
    pub fn consent(&self) -> &CallConsent {
        &self.consent
    }

    /// What gate and person decide about, and where it happens; none for what no one decides about.
    pub fn subject(&self) -> Option<(Subject<'_>, Place)> {
        Some(match &self.asked {
            PlannedSubject::Nothing => return None,
            PlannedSubject::Command { line, cwd, action, place } => {
                let command = CommandSubject {
                    action: *action,
                    line: Some(CommandText::new(line)).filter(|_| !line.trim().is_empty()),
                    cwd: Some(cwd),
                    is_nested: false,
                    wider: None,
                    always: Vec::new(),
                    always_host: None,
                };
                (Subject::Command(command), *place)
            }
            PlannedSubject::Patch { changes, place } => {
                (Subject::Patch { changes: Some(changes), grant_root: None }, *place)
            }
            PlannedSubject::Reading { cwd, wanted } => {
                (Subject::Permissions { cwd: Some(cwd), wanted }, Place::Outside)
            }
        })
    }

    /// What it touches, for `plan_rounds`.
    pub fn touches(&self) -> &CallTouches {
        &self.touches
    }

    /// The change of a file that it would make, for people.
    pub fn change(&self) -> Option<&FileChange> {
        match &self.action {
            PlannedAction::Change { shown, .. } => Some(shown),
            _ => None,
        }
    }

    /// Does it only read? Such a call may run again after a crash.
    pub fn effect(&self) -> ToolEffect {
        match &self.action {
            PlannedAction::Poll { .. }
            | PlannedAction::Read { .. }
            | PlannedAction::Search { .. }
            | PlannedAction::View { .. } => ToolEffect::Reads,
            PlannedAction::Run { .. }
            | PlannedAction::Input { .. }
            | PlannedAction::Kill { .. }
            | PlannedAction::Change { .. } => ToolEffect::Changes,
        }
    }
}

impl LoopToolRunner {
    /// Plans a call. The error is for the model: nothing happened. Blocks while it reads files.
    pub fn plan(&self, call: &MachineCall, scene: &LoopScene) -> Result<ToolPlan, ToolRefusal> {
        match call {
            MachineCall::Run { command, cwd, wait, escalate } => {
                self.plan_run(scene, command, cwd.as_deref(), *wait, escalate.as_deref())
            }
            MachineCall::Poll { process, from, wait } => {
                let action = PlannedAction::Poll { process: process.clone(), from: *from, wait: *wait };
                Ok(free(action, CallTouches::ReadsProcess(process.clone())))
            }
            MachineCall::Input { process, text, end } => {
                let action = PlannedAction::Input { process: process.clone(), text: text.clone(), end: *end };
                let place = self.room.find(process).map_or(Place::Undecidable, |command| command.place());
                // Input for a command can be a command. It runs where that command runs.
                let reason = "it types into a command that runs outside of the sandbox";
                let consent = consent_to_command(scene.policy, place, reason);
                let (line, cwd) = (text.clone(), scene.cwd.display().to_string());
                let asked = PlannedSubject::Command { line, cwd, action: CommandUse::Input, place };
                Ok(ToolPlan { action, consent, touches: CallTouches::ChangesProcess(process.clone()), asked })
            }
            MachineCall::Kill { process } => {
                let action = PlannedAction::Kill { process: process.clone() };
                Ok(free(action, CallTouches::ChangesProcess(process.clone())))
            }
            MachineCall::Read { path, range } => {
                let path = resolve(scene, path)?;
                let action = PlannedAction::Read { path: path.clone(), range: *range };
                Ok(reading(scene, action, &path))
            }
            MachineCall::ViewImage { path } => {
                let path = resolve(scene, path)?;
                Ok(reading(scene, PlannedAction::View { path: path.clone() }, &path))
            }
            MachineCall::Search { pattern, path, glob, mode } => {
                plan_search(scene, pattern, path.as_deref(), glob.clone(), *mode)
            }
            MachineCall::Edit { path, wish, digest } => {
                let path = resolve(scene, path)?;
                let before =
                    read_text(&path)?.ok_or_else(|| format!("there is no file {}", path.named.display()))?;
                check_read(scene, &path, &before, digest.as_deref())?;
                let after = apply_edit(&before, wish)
                    .map_err(|refusal| format!("{}: {refusal}", path.named.display()))?;
                Ok(changing(scene, &path, Some(&before), after))
            }
            MachineCall::Write { path, text, digest } => {
                let path = resolve(scene, path)?;
                let before = read_text(&path)?;
                if let Some(before) = &before {
                    check_read(scene, &path, before, digest.as_deref())?;
                }
                let after = fit_whole_text(before.as_deref(), text);
                if before.as_ref() == Some(&after) {
                    return Err(format!("{} has this content already", path.named.display()));
                }
                Ok(changing(scene, &path, before.as_deref(), after))
            }
        }
    }

    fn plan_run(
        &self,
        scene: &LoopScene,
        line: &str,
        cwd: Option<&str>,
        wait: CommandWait,
        escalate: Option<&str>,
    ) -> Result<ToolPlan, ToolRefusal> {
        let cwd = match cwd {
            None => scene.cwd.clone(),
            Some(text) => match resolve(scene, text)? {
                ResolvedPath { real, kind: FileKind::Directory, .. } => real,
                other => return Err(format!("there is no directory {}", other.named.display())),
            },
        };
        let leave = if escalate.is_some() { SandboxLeave::Leave } else { SandboxLeave::Stay };
        let shell = self.shell.to_str().ok_or("the path of the shell is not UTF-8")?;
        let command = [shell, "-c", line].map(str::to_owned);
        let launch = launch(self.codex.as_ref(), &scene.sandbox, &cwd, leave, &command)
            .ok_or("a path of the sandbox is not UTF-8")?;
        let reason = match escalate {
            Some(reason) => format!("it wants to leave the sandbox: {reason}"),
            None => "there is no sandbox on this machine: Codex is not installed".to_owned(),
        };
        let consent = consent_to_command(scene.policy, launch.place, &reason);
        let cwd = cwd.to_str().ok_or("the working directory is not UTF-8")?.to_owned();
        let input = match wait {
            CommandWait::Background => CommandInput::Open,
            CommandWait::Foreground(_) => CommandInput::Nothing,
        };
        let spec = KeptCommandSpec {
            argv: launch.argv,
            cwd: cwd.clone(),
            input,
            place: launch.place,
            limits: SpoolLimits::default(),
        };
        let action = PlannedAction::Run { spec, wait, environment: scene.environment.clone() };
        let asked = PlannedSubject::Command {
            line: line.to_owned(),
            cwd,
            action: CommandUse::Run,
            place: launch.place,
        };
        Ok(ToolPlan { action, consent, touches: CallTouches::Everything, asked })
    }

    /// Prepares a planned call. `ticket` names the call and is the same if it is prepared again. What it returns is to be
    /// stored before `perform`.
    pub fn prepare(&self, plan: ToolPlan, ticket: &str) -> Result<PreparedCall, ToolRefusal> {
        let record = match &plan.action {
            PlannedAction::Run { spec, .. } => {
                let process = self.room.prepare(spec);
                let process = process.map_err(|error| format!("the command cannot be prepared: {error}"))?;
                EffectRecord::Command { process }
            }
            PlannedAction::Input { process, .. } => {
                let digest = ContentDigest::of(ticket.as_bytes());
                EffectRecord::Input { process: process.clone(), ticket: digest.shown().to_owned() }
            }
            PlannedAction::Kill { process } => EffectRecord::Kill { process: process.clone() },
            PlannedAction::Change { planned, .. } => EffectRecord::Change(planned.clone()),
            PlannedAction::Poll { .. }
            | PlannedAction::Read { .. }
            | PlannedAction::Search { .. }
            | PlannedAction::View { .. } => EffectRecord::Reads,
        };
        Ok(PreparedCall { plan, record })
    }
}

fn free(action: PlannedAction, touches: CallTouches) -> ToolPlan {
    ToolPlan { action, consent: CallConsent::Free, touches, asked: PlannedSubject::Nothing }
}

fn resolve(scene: &LoopScene, text: &str) -> Result<ResolvedPath, ToolRefusal> {
    resolve_path(&scene.cwd, scene.home.as_deref(), text).map_err(|refusal| refusal.to_string())
}

fn reading(scene: &LoopScene, action: PlannedAction, path: &ResolvedPath) -> ToolPlan {
    let permission = judge_read(&scene.files, path);
    let asked = match &permission {
        FilePermission::Ask(_) => PlannedSubject::Reading {
            cwd: scene.cwd.display().to_string(),
            wanted: json!({ "fileSystem": { "read": [path.real.display().to_string()] } }),
        },
        FilePermission::Free | FilePermission::Refuse(_) => PlannedSubject::Nothing,
    };
    let consent = consent_to_read(scene.policy, permission);
    ToolPlan { action, consent, touches: CallTouches::Reads(path.real.clone()), asked }
}

fn plan_search(
    scene: &LoopScene,
    pattern: &str,
    path: Option<&str>,
    glob: Option<String>,
    mode: SearchMode,
) -> Result<ToolPlan, ToolRefusal> {
    let root = resolve(scene, path.unwrap_or("."))?;
    let wish = SearchWish { pattern: pattern.to_owned(), root: root.clone(), glob, mode };
    Ok(reading(scene, PlannedAction::Search { wish, bounds: scene.files.clone() }, &root))
}

fn read_text(path: &ResolvedPath) -> Result<Option<String>, ToolRefusal> {
    match path.kind {
        FileKind::Missing => Ok(None),
        FileKind::Directory => Err(format!("{} is a directory", path.named.display())),
        FileKind::Special(what) => Err(format!("{} is {what}, not a file", path.named.display())),
        FileKind::Regular => UserFile::read(&path.real).map_err(|error| error.to_string()),
    }
}

/// A file is changed only if the model has seen it as it is.
fn check_read(
    scene: &LoopScene,
    path: &ResolvedPath,
    before: &str,
    named: Option<&str>,
) -> Result<(), ToolRefusal> {
    let found = ContentDigest::of(before.as_bytes());
    let shown = path.named.display();
    let is_seen = match (named, scene.read.get(&path.real)) {
        (Some(digits), _) => found.is_meant_by(digits),
        (None, Some(seen)) => seen.agrees(&found),
        (None, None) => return Err(format!("read {shown} before you change it")),
    };
    match is_seen {
        true => Ok(()),
        false => Err(format!("{shown} changed since it was read; read it again")),
    }
}

fn changing(scene: &LoopScene, path: &ResolvedPath, before: Option<&str>, after: String) -> ToolPlan {
    let permission = judge_write(&scene.files, path);
    let place = match &permission {
        FilePermission::Free => Place::Inside,
        FilePermission::Ask(_) | FilePermission::Refuse(_) => Place::Outside,
    };
    let planned = PlannedChange::new(path, before, &after);
    let shown = crate::files::describe_change(&path.real, before, &after);
    let asked = PlannedSubject::Patch { changes: vec![shown.clone()], place };
    let consent = consent_to_change(scene.policy, permission);
    let touches = CallTouches::Writes(path.real.clone());
    ToolPlan { action: PlannedAction::Change { planned, after, shown }, consent, touches, asked }
}
