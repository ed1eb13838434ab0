//! The fuzz target of `talaria_fuzz::redact`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: (&str, u8)| talaria_fuzz::redact::check(input));
