//! Checks of command lines against the rules of the policy.
//!
//! A rule is the first words of a command, such as `git push`. It is compared with every command that a shell would run
//! for the line, and with the commands that a program like `env`, `xargs` or `sh -c` would run. Rules cannot see what
//! programs do by themselves; the confinement limits that.

use std::collections::BTreeSet;

use super::parse::{self, Input, Run};
use crate::types::{ErrorCode, ToolError};

/// Programs that run a command from their arguments.
const RUNNERS: [&str; 38] = [
    "builtin",
    "busybox",
    "chroot",
    "chrt",
    "command",
    "coproc",
    "coreutils",
    "doas",
    "env",
    "exec",
    "fakeroot",
    "find",
    "flock",
    "ionice",
    "jobs",
    "linux32",
    "linux64",
    "nice",
    "nohup",
    "nsenter",
    "parallel",
    "prlimit",
    "runuser",
    "script",
    "setarch",
    "setpriv",
    "setsid",
    "stdbuf",
    "strace",
    "su",
    "sudo",
    "taskset",
    "time",
    "timeout",
    "toybox",
    "unshare",
    "watch",
    "xargs",
];

/// Programs of `RUNNERS` that take one argument as a whole command line.
const LINE_RUNNERS: [&str; 6] = ["flock", "parallel", "runuser", "script", "su", "watch"];

/// Programs of `RUNNERS` that replace `{}` by text that they find or read.
const FILLED: [&str; 3] = ["find", "parallel", "xargs"];

/// Arguments of `find` before a command.
const FIND_RUNS: [&str; 4] = ["-exec", "-execdir", "-ok", "-okdir"];

