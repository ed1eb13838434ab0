//! Compares the requested options of a thread with the settings that Codex reports.
//!
//! More power than was asked for is refused: nothing may run under a wider sandbox, without questions that were asked
//! for, or in another directory. Less power is reported. What no one asked for is the user's own configuration; it is only
//! recorded. The model and its effort grant no power, so a difference there is a warning. No I/O: paths are compared as
//! text, the way Codex cleans them. Called by the engine's `codex::threads` on every start and resume.

mod in_force;
mod roots;

use std::fmt;

use serde_json::Value;

pub use in_force::{InForce, SandboxInForce};

use crate::wire::call::{ApprovalsReviewer, ThreadStart, ThreadStartReply};
use talaria_core::next_step::NextStep;
use talaria_core::policy::{ApprovalPolicy, Sandbox};

/// The settings in force on a thread, with the differences from the requested ones.
#[derive(Clone, Debug, PartialEq)]
pub struct PowerCheck {
    /// The settings in force, as reported by Codex.
    pub in_force: InForce,
    /// What differs without granting power.
    pub differences: Vec<Difference>,
}

/// Something in force that is not what was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The setting.
    pub setting: Setting,
    /// The requested value.
    pub asked: String,
    /// The value in force.
    pub in_force: String,
    /// What that means.
    pub weight: Weight,
}

/// Severity of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// More may be done than was asked for, or it is not known.
    MorePower,
    /// Less may be done than was asked for.
    LessPower,
    /// It is about something that grants no power.
    NoPower,
}

/// A setting of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// What commands may touch.
    Sandbox,
    /// Whether commands may use the network.
    Network,
    /// Where commands may write besides the working directory.
    WritableRoots,
    /// Whether commands may write in `/tmp` or in `$TMPDIR`.
    TemporaryDirectories,
    /// When Codex asks.
    Approval,
    /// Whom Codex asks.
    Reviewer,
    /// Whether Talaria's own files are hidden from commands.
    OwnFiles,
    /// Where it works.
    Cwd,
    /// The model.
    Model,
    /// The provider's id.
    Provider,
    /// The effort.
    Effort,
}

/// Says that a thread would have more power than was asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Codex would give the conversation more power than was asked for: {}", list(.0))]
pub struct Refusal(pub Vec<Difference>);

impl Refusal {
    /// Next step for the user.
    pub fn next_step(&self) -> NextStep {
        if self.0.iter().all(|difference| difference.setting == Setting::OwnFiles) {
            let hint = "look for permission profiles in Codex's config.toml and in the rules of its administrator; \
                        `talaria config set codex.hide_home never` lets the conversation start with these files readable";
            return hint.into();
        }
        let settings: Vec<String> = self.0.iter().map(|difference| difference.setting.to_string()).collect();
        format!(
            "look for {} in Codex's config.toml and in the rules of its administrator, or ask for what is in force",
            settings.join(", ")
        )
        .into()
    }
}

/// Compares the requested options with the response to `thread/start` or `thread/resume`. `codex_home` is Codex's home:
/// 0.130 always adds one of its directories there to the writable ones. `profile` is the permission profile that was
/// sent instead of the sandbox and hides Talaria's own files; without it in force, commands could read them.
pub fn compare(
    asked: &ThreadStart,
    reply: &ThreadStartReply,
    codex_home: Option<&str>,
    profile: Option<&str>,
) -> Result<PowerCheck, Refusal> {
    let in_force = InForce::of(reply);
    let mut found = Findings(Vec::new());
    if let Some(profile) = profile
        && reply.active_permission_profile.as_deref() != Some(profile)
    {
        let real = match &reply.active_permission_profile {
            Some(other) => format!("the permission profile {other:?}, which may show them"),
            None => "a sandbox that shows them".to_owned(),
        };
        found.add(Setting::OwnFiles, "hidden", real, Weight::MorePower);
    }
    sandbox(&mut found, asked, &in_force, codex_home);
    approval(&mut found, asked, &in_force);
    reviewer(&mut found, asked, &in_force);
    if roots::clean(&asked.cwd) != roots::clean(&in_force.cwd) {
        found.add(Setting::Cwd, &asked.cwd, &in_force.cwd, Weight::MorePower);
    }
    taste(&mut found, asked, &in_force);
    let (refused, differences): (Vec<_>, Vec<_>) =
        found.0.into_iter().partition(|difference| difference.weight == Weight::MorePower);
    if refused.is_empty() { Ok(PowerCheck { in_force, differences }) } else { Err(Refusal(refused)) }
}

/// Whether the sandbox and the approval policy in force are exactly those that are asked for. The rest is not compared.
pub fn is_as_asked(asked: &ThreadStart, in_force: &InForce, codex_home: Option<&str>) -> bool {
    let mut found = Findings(Vec::new());
    sandbox(&mut found, asked, in_force, codex_home);
    approval(&mut found, asked, in_force);
    found.0.is_empty()
}

struct Findings(Vec<Difference>);

impl Findings {
    fn add(
        &mut self,
        setting: Setting,
        asked: impl fmt::Display,
        in_force: impl fmt::Display,
        weight: Weight,
    ) {
        let (asked, in_force) = (asked.to_string(), in_force.to_string());
        self.0.push(Difference { setting, asked, in_force, weight });
    }
}

