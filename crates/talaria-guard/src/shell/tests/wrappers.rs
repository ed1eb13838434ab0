//! Programs that start other programs.

use super::table;
use expect_test::expect;

#[test]
fn shells_are_looked_into() {
    expect![[r#"
        /bin/bash -lc 'touch a; rm -rf /'
            r /bin/bash -lc "touch a; rm -rf /"
            . touch a
            . rm -rf /
        bash -c "sh -c 'rm -rf /'"
            r bash -c "sh -c 'rm -rf /'"
            c sh -c "rm -rf /"
            . rm -rf /
        /bin/bash -lc 'bash -o pipefail -ec "a | b" arg0 arg1'
            r /bin/bash -lc "bash -o pipefail -ec \"a | b\" arg0 arg1"
            c bash -o pipefail -ec "a | b" arg0 arg1
            . a
            . b
        /bin/bash -lc 'sh -c "rm -rf $HOME/x $y"'
            r /bin/bash -lc "sh -c \"rm -rf $HOME/x $y\""
            c sh -c "rm -rf "⟨home⟩"/x "⟨$y⟩
            ? ⟨?⟩…
            . rm -rf ⟨home⟩/x ⟨?⟩…
        /tmp/bash -lc 'a'
            w /tmp/bash -lc a
            . a
        bash --rcfile x -c a
            w bash --rcfile x -c a
            . a
        bash script.sh a
            . bash script.sh a
        dash -c {a,b}
            r dash -c a b
            . a
            ? ⟨?⟩…
        bash $x
            w bash ⟨$x⟩…
            ? ⟨?⟩…
        bash
            r bash
            ? ⟨?⟩…
        curl x | sh
            . curl x
            c sh
            ? ⟨?⟩…
        echo rm -rf / | sh
            . echo rm -rf /
            c sh
            . rm -rf /
        sh <<E
        rm -rf /
        E
            r sh <<"rm -rf /\n"
            . rm -rf /
        sh <<< 'rm -rf /'
            r sh <<"rm -rf /"
            . rm -rf /
        sudo sh <<E; a
        rm -rf /
        E
            w sudo sh <<"rm -rf /\n"
            c sh
            . a
            . rm -rf /
        echo a | sudo sh
            . echo a
            w sudo sh
            c sh
            . a
        bash <(curl x)
            w bash ⟨?⟩…
            . curl x
            ? ⟨?⟩…
        source <(curl x); . ./env.sh
            w source ⟨?⟩…
            . curl x
            ? ⟨?⟩…
            . . ./env.sh
        fish -c 'rm -rf /'
            w fish -c "rm -rf /"
            ? ⟨?⟩…
            . rm -rf /
        pwsh -Command 'Remove-Item (1'
            w pwsh -Command "Remove-Item (1"
            ? ⟨?⟩…
            ? ⟨?⟩…
        busybox sh -c 'rm -rf /'; busybox rm x
            c busybox sh -c "rm -rf /"
            c sh -c "rm -rf /"
            . rm -rf /
            c busybox rm x
            . rm x
        zsh -c 'noglob rm x'
            r zsh -c "noglob rm x"
            c noglob rm x
            . rm x
    "#]]
    .assert_eq(&table(&[
        "/bin/bash -lc 'touch a; rm -rf /'",
        "bash -c \"sh -c 'rm -rf /'\"",
        "/bin/bash -lc 'bash -o pipefail -ec \"a | b\" arg0 arg1'",
        "/bin/bash -lc 'sh -c \"rm -rf $HOME/x $y\"'",
        "/tmp/bash -lc 'a'",
        "bash --rcfile x -c a",
        "bash script.sh a",
        "dash -c {a,b}",
        "bash $x",
        "bash",
        "curl x | sh",
        "echo rm -rf / | sh",
        "sh <<E\nrm -rf /\nE",
        "sh <<< 'rm -rf /'",
        "sudo sh <<E; a\nrm -rf /\nE",
        "echo a | sudo sh",
        "bash <(curl x)",
        "source <(curl x); . ./env.sh",
        "fish -c 'rm -rf /'",
        "pwsh -Command 'Remove-Item (1'",
        "busybox sh -c 'rm -rf /'; busybox rm x",
        "zsh -c 'noglob rm x'",
    ]));
}

#[test]
fn programs_that_start_others_are_looked_through() {
    expect![[r#"
        env X=1 rm -rf /
            c env X=1 rm -rf /
            . X=1 rm -rf /
        env -i -u A -C /d Y=$z /bin/rm x
            c env -i -u A -C /d Y=⟨$z⟩… /bin/rm x
            ? ⟨?⟩…
            . Y=⟨$z⟩… /bin/rm x
        env -S 'X=1 rm -rf' /; env; env -S "$x"
            c env -S "X=1 rm -rf" /
            . X=1 rm -rf /
            . env
            c env -S ⟨$x⟩
            ? ⟨?⟩…
        sudo -u root -n X=1 rm x
            w sudo -u root -n X=1 rm x
            . X=1 rm x
        sudo --user root -- rm x; doas -u r rm x
            w sudo --user root -- rm x
            . rm x
            w doas -u r rm x
            . rm x
        nohup nice -n 5 ionice -c2 -n7 rm x
            c nohup nice -n 5 ionice -c2 -n7 rm x
            c nice -n 5 ionice -c2 -n7 rm x
            c ionice -c2 -n7 rm x
            . rm x
        time -p timeout -s KILL 5 rm x
            c time -p timeout -s KILL 5 rm x
            c timeout -s KILL 5 rm x
            . rm x
        timeout --frobnicate 5 rm x
            w timeout --frobnicate 5 rm x
            . rm x
        timeout "$T" rm x; timeout $T rm x
            c timeout ⟨$T⟩ rm x
            ? ⟨?⟩…
            . rm x
            c timeout ⟨$T⟩… rm x
            ? ⟨?⟩…
            . rm x
        stdbuf -oL setsid -f rm x
            c stdbuf -oL setsid -f rm x
            c setsid -f rm x
            . rm x
        exec -a n rm x; command -p rm x; command -v rm; builtin cd x
            c exec -a n rm x
            . rm x
            c command -p rm x
            . rm x
            . command -v rm
            c builtin cd x
            . cd x
        eval rm '-rf /'; eval "$x"; eval 'a; b'
            c eval rm "-rf /"
            . rm -rf /
            c eval ⟨$x⟩
            ? ⟨?⟩…
            . ⟨?⟩…
            c eval "a; b"
            . a
            . b
        find . -name x -exec rm {} \; -exec sh -c 'mv {} y' + -delete
            w find . -name x -exec rm {} ; -exec sh -c "mv {} y" + -delete
            . rm ⟨?⟩
            c sh -c "mv "⟨?⟩" y"
            ? ⟨?⟩…
            . mv ⟨?⟩… y
        find . -name '*.rs'; find $x -name y; find *.rs
            . find . -name *.rs
            w find ⟨$x⟩… -name y
            . find ⟨*⟩.rs…
        ls | xargs -0 -n 1 rm -f; xargs -I% mv % x; xargs
            . ls
            w xargs -0 -n 1 rm -f
            . rm -f ⟨?⟩…
            w xargs -I% mv % x
            . mv ⟨?⟩ x
            . xargs
        watch -n 1 'a; b'; flock /l rm x; flock /l -c 'rm x'
            w watch -n 1 "a; b"
            . a
            . b
            w flock /l rm x
            . rm x
            w flock /l -c "rm x"
            . rm x
        chroot /r rm x; nsenter -t 1 -m rm x; unshare -r rm x
            w chroot /r rm x
            . rm x
            w nsenter -t 1 -m rm x
            . rm x
            w unshare -r rm x
            . rm x
        script -q -c 'rm x' /dev/null; script log rm x
            w script -q -c "rm x" /dev/null
            . rm x
            w script log rm x
            . rm x
        su -c 'rm x' bob; su - bob -c 'rm x'; runuser -u bob rm x
            w su -c "rm x" bob
            . rm x
            w su - bob -c "rm x"
            . rm x
            w runuser -u bob rm x
            . rm x
        ssh -i k host rm -rf x; ssh host 'a; b'; ssh host
            w ssh -i k host rm -rf x
            . rm -rf x
            w ssh host "a; b"
            . a
            . b
            . ssh host
        trap 'rm x' EXIT; trap - EXIT
            w trap "rm x" EXIT
            . rm x
            . trap - EXIT
        sudo env X=1 nohup sh -c 'timeout 5 rm -rf /'
            w sudo env X=1 nohup sh -c "timeout 5 rm -rf /"
            c env X=1 nohup sh -c "timeout 5 rm -rf /"
            c X=1 nohup sh -c "timeout 5 rm -rf /"
            c sh -c "timeout 5 rm -rf /"
            c timeout 5 rm -rf /
            . rm -rf /
    "#]]
    .assert_eq(&table(&[
        "env X=1 rm -rf /",
        "env -i -u A -C /d Y=$z /bin/rm x",
        "env -S 'X=1 rm -rf' /; env; env -S \"$x\"",
        "sudo -u root -n X=1 rm x",
        "sudo --user root -- rm x; doas -u r rm x",
        "nohup nice -n 5 ionice -c2 -n7 rm x",
        "time -p timeout -s KILL 5 rm x",
        "timeout --frobnicate 5 rm x",
        "timeout \"$T\" rm x; timeout $T rm x",
        "stdbuf -oL setsid -f rm x",
        "exec -a n rm x; command -p rm x; command -v rm; builtin cd x",
        "eval rm '-rf /'; eval \"$x\"; eval 'a; b'",
        "find . -name x -exec rm {} \\; -exec sh -c 'mv {} y' + -delete",
        "find . -name '*.rs'; find $x -name y; find *.rs",
        "ls | xargs -0 -n 1 rm -f; xargs -I% mv % x; xargs",
        "watch -n 1 'a; b'; flock /l rm x; flock /l -c 'rm x'",
        "chroot /r rm x; nsenter -t 1 -m rm x; unshare -r rm x",
        "script -q -c 'rm x' /dev/null; script log rm x",
        "su -c 'rm x' bob; su - bob -c 'rm x'; runuser -u bob rm x",
        "ssh -i k host rm -rf x; ssh host 'a; b'; ssh host",
        "trap 'rm x' EXIT; trap - EXIT",
        "sudo env X=1 nohup sh -c 'timeout 5 rm -rf /'",
    ]));
}
