//! Which command lines the policy allows and denies.
//!
//! A rule is the first words of a command, such as `git push`. It is held against
//! every command that a shell would run for the line, wherever it stands in it, and
//! against those that a program like `env`, `xargs` or `sh -c` is asked to run. What
//! programs do by themselves no rule can tell: that is what the confinement is for.

use std::collections::BTreeSet;

use super::parse;
use crate::types::{ErrorCode, ToolError};

/// Programs that run what the rest of their words say.
const RUNNERS: [&str; 30] = [
    "builtin", "busybox", "chroot", "chrt", "command", "coproc", "doas", "env", "exec", "find", "flock", "ionice",
    "nice", "nohup", "nsenter", "parallel", "runuser", "script", "setpriv", "setsid", "stdbuf", "strace", "su", "sudo",
    "taskset", "time", "timeout", "unshare", "watch", "xargs",
];

/// Those of them to which one word can be a whole line.
const LINE_RUNNERS: [&str; 6] = ["flock", "parallel", "runuser", "script", "su", "watch"];

/// What `find` begins a command with.
const FIND_RUNS: [&str; 4] = ["-exec", "-execdir", "-ok", "-okdir"];

/// Programs that run a word as a command line: the one after `-c`.
const SHELLS: [&str; 6] = ["sh", "bash", "dash", "zsh", "ksh", "ash"];

/// What a shell does by itself, and evaluates no argument of: no list of what is allowed needs to name it.
const BUILT_IN: [&str; 11] =
    [":", "break", "cd", "continue", "echo", "exit", "false", "pwd", "return", "shift", "true"];

/// The rules of a policy.
#[derive(Clone, Debug, Default)]
pub(super) struct Rules {
    allow: Vec<Vec<String>>,
    deny: Vec<Vec<String>>,
}

/// A line in a line, where it can be told.
type Line = Option<String>;

/// Why a line may not run.
#[derive(Debug, PartialEq, Eq)]
struct Refusal {
    cause: String,
    hint: &'static str,
}

impl Refusal {
    fn of(self, line: &str) -> ToolError {
        ToolError::new(ErrorCode::Denied, format!("cannot run `{}`: {}", shown(line), self.cause)).hint(self.hint)
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

    /// Fails with `denied` and the rule where the line may not run.
    pub(super) fn check(&self, line: &str) -> Result<(), ToolError> {
        self.judge(line, 0).map_err(|refusal| refusal.of(line))
    }

    /// The same of a program that is run without a shell, and its arguments.
    pub(super) fn check_program(&self, words: &[String]) -> Result<(), ToolError> {
        if self.allow.is_empty() && self.deny.is_empty() {
            return Ok(());
        }
        let plain: Vec<_> = words.iter().cloned().map(Some).collect();
        self.command(&plain, 0).map_err(|refusal| refusal.of(&words.join(" ")))
    }

    /// Whether a rule is this one word.
    #[cfg(target_os = "linux")]
    pub(super) fn allows(&self, name: &str) -> bool {
        self.allow.iter().any(|rule| rule.as_slice() == [name])
    }

    /// Why a line that is not one command of plain words may not run where no shell is allowed.
    #[cfg(target_os = "linux")]
    pub(super) fn needs_shell(&self, line: &str) -> ToolError {
        let allowed = self.listed();
        let cause = format!("it needs a shell, and the policy's `commands.allow` has none; it allows {allowed}");
        let hint = "run one program with plain words as its arguments, and set the working directory instead of `cd`";
        Refusal { cause, hint }.of(line)
    }

    fn judge(&self, line: &str, depth: usize) -> Result<(), Refusal> {
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
        let is_built_in = |words: &Vec<Option<String>>| {
            words.first().is_some_and(|word| word.as_deref().is_some_and(|word| BUILT_IN.contains(&word)))
        };
        parsed.commands.iter().try_for_each(|words| match is_built_in(words) {
            true => self.denied(words),
            false => self.command(words, depth),
        })
    }

    fn command(&self, words: &[Option<String>], depth: usize) -> Result<(), Refusal> {
        let Some(Some(first)) = words.first() else { return Err(opaque()) };
        let name = first.rsplit('/').next().unwrap_or(first);
        self.denied(words)?;
        // A name that stands for any command; and a shell that runs shells that run shells.
        if (name == "alias" && words.len() > 1) || depth > MAX_SHELLS {
            return Err(opaque());
        }
        // Each line once, or shells that name each other's line over and over take for ever.
        let mut lines: BTreeSet<_> = run_as_line(name, words).into_iter().collect();
        let is_runner = RUNNERS.contains(&name);
        if is_runner {
            lines.extend(self.runner(name, words)?);
        }
        lines.into_iter().try_for_each(|line| self.judge(&line.ok_or_else(opaque)?, depth + 1))?;
        if self.allow.is_empty() {
            return Ok(());
        }
        if self.allow.iter().any(|rule| matches(rule, words) == Match::Yes) {
            let runs = if is_runner { run_by(name, words) } else { Vec::new() };
            return runs.into_iter().try_for_each(|words| self.command(words, depth + 1));
        }
        let (name, allowed) = (shown(name), self.listed());
        Err(Refusal {
            cause: format!("the policy's `commands.allow` has no rule for `{name}`; it allows {allowed}"),
            hint: "use an allowed command, or the file tools",
        })
    }

    /// The rules of what is allowed, for a message.
    fn listed(&self) -> String {
        self.allow.iter().map(|rule| format!("`{}`", rule.join(" "))).collect::<Vec<_>>().join(", ")
    }

    /// The lines that a runner may be asked to run, whatever word its options end at. Fails where it may be asked to
    /// run what is denied.
    fn runner(&self, name: &str, words: &[Option<String>]) -> Result<Vec<Line>, Refusal> {
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
        }
        Ok(lines)
    }

