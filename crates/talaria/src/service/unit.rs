//! The text of the service file, for systemd and for launchd. Pure: the same on every system, and fixed by
//! tests.
//!
//! Codex outlives the engine, and with it every running turn. Both systems would by default end everything that a
//! service started: `KillMode=process` and `AbandonProcessGroup` keep them from it.

use std::path::{Path, PathBuf};

use super::mark;

/// Who runs services here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum System {
    /// Linux: a unit of the user's.
    Systemd,
    /// macOS: an agent of the user's.
    Launchd,
}

/// The command of the service.
#[derive(Clone, Debug)]
pub(crate) struct Unit {
    pub(crate) program: PathBuf,
    /// Talaria's home, where it is not the usual one.
    pub(crate) home: Option<PathBuf>,
}

/// The label of the launchd agent.
const LABEL: &str = "talaria.engine";

impl System {
    /// The one of this machine.
    pub(crate) fn here() -> Self {
        if cfg!(target_os = "macos") { Self::Launchd } else { Self::Systemd }
    }

    /// Where the file belongs; `configuration` is what `XDG_CONFIG_HOME` names.
    pub(crate) fn path(self, user_home: &Path, configuration: Option<&Path>) -> PathBuf {
        match self {
            Self::Systemd => {
                let configuration = configuration.map_or_else(|| user_home.join(".config"), Path::to_owned);
                configuration.join("systemd/user/talaria.service")
            }
            Self::Launchd => user_home.join(format!("Library/LaunchAgents/{LABEL}.plist")),
        }
    }

    /// The commands that start the service, now and at every login.
    pub(crate) fn enable(self, file: &Path) -> Vec<Vec<String>> {
        match self {
            Self::Systemd => vec![
                words(&["systemctl", "--user", "daemon-reload"]),
                words(&["systemctl", "--user", "enable", "--now", "talaria"]),
            ],
            Self::Launchd => vec![words(&["launchctl", "load", "-w", &file.to_string_lossy()])],
        }
    }

    /// The commands that stop it.
    pub(crate) fn disable(self, file: &Path) -> Vec<Vec<String>> {
        match self {
            Self::Systemd => vec![words(&["systemctl", "--user", "disable", "--now", "talaria"])],
            Self::Launchd => vec![words(&["launchctl", "unload", "-w", &file.to_string_lossy()])],
        }
    }

    /// The whole file, marked as ours.
    pub(crate) fn text(self, unit: &Unit) -> String {
        match self {
            Self::Systemd => mark::sign(&systemd(unit), mark::Comment::Hash),
            Self::Launchd => mark::sign(&launchd(unit), mark::Comment::Xml),
        }
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn systemd(unit: &Unit) -> String {
    let home = unit
        .home
        .as_ref()
        .map(|home| format!("Environment={}\n", quoted(&format!("TALARIA_HOME={}", home.display()))));
    format!(
        "[Unit]\n\
         Description=Talaria engine\n\
         \n\
         [Service]\n\
         ExecStart={} serve\n\
         {}\
         # Codex and its turns outlive the engine; the next one resumes them.\n\
         KillMode=process\n\
         Restart=on-failure\n\
         RestartSec=2\n\
         \n\
         [Install]\n\
         WantedBy=default.target\n",
        quoted(&unit.program.display().to_string()).replace('$', "$$"),
        home.unwrap_or_default(),
    )
}

/// A word as systemd reads it: `%` begins a specifier, quotes and backslashes are its own.
fn quoted(word: &str) -> String {
    let word = word.replace('%', "%%");
    if word.chars().all(|c| c.is_ascii_alphanumeric() || "/._-=+%".contains(c)) {
        return word;
    }
    format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\""))
}

