//! Reads a permission profile, for showing. Unknown parts are kept as text and shown as well.

use serde_json::{Map, Value};

use talaria_core::request::{FileAccess, PathAccess, PermissionPlace, Permissions};

/// Converts a profile: `network` and `fileSystem`.
pub(super) fn permissions(profile: &Value) -> Permissions {
    let mut permissions = Permissions::default();
    let Some(profile) = object(profile, "", &mut permissions.unknown) else { return permissions };
    for (key, value) in profile.iter().filter(|(_, value)| !value.is_null()) {
        match key.as_str() {
            "network" => read_network(value, &mut permissions),
            "fileSystem" => read_files(value, &mut permissions),
            _ => permissions.unknown.push(named(key, value)),
        }
    }
    permissions
}

fn read_network(value: &Value, permissions: &mut Permissions) {
    let Some(network) = object(value, "network", &mut permissions.unknown) else { return };
    for (key, value) in network.iter().filter(|(_, value)| !value.is_null()) {
        match (key.as_str(), value) {
            ("enabled", Value::Bool(enabled)) => permissions.network = *enabled,
            _ => permissions.unknown.push(named(&format!("network.{key}"), value)),
        }
    }
}

/// `read` and `write` are the older way to say what `entries` says; Codex sends both.
fn read_files(value: &Value, permissions: &mut Permissions) {
    let Some(files) = object(value, "fileSystem", &mut permissions.unknown) else { return };
    let mut found = Vec::new();
    for (key, value) in files.iter().filter(|(_, value)| !value.is_null()) {
        let items = value.as_array().map(Vec::as_slice);
        let read: Option<Vec<PathAccess>> = match (key.as_str(), items) {
            ("read", Some(paths)) => paths.iter().map(|path| at_path(FileAccess::Read, path)).collect(),
            ("write", Some(paths)) => paths.iter().map(|path| at_path(FileAccess::Write, path)).collect(),
            ("entries", Some(entries)) => entries.iter().map(entry).collect(),
            _ => None,
        };
        match read {
            Some(entries) => found.extend(entries),
            None => permissions.unknown.push(named(&format!("fileSystem.{key}"), value)),
        }
    }
    for entry in found {
        if !permissions.files.contains(&entry) {
            permissions.files.push(entry);
        }
    }
}

fn at_path(access: FileAccess, path: &Value) -> Option<PathAccess> {
    Some(PathAccess { access, place: PermissionPlace::Path(path.as_str()?.to_owned()) })
}

fn entry(entry: &Value) -> Option<PathAccess> {
    let access = match entry.get("access")?.as_str()? {
        "read" => FileAccess::Read,
        "write" => FileAccess::Write,
        "deny" | "none" => FileAccess::Deny,
        _ => return None,
    };
    let path = entry.get("path")?;
    let text = |key: &str| Some(path.get(key)?.as_str()?.to_owned());
    let place = match path.get("type")?.as_str()? {
        "path" => PermissionPlace::Path(text("path")?),
        "glob_pattern" => PermissionPlace::Pattern(text("pattern")?),
        "special" => PermissionPlace::Special(special(path.get("value")?)?),
        _ => return None,
    };
    Some(PathAccess { access, place })
}

/// Codex's own words for places.
fn special(value: &Value) -> Option<String> {
    let text = |key: &str| value.get(key).and_then(Value::as_str);
    let place = match text("kind")? {
        "root" => "the whole file system",
        "minimal" => "the files of the system that programs need to run",
        "project_roots" => "the directories of the project",
        "tmpdir" => "the directory that TMPDIR names",
        "slash_tmp" => "/tmp",
        "unknown" => text("path")?,
        _ => return None,
    };
    Some(text("subpath").map_or_else(|| place.to_owned(), |below| format!("{below} in {place}")))
}

fn object<'a>(value: &'a Value, name: &str, unknown: &mut Vec<String>) -> Option<&'a Map<String, Value>> {
    if !value.is_object() && !value.is_null() {
        unknown.push(named(name, value));
    }
    value.as_object()
}

