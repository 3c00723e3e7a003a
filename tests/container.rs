//! Containers, for real: a busybox root that runc runs. Without runc, busybox or root rights the tests say so and
//! end, unless `PADDOCK_TEST_CONTAINERS` is set, as in `.ci/run`; podman's and docker's own answers are recorded ones.

#![cfg(target_os = "linux")]

mod commands;
mod engines;
mod gone;
mod inside;
mod runc;