fn launchd(unit: &Unit) -> String {
    let home = unit.home.as_ref().map(|home| {
        format!(
            "\t<key>EnvironmentVariables</key>\n\t<dict>\n\t\t<key>TALARIA_HOME</key>\n\t\t<string>{}</string>\n\t</dict>\n",
            escaped(&home.display().to_string())
        )
    });
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n\
         <plist version=\"1.0\">\n\
         <dict>\n\
         \t<key>Label</key>\n\t<string>{LABEL}</string>\n\
         \t<key>ProgramArguments</key>\n\t<array>\n\t\t<string>{}</string>\n\t\t<string>serve</string>\n\t</array>\n\
         {}\
         \t<key>RunAtLoad</key>\n\t<true/>\n\
         \t<key>KeepAlive</key>\n\t<dict>\n\t\t<key>SuccessfulExit</key>\n\t\t<false/>\n\t</dict>\n\
         \t<!-- Codex and its turns outlive the engine; the next one resumes them. -->\n\
         \t<key>AbandonProcessGroup</key>\n\t<true/>\n\
         </dict>\n\
         </plist>\n",
        escaped(&unit.program.display().to_string()),
        home.unwrap_or_default(),
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn plain() -> Unit {
        Unit { program: "/usr/local/bin/talaria".into(), home: None }
    }

    fn odd() -> Unit {
        Unit { program: "/opt/my \"tools\"/$x/talaria".into(), home: Some("/home/a&b/100% <mine>".into()) }
    }

    #[test]
    fn a_systemd_unit_leaves_codex_alone() {
        expect![[r#"
            # written by `talaria service install`, removed by `talaria service uninstall`; checksum cd017c3862542453
            [Unit]
            Description=Talaria engine

            [Service]
            ExecStart=/usr/local/bin/talaria serve
            # Codex and its turns outlive the engine; the next one resumes them.
            KillMode=process
            Restart=on-failure
            RestartSec=2

            [Install]
            WantedBy=default.target
        "#]]
        .assert_eq(&System::Systemd.text(&plain()));
        expect![[r##"
            # written by `talaria service install`, removed by `talaria service uninstall`; checksum 45da1dc2239abbcf
            [Unit]
            Description=Talaria engine

            [Service]
            ExecStart="/opt/my \"tools\"/$$x/talaria" serve
            Environment="TALARIA_HOME=/home/a&b/100%% <mine>"
            # Codex and its turns outlive the engine; the next one resumes them.
            KillMode=process
            Restart=on-failure
            RestartSec=2

            [Install]
            WantedBy=default.target
        "##]]
        .assert_eq(&System::Systemd.text(&odd()));
    }

    #[test]
    fn a_launchd_agent_leaves_codex_alone() {
        expect![[r#"
            <?xml version="1.0" encoding="UTF-8"?>
            <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
            <plist version="1.0">
            <dict>
            	<key>Label</key>
            	<string>talaria.engine</string>
            	<key>ProgramArguments</key>
            	<array>
            		<string>/usr/local/bin/talaria</string>
            		<string>serve</string>
            	</array>
            	<key>RunAtLoad</key>
            	<true/>
            	<key>KeepAlive</key>
            	<dict>
            		<key>SuccessfulExit</key>
            		<false/>
            	</dict>
            	<!-- Codex and its turns outlive the engine; the next one resumes them. -->
            	<key>AbandonProcessGroup</key>
            	<true/>
            </dict>
            </plist>
            <!-- written by `talaria service install`, removed by `talaria service uninstall`; checksum 1bd876607e95a716 -->
        "#]]
        .assert_eq(&System::Launchd.text(&plain()));
        expect![[r#"
            <?xml version="1.0" encoding="UTF-8"?>
            <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
            <plist version="1.0">
            <dict>
            	<key>Label</key>
            	<string>talaria.engine</string>
            	<key>ProgramArguments</key>
            	<array>
            		<string>/opt/my "tools"/$x/talaria</string>
            		<string>serve</string>
            	</array>
            	<key>EnvironmentVariables</key>
            	<dict>
            		<key>TALARIA_HOME</key>
            		<string>/home/a&amp;b/100% &lt;mine&gt;</string>
            	</dict>
            	<key>RunAtLoad</key>
            	<true/>
            	<key>KeepAlive</key>
            	<dict>
            		<key>SuccessfulExit</key>
            		<false/>
            	</dict>
            	<!-- Codex and its turns outlive the engine; the next one resumes them. -->
            	<key>AbandonProcessGroup</key>
            	<true/>
            </dict>
            </plist>
            <!-- written by `talaria service install`, removed by `talaria service uninstall`; checksum e507b1bbd2668dfb -->
        "#]]
        .assert_eq(&System::Launchd.text(&odd()));
    }

    #[test]
    fn the_file_lies_where_the_system_looks() {
        let home = Path::new("/home/a");
        let path = |system: System, config: Option<&str>| {
            system.path(home, config.map(Path::new)).display().to_string()
        };
        assert_eq!(path(System::Systemd, None), "/home/a/.config/systemd/user/talaria.service");
        assert_eq!(path(System::Systemd, Some("/c")), "/c/systemd/user/talaria.service");
        assert_eq!(path(System::Launchd, Some("/c")), "/home/a/Library/LaunchAgents/talaria.engine.plist");
    }
}
