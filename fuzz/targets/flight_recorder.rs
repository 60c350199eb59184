//! Hands the inputs of libFuzzer to [`fuzz::flight_recorder`].

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::flight_recorder(bytes));
