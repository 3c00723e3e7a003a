//! The commands over standard input and output, with the arguments and the output of the native program.

use std::io::{Read, Write};

use paddock_protocol::envelope::MAX_MESSAGE_BYTES;
use paddock_protocol::formats::Format;
use paddock_protocol::http::call_line;
use paddock_protocol::lines::{Line, Lines};
use paddock_protocol::server::Server;
use paddock_protocol::session::Session;
use paddock_protocol::tools::{Outcome, Tools};

/// Description of the commands.
pub const USAGE: &str = "\
usage: call [--dialect LIST] TOOL [JSON | -]    make one call, and print its result as one JSON object
       batch [--dialect LIST]                   make the calls on standard input, one JSON object per line
       tools [--dialect LIST] [--format FORMAT] print the tools: mcp, openai, anthropic or gemini
       mcp [--dialect LIST]                     serve the Model Context Protocol";

/// Bytes of one read from standard input.
const BUFFER: usize = 64 << 10;

/// A failure of a command itself, rather than of a tool.
#[derive(Debug)]
pub enum CommandError {
    /// The arguments are wrong.
    Usage(String),
    /// Standard input or output failed.
    Io(std::io::Error),
}

/// Arguments of a command.
struct Arguments {
    dialect: String,
    format: Format,
    others: Vec<String>,
}

/// Runs a command. `arguments` are those after the name of the program. Returns whether every tool succeeded.
///
/// # Errors
///
/// If the arguments are wrong, or standard input or output fails.
pub fn run(
    tools: &impl Tools,
    dialect: &str,
    arguments: &[String],
    stdin: &mut impl Read,
    stdout: &mut impl Write,
) -> Result<bool, CommandError> {
    let Some((command, arguments)) = arguments.split_first() else {
        return Err(CommandError::Usage("a command is missing".to_owned()));
    };
    let arguments = Arguments::parse(dialect, arguments, command == "tools")?;
    match (command.as_str(), arguments.others.as_slice()) {
        ("call", [tool]) => call(tools, &arguments.dialect, tool, "{}", stdin, stdout),
        ("call", [tool, json]) => call(tools, &arguments.dialect, tool, json, stdin, stdout),
        ("batch", []) => batch(tools, &arguments.dialect, stdin, stdout),
        ("tools", []) => list(tools, &arguments, stdout),
        ("mcp", []) => serve(tools, &arguments.dialect, stdin, stdout),
        ("call" | "batch" | "tools" | "mcp", _) => {
            Err(CommandError::Usage(format!("`{command}` has too few or too many arguments")))
        }
        _ => Err(CommandError::Usage(format!("there is no command `{command}`"))),
    }
}

impl Arguments {
    fn parse(dialect: &str, arguments: &[String], has_format: bool) -> Result<Self, CommandError> {
        let mut parsed = Self { dialect: dialect.to_owned(), format: Format::default(), others: Vec::new() };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let (name, value) =
                argument.split_once('=').map_or((argument.as_str(), None), |(name, value)| (name, Some(value)));
            let mut value = || {
                let value = value.or_else(|| arguments.next().map(String::as_str));
                value.ok_or_else(|| CommandError::Usage(format!("`{name}` needs a value")))
            };
            match name {
                "--dialect" => parsed.dialect = value()?.to_owned(),
                "--format" if has_format => parsed.format = value()?.parse().map_err(CommandError::Usage)?,
                _ if name.starts_with("--") => {
                    return Err(CommandError::Usage(format!(
                        "there is no option `{name}`; the engine opens directories"
                    )));
                }
                _ => parsed.others.push(argument.clone()),
            }
        }
        Ok(parsed)
    }
}

fn call(
    tools: &impl Tools,
    dialect: &str,
    tool: &str,
    json: &str,
    stdin: &mut impl Read,
    stdout: &mut impl Write,
) -> Result<bool, CommandError> {
    let outcome = match json {
        "-" => read_all(stdin)?.map_or_else(Outcome::invalid_argument, |json| tools.call(dialect, tool, &json)),
        json => tools.call(dialect, tool, json),
    };
    print(stdout, &outcome.to_json())?;
    Ok(outcome.error.is_none())
}

/// Reads the arguments of a call. The inner error explains why they are invalid.
fn read_all(stdin: &mut impl Read) -> Result<Result<String, String>, CommandError> {
    let mut bytes = Vec::new();
    let limit = u64::try_from(MAX_MESSAGE_BYTES).unwrap_or(u64::MAX).saturating_add(1);
    stdin.take(limit).read_to_end(&mut bytes)?;
    if bytes.len() > MAX_MESSAGE_BYTES {
        return Ok(Err(format!("the arguments may have at most {MAX_MESSAGE_BYTES} bytes")));
    }
    Ok(String::from_utf8(bytes).map_err(|cause| format!("the arguments are not UTF-8: {cause}")))
}

fn batch(
    tools: &impl Tools,
    dialect: &str,
    stdin: &mut impl Read,
    stdout: &mut impl Write,
) -> Result<bool, CommandError> {
    let mut is_ok = true;
    for_each_line(stdin, |line| {
        let outcome = match line {
            Line::Text(line) => call_line(tools, dialect, &line),
            Line::TooLong(_) => Outcome::invalid_argument(format!("a line may have at most {MAX_MESSAGE_BYTES} bytes")),
        };
        is_ok &= outcome.error.is_none();
        print(stdout, &outcome.to_json())
    })?;
    Ok(is_ok)
}

