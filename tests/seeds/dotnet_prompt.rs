//! dotnet-prompt: "File System Tool Specification".

use paddock::{CallOptions, Decision, Policy, Workspace};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::support::Fixture;

const FILES: &[(&str, &str)] = &[
    ("appsettings.json", "{\n  \"a\": 1\n}\n"),
    ("src/Program.cs", "class P {}\n"),
    ("src/deep/Model.cs", "class M {}\n"),
    (".editorconfig", "root = true\n"),
    ("bin/app.txt", "built\n"),
    ("lib/native.dll", "MZ\n"),
];

fn fixture() -> Fixture {
    Fixture::with("dotnet-prompt", FILES)
}

fn names(listing: &Value) -> Vec<&str> {
    listing["items"].as_array().unwrap().iter().map(|item| item["path"].as_str().unwrap()).collect()
}

fn is_time(value: &Value) -> bool {
    humantime::parse_rfc3339(value.as_str().unwrap()).is_ok()
}

// 36: "Read and return file contents with encoding support."
// 95 to 102: `FileContentResult`
#[test]
fn read_file() {
    let fixture = fixture();
    let read = fixture.ok("read_file", json!({"file_path": "./appsettings.json"}));
    let content = "{\n  \"a\": 1\n}\n";
    assert_eq!(read["content"], content);
    assert_eq!(read["encoding"], "utf-8");
    assert_eq!((&read["sizeBytes"], &read["lineCount"]), (&json!(content.len()), &json!(3)));
    assert!(is_time(&read["lastModified"]));
    let sum: String = Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(read["checksum"], sum);
}

// 44: "`max_size_mb` | int | 10", 204: "maxFileSize: 10 * 1024 * 1024"
// 45: "`max_lines` | int | 0 | Maximum lines to read (0 = all)"
// 46: "`skip_lines` | int | 0 | Lines to skip from beginning"
#[test]
fn read_file_in_part_and_up_to_a_size() {
    let fixture = fixture();
    let lines: String = (0..5_000).map(|line| format!("line {line}\r\n")).collect();
    fixture.put("long.txt", &lines);
    let whole = fixture.ok("read_file", json!({"file_path": "long.txt"}));
    assert_eq!(whole["content"], lines, "all lines, as they are");
    let part = fixture.ok("read_file", json!({"file_path": "long.txt", "skip_lines": 10, "max_lines": 2}));
    assert_eq!(part["content"].as_str().unwrap().trim_end(), "line 10\r\nline 11");
    assert_eq!(part["lineCount"], 5_000);
    fixture.put("large.txt", vec![b'x'; 1024 * 1024 + 1]);
    let error = fixture.fails("read_file", json!({"file_path": "large.txt", "max_size_mb": 1}));
    assert_eq!((&error["error"]["code"], &error["error"]["category"]), (&json!("too-large"), &json!("limit")));
    assert!(fixture.call("read_file", json!({"file_path": "large.txt"})).ok);
    fixture.put("larger.txt", vec![b'x'; 10 * 1024 * 1024 + 1]);
    assert_eq!(
        fixture.fails("read_file", json!({"file_path": "larger.txt", "max_size_mb": 50}))["error"]["code"],
        "too-large"
    );
}

// 43: "`encoding` | string | "utf-8" | Text encoding"
// 17: "Read file contents with encoding detection and conversion"
// Question 4: encodings with and without a byte order mark, conversion, malformed text.
#[test]
fn encodings() {
    let fixture = fixture();
    let utf16: Vec<u8> = [0xff, 0xfe].into_iter().chain("grün\n".encode_utf16().flat_map(u16::to_le_bytes)).collect();
    fixture.put("utf16.txt", &utf16);
    fixture.put("bom.txt", "\u{feff}grün\n");
    fixture.put("latin.txt", b"gr\xfcn, sch\xf6n, \xe4rgerlich und \xfcbel\n");
    let read = |path: &str| fixture.ok("read_file", json!({"file_path": path}));
    assert_eq!((&read("utf16.txt")["content"], &read("utf16.txt")["encoding"]), (&json!("grün\n"), &json!("utf-16le")));
    assert_eq!(read("bom.txt")["content"], "grün\n");
    assert_eq!(read("latin.txt")["content"], "grün, schön, ärgerlich und übel\n");
    let with_encoding = fixture.ok("read_file", json!({"file_path": "latin.txt", "encoding": "windows-1252"}));
    assert_eq!(
        (&with_encoding["content"], &with_encoding["encoding"]),
        (&json!("grün, schön, ärgerlich und übel\n"), &json!("windows-1252"))
    );
    fixture.ok("write_file", json!({"file_path": "latin.txt", "content": "grün\n", "encoding": "windows-1252"}));
    assert_eq!(std::fs::read(fixture.root().join("latin.txt")).unwrap(), b"gr\xfcn\n");
    fixture.ok("write_file", json!({"file_path": "latin.txt", "content": "grün\n"}));
    assert_eq!(fixture.get("latin.txt"), "grün\n", "converted to the default");
    let error =
        fixture.fails("write_file", json!({"file_path": "latin.txt", "content": "日本", "encoding": "windows-1252"}));
    assert_eq!(error["error"]["code"], "encoding-loss");
    assert_eq!(fixture.get("latin.txt"), "grün\n");
}

