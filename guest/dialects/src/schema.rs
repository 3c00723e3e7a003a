//! JSON Schema (2020-12), generated from the argument tables and the result types.

use serde_json::{Map, Value, json};

use crate::dialect::spec::{Output, ResultSchema};
use crate::param::{DefaultValue, Param, ParamKind};

/// Upper bounds at or above this value are omitted from schemas.
const TELLING_MAX: u64 = 1_000;

/// Returns the schema of an object with exactly these members.
pub fn input(params: &[Param]) -> Value {
    let required: Vec<_> =
        params.iter().filter(|param| matches!(param.default, DefaultValue::Required)).map(|param| param.name).collect();
    let properties: Map<_, _> = params.iter().map(|param| (param.name.to_owned(), property(param))).collect();
    let mut schema = json!({ "type": "object", "properties": properties, "additionalProperties": false });
    if !required.is_empty() {
        set(&mut schema, "required", required.into());
    }
    schema
}

/// Returns the schema of a tool's result, as text.
pub fn result(output: &Output) -> String {
    match output {
        Output::Generated(schema) => (*schema).to_owned(),
        Output::ResultSchema(shape) => of(shape).to_string(),
    }
}

fn of(shape: &ResultSchema) -> Value {
    match shape {
        ResultSchema::Text => json!({ "type": "string" }),
        ResultSchema::Whole => json!({ "type": "integer" }),
        ResultSchema::Number => json!({ "type": "number" }),
        ResultSchema::Flag => json!({ "type": "boolean" }),
        ResultSchema::Words(words) => json!({ "type": "string", "enum": words }),
        ResultSchema::Either(shapes) => json!({ "anyOf": shapes.iter().map(of).collect::<Vec<_>>() }),
        ResultSchema::Nullable(shape) => json!({ "anyOf": [of(shape), { "type": "null" }] }),
        ResultSchema::Optional(shape) => of(shape),
        ResultSchema::List(shape) => json!({ "type": "array", "items": of(shape) }),
        ResultSchema::Object(members) => {
            let required: Vec<_> = members
                .iter()
                .filter(|(_, shape)| !matches!(shape, ResultSchema::Optional(_)))
                .map(|(name, _)| *name)
                .collect();
            let properties: Map<_, _> = members.iter().map(|(name, shape)| ((*name).to_owned(), of(shape))).collect();
            json!({ "type": "object", "properties": properties, "required": required })
        }
    }
}

/// Expands to the schema of a type of `paddock_types::response` as text; the build script generates it.
macro_rules! generated {
    ($name:literal) => {
        include_str!(concat!(env!("OUT_DIR"), "/", $name, ".json"))
    };
}
pub(crate) use generated;

fn property(param: &Param) -> Value {
    let mut schema = match &param.kind {
        ParamKind::Text => json!({ "type": "string" }),
        ParamKind::Flag => json!({ "type": "boolean" }),
        ParamKind::Whole { min, max } => whole(*min, *max),
        ParamKind::Signed => json!({ "type": "integer" }),
        ParamKind::Number => json!({ "type": "number" }),
        ParamKind::Named => json!({ "type": "object", "additionalProperties": { "type": "string" } }),
        ParamKind::Pair => {
            json!({ "type": "array", "items": { "type": "integer" }, "minItems": 2, "maxItems": 2 })
        }
        ParamKind::Object(params) => input(params),
        ParamKind::Choice(words) => json!({ "type": "string", "enum": words }),
        ParamKind::Texts => json!({ "type": "array", "items": { "type": "string" } }),
        ParamKind::Objects(params) => json!({ "type": "array", "items": input(params) }),
    };
    // An argument that the tool's description explains has no description of its own.
    if !param.doc.is_empty() {
        set(&mut schema, "description", param.doc.into());
    }
    match param.default {
        // A missing default of a boolean means false.
        DefaultValue::Required | DefaultValue::None | DefaultValue::Flag(false) => {}
        DefaultValue::Text(text) => set(&mut schema, "default", text.into()),
        DefaultValue::Whole(number) => set(&mut schema, "default", number.into()),
        DefaultValue::Below(number) => set(&mut schema, "default", number.into()),
        DefaultValue::Flag(true) => set(&mut schema, "default", true.into()),
    }
    schema
}

/// Returns the schema of an integer. Bounds that calls never reach are omitted, because they cost the model tokens on
/// each request; decoding still checks them.
fn whole(min: u64, max: u64) -> Value {
    let mut schema = json!({ "type": "integer" });
    if min > 1 {
        set(&mut schema, "minimum", min.into());
    }
    if max < TELLING_MAX {
        set(&mut schema, "maximum", max.into());
    }
    schema
}

fn set(schema: &mut Value, key: &str, value: Value) {
    if let Some(schema) = schema.as_object_mut() {
        schema.insert(key.to_owned(), value);
    }
}
