//! `talaria context` and `/context`: what every part of a conversation's prompt costs. Sizes are exact, tokens of our own parts
//! estimated, and what was not reported is said to be unknown.

use talaria_core::api::{ContextPart, ContextReport};
use talaria_core::runtime::Runtime;
use talaria_render::sheet::Sheet;
use talaria_render::{Look, StyledText};
use talaria_server::client::Client;

use crate::args::Context;
use crate::engine::{self, refused_id};
use crate::look;
use crate::output::{encoded, print};
use crate::progress::with_progress;
use crate::sessions::json_lines;
use crate::settings::Settings;
use crate::trouble::Trouble;

pub(crate) async fn run(options: &Context) -> Result<u8, Trouble> {
    let settings = Settings::load()?.accept()?;
    let client = engine::reach(&settings.home).await?;
    let report = read(&client, &options.id).await?;
    let text = if options.json { json_lines(&[report]) } else { encoded(&page(&report, look::of_stdout())) };
    print(&text)?;
    Ok(0)
}

/// Asks the engine for the account of a conversation.
pub(crate) async fn read(client: &Client, id: &str) -> Result<ContextReport, Trouble> {
    let report = with_progress("asking the engine", client.context(id)).await;
    report.map_err(|error| refused_id("cannot read the context", &error))
}

/// The account as a table.
pub(crate) fn page(report: &ContextReport, look: Look) -> StyledText {
    let mut sheet = Sheet::new(&["part", "bytes", "tokens"], "part").to_be_read();
    for ContextPart { name, bytes, tokens } in &report.parts {
        sheet.row([name.clone(), number(*bytes), about(*tokens)]);
    }
    sheet.row(["Talaria, together".to_owned(), String::new(), about(report.ours)]);
    let is_all_ours = report.runtime == Runtime::OwnLoop.name();
    if !is_all_ours {
        sheet.row(["Codex's own".to_owned(), String::new(), about(report.rest)]);
    }
    sheet.row(["last request, as reported".to_owned(), String::new(), number(report.reported)]);
    let window = match (report.reported, report.window) {
        (Some(reported), Some(window)) if window > 0 => {
            format!("{}% of the window of {window} tokens\n", reported.saturating_mul(100) / window)
        }
        _ => String::new(),
    };
    let note = if is_all_ours {
        "Parts are those of the next request. ~ is estimated at 4 bytes a token; the provider counts with its own tokenizer."
    } else {
        "Codex's own: its instructions and tools, project files and the conversation. ~ is estimated at 4 bytes a token."
    };
    sheet.show(look) + format!("{note}\n{window}")
}

fn number(value: Option<u64>) -> String {
    value.map_or_else(|| "unknown".to_owned(), |value| value.to_string())
}

fn about(tokens: Option<u64>) -> String {
    tokens.map_or_else(|| "unknown".to_owned(), |tokens| format!("~{tokens}"))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use talaria_core::prompt_cost::{account, part};

    use super::*;

    #[test]
    fn an_account_says_what_is_exact_estimated_and_unknown() {
        let look = Look { color: false, width: Some(100), live: false, unicode: true };
        let parts =
            vec![part("persona", Some(41)), part("memory", Some(800)), part("talaria_memory", Some(1201))];
        let whole = account("s".to_owned(), parts, Some(9000), Some(200_000));
        let unknown = account("s".to_owned(), vec![part("tools", None)], None, None);
        expect![[r#"
            PART                       BYTES  TOKENS
            persona                    41     ~11
            memory                     800    ~200
            talaria_memory             1201   ~301
            Talaria, together                 ~512
            Codex's own                       ~8488
            last request, as reported         9000
            Codex's own: its instructions and tools, project files and the conversation. ~ is estimated at 4 bytes a token.
            4% of the window of 200000 tokens

            PART                       BYTES    TOKENS
            tools                      unknown  unknown
            Talaria, together                   unknown
            Codex's own                         unknown
            last request, as reported           unknown
            Codex's own: its instructions and tools, project files and the conversation. ~ is estimated at 4 bytes a token.
        "#]].assert_eq(&format!(
            "{}\n{}",
            page(&whole, look).text(),
            page(&unknown, look).text()
        ));
    }
}