fn list(tools: &impl Tools, arguments: &Arguments, stdout: &mut impl Write) -> Result<bool, CommandError> {
    match tools.describe(&arguments.dialect) {
        Ok(tools) => {
            print(stdout, &arguments.format.render_line(&tools).map_err(std::io::Error::from)?)?;
            Ok(true)
        }
        Err(error) => {
            print(stdout, &Outcome::failed(error).to_json())?;
            Ok(false)
        }
    }
}

fn serve(
    tools: &impl Tools,
    dialect: &str,
    stdin: &mut impl Read,
    stdout: &mut impl Write,
) -> Result<bool, CommandError> {
    let mut session = Session::new(Server::new(tools, dialect));
    for_each_line(stdin, |line| session.answer(&line).map_or(Ok(()), |answer| print(stdout, &answer)))?;
    Ok(true)
}

/// Passes each line of standard input to `handle` as soon as it is there, because the client waits for its answer.
fn for_each_line(
    stdin: &mut impl Read,
    mut handle: impl FnMut(Line) -> Result<(), CommandError>,
) -> Result<(), CommandError> {
    let (mut lines, mut buffer) = (Lines::new(MAX_MESSAGE_BYTES), vec![0; BUFFER]);
    loop {
        let length = match stdin.read(&mut buffer) {
            Err(cause) if cause.kind() == std::io::ErrorKind::Interrupted => continue,
            other => other?,
        };
        match buffer.get(..length).filter(|bytes| !bytes.is_empty()) {
            Some(bytes) => lines.read(bytes, &mut handle)?,
            None => break,
        }
    }
    lines.end().map_or(Ok(()), handle)
}

fn print(stdout: &mut impl Write, line: &str) -> Result<(), CommandError> {
    stdout.write_all(line.as_bytes())?;
    stdout.write_all(b"\n")?;
    Ok(stdout.flush()?)
}

impl From<std::io::Error> for CommandError {
    fn from(cause: std::io::Error) -> Self {
        Self::Io(cause)
    }
}

impl std::fmt::Display for CommandError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Usage(cause) => write!(formatter, "{cause}\n{USAGE}"),
            Self::Io(cause) => write!(formatter, "standard input or output failed: {cause}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use paddock_protocol::tools::{Failure, Tool};

    use super::*;

    struct Echo;

    impl Tools for Echo {
        fn describe(&self, dialect: &str) -> Result<Vec<Tool>, Failure> {
            match dialect {
                "none" => Err(Failure::new("unknown-dialect", "no dialect `none`")),
                _ => Ok(Vec::new()),
            }
        }

        fn call(&self, dialect: &str, name: &str, arguments: &str) -> Outcome {
            match name {
                "fail" => Outcome::failed(Failure::new("io", "failed")),
                _ => Outcome { result: arguments.to_owned(), text: format!("{dialect} {name}"), ..Outcome::default() },
            }
        }
    }

    fn printed(arguments: &[&str], stdin: &str) -> Result<(bool, String), String> {
        let arguments: Vec<_> = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        let mut stdout = Vec::new();
        let is_ok = run(&Echo, "paddock", &arguments, &mut stdin.as_bytes(), &mut stdout);
        is_ok.map(|is_ok| (is_ok, String::from_utf8(stdout).unwrap())).map_err(|error| error.to_string())
    }

    #[test]
    fn a_call_prints_one_line() {
        let line = |text: &str, result: &str| {
            format!("{{\"ok\":true,\"result\":{result},\"text\":\"{text}\",\"changes\":[]}}\n")
        };
        assert_eq!(printed(&["call", "x"], "").unwrap(), (true, line("paddock x", "{}")));
        assert_eq!(printed(&["call", "--dialect", "a", "x", "{\"b\":1}"], "").unwrap().1, line("a x", "{\"b\":1}"));
        assert_eq!(printed(&["call", "x", "-", "--dialect=a"], "{\"b\":2}").unwrap().1, line("a x", "{\"b\":2}"));
        assert!(!printed(&["call", "fail"], "").unwrap().0);
    }

    #[test]
    fn a_batch_prints_a_line_for_each_line() {
        let lines = "{\"tool\":\"a\"}\n\n{\"tool\":\"fail\"}\n{\n{\"tool\":\"b\",\"dialect\":\"d\"}";
        let (is_ok, out) = printed(&["batch"], lines).unwrap();
        assert!(!is_ok);
        let lines: Vec<serde_json::Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let oks: Vec<_> = lines.iter().map(|line| line["ok"].as_bool().unwrap()).collect();
        assert_eq!(oks, [true, false, false, true]);
        assert_eq!(lines[2]["error"]["code"], "invalid-argument");
        assert_eq!(lines[3]["text"], "d b");
    }

    #[test]
    fn mcp_answers_each_request() {
        let ping = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}";
        let out = printed(&["mcp"], &format!("{ping}\n{{\"method\":\"x\"}}\n{ping}")).unwrap();
        assert_eq!(out, (true, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n".repeat(2)));
    }

    #[test]
    fn wrong_usage_is_explained() {
        assert_eq!(printed(&["tools", "--format", "gemini"], "").unwrap().1, "[{\"functionDeclarations\":[]}]\n");
        assert!(!printed(&["tools", "--dialect", "none"], "").unwrap().0);
        for arguments in [
            &[][..],
            &["serve"],
            &["call"],
            &["call", "a", "b", "c"],
            &["call", "--root", ".", "a"],
            &["call", "--format", "mcp", "a"],
            &["tools", "--format", "xml"],
            &["mcp", "--dialect"],
        ] {
            assert!(printed(arguments, "").unwrap_err().contains("usage: call"), "{arguments:?}");
        }
    }
}
