//! Tells the build script of the host, which embeds the supervisor, where the source of this package is.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if let Some(directory) = std::env::var_os("CARGO_MANIFEST_DIR") {
        println!("cargo::metadata=DIRECTORY={}", std::path::Path::new(&directory).display());
    }
}
