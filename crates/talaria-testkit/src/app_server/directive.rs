//! The directives of a transcript, one function each.
//!
//! In every message, a string `"$id"` is replaced by the id of the message that was expected last, and `"$.a.b"` for
//! a value inside that message, `"$.a.b|x"` with `x` for when it is missing; `"$sandbox"` for the sandbox that it
//! asks for.

use serde_json::{Value, json};

/// Waits for a request or notification; others are handled or refused meanwhile.
pub fn expect(method: &str) -> Value {
    json!({ "expect": method })
}

/// Waits for the client's answer to our request with this id.
pub fn expect_answer(id: impl Into<Value>) -> Value {
    json!({ "expect_answer": id.into() })
}

/// Answers what was expected last with a result.
pub fn reply(result: Value) -> Value {
    one("reply", result)
}

/// Answers what was expected last with an error object.
pub fn reply_error(error: Value) -> Value {
    one("reply_error", error)
}

/// Sends any message.
pub fn send(message: Value) -> Value {
    one("send", message)
}

/// Sends a notification.
pub fn notify(method: &str, params: Value) -> Value {
    let mut message = json!({ "method": method });
    message["params"] = params;
    send(message)
}

/// Sends a message many times; `$n` in its strings counts from 0.
pub fn repeat(times: u64, message: Value) -> Value {
    let mut directive = one("send", message);
    directive["repeat"] = json!(times);
    directive
}

/// Sends text that need not be JSON.
pub fn raw(text: &str) -> Value {
    json!({ "raw": text })
}

/// Sends bytes that need not be UTF-8, as one line or text frame.
pub fn raw_bytes(bytes: &[u8]) -> Value {
    let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    json!({ "raw_hex": hex.join(" ") })
}

/// Sends one valid notification that is exactly this many bytes long.
pub fn huge(bytes: usize) -> Value {
    json!({ "huge": bytes })
}

/// Prints a line on standard error.
pub fn stderr(text: &str) -> Value {
    json!({ "stderr": text })
}

/// Ends the process.
pub fn exit(code: i32) -> Value {
    json!({ "exit": code })
}

/// Closes the connection; on a socket the play continues with the next one, on stdio the process ends.
pub fn close() -> Value {
    json!({ "close": true })
}

/// Reads and logs from here on, but never answers.
pub fn hang() -> Value {
    json!({ "hang": true })
}

/// Does nothing at all from here on, not even read.
pub fn freeze() -> Value {
    json!({ "freeze": true })
}

/// Plays `directives` whenever this method arrives and is not expected; an empty list means silence.
pub fn on(method: &str, directives: impl IntoIterator<Item = Value>) -> Value {
    json!({ "on": method, "do": directives.into_iter().collect::<Vec<_>>() })
}

/// Plays the directives again and again.
pub fn forever(directives: impl IntoIterator<Item = Value>) -> Value {
    json!({ "loop": directives.into_iter().collect::<Vec<_>>() })
}

/// Ignores SIGTERM and SIGINT from here on.
pub fn ignore_signals() -> Value {
    json!({ "ignore_signals": true })
}

/// Starts a shell command as a detached child.
pub fn spawn(command: &str) -> Value {
    json!({ "spawn": command })
}

fn one(key: &str, value: Value) -> Value {
    Value::Object([(key.to_owned(), value)].into_iter().collect())
}
