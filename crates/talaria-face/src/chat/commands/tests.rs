use expect_test::expect;

use super::*;
use crate::render::Look;

const PIPE: Look = Look { color: false, width: Some(80), live: false, unicode: true };

#[test]
fn every_example_of_the_table_is_read_as_its_own_command() {
    for one in TABLE {
        let command = parse(one.example).unwrap_or_else(|mistake| panic!("{}: {mistake}", one.example));
        assert_eq!(definition(&command).map(|found| found.name), Some(one.name), "{}", one.example);
    }
}

#[test]
fn help_lists_every_command() {
    expect![[r#"
        /new                      begin a new conversation; the old one stays
        /resume [SESSION]         go on with a conversation, or choose one
        /sessions                 list the conversations, the latest first
        /search WORDS             find words in everything that was said and done
        /model [MODEL]            choose the model from the next turn on
        /reasoning [EFFORT]       choose how much the model thinks, from the next turn
        /compact                  shorten what the model keeps in mind
        /usage                    show the tokens used and the limits of the account
        /status                   show what runs, where, and what it may do
        /tasks                    list the tasks in the background
        /task ACTION [TASK] …     do what `talaria task` does
        /requests                 list everything that waits for your answer
        /approve [REQUEST] [once|session|always]
                                  say yes to a request; else to the one shown
        /deny [REQUEST] [REASON]  say no to a request; the model is told why
        /stop                     stop the running turn; the conversation stays
        /steer TEXT               say something to the running turn
        /queue TEXT               say something when the running turn has ended
        /codex-runtime [auto|codex_app_server|on|off]
                                  show or choose who runs the turns
        /export [FILE]            write the conversation into a file
        /theme [auto|color|plain]
                                  show or choose the looks
        /help [COMMAND]           list commands and keys, or tell about one command
        /quit                     leave; nothing stops
        !COMMAND                  run a shell command in the conversation's sandbox
        @FILE                     name a file; Tab or an arrow chooses, Enter puts it in
        //TEXT                    say a text that begins with a slash
    "#]]
    .assert_eq(&help(None, PIPE).unwrap());
}
