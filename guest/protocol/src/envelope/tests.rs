use super::*;

#[test]
fn values_are_counted_outside_strings() {
    assert_eq!(count_values(br#"{"a": [1, 2, "x,[{\",", {}], "b": "\\"}"#), 7);
}

#[test]
fn the_remedy_for_a_message_that_is_too_long_names_a_tool_of_its_dialect_only() {
    assert!(too_long("paddock").message.contains("`append`"));
    for dialect in ["anthropic", "mcp-filesystem", "paddock:grep"] {
        assert!(!too_long(dialect).message.contains('`'), "{dialect}");
    }
}

#[test]
fn an_answer_repeats_the_id() {
    let result = RawValue::from_string("{}".to_owned()).unwrap();
    assert_eq!(answer(Some(&Id::Text("a\"".into())), Ok(&result)), r#"{"jsonrpc":"2.0","id":"a\"","result":{}}"#);
    let error = RpcError::new(code::PARSE_ERROR, "x");
    assert_eq!(answer(None, Err(&error)), r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}"#);
}
