//! Lines that were added right below the end marker, for TOML a part of our last table.

use expect_test::expect;

use super::*;

fn freed(planned: &[Freed]) -> Vec<String> {
    planned.iter().map(|freed| format!("{} from {}", freed.key, freed.from)).collect()
}

#[test]
fn a_key_below_the_block_is_the_users_and_the_entry_above_it_is_still_ours() {
    let first = planned("model = \"m\"\n", &servers(&[("s", "x"), ("t", "y")]), None);
    let text = format!("{}effort = \"high\" # mine\n", first.text);
    let removed = remove(&text, &first.added).unwrap();
    assert_eq!((removed.text.as_str(), removed.left), ("model = \"m\"\neffort = \"high\" # mine\n", vec![]));
    assert_eq!(freed(&removed.freed), ["effort from mcp_servers.t"]);
    for before in [Some(&first.added), None] {
        let second = planned(&text, &servers(&[("s", "x"), ("t", "y")]), before);
        expect![[r#"
            model = "m"
            effort = "high" # mine
            # >>> talaria: written by `talaria migrate`; `talaria migrate --undo` takes it out again
            [mcp_servers.s]
            command = "x"

            [mcp_servers.t]
            command = "y"
            # <<< talaria 9fb4dccd
        "#]]
        .assert_eq(&second.text);
        assert_eq!((second.kept, second.added), (vec![], first.added.clone()));
        assert_eq!(freed(&second.freed), ["effort from mcp_servers.t"]);
    }
    assert_eq!(written_in(&text).unwrap(), first.added, "the seal is about what stands between the lines");
}

#[test]
fn a_key_below_that_is_meant_for_the_entry_makes_it_the_users() {
    let first = planned("", &servers(&[("s", "x")]), None);
    for key in ["enabled = false", "env.A = '1'", "\"startup_timeout_sec\" = 5"] {
        let text = format!("{}{key}\n", first.text);
        let removed = remove(&text, &first.added).unwrap();
        assert_eq!(removed.left, [changed(EntryPlace::Server("s".to_owned()))], "{key}");
        assert_eq!(
            (removed.text, removed.freed),
            (format!("[mcp_servers.s]\ncommand = \"x\"\n{key}\n"), vec![])
        );
    }
}

#[test]
fn a_key_below_that_stands_above_already_stays_where_it_is() {
    let first = planned("model = \"m\"\n", &servers(&[("s", "x")]), None);
    let text = format!("{}model = \"n\"\n", first.text);
    let removed = remove(&text, &first.added).unwrap();
    assert_eq!((removed.left, removed.freed), (vec![changed(EntryPlace::Server("s".to_owned()))], vec![]));
    check("", &removed.text).unwrap();
    assert!(removed.text.ends_with("[mcp_servers.s]\ncommand = \"x\"\nmodel = \"n\"\n"));
}

#[test]
fn an_entry_that_was_changed_besides_keeps_the_key_below() {
    let first = planned("", &servers(&[("s", "x")]), None);
    let text = format!("{}effort = \"high\"\n", first.text.replace("\"x\"", "\"mine\""));
    let removed = remove(&text, &first.added).unwrap();
    assert_eq!((removed.left, removed.freed), (vec![changed(EntryPlace::Server("s".to_owned()))], vec![]));
    assert_eq!(removed.text, "[mcp_servers.s]\ncommand = \"mine\"\neffort = \"high\"\n");
}
