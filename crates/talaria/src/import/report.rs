//! Report of an import from Hermes, done or planned, for people and for programs. Names of secrets, never their values;
//! foreign text is made harmless here.

#[cfg(test)]
mod tests;

use serde::Serialize;
use talaria_core::api::ImportedSessions;
use talaria_home::home::TalariaHome;
use talaria_import::hermes::config::{ImportedSetting, KeptSetting, SkippedSetting, Variable, by_section};
use talaria_import::hermes::{FilesPlan, HermesPlan, HermesSource, SkippedFile};

use super::page::{ImportPage, SHOWN, count, some};

/// Text about a setting without an equivalent here.
const UNKNOWN: [&str; 2] = ["Talaria has no such setting", "a later version will read it"];

/// The whole report.
#[derive(Debug, Default, Serialize)]
pub(super) struct Report {
    /// Hermes's home.
    pub(super) home: String,
    pub(super) dry_run: bool,
    settings: Settings,
    memories: Files,
    skills: Files,
    #[serde(skip_serializing_if = "Option::is_none")]
    sessions: Option<ImportedSessions>,
    /// Why its conversations could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sessions_not_read: Option<Trouble>,
    /// Variables that have to be set where Talaria runs.
    variables: Vec<Variable>,
    secrets: Secrets,
    /// What else Hermes has, and keeps.
    stays: Vec<Stays>,
    /// Talaria's home, for people.
    #[serde(skip)]
    ours: String,
    /// The option by which Hermes's home was named.
    #[serde(skip)]
    pub(super) named: String,
}

#[derive(Debug, Default, Serialize)]
struct Settings {
    taken: Vec<ImportedSetting>,
    already_here: usize,
    kept: Vec<KeptSetting>,
    not_taken: Vec<SkippedSetting>,
    more_not_taken: usize,
}

#[derive(Debug, Default, Serialize)]
struct Files {
    copied: Vec<String>,
    already_here: usize,
    not_copied: Vec<SkippedFile>,
    more_not_copied: usize,
}

/// Names only.
#[derive(Debug, Default, Serialize)]
struct Secrets {
    #[serde(rename = "config.yaml")]
    settings: Vec<String>,
    #[serde(rename = ".env")]
    variables: Vec<String>,
    #[serde(rename = "auth.json", skip_serializing_if = "Option::is_none")]
    logins: Option<Vec<String>>,
}

#[derive(Debug, Serialize)]
struct Stays {
    name: &'static str,
    what: &'static str,
}

/// The imported conversations, and why others could not be read.
#[derive(Debug, Default)]
pub(super) struct ReadSessions {
    pub(super) sessions: ImportedSessions,
    pub(super) not_read: Option<Trouble>,
}

/// Why something could not be read.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Trouble {
    pub(super) cause: String,
    pub(super) hint: Option<String>,
}

impl Report {
    /// What settings and files there are.
    pub(super) fn new(ours: &TalariaHome, source: &HermesSource, planned: HermesPlan) -> Self {
        let plan = planned.config.unwrap_or_default();
        Self {
            home: source.root.display().to_string(),
            settings: Settings {
                taken: plan.taken,
                already_here: plan.same,
                kept: plan.kept,
                not_taken: plan.left,
                more_not_taken: plan.more_left,
            },
            memories: files(planned.memories),
            skills: files(planned.skills),
            variables: plan.variables,
            secrets: Secrets {
                settings: plan.secrets,
                variables: source.variables.clone(),
                logins: source.logins.clone(),
            },
            stays: source.stays.iter().map(|(name, what)| Stays { name, what }).collect(),
            ours: ours.root().display().to_string(),
            ..Self::default()
        }
    }

    /// Result for the conversations: imported ones, and reasons for the rest.
    pub(super) fn add_sessions(&mut self, ReadSessions { sessions, not_read }: ReadSessions) {
        let is_empty = not_read.is_some() && sessions.seen == 0;
        self.sessions = (!is_empty).then_some(sessions);
        self.sessions_not_read = not_read;
    }

    /// Did conversations come?
    pub(super) fn brought_sessions(&self) -> bool {
        // Of a database that broke off in the middle some may have come.
        self.sessions_not_read.is_some()
            || self.sessions.as_ref().is_some_and(|sessions| sessions.new + sessions.grown > 0)
    }

    /// Did anything come, of whatever kind?
    fn brought_anything(&self) -> bool {
        let files = [&self.memories, &self.skills];
        !self.settings.taken.is_empty()
            || files.iter().any(|files| !files.copied.is_empty())
            || self.sessions.as_ref().is_some_and(|sessions| sessions.new + sessions.grown > 0)
    }

    /// The report for people.
    pub(super) fn text(&self) -> String {
        let mut page = ImportPage::default();
        let would = match (self.dry_run, self.brought_anything()) {
            (true, _) => "nothing was changed; this would be imported from",
            (false, true) => "imported from",
            (false, false) => "nothing new to import from",
        };
        page.line(&format!("{would} {}", self.home));
        self.settings(&mut page);
        for (name, files) in [("memories", &self.memories), ("skills", &self.skills)] {
            files_page(&mut page, name, files, &self.ours);
        }
        self.sessions(&mut page);
        self.variables(&mut page);
        self.secrets(&mut page);
        if !self.stays.is_empty() {
            page.head("stays in Hermes");
            for Stays { name, what } in &self.stays {
                page.item(&format!("{name}: {what}"));
            }
        }
        self.next(&mut page);
        page.0
    }

