//! The texts of a question. What is masked is seen as its kind and length; the answer goes to the question as it was.

use super::{cover_changes, each, maybe, text};
use crate::request::{Ask, Permissions, Wish};

pub(super) fn cover(ask: &mut Ask) {
    match ask {
        Ask::Command { command, actions, reason, permissions, always, .. } => {
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
        Ask::Network { command, reason, .. } => {
            maybe(command);
            maybe(reason);
        }
        Ask::Patch { changes, reason, .. } => {
            changes.iter_mut().for_each(|changes| cover_changes(changes));
            maybe(reason);
        }
        Ask::Permissions { reason, permissions, .. } => {
            maybe(reason);
            cover_permissions(permissions);
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
    each(&mut permissions.unknown);
}
