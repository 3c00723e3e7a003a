//! Composes the component of the tools with the server component: the exports of the tools become the imports of the
//! server. The result exports `wasi:http/incoming-handler` and `wasi:cli/run`, and imports WASI and nothing else.
//!
//! Usage: `paddock-compose TOOLS SERVER OUT`, each the path of a file. The same files always have the same result.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use wac_graph::types::Package;
use wac_graph::{CompositionGraph, EncodeOptions, plug};

/// Interfaces that the result exports, without their versions.
const EXPORTS: [&str; 2] = ["wasi:cli/run", "wasi:http/incoming-handler"];

fn main() -> Result<()> {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let [tools, server, out] = arguments.as_slice() else { bail!("usage: paddock-compose TOOLS SERVER OUT") };
    let composed = compose(tools.as_ref(), server.as_ref())?;
    check(&composed)?;
    std::fs::write(out, composed).with_context(|| format!("cannot write `{}`", out.display()))
}

fn compose(tools: &Path, server: &Path) -> Result<Vec<u8>> {
    let mut graph = CompositionGraph::new();
    let mut register = |name: &str, file: &Path| -> Result<_> {
        let package = Package::from_file(name, None, file, graph.types_mut())
            .with_context(|| format!("cannot read the component `{}`", file.display()))?;
        Ok(graph.register_package(package)?)
    };
    let (tools, server) = (register("paddock:tools", tools)?, register("paddock:server", server)?);
    plug(&mut graph, vec![tools], server).context("the components do not fit together")?;
    // The names of the producers would differ from one version of this tool to the next.
    Ok(graph.encode(EncodeOptions { processor: None, ..EncodeOptions::default() })?)
}

/// Fails unless the component has the imports and exports that an engine expects.
fn check(component: &[u8]) -> Result<()> {
    let mut graph = CompositionGraph::new();
    let package = Package::from_bytes("paddock:mcp", None, component, graph.types_mut())?;
    let world = &graph.types()[package.ty()];
    let others: Vec<_> = world.imports.keys().filter(|name| !name.starts_with("wasi:")).collect();
    ensure!(others.is_empty(), "the result imports {others:?}");
    let mut exports: Vec<_> = world.exports.keys().map(|name| name.split('@').next().unwrap_or_default()).collect();
    exports.sort_unstable();
    ensure!(exports == EXPORTS, "the result exports {exports:?}");
    world.imports.keys().for_each(|name| println!("import {name}"));
    world.exports.keys().for_each(|name| println!("export {name}"));
    Ok(())
}
