//! Parameters that do not fit their method: the client learns that the method is right, and which parameter is not.

use serde_json::{Map, Value};

use crate::rpc_error::RpcError;

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

/// Methods of the protocol that a server of tools and resources has in some revision.
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

/// Methods of the server of this crate. The parameters of another one do not matter.
const SERVED: [&str; 4] = ["initialize", "server/discover", "tools/call", "tools/list"];

/// The reason if no parameter of the table is wrong, and the parameters do not fit the method nevertheless.
pub const WRONG_TYPE: &str = "a parameter does not have the type that the protocol requires";

/// Returns whether a server of tools and resources has this method.
pub fn is_known(method: &str) -> bool {
    METHODS.iter().any(|(name, _)| *name == method)
}

/// Returns why the parameters do not fit the method, as far as the table tells. Parameters fit a method that is not known.
pub fn mismatch(method: &str, members: &Map<String, Value>) -> Option<String> {
    let (_, params) = METHODS.iter().find(|(name, _)| *name == method)?;
    params.iter().find_map(|param| param.mismatch(members))
}

/// Returns the error of parameters that do not fit the method for this reason.
pub fn invalid(method: &str, reason: &str) -> RpcError {
    RpcError::invalid_params(format!("the parameters of `{method}` are invalid: {reason}"))
}

/// Returns the error of a request without the member `params`, if its method needs one even without content.
pub(crate) fn error_without(method: &str) -> Option<RpcError> {
    (method == "server/discover").then(|| invalid(method, WRONG_TYPE))
}

/// Returns the error of a request whose parameters do not fit its method.
pub(crate) fn error(method: &str, members: &Map<String, Value>) -> Option<RpcError> {
    if !SERVED.contains(&method) {
        return None;
    }
    let reason = mismatch(method, members).or_else(|| is_wrong(method, members).then(|| WRONG_TYPE.to_owned()))?;
    Some(invalid(method, &reason))
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

/// Returns whether a parameter is wrong in a way that the table does not tell.
fn is_wrong(method: &str, members: &Map<String, Value>) -> bool {
    let is_meta_wrong = members.get("_meta").is_some_and(|meta| !meta.is_object() && !meta.is_null());
    let is_text = |value: &Value, name: &str| value.get(name).is_some_and(Value::is_string);
    is_meta_wrong
        || match method {
            "initialize" => {
                !members.get("clientInfo").is_some_and(|info| is_text(info, "name") && is_text(info, "version"))
            }
            _ => false,
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
    use serde_json::json;

    use super::*;

    #[test]
    fn the_reason_names_the_parameter() {
        for (method, params, says) in [
            ("tools/call", json!({}), "`name` is missing"),
            ("tools/call", json!({"name": 5}), "`name` has to be a string, not a number"),
            ("tools/call", json!({"name": null}), "`name` has to be a string, not null"),
            ("tools/call", json!({"name": "a", "arguments": "{}"}), "`arguments` has to be an object, not a string"),
            ("tools/call", json!({"name": "a", "arguments": []}), "`arguments` has to be an object, not an array"),
            ("tools/list", json!({"cursor": {}}), "`cursor` has to be a string, not an object"),
            ("tools/list", json!({"_meta": 5}), WRONG_TYPE),
            ("initialize", json!({"protocolVersion": "2025-06-18"}), "`capabilities` is missing"),
            (
                "initialize",
                json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "a"}}),
                WRONG_TYPE,
            ),
        ] {
            let error = error(method, params.as_object().unwrap()).unwrap();
            assert_eq!(error.code, -32602);
            assert!(error.message.contains(says) && error.message.contains(method), "{}", error.message);
        }
        for other in ["tools/cal", "resources/read"] {
            assert_eq!(error(other, &Map::new()), None);
        }
        assert_eq!(mismatch("resources/read", &Map::new()).as_deref(), Some("`uri` is missing"));
        assert!(is_known("resources/read") && !is_known("tools/cal"));
        assert_eq!(error_without("server/discover").map(|error| error.code), Some(-32602));
        assert_eq!(error_without("tools/list"), None);
        assert_eq!(error("tools/call", json!({"name": "a", "arguments": null}).as_object().unwrap()), None);
        assert_eq!(error("tools/list", json!({"cursor": null}).as_object().unwrap()), None);
    }
}
