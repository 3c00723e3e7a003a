use serde::Serialize;

#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Restore {
    pub undone: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also_undone: Vec<String>,
    /// Operation of each undone call.
    #[serde(skip)]
    pub operations: Vec<String>,
    pub restored: Vec<String>,
    pub backup: Option<String>,
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct History {
    pub entries: Vec<HistoryEntry>,
    pub truncated: bool,
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HistoryEntry {
    pub backup: String,
    pub time: String,
    pub operation: String,
    pub paths: Vec<String>,
    pub size: u64,
}
