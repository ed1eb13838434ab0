//! `talaria token`: makes, lists and revokes the tokens of the API over TCP. A token is printed once, on standard output, and
//! is nowhere else: not in a file, a log or the list.

use std::path::Path;

use jiff::Timestamp;
use talaria_core::api::{NewToken, TokenInfo, TokenState};
use talaria_core::json_line::json_line;
use talaria_render::sheet::Sheet;
use talaria_render::{StyledText, plain_line};
use talaria_server::client::Client;

use crate::amounts::ago;
use crate::args::{CreateToken, Expiry, Token, TokenAction};
use crate::engine::{self, refused};
use crate::look;
use crate::output::{encoded, print};
use crate::sessions::json_lines;
use crate::settings::Settings;
use crate::trouble::{Trouble, complain, exit};

pub(crate) async fn run(options: &Token) -> Result<u8, Trouble> {
    let settings = Settings::load()?.accept()?;
    let client = engine::reach(&settings.home).await?;
    match &options.action {
        TokenAction::Create(new) => create(&client, new, &settings).await?,
        TokenAction::List { json } => {
            let tokens = client.tokens().await.map_err(|error| refused("cannot list the tokens", &error))?;
            let text = if *json { json_lines(&tokens) } else { encoded(&list(&tokens, Timestamp::now())) };
            print(&text)?;
        }
        TokenAction::Revoke { token } => {
            let revoked = client.revoke_token(token).await;
            let revoked = revoked.map_err(|error| refused("cannot revoke the token", &error))?;
            print(&format!("revoked: {} ({}); its streams were ended\n", revoked.name, revoked.id))?;
        }
    }
    Ok(0)
}

async fn create(client: &Client, new: &CreateToken, settings: &Settings) -> Result<(), Trouble> {
    let absolute = |root: &Path| {
        std::path::absolute(root)
            .map(|root| root.to_string_lossy().into_owned())
            .map_err(|error| Trouble::new(exit::USAGE, "cannot use that directory").because(error))
    };
    let roots = new.root.iter().map(|root| absolute(root)).collect::<Result<_, _>>()?;
    let lasts_ms = match new.expires {
        Expiry::Never => None,
        Expiry::After(time) => Some(u64::try_from(time.as_millis()).unwrap_or(u64::MAX)),
    };
    let wanted = NewToken { name: new.name.clone(), scopes: new.scope.clone(), roots, lasts_ms };
    let made = client.create_token(&wanted).await;
    let made = made.map_err(|error| refused("cannot make the token", &error))?;
    print(&if new.json { json_line(&made) } else { format!("{}\n", made.token) })?;
    complain("note: this is the only time that it is shown; it is sent as `Authorization: Bearer TOKEN`\n");
    if settings.config.web.listen.address.is_none() {
        complain(
            "note: the API over TCP is off; `talaria config set web.listen 127.0.0.1:7717` and `talaria stop` open it\n",
        );
    }
    Ok(())
}

fn list(tokens: &[TokenInfo], now: Timestamp) -> StyledText {
    if tokens.is_empty() {
        return "no tokens; make one with: talaria token create --name NAME --scope view\n".into();
    }
    let mut sheet =
        Sheet::new(&["name", "state", "scopes", "directories", "expires", "last used"], "directories")
            .to_be_read();
    for token in tokens {
        let state = match token.state {
            TokenState::Valid => "valid",
            TokenState::Expired => "expired",
            TokenState::Revoked => "revoked",
        };
        let scopes = token.scopes.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        let roots = if token.roots.is_empty() { "everywhere".to_owned() } else { token.roots.join(", ") };
        let expires =
            token.expires_at.map_or("never".to_owned(), |at| at.strftime("%Y-%m-%d %H:%M").to_string());
        let used = match (token.used_at, &token.used_from) {
            (Some(at), Some(from)) => format!("{} from {from}", ago(at, now)),
            _ => "never".to_owned(),
        };
        sheet.row([
            token.name.clone(),
            state.to_owned(),
            scopes,
            plain_line(&roots).into_owned(),
            expires,
            used,
        ]);
    }
    sheet.show(look::of_stdout())
}
