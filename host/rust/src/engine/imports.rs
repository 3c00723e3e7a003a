//! The interfaces of WASI that the component imports. `wasmtime-wasi` implements others, among them those of sockets: a
//! component that imports one of these cannot be instantiated.

use wasmtime::component::Linker;
use wasmtime_wasi::WasiView;
use wasmtime_wasi::cli::{WasiCli, WasiCliView};
use wasmtime_wasi::filesystem::{WasiFilesystem, WasiFilesystemView};
use wasmtime_wasi::p2::bindings::{cli, filesystem, random};
use wasmtime_wasi::random::{WasiRandom, WasiRandomView};

/// Defines these interfaces as `wasmtime-wasi` implements them.
pub(super) fn add_to_linker<T: WasiView>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    // These are `wasi:io`, `wasi:clocks`, `wasi:random/random` and the standard streams.
    wasmtime_wasi::p2::add_to_linker_proxy_interfaces_async(linker)?;
    random::insecure_seed::add_to_linker::<T, WasiRandom>(linker, T::random)?;
    filesystem::types::add_to_linker::<T, WasiFilesystem>(linker, T::filesystem)?;
    filesystem::preopens::add_to_linker::<T, WasiFilesystem>(linker, T::filesystem)?;
    cli::environment::add_to_linker::<T, WasiCli>(linker, T::cli)?;
    cli::exit::add_to_linker::<T, WasiCli>(linker, T::cli)?;
    cli::terminal_input::add_to_linker::<T, WasiCli>(linker, T::cli)?;
    cli::terminal_output::add_to_linker::<T, WasiCli>(linker, T::cli)?;
    cli::terminal_stdin::add_to_linker::<T, WasiCli>(linker, T::cli)?;
    cli::terminal_stdout::add_to_linker::<T, WasiCli>(linker, T::cli)?;
    cli::terminal_stderr::add_to_linker::<T, WasiCli>(linker, T::cli)
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use wasmtime::component::{Component, Linker};

    use crate::store::State;

    #[test]
    fn no_component_imports_sockets() {
        let engine = wasmtime::Engine::new(&crate::engine::config()).unwrap();
        let mut linker = Linker::<State>::new(&engine);
        super::add_to_linker(&mut linker).unwrap();
        let is_defined = |interface: &str, resource: &str| {
            let exports = format!(r#"(instance (export "{resource}" (type (sub resource))))"#);
            let component = format!(r#"(component (import "wasi:{interface}@0.2.0" {exports}))"#);
            let component = Component::new(&engine, wat::parse_str(component).unwrap()).unwrap();
            linker.instantiate_pre(&component).is_ok()
        };
        assert!(is_defined("io/error", "error") && is_defined("filesystem/types", "descriptor"));
        for (interface, resource) in [("network", "network"), ("tcp", "tcp-socket"), ("udp", "udp-socket")] {
            assert!(!is_defined(&format!("sockets/{interface}"), resource), "{interface}");
        }
    }
}
