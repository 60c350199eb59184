//! Hands the inputs of libFuzzer to [`fuzz::ledgers`].

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::ledgers(bytes));
