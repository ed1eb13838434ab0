//! The page of configuration keys: every key of the tables has a line, with what the reader accepts and when a change counts.
//!
//! After a wanted change: `UPDATE_EXPECT=1 cargo test -p talaria-core reference`.

use std::fmt::Write;

use expect_test::expect_file;

use super::super::{keys, providers, servers};
use super::*;

const OPENING: &str = "\
# Configuration keys

`~/.talaria/config.toml`, or `config.toml` in `$TALARIA_HOME`. Every key is optional. A key without a default here is left to
Codex's own configuration, or has no effect while it is not set. [The guide](../guide/configuration.md) has examples;
`talaria config check` lists every mistake in the file with line and column.

A duration is a text such as `\"90s\"`, `\"15m\"`, `\"1h30m\"` or `\"90d\"`, or a number of seconds. This page is generated; the second column is
what the reader accepts, the last one when a change counts.
";

/// Default and meaning of each key; the order of the page.
const KEYS: &[(&str, &str, &str)] = &[
    (
        "codex.bin",
        "`codex` on `PATH`, else what `talaria setup` installed",
        "The Codex program; a leading `~` is your home",
    ),
    ("codex.home", "`CODEX_HOME`, or `~/.codex`", "Codex's own directory"),
    ("codex.sandbox", "", "What commands may touch"),
    ("codex.approval_policy", "", "When Codex asks; `on-failure` exists in old versions of Codex only"),
    (
        "codex.hide_home",
        "`auto`",
        "Whether Talaria's own files are hidden from the sandbox; [what `always` costs](../guide/approvals-and-rules.md#what-a-sandbox-can-read)",
    ),
    (
        "codex.turn_timeout",
        "no limit",
        "How long a turn may take; the time you take to answer does not count",
    ),
    ("codex.idle_warning", "2 minutes", "After how much silence you are warned"),
    ("codex.max_hosts", "8", "Codex processes at once"),
    ("codex.threads_per_host", "16", "Conversations loaded in each; a finished one makes room"),
    (
        "codex.host_idle",
        "15 minutes",
        "How long a Codex process may be without a conversation before it is ended",
    ),
    ("codex.host_memory_mib", "2048", "A Codex process that uses more is replaced between turns"),
    ("codex.on_loss", "`stop`", "`continue`: after Codex was lost in a turn, it is asked once to continue"),
    ("engine.idle_timeout", "30 minutes", "How long the engine waits without work before it ends"),
    ("sessions.keep_events", "90 days", "How long single events are kept; messages and steps stay"),
    ("sessions.max_events", "200000", "How many events of one conversation are kept"),
    (
        "sessions.write_json_snapshots",
        "`false`",
        "After each turn the conversation is written to `sessions/session_ID.json` of the home, secrets masked",
    ),
    (
        "approvals.mode",
        "",
        "Sandbox, policy and who answers, as one word; [the modes](../guide/approvals-and-rules.md#modes)",
    ),
    ("approvals.allow", "none", "Rules that accept: a command as text, `{ command, outside }` or `{ tool }`"),
    ("approvals.deny", "none", "Rules that decline; the same notation"),
    ("notify.webhook_secret_file", "", "File (mode 600) with the key that signs webhooks"),
    ("notify.webhook_secret_env", "", "The same from a variable of the engine"),
    ("notify.allow_private", "none", "Hosts that may have a private address or no TLS"),
    ("notify.ntfy_server", "`https://ntfy.sh/`", "Server of `ntfy:TOPIC`"),
    ("notify.ntfy_token_file", "", "File (mode 600) with the token for it"),
    ("notify.ntfy_token_env", "", "The same from a variable of the engine"),
    ("notify.email_server", "", "`smtps://`, `smtp+starttls://` or `smtp://`"),
    ("notify.email_from", "", "Sender of mail"),
    ("notify.email_user", "", "User at the mail server"),
    ("notify.email_password_file", "", "File (mode 600) with the password"),
    ("notify.email_password_env", "", "The same from a variable of the engine"),
    ("notify.attempts", "10", "How often a notification is tried"),
    ("bridge.max_tasks", "from cores and memory", "Tasks that work at once; the others are queued"),
    ("bridge.roots", "the directory of the MCP client", "Where models may start tasks"),
    ("bridge.codex_homes", "none", "`CODEX_HOME`s that a model may name"),
    (
        "bridge.answers",
        "none",
        "Kinds of request that a model may answer: `command`, `patch`, `permissions`, `input`, `elicitation`",
    ),
    ("bridge.notify_targets", "none", "Targets that a model may name besides `local`"),
    ("bridge.network", "`false`", "Whether a model may give its tasks the network without asking you"),
    (
        "bridge.writable_roots",
        "none",
        "Directories below which a model may make more of the disk writable for a task without asking you",
    ),
    (
        "bridge.memory",
        "`false`",
        "Whether agents that use `talaria mcp` outside of a conversation of Talaria may change the memory; they always read it",
    ),
    (
        "bridge.callers",
        "none",
        "`[bridge.callers.NAME]`: the same keys, and `all`, for one client by its name",
    ),
    (
        "access.environments",
        "none",
        "Control groups of containers and services whose commands count as yours; `*` matches any characters",
    ),
    (
        "recall.scope",
        "`all`; `own` for tasks that a model started",
        "Which conversations the model may search: `own`, `project` (same repository or directory), `all`",
    ),
    (
        "memory.write_approval",
        "`false`",
        "Whether every change of the memory by a model waits for `talaria memory approve`; what looks like planted instructions always waits",
    ),
    ("memory.snapshot_chars", "`8000`", "How many characters of the memory a conversation starts with"),
    (
        "memory.tasks",
        "`false`",
        "Whether your background tasks may change the memory; those that a model started only read it",
    ),
    (
        "delegation.max_children",
        "`3`",
        "How many tasks that one conversation delegated may be unfinished at once",
    ),
    (
        "delegation.max_depth",
        "`1`",
        "How deep tasks may delegate; `1` lets conversations delegate, and the tasks they started not",
    ),
    (
        "tools.delegate",
        "`true`",
        "Whether new conversations offer the model the tool `talaria_delegate`, which hands work to background tasks",
    ),
    (
        "learning.memory",
        "`apply`",
        "What becomes of what a review of finished turns would remember: `apply` keeps it (undo with `talaria memory undo`), `propose` waits for `talaria memory approve`, `off` does not ask",
    ),
    (
        "learning.skills",
        "`propose`",
        "Whether reviews propose new skills and improvements, which wait for `talaria skills accept`; `off` does not ask",
    ),
    ("learning.turns", "`10`", "After how many of your turns a review asks what to remember"),
    (
        "learning.calls",
        "`10`",
        "After how many calls of tools a review asks about skills, and what to remember",
    ),
    ("auxiliary.background_review", "the model of the conversation", "The model that reviews conversations"),
    (
        "auxiliary.compression",
        "the model of the conversation",
        "The model that summarises a conversation on the built-in loop which is shortened; the conversation's own does it if that one cannot",
    ),
    (
        "compression.enabled",
        "`true`",
        "Whether conversations on the built-in loop are shortened before they outgrow the model's context; `/compact` works in any case",
    ),
    (
        "compression.threshold",
        "what leaves room for an answer",
        "The part of the context at which that happens, if it is earlier",
    ),
    (
        "compression.protect_first_n",
        "`3`",
        "Messages at the beginning that stay as they are; 0 is possible, and the system prompt always stays",
    ),
    ("compression.protect_last_n", "`6`", "Messages at the end that stay as they are"),
    (
        "skills.folders",
        "none",
        "Further folders with skills, such as `~/team/skills`; Talaria lists them to new conversations",
    ),
    (
        "hooks.turn_start",
        "none",
        "A program that is called before each of your turns; [what it reads and answers](../guide/hooks.md)",
    ),
    ("hooks.turn_end", "none", "A program that is called after each turn"),
    (
        "hooks.tool_call",
        "none",
        "A program that allows, denies or asks before a tool of Talaria runs and before you are asked about a command, a patch or a tool; [the order](../guide/hooks.md#tool_call)",
    ),
    (
        "tools.environment",
        "none",
        "Variables that commands of the built-in loop get although their names look like secrets, such as `GH_TOKEN`",
    ),
    (
        "tools.memory",
        "`true`",
        "Whether conversations have the memory: the tool `talaria_memory`, and what they start with",
    ),
    ("tools.recall", "`true`", "Whether new conversations offer the model the tool `talaria_recall`"),
    (
        "tools.skill",
        "`true`",
        "Whether conversations have Talaria's skills: the tool `talaria_skill`, and the list that they start with",
    ),
    ("tools.web", "`true`", "Whether new conversations offer the model the tool `talaria_web`"),
    (
        "web.searxng_url",
        "none",
        "Address of a SearXNG (with its JSON format switched on): new conversations on the built-in loop have the tool \
         `web_search`",
    ),
    (
        "web.allow",
        "none",
        "Hosts that the model may read although their addresses are private: names or addresses, with a port or without",
    ),
    (
        "web.network",
        "`follow`",
        "Where the sandbox of a conversation has no network: `follow` asks you before the model reads a web page, `always` \
         lets it read",
    ),
    ("chat.enter", "`steer`", "What Enter does while a turn runs"),
    ("chat.theme", "`terminal`", "Colours of the chat"),
    ("model.default", "", "The model"),
    ("model.effort", "", "The reasoning effort; the model decides which words exist"),
    ("model.allow_unlisted", "`false`", "Send a model of OpenAI that Codex does not list"),
    ("model.provider", "", "Counts as soon as there is another runtime; Codex has its own setting"),
    (
        "model.openai_runtime",
        "`auto`",
        "Who runs conversations with OpenAI's models: Codex where it is installed (`auto`), Codex, or never Codex (`off`); other providers run on the built-in loop",
    ),
    (
        "model.context_file_max_chars",
        "`32000`",
        "How many characters of the project's `AGENTS.md` and `CLAUDE.md` files a conversation on the built-in loop starts with, the nearest first; of a longer file the beginning and the end are used",
    ),
    (
        "model.fallback",
        "",
        "Models of the built-in loop that are asked when the chosen one fails, in this order, such as `[\"openrouter/anthropic/claude-sonnet-4.5\"]`; for providers without a list of their own",
    ),
    ("model.fallback_on_refusal", "`false`", "Ask them also what a model or its content filter refused"),
];

