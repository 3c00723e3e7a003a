/// A command that a call requests.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    Run(Run),
    Start(Start),
    Write(Input),
    Sessions,
    Kill(u32),
}

impl Command {
    /// Returns whether the request can change files: by running a command, or by input for a running one.
    pub fn can_change(&self) -> bool {
        match self {
            Self::Run(_) | Self::Start(_) => true,
            Self::Write(input) => !input.chars.is_empty() || input.eof,
            Self::Sessions | Self::Kill(_) => false,
        }
    }

    /// Returns the working directory as the caller names it.
    pub fn workdir(&self) -> Option<&String> {
        match self {
            Self::Run(run) => Some(&run.workdir),
            Self::Start(start) => Some(&start.workdir),
            Self::Write(_) | Self::Sessions | Self::Kill(_) => None,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    pub script: Script,
    pub workdir: String,
    pub stdin: String,
    pub timeout_ms: u64,
    pub max_output_tokens: Option<u64>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Script {
    Shell(String),
    Python(String),
    Program(String, Vec<String>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Start {
    pub command: String,
    pub workdir: String,
    pub terminal: bool,
    pub input: bool,
    pub size: (u16, u16),
    pub yield_ms: u64,
    pub max_output_tokens: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    pub session: u32,
    pub chars: String,
    pub eof: bool,
    pub size: Option<(u16, u16)>,
    pub yield_ms: u64,
    pub max_output_tokens: u64,
    pub offset: Option<u64>,
}
