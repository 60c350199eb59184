//! Hands the inputs of libFuzzer to [`fuzz::messages`].

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::messages(bytes));
