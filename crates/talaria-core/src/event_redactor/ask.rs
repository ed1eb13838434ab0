//! The texts of a question. A masked text is shown by its kind and length; the answer is sent for the original
//! question.

use super::{cover_changes, each, maybe, text};
use crate::request::{Ask, FieldKind, PathAccess, PermissionPlace, Permissions, Wish};

pub(super) fn cover(ask: &mut Ask) {
    match ask {
        Ask::Command { command, actions, reason, permissions, always, asked_because, .. } => {
            maybe(asked_because);
            text(command);
            each(actions);
            maybe(reason);
            permissions.iter_mut().for_each(cover_permissions);
            always.iter_mut().for_each(|words| each(words));
        }
        Ask::Stdin { command, reason, .. } => {
            text(command);
            maybe(reason);
        }
        Ask::Network { host, command, reason, always, .. } => {
            text(host);
            maybe(command);
            maybe(reason);
            maybe(always);
        }
        Ask::Patch { changes, reason, grant_root, .. } => {
            changes.iter_mut().for_each(|changes| cover_changes(changes));
            maybe(reason);
            maybe(grant_root);
        }
        Ask::Permissions { reason, permissions, .. } => {
            maybe(reason);
            cover_permissions(permissions);
        }
        Ask::TaskPower { permissions, .. } => cover_permissions(permissions),
        Ask::WebPage { site, url, .. } => {
            text(site);
            text(url);
        }
        Ask::OwnTool { arguments, reason, .. } => {
            text(arguments);
            text(reason);
        }
        Ask::Input { questions, .. } => {
            for question in questions {
                text(&mut question.header);
                text(&mut question.question);
                question.options.iter_mut().for_each(|option| text(&mut option.description));
            }
        }
        Ask::Elicitation { message, wish, .. } => {
            text(message);
            if let Wish::Form(form) = wish {
                for field in &mut form.fields {
                    maybe(&mut field.title);
                    maybe(&mut field.description);
                    if let FieldKind::One { options } | FieldKind::Many { options, .. } = &mut field.kind {
                        options.iter_mut().for_each(|option| maybe(&mut option.title));
                    }
                }
            }
        }
        Ask::Tool { message, description, arguments, .. } => {
            text(message);
            maybe(description);
            maybe(arguments);
        }
        Ask::Host { summary, .. } | Ask::Unsupported { summary, .. } => text(summary),
    }
}

fn cover_permissions(permissions: &mut Permissions) {
    for PathAccess { access: _, place } in &mut permissions.files {
        match place {
            PermissionPlace::Path(words)
            | PermissionPlace::Pattern(words)
            | PermissionPlace::Special(words) => text(words),
        }
    }
    each(&mut permissions.unknown);
}
