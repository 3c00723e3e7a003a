//! Narrowing of a policy by an untrusted file, which an agent may have written.

use serde_json::{Map, Value};

use crate::{Commands, HardLinks, Limits, Mode, Policy};

/// A setting that would have widened a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Name, such as `limits.max_lines`.
    pub setting: &'static str,
    /// Reason of the refusal.
    pub reason: Reason,
}

/// Reason why a setting is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The setting would allow more than the policy in force.
    Wider,
    /// The setting has nothing in common with the policy in force.
    NothingLeft,
    /// Such a file must not have the setting.
    NotHere,
}

/// Returns the policy of `settings`, narrowed by `by`, and the settings that would have widened it.
pub fn narrow(
    settings: Map<String, Value>,
    by: &Map<String, Value>,
) -> Result<(Policy, Vec<Refusal>), serde_json::Error> {
    let own = Value::Object(settings);
    let mut wanted = own.clone();
    overlay(&mut wanted, by);
    let mut narrowing = Narrowing { settings: by, refused: Vec::new() };
    let policy = narrowing.policy(serde_json::from_value(own)?, serde_json::from_value(wanted)?);
    Ok((policy, narrowing.refused))
}

/// Replaces settings in `value` by those in `settings`. The members of an object are replaced one by one.
fn overlay(value: &mut Value, settings: &Map<String, Value>) {
    let Value::Object(members) = value else { return };
    for (name, setting) in settings {
        match (members.get_mut(name), setting) {
            (Some(inner @ Value::Object(_)), Value::Object(settings)) => overlay(inner, settings),
            _ => drop(members.insert(name.clone(), setting.clone())),
        }
    }
}

/// A narrowing in progress. Each kind of field has a method that takes the value in force and the wanted value.
struct Narrowing<'a> {
    settings: &'a Map<String, Value>,
    refused: Vec<Refusal>,
}

