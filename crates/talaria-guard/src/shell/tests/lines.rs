//! Quoting, operators, compound commands, here-documents.

use super::table;
use expect_test::expect;

#[test]
fn quoting_is_removed_however_it_is_written() {
    expect![[r#"
        rm   -rf  /
            . rm -rf /
        "r"m -r\f '/'
            . rm -rf /
        \rm -rf /
            . rm -rf /
        $'r\x6d' $'-\162f' $'\u002f'
            . rm -rf /
        r\
        m -rf /
            . rm -rf /
        echo 'a b' "c d" e\ f "" '' "a\"b" 'a\b' "a\b"
            . echo "a b" "c d" "e f" '' '' "a\"b" a\b a\b
        echo "it's" 'say "hi"' $"hello"
            . echo "it's" "say \"hi\"" hello
        echo a#b # a comment ; rm x
            . echo a#b
        echo {a,b}{c,d} {1..3} {} {x} a{b {,e} {'',f}
            . echo ac ad bc bd ⟨?⟩… {} {x} a{b e ⟨?⟩…
        echo $x{a,b} {~,c} {$,x}HOME ${x}{a,b}
            . echo ⟨?⟩… ⟨?⟩… ⟨?⟩… ⟨$x⟩a… ⟨$x⟩b…
        echo ~ ~/x a~ '~' ~root/x x=~/y --opt=~/z
            . echo ⟨home⟩ ⟨home⟩/x a~ ~ ⟨home⟩/x x=⟨home⟩/y --opt=~/z
    "#]]
    .assert_eq(&table(&[
        r"rm   -rf  /",
        r#""r"m -r\f '/'"#,
        r"\rm -rf /",
        r"$'r\x6d' $'-\162f' $'\u002f'",
        "r\\\nm -rf /",
        r#"echo 'a b' "c d" e\ f "" '' "a\"b" 'a\b' "a\b""#,
        r#"echo "it's" 'say "hi"' $"hello""#,
        r"echo a#b # a comment ; rm x",
        "echo {a,b}{c,d} {1..3} {} {x} a{b {,e} {'',f}",
        "echo $x{a,b} {~,c} {$,x}HOME ${x}{a,b}",
        "echo ~ ~/x a~ '~' ~root/x x=~/y --opt=~/z",
    ]));
}

#[test]
fn what_only_the_shell_knows_is_marked() {
    expect![[r#"
        $x "$x" ${x} "${x}" $HOME "${HOME}/a" $1 "$@" $? ${#x} ${x:-y} "${a[@]}"
            . ⟨$x⟩… ⟨$x⟩ ⟨$x⟩… ⟨$x⟩ ⟨home⟩ ⟨home⟩/a ⟨$1⟩… ⟨$@⟩… ⟨$?⟩… ⟨?⟩ ⟨?⟩… ⟨$a⟩…
        ls *.rs a?b [ab]c [ x [
            . ls ⟨*⟩.rs… a⟨?⟩b… ⟨[ab]⟩c… [ x [
        echo $(a | b) `c d` <(e) >(f) "$(g "$(h)")"
            . echo ⟨?⟩… ⟨?⟩… ⟨?⟩… ⟨?⟩… ⟨?⟩
            . a
            . b
            . c d
            . e
            . f
            . g ⟨?⟩
            . h
        echo $((1 + 2)) $((x)) $( (a) )
            . echo ⟨?⟩… ⟨?⟩… ⟨?⟩…
            . a
        echo `echo \`inner\``
            . echo ⟨?⟩…
            . echo ⟨?⟩…
            . inner
        a[1]=x ls
            . a=x ls
    "#]]
    .assert_eq(&table(&[
        r#"$x "$x" ${x} "${x}" $HOME "${HOME}/a" $1 "$@" $? ${#x} ${x:-y} "${a[@]}""#,
        "ls *.rs a?b [ab]c [ x [",
        "echo $(a | b) `c d` <(e) >(f) \"$(g \"$(h)\")\"",
        "echo $((1 + 2)) $((x)) $( (a) )",
        r"echo `echo \`inner\``",
        "a[1]=x ls",
    ]));
}

#[test]
fn every_command_of_a_line_is_found() {
    expect![[r#"
        a; b && c || d | e |& f & g
        h
            . a
            . b
            . c
            . d
            . e
            . f
            . g
            . h
        (a; (b)) ; { c; d; }
            . a
            . b
            . c
            . d
        if a; then b; elif c; then d; else e; fi
            . a
            . b
            . c
            . d
            . e
        while a; do b; done < in > out
            . a
            . b
            f <in >out
        until a
        do b
        done
            . a
            . b
        for i in 1 $x *; do a $i; done
            f i=1 i=⟨$x⟩… i=⟨*⟩…
            . a ⟨$i⟩…
        for i do a; done
            f i=⟨?⟩…
            . a
        for ((i=0;i<3;i++)); do a; done
            . a
        case $x in a|b) c;; (d) e ;& *) f; esac
            . c
            . e
            . f
        f() { a; }; function g { b; }; function h() ( c )
            . a
            . b
            . c
        ! a | ! b
            . a
            . b
        time { a; }; time -p ! b; time ! time c
            . a
            . b
            . c
        [[ -f x && $(a) =~ ^(b|c)$ ]] && d
            . [[ ⟨?⟩…
            . a
            . d
        ((x++)) && a
            . x++
            . a
        x=1 y=$(a) b c=2
            . x=1 y=⟨?⟩ b c=2
            . a
        x=(a $(b)) c
            . x=⟨?⟩ c
            . b
        x[0]=1 y[a]+=$(b) c
            . x=1 y=⟨?⟩ c
            . b
        export A=1 B=~/x
            . A=1 B=⟨home⟩/x export A=1 B=⟨home⟩/x
        export {A,B}=1 $x
            . A=1 B=1 export A=1 B=1 ⟨$x⟩…
        a 2>&1 >&-in <in 3<>both >|y >>z >&w; b &>x 2>&1
            . a in &1 &- <in <>both >y >z >w
            . b >x &1
        a <<< "b $(c)"
            . a <<"b "⟨?⟩
            . c
        echo done fi }
            . echo done fi }
    "#]]
    .assert_eq(&table(&[
        "a; b && c || d | e |& f & g\nh",
        "(a; (b)) ; { c; d; }",
        "if a; then b; elif c; then d; else e; fi",
        "while a; do b; done < in > out",
        "until a\ndo b\ndone",
        "for i in 1 $x *; do a $i; done",
        "for i do a; done",
        "for ((i=0;i<3;i++)); do a; done",
        "case $x in a|b) c;; (d) e ;& *) f; esac",
        "f() { a; }; function g { b; }; function h() ( c )",
        "! a | ! b",
        "time { a; }; time -p ! b; time ! time c",
        "[[ -f x && $(a) =~ ^(b|c)$ ]] && d",
        "((x++)) && a",
        "x=1 y=$(a) b c=2",
        "x=(a $(b)) c",
        "x[0]=1 y[a]+=$(b) c",
        "export A=1 B=~/x",
        "export {A,B}=1 $x",
        "a 2>&1 >&-in <in 3<>both >|y >>z >&w; b &>x 2>&1",
        "a <<< \"b $(c)\"",
        "echo done fi }",
    ]));
}

#[test]
fn here_documents_are_text_unless_they_expand() {
    expect![[r#"
        cat <<EOF
        a $(b)
        EOF
        c
            . cat <<"a "⟨?⟩"\n"
            . b
            . c
        cat <<'EOF'
        a $(b)
        EOF
        c
            . cat <<"a $(b)\n"
            . c
        cat <<-E <<F; c
        	one
        	E
        two
        F
        d
            . cat <<"one\n" <<"two\n"
            . c
            . d
        cat <<EOF
        foo\
        EOF
        rm x
        EOF
        last
            . cat <<"fooEOF\nrm x\n"
            . last
        cat <<EOF
        EO\
        F
        rm x
        EOF
            . cat <<''
            . rm x
            . EOF
        x=$(cat <<E
        hi
        E
        )
            . x=⟨?⟩
            . cat <<"hi\n"
        git commit -m "$(cat <<'E'
        it's
        E
        )" && a
            . git commit -m ⟨?⟩
            . cat <<"it's\n"
            . a
    "#]]
    .assert_eq(&table(&[
        "cat <<EOF\na $(b)\nEOF\nc",
        "cat <<'EOF'\na $(b)\nEOF\nc",
        "cat <<-E <<F; c\n\tone\n\tE\ntwo\nF\nd",
        "cat <<EOF\nfoo\\\nEOF\nrm x\nEOF\nlast",
        "cat <<EOF\nEO\\\nF\nrm x\nEOF",
        "x=$(cat <<E\nhi\nE\n)",
        "git commit -m \"$(cat <<'E'\nit's\nE\n)\" && a",
    ]));
}

#[test]
fn what_is_not_understood_says_so() {
    expect![[r#"
        echo 'a
            ! a single quote is not closed
        echo "a
            ! a double quote is not closed
        echo `a
            ! a backtick is not closed
        echo $(a
            ! a parenthesis is not closed
        echo ${a
            ! `${` is not closed
        echo a\
            ! an escape is not closed
        echo $'\ufdd0'
            ! an escaped byte is not understood
        echo ﷐
            ! a noncharacter is not understood
        a | | b
            ! an operator is not expected here
        a && 
            ! an operator is not expected here
        ; a
            ! an operator is not expected here
        a )
            ! `)` is not expected here
        ( a
            ! a parenthesis is not closed
        { a;
            ! a block is not closed
        if a; then b
            ! a block is not closed
        done
            ! a keyword is not expected here
        a <
            ! a redirect without a target is not expected here
        cat <<E
        no end
            ! a here-document is not closed
        ls *(.)
            ! `(` is not expected here
        echo ${x@P} $[1+1]
            ! `$[` is not understood
        echo ${ a; }
            ! `${` of this form is not understood
        echo ${(e)x}
            ! `${` of this form is not understood
        echo a␀b
            ! a NUL character is not understood
        for x (a b) c
            ! a block is not closed
        coproc a
            ! `coproc` is not understood
        a {fd}>x
            ! a redirect of this form is not understood
        x[0 ]=1 rm y
            ! an index of this form is not understood
        x[$(a)]=1 b
            ! an index of this form is not understood
        x[0
            ! an index is not closed
        ((a); b)
            ! `((` that is no arithmetic is not understood
        echo $((a); b)
            ! `$((` that is no arithmetic is not understood
        a &> b c
            ! `&>` before further words is not understood
        a &> b 2>&1 c
            ! `&>` before further words is not understood
        echo $'it\'s'
            ! an escaped quote in `$'` is not understood
        cat <<A $(b
        c)
        A
            ! a here-document across a substitution is not understood
        a b(c)
            ! `(` is not expected here
        a $(b $'c d')
            ! `$'` in a substitution is not understood
        x=$(cat <<E
        hi
        E
        a; b)
            ! a command after a here-document in a substitution is not understood
        <command included NUL byte>
            ! a redirect without a target is not expected here
    "#]]
    .assert_eq(&table(&[
        "echo 'a",
        "echo \"a",
        "echo `a",
        "echo $(a",
        "echo ${a",
        r"echo a\",
        r"echo $'\ufdd0'",
        "echo \u{fdd0}",
        "a | | b",
        "a && ",
        "; a",
        "a )",
        "( a",
        "{ a;",
        "if a; then b",
        "done",
        "a <",
        "cat <<E\nno end",
        "ls *(.)",
        "echo ${x@P} $[1+1]",
        "echo ${ a; }",
        "echo ${(e)x}",
        "echo a\0b",
        "for x (a b) c",
        "coproc a",
        "a {fd}>x",
        "x[0 ]=1 rm y",
        "x[$(a)]=1 b",
        "x[0",
        "((a); b)",
        "echo $((a); b)",
        "a &> b c",
        "a &> b 2>&1 c",
        r"echo $'it\'s'",
        "cat <<A $(b\nc)\nA",
        "a b(c)",
        r"a $(b $'c d')",
        "x=$(cat <<E\nhi\nE\na; b)",
        "<command included NUL byte>",
    ]));
}

#[test]
fn ordinary_lines_are_understood() {
    let lines = [
        "/bin/bash -lc 'touch made.txt; echo ran > out.txt; cat out.txt'",
        r#"/bin/bash -lc "id -u; cat /proc/self/status | grep -E 'Seccomp:|NoNewPrivs|CapEff'; readlink /proc/self/ns/net""#,
        r#"/bin/bash -lc "python3 -c \"import socket; s=socket.create_connection(('127.0.0.1', 80))\"""#,
        "/bin/bash -lc 'echo x > /tmp/codexprobe.$$ && rm /tmp/codexprobe.$$ && echo wrote'",
        "/bin/bash -lc 'for i in 1 2 3 4 5 6; do echo tick $i; sleep 0.7; done'",
        "/bin/zsh -lc \"sed -n '1,200p' src/lib.rs\"",
        "bash -lc 'rg -n \"fn (parse|lex)\" --glob \"*.rs\" | head -50'",
        "bash -lc \"apply_patch <<'PATCH'\n*** Begin Patch\n*** Update File: a.rs\n-it's \\$x \\`y\\`\n*** End Patch\nPATCH\n\"",
        "bash -lc 'cat > a.py <<\"EOF\"\nprint(\"(\")\nEOF\npython3 a.py 2>&1 | tail -n 20'",
        "bash -lc 'set -euo pipefail; cd \"$(git rev-parse --show-toplevel)\" && cargo test --workspace -- --nocapture'",
        "bash -lc 'test -f Cargo.toml && grep -q \"^\\[workspace\\]\" Cargo.toml || echo none'",
        "bash -lc 'find . -name \"*.rs\" -not -path \"./target/*\" -print0 | xargs -0 wc -l | sort -n'",
        "bash -lc 'awk -F: \"{print \\$1}\" /etc/passwd; ls -la {src,tests}/*.rs'",
        "bash -lc 'if [ -d node_modules ]; then npm test; else npm ci && npm test; fi'",
        "bash -lc 'jq \".[] | {a: .b, c: (.d | length)}\" x.json > /dev/null'",
        "bash -lc 'docker run --rm -v \"$PWD:/w\" -w /w node:22 npm test'",
        "bash -lc 'while read -r f; do echo \"${f%.rs}: ${#f}\"; done < <(git ls-files)'",
        "git commit -m 'fix: don'\\''t panic'",
        "bash -lc 'export RUST_LOG=debug; timeout 60 ./target/debug/app & sleep 1; kill $!'",
        "bash -lc 'echo $((1 + 2)); [[ \"$x\" == *.rs ]] && echo yes'",
    ];
    let unread: Vec<_> =
        lines.iter().filter_map(|line| Some((line, crate::shell::parse(line).err()?))).collect();
    assert!(unread.is_empty(), "{unread:#?}");
}
