//! Calls for which Codex has no step, and images that the model did not get: reported by evidence alone, and
//! once.

use expect_test::expect;

use super::script::check;

#[test]
fn a_call_that_codex_refuses_is_told_as_failed_with_what_the_model_heard() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < {"method":"rawResponseItem/completed","params":{"threadId":"t","turnId":"u","item":{"type":"custom_tool_call","call_id":"p1","name":"apply_patch","input":"*** Begin Patch"}}}
        < {"method":"rawResponseItem/completed","params":{"threadId":"t","turnId":"u","item":{"type":"custom_tool_call_output","call_id":"p1","output":"apply_patch verification failed: Failed to find expected lines in /w/a:\nx"}}}
          => emit item_completed item.error="apply_patch verification failed: Failed to find expected lines in /w/a:\nx" item.id=p1 item.kind=failed_call item.tool=apply_patch
        < {"method":"rawResponseItem/completed","params":{"threadId":"t","turnId":"u","item":{"type":"function_call","call_id":"c1","name":"update_plan","arguments":"{}"}}}
        < {"method":"rawResponseItem/completed","params":{"threadId":"t","turnId":"u","item":{"type":"function_call_output","call_id":"c1","output":"unsupported call: update_plan"}}}
          => emit item_completed item.error="unsupported call: update_plan" item.id=c1 item.kind=failed_call item.tool=update_plan
        < u ends completed
          => emit outcome outcome=completed
          => finish completed exit 0
    "#]]);
}

/// A command that the sandbox stops at once has no step.
#[test]
fn a_command_without_a_step_is_told_with_its_exit_code() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < {"method":"rawResponseItem/completed","params":{"threadId":"t","turnId":"u","item":{"type":"function_call","call_id":"c1","name":"exec_command","arguments":"{\"cmd\":\"echo x > f\"}"}}}
        < {"method":"rawResponseItem/completed","params":{"threadId":"t","turnId":"u","item":{"type":"function_call_output","call_id":"c1","output":"Chunk ID: 1\nProcess exited with code 1\nOutput:\nRead-only file system\n"}}}
          => emit item_completed item.command="echo x > f" item.cwd=/w item.exit_code=1 item.id=c1 item.kind=command item.output="Read-only file system\n" item.status=failed
        < u ends completed
          => emit outcome outcome=completed
          => finish completed exit 0
    "#]]);
}

/// Codex does not stream the first output of a command; only the model gets it before the step ends.
#[test]
fn output_that_only_the_model_got_is_told_unless_some_was_streamed() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < {"method":"rawResponseItem/completed","params":{"threadId":"t","turnId":"u","item":{"type":"function_call","call_id":"c1","name":"exec_command","arguments":"{\"cmd\":\"ls\"}"}}}
        < u item started command c1
          => emit item_started item.command=ls item.cwd=/w item.id=c1 item.kind=command item.status=in_progress
        < {"method":"rawResponseItem/completed","params":{"threadId":"t","turnId":"u","item":{"type":"function_call_output","call_id":"c1","output":"Chunk ID: 1\nProcess running with session ID 7\nOutput:\nup\n"}}}
          => emit output_delta delta="up\n" item=c1
        < {"method":"rawResponseItem/completed","params":{"threadId":"t","turnId":"u","item":{"type":"function_call","call_id":"c2","name":"exec_command","arguments":"{\"cmd\":\"ls\"}"}}}
        < u item started command c2
          => emit item_started item.command=ls item.cwd=/w item.id=c2 item.kind=command item.status=in_progress
        < {"method":"item/commandExecution/outputDelta","params":{"threadId":"t","turnId":"u","itemId":"c2","delta":"p\n"}}
          => emit output_delta delta="p\n" item=c2
        < {"method":"rawResponseItem/completed","params":{"threadId":"t","turnId":"u","item":{"type":"function_call_output","call_id":"c2","output":"Chunk ID: 1\nProcess running with session ID 7\nOutput:\nup\n"}}}
        < {"method":"rawResponseItem/completed","params":{"threadId":"t","turnId":"u","item":{"type":"function_call_output","call_id":"c3","output":"Chunk ID: 1\nProcess running with session ID 7\nOutput:\nup\n"}}}
    "#]]);
}