// Question 3: "Should there be support for reading binary files as base64?", "Should there be MIME type detection"
#[test]
fn bytes_as_base64() {
    let fixture = fixture();
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
    fixture.put("p.png", png);
    let error = fixture.fails("read_file", json!({"file_path": "p.png"}));
    assert_eq!(error["error"]["category"], "encoding");
    assert!(error["error"]["suggestion"].as_str().unwrap().contains("`encoding: \"base64\"`"), "{error}");
    let read = fixture.ok("read_file", json!({"file_path": "p.png", "encoding": "base64"}));
    assert_eq!((&read["encoding"], &read["mimeType"]), (&json!("base64"), &json!("image/png")));
    use base64::prelude::{BASE64_STANDARD, Engine};
    assert_eq!(BASE64_STANDARD.decode(read["content"].as_str().unwrap()).unwrap(), png);
    let large = vec![0; 300_000];
    fixture.put("large.bin", &large);
    let read = fixture.ok("read_file", json!({"file_path": "large.bin", "encoding": "base64"}));
    assert_eq!(BASE64_STANDARD.decode(read["content"].as_str().unwrap()).unwrap(), large);
}

// 49: "Write content to files with safety mechanisms."
// 57: "`create_backup` | bool | true", 58: "`overwrite` | bool | true"
// 130 to 137: `FileOperationResult`
#[test]
fn write_file() {
    let fixture = fixture();
    let result = fixture
        .ok("write_file", json!({"file_path": "Generated/Models/A.cs", "content": "class A {}\n", "overwrite": false}));
    assert_eq!(result["success"], true);
    assert_eq!((&result["path"], &result["sizeBytes"]), (&json!("Generated/Models/A.cs"), &json!(11)));
    assert!(is_time(&result["timestamp"]) && result.get("backupPath").is_none(), "nothing was there: {result}");
    let error =
        fixture.fails("write_file", json!({"file_path": "appsettings.json", "content": "{}", "overwrite": false}));
    assert_eq!((&error["success"], &error["error"]["category"]), (&json!(false), &json!("conflict")));
    assert!(error["error"]["suggestion"].as_str().unwrap().contains("`overwrite`"));
    let replaced = fixture.ok("write_file", json!({"file_path": "appsettings.json", "content": "{}"}));
    let back = fixture.ok("restore_file", json!({"backup_path": replaced["backupPath"]}));
    assert_eq!((&back["operation"], &back["path"]), (&json!("restore_file"), &json!("appsettings.json")));
    assert_eq!(fixture.get("appsettings.json"), FILES[0].1);
    let without =
        fixture.ok("write_file", json!({"file_path": "appsettings.json", "content": "{}", "create_backup": false}));
    assert!(without.get("backupPath").is_none());
}

