//! Hands the inputs of libFuzzer to [`fuzz::edits`].

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::edits(bytes));