/// Its step may end before or after its output.
#[test]
fn a_failure_that_has_a_step_is_not_told_again() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < {"method":"rawResponseItem/completed","params":{"threadId":"t","turnId":"u","item":{"type":"function_call","call_id":"c1","name":"exec_command","arguments":"{\"cmd\":\"ls\"}"}}}
        < u item started command c1
          => emit item_started item.command=ls item.cwd=/w item.id=c1 item.kind=command item.status=in_progress
        < {"method":"rawResponseItem/completed","params":{"threadId":"t","turnId":"u","item":{"type":"function_call_output","call_id":"c1","output":"Chunk ID: 1\nProcess exited with code 3\nOutput:\n"}}}
        < u item completed command c1
          => emit item_completed item.command=ls item.cwd=/w item.id=c1 item.kind=command item.status=completed
        < {"method":"rawResponseItem/completed","params":{"threadId":"t","turnId":"u","item":{"type":"custom_tool_call","call_id":"p1","name":"apply_patch","input":"*** Begin Patch"}}}
        < u item started patch p1
          => emit item_started item.changes=[{"action":"add","diff":"hi","move_to":null,"path":"a.txt"}] item.id=p1 item.kind=patch item.status=in_progress
        < u item completed patch p1
          => emit item_completed item.changes=[{"action":"add","diff":"hi","move_to":null,"path":"a.txt"}] item.id=p1 item.kind=patch item.status=completed
        < {"method":"rawResponseItem/completed","params":{"threadId":"t","turnId":"u","item":{"type":"custom_tool_call_output","call_id":"p1","output":"patch rejected: by whom it was"}}}
        < u ends completed
          => emit outcome outcome=completed
          => finish completed exit 0
    "#]]);
}

#[test]
fn a_step_that_comes_after_its_call_was_told_as_failed_is_not_told() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < {"method":"rawResponseItem/completed","params":{"threadId":"t","turnId":"u","item":{"type":"custom_tool_call","call_id":"p1","name":"apply_patch","input":"*** Begin Patch"}}}
        < {"method":"rawResponseItem/completed","params":{"threadId":"t","turnId":"u","item":{"type":"custom_tool_call_output","call_id":"p1","output":"apply_patch verification failed: no"}}}
          => emit item_completed item.error="apply_patch verification failed: no" item.id=p1 item.kind=failed_call item.tool=apply_patch
        < u item started patch p1
        < u item completed patch p1
        < u ends completed
          => emit outcome outcome=completed
          => finish completed exit 0
    "#]]);
}

/// Nor is one of another turn, or without a call.
#[test]
fn an_output_that_does_not_say_so_is_no_failure() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < {"method":"rawResponseItem/completed","params":{"threadId":"t","turnId":"u","item":{"type":"function_call","call_id":"c1","name":"update_plan","arguments":"{}"}}}
        < {"method":"rawResponseItem/completed","params":{"threadId":"t","turnId":"u","item":{"type":"function_call_output","call_id":"c1","output":"Plan updated"}}}
        < {"method":"rawResponseItem/completed","params":{"threadId":"t","turnId":"u","item":{"type":"function_call","call_id":"c2","name":"write_stdin","arguments":"{\"session_id\":1}"}}}
        < {"method":"rawResponseItem/completed","params":{"threadId":"t","turnId":"u","item":{"type":"function_call_output","call_id":"c2","output":"Process exited with code 1\nOutput:\n"}}}
        < {"method":"rawResponseItem/completed","params":{"threadId":"t","turnId":"u","item":{"type":"function_call_output","call_id":"c3","output":"unsupported call: x"}}}
        < {"method":"rawResponseItem/completed","params":{"threadId":"t","turnId":"u","item":{"type":"function_call","call_id":"c4","name":"exec_command","arguments":"{\"cmd\":\"ls\"}"}}}
        < {"method":"rawResponseItem/completed","params":{"threadId":"t","turnId":"u","item":{"type":"function_call_output","call_id":"c4","output":"Process exited with code 0\nOutput:\n"}}}
        < {"method":"rawResponseItem/completed","params":{"threadId":"t","turnId":"u","item":{"type":"function_call_output","call_id":"c4","output":"unsupported call: x"}}}
        < u ends completed
          => emit outcome outcome=completed
          => finish completed exit 0
    "#]]);
}

