//! The fuzz target of `talaria_fuzz::turn`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| talaria_fuzz::turn::check(input));