    fn denied(&self, words: &[Option<String>]) -> Result<(), Refusal> {
        let hit = |rule: &&Vec<String>| matches(rule, words) != Match::No;
        let Some(rule) = self.deny.iter().find(hit) else { return Ok(()) };
        let (rule, seen) = (rule.join(" "), matches(rule, words));
        Err(Refusal {
            cause: match seen {
                Match::Maybe => format!("it may be `{rule}`, which the policy's `commands.deny` forbids"),
                _ => format!("the policy's `commands.deny` has the rule `{rule}`"),
            },
            hint: "do it without that command; write words out where a variable or pattern hides them",
        })
    }
}

/// The line that a shell is asked to run, where it is asked to run one.
fn run_as_line(name: &str, words: &[Option<String>]) -> Option<Line> {
    let is_command =
        |word: &Option<String>| word.as_deref().is_some_and(|word| is_cluster(word) && word.ends_with('c'));
    match name {
        "eval" => {
            let words: Option<Vec<_>> = words.get(1..)?.iter().cloned().collect();
            Some(words.map(|words| words.join(" ")))
        }
        "trap" => words.get(1).cloned(),
        _ if SHELLS.contains(&name) => {
            let at = words.iter().position(is_command)?;
            Some(words.get(at + 1).cloned().flatten())
        }
        _ => None,
    }
}

/// The commands that a runner runs: from the first word that is no option, assignment or number.
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
    // A directory, a file to lock.
    let leading = usize::from(matches!(name, "chroot" | "flock"));
    plain.nth(leading).and_then(|(at, _)| words.get(at..)).into_iter().collect()
}

/// Options of one letter each.
fn is_cluster(word: &str) -> bool {
    word.starts_with('-') && !word.starts_with("--")
}

fn is_assignment(word: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    word.split_once('=').is_some_and(|(name, _)| !name.is_empty() && name.chars().all(is_part))
}

/// A number, which may have a unit of time or be a mask.
fn is_number(word: &str) -> bool {
    let digits = word.strip_suffix(['s', 'm', 'h', 'd']).unwrap_or(word);
    let is_mask = word.strip_prefix("0x").is_some_and(|mask| mask.chars().all(|c| c.is_ascii_hexdigit()));
    is_mask || digits.chars().all(|c| c.is_ascii_digit() || c == '.')
}

/// Shells in shells that are looked into.
const MAX_SHELLS: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Match {
    No,
    /// A word that decides it is not plain text.
    Maybe,
    Yes,
}

/// Whether a rule is the first words of a command, whose program counts by its name alone.
fn matches(rule: &[String], words: &[Option<String>]) -> Match {
    let mut found = Match::Yes;
    for (at, wanted) in rule.iter().enumerate() {
        match words.get(at) {
            None => return Match::No,
            Some(None) => found = Match::Maybe,
            Some(Some(word)) => {
                let word = if at == 0 { word.rsplit('/').next().unwrap_or(word) } else { word };
                if word != wanted {
                    return Match::No;
                }
            }
        }
    }
    found
}

fn opaque() -> Refusal {
    Refusal {
        cause: "the policy has rules for commands, and which one this runs cannot be told".to_owned(),
        hint: "write the command out, without variables, substitutions or patterns that stand for it",
    }
}

