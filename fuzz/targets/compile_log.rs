//! Hands the inputs of libFuzzer to [`fuzz::compile_log`].

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::compile_log(bytes));
