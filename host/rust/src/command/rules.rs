//! Which command lines the policy allows and denies.
//!
//! A rule is the first words of a command, such as `git push`. It is held against
//! every command that a shell would run for the line, wherever it stands in it, and
//! against those that a program like `env`, `xargs` or `sh -c` is asked to run. What
//! programs do by themselves no rule can tell: that is what the confinement is for.

use super::parse::{self, Words};
use crate::types::{ErrorCode, ToolError};

/// Programs that run what the rest of their words say.
const RUNNERS: [&str; 19] = [
    "builtin", "chroot", "command", "doas", "env", "exec", "find", "flock", "ionice", "nice", "nohup", "parallel",
    "setsid", "stdbuf", "sudo", "time", "timeout", "watch", "xargs",
];

/// Programs that run a word as a command line: the one after `-c`, of `eval` all.
const SHELLS: [&str; 7] = ["sh", "bash", "dash", "zsh", "ksh", "ash", "eval"];

/// What a shell does by itself, and nothing with it: no list of what is allowed needs to name it.
const BUILT_IN: [&str; 18] = [
    ":", "[", "break", "cd", "continue", "echo", "exit", "export", "false", "local", "printf", "pwd", "read", "return",
    "shift", "test", "true", "wait",
];

/// The rules of a policy.
#[derive(Clone, Debug, Default)]
pub(super) struct Rules {
    allow: Vec<Vec<String>>,
    deny: Vec<Vec<String>>,
}

/// Why a line may not run.
#[derive(Debug, PartialEq, Eq)]
struct Refusal {
    cause: String,
    hint: &'static str,
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
        self.judge(line, 0).map_err(|refusal| {
            ToolError::new(ErrorCode::Denied, format!("cannot run `{}`: {}", shown(line), refusal.cause))
                .hint(refusal.hint)
        })
    }

    /// The same of a program that is run without a shell, and its arguments.
    pub(super) fn check_program(&self, words: &[String]) -> Result<(), ToolError> {
        if self.allow.is_empty() && self.deny.is_empty() {
            return Ok(());
        }
        let plain = words.iter().cloned().map(Some).collect();
        self.command(&plain, 0).map_err(|refusal| {
            let line = words.join(" ");
            ToolError::new(ErrorCode::Denied, format!("cannot run `{}`: {}", shown(&line), refusal.cause))
                .hint(refusal.hint)
        })
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
        parsed.commands.iter().try_for_each(|words| self.command(words, depth))
    }

    fn command(&self, words: &Words, depth: usize) -> Result<(), Refusal> {
        let Some(Some(first)) = words.first() else { return Err(opaque()) };
        let name = first.rsplit('/').next().unwrap_or(first);
        self.denied(words)?;
        if SHELLS.contains(&name) {
            self.shell(name, words, depth)?;
        }
        let is_runner = RUNNERS.contains(&name);
        // Whatever word its options end at.
        let runs: Vec<_> = (1..words.len()).filter(|_| is_runner).filter_map(|at| words.get(at..)).collect();
        for words in &runs {
            let shell = words.first().and_then(Option::as_deref).filter(|word| SHELLS.contains(word));
            shell.map_or(Ok(()), |shell| self.shell(shell, words, depth))?;
            self.denied(words)?;
        }
        if self.allow.is_empty() || BUILT_IN.contains(&name) {
            return Ok(());
        }
        let is_allowed = |words: &[Option<String>]| self.allow.iter().any(|rule| matches(rule, words) == Match::Yes);
        if is_allowed(words) && (!is_runner || runs.iter().any(|words| is_allowed(words))) {
            return Ok(());
        }
        let allowed: Vec<_> = self.allow.iter().map(|rule| format!("`{}`", rule.join(" "))).collect();
        Err(Refusal {
            cause: format!(
                "the policy's `commands.allow` has no rule for `{}`; it allows {}",
                shown(name),
                allowed.join(", ")
            ),
            hint: "use an allowed command, or the file tools",
        })
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

    fn shell(&self, name: &str, words: &[Option<String>], depth: usize) -> Result<(), Refusal> {
        let line = match name {
            "eval" => words
                .get(1..)
                .unwrap_or_default()
                .iter()
                .cloned()
                .collect::<Option<Vec<_>>>()
                .map(|words| words.join(" ")),
            _ => {
                let is_command = |word: &Option<String>| {
                    word.as_deref()
                        .is_some_and(|word| word.starts_with('-') && !word.starts_with("--") && word.ends_with('c'))
                };
                match words.iter().position(is_command) {
                    Some(at) => words.get(at + 1).cloned().flatten(),
                    None => return Ok(()),
                }
            }
        };
        self.judge(&line.ok_or_else(opaque)?, depth + 1)
    }
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
        for line in
            ["$x push", "git $x", "sh -c \"$x\"", "eval \"$x\"", "g*t push", "echo ${x:-`git push`}", "git 'push"]
        {
            assert!(refused(&[], &["git push"], line).is_some(), "{line}");
            assert_eq!(refused(&[], &[], line), None, "{line}: without rules");
        }
    }

    #[test]
    fn a_list_of_allowed_commands_allows_no_other() {
        let allow = ["git status", "git diff", "make", "env", "timeout"];
        for line in [
            "git status -s",
            "cd x && make test",
            "echo $(git diff)",
            "env A=1 make",
            "timeout 5 make",
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
