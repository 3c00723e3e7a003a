//! Signed tokens that their holders restrict.

use biscuit_auth::builder::{BiscuitBuilder, BlockBuilder};
use biscuit_auth::{Biscuit, KeyPair};
use serde_json::json;

use super::client::Running;

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