/// Meaning of each key of `[mcp_servers.NAME]`.
const SERVER_KEYS: &[(&str, &str)] = &[
    ("command", "The program; or `url`"),
    ("args", "Its arguments"),
    ("env", "Its variables; `${NAME}` is taken from your environment when Codex is started"),
    ("cwd", "Where it is started"),
    ("url", "The address of a server that speaks streamable HTTP"),
    ("headers", "Headers for it; `${NAME}` as above"),
    ("transport", "`stdio` or `http`; follows from `command` or `url`, so it can be left out"),
    ("timeout", "Limit of one call: seconds, or a duration"),
    ("connect_timeout", "Limit of its start: the same"),
    ("enabled", "`false` leaves it out"),
    ("supports_parallel_tool_calls", "Whether Codex may call it several times at once"),
    ("tools", "`{ include = […] }` or `{ exclude = […] }`"),
    ("description", "For people; without effect"),
];

/// Meaning of each key of `[providers.NAME]`.
const PROVIDER_KEYS: &[(&str, &str)] = &[
    ("base_url", "The address of the provider, with the version; built-in providers have one"),
    ("api", "How it is spoken to: `responses`, `chat` or `messages`; built-in providers have one"),
    ("key_env", "The environment variable with the key, or a list of variables with one key each"),
    ("key_file", "A file (mode 600) with the key, or a list of files; instead of `key_env`"),
    (
        "key_strategy",
        "Which of several keys a turn begins with: the first that works (`fill_first`), or the one that was used least recently (`round_robin`)",
    ),
    ("max_concurrent", "The most requests at once with one key; further ones wait"),
    (
        "fallback",
        "The models that are asked when one of this provider fails; replaces `model.fallback`, and an empty list means none",
    ),
    ("headers", "Further headers of every request; none that carries a key"),
    ("extra_body", "Members that are added to the body of every request"),
    (
        "idle_timeout",
        "How long the provider may send nothing of an answer before the request counts as cut (5 minutes; for servers on this machine or network an hour without a byte)",
    ),
    (
        "web_search",
        "Whether the provider searches the web itself while the model answers (no); replaces the search with a SearXNG there, and costs what the provider asks for it",
    ),
    ("models", "`[providers.NAME.models.MODEL]`: what is known of a model"),
];