/// Programs that run the argument after `-c` as a command line.
const SHELLS: [&str; 8] = ["sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "rbash"];

/// Commands of the shell itself that evaluate no argument. They are allowed without a rule.
const BUILT_IN: [&str; 11] =
    [":", "break", "cd", "continue", "echo", "exit", "false", "pwd", "return", "shift", "true"];

/// The rules of a policy.
#[derive(Clone, Debug, Default)]
pub(super) struct Rules {
    allow: Vec<Vec<String>>,
    deny: Vec<Vec<String>>,
}

/// A command line in an argument; `None` if it is not plain text.
type Line = Option<String>;

/// Reason why a line must not run.
#[derive(Debug, PartialEq, Eq)]
struct Refusal {
    cause: String,
    hint: &'static str,
}

impl Refusal {
    fn of(self, line: &str) -> ToolError {
        ToolError::new(ErrorCode::Denied, format!("cannot run `{}`: {}", for_message(line), self.cause)).hint(self.hint)
    }
}

impl Rules {
    pub(super) fn new(allow: &[String], deny: &[String]) -> Self {
        let rules = |rules: &[String]| {
            let words = |rule: &String| rule.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            rules.iter().map(words).filter(|words: &Vec<_>| !words.is_empty()).collect()
        };
        Self { allow: rules(allow), deny: rules(deny) }
    }

    /// Checks a line. Fails with `denied` and the rule if the line must not run.
    #[cfg(any(test, target_os = "linux"))]
    pub(super) fn check(&self, line: &str) -> Result<(), ToolError> {
        self.authorizer(line, 0).map_err(|refusal| refusal.of(line))
    }

    /// Checks a program with its arguments that runs without a shell, as `check` does.
    pub(super) fn check_program(&self, words: &[String]) -> Result<(), ToolError> {
        if self.allow.is_empty() && self.deny.is_empty() {
            return Ok(());
        }
        let plain: Vec<_> = words.iter().cloned().map(Some).collect();
        self.command(&plain, &Input::Unknown, 0).map_err(|refusal| refusal.of(&words.join(" ")))
    }

    /// Returns whether a rule consists of this one word.
    #[cfg(target_os = "linux")]
    pub(super) fn allows(&self, name: &str) -> bool {
        self.allow.iter().any(|rule| rule.as_slice() == [name])
    }

    /// Returns the error for a line that is not a single command of plain words if no shell is allowed.
    #[cfg(target_os = "linux")]
    pub(super) fn needs_shell(&self, line: &str) -> ToolError {
        let allowed = self.listed();
        let cause = format!("it needs a shell, and the policy's `commands.allow` has none; it allows {allowed}");
        let hint = "run one program with plain words as its arguments, and set the working directory instead of `cd`";
        Refusal { cause, hint }.of(line)
    }

    fn authorizer(&self, line: &str, depth: usize) -> Result<(), Refusal> {
        if self.allow.is_empty() && self.deny.is_empty() {
            return Ok(());
        }
        let parsed = parse::parse(line).map_err(|cause| Refusal {
            cause: format!("the policy has rules for commands, and this cannot be parsed: {cause}"),
            hint: "write it in plain shell syntax",
        })?;
        if parsed.is_opaque || depth > MAX_SHELLS {
            return Err(opaque());
        }
        let is_built_in = |run: &Run| {
            run.words.first().is_some_and(|word| word.as_deref().is_some_and(|word| BUILT_IN.contains(&word)))
        };
        parsed.commands.iter().try_for_each(|run| match is_built_in(run) {
            true => self.denied(&run.words),
            false => self.command(&run.words, &run.input, depth),
        })
    }

    fn command(&self, words: &[Option<String>], input: &Input, depth: usize) -> Result<(), Refusal> {
        let Some(Some(first)) = words.first() else { return Err(opaque()) };
        let name = first.rsplit('/').next().unwrap_or(first);
        self.denied(words)?;
        // An alias can stand for any command, and nested shells are followed to a limited depth.
        if (name == "alias" && words.len() > 1) || depth > MAX_SHELLS || names_a_command(name, words) {
            return Err(opaque());
        }
        // Each line is checked once, because shells that run each other's lines would not terminate.
        let mut lines: BTreeSet<_> = run_as_line(name, words).into_iter().collect();
        lines.extend(read_as_lines(name, words, input));
        let is_runner = RUNNERS.contains(&name);
        if is_runner {
            lines.extend(self.runner(name, words, input)?);
        }
        lines.into_iter().try_for_each(|line| self.authorizer(&line.ok_or_else(opaque)?, depth + 1))?;
        if self.allow.is_empty() {
            return Ok(());
        }
        if self.allow.iter().any(|rule| matches(rule, words) == Match::Yes) {
            let runs = if is_runner { run_by(name, words) } else { Vec::new() };
            return runs.into_iter().try_for_each(|words| self.command(words, input, depth + 1));
        }
        let (name, allowed) = (for_message(name), self.listed());
        Err(Refusal {
            cause: format!("the policy's `commands.allow` has no rule for `{name}`; it allows {allowed}"),
            hint: "use an allowed command, or the file tools",
        })
    }

    /// Lists the rules of allowed commands for a message.
    fn listed(&self) -> String {
        self.allow.iter().map(|rule| format!("`{}`", rule.join(" "))).collect::<Vec<_>>().join(", ")
    }

    /// Returns the lines that a runner could run, for every word at which its options could end. Fails if one of its
    /// possible commands is denied.
    fn runner(&self, name: &str, words: &[Option<String>], input: &Input) -> Result<Vec<Line>, Refusal> {
        let is_split = |word: &Option<String>| {
            word.as_deref().is_some_and(|word| word.starts_with("--split") || (is_cluster(word) && word.contains('S')))
        };
        if name == "env" && words.iter().any(is_split) {
            return Err(opaque());
        }
        let mut lines = Vec::new();
        for runs in (1..words.len()).filter_map(|at| words.get(at..)) {
            self.denied(runs)?;
            let Some(Some(first)) = runs.first() else { continue };
            if LINE_RUNNERS.contains(&name) && first.contains(char::is_whitespace) {
                lines.push(Some(first.clone()));
            }
            lines.extend(run_as_line(first.rsplit('/').next().unwrap_or(first), runs));
            lines.extend(read_as_lines(first.rsplit('/').next().unwrap_or(first), runs, input));
        }
        // The runner reads the text that replaces `{}`.
        let is_filled = |line: &Line| line.as_ref().is_some_and(|line| line.contains("{}"));
        if FILLED.contains(&name) && lines.iter().any(is_filled) {
            return Err(opaque());
        }
        Ok(lines)
    }

    fn denied(&self, words: &[Option<String>]) -> Result<(), Refusal> {
        let hit = |rule: &&Vec<String>| matches(rule, words) != Match::No;
        let Some(rule) = self.deny.iter().find(hit) else { return Ok(()) };
        let (rule, rule_match) = (rule.join(" "), matches(rule, words));
        Err(Refusal {
            cause: match rule_match {
                Match::Maybe => format!("it may be `{rule}`, which the policy's `commands.deny` forbids"),
                _ => format!("the policy's `commands.deny` has the rule `{rule}`"),
            },
            hint: "do it without that command; write words out where a variable or pattern hides them",
        })
    }
}

/// Returns whether a command of the shell defines a name for another command, or runs one of its words.
fn names_a_command(name: &str, words: &[Option<String>]) -> bool {
    let has = |letter: char| {
        words.iter().skip(1).any(|word| word.as_deref().is_none_or(|word| is_cluster(word) && word.contains(letter)))
    };
    match name {
        "hash" => has('p'),
        "mapfile" | "readarray" => has('C'),
        "compgen" | "complete" | "bind" | "fc" => words.len() > 1,
        "enable" => has('f'),
        "." | "source" => words.get(1).is_some_and(|file| !is_file(file)),
        _ => false,
    }
}

fn is_file(word: &Option<String>) -> bool {
    word.as_deref().is_some_and(|path| !parse::is_special(path))
}

/// Returns the line that a shell reads from its standard input, if its arguments name neither a line nor a file.
fn read_as_lines(name: &str, words: &[Option<String>], input: &Input) -> Option<Line> {
    let is_option = |word: &&Option<String>| word.as_deref().is_some_and(|word| word.starts_with(['-', '+']));
    if !SHELLS.contains(&name) || run_as_line(name, words).is_some() {
        return None;
    }
    let reads =
        words.iter().skip(1).any(|word| word.as_deref().is_some_and(|word| is_cluster(word) && word.contains('s')));
    match words.iter().skip(1).find(|word| !is_option(word)) {
        Some(file) if !reads => (!is_file(file)).then_some(None),
        _ => match input {
            Input::Text(text) => Some(text.clone()),
            Input::File => None,
            Input::Unknown => Some(None),
        },
    }
}

/// Returns the line that the arguments of a shell name.
fn run_as_line(name: &str, words: &[Option<String>]) -> Option<Line> {
    let is_command =
        |word: &Option<String>| word.as_deref().is_some_and(|word| is_cluster(word) && word.ends_with('c'));
    match name {
        "eval" => {
            let words: Option<Vec<_>> = words.get(1..)?.iter().filter(|word| !is_end(word)).cloned().collect();
            Some(words.map(|words| words.join(" ")))
        }
        "trap" => words.iter().skip(1).find(|word| !is_end(word)).cloned(),
        _ if SHELLS.contains(&name) => {
            let at = words.iter().position(is_command)?;
            let is_option = |word: &&Option<String>| word.as_deref().is_some_and(|word| word.starts_with(['-', '+']));
            Some(words.iter().skip(at + 1).find(|word| !is_option(word)).cloned().flatten())
        }
        _ => None,
    }
}

/// Returns the commands that a runner could run, from the first word on that is no option, assignment or number.
fn run_by<'w>(name: &str, words: &'w [Option<String>]) -> Vec<&'w [Option<String>]> {
    if name == "find" {
        let begins = |word: &Option<String>| word.as_deref().is_some_and(|word| FIND_RUNS.contains(&word));
        let begun = words.iter().enumerate().filter(|(_, word)| begins(word)).map(|(at, _)| at + 1);
        return begun.filter_map(|at| words.get(at..)).collect();
    }
    let is_plain = |word: &Option<String>| {
        word.as_deref().is_none_or(|word| !word.starts_with(['-', '+']) && !is_assignment(word) && !is_number(word))
    };
    let mut plain = words.iter().enumerate().skip(1).filter(|(_, word)| is_plain(word));
    // The first argument is a directory or a lock file.
    let leading = usize::from(matches!(name, "chroot" | "flock"));
    plain.nth(leading).and_then(|(at, _)| words.get(at..)).into_iter().collect()
}