// 61: "List and filter directory contents.", 66 to 70
// 107 to 125: `DirectoryListingResult`, `FileSystemItem`
#[test]
fn list_directory() {
    let fixture = fixture();
    let top = fixture.ok("list_directory", json!({"directory_path": "."}));
    assert_eq!(names(&top), ["appsettings.json", "lib", "src"], "nothing hidden, nothing blocked, one level");
    let item = &top["items"][0];
    assert_eq!(
        (&item["name"], &item["type"], &item["extension"]),
        (&json!("appsettings.json"), &json!("file"), &json!(".json"))
    );
    assert_eq!((&item["sizeBytes"], &item["isHidden"]), (&json!(FILES[0].1.len()), &json!(false)));
    assert!(is_time(&item["created"]) && is_time(&item["modified"]));
    assert!(top["items"][1].get("extension").is_none() && top["items"][1]["type"] == "directory");
    assert_eq!(
        (&top["totalFiles"], &top["totalDirectories"], &top["truncated"]),
        (&json!(1), &json!(2), &json!(false))
    );
    assert_eq!(top["totalSizeBytes"], FILES[0].1.len());
    let hidden = fixture.ok("list_directory", json!({"directory_path": ".", "include_hidden": true}));
    assert!(names(&hidden).contains(&".editorconfig"));
    let pattern = json!({"directory_path": "./src", "pattern": "*.cs", "recursive": true, "max_depth": 10});
    assert_eq!(names(&fixture.ok("list_directory", pattern)), ["src/Program.cs", "src/deep/Model.cs"]);
    // In .NET, `*.*` matches names without a dot.
    for pattern in ["*", "*.*"] {
        let all = fixture.ok("list_directory", json!({"directory_path": ".", "pattern": pattern}));
        assert_eq!(names(&all), ["appsettings.json", "lib", "src"], "{pattern}");
    }
    let shallow = json!({"directory_path": "src", "recursive": true, "max_depth": 1});
    assert_eq!(names(&fixture.ok("list_directory", shallow)), ["src/Program.cs", "src/deep"]);
    let all = json!({"directory_path": "src", "recursive": true});
    assert_eq!(names(&fixture.ok("list_directory", all)).len(), 3, "a depth of 0 is all");
}

// 205: "maxFilesPerOperation: 1000"
#[test]
fn a_listing_of_more_than_a_thousand_is_truncated_and_counted() {
    let fixture = fixture();
    for number in 0..1_005 {
        fixture.put(&format!("many/{number:04}.txt"), "x");
    }
    let many = fixture.ok("list_directory", json!({"directory_path": "many"}));
    assert_eq!((names(&many).len(), &many["totalFiles"], &many["truncated"]), (1_000, &json!(1_005), &json!(true)));
}

// Question 1: "How should symbolic links and shortcuts be handled?"
#[test]
fn links_are_followed_inside_the_workspace_only() {
    let fixture = fixture();
    fixture.link("to_file", "appsettings.json");
    fixture.link("to_dir", "src");
    fixture.link("out", "../secret.txt");
    let top = fixture.ok("list_directory", json!({"directory_path": "."}));
    let kinds: Vec<_> =
        top["items"].as_array().unwrap().iter().map(|item| (item["name"].as_str().unwrap(), &item["type"])).collect();
    assert!(kinds.contains(&("to_file", &json!("file"))) && kinds.contains(&("to_dir", &json!("directory"))));
    assert!(!names(&top).contains(&"out"));
    assert_eq!(fixture.ok("get_file_metadata", json!({"file_path": "to_dir"}))["linkTarget"], "src");
}

// 73: "Create directory structures.", 79: "`recursive` | bool | true | Create parent directories"
#[test]
fn create_directory() {
    let fixture = fixture();
    let result = fixture.ok("create_directory", json!({"directory_path": "./Generated/Models"}));
    assert_eq!((&result["success"], &result["path"]), (&json!(true), &json!("Generated/Models")));
    assert!(fixture.root().join("Generated/Models").is_dir());
    fixture.ok("create_directory", json!({"directory_path": "Generated"}));
    let error = fixture.fails("create_directory", json!({"directory_path": "x/y", "recursive": false}));
    assert_eq!(error["error"]["category"], "not-found");
    assert!(!fixture.has("x"));
}

// 82: "Copy, move, and delete files with safety controls.", 87 to 89
#[test]
fn copy_and_move() {
    let fixture = fixture();
    let copied = fixture.ok("copy_file", json!({"source_path": "appsettings.json", "destination_path": "copy.json"}));
    assert_eq!((&copied["path"], &copied["sizeBytes"]), (&json!("copy.json"), &json!(FILES[0].1.len())));
    let taken = json!({"source_path": "src/Program.cs", "destination_path": "copy.json"});
    for tool in ["copy_file", "move_file"] {
        let error = fixture.fails(tool, taken.clone());
        assert_eq!(error["error"]["category"], "conflict", "{tool}");
        assert!(error["error"]["suggestion"].as_str().unwrap().contains("`overwrite`"), "{error}");
    }
    let over = json!({"source_path": "src/Program.cs", "destination_path": "copy.json", "overwrite": true});
    fixture.ok("move_file", over);
    assert_eq!((fixture.get("copy.json").as_str(), fixture.has("src/Program.cs")), ("class P {}\n", false));
}