#[test]
fn the_file_is_looked_into_where_there_are_no_raw_events() {
    check(expect![[r#"
        reads
        accepted u
          => emit turn_started turn=u
        < u item completed command c1
          => emit item_completed item.command=ls item.cwd=/w item.id=c1 item.kind=command item.status=completed
        < u ends completed
          => look up what was not told
        untold failed apply_patch p1 it failed
          => emit item_completed item.error="it failed" item.id=p1 item.kind=failed_call item.tool=apply_patch
          => emit outcome outcome=completed
          => finish completed exit 0
    "#]]);
}

#[test]
fn a_step_that_is_known_is_not_told_from_the_file() {
    check(expect![[r#"
        reads
        accepted u
          => emit turn_started turn=u
        < u item started command c1
          => emit item_started item.command=ls item.cwd=/w item.id=c1 item.kind=command item.status=in_progress
        < u item completed command c1
          => emit item_completed item.command=ls item.cwd=/w item.id=c1 item.kind=command item.status=completed
        < u ends completed
          => look up what was not told
        untold failed exec_command c1 it failed
          => emit outcome outcome=completed
          => finish completed exit 0
    "#]]);
}

#[test]
fn where_there_are_raw_events_the_file_is_left_alone() {
    check(expect![[r#"
        reads
        accepted u
          => emit turn_started turn=u
        < {"method":"rawResponseItem/completed","params":{"threadId":"t","turnId":"u","item":{"type":"function_call","call_id":"c1","name":"update_plan","arguments":"{}"}}}
        < u ends completed
          => emit outcome outcome=completed
          => finish completed exit 0
    "#]]);
}

#[test]
fn a_file_that_says_nothing_holds_the_end_for_a_moment_only() {
    check(expect![[r#"
        reads
        accepted u
          => emit turn_started turn=u
        < u ends completed
          => look up what was not told
        wake
          => wake 2000ms
        at 2s
        tick
          => emit outcome outcome=completed
          => finish completed exit 0
    "#]]);
}

#[test]
fn after_a_restart_the_file_tells_what_failed_meanwhile_and_nothing_twice() {
    check(expect![[r#"
        reads
        accepted u
          => emit turn_started turn=u
        < {"method":"rawResponseItem/completed","params":{"threadId":"t","turnId":"u","item":{"type":"function_call","call_id":"c1","name":"update_plan","arguments":"{}"}}}
        < {"method":"rawResponseItem/completed","params":{"threadId":"t","turnId":"u","item":{"type":"function_call_output","call_id":"c1","output":"unsupported call: update_plan"}}}
          => emit item_completed item.error="unsupported call: update_plan" item.id=c1 item.kind=failed_call item.tool=update_plan
        restart
          => read the thread
        found running u
          => emit gap message="The engine was down for a while. No further step was found afterwards; commands and other steps from that time may be missing, and pieces of text and output" missing=["pieces","steps"] open=[] since=1000
        < u ends completed
          => look up what was not told
        untold failed update_plan c1 unsupported call: update_plan
          => emit outcome outcome=completed usage.partial=true
          => finish completed exit 0
    "#]]);
}

#[test]
fn an_image_that_the_model_did_not_get_is_a_warning() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < {"method":"rawResponseItem/completed","params":{"threadId":"t","turnId":"u","item":{"type":"message","role":"user","content":[{"type":"input_text","text":"look"},{"type":"input_text","text":"<image name=[Image #1]>"},{"type":"input_text","text":"image content omitted because it could not be processed"},{"type":"input_text","text":"</image>"}]}}}
        < {"method":"item/completed","params":{"threadId":"t","turnId":"u","completedAtMs":0,"item":{"type":"userMessage","id":"m1","content":[{"type":"text","text":"look"},{"type":"localImage","path":"/w/a.png"}]}}}
          => heard m1
          => emit warning message="the model did not get an image; Codex sent it this text instead: image content omitted because it could not be processed"
        < u ends completed
          => emit outcome outcome=completed
          => finish completed exit 0
    "#]]);
}

#[test]
fn an_image_that_arrived_is_no_warning_and_words_of_the_person_are_none() {
    check(expect![[r#"
        accepted u
          => emit turn_started turn=u
        < {"method":"rawResponseItem/completed","params":{"threadId":"t","turnId":"u","item":{"type":"message","role":"user","content":[{"type":"input_text","text":"look"},{"type":"input_text","text":"<image name=[Image #1]>"}]}}}
        < {"method":"item/completed","params":{"threadId":"t","turnId":"u","completedAtMs":0,"item":{"type":"userMessage","id":"m1","content":[{"type":"text","text":"look"},{"type":"localImage","path":"/w/a.png"}]}}}
          => heard m1
        < {"method":"rawResponseItem/completed","params":{"threadId":"t","turnId":"u","item":{"type":"message","role":"user","content":[{"type":"input_text","text":"image content omitted because of me"}]}}}
        < {"method":"item/completed","params":{"threadId":"t","turnId":"u","completedAtMs":0,"item":{"type":"userMessage","id":"m2","content":[{"type":"text","text":"image content omitted because of me"}]}}}
          => heard m2
        < u ends completed
          => emit outcome outcome=completed
          => finish completed exit 0
    "#]]);
}

#[test]
fn without_raw_events_the_file_says_which_image_was_left_out() {
    check(expect![[r#"
        reads
        accepted u
          => emit turn_started turn=u
        < {"method":"item/completed","params":{"threadId":"t","turnId":"u","completedAtMs":0,"item":{"type":"userMessage","id":"m1","content":[{"type":"text","text":"look"},{"type":"localImage","path":"/w/a.png"}]}}}
          => heard m1
        < u ends completed
          => look up what was not told
        untold said Codex cannot attach image at `/w/a.png`: unsupported image `image/png`.
          => emit warning message="the model did not get an image; Codex sent it this text instead: Codex cannot attach image at `/w/a.png`: unsupported image `image/png`."
          => emit outcome outcome=completed
          => finish completed exit 0
    "#]]);
}