/// The start of a line, for a message.
fn shown(line: &str) -> String {
    const CHARS: usize = 200;
    let start: String = line.chars().take(CHARS).flat_map(char::escape_debug).collect();
    if line.chars().nth(CHARS).is_some() { format!("{start}…") } else { start }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(allow: &[&str], deny: &[&str], line: &str) -> Option<String> {
        let own = |rules: &[&str]| rules.iter().map(|rule| (*rule).to_owned()).collect::<Vec<_>>();
        Rules::new(&own(allow), &own(deny)).check(line).err().map(|error| error.message)
    }

    #[test]
    fn a_denied_command_is_found_wherever_it_stands() {
        for line in [
            "git push",
            "/usr/bin/git push origin",
            "cd x && git push",
            "echo $(git push)",
            "(true; git  'push')",
            "env A=1 git push",
            "timeout 5 nice -n 3 git push",
            "sh -c 'git push'",
            "bash -ec \"cd x; git push\"",
            "xargs git push",
            "eval git push",
            "f() { git push; }; f",
            "git \"push\" | cat",
            "find . -exec git push ';'",
            "env sh -c 'git push'",
            "env /bin/sh -c 'git push'",
            "busybox sh -c 'git push'",
            "watch 'git push'",
            "flock x -c 'git push'",
            "trap 'git push' EXIT",
        ] {
            let cause = refused(&[], &["git push"], line);
            assert!(cause.as_ref().is_some_and(|cause| cause.contains("`git push`")), "{line}: {cause:?}");
        }
        for line in ["git status", "echo git push", "git pushx", "grep 'git push' x", "cat <<'E'\ngit push\nE"] {
            assert_eq!(refused(&[], &["git push"], line), None, "{line}");
        }
    }

    #[test]
    fn what_cannot_be_told_is_refused_where_there_are_rules() {
        for line in [
            "$x push",
            "git $x",
            "sh -c \"$x\"",
            "eval \"$x\"",
            "g*t push",
            "echo ${x:-`git push`}",
            "git 'push",
            "alias g=git; g push",
            "env -S 'git push'",
            "env -iS 'git push'",
            "trap \"$x\" EXIT",
        ] {
            assert!(refused(&[], &["git push"], line).is_some(), "{line}");
            assert_eq!(refused(&[], &[], line), None, "{line}: without rules");
        }
    }

    #[test]
    fn a_line_of_many_shells_is_judged_in_time() {
        let mut line = "true".to_owned();
        for _ in 0..MAX_SHELLS {
            line = format!("env {}-c {}", "sh ".repeat(30), shlex(&line));
        }
        let begun = std::time::Instant::now();
        assert_eq!(refused(&[], &["git push"], &line), None);
        assert!(begun.elapsed().as_secs() < 5, "it took {:?}", begun.elapsed());
    }

    fn shlex(line: &str) -> String {
        format!("'{}'", line.replace('\'', "'\\''"))
    }

    #[test]
    fn a_list_of_allowed_commands_allows_no_other() {
        let allow = ["git status", "git diff", "make", "env", "timeout", "find", "nice"];
        for line in [
            "git status -s",
            "cd x && make test",
            "echo $(git diff)",
            "env A=1 make",
            "timeout 5 make",
            "timeout -k 5s 5 nice -n 3 make",
            "env",
            "find . -name x",
            "find . -exec make {} ';'",
            "x=1",
            "make | cat",
        ] {
            let expected = line.contains("cat");
            assert_eq!(refused(&allow, &[], line).is_some(), expected, "{line}");
        }
        for line in [
            "git",
            "git push",
            "rm -rf .",
            "make; rm x",
            "env rm x",
            "timeout 5 rm x",
            "timeout 5 rm make",
            "env rm git status",
            "timeout 5 env A=1 rm make",
            "find . -exec rm make ';'",
            "find . -exec make ';' -exec rm {} ';'",
            "env 7z make",
            "env ./a=b make",
            "find make -exec $x ';'",
            "echo $(rm x)",
            "git $x",
            "ls > x",
        ] {
            assert!(refused(&allow, &[], line).is_some(), "{line}");
        }
        let cause = refused(&allow, &[], "rm x").unwrap();
        assert!(cause.contains("no rule for `rm`") && cause.contains("`git status`"), "{cause}");
    }

    #[test]
    fn what_is_denied_is_not_allowed() {
        assert!(refused(&["git"], &["git push"], "git push").is_some());
        assert!(refused(&["git"], &["git push"], "git pull").is_none());
    }
}
