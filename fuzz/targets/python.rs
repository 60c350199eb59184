//! Hands the inputs of libFuzzer to [`fuzz::python`].

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::python(bytes));