// Question 1: "Should there be support for file compression/decompression?"
#[test]
fn archives() {
    let fixture = fixture();
    let packed = json!({"source_paths": ["src", "appsettings.json"], "destination_path": "out/a.zip"});
    assert_eq!(fixture.ok("compress_files", packed.clone())["path"], "out/a.zip");
    assert_eq!(fixture.fails("compress_files", packed)["error"]["category"], "conflict");
    let out = fixture.ok("extract_archive", json!({"archive_path": "out/a.zip", "destination_path": "copy"}));
    assert_eq!((&out["success"], &out["path"]), (&json!(true), &json!("copy")));
    assert_eq!(fixture.get("copy/src/deep/Model.cs"), "class M {}\n");
    let over = json!({"archive_path": "out/a.zip", "destination_path": "."});
    assert_eq!(fixture.fails("extract_archive", over)["error"]["category"], "conflict");
    fixture.ok("restore_file", json!({"backup_path": out["backupPath"]}));
    assert!(!fixture.has("copy"));
    // A blocked file cannot be unpacked either: the archive contains it under another name.
    let free = Fixture::with_policy(
        "dotnet-prompt",
        &[("bin/x.exe", "MZ")],
        r#"{"blocked_directories": [], "blocked_extensions": []}"#,
    );
    free.ok("compress_files", json!({"source_paths": ["bin"], "destination_path": "b.zip"}));
    std::fs::copy(free.root().join("b.zip"), fixture.root().join("b.zip")).unwrap();
    assert_eq!(
        fixture.fails("extract_archive", json!({"archive_path": "b.zip", "destination_path": "x"}))["error"]["code"],
        "denied"
    );
    assert!(!fixture.has("x"));
}

// 20: "File metadata extraction (size, dates, permissions)"
#[test]
fn metadata() {
    let fixture = fixture();
    let known = fixture.ok("get_file_metadata", json!({"file_path": "src/Program.cs"}));
    assert_eq!(
        (&known["name"], &known["type"], &known["extension"]),
        (&json!("Program.cs"), &json!("file"), &json!(".cs"))
    );
    assert_eq!((&known["sizeBytes"], &known["lineCount"]), (&json!(11), &json!(1)));
    assert_eq!(known["checksum"].as_str().unwrap().len(), 64);
    assert!(known["created"].as_str() <= known["modified"].as_str() && is_time(&known["modified"]));
    assert_eq!(fixture.ok("get_file_metadata", json!({"file_path": "src"}))["type"], "directory");
}

// 147: "Path traversal attempts (`../`) are validated against allowed directory boundaries"
// 150, 160, 161: absolute paths and paths outside the boundary
#[test]
fn nothing_outside_the_working_directory() {
    let fixture = fixture();
    for path in fixture.ways_out() {
        for (tool, name) in
            [("read_file", "file_path"), ("list_directory", "directory_path"), ("write_file", "file_path")]
        {
            let mut arguments = json!({name: path});
            if tool == "write_file" {
                arguments["content"] = "x".into();
            }
            assert_eq!(fixture.fails(tool, arguments)["error"]["code"], "outside-workspace", "{tool} {path}");
        }
        let copied = json!({"source_path": "appsettings.json", "destination_path": format!("{path}/x")});
        fixture.fails("copy_file", copied);
    }
    fixture.hidden_file_is_untouched();
}

// 201: "blockedDirectories: ["bin", "obj", ".git", "node_modules"]"
// 203: "blockedExtensions: [".exe", ".dll", ".so", ".dylib"]"
#[test]
fn the_default_policy_blocks_directories_and_extensions() {
    let fixture = fixture();
    for path in ["bin/app.txt", "obj/x", "src/obj/x", "node_modules/p/index.js", ".git/config", "lib/native.dll"] {
        let error = fixture.fails("read_file", json!({"file_path": path}));
        assert_eq!(
            (&error["error"]["code"], &error["error"]["category"]),
            (&json!("denied"), &json!("access-denied")),
            "{path}"
        );
    }
    for path in ["tool.exe", "new/tool.so", "lib.DYLIB", "src/bin/x.cs"] {
        assert_eq!(
            fixture.fails("write_file", json!({"file_path": path, "content": "x"}))["error"]["code"],
            "denied",
            "{path}"
        );
    }
    fixture.fails("move_file", json!({"source_path": "appsettings.json", "destination_path": "a.dll"}));
    assert!(fixture.has("appsettings.json"));
    let all = fixture.ok("list_directory", json!({"directory_path": ".", "recursive": true, "include_hidden": true}));
    assert!(!names(&all).iter().any(|path| path.contains("bin") || path.ends_with(".dll")), "{all}");
}