fn named(name: &str, value: &Value) -> String {
    if name.is_empty() { value.to_string() } else { format!("{name} {value}") }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;

    fn check(profile: &Value, expected: Expect) {
        let permissions = permissions(profile);
        let json = serde_json::to_string(&permissions).unwrap();
        expected.assert_eq(&format!("{}\n{json}", permissions.lines().join("\n")));
    }

    #[test]
    fn what_the_real_codex_asks_for_is_told_once() {
        check(
            &json!({ "network": { "enabled": true }, "fileSystem": {
                "read": ["/etc"], "write": ["/cache"],
                "entries": [{ "path": { "type": "path", "path": "/etc" }, "access": "read" },
                            { "path": { "type": "path", "path": "/cache" }, "access": "write" }] } }),
            expect![[r#"
                may use the network
                may read /etc
                may read and write /cache
                {"network":true,"files":[{"access":"read","path":"/etc"},{"access":"write","path":"/cache"}]}"#]],
        );
        check(
            &json!({ "network": { "enabled": true }, "fileSystem": null }),
            expect![[r#"
                may use the network
                {"network":true}"#]],
        );
    }

    #[test]
    fn every_place_has_words() {
        let entry = |path: Value, access: &str| json!({ "path": path, "access": access });
        let special = |value: Value| json!({ "type": "special", "value": value });
        let entries = [
            entry(json!({ "type": "glob_pattern", "pattern": "**/*.env" }), "deny"),
            entry(json!({ "type": "path", "path": "/old" }), "none"),
            entry(special(json!({ "kind": "root" })), "write"),
            entry(special(json!({ "kind": "minimal" })), "read"),
            entry(special(json!({ "kind": "project_roots", "subpath": "docs" })), "write"),
            entry(special(json!({ "kind": "project_roots", "subpath": null })), "read"),
            entry(special(json!({ "kind": "tmpdir" })), "write"),
            entry(special(json!({ "kind": "slash_tmp" })), "write"),
            entry(special(json!({ "kind": "unknown", "path": ":moon" })), "read"),
        ];
        check(
            &json!({ "fileSystem": { "entries": entries } }),
            expect![[r#"
                may not touch whatever fits **/*.env
                may not touch /old
                may read and write the whole file system
                may read the files of the system that programs need to run
                may read and write docs in the directories of the project
                may read the directories of the project
                may read and write the directory that TMPDIR names
                may read and write /tmp
                may read :moon
                {"network":false,"files":[{"access":"deny","pattern":"**/*.env"},{"access":"deny","path":"/old"},{"access":"write","special":"the whole file system"},{"access":"read","special":"the files of the system that programs need to run"},{"access":"write","special":"docs in the directories of the project"},{"access":"read","special":"the directories of the project"},{"access":"write","special":"the directory that TMPDIR names"},{"access":"write","special":"/tmp"},{"access":"read","special":":moon"}]}"#]],
        );
    }

    #[test]
    fn nothing_that_is_new_is_left_out() {
        check(
            &json!({ "camera": true, "network": { "enabled": false, "hosts": ["a"] }, "fileSystem": {
                "globScanMaxDepth": 3, "entries": [{ "path": { "type": "orbit" }, "access": "read" }] } }),
            expect![[r#"
                something that this version does not know: camera true
                something that this version does not know: fileSystem.entries [{"access":"read","path":{"type":"orbit"}}]
                something that this version does not know: fileSystem.globScanMaxDepth 3
                something that this version does not know: network.hosts ["a"]
                {"network":false,"unknown":["camera true","fileSystem.entries [{\"access\":\"read\",\"path\":{\"type\":\"orbit\"}}]","fileSystem.globScanMaxDepth 3","network.hosts [\"a\"]"]}"#]],
        );
        check(
            &json!(["everything"]),
            expect![[r#"
            something that this version does not know: ["everything"]
            {"network":false,"unknown":["[\"everything\"]"]}"#]],
        );
        assert!(permissions(&json!({ "network": null, "fileSystem": { "read": null } })).is_empty());
        assert!(permissions(&json!({ "network": { "enabled": false } })).is_empty());
    }
}
