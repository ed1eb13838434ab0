//! The script of the model in the demo, and the configuration that makes Codex use it.

use std::time::Duration;

use talaria_scripted::{ModelRequest, ModelUsage, Reply};

pub(crate) const PROMPT: &str = "How many words are in greeting.txt? Then make the greeting friendlier.";

/// The initial file.
pub(crate) const GREETING: &str = "Hello.\nThis is a greeting.\n";

/// The next reply of the model. It depends on the results of its calls, so that it claims nothing that did not
/// happen.
pub(crate) fn reply(request: &ModelRequest) -> Reply {
    let outputs = request.tool_outputs();
    let done = |at: usize| outputs.get(at).is_some_and(|output| is_done(output));
    match outputs.len() {
        0 => spoken("I will count the words first. Codex asks before it runs the command.")
            .command("wc -w greeting.txt | tee count.txt")
            .usage(ModelUsage { input: 2_100, cached: 0, output: 48, reasoning: 0 }),
        1 => spoken(if done(0) { "Counted. " } else { "Not counted: the command did not run to its end. " })
            .text("Now I change the greeting.")
            .patch(PATCH)
            .usage(ModelUsage { input: 2_260, cached: 2_048, output: 95, reasoning: 0 }),
        _ => spoken(&conclusion(done(0), done(1))).usage(ModelUsage {
            input: 2_400,
            cached: 2_176,
            output: 61,
            reasoning: 0,
        }),
    }
}

fn conclusion(counted: bool, patched: bool) -> String {
    let count =
        if counted { "the number of words is in `count.txt`" } else { "the words were **not counted**" };
    let greeting = if patched { "the greeting is friendlier now" } else { "the greeting is **as it was**" };
    format!(
        "That is all:\n\n- {count}\n- {greeting}\n\n\
         Everything above went through a real `codex app-server`, which runs commands and applies patches itself.\n"
    )
}

/// How both tested versions of Codex report to a model that a command succeeded, or that a patch was applied.
/// Everything else, a refusal or a broken sandbox, is a failure.
fn is_done(output: &str) -> bool {
    output.contains("Process exited with code 0") || output.contains("Success. Updated")
}

const PATCH: &str = "\
*** Begin Patch
*** Update File: greeting.txt
@@
-Hello.
-This is a greeting.
+Hello, and welcome!
+This is a greeting with a smile.
*** End Patch
";

/// A reply streamed word by word, like a real model's.
fn spoken(text: &str) -> Reply {
    text.split_inclusive(' ')
        .fold(Reply::new(), |reply, word| reply.text(word).pause(Duration::from_millis(18)))
}

/// A Codex that talks to no one but the scripted model.
pub(crate) fn codex_config(base_url: &str) -> String {
    format!(
        r#"model = "gpt-5.5"
model_provider = "scripted"
check_for_update_on_startup = false

[analytics]
enabled = false

[features]
plugins = false

[model_providers.scripted]
name = "scripted"
base_url = "{base_url}"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
"#
    )
}
