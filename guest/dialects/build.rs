//! Writes the JSON Schema of each result to a file, so that the component contains the text and not the generator (200 KB).

use std::path::Path;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    let directory = std::env::var("OUT_DIR")?;
    for (name, schema) in paddock_types::schema::results() {
        std::fs::write(Path::new(&directory).join(format!("{name}.json")), schema.to_string())?;
    }
    Ok(())
}