impl Narrowing<'_> {
    /// Narrows a policy. The struct is written out, so that a new field must be added here.
    fn policy(&mut self, own: Policy, wanted: Policy) -> Policy {
        let Policy {
            mode,
            allowed_directories: _,
            read_only,
            blocked_directories,
            allowed_extensions,
            blocked_extensions,
            allow_protected,
            hard_links,
            approval,
            enable_audit_logging,
            backups: _,
            index: _,
            limits,
            commands,
        } = wanted;
        Policy {
            mode: self.narrower("mode", own.mode, mode, mode_width),
            allowed_directories: self.fixed("allowed_directories", own.allowed_directories),
            read_only: self.narrower("read_only", own.read_only, read_only, |on| u8::from(!on)),
            blocked_directories: united(own.blocked_directories, blocked_directories),
            allowed_extensions: self.common("allowed_extensions", own.allowed_extensions, allowed_extensions),
            blocked_extensions: united(own.blocked_extensions, blocked_extensions),
            allow_protected: self.narrower("allow_protected", own.allow_protected, allow_protected, u8::from),
            hard_links: self.narrower("hard_links", own.hard_links, hard_links, hard_links_width),
            approval: self.narrower("approval", own.approval, approval, std::cmp::Reverse),
            enable_audit_logging: self.narrower(
                "enable_audit_logging",
                own.enable_audit_logging,
                enable_audit_logging,
                |on| u8::from(!on),
            ),
            backups: self.fixed("backups", own.backups),
            index: self.fixed("index", own.index),
            limits: self.limits(own.limits, limits),
            commands: self.commands(own.commands, commands),
        }
    }

    fn limits(&mut self, own: Limits, wanted: Limits) -> Limits {
        let Limits {
            max_lines,
            max_line_chars,
            max_result_bytes,
            max_file_bytes,
            max_copy_bytes,
            max_files,
            max_depth,
            max_entries,
            max_time_ms,
            max_memory_bytes,
            max_tree_bytes,
        } = wanted;
        Limits {
            max_lines: self.lower("limits.max_lines", own.max_lines, max_lines),
            max_line_chars: self.lower("limits.max_line_chars", own.max_line_chars, max_line_chars),
            max_result_bytes: self.lower("limits.max_result_bytes", own.max_result_bytes, max_result_bytes),
            max_file_bytes: self.lower("limits.max_file_bytes", own.max_file_bytes, max_file_bytes),
            max_copy_bytes: self.lower("limits.max_copy_bytes", own.max_copy_bytes, max_copy_bytes),
            max_files: self.lower("limits.max_files", own.max_files, max_files),
            max_depth: self.lower("limits.max_depth", own.max_depth, max_depth),
            max_entries: self.lower("limits.max_entries", own.max_entries, max_entries),
            max_time_ms: self.lower("limits.max_time_ms", own.max_time_ms, max_time_ms),
            max_memory_bytes: self.lower("limits.max_memory_bytes", own.max_memory_bytes, max_memory_bytes),
            max_tree_bytes: self.lower("limits.max_tree_bytes", own.max_tree_bytes, max_tree_bytes),
        }
    }

    fn commands(&mut self, own: Commands, wanted: Commands) -> Commands {
        let Commands {
            enabled,
            unconfined,
            network,
            git,
            readable: _,
            path: _,
            environment: _,
            pass_environment: _,
            allow: _,
            executables: _,
            deny,
            programs: _,
            max_sessions,
            max_time_ms,
            max_output_bytes,
            max_output_lines,
            max_processes,
            max_memory_bytes,
            max_file_bytes,
        } = wanted;
        let Commands { max_output_bytes: own_bytes, max_output_lines: own_lines, .. } = own;
        Commands {
            enabled: self.narrower("commands.enabled", own.enabled, enabled, u8::from),
            unconfined: self.narrower("commands.unconfined", own.unconfined, unconfined, u8::from),
            network: self.narrower("commands.network", own.network, network, u8::from),
            git: self.narrower("commands.git", own.git, git, u8::from),
            readable: self.fixed("commands.readable", own.readable),
            path: self.fixed("commands.path", own.path),
            environment: self.fixed("commands.environment", own.environment),
            pass_environment: self.fixed("commands.pass_environment", own.pass_environment),
            allow: self.fixed("commands.allow", own.allow),
            executables: self.fixed("commands.executables", own.executables),
            deny: united(own.deny, deny),
            programs: self.fixed("commands.programs", own.programs),
            max_sessions: self.lower("commands.max_sessions", own.max_sessions, max_sessions),
            max_time_ms: self.lower("commands.max_time_ms", own.max_time_ms, max_time_ms),
            max_output_bytes: self.lower("commands.max_output_bytes", own_bytes, max_output_bytes),
            max_output_lines: self.lower("commands.max_output_lines", own_lines, max_output_lines),
            max_processes: self.lower("commands.max_processes", own.max_processes, max_processes),
            max_memory_bytes: self.lower("commands.max_memory_bytes", own.max_memory_bytes, max_memory_bytes),
            max_file_bytes: self.lower("commands.max_file_bytes", own.max_file_bytes, max_file_bytes),
        }
    }

    /// Narrows a limit: only a lower value is accepted.
    fn lower<T: Copy + Ord>(&mut self, setting: &'static str, own: T, wanted: T) -> T {
        self.narrower(setting, own, wanted, |limit| limit)
    }

    /// Narrows a flag or a choice: only a value that allows no more is accepted, compared by `width`.
    fn narrower<T: Copy, W: Ord>(&mut self, setting: &'static str, own: T, wanted: T, width: impl Fn(T) -> W) -> T {
        if width(wanted) > width(own) {
            self.refused.push(Refusal { setting, reason: Reason::Wider });
            return own;
        }
        wanted
    }

    /// Narrows a list whose empty form stands for everything: returns the members of both lists.
    fn common(&mut self, setting: &'static str, own: Vec<String>, wanted: Vec<String>) -> Vec<String> {
        if own.is_empty() {
            return wanted;
        }
        let is_wanted = |item: &&String| wanted.iter().any(|other| other.eq_ignore_ascii_case(item));
        let common: Vec<_> = own.iter().filter(is_wanted).cloned().collect();
        if !common.is_empty() {
            return common;
        }
        let reason = if wanted.is_empty() { Reason::Wider } else { Reason::NothingLeft };
        self.refused.push(Refusal { setting, reason });
        own
    }

    /// Keeps a setting that such a file must not have.
    fn fixed<T>(&mut self, setting: &'static str, own: T) -> T {
        let value = match setting.split_once('.') {
            Some((table, name)) => self.settings.get(table).and_then(|table| table.get(name)),
            None => self.settings.get(setting),
        };
        if value.is_some() {
            self.refused.push(Refusal { setting, reason: Reason::NotHere });
        }
        own
    }
}

/// Narrows a list of exclusions: returns the members of either list.
fn united(mut own: Vec<String>, wanted: Vec<String>) -> Vec<String> {
    for item in wanted {
        if !own.contains(&item) {
            own.push(item);
        }
    }
    own
}

fn mode_width(mode: Mode) -> u8 {
    match mode {
        Mode::Restricted => 0,
        Mode::Unrestricted => 1,
    }
}