fn sandbox(found: &mut Findings, asked: &ThreadStart, in_force: &InForce, codex_home: Option<&str>) {
    let text = |name: &str| asked.config_override(name).and_then(Value::as_str);
    let wish = asked.sandbox.or_else(|| text("sandbox_mode")?.parse().ok());
    if wish == Some(Sandbox::DangerFullAccess) {
        if in_force.sandbox != SandboxInForce::FullAccess {
            found.add(Setting::Sandbox, Sandbox::DangerFullAccess, &in_force.sandbox, Weight::LessPower);
        }
        return;
    }
    if let Some(wish) = wish {
        match (rank(wish), in_force.sandbox.rank()) {
            (asked, Some(real)) if asked == real => {}
            (asked, Some(real)) if real < asked => {
                found.add(Setting::Sandbox, wish, &in_force.sandbox, Weight::LessPower);
            }
            _ => return found.add(Setting::Sandbox, wish, &in_force.sandbox, Weight::MorePower),
        }
    }
    network(found, asked, wish, in_force);
    roots::compare(found, asked, in_force, codex_home);
}

fn rank(sandbox: Sandbox) -> u8 {
    match sandbox {
        Sandbox::ReadOnly => 0,
        Sandbox::WorkspaceWrite => 1,
        Sandbox::DangerFullAccess => 2,
    }
}

fn network(found: &mut Findings, asked: &ThreadStart, sandbox: Option<Sandbox>, in_force: &InForce) {
    let wish = match sandbox {
        // It means "no network" too, and the override below is about the other sandbox.
        Some(Sandbox::ReadOnly) => Some(false),
        _ => asked.config_override("sandbox_workspace_write.network_access").and_then(Value::as_bool),
    };
    let word = |open| if open { "open" } else { "closed" };
    match (wish, in_force.sandbox.has_network()) {
        (Some(false), true) => found.add(Setting::Network, word(false), word(true), Weight::MorePower),
        (Some(true), false) => found.add(Setting::Network, word(true), word(false), Weight::LessPower),
        _ => {}
    }
}

fn approval(found: &mut Findings, asked: &ThreadStart, in_force: &InForce) {
    let text = |name: &str| asked.config_override(name).and_then(Value::as_str);
    let wish: Option<ApprovalPolicy> =
        asked.approval_policy.or_else(|| text("approval_policy")?.parse().ok());
    let Some(wish) = wish else { return };
    if in_force.approval == wish.as_str() {
        return;
    }
    let real = in_force.approval.parse().ok().map(trust);
    let weight = match real {
        // With approval policy never, at most some requests are possible.
        _ if wish == ApprovalPolicy::Never => Weight::LessPower,
        Some(real) if real < trust(wish) => Weight::LessPower,
        _ => Weight::MorePower,
    };
    found.add(Setting::Approval, wish, &in_force.approval, weight);
}

/// How much is done without asking. Two that are not the same and rank equal cannot be compared.
fn trust(policy: ApprovalPolicy) -> u8 {
    match policy {
        ApprovalPolicy::Untrusted => 0,
        ApprovalPolicy::OnRequest | ApprovalPolicy::OnFailure => 1,
        ApprovalPolicy::Never => 2,
    }
}

fn reviewer(found: &mut Findings, asked: &ThreadStart, in_force: &InForce) {
    let by_override = asked.config_override("approvals_reviewer").and_then(Value::as_str);
    let by_field = asked.approvals_reviewer.map(|reviewer| match reviewer {
        ApprovalsReviewer::User => USER,
        ApprovalsReviewer::AutoReview => "auto_review",
    });
    let Some(wish) = by_field.or(by_override) else { return };
    let real = in_force.reviewer.as_deref().unwrap_or("not reported");
    if is_model(wish) == is_model(real) && (is_model(wish) || wish == real) {
        return;
    }
    let weight = if real == USER { Weight::LessPower } else { Weight::MorePower };
    found.add(Setting::Reviewer, wish, real, weight);
}

const USER: &str = "user";

/// The two names of the same model that answers in the place of a person; 0.130 answers with the older one.
fn is_model(reviewer: &str) -> bool {
    matches!(reviewer, "auto_review" | "guardian_subagent")
}

fn taste(found: &mut Findings, asked: &ThreadStart, in_force: &InForce) {
    let mut differs = |setting, asked: Option<&str>, real: Option<&str>| {
        let real = real.unwrap_or("not reported");
        if let Some(asked) = asked
            && asked != real
        {
            found.add(setting, asked, real, Weight::NoPower);
        }
    };
    differs(Setting::Model, asked.model.as_deref(), Some(&in_force.model));
    differs(Setting::Provider, asked.model_provider.as_deref(), Some(&in_force.provider));
    differs(Setting::Effort, asked.effort(), in_force.effort.as_deref());
}

fn list(differences: &[Difference]) -> String {
    let lines: Vec<String> = differences.iter().map(Difference::to_string).collect();
    lines.join("; ")
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: asked for {}, in force is {}", self.setting, self.asked, self.in_force)
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sandbox => "the sandbox",
            Self::Network => "network access",
            Self::WritableRoots => "the writable directories",
            Self::TemporaryDirectories => "the temporary directories",
            Self::Approval => "the approval policy",
            Self::Reviewer => "who answers requests",
            Self::OwnFiles => "Talaria's own files",
            Self::Cwd => "the working directory",
            Self::Model => "the model",
            Self::Provider => "the model provider",
            Self::Effort => "the effort",
        })
    }
}

#[cfg(test)]
mod tests;
