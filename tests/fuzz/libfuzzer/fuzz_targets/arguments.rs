#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| paddock_fuzz_targets::run("arguments", bytes));
