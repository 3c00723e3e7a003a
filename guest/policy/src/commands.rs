//! Settings about commands that the host runs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Commands that the host runs, confined to the roots.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Commands {
    /// Whether tools can run commands.
    pub enabled: bool,
    /// Whether commands run even if the system cannot confine them, with all rights of the user.
    pub unconfined: bool,
    /// Whether commands can use the network.
    pub network: bool,
    /// Whether commands can change what Git stores of a repository: objects, references, their logs, and the index, so
    /// that `git commit` works. Hooks, settings and everything else in `.git` stay protected.
    pub git: bool,
    /// Further directories that commands can read and execute from. Paths are as in `allowed_directories`.
    pub readable: Vec<String>,
    /// Directories before the usual `PATH`, which commands can also read.
    pub path: Vec<String>,
    /// Environment variables of commands, by name.
    pub environment: BTreeMap<String, String>,
    /// Names of environment variables that commands inherit. They inherit no others.
    pub pass_environment: Vec<String>,
    /// If not empty, commands that match none of these rules are refused. A rule is the first words of a command, such
    /// as `git status`. No shell parses the line then, unless a rule is the name of a shell alone, and the kernel
    /// executes only the programs that the rules name. A named program that can load code, such as a shell or an
    /// interpreter, can run any code in the same confinement.
    pub allow: Vec<String>,
    /// Files, and directories with their content, that commands may execute in addition to the programs that `allow`
    /// names, such as `/usr/lib/git-core`. A program loader (`ld-linux`) must be named as a file. Paths are as in
    /// `allowed_directories`.
    pub executables: Vec<String>,
    /// Commands that match one of these rules are refused.
    pub deny: Vec<String>,
    /// WASI programs: names, with the paths of their `.wasm` files. They run in their own sandbox on every system.
    pub programs: BTreeMap<String, String>,
    /// Maximum number of sessions. A new session beyond it ends the one that was used least recently.
    pub max_sessions: u32,
    /// Time limit of a command or session, in milliseconds.
    pub max_time_ms: u64,
    /// Maximum size of each output stream in a result, in bytes, if the call states none. Of a longer stream, the
    /// result has the head and the tail.
    pub max_output_bytes: u64,
    /// Maximum number of lines of each output stream in a result, if the call states no size.
    pub max_output_lines: u64,
    /// Maximum number of simultaneous processes of a command.
    pub max_processes: u32,
    /// Maximum private memory of each process, in bytes. If the host may create a control group with the memory
    /// controller (cgroup v2), also the maximum memory of all processes of a command together, including shared memory.
    pub max_memory_bytes: u64,
    /// Maximum size of a file that a command writes, in bytes.
    pub max_file_bytes: u64,
}

impl Default for Commands {
    fn default() -> Self {
        Self {
            enabled: false,
            unconfined: false,
            network: false,
            git: false,
            readable: Vec::new(),
            path: Vec::new(),
            environment: BTreeMap::new(),
            pass_environment: Vec::new(),
            allow: Vec::new(),
            executables: Vec::new(),
            deny: Vec::new(),
            programs: BTreeMap::new(),
            max_sessions: 64,
            max_time_ms: 3_600_000,
            max_output_bytes: 8 * 1024,
            max_output_lines: 200,
            max_processes: 256,
            max_memory_bytes: 4 * 1024 * 1024 * 1024,
            max_file_bytes: 1024 * 1024 * 1024,
        }
    }
}

impl Commands {
    /// Checks the settings. Fails with the full name of the first setting without meaning, and the reason.
    pub(crate) fn check(&self) -> Result<(), (&'static str, String)> {
        let zero = [
            ("commands.max_time_ms", self.max_time_ms == 0),
            ("commands.max_output_bytes", self.max_output_bytes == 0),
            ("commands.max_output_lines", self.max_output_lines == 0),
            ("commands.max_processes", self.max_processes == 0),
            ("commands.max_memory_bytes", self.max_memory_bytes == 0),
        ];
        if let Some((setting, _)) = zero.into_iter().find(|(_, is_zero)| *is_zero) {
            return Err((setting, "must be at least 1".to_owned()));
        }
        for (setting, rules) in [("commands.allow", &self.allow), ("commands.deny", &self.deny)] {
            if rules.iter().any(|rule| rule.trim().is_empty()) {
                return Err((setting, "a rule without a word says nothing".to_owned()));
            }
        }
        let set = self.environment.keys().map(|name| ("commands.environment", name));
        let passed = self.pass_environment.iter().map(|name| ("commands.pass_environment", name));
        if let Some((setting, odd)) = set.chain(passed).find(|(_, name)| !is_variable(name)) {
            return Err((setting, format!("`{}` is not a valid name of an environment variable", odd.escape_debug())));
        }
        if let Some((name, _)) = self.environment.iter().find(|(_, value)| value.contains('\0')) {
            return Err(("commands.environment", format!("the value of `{name}` has a NUL byte")));
        }
        match self.programs.keys().find(|name| !crate::name::is_plain(name)) {
            Some(odd) => {
                let cause = "a program is called by 1 to 64 letters, digits, `-`, `_` and `.`, no `.` first";
                Err(("commands.programs", format!("`{}`: {cause}", odd.escape_debug())))
            }
            None => Ok(()),
        }
    }
}

