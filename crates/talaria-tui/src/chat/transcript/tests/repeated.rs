//! A repeated notice in the same turn is counted at its first occurrence.

use expect_test::expect;

use super::*;
use talaria_render::sample;

const LOOK: Look = Look { color: false, width: None, live: true, unicode: true };

fn warning(message: &str) -> Event {
    Event::Warning { message: message.into() }
}

#[test]
fn a_warning_is_told_once_in_a_turn_and_again_in_the_next() {
    let mut events = numbered(
        1,
        vec![
            sample::turn_started(),
            warning("no bubblewrap"),
            warning("something else"),
            warning("no bubblewrap"),
        ],
    );
    events.push(Numbered { turn: Some(2), ..numbered(5, vec![warning("no bubblewrap")]).remove(0) });
    expect![[r#"
        warning: no bubblewrap (×2)
        warning: something else
        warning: no bubblewrap
    "#]]
    .assert_eq(&screen(&mut fed(LOOK, &events), 60, 10));
}
