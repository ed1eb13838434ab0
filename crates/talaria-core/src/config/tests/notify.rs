//! Promises of the section `[notify]`: no secret is repeated, and a missing setting for a target is named.

use expect_test::expect;

use super::*;

#[test]
fn what_the_targets_of_notices_need_is_read() {
    let text = r#"
[notify]
webhook_secret_file = "~/.config/hook"
ntfy_server = "https://ntfy.example/base"
ntfy_token_env = "NTFY_TOKEN"
email_server = "smtp+starttls://Mail.example.org"
email_from = "talaria@example.org"
email_user = "ada"
email_password_env = "MAIL_PASSWORD"
allow_private = ["Localhost:8080", "10.0.0.7", "[::1]:25", "::1"]
attempts = 3
"#;
    let notify = check(text, &expect![""]).notify;
    assert_eq!(notify.webhook_secret.file.as_deref(), Some("~/.config/hook"));
    assert_eq!(notify.ntfy_server.as_ref().map(url::Url::as_str), Some("https://ntfy.example/base/"));
    assert_eq!(notify.ntfy_token.env.as_deref(), Some("NTFY_TOKEN"));
    let server =
        MailServer { security: MailSecurity::StartTls, host: "mail.example.org".to_owned(), port: 587 };
    assert_eq!(notify.email_server, Some(server));
    let hosts: Vec<String> = notify.allow_private.iter().map(ToString::to_string).collect();
    assert_eq!(hosts, ["localhost:8080", "10.0.0.7", "[::1]:25", "[::1]"]);
    assert_eq!(notify.attempts, Some(3));
}

#[test]
fn a_wrong_value_of_notify_is_told_and_never_repeated() {
    let text = r#"[notify]
webhook_secret_env = "hunter2!"
webhook_secret = "hunter2"
email_password = "hunter2"
ntfy_server = "https://u:hunter2@ntfy.example"
email_server = "smtps://ada:hunter2@mail.example.org"
email_from = "hunter2"
allow_private = ["localhost:8080", "http://x/", "a:b", "x@y", 7]
attempts = 1000
"#;
    let config = check(
        text,
        &expect![[r#"
        error line 2: notify.webhook_secret_env: must be the name of an environment variable, not the secret itself
        warning line 3: notify.webhook_secret: unknown key; did you mean notify.webhook_secret_env?
        warning line 4: notify.email_password: unknown key; did you mean notify.email_password_env?
        error line 5: notify.ntfy_server: must be the address of a server, such as https://ntfy.sh
        error line 6: notify.email_server: must not hold a user or a password: set notify.email_user and its password
        error line 7: notify.email_from: must be an address such as talaria@example.org
        error line 8: notify.allow_private: a host is a name or an address, with a port or without: "localhost:8080"
        error line 8: notify.allow_private: a host is a name or an address, with a port or without: "localhost:8080"
        error line 8: notify.allow_private: a host is a name or an address, with a port or without: "localhost:8080"
        error line 8: notify.allow_private: a host is a name or an address, with a port or without: "localhost:8080"
        error line 9: notify.attempts: must be at most 100, not 1000
    "#]],
    );
    assert_eq!(config.notify.allow_private.len(), 1);
    check(
        "notify.email_server = \"mail.example.org:25\"\nnotify.allow_private = \"x\"\n",
        &expect![[r#"
            error line 1: notify.email_server: must be smtps://HOST, smtp+starttls://HOST or smtp://HOST, with :PORT if it is not the usual one
            error line 2: notify.allow_private: must be a list of hosts, not a string; write ["localhost:8080"]
        "#]],
    );
}

#[test]
fn a_target_that_could_not_be_served_names_the_key_to_set() {
    let ready = |config: &str, target: &str| {
        let parsed = parse(config).unwrap();
        assert!(parsed.problems.is_empty(), "{:?}", parsed.problems);
        let ready = parsed.config.notify.ready(&target.parse().unwrap());
        ready.map_or_else(|error| format!("{error}\n"), |()| "ready\n".to_owned())
    };
    let mail = "[notify]\nemail_server = \"smtp://mail.example.org\"\nemail_from = \"t@example.org\"\n";
    let signed = "notify.webhook_secret_env = \"S\"\nnotify.allow_private = [\"localhost:8080\"]\n";
    let told = [
        ready("", "local"),
        ready("", "command:tell"),
        ready("", "webhook:https://example.org/KEY"),
        ready(signed, "webhook:https://example.org/KEY"),
        ready(signed, "webhook:http://example.org/KEY"),
        ready(signed, "webhook:http://localhost:8080/KEY"),
        ready(signed, "webhook:http://localhost:8081/KEY"),
        ready("", "ntfy:topic"),
        ready("", "ntfy:http://ntfy.example/topic"),
        ready("", "email:a@example.org"),
        ready("notify.email_server = \"smtps://m.example\"", "email:a@example.org"),
        ready(mail, "email:a@example.org"),
        ready(&format!("{mail}email_user = \"u\"\n"), "email:a@example.org"),
        ready(&format!("{mail}email_user = \"u\"\nemail_password_env = \"P\"\n"), "email:a@example.org"),
        ready(&format!("{mail}email_password_env = \"P\"\n"), "email:a@example.org"),
    ];
    expect![[r#"
        ready
        ready
        webhook:https://example.org cannot be signed: set notify.webhook_secret_file or notify.webhook_secret_env
        ready
        webhook:http://example.org is not protected: use https://, or list the host in notify.allow_private
        ready
        webhook:http://localhost:8081 is not protected: use https://, or list the host in notify.allow_private
        ready
        ntfy:http://ntfy.example is not protected: use https://, or list the host in notify.allow_private
        email:a@example.org needs a mail server: set notify.email_server, for example smtps://mail.example.org
        email:a@example.org needs a sender: set notify.email_from
        ready
        email:a@example.org needs a password: set notify.email_password_file or notify.email_password_env
        email:a@example.org would send the password unprotected: use smtps:// or smtp+starttls://
        email:a@example.org has a password but no user: set notify.email_user
    "#]].assert_eq(&told.concat());
}
