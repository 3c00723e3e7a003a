//! Replacements of slow functions of the C library musl, which static binaries contain. `benches/README.md` has the figures.

#[cfg(target_arch = "x86_64")]
mod memory;

/// The allocator of musl maps and unmaps memory several times in a call of a tool.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
