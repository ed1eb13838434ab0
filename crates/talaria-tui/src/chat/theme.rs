//! Colours of the styles in a theme. Colours are those of the terminal's palette, so that they fit light and dark.

use ratatui_core::style::{Color as Hue, Modifier, Style as Drawn};
use talaria_core::config::Theme;

use talaria_render::{Color, Style};

/// How text in a style is drawn.
pub(super) fn terminal_style(theme: Theme, style: Style) -> Drawn {
    let modifiers = [
        (style.is_bold(), Modifier::BOLD),
        (style.is_dim() && theme != Theme::Contrast, Modifier::DIM),
        (style.is_italic(), Modifier::ITALIC),
        (style.is_underlined(), Modifier::UNDERLINED),
        (style.is_struck(), Modifier::CROSSED_OUT),
        // A colour that says something is bold where it is not seen, or hard to see.
        (style.hue().is_some() && theme != Theme::Terminal, Modifier::BOLD),
    ];
    let set = modifiers.into_iter().filter_map(|(is_set, modifier)| is_set.then_some(modifier));
    let drawn = Drawn::new().add_modifier(set.collect());
    match style.hue().filter(|_| theme != Theme::Mono) {
        Some(color) => drawn.fg(hue(color)),
        None => drawn,
    }
}

fn hue(color: Color) -> Hue {
    match color {
        Color::Red => Hue::Red,
        Color::Green => Hue::Green,
        Color::Yellow => Hue::Yellow,
        Color::Cyan => Hue::Cyan,
        Color::Blue => Hue::Blue,
        Color::Magenta => Hue::Magenta,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_theme_changes_looks_and_nothing_else() {
        let dim_red = Style::DIM.color(Color::Red);
        let terminal = Drawn::new().fg(Hue::Red).add_modifier(Modifier::DIM);
        assert_eq!(terminal_style(Theme::Terminal, dim_red), terminal);
        let contrast = Drawn::new().fg(Hue::Red).add_modifier(Modifier::BOLD);
        assert_eq!(terminal_style(Theme::Contrast, dim_red), contrast);
        let mono = Drawn::new().add_modifier(Modifier::DIM | Modifier::BOLD);
        assert_eq!(terminal_style(Theme::Mono, dim_red), mono);
        assert_eq!(terminal_style(Theme::Mono, Style::PLAIN), Drawn::new());
    }
}
