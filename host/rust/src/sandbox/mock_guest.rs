//! A mock guest: a component with the same imports and exports as the real one, whose behaviour a test defines.
//!
//! An attacker who controls the component can do no more: call its imports with any arguments, and return any
//! answer.

use std::env;
use std::fmt::Write;
use std::ops::Range;
use std::sync::OnceLock;

use proptest::test_runner::Config;
use wasmparser::{ExternalKind, FuncType, Parser, Payload, TypeRef, ValType};

use crate::engine::substitute::instead;
use crate::engine::{COMPONENT, runtime as genuine};

/// Addresses in the mock guest's memory: of its data, and of the values that the host passes to it.
pub(crate) const DATA: usize = 64 * 1024;
pub(crate) const HEAP: usize = 1024 * 1024;
/// Memory size in pages of 64 KiB.
const PAGES: usize = 256;

/// Default number of mock guests that a property test tries.
const QUICK: u32 = 24;

/// Returns the configuration of a property test. `PROPTEST_CASES` is the number of mock guests.
pub(crate) fn config() -> Config {
    let cases = env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(QUICK);
    Config { cases, failure_persistence: None, ..Config::default() }
}

/// Runs `work` with a mock guest in place of the component, in all calls that this thread makes.
///
/// `body` returns the WebAssembly text of an exported function, by its name and whether it has a result; a function
/// without a body traps. `data` is the content of the memory at [`DATA`], and `fields` are further fields of the
/// module.
pub(crate) fn with<R>(
    data: &[u8],
    fields: &str,
    body: impl Fn(&str, bool) -> Option<String>,
    work: impl FnOnce() -> R,
) -> R {
    static OWN: OnceLock<CoreModule> = OnceLock::new();
    let own = OWN.get_or_init(core_module);
    let mock_guest = wat::parse_str(text(own, data, fields, body)).unwrap();
    let mock_guest = genuine().unwrap().with(&replaced(&own.module_range, &mock_guest)).unwrap();
    instead(mock_guest, work)
}

/// The core module with the component's own code. The component's other modules only connect it to its imports.
struct CoreModule {
    module_range: Range<usize>,
    imports: Vec<(String, String, FuncType)>,
    exports: Vec<(String, FuncType)>,
}

fn core_module() -> CoreModule {
    let modules = Parser::new(0).parse_all(&COMPONENT).filter_map(|payload| match payload.unwrap() {
        Payload::ModuleSection { unchecked_range, .. } => Some(unchecked_range),
        _ => None,
    });
    let module_range = modules.max_by_key(Range::len).unwrap();
    let (mut types, mut functions) = (Vec::new(), Vec::new());
    let (mut imports, mut exports) = (Vec::new(), Vec::new());
    for payload in Parser::new(0).parse_all(&COMPONENT[module_range.clone()]) {
        match payload.unwrap() {
            Payload::TypeSection(section) => {
                types.extend(section.into_iter_err_on_gc_types().map(Result::unwrap));
            }
            Payload::ImportSection(section) => {
                for import in section.into_imports().map(Result::unwrap) {
                    let TypeRef::Func(of) = import.ty else { panic!("no function is imported: {import:?}") };
                    functions.push(of);
                    imports.push((import.module.to_owned(), import.name.to_owned(), types[of as usize].clone()));
                }
            }
            Payload::FunctionSection(section) => functions.extend(section.into_iter().map(Result::unwrap)),
            Payload::ExportSection(section) => {
                for export in section.into_iter().map(Result::unwrap) {
                    if export.kind == ExternalKind::Func {
                        let of = functions[export.index as usize] as usize;
                        exports.push((export.name.to_owned(), types[of].clone()));
                    }
                }
            }
            _ => {}
        }
    }
    CoreModule { module_range, imports, exports }
}

/// Returns the text of the mock guest's core module. Its functions can call the imports by name, and use the memory
/// and the global `$heap`, the end of the allocated memory.
fn text(own: &CoreModule, data: &[u8], fields: &str, body: impl Fn(&str, bool) -> Option<String>) -> String {
    let mut text = "(module\n".to_owned();
    for (module, name, of) in &own.imports {
        // The interface name without package and version.
        let interface = module.rsplit_once('@').unwrap().0.rsplit_once('/').unwrap().1;
        writeln!(text, r#"(import "{module}" "{name}" (func $"{interface} {name}" {}))"#, signature(of)).unwrap();
    }
    let bytes: String = data.iter().map(|byte| format!("\\{byte:02x}")).collect();
    writeln!(text, r#"(memory (export "memory") {PAGES} {PAGES}) (data (i32.const {DATA}) "{bytes}")"#).unwrap();
    writeln!(text, "(global $heap (mut i32) (i32.const {HEAP})) {fields}").unwrap();
    for (name, of) in &own.exports {
        let body = match name.as_str() {
            "cabi_realloc" => REALLOC.to_owned(),
            name if name.starts_with("cabi_post_") || name == "_initialize" => String::new(),
            name => body(name, !of.results().is_empty()).unwrap_or_else(|| "unreachable".to_owned()),
        };
        writeln!(text, r#"(func (export "{name}") {} {body})"#, signature(of)).unwrap();
    }
    text + ")"
}

/// Allocates memory and never frees it, since a mock guest serves one call.
const REALLOC: &str = "
    (global.set $heap (i32.and (i32.add (global.get $heap) (i32.const 15)) (i32.const -16)))
    (global.get $heap)
    (global.set $heap (i32.add (global.get $heap) (local.get 3)))
    (if (i32.gt_u (global.get $heap) (i32.mul (memory.size) (i32.const 65536))) (then unreachable))";

fn signature(of: &FuncType) -> String {
    let all = |what: &str, types: &[ValType]| -> String { types.iter().map(|of| format!("({what} {of}) ")).collect() };
    all("param", of.params()) + &all("result", of.results())
}

/// Returns the component with its core module replaced.
fn replaced(module_range: &Range<usize>, module: &[u8]) -> Vec<u8> {
    // The length of the section precedes the module.
    let before = leb128(module_range.len()).len();
    let (head, tail) = (&COMPONENT[..module_range.start - before], &COMPONENT[module_range.end..]);
    [head, &leb128(module.len()), module, tail].concat()
}

fn leb128(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}
