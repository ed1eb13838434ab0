//! Plans additions for arbitrary text and takes them out again: nothing panics, what is TOML stays TOML, planning twice is
//! planning once, and the text comes back byte for byte.
#![no_main]

use libfuzzer_sys::fuzz_target;
use talaria_codex_proto::codex_config::{Additions, check, plan, remove};
use talaria_core::servers::CodexServer;

fuzz_target!(|text: &str| {
    let additions = Additions {
        servers: vec![(
            "server".to_owned(),
            CodexServer { command: Some("x\n".to_owned()), ..CodexServer::default() },
        )],
        plugins: vec!["plugin@market".to_owned()],
        default_permissions: Some(":workspace".to_owned()),
        undecided: Vec::new(),
    };
    // What stands in markers already may be an earlier block, and then does not come back.
    let Ok(first) = plan(text, &additions, None) else { return };
    check(text, &first.text).expect("TOML stays TOML");
    let second =
        plan(&first.text, &additions, Some(&first.added)).expect("what was planned can be planned for");
    assert_eq!(second.text, first.text);
    let removed = remove(&second.text, &second.added).expect("what was planned can be taken out");
    assert!(removed.left.is_empty());
    if !text.contains("# >>> talaria") && !text.contains("# <<< talaria") {
        assert_eq!(removed.text, text);
    }
});