/// Meaning of each key of `[providers.NAME.models.MODEL]`.
const MODEL_KEYS: &[(&str, &str)] = &[
    ("context", "Tokens that fit its context"),
    ("max_output", "The most tokens that it writes; requests ask for as many"),
    ("price", "`{ input, output, cached, cache_write }`, dollars for a million tokens"),
];

/// The values that the reader accepts for a key, from its error message about an invalid one.
fn accepted(key: &str) -> String {
    let (section, name) = key.split_once('.').unwrap();
    let parsed = parse(&format!("[{section}]\n{name} = 1979-05-27\n")).unwrap();
    let message = &parsed.problems.first().unwrap_or_else(|| panic!("{key} accepts a date")).message;
    let wanted = message.strip_prefix("must be ").unwrap_or_else(|| panic!("{key}: {message}"));
    let wanted = wanted.rsplit_once(", not ").map_or(wanted, |(wanted, _)| wanted);
    wanted.split(" such as").next().unwrap_or(wanted).trim_end_matches(',').to_owned()
}

#[test]
fn the_page_of_keys_lists_every_key() {
    let described: Vec<&str> = KEYS.iter().map(|(name, _, _)| *name).collect();
    let missing: Vec<&str> = keys::all().filter(|name| !described.contains(name)).collect();
    assert_eq!(missing, [""; 0], "without a line here");
    assert_eq!(keys::all().count(), KEYS.len(), "a line here for each key, and no other");
    let mut page = OPENING.to_owned();
    let mut before = "";
    for (key, default, meaning) in KEYS {
        let (section, name) = key.split_once('.').unwrap();
        if section != before {
            write!(page, "\n## `[{section}]`\n\n| key | value | default | meaning | a change |\n|---|---|---|---|---|\n").unwrap();
            before = section;
        }
        let effect = Effect::of(&key.parse().unwrap()).words();
        let effect = effect.strip_prefix("takes effect ").unwrap().split(';').next().unwrap();
        writeln!(page, "| `{name}` | {} | {default} | {meaning} | {effect} |", accepted(key)).unwrap();
    }
    let described: Vec<&str> = SERVER_KEYS.iter().map(|(name, _)| *name).collect();
    assert_eq!(described, servers::KEYS, "keys of a server");
    page += "\n## `[mcp_servers.NAME]`\n\n";
    let effect = Effect::of(&"mcp_servers.a.command".parse().unwrap()).words();
    write!(page, "A change {effect}.\n\n| key | meaning |\n|---|---|\n").unwrap();
    for (name, meaning) in SERVER_KEYS {
        writeln!(page, "| `{name}` | {meaning} |").unwrap();
    }
    for (title, keys, read) in [
        ("[providers.NAME]", PROVIDER_KEYS, providers::KEYS),
        ("[providers.NAME.models.MODEL]", MODEL_KEYS, providers::MODEL_KEYS),
    ] {
        let described: Vec<&str> = keys.iter().map(|(name, _)| *name).collect();
        assert_eq!(described, read, "keys of {title}");
        let effect = Effect::of(&"providers.a.api".parse().unwrap()).words();
        write!(page, "\n## `{title}`\n\nA change {effect}.\n\n| key | meaning |\n|---|---|\n").unwrap();
        for (name, meaning) in keys {
            writeln!(page, "| `{name}` | {meaning} |").unwrap();
        }
    }
    page += "\n## Reserved\n\nSections for later versions, accepted and without effect: ";
    let later = keys::sections().filter(|name| matches!(keys::section(name), Some(Section::Later)));
    page += &later.map(|name| format!("`[{name}]`")).collect::<Vec<_>>().join(", ");
    page += ".\n";
    expect_file!["../../../../../docs/reference/configuration.md"].assert_eq(&page);
}
