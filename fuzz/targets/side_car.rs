//! Hands the inputs of libFuzzer to [`fuzz::side_car`].

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::side_car(bytes));
