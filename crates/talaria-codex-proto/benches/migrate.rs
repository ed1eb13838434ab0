//! `cargo bench -p talaria-core --bench migrate`: how long it takes to move 50 MCP servers into Codex's file, against a
//! limit. Prints; fails nothing.
//!
//! Measures the same steps as the reference: the servers are translated, the file is read, planned, written to a
//! temporary file and renamed, without waiting for the disk and without checking the result. A user's file of 10 MB shows
//! work that is not linear.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench stops at the first surprise and prints"
)]

use std::fs::{self, File};
use std::hint::black_box;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use talaria_codex_proto::codex_config::{Added, Additions, check, plan, remove};
use talaria_core::config;
use talaria_core::servers::{Literals, Server, translate};
use toml_edit::Document;

const SERVERS: usize = 50;
const MEGABYTE: usize = 1_000_000;

/// The reference's time, on a machine with two cores.
const REFERENCE: [(&str, &str); 3] =
    [("migrating 50 servers", "0.95 ms"), ("writing alone", "0.07 ms"), ("ratio", "13.6x")];

fn main() {
    println!("{:<58} {:>12} {:>12}", "figure", "measured", "aim");
    let folder = Folder::new();
    let users = users_file(4_000);
    let (old_servers, new_servers) = (servers("1.0.0"), servers("1.0.1"));
    let (old, new) = (additions(&old_servers), additions(&new_servers));
    let first = plan(&users, &old, None).unwrap();
    let second = plan(&first.text, &new, Some(&first.added)).unwrap();
    assert_ne!(first.text, second.text);
    assert_eq!(remove(&second.text, &second.added).unwrap().text, users);

    let writing = time(|| folder.replace(&first.text));
    let migrating = time_after(|| folder.replace(&users), || folder.migrate(&additions(&old_servers), None));
    row("migrating 50 servers: translate, read, plan, write, rename", &milliseconds(migrating), "<= 0.3 ms");
    let translating = time(|| drop(black_box(additions(&old_servers))));
    row("  translating alone", &milliseconds(translating), "-");
    row("  writing alone", &milliseconds(writing), "-");
    row("  ratio", &format!("{:.1}x", migrating.as_secs_f64() / writing.as_secs_f64()), "-");
    let checking = time(|| drop(black_box(check(&users, &first.text))));
    row("not in it: reading the result as TOML", &milliseconds(checking), "-");
    let again = time_after(
        || folder.replace(&first.text),
        || folder.migrate(&additions(&new_servers), Some(&first.added)),
    );
    row("migrating again, everything changed", &milliseconds(again), "-");
    let parsing = time(|| drop(black_box(Document::parse(first.text.as_str()))));
    row("  of which reading the old text as TOML", &milliseconds(parsing), "-");
    let planning = |current: &str, additions: &Additions| {
        milliseconds(time(|| drop(black_box(plan(current, additions, Some(&first.added))))))
    };
    row("planning alone", &planning(&users, &old), "-");
    row("  everything changed", &planning(&first.text, &new), "-");
    row("  nothing to do", &planning(&first.text, &old), "-");
    row("removing", &milliseconds(time(|| drop(black_box(remove(&first.text, &first.added))))), "-");
    println!();
    println!("{:<58} {:>12}", "the reference, says the issue", "measured");
    for (figure, measured) in REFERENCE {
        row(figure, measured, "");
    }
    println!();
    println!("{:<58} {:>12} {:>12}", "planning for large files: time for twice the text", "measured", "aim");
    for (name, make) in LARGE {
        large(name, *make);
    }
}

fn row(figure: &str, measured: &str, aim: &str) {
    println!("{figure:<58} {measured:>12} {aim:>12}");
}

fn milliseconds(time: Duration) -> String {
    format!("{:.3} ms", time.as_secs_f64() * 1000.0)
}

fn time(work: impl FnMut()) -> Duration {
    time_after(|| {}, work)
}

fn time_after(prepare: impl Fn(), mut work: impl FnMut()) -> Duration {
    // Everything that disturbs a run makes it slower; a short one is left in peace now and then on a busy machine.
    let once = || {
        prepare();
        let begun = Instant::now();
        work();
        begun.elapsed()
    };
    std::iter::repeat_with(once).take(300).min().unwrap_or_default()
}

