//! Entries of which it is not known whether they are still wanted.

use super::*;

fn undecided(servers: Additions, undecided: &[Undecided]) -> Additions {
    Additions { undecided: undecided.to_vec(), ..servers }
}

#[test]
fn what_may_still_be_wanted_stays_and_is_still_ours() {
    let first = planned("a = 1\n", &additions(), None);
    let unknown =
        undecided(servers(&[("a b", "x")]), &[Undecided::Plugins, Undecided::Server("search".to_owned())]);
    let second = planned(&first.text, &unknown, Some(&first.added));
    let staying = [EntryPlace::Server("search".to_owned()), EntryPlace::Plugin("mail@curated".to_owned())];
    assert_eq!(second.undecided, staying);
    assert!(!second.text.contains("default_permissions"), "what is known to be unwanted goes");
    for place in ["[mcp_servers.search]", "[mcp_servers.\"a b\"]", "[plugins.\"mail@curated\"]"] {
        assert!(second.text.contains(place), "{}", second.text);
    }
    check("", &second.text).unwrap();
    assert_eq!(second.added.places().count(), 3);
    assert_eq!(remove(&second.text, &second.added).unwrap().text, "a = 1\n");
    let all = undecided(Additions::default(), &[Undecided::Servers, Undecided::Plugins]);
    assert_eq!(planned(&second.text, &all, Some(&second.added)).text, second.text);
    let third = planned(&second.text, &servers(&[("a b", "x")]), Some(&second.added));
    assert_eq!(third.text, planned("a = 1\n", &servers(&[("a b", "x")]), None).text);
}

#[test]
fn what_may_still_be_wanted_stays_where_somebody_has_put_it() {
    let first = planned("", &servers(&[("s", "x")]), None);
    let moved = "[mcp_servers]\ns = { command = \"x\" }\n";
    let unknown = undecided(servers(&[]), &[Undecided::Servers]);
    let second = planned(moved, &unknown, Some(&first.added));
    assert_eq!((second.text.as_str(), &second.added), (moved, &first.added));
}

#[test]
fn what_another_wrote_or_the_user_changed_is_not_ours_because_nobody_knows() {
    let first = planned("", &servers(&[("s", "x")]), None);
    let unknown = undecided(servers(&[]), &[Undecided::Servers]);
    assert!(planned(&first.text, &unknown, None).undecided.is_empty());
    let text = first.text.replace("\"x\"", "\"mine\"");
    let second = planned(&text, &unknown, Some(&first.added));
    assert_eq!((second.undecided, second.kept), (vec![], vec![changed(EntryPlace::Server("s".to_owned()))]));
}