fn hard_links_width(hard_links: HardLinks) -> u8 {
    match hard_links {
        HardLinks::Refuse => 0,
        HardLinks::Break => 1,
        HardLinks::Keep => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the policy of `own` narrowed by `settings`, and the names of the refused settings.
    fn narrowed(own: &str, settings: &str) -> (Value, Vec<&'static str>) {
        let mut all: Map<String, Value> = serde_json::from_str(own).unwrap();
        all.insert(crate::NARROWED.to_owned(), serde_json::from_str(settings).unwrap());
        let (policy, refused) = Policy::narrowed(all, "paddock").unwrap();
        (serde_json::to_value(policy).unwrap(), refused.iter().map(|refusal| refusal.setting).collect())
    }

    #[test]
    fn a_choice_is_only_narrowed() {
        for (setting, widest_first) in [
            ("mode", &["\"unrestricted\"", "\"restricted\""][..]),
            ("read_only", &["false", "true"]),
            ("allow_protected", &["true", "false"]),
            ("hard_links", &["\"keep\"", "\"break\"", "\"refuse\""]),
            ("approval", &["\"never\"", "\"on-delete\"", "\"on-change\""]),
            ("enable_audit_logging", &["false", "true"]),
        ] {
            for (at, own) in widest_first.iter().enumerate() {
                for (to, wanted) in widest_first.iter().enumerate() {
                    let of = |value: &str| format!("{{\"{setting}\": {value}}}");
                    let (policy, refused) = narrowed(&of(own), &of(wanted));
                    let (expected, refusals) = if to < at { (own, &[setting][..]) } else { (wanted, &[][..]) };
                    assert_eq!(policy[setting].to_string(), **expected, "{setting}: {own} by {wanted}");
                    assert_eq!(refused, refusals, "{setting}: {own} by {wanted}");
                }
            }
        }
    }

    #[test]
    fn every_limit_is_only_lowered() {
        let limits = serde_json::to_value(Limits::default()).unwrap();
        for (name, value) in limits.as_object().unwrap() {
            let of = |value: u64| format!(r#"{{"limits": {{"{name}": {value}}}}}"#);
            let own = value.as_u64().unwrap();
            let (lower, refused) = narrowed("{}", &of(own - 1));
            assert_eq!((lower["limits"][name].as_u64(), refused.len()), (Some(own - 1), 0), "{name}");
            let (narrowed_policy, refused) = narrowed("{}", &of(own + 1));
            assert_eq!(
                (narrowed_policy["limits"][name].as_u64(), refused),
                (Some(own), vec![setting_of(name)]),
                "{name}"
            );
        }
    }

    #[test]
    fn a_setting_leaves_the_others_of_its_table_as_they_are() {
        for others in [1, 1_000_000] {
            let own = format!(r#"{{"limits": {{"max_lines": {others}, "max_files": 9}}}}"#);
            let (policy, refused) = narrowed(&own, r#"{"limits": {"max_files": 3}}"#);
            assert_eq!((&policy["limits"]["max_lines"], &policy["limits"]["max_files"]), (&others.into(), &3.into()));
            assert_eq!(refused, [""; 0]);
        }
    }

    fn setting_of(limit: &str) -> &'static str {
        format!("limits.{limit}").leak()
    }

    #[test]
    fn exclusions_are_united_and_permissions_intersected() {
        let (policy, refused) = narrowed(
            r#"{"blocked_directories": ["bin"], "blocked_extensions": [".exe"], "allowed_extensions": [".md", ".rs"]}"#,
            r#"{"blocked_directories": ["obj", "bin"], "blocked_extensions": [], "allowed_extensions": [".RS", ".py"]}"#,
        );
        assert_eq!(policy["blocked_directories"], serde_json::json!(["bin", "obj"]));
        assert_eq!(policy["blocked_extensions"], serde_json::json!([".exe"]));
        assert_eq!(policy["allowed_extensions"], serde_json::json!([".rs"]));
        assert_eq!(refused, [""; 0]);
        let (policy, _) = narrowed("{}", r#"{"allowed_extensions": [".md"]}"#);
        assert_eq!(policy["allowed_extensions"], serde_json::json!([".md"]), "an empty list in force is all");
        for wanted in ["[]", r#"[".py"]"#] {
            let wanted = format!(r#"{{"allowed_extensions": {wanted}}}"#);
            let (policy, refused) = narrowed(r#"{"allowed_extensions": [".md"]}"#, &wanted);
            assert_eq!(policy["allowed_extensions"], serde_json::json!([".md"]));
            assert_eq!(refused, ["allowed_extensions"], "{wanted}");
        }
    }

    #[test]
    fn roots_and_backups_are_none_of_its_business() {
        let settings = r#"{"allowed_directories": ["/"], "backups": {"enabled": false}}"#;
        let (policy, refused) = narrowed("{}", settings);
        assert_eq!(
            (&policy["allowed_directories"], &policy["backups"]["enabled"]),
            (&serde_json::json!([]), &true.into())
        );
        assert_eq!(refused, ["allowed_directories", "backups"]);
    }

    #[test]
    fn a_dialect_s_own_settings_are_narrowed_too() {
        let settings = r#"{"narrowed": {"blocked_directories": ["secret"], "blocked_extensions": [], "approval": "never",
            "enable_audit_logging": false}}"#;
        let policy = Policy::new(serde_json::from_str(settings).unwrap(), "dotnet-prompt").unwrap();
        assert_eq!(policy.blocked_directories, ["bin", "obj", ".git", "node_modules", "secret"]);
        assert_eq!(policy.blocked_extensions, [".exe", ".dll", ".so", ".dylib"]);
        assert_eq!(policy.approval, crate::Approval::OnDelete);
        assert!(policy.enable_audit_logging);
        assert!(Policy::new(serde_json::from_str(r#"{"narrowed": {"mod": 1}}"#).unwrap(), "paddock").is_err());
        assert!(Policy::new(serde_json::from_str(r#"{"narrowed": []}"#).unwrap(), "paddock").is_err());
    }
}
