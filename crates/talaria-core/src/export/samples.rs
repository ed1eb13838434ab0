//! A conversation that the tests of the formats write down.

use jiff::Timestamp;

use super::PatchBook;
use crate::api::{Kind, Numbered, SessionDetail, SessionInfo, StoredMessage};
use crate::event::Event;
use crate::ids::{ItemId, SessionId};
use crate::item::{FileAction, FileChange, Item, ItemBody, Status};
use crate::transcript::{Message, ToolCall};

pub(super) fn detail() -> SessionDetail {
    let at = |second| Timestamp::from_second(second).unwrap();
    let info = SessionInfo {
        id: SessionId::new("0199a000"),
        title: "count\nthe `words`".to_owned(),
        runtime: "codex_app_server".to_owned(),
        updated_at: at(1050),
        running: false,
        queued: false,
        kind: Kind::Exec,
        task: None,
        cwd: "/work/a`b".to_owned(),
        provider: None,
        model: Some("gpt-5.5".to_owned()),
        created_at: at(1000),
        last_seq: 9,
    };
    SessionDetail {
        info,
        thread: None,
        codex: Some("0.166.0".to_owned()),
        origin: None,
        forked_from: None,
        turns: Vec::new(),
        reviews: Vec::new(),
        messages: Vec::new(),
        undone_messages: Vec::new(),
        budgets: Vec::new(),
        older_messages: 0,
    }
}

pub(super) fn messages() -> Vec<StoredMessage> {
    let command = r#"{"command":"wc -w a","cwd":"/work/a`b"}"#;
    let patch = r#"{"changes":[{"kind":"update","path":"/work/a"}]}"#;
    let calling = Message {
        content: None,
        tool_calls: vec![
            ToolCall::new("c", "exec_command", command.to_owned()),
            ToolCall::new("p", "apply_patch", patch.to_owned()),
        ],
        reasoning: Some("two\nlines".to_owned()),
        ..Message::assistant("")
    };
    let all = [
        (1, Message::user("count the words")),
        (1, calling),
        (1, Message::tool("c", "```\n5 a\n````\n")),
        (1, Message::tool("p", "1 update: /work/a")),
        (1, Message::assistant("There are **5** words.\n\n- done <script>\n")),
        (2, Message::user("thanks")),
    ];
    (1..)
        .zip(all)
        .map(|(seq, (turn, message))| StoredMessage { seq, turn, undone: turn == 2, message })
        .collect()
}

pub(super) fn patches() -> PatchBook {
    let change = FileChange {
        path: "/work/a".to_owned(),
        action: FileAction::Update,
        move_to: None,
        diff: "@@ -1 +1 @@\n-one\n+<b>two</b>\n".to_owned(),
    };
    let body = ItemBody::Patch { status: Status::Completed, changes: vec![change] };
    let mut patches = PatchBook::default();
    patches.note(Numbered {
        session: SessionId::new("0199a000"),
        seq: 2,
        at: Timestamp::UNIX_EPOCH,
        turn: Some(1),
        event: Event::ItemCompleted { item: Box::new(Item { id: ItemId::new("p"), body }) },
    });
    patches
}
