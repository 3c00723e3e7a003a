//! Signed tokens that their holders restrict.

use std::time::{Duration, Instant, SystemTime};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE;
use biscuit_auth::builder::{
    Algorithm, BiscuitBuilder, BlockBuilder, Check, CheckKind, Expression, Fact, Op, Predicate, Rule, Term, Unary,
};
use biscuit_auth::{Biscuit, KeyPair};
use serde_json::json;

use super::client::Running;
use super::sessions::read_streams;

struct Issuer {
    key: KeyPair,
    server: Running,
}

impl Issuer {
    fn new() -> Self {
        let key = KeyPair::new();
        let public = hex(&key.public().to_bytes());
        let workspaces = "workspaces:\n  notes: {root: '{home}/notes'}\n  other: {memory: true}\n";
        let server = Running::start(&format!("{workspaces}biscuit: {{public_key: {public}}}\n"));
        Self { key, server }
    }

    fn token(&self, code: &str) -> Biscuit {
        BiscuitBuilder::new().code(code).unwrap().build(&self.key).unwrap()
    }

    fn status(&self, token: &Biscuit, workspace: &str) -> u16 {
        self.server.call_as(&token.to_base64().unwrap(), workspace, "stat", json!({"path": "."})).status
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn attenuated(token: &Biscuit, code: &str) -> Biscuit {
    token.append(BlockBuilder::new().code(code).unwrap()).unwrap()
}

#[test]
fn a_holder_restricts_a_token_without_the_issuer() {
    let issuer = Issuer::new();
    let token = issuer.token(r#"workspace("notes"); workspace("other"); holder("alice");"#);
    assert_eq!((issuer.status(&token, "notes"), issuer.status(&token, "other")), (200, 200));
    let one =
        attenuated(&token, r#"workspace("notes"); read_only(true); path("docs"); tools(["read_file", "write_file"]);"#);
    assert_eq!((issuer.status(&one, "other"), issuer.status(&token, "other")), (403, 200));
    let text = one.to_base64().unwrap();
    let call = |tool: &str, arguments| issuer.server.call_as(&text, "notes", tool, arguments).json();
    assert_eq!(call("read_file", json!({"path": "b.txt"}))["result"]["content"], "three");
    assert_eq!(call("read_file", json!({"path": "../a.txt"}))["ok"], false);
    assert_eq!(call("write_file", json!({"path": "x", "content": ""}))["error"]["code"], "read-only");
    assert_eq!(call("tree", json!({}))["error"]["code"], "unknown-tool");
    let check = attenuated(&token, r#"check if request_workspace("notes"), time($t), $t < 2999-01-01T00:00:00Z;"#);
    assert_eq!((issuer.status(&check, "notes"), issuer.status(&check, "other")), (200, 403));
}

#[test]
fn no_block_widens_a_token() {
    let issuer = Issuer::new();
    let token = issuer.token(r#"workspace("notes"); read_only(true); tools(["stat", "write_file"]); path("docs");"#);
    for code in [r#"workspace("other");"#, r#"path("notes2");"#] {
        let wide = attenuated(&token, code);
        assert_eq!((issuer.status(&wide, "notes"), issuer.status(&wide, "other")), (403, 403), "{code}");
    }
    assert_ne!(issuer.status(&attenuated(&token, r#"workspace("*");"#), "other"), 200);
    let wide = attenuated(&token, r#"tools(["write_file", "delete"]); path("docs");"#).to_base64().unwrap();
    let written = issuer.server.call_as(&wide, "notes", "write_file", json!({"path": "x", "content": ""})).json();
    assert_eq!(written["error"]["code"], "read-only", "{written}");
    let deleted = issuer.server.call_as(&wide, "notes", "delete", json!({"path": "b.txt"})).json();
    assert_eq!(deleted["error"]["code"], "unknown-tool", "{deleted}");
    for code in [
        "read_only(false);",
        r#"holder("root");"#,
        r#"polcy("{}");"#,
        r#"policy("{\"read_only\": false}");"#,
        r#"workspace($w) <- request_workspace($w);"#,
        "calls(-1);",
    ] {
        let status = issuer.status(&attenuated(&token, code), "notes");
        assert!(matches!(status, 401 | 403), "{code}: {status}");
    }
}

#[test]
fn forged_and_expired_tokens_are_not_valid() {
    let issuer = Issuer::new();
    let code = r#"workspace("notes");"#;
    let foreign = BiscuitBuilder::new().code(code).unwrap().build(&KeyPair::new()).unwrap();
    assert_eq!(issuer.status(&foreign, "notes"), 401);
    let text = issuer.token(code).to_base64().unwrap();
    let status = |text: &str| issuer.server.call_as(text, "notes", "stat", json!({"path": "."})).status;
    assert_eq!(status(&text), 200);
    for at in (0..text.len() - 4).step_by(7) {
        let mut bytes = text.clone().into_bytes();
        bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
        assert_eq!(status(std::str::from_utf8(&bytes).unwrap()), 401, "{at}");
    }
    assert_eq!(status(&text[..text.len() / 2]), 401);
    for code in [r#"workspace("notes"); expires(2020-01-01T00:00:00Z);"#, "holder(\"a\");"] {
        assert_eq!(issuer.status(&issuer.token(code), "notes"), 401, "{code}");
    }
    let expired = attenuated(&issuer.token(r#"workspace("notes");"#), "check if time($t), $t < 2020-01-01T00:00:00Z;");
    assert_eq!(issuer.status(&expired, "notes"), 403);
}

#[test]
fn a_budget_counts_all_tokens_that_descend_from_it() {
    let issuer = Issuer::new();
    let token = issuer.token(r#"workspace("notes"); calls(3);"#);
    let children = [attenuated(&token, "read_only(true);"), attenuated(&token, "calls(100);"), token];
    let statuses: Vec<u16> = (0..5).map(|at| issuer.status(&children[at % 3], "notes")).collect();
    assert_eq!(statuses, [200, 200, 200, 403, 403]);
}

#[test]
fn a_refused_call_takes_nothing_of_the_issued_budget() {
    let issuer = Issuer::new();
    let token = issuer.token(r#"workspace("notes"); calls(3);"#);
    let child = attenuated(&token, "calls(1);");
    let statuses: Vec<u16> = (0..20).map(|_| issuer.status(&child, "notes")).collect();
    assert!(statuses[0] == 200 && statuses[1..].iter().all(|status| *status == 403), "{statuses:?}");
    let statuses: Vec<u16> = (0..3).map(|_| issuer.status(&token, "notes")).collect();
    assert_eq!(statuses, [200, 200, 403]);
}

#[test]
fn the_text_of_a_fact_is_no_code() {
    let issuer = Issuer::new();
    let named = |holder: &str| {
        let fact = Fact::new("holder".to_owned(), vec![Term::Str(holder.to_owned())]);
        BiscuitBuilder::new().fact(fact).unwrap().code(r#"workspace("notes");"#).unwrap().build(&issuer.key).unwrap()
    };
    for holder in [r#"eve"); workspace("*"#, r#"eve"); /*"#, "eve\"", "eve\\", "\u{0}"] {
        let token = named(holder);
        assert_eq!((issuer.status(&token, "notes"), issuer.status(&token, "other")), (200, 403), "{holder}");
    }
    let policy = r#"workspace("notes"); policy("{\"blocked_directories\": [\"docs\"]}");"#;
    let token = issuer.token(policy).to_base64().unwrap();
    let read = |path: &str| issuer.server.call_as(&token, "notes", "read_file", json!({"path": path})).json();
    assert_eq!(read("docs/b.txt")["error"]["code"], "denied");
    assert_eq!(read("a.txt")["ok"], true);
}

#[test]
fn an_expensive_check_is_refused_at_once() {
    let issuer = Issuer::new();
    let token = issuer.token(r#"workspace("notes");"#);
    let many: String = (0..200).map(|number| format!("workspace(\"n{number}\");")).collect();
    let join = "check if workspace($a), workspace($b), workspace($c), workspace($d), workspace($e), $a == \"x\";";
    let joined = attenuated(&token, &format!("{many} workspace(\"notes\"); {join}"));
    let regex = r#"check if request_workspace($w), $w.matches("(?:a{90}){90}|b{9000}");"#;
    let regexes = attenuated(&token, &regex.repeat(60));
    let nested = |ops: Vec<Op>| {
        let head = Predicate { name: "query".to_owned(), terms: Vec::new() };
        let query = Rule::new(head, Vec::new(), vec![Expression { ops }], Vec::new());
        let check = Check { queries: vec![query], kind: CheckKind::One };
        token.append(BlockBuilder::new().check(check).unwrap()).unwrap()
    };
    let value = || Op::Value(Term::Bool(true));
    let deep = |unary: Unary| nested([value()].into_iter().chain(vec![Op::Unary(unary); 600]).collect());
    let closure = (0..20).fold(vec![value()], |ops, _| vec![value(), Op::Closure(Vec::new(), ops)]);
    for (name, token) in [
        ("join", joined),
        ("regex", regexes),
        ("negation", deep(Unary::Negate)),
        ("parentheses", deep(Unary::Parens)),
        ("closure", nested(closure)),
        ("all", attenuated(&token, "check all request_workspace($w), $w == \"notes\";")),
        ("rule", attenuated(&token, "check if workspace(\"notes\");")),
    ] {
        assert!(token.to_base64().unwrap().len() < 8192, "{name}");
        let started = Instant::now();
        assert_eq!(issuer.status(&token, "notes"), 401, "{name}");
        assert!(started.elapsed() < Duration::from_secs(5), "{name}: {:?}", started.elapsed());
    }
    assert_eq!(issuer.status(&token, "notes"), 200);
}

/// Returns the fields of a message in the format of Protocol Buffers: the number of each, and its bytes with the tag.
fn fields(mut message: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let mut fields = Vec::new();
    while let [tag, rest @ ..] = message {
        assert_eq!(tag & 7, 2, "a field with a length");
        let (mut length, mut digits) = (0, 0);
        for byte in rest {
            length |= usize::from(byte & 127) << (7 * digits);
            digits += 1;
            if byte & 128 == 0 {
                break;
            }
        }
        let end = 1 + digits + length;
        fields.push((tag >> 3, message[..end].to_vec()));
        message = &message[end..];
    }
    fields
}

#[test]
fn a_restriction_cannot_be_removed_or_moved() {
    let issuer = Issuer::new();
    let token = issuer.token(r#"workspace("notes"); workspace("other");"#);
    let narrow = attenuated(&attenuated(&token, r#"workspace("notes");"#), "read_only(true);");
    let other = attenuated(&issuer.token(r#"workspace("other");"#), "read_only(true);");
    let parts = fields(&narrow.to_vec().unwrap());
    let foreign = fields(&other.to_vec().unwrap());
    // The first block, the appended blocks, and the proof.
    assert_eq!(parts.iter().map(|(number, _)| *number).collect::<Vec<_>>(), [2, 3, 3, 4]);
    let status = |parts: &[&(u8, Vec<u8>)]| {
        let bytes: Vec<u8> = parts.iter().flat_map(|(_, bytes)| bytes.clone()).collect();
        let text = URL_SAFE.encode(bytes);
        let status = |workspace: &str| issuer.server.call_as(&text, workspace, "stat", json!({"path": "."})).status;
        (status("notes"), status("other"))
    };
    let [first, one, two, proof] = &parts[..] else { panic!() };
    assert_eq!(status(&[first, one, two, proof]), (200, 403));
    for (case, changed) in [
        ("without the last", vec![first, one, proof]),
        ("without the first", vec![first, two, proof]),
        ("without both", vec![first, proof]),
        ("in another order", vec![first, two, one, proof]),
        ("twice", vec![first, one, two, two, proof]),
        ("with the first block of another token", vec![&foreign[0], one, two, proof]),
        ("with the proof of another token", vec![first, &foreign[1], &foreign[2]]),
        ("without a proof", vec![first, one, two]),
    ] {
        assert_eq!(status(&changed), (401, 401), "{case}");
    }
}

#[test]
fn a_block_of_a_third_party_is_not_accepted() {
    let issuer = Issuer::new();
    let token = issuer.token(r#"workspace("notes");"#);
    let party = KeyPair::new();
    let block = BlockBuilder::new().code(r#"workspace("*");"#).unwrap();
    let signed = token.third_party_request().unwrap().create_block(&party.private(), block).unwrap();
    let token = token.append_third_party(party.public(), signed).unwrap();
    assert_eq!((issuer.status(&token, "notes"), issuer.status(&token, "other")), (401, 401));
}

#[test]
fn a_stream_ends_when_a_check_of_the_token_fails() {
    let issuer = Issuer::new();
    let end = SystemTime::now() + Duration::from_secs(4);
    let token = issuer.token(r#"workspace("notes");"#);
    let check = format!("check if time($t), $t < {};", humantime::format_rfc3339_seconds(end));
    let token = attenuated(&token, &check).to_base64().unwrap();
    for text in read_streams(&issuer.server, &token) {
        assert!(text.starts_with("HTTP/1.1 200"), "{text}");
    }
    assert!(SystemTime::now() + Duration::from_secs(1) >= end);
}

/// An ECDSA signature has a second valid form, which would give the block a second budget.
#[test]
fn each_block_is_signed_with_ed25519() {
    let issuer = Issuer::new();
    let token = issuer.token(r#"workspace("notes");"#);
    let other = KeyPair::new_with_algorithm(Algorithm::Secp256r1);
    let next = token.append_with_keypair(&other, BlockBuilder::new().code("calls(5);").unwrap()).unwrap();
    assert_eq!((issuer.status(&token, "notes"), issuer.status(&next, "notes")), (200, 200));
    assert_eq!(issuer.status(&attenuated(&next, "calls(1);"), "notes"), 401);
}
