//! Questions and fields of forms as text.

use talaria_core::request::{Field, FieldKind, FormOption, Question};
use talaria_guard::plain::reveal_line;

/// A question of the model with its options, a line each.
pub(crate) fn question_text(question: &Question) -> String {
    let header = reveal_line(question.header.trim());
    let text = question.question.trim();
    let mut lines = vec![if header.is_empty() { text.to_owned() } else { format!("{header}: {text}") }];
    for (at, option) in question.options.iter().enumerate() {
        let (label, description) = (reveal_line(&option.label), reveal_line(option.description.trim()));
        let description = if description.is_empty() { String::new() } else { format!(": {description}") };
        lines.push(format!("[{}] {label}{description}", at + 1));
    }
    lines.join("\n")
}

/// A field of a form in one line: its name, type and description.
pub(crate) fn field_text(field: &Field) -> String {
    let takes = match &field.kind {
        FieldKind::Text { format: Some(format), .. } => format.clone(),
        FieldKind::Text { .. } => "text".to_owned(),
        FieldKind::Number { .. } => "a number".to_owned(),
        FieldKind::Integer { .. } => "a whole number".to_owned(),
        FieldKind::Boolean => "yes or no".to_owned(),
        FieldKind::One { .. } => "one of".to_owned(),
        FieldKind::Many { .. } => "any of".to_owned(),
    };
    let options = match &field.kind {
        FieldKind::One { options } | FieldKind::Many { options, .. } => {
            let option = |(at, option): (usize, &FormOption)| format!(" [{}] {}", at + 1, option.label());
            options.iter().enumerate().map(option).collect()
        }
        _ => String::new(),
    };
    let required = if field.required { ", required" } else { "" };
    let default = field.default.as_ref().map(|value| format!(", else {value}")).unwrap_or_default();
    let about = field.description.as_ref().map(|text| format!(": {text}")).unwrap_or_default();
    reveal_line(&format!("{} ({takes}{options}{required}{default}){about}", field.label())).into_owned()
}
