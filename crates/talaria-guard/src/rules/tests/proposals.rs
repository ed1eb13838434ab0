//! Which rule is offered for "always allow".

use super::*;
use expect_test::expect;

#[test]
fn a_rule_is_offered_where_one_makes_sense() {
    let lines = [
        "cargo test -p core",
        "cargo test",
        "git push origin main",
        "git -C x push",
        "npm run build -- --x",
        "npm run",
        "npm exec x",
        "npm install left-pad",
        "ls -la src",
        "grep -rn 'a b' src/*.rs",
        "grep -rn 'a b*' src",
        "echo \"it's\"",
        "pwd",
        "timeout 5 cargo test",
        "/usr/bin/cargo test",
        "./run.sh x",
        "python3 x.py",
        "python3.12 -c x",
        "bash x.sh",
        "sh -c 'a; b'",
        "rm x",
        "sudo ls",
        "curl x",
        "find . -name x",
        "ls; ls",
        "ls | wc -l",
        "ls > out",
        "ls > /dev/null",
        "X=1 ls",
        "ls $x",
        "$x",
        "git config x y",
        "ls 'x",
        "docker run x",
        "make test",
    ];
    let offered: String = lines
        .iter()
        .map(|line| format!("{line}\n    {}\n", propose(&in_shell(line)).unwrap_or("(none)".to_owned())))
        .collect();
    expect![[r#"
        cargo test -p core
            cargo test *
        cargo test
            cargo test *
        git push origin main
            git push *
        git -C x push
            git -C x push
        npm run build -- --x
            npm run build *
        npm run
            (none)
        npm exec x
            (none)
        npm install left-pad
            npm install *
        ls -la src
            ls -la src
        grep -rn 'a b' src/*.rs
            (none)
        grep -rn 'a b*' src
            grep -rn 'a b*' src
        echo "it's"
            echo 'it'\''s'
        pwd
            pwd
        timeout 5 cargo test
            cargo test *
        /usr/bin/cargo test
            cargo test *
        ./run.sh x
            (none)
        python3 x.py
            (none)
        python3.12 -c x
            (none)
        bash x.sh
            (none)
        sh -c 'a; b'
            (none)
        rm x
            (none)
        sudo ls
            (none)
        curl x
            (none)
        find . -name x
            (none)
        ls; ls
            (none)
        ls | wc -l
            (none)
        ls > out
            (none)
        ls > /dev/null
            ls
        X=1 ls
            (none)
        ls $x
            (none)
        $x
            (none)
        git config x y
            (none)
        ls 'x
            (none)
        docker run x
            (none)
        make test
            (none)
    "#]]
    .assert_eq(&offered);
}
