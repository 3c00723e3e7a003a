//! Parameters that do not fit their method. The `rmcp` library takes a request with such parameters for a request of
//! an unknown method; the client has to learn that the method is right and which parameter is not.

use paddock_protocol::params::{WRONG_TYPE, invalid, is_known, mismatch};
use paddock_protocol::rpc_error::RpcError;
use rmcp::model::{ClientRequest, RequestOptionalParam};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// Returns the error of a request whose parameters do not fit its method. `all_params` returns the parameters as the
/// client wrote them.
pub(super) fn error<'l>(
    request: &ClientRequest,
    all_params: impl FnOnce() -> Option<&'l RawValue>,
) -> Option<RpcError> {
    let members = match request {
        ClientRequest::CustomRequest(request) => request.params.clone(),
        // The library takes wrong parameters of these methods for none, and a list would start again from its beginning.
        ClientRequest::ListToolsRequest(RequestOptionalParam { params: None, .. })
        | ClientRequest::ListResourcesRequest(RequestOptionalParam { params: None, .. })
        | ClientRequest::ListResourceTemplatesRequest(RequestOptionalParam { params: None, .. }) => {
            all_params().and_then(|params| serde_json::from_str(params.get()).ok())
        }
        _ => return None,
    };
    let method = request.method();
    if !is_known(method) {
        return None;
    }
    let none = Map::new();
    let members = members.as_ref().and_then(Value::as_object).unwrap_or(&none);
    let reason = mismatch(method, members).or_else(|| {
        let is_unrecognized = matches!(request, ClientRequest::CustomRequest(_));
        is_unrecognized.then(|| WRONG_TYPE.to_owned())
    })?;
    Some(invalid(method, &reason))
}

#[cfg(test)]
mod tests {
    use rmcp::model::CustomRequest;
    use serde_json::json;

    use super::*;

    fn refusal(method: &str, params: Option<Value>) -> Option<String> {
        let error = error(&ClientRequest::CustomRequest(CustomRequest::new(method, params)), || None)?;
        assert_eq!(error.code, -32602);
        Some(error.message)
    }

    #[test]
    fn the_reason_names_the_parameter() {
        for (method, params, says) in [
            ("tools/call", json!({}), "`name` is missing"),
            ("tools/call", json!({"name": 5}), "`name` has to be a string, not a number"),
            ("tools/call", json!({"name": null}), "`name` has to be a string, not null"),
            ("tools/call", json!({"name": "a", "arguments": "{}"}), "`arguments` has to be an object, not a string"),
            ("tools/call", json!({"name": "a", "arguments": []}), "`arguments` has to be an object, not an array"),
            ("tools/call", json!({"name": "a", "arguments": null}), "a parameter does not have the type"),
            ("resources/read", json!({"uri": true}), "`uri` has to be a string, not a boolean"),
            ("resources/list", json!({"cursor": {}}), "`cursor` has to be a string, not an object"),
            ("initialize", json!({"protocolVersion": "2025-06-18"}), "`capabilities` is missing"),
            ("logging/setLevel", json!({"level": "loud"}), "a parameter does not have the type"),
        ] {
            let message = refusal(method, Some(params)).unwrap();
            assert!(message.contains(says) && message.contains(method), "{message}");
        }
        assert!(refusal("tools/call", None).unwrap().contains("`name` is missing"));
        assert_eq!(refusal("tools/cal", None), None);
    }
}