// Question 2: "Should there be configurable security policies per workflow? (Yes, via tool configuration)"
#[test]
fn a_configured_policy_overrides_the_default() {
    let json = r#"{"blocked_directories": ["private"], "blocked_extensions": [], "approval": "never"}"#;
    let fixture = Fixture::with_policy("dotnet-prompt", FILES, json);
    fixture.ok("read_file", json!({"file_path": "bin/app.txt"}));
    fixture.ok("read_file", json!({"file_path": "lib/native.dll"}));
    fixture.ok("delete_file", json!({"file_path": "lib/native.dll"}));
    assert_eq!(fixture.questions().len(), 0);
    assert_eq!(
        fixture.fails("write_file", json!({"file_path": "private/x", "content": "x"}))["error"]["code"],
        "denied"
    );
    let other = Fixture::with("paddock", FILES);
    other.ok("read_file", json!({"path": "bin/app.txt"}));
}

// 206: "requireConfirmationForDelete: true", 19: "delete files with confirmation controls"
#[test]
fn deleting_needs_confirmation() {
    let fixture = fixture();
    let gone = fixture.ok("delete_file", json!({"file_path": "appsettings.json"}));
    assert!(!fixture.has("appsettings.json"));
    let questions = fixture.questions();
    assert_eq!(questions.len(), 1);
    assert!(questions[0].summary.starts_with("delete `appsettings.json`"), "{}", questions[0].summary);
    fixture.answer(Decision::Refuse("not that one".to_owned()));
    let error = fixture.fails("delete_file", json!({"file_path": "src/Program.cs"}));
    assert_eq!(error["error"]["code"], "denied");
    assert!(error["error"]["message"].as_str().unwrap().contains("not that one") && fixture.has("src/Program.cs"));
    fixture.answer(Decision::Approve);
    fixture.ok("restore_file", json!({"backup_path": gone["backupPath"]}));
    assert!(fixture.has("appsettings.json"));
    fixture.fails("delete_file", json!({"file_path": "src"}));
    assert!(fixture.has("src"), "only files");
}

// 207: "enableAuditLogging: true", 31: "Audit logging for destructive operations"
#[test]
fn an_audit_is_kept() {
    let fixture = fixture();
    fixture.ok("write_file", json!({"file_path": "a.txt", "content": "not to be seen"}));
    fixture.fails("read_file", json!({"file_path": "bin/app.txt"}));
    let report = paddock::audit::verify(fixture.audit(), None).unwrap();
    assert_eq!((report.records, report.problem), (3, None), "a start and an end, and the end of what only reads");
    let records = paddock::audit::last(fixture.audit(), 10).unwrap().join("\n");
    assert!(records.contains(r#""a.txt""#) && records.contains(r#""denied""#), "{records}");
    assert!(!records.contains("not to be seen"), "{records}");
    let without = Fixture::with_policy("dotnet-prompt", FILES, r#"{"enable_audit_logging": false}"#);
    without.ok("write_file", json!({"file_path": "a.txt", "content": "x"}));
    assert!(!without.audit().exists());
    let explicit = Fixture::with_policy("paddock", FILES, r#"{"enable_audit_logging": true}"#);
    explicit.ok("write_file", json!({"path": "a.txt", "content": "x"}));
    assert_eq!(paddock::audit::verify(explicit.audit(), None).unwrap().records, 2);
}

#[test]
fn without_an_approver_nothing_is_deleted() {
    let workspace = Workspace::memory(Policy::default()).unwrap();
    let options = CallOptions::dialect("dotnet-prompt");
    workspace.call_with("write_file", r#"{"file_path": "a", "content": "a"}"#, &options);
    let outcome = workspace.call_with("delete_file", r#"{"file_path": "a"}"#, &options);
    assert_eq!(outcome.value()["error"]["category"], "confirmation-required");
    assert!(workspace.call_with("read_file", r#"{"file_path": "a"}"#, &options).ok);
}
