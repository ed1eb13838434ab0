//! Whether a planned call may happen: floor and rules first, then the user's hook, then a person where the approval policy says
//! so.

use serde_json::Value;
use talaria_agent::history::CallDisposition;
use talaria_core::gate::Ruling;
use talaria_core::hook::{HookRuling, HookedCall};
use talaria_core::policy::Sandbox;
use talaria_core::request::{
    Answer, Ask, Decision, FileAccess, PathAccess, PermissionPlace, Permissions, Who,
};
use talaria_core::subject::{CommandUse, FormSubject, Subject};
use talaria_core::tool::ToolInvocation;
use talaria_guard::place::Place;
use talaria_mcp::{OfferedServerTool, ToolAccess};
use talaria_tools::consent::CallConsent;
use talaria_tools::runner::ToolPlan;

use super::{CallEnd, CallScene, Decided};

/// What follows for a call.
pub(super) enum Judged {
    Run,
    Refuse(CallEnd),
}

impl CallScene {
    pub(super) async fn judge(&self, call: &ToolInvocation, plan: &ToolPlan) -> Judged {
        let reason = match plan.consent() {
            CallConsent::Refuse(why) => return refuse(why.clone()),
            CallConsent::Ask(why) => Some(why.clone()),
            CallConsent::Free => None,
        };
        let (ask, place, ruling) = match plan.subject() {
            Some((subject, place)) => {
                let ruling = self.gate.rule(&subject, Some(place));
                (self.ask_about(call, &subject, reason.clone()), Some(place), ruling)
            }
            None => {
                let ruling = Ruling::Ask { why: None, is_only_for_people: false };
                (self.ask_about_tool(call, reason.clone()), None, ruling)
            }
        };
        self.decide(call, reason, ask, place, ruling).await
    }

    /// A call that reads and has its own permission: only the hook may have a say.
    pub(super) async fn judge_read(&self, call: &ToolInvocation) -> Judged {
        let ask = self.ask_about_tool(call, None);
        let ruling = Ruling::Ask { why: None, is_only_for_people: false };
        self.decide(call, None, ask, None, ruling).await
    }

    /// A server is no part of the sandbox: a call that may change something is put to a person, unless a rule allows it.
    pub(super) async fn judge_server(&self, call: &ToolInvocation, tool: &OfferedServerTool) -> Judged {
        let form = FormSubject {
            server: &tool.server,
            mode: None,
            message: "",
            schema: &Value::Null,
            url: None,
            meta: None,
        };
        let subject = Subject::Tool { tool: Some(&tool.tool), form };
        let ruling = self.gate.rule(&subject, Some(Place::Outside));
        let is_free = tool.access == ToolAccess::Reads
            || (self.scene.sandbox.mode == Sandbox::DangerFullAccess && !self.confinement.asks);
        let reason = (!is_free).then(|| "the server does not say that the tool only reads".to_owned());
        if reason.is_some() && !self.confinement.asks && matches!(ruling, Ruling::Ask { .. }) {
            return refuse(format!(
                "{} may change something and no one is asked in this conversation (approval policy never); the user can \
                 allow it with a rule (approvals.allow)",
                call.tool
            ));
        }
        let ask = Ask::Tool {
            thread: Some(self.thread.clone()),
            server: tool.server.clone(),
            message: format!("Allow the {} MCP server to run tool \"{}\"?", tool.server, tool.tool),
            description: Some(tool.description.clone()).filter(|text| !text.is_empty()),
            arguments: Some(call.arguments.to_string()),
            persist: Vec::new(),
            item: Some(call.item.clone()),
        };
        self.decide(call, reason, ask, Some(Place::Outside), ruling).await
    }

