//! Hands the inputs of libFuzzer to [`fuzz::trace`].

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::trace(bytes));