/// Returns whether a word ends the options.
fn is_end(word: &Option<String>) -> bool {
    word.as_deref() == Some("--")
}

/// Returns whether a word is a cluster of options of one letter each.
fn is_cluster(word: &str) -> bool {
    word.starts_with('-') && !word.starts_with("--")
}

fn is_assignment(word: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    word.split_once('=').is_some_and(|(name, _)| !name.is_empty() && name.chars().all(is_part))
}

/// Returns whether a word is a number, which may have a unit of time or be a mask.
fn is_number(word: &str) -> bool {
    let digits = word.strip_suffix(['s', 'm', 'h', 'd']).unwrap_or(word);
    let is_mask = word.strip_prefix("0x").is_some_and(|mask| mask.chars().all(|c| c.is_ascii_hexdigit()));
    is_mask || digits.chars().all(|c| c.is_ascii_digit() || c == '.')
}

/// Maximum depth of nested shells that are parsed.
const MAX_SHELLS: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Match {
    No,
    /// A word that decides the result is not plain text.
    Maybe,
    Yes,
}

/// Returns whether a rule is the first words of a command. The program is compared by its name without the directory.
fn matches(rule: &[String], words: &[Option<String>]) -> Match {
    let mut result = Match::Yes;
    for (at, wanted) in rule.iter().enumerate() {
        match words.get(at) {
            None => return Match::No,
            Some(None) => result = Match::Maybe,
            Some(Some(word)) => {
                let word = if at == 0 { word.rsplit('/').next().unwrap_or(word) } else { word };
                if word != wanted {
                    return Match::No;
                }
            }
        }
    }
    result
}

fn opaque() -> Refusal {
    Refusal {
        cause: "the policy has rules for commands, and the command that this runs cannot be determined".to_owned(),
        hint: "write the command out, without variables, substitutions or patterns that stand for it",
    }
}

/// Returns the start of a line, for a message.
fn for_message(line: &str) -> String {
    const CHARS: usize = 200;
    let start: String = line.chars().take(CHARS).flat_map(char::escape_debug).collect();
    if line.chars().nth(CHARS).is_some() { format!("{start}…") } else { start }
}

#[cfg(test)]
mod tests;