    /// Floor and rules have spoken; the hook and a person follow.
    async fn decide(
        &self,
        call: &ToolInvocation,
        reason: Option<String>,
        ask: Ask,
        place: Option<Place>,
        ruling: Ruling,
    ) -> Judged {
        let is_only_for_people = matches!(ruling, Ruling::Ask { is_only_for_people: true, .. });
        match ruling {
            Ruling::Decline { by, why } => return self.decline(call, ask, place, by, why).await,
            Ruling::Accept { by, why } if reason.is_some() => {
                let decided = Some((Decision::Accept.into(), by, why));
                return self.decided(self.request(&call.item, ask, place, decided).await);
            }
            Ruling::Accept { .. } | Ruling::Ask { .. } => {}
        }
        let mut reason = reason;
        if let Some(hook) = &self.options.hook {
            let hooked = HookedCall::new(&call.tool, &call.arguments);
            let is_cut = hooked.is_cut;
            match hook.ask(hooked).await.rule(is_cut, is_only_for_people) {
                HookRuling::Accept { .. } if reason.is_none() => return Judged::Run,
                HookRuling::Accept { why } => {
                    let decided = Some((Decision::Accept.into(), Who::Hook, why));
                    return self.decided(self.request(&call.item, ask, place, decided).await);
                }
                HookRuling::Decline { why } => return self.decline(call, ask, place, Who::Hook, why).await,
                HookRuling::Ask { why } if !self.confinement.asks => {
                    let why = why.unwrap_or_else(|| "hooks.tool_call leaves this to a person".to_owned());
                    return refuse(format!("{why}, and no one is asked in this conversation"));
                }
                HookRuling::Ask { why } => {
                    reason = reason.or(why).or(Some("hooks.tool_call leaves this to you".to_owned()));
                }
                HookRuling::Undecided => {}
            }
        }
        match reason {
            None => Judged::Run,
            Some(_) => {
                let granted = self.is_granted(&call.item, &ask, place).await.then(|| {
                    let why = "you accepted the same earlier, for this conversation".to_owned();
                    (Decision::Accept.into(), Who::User, why)
                });
                self.decided(self.request(&call.item, ask, place, granted).await)
            }
        }
    }

    fn decided(&self, decided: Option<Decided>) -> Judged {
        let Some(Decided { answer, by }) = decided else {
            return Judged::Refuse(CallEnd::text(
                CallDisposition::NotStarted,
                CallDisposition::NotStarted.words(),
            ));
        };
        if answer.decision.is_yes() {
            return Judged::Run;
        }
        let who =
            if by == Who::User { "The user declined this".to_owned() } else { format!("Declined by {by}") };
        match answer.given_reason() {
            Some(reason) => refuse(format!("{who}: {reason}")),
            None => refuse(format!("{who}. Nothing was done.")),
        }
    }

    /// Reports that floor, rule or hook declined, and why: the model would try the same thing in other words else.
    async fn decline(
        &self,
        call: &ToolInvocation,
        ask: Ask,
        place: Option<Place>,
        by: Who,
        why: String,
    ) -> Judged {
        let answer = Answer::decline_because(why.clone());
        self.request(&call.item, ask, place, Some((answer, by, why.clone()))).await;
        refuse(format!("Declined by {by}: {why}"))
    }

    fn ask_about(&self, call: &ToolInvocation, subject: &Subject<'_>, reason: Option<String>) -> Ask {
        let (thread, item) = (self.thread.clone(), call.item.clone());
        match subject {
            Subject::Command(command) if matches!(command.action, CommandUse::Input) => Ask::Stdin {
                thread,
                item,
                approval: None,
                command: command.line.as_ref().map(|line| line.text().to_owned()).unwrap_or_default(),
                cwd: command.cwd.map(str::to_owned),
                reason,
                can_last: false,
            },
            Subject::Command(command) => Ask::Command {
                thread,
                item,
                approval: None,
                command: command.line.as_ref().map(|line| line.text().to_owned()).unwrap_or_default(),
                actions: Vec::new(),
                cwd: command.cwd.map(str::to_owned),
                reason,
                permissions: None,
                always: None,
                asked_because: None,
            },
            Subject::Patch { changes, .. } => {
                Ask::Patch { thread, item, changes: changes.map(<[_]>::to_vec), reason, grant_root: None }
            }
            Subject::Permissions { cwd, wanted } => {
                let paths = wanted["fileSystem"]["read"].as_array().cloned().unwrap_or_default();
                let paths = paths.iter().filter_map(|path| path.as_str());
                let files = paths.map(readable).collect();
                let permissions = Permissions { network: false, files, unknown: Vec::new() };
                Ask::Permissions { thread, item, cwd: cwd.map(str::to_owned), reason, permissions }
            }
            _ => self.ask_about_tool(call, reason),
        }
    }

    fn ask_about_tool(&self, call: &ToolInvocation, reason: Option<String>) -> Ask {
        Ask::OwnTool {
            thread: self.thread.clone(),
            item: call.item.clone(),
            tool: call.tool.clone(),
            arguments: call.arguments.to_string(),
            reason: reason.unwrap_or_else(|| "hooks.tool_call leaves this to you".to_owned()),
        }
    }
}

fn readable(path: &str) -> PathAccess {
    PathAccess { access: FileAccess::Read, place: PermissionPlace::Path(path.to_owned()) }
}

fn refuse(why: String) -> Judged {
    Judged::Refuse(CallEnd::text(CallDisposition::Refused, why))
}