/// A directory with a configuration file; deleted at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let path = std::env::temp_dir().join(format!("talaria-bench-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self) -> PathBuf {
        self.0.join("config.toml")
    }

    fn replace(&self, text: &str) {
        let beside = self.0.join(".config.toml.new");
        write(&beside, text);
        fs::rename(&beside, self.file()).unwrap();
    }

    fn migrate(&self, additions: &Additions, before: Option<&Added>) {
        let current = fs::read_to_string(self.file()).unwrap();
        let planned = plan(&current, additions, before).unwrap();
        self.replace(&planned.text);
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

fn write(path: &Path, text: &str) {
    File::create(path).unwrap().write_all(text.as_bytes()).unwrap();
}

/// Servers as people have them in Talaria's file: most are programs with arguments and variables, some are addresses.
fn servers(version: &str) -> Vec<Server> {
    let server = |number: usize| {
        let how = if number % 4 == 3 {
            format!(
                "url = \"https://mcp-{number}.example.com/v1/mcp?version={version}\"\n\
                 headers = {{ Authorization = \"Bearer ${{SERVICE_{number}_TOKEN}}\", X-Region = \"eu\" }}\n"
            )
        } else {
            format!(
                "command = \"npx\"\n\
                 args = [\"-y\", \"@example/mcp-server-{number}@{version}\", \"--root=/home/me/projects/{number}\"]\n\
                 env = {{ LOG_LEVEL = \"warn\", SERVICE_{number}_KEY = \"${{SERVICE_{number}_KEY}}\" }}\n"
            )
        };
        format!("[mcp_servers.service-{number}]\n{how}connect_timeout = 20\ntimeout = 120\n")
    };
    let text: String = (0..SERVERS).map(server).collect();
    let servers = config::parse(&text).unwrap().config.servers;
    assert_eq!(servers.len(), SERVERS);
    servers
}

fn additions(servers: &[Server]) -> Additions {
    let translated = servers.iter().map(|server| {
        let translated = translate(server, Literals::Refer);
        (translated.name, translated.server.unwrap())
    });
    Additions {
        servers: translated.collect(),
        plugins: ["github", "linear", "gmail"].map(|name| format!("{name}@openai-curated")).into(),
        default_permissions: Some(":workspace".to_owned()),
        undecided: Vec::new(),
    }
}

/// A configuration of at least `size` bytes, as Codex and its user write it.
fn users_file(size: usize) -> String {
    let mut text = "# Codex\nmodel = \"gpt-5.5\"\nmodel_reasoning_effort = \"high\" # slow\n\n".to_owned();
    text.push_str(
        "[mcp_servers.mine]\ncommand = \"/usr/local/bin/mine\"\nargs = [\n  \"--all\", # of them\n]\n",
    );
    let mut number = 0;
    while text.len() < size {
        let project = format!("\n[projects.\"/home/me/projects/{number}\"]\ntrust_level = \"trusted\"\n");
        text.push_str(&project);
        number += 1;
    }
    text
}

/// Makes a text of at least this many bytes.
type Make = fn(usize) -> String;

/// Texts on which careless planning takes minutes.
const LARGE: &[(&str, Make)] = &[
    ("projects", users_file),
    ("servers of the user", |size| numbered(size, "[mcp_servers.own-{}]\ncommand = 'x'\n")),
    ("servers under one header", |size| format!("[mcp_servers]\n{}", numbered(size, "s{}.command = 'x'\n"))),
    ("markers without a partner", |size| numbered(size, "# <<< talaria 01234567\n")),
    ("blank lines", |size| "\n".repeat(size)),
    ("comments", |size| "# c\n".repeat(size / 4)),
    ("one long array", |size| format!("a = [\n{}]\n", "'x', # [\n".repeat(size / 9))),
    ("one long string", |size| format!("a = '''{}'''\n", "''\n".repeat(size / 3))),
];

fn numbered(size: usize, line: &str) -> String {
    let mut text = String::with_capacity(size + 100);
    let mut number = 0;
    while text.len() < size {
        text.push_str(&line.replace("{}", &number.to_string()));
        number += 1;
    }
    text
}

fn large(name: &str, make: Make) {
    let additions = additions(&servers("1.0.0"));
    let took = |text: &str| {
        let once = || {
            let begun = Instant::now();
            drop(black_box(plan(text, &additions, None)));
            begun.elapsed()
        };
        std::iter::repeat_with(once).take(3).min().unwrap_or_default()
    };
    let (one, two) = (make(5 * MEGABYTE), make(10 * MEGABYTE));
    assert!(plan(&one, &additions, None).is_ok(), "{name}");
    let (first, second) = (took(&one), took(&two));
    let ratio = second.as_secs_f64() / first.as_secs_f64();
    row(&format!("{name}, 10 MB"), &format!("{:.0} ms {ratio:.1}x", second.as_secs_f64() * 1000.0), "~ 2.0x");
}
