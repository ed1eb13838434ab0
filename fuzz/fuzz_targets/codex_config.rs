//! The fuzz target of `talaria_fuzz::codex_config`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &str| talaria_fuzz::codex_config::check(input));