/// Returns whether the environment of a process can have a variable of this name.
fn is_variable(name: &str) -> bool {
    !name.is_empty() && !name.contains(['=', '\0'])
}

#[cfg(test)]
mod tests {
    use crate::{NARROWED, Policy};
    use serde_json::{Map, Value, json};

    fn policy(commands: Value) -> Policy {
        serde_json::from_value(json!({ "commands": commands })).unwrap()
    }

    #[test]
    fn nothing_runs_unless_enabled() {
        let commands = Policy::default().commands;
        assert!(!commands.enabled && !commands.unconfined && !commands.network);
        assert_eq!(commands.max_memory_bytes, 4_294_967_296);
        assert!(Policy::default().check().is_ok());
        assert!(Policy::default().settings().is_empty());
        let enabled = policy(json!({"enabled": true, "environment": {"LANG": "C"}, "programs": {"jq": "jq.wasm"}}));
        assert!(enabled.check().is_ok());
        assert_eq!(
            Value::Object(enabled.settings()),
            json!({"commands": {"enabled": true, "environment": {"LANG": "C"}, "programs": {"jq": "jq.wasm"}}})
        );
    }

    #[test]
    fn settings_without_effect_are_refused_by_name() {
        for (commands, setting) in [
            (json!({"max_time_ms": 0}), "commands.max_time_ms"),
            (json!({"max_output_bytes": 0}), "commands.max_output_bytes"),
            (json!({"max_output_lines": 0}), "commands.max_output_lines"),
            (json!({"max_processes": 0}), "commands.max_processes"),
            (json!({"max_memory_bytes": 0}), "commands.max_memory_bytes"),
            (json!({"allow": ["git", " "]}), "commands.allow"),
            (json!({"deny": [""]}), "commands.deny"),
            (json!({"environment": {"A=B": "c"}}), "commands.environment"),
            (json!({"environment": {"": "c"}}), "commands.environment"),
            (json!({"environment": {"A": "\u{0}"}}), "commands.environment"),
            (json!({"pass_environment": ["A\u{0}"]}), "commands.pass_environment"),
            (json!({"programs": {"../jq": "jq.wasm"}}), "commands.programs"),
            (json!({"programs": {"a b": "jq.wasm"}}), "commands.programs"),
        ] {
            assert_eq!(policy(commands.clone()).check().unwrap_err().setting, setting, "{commands}");
        }
    }

    /// Returns `own` narrowed by `wanted`, and the refused settings.
    fn narrowed(own: Value, wanted: Value) -> (Value, Vec<&'static str>) {
        let settings: Map<String, Value> = [("commands", own), (NARROWED, json!({ "commands": wanted }))]
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect();
        let (policy, refused) = Policy::narrowed(settings, "paddock").unwrap();
        let commands = serde_json::to_value(policy.commands).unwrap();
        (commands, refused.iter().map(|refusal| refusal.setting).collect())
    }

    #[test]
    fn an_untrusted_file_only_narrows_commands() {
        let own = json!({"enabled": true, "network": true, "unconfined": true, "deny": ["rm"]});
        let wanted = json!({"enabled": false, "network": false, "unconfined": false, "deny": ["git push"],
            "max_time_ms": 1_000, "max_sessions": 1, "max_output_bytes": 9, "max_output_lines": 9, "max_processes": 9,
            "max_memory_bytes": 9, "max_file_bytes": 9});
        let (commands, refused) = narrowed(own, wanted.clone());
        assert_eq!(refused, [""; 0]);
        for (name, value) in wanted.as_object().unwrap() {
            let value = if name == "deny" { &json!(["rm", "git push"]) } else { value };
            assert_eq!(&commands[name], value, "{name}");
        }
    }

    #[test]
    fn it_gives_nothing() {
        let usual = serde_json::to_value(crate::Commands::default()).unwrap();
        for (name, more) in [
            ("enabled", json!(true)),
            ("unconfined", json!(true)),
            ("network", json!(true)),
            ("git", json!(true)),
            ("readable", json!(["/home"])),
            ("path", json!(["bin"])),
            ("environment", json!({"LD_PRELOAD": "x.so"})),
            ("pass_environment", json!(["SSH_AUTH_SOCK"])),
            ("allow", json!(["rm"])),
            ("executables", json!(["/usr/bin/rm"])),
            ("programs", json!({"jq": "jq.wasm"})),
            ("max_sessions", json!(65)),
            ("max_time_ms", json!(3_600_001)),
            ("max_output_bytes", json!(8_193)),
            ("max_output_lines", json!(201)),
            ("max_processes", json!(257)),
            ("max_memory_bytes", json!(4_294_967_297_u64)),
            ("max_file_bytes", json!(1_073_741_825)),
        ] {
            let (commands, refused) = narrowed(json!({}), json!({ name: more }));
            assert_eq!(commands, usual, "{name}");
            assert_eq!(refused, [format!("commands.{name}")], "{name}");
        }
        assert_eq!(usual.as_object().unwrap().len(), 19, "a new setting has to be looked at here");
        // A new member of an existing table widens the policy too.
        let own = json!({"environment": {"A": "1"}});
        let (commands, refused) = narrowed(own, json!({"environment": {"B": "2"}}));
        assert_eq!(commands["environment"], json!({"A": "1"}));
        assert_eq!(refused, ["commands.environment"]);
    }
}
