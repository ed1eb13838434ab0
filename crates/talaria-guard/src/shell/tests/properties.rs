//! Properties of every text.

use super::*;
use proptest::prelude::*;

/// Pieces of shell that mean something when put together at random.
fn fragment() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        " ",
        "\n",
        ";",
        "&",
        "&&",
        "||",
        "|",
        "(",
        ")",
        "((",
        "))",
        "{",
        "}",
        "{ ",
        "; }",
        "'",
        "\"",
        "`",
        "$",
        "$(",
        "$((",
        "${",
        "}",
        "\\",
        "\\\n",
        "<",
        ">",
        "<<E\n",
        "\nE\n",
        "<<<",
        "<(",
        "2>&1",
        "#",
        "*",
        "[",
        "]",
        "[[ ",
        " ]]",
        "~",
        "=",
        "x=",
        "x=(",
        "if ",
        "then ",
        "fi",
        "while ",
        "do ",
        "done",
        "for x in ",
        "case x in ",
        "esac",
        ";;",
        "function f ",
        "f()",
        "sh -c ",
        "eval ",
        "env -S ",
        "sudo ",
        "xargs ",
        "find . -exec ",
        "rm -rf /",
        "$'",
        "$HOME",
        "{a,b}",
        "..",
        ",",
        "alias a='",
        "a b",
        "hash -p x y",
        "git -c alias.x=",
        "git rebase -x ",
        "sed -e '1e ",
        "s/[/",
        "awk '{ ",
        "tar -I ",
        "make X=$(",
        "vim -c '!",
        "env -S 'a\\_",
        "ld-linux.so ",
        "setarch ",
        "python3 -c ",
        "PAGER=",
        "${IFS}",
        "$@",
        "-",
        "--",
        "\u{FDD0}",
        "\u{FDD1}",
        "é",
    ]);
    prop_oneof![4 => known.prop_map(str::to_owned), 1 => any::<char>().prop_map(String::from)]
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in any::<String>()) {
        let _ = parse(&text);
    }

    #[test]
    fn no_mixture_of_shell_makes_it_panic(parts in prop::collection::vec(fragment(), 0..40)) {
        let _ = parse(&parts.concat());
    }

    #[test]
    fn a_quoted_word_is_the_same_word(word in "[ -~é]{0,20}", style in 0..4) {
        let quoted = match style {
            0 => format!("'{}'", word.replace('\'', r"'\''")),
            1 => format!("\"{}\"", word.replace(['\\', '"', '$', '`'], "\u{1}")),
            2 => word.chars().map(|c| format!("\\{c}")).collect(),
            _ => format!("$'{}'", word.replace('\\', r"\\").replace('\'', r"\x27")),
        };
        let word = if style == 1 { word.replace(['\\', '"', '$', '`'], "\u{1}") } else { word };
        // An empty run of escapes is no word at all.
        prop_assume!(!word.is_empty() || style != 2);
        let line = parse(&format!("echo {quoted} end")).unwrap();
        let texts: Vec<_> = line.commands[0].words.iter().map(Word::text).collect();
        prop_assert_eq!(texts, vec![Some("echo"), Some(word.as_str()), Some("end")]);
    }
}

#[test]
fn nesting_is_bounded_and_never_overflows_the_stack() {
    let shapes: [(&str, &str); 14] = [
        ("(", ")"),
        ("{ ", "; }"),
        ("$(", ")"),
        ("\"$(", ")\""),
        ("${x:-", "}"),
        ("$((", "))"),
        ("((", "))"),
        ("if ", ""),
        ("f() ", ""),
        ("sudo ", ""),
        ("eval ", ""),
        ("<(", ")"),
        ("x=(", ")"),
        ("{a,", "}"),
    ];
    let small_stack = std::thread::Builder::new().stack_size(1024 * 1024);
    let reader = small_stack.spawn(move || {
        for (open, close) in shapes {
            for depth in [10, 30, 40, 1000, 10_000] {
                let text = format!("{}a{}", open.repeat(depth), close.repeat(depth));
                let _ = parse(&text);
            }
        }
    });
    reader.unwrap().join().unwrap();
    assert_eq!(parse(&format!("{}a{}", "( ".repeat(33), ")".repeat(33))), Err(Unparsable::TooDeep));
    assert!(parse(&format!("{}a{}", "( ".repeat(32), ")".repeat(32))).is_ok());
}

#[test]
fn text_that_grows_without_measure_is_refused() {
    let grows =
        (0..8).fold("a".to_owned(), |text, _| format!("eval {{'{}',b}}", text.replace('\'', r"'\''")));
    let _ = parse(&grows);
    let doubles = format!("eval {}", "{a,b}".repeat(6).repeat(2000));
    let _ = parse(&doubles);
    assert_eq!(parse(&"x".repeat(MAX_LENGTH + 1)), Err(Unparsable::TooLong));
}
