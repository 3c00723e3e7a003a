//! Tests with a real container: runc runs a root directory with busybox. Without runc, busybox or root rights the tests
//! print the reason and pass, unless `PADDOCK_TEST_CONTAINERS` is set, as in `.ci/run`. The answers of podman and
//! docker are recorded.

#![cfg(target_os = "linux")]

mod commands;
mod engines;
mod gone;
mod inside;
mod runc;
