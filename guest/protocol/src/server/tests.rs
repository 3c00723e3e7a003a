use super::*;
use crate::envelope::Id;
use crate::test_tools::TestTools;

fn ask(method: &str, params: Value, lifecycle: &Lifecycle) -> Result<Value, RpcError> {
    let tools = TestTools::default();
    let params = params.as_object().unwrap().clone();
    let request = Request { id: Id::Number(1), method: method.to_owned(), params };
    let result = Server::new(&tools, "paddock").result(&request, lifecycle)?;
    Ok(serde_json::from_str(result.get()).unwrap())
}

fn initialized(revision: &str) -> Lifecycle {
    Lifecycle::Initialized(revision.to_owned())
}

fn with_meta(mut params: Value, revision: &str) -> Value {
    params["_meta"] = json!({META_REVISION: revision, META_CAPABILITIES: {}});
    params
}

#[test]
fn initialize_agrees_on_a_revision_that_has_it() {
    for (requested, agreed) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
        ("", "2025-11-25"),
    ] {
        let params = json!({"protocolVersion": requested, "capabilities": {}, "clientInfo": {}});
        let result = ask("initialize", params, &Lifecycle::Open).unwrap();
        assert_eq!(result["protocolVersion"], agreed, "{requested}");
        assert_eq!(result["capabilities"], json!({"tools": {}}));
        assert!(result["instructions"].as_str().unwrap().contains("read_file"));
    }
}

#[test]
fn a_request_of_the_stateless_revision_describes_its_client() {
    let listed = ask("tools/list", with_meta(json!({}), STATELESS), &Lifecycle::Open).unwrap();
    assert_eq!((&listed["resultType"], &listed["ttlMs"]), (&json!("complete"), &json!(3_600_000)));
    for (params, fields) in [
        (json!({}), [META_REVISION, META_CAPABILITIES].join(", ")),
        (json!({"_meta": {META_REVISION: 5, META_CAPABILITIES: {}}}), META_REVISION.to_owned()),
        (json!({"_meta": {META_REVISION: STATELESS, META_CAPABILITIES: []}}), META_CAPABILITIES.to_owned()),
    ] {
        for lifecycle in [Lifecycle::Open, Lifecycle::Stateless] {
            let error = ask("tools/list", params.clone(), &lifecycle).unwrap_err();
            assert_eq!(error.code, -32602);
            assert!(error.message.ends_with(&format!("required fields: {fields}")), "{}", error.message);
        }
    }
    let error = ask("tools/list", with_meta(json!({}), "2030-01-01"), &Lifecycle::Open).unwrap_err();
    assert_eq!((error.code, &error.data.unwrap()["requested"]), (-32022, &json!("2030-01-01")));
    let discovered = ask("server/discover", with_meta(json!({}), STATELESS), &Lifecycle::Open).unwrap();
    assert_eq!(discovered["supportedVersions"], json!(REVISIONS));
    assert_eq!(discovered["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "paddock");
}

#[test]
fn a_session_with_initialize_needs_no_metadata() {
    let listed = ask("tools/list", json!({}), &initialized("2025-06-18")).unwrap();
    assert_eq!(listed.get("resultType"), None);
    assert_eq!(listed["tools"].as_array().unwrap().len(), 2);
    let error = ask("server/discover", json!({}), &initialized("2025-06-18")).unwrap_err();
    assert_eq!(error.code, -32602);
    let error = ask("tools/list", with_meta(json!({}), "2030-01-01"), &initialized("2025-06-18")).unwrap_err();
    assert_eq!(error.code, -32022);
}

#[test]
fn the_stateless_revision_has_no_ping() {
    assert_eq!(ask("ping", json!({}), &Lifecycle::Open).unwrap(), json!({}));
    assert_eq!(ask("ping", json!({}), &initialized("2024-11-05")).unwrap(), json!({}));
    let error = ask("ping", with_meta(json!({}), STATELESS), &Lifecycle::Stateless).unwrap_err();
    assert_eq!((error.code, error.message.as_str()), (-32601, "ping"));
}

#[test]
fn a_call_has_text_and_structured_content() {
    let call = |name: &str, arguments: Value| {
        ask("tools/call", json!({"name": name, "arguments": arguments}), &initialized("2025-06-18"))
    };
    let result = call("echo", json!({"a": [1]})).unwrap();
    let text = json!([{"type": "text", "text": r#"echo {"a":[1]}"#}]);
    assert_eq!(result, json!({"content": text, "structuredContent": {"a": [1]}, "isError": false}));
    let result = call("fail", json!({})).unwrap();
    let text = json!([{"type": "text", "text": "cannot read\nlook elsewhere"}]);
    assert_eq!(result, json!({"content": text, "isError": true}));
    let result = call("blocks", json!({})).unwrap();
    assert_eq!(result["content"][0]["type"], "image");
    let error = call("no_such", json!({})).unwrap_err();
    assert_eq!((error.code, error.message.as_str()), (-32602, "unknown tool: no_such; use `echo`"));
    let without = ask("tools/call", json!({"name": "echo"}), &initialized("2025-06-18")).unwrap();
    assert_eq!(without["structuredContent"], json!({}));
    let error = ask("tools/cal", json!({}), &initialized("2025-06-18")).unwrap_err();
    assert_eq!((error.code, error.message.as_str()), (-32601, "tools/cal"));
}
