//! Requests about archives.

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pack {
    pub sources: Vec<String>,
    pub destination: String,
    pub overwrite: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Unpack {
    pub source: String,
    pub destination: String,
    pub overwrite: bool,
}