    fn settings(&self, page: &mut ImportPage) {
        let Settings { taken, already_here, kept, not_taken, more_not_taken } = &self.settings;
        if taken.is_empty() && *already_here == 0 && kept.is_empty() && not_taken.is_empty() {
            return;
        }
        page.head("settings");
        for ImportedSetting { key, value, .. } in taken {
            page.item(&format!("{key} = {value}"));
        }
        if *already_here > 0 {
            page.item(&format!("{already_here} already here"));
        }
        for KeptSetting { from, key } in kept {
            let other = if from == key { String::new() } else { format!(" (there: {from})") };
            page.item(&format!("yours is kept: {key}{other}"));
        }
        let is_known = |left: &&SkippedSetting| !UNKNOWN.contains(&left.why.as_str());
        for SkippedSetting { key, why, near } in not_taken.iter().filter(is_known).take(SHOWN) {
            let near = near.as_ref().filter(|near| !key.starts_with(near.as_str()));
            let near = near.map(|near| format!(" [here: {near}]")).unwrap_or_default();
            page.item(&format!("not imported: {key}: {why}{near}"));
        }
        for (why, words) in UNKNOWN.iter().zip(["without a counterpart here", "for a later version"]) {
            let names = not_taken.iter().filter(|left| left.why == *why);
            let counts = by_section(names.clone().map(|left| left.key.as_str()));
            let counts: Vec<String> =
                counts.iter().map(|(name, count)| format!("{name} ({count})")).collect();
            if !counts.is_empty() {
                page.item(&format!("{words}: {}", some(&counts)));
            }
            for SkippedSetting { key, near, .. } in names.take(SHOWN) {
                if let Some(near) = near {
                    page.item(&format!("  nearest to {key} is {near}"));
                }
            }
        }
        if *more_not_taken > 0 {
            page.item(&format!("and {more_not_taken} more are not imported"));
        }
    }

    fn sessions(&self, page: &mut ImportPage) {
        if let Some(Trouble { cause, hint }) = &self.sessions_not_read {
            page.head("conversations");
            let what = if self.sessions.is_some() { "the rest was not imported" } else { "not imported" };
            page.item(&format!("{what}: {cause}"));
            hint.iter().for_each(|hint| page.item(&format!("hint: {hint}")));
        }
        let Some(sessions) = &self.sessions else { return };
        if self.sessions_not_read.is_none() {
            page.head("conversations");
        }
        if sessions.messages > 0 || sessions.known + sessions.empty == 0 {
            page.item(&format!("{} new; {}", sessions.new, count(sessions.messages, "new message")));
        }
        for (count, words) in [
            (sessions.grown, "continued since the last import"),
            (sessions.known, "already here"),
            (sessions.empty, "empty, and not imported"),
        ] {
            if count > 0 {
                page.item(&format!("{count} {words}"));
            }
        }
        if sessions.left_out > 0 {
            let words = "not imported: prompts of Hermes itself, or longer than 16 MiB";
            page.item(&format!("{} {words}", count(sessions.left_out, "message")));
        }
        if let Some(version) = sessions.newer {
            page.item(&format!(
                "this Hermes is newer than this Talaria supports (its database is version {version}); check whether everything is there"
            ));
        }
    }

    fn variables(&self, page: &mut ImportPage) {
        if self.variables.is_empty() {
            return;
        }
        page.head("set these variables where you start Talaria");
        for Variable { name, used_by, found_in } in &self.variables {
            let found =
                found_in.as_ref().map(|place| format!("; Hermes has it in {place}")).unwrap_or_default();
            page.item(&format!("{name}: for {}{found}", used_by.join(", ")));
        }
    }

    fn secrets(&self, page: &mut ImportPage) {
        let Secrets { settings, variables, logins } = &self.secrets;
        if settings.is_empty() && variables.is_empty() && logins.is_none() {
            return;
        }
        page.head("secrets, which stay where they are");
        for (file, names) in [("config.yaml", settings), (".env", variables)] {
            if !names.is_empty() {
                page.item(&format!("{file}: {}", some(names)));
            }
        }
        if let Some(logins) = logins {
            let names = if logins.is_empty() { "logins".to_owned() } else { some(logins) };
            page.item(&format!("auth.json: {names}"));
        }
    }

    fn next(&self, page: &mut ImportPage) {
        page.head("next");
        if !self.memories.copied.is_empty() {
            page.item("memories are used in new conversations");
        }
        if !self.skills.copied.is_empty() {
            page.item("see the skills: talaria skills list");
        }
        if self.dry_run {
            return page.item(&format!("import it: talaria import hermes{}", self.named));
        }
        if self.sessions.is_some() {
            page.item("read the conversations: talaria sessions list, talaria sessions search WORDS");
            page.item("continue one: talaria --resume ID");
        }
        if self.brought_anything() {
            page.item("undo this import: talaria import hermes --undo");
        }
    }
}

fn files(plan: FilesPlan) -> Files {
    Files {
        copied: plan.copies.into_iter().map(|copy| copy.to).collect(),
        already_here: plan.same,
        not_copied: plan.left,
        more_not_copied: plan.more_left,
    }
}

fn files_page(page: &mut ImportPage, name: &str, files: &Files, ours: &str) {
    let Files { copied, already_here, not_copied, more_not_copied } = files;
    if copied.is_empty() && *already_here == 0 && not_copied.is_empty() {
        return;
    }
    page.head(name);
    if !copied.is_empty() {
        page.item(&format!("{} to {ours}/{name}", count(copied.len(), "file")));
    }
    if *already_here > 0 {
        page.item(&format!("{already_here} already here"));
    }
    for SkippedFile { path, why } in not_copied.iter().take(SHOWN) {
        page.item(&format!("not copied: {path}: {why}"));
    }
    let more = not_copied.len().saturating_sub(SHOWN) + more_not_copied;
    if more > 0 {
        page.item(&format!("and {more} more are not copied"));
    }
}
