//! Hands the inputs of libFuzzer to [`fuzz::compile_cache`].

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::compile_cache(bytes));
