//! Codex's configuration file: plans additions for arbitrary text and removes them again.

use talaria_codex_proto::codex_config::{self, Additions, plan, remove};
use talaria_core::servers::CodexServer;

/// Nothing panics, what is TOML stays TOML, planning twice equals planning once, and the text comes back byte for byte.
pub fn check(text: &str) {
    let additions = Additions {
        servers: vec![(
            "server".to_owned(),
            CodexServer { command: Some("x\n".to_owned()), ..CodexServer::default() },
        )],
        plugins: vec!["plugin@market".to_owned()],
        default_permissions: Some(":workspace".to_owned()),
        undecided: Vec::new(),
    };
    // Text between our markers may be an earlier block, which is not restored.
    let Ok(first) = plan(text, &additions, None) else { return };
    codex_config::check(text, &first.text).expect("TOML stays TOML");
    let second =
        plan(&first.text, &additions, Some(&first.added)).expect("the planned text can be planned again");
    assert_eq!(second.text, first.text);
    let removed = remove(&second.text, &second.added).expect("the planned text can be removed");
    assert!(removed.left.is_empty());
    if !text.contains("# >>> talaria") && !text.contains("# <<< talaria") {
        assert_eq!(removed.text, text);
    }
}
