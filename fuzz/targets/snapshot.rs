//! Hands the inputs of libFuzzer to [`fuzz::snapshot`].

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::snapshot(bytes));
