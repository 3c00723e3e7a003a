//! Bindings that are generated from `wit/`. No other module refers to the component's own types.

#![allow(missing_docs, reason = "generated; each item is documented in wit/")]

macro_rules! bindings {
    ($wit:literal) => {
        wasmtime::component::bindgen!({
            path: $wit,
            world: "file-tools",
            exports: { default: async },
            additional_derives: [PartialEq],
        });
    };
}

// The published crate contains a copy.
#[cfg(not(packed))]
bindings!("../../wit");
#[cfg(packed)]
bindings!("packed/wit");
