//! Parameters that do not fit their method. The `rmcp` library takes a request with such parameters for a request of
//! an unknown method; the client has to learn that the method is right and which parameter is not.

use rmcp::model::{ClientRequest, ErrorData, RequestOptionalParam};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// Type of a parameter.
#[derive(Clone, Copy)]
enum Type {
    Text,
    Object,
}

struct Param {
    name: &'static str,
    kind: Type,
    is_required: bool,
}

const fn required(name: &'static str, kind: Type) -> Param {
    Param { name, kind, is_required: true }
}

const fn optional(name: &'static str, kind: Type) -> Param {
    Param { name, kind, is_required: false }
}

const LIST: &[Param] = &[optional("cursor", Type::Text)];
const URI: &[Param] = &[required("uri", Type::Text)];

/// Methods with parameters that the server has in some protocol revision.
const METHODS: &[(&str, &[Param])] = &[
    (
        "initialize",
        &[
            required("protocolVersion", Type::Text),
            required("capabilities", Type::Object),
            required("clientInfo", Type::Object),
        ],
    ),
    (
        "tools/call",
        &[
            required("name", Type::Text),
            optional("arguments", Type::Object),
            optional("inputResponses", Type::Object),
            optional("requestState", Type::Text),
        ],
    ),
    ("tools/list", LIST),
    ("resources/list", LIST),
    ("resources/templates/list", LIST),
    ("resources/read", URI),
    ("resources/subscribe", URI),
    ("resources/unsubscribe", URI),
    ("subscriptions/listen", &[required("notifications", Type::Object)]),
    ("logging/setLevel", &[required("level", Type::Text)]),
    ("server/discover", &[]),
];

/// Returns the error of a request whose parameters do not fit its method. `all_params` returns the parameters as the
/// client wrote them.
pub(super) fn error<'l>(
    request: &ClientRequest,
    all_params: impl FnOnce() -> Option<&'l RawValue>,
) -> Option<ErrorData> {
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
    let (method, params) = METHODS.iter().find(|(method, _)| *method == request.method())?;
    let none = Map::new();
    let members = members.as_ref().and_then(Value::as_object).unwrap_or(&none);
    let reason = params.iter().find_map(|param| param.mismatch(members)).or_else(|| {
        let is_unrecognized = matches!(request, ClientRequest::CustomRequest(_));
        is_unrecognized.then(|| "a parameter does not have the type that the protocol requires".to_owned())
    })?;
    Some(ErrorData::invalid_params(format!("the parameters of `{method}` are invalid: {reason}"), None))
}

impl Param {
    /// Returns why the parameter is not what the method needs.
    fn mismatch(&self, members: &Map<String, Value>) -> Option<String> {
        let name = self.name;
        let Some(value) = members.get(name).filter(|value| self.is_required || !value.is_null()) else {
            return self.is_required.then(|| format!("`{name}` is missing"));
        };
        let (fits, expected) = match self.kind {
            Type::Text => (value.is_string(), "a string"),
            Type::Object => (value.is_object(), "an object"),
        };
        (!fits).then(|| format!("`{name}` has to be {expected}, not {}", described(value)))
    }
}

fn described(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::CustomRequest;
    use serde_json::json;

    use super::*;

    fn refusal(method: &str, params: Option<Value>) -> Option<String> {
        let error = error(&ClientRequest::CustomRequest(CustomRequest::new(method, params)), || None)?;
        assert_eq!(error.code.0, -32602);
        Some(error.message.into_owned())
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
