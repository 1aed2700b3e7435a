#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| idem_attributes::fuzz::attribute(input));
