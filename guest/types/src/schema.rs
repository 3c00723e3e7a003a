//! JSON Schemas (2020-12) of the results of operations.

use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde_json::{Value, json};

use crate::response::{
    ApplyPatch, Changes, Delete, Edit, Glob, Grep, History, List, MakeDir, Ran, Read, ReadMany, Replace, Restore,
    Sessions, Stat, Transfer, Tree, Write,
};

/// Returns the name and the schema of each result that a tool returns unchanged.
pub fn results() -> Vec<(&'static str, Value)> {
    vec![
        ("ApplyPatch", of::<ApplyPatch>()),
        ("Changes", of::<Changes>()),
        ("Delete", of::<Delete>()),
        ("Edit", of::<Edit>()),
        ("Glob", of::<Glob>()),
        ("Grep", of::<Grep>()),
        ("List", of::<List>()),
        ("MakeDir", of::<MakeDir>()),
        ("Ran", of::<Ran>()),
        ("Read", of::<Read>()),
        ("ReadMany", of::<ReadMany>()),
        ("Replace", of::<Replace>()),
        // `restore` without arguments lists the history.
        ("Restore", json!({ "type": "object", "anyOf": [of::<Restore>(), of::<History>()] })),
        ("Sessions", of::<Sessions>()),
        ("Stat", of::<Stat>()),
        ("Transfer", of::<Transfer>()),
        ("Tree", of::<Tree>()),
        ("Write", of::<Write>()),
    ]
}

fn of<T: JsonSchema>() -> Value {
    let settings = schemars::generate::SchemaSettings::draft2020_12().for_serialize().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    // JSON Schema defines no format `uint64`, and clients warn of each unknown format.
    let settings = settings.with_transform(RecursiveTransform(|schema: &mut Schema| drop(schema.remove("format"))));
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    if let Some(schema) = schema.as_object_mut() {
        schema.remove("title");
    }
    schema
}
