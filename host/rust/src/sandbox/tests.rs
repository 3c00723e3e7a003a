//! Limits of guests that never end or use too much memory.

use std::sync::Arc;
use std::time::{Duration, Instant};

use wasmtime::{Instance, Module};

use super::block_on;
use crate::budget::CallBudget;
use crate::engine::runtime;
use crate::policy::Limits;
use crate::store::{SandboxConfig, State};
use crate::types::{ErrorCode, ToolError};

const TIME: Duration = Duration::from_millis(200);

/// Returns the error of a guest with this module, and the time until its end.
fn end(module: &str) -> (ToolError, Duration) {
    let runtime = runtime().unwrap();
    let limits = Limits { max_memory_bytes: 64 << 20, ..Limits::default() };
    let around = SandboxConfig { mounts: &[], environment: &[], limits: &limits, guarded: &Arc::default() };
    let module = Module::new(&runtime.engine, wat::parse_str(module).unwrap()).unwrap();
    let started = Instant::now();
    let mut store = State::new(&around, CallBudget::within(TIME)).unwrap().store(&runtime.engine);
    let _ticking = runtime.tick();
    let ended = block_on(async {
        let instance = Instance::new_async(&mut store, &module, &[]).await?;
        instance.get_typed_func::<(), ()>(&mut store, "run")?.call_async(&mut store, ()).await
    });
    (store.data().explain(&ended.unwrap_err()), started.elapsed())
}

#[test]
fn a_loop_is_ended_when_its_time_is_up() {
    let (error, after) = end(r#"(module (func (export "run") (loop $again (br $again))))"#);
    assert_eq!(error.code, ErrorCode::LimitExceeded, "{error:?}");
    assert!(error.message.contains("time") && after >= TIME && after < TIME * 5, "{after:?}: {error:?}");
}

#[test]
fn a_recursion_without_end_is_ended() {
    let (error, after) = end(r#"(module (func $run (export "run") (call $run) (call $run)))"#);
    assert!(error.message.contains("stack") && after < TIME * 5, "{after:?}: {error:?}");
}

#[test]
fn growth_without_end_is_ended() {
    let grow = r#"(module (memory 1) (func (export "run")
        (loop $again (br_if $again (i32.ne (memory.grow (i32.const 16)) (i32.const -1)))) unreachable))"#;
    let (error, after) = end(grow);
    assert_eq!(error.code, ErrorCode::LimitExceeded, "{error:?}");
    assert!(error.message.contains("memory") && after < TIME * 5, "{after:?}: {error:?}");
}
