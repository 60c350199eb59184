//! Hands the inputs of libFuzzer to [`fuzz::first_steps`].

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::first_steps(bytes));
