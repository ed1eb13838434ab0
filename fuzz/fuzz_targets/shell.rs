//! The fuzz target of `talaria_fuzz::shell`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &str| talaria_fuzz::shell::check(input));
