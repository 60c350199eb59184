//! Hands the inputs of libFuzzer to [`fuzz::budget`].

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::budget(bytes));
