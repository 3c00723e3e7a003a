//! The rights that one or several restrictions leave.

use std::sync::Arc;
use std::time::SystemTime;

use serde_json::{Map, Value};

use super::super::config::GrantSettings;
use super::super::narrowing::{InnerPath, Narrowing};
use super::budgets::{Budget, Budgets};
use super::denied::Denied;
use crate::policy::PolicyLayer;

/// The end of the year 9999, in seconds since 1970.
pub(super) const MAX_SECONDS: u64 = 253_402_300_799;

/// The rights of a caller in one workspace.
#[derive(Debug)]
pub(in super::super) struct Grant {
    /// Name of the caller, for logs.
    pub(in super::super) holder: String,
    /// Text that differs from that of other tokens.
    pub(in super::super) id: String,
    pub(in super::super) narrowing: Narrowing,
    /// Time at which the token expires.
    pub(in super::super) expires: Option<SystemTime>,
    dialect: Option<String>,
    tools: Option<Vec<String>>,
    budgets: Vec<Arc<Budget>>,
}

/// A restriction, which has a budget of its own.
pub(super) struct Restriction {
    /// Text that differs from that of any other restriction.
    pub(super) id: String,
    pub(super) settings: GrantSettings,
}

impl Grant {
    /// Returns the rights that all restrictions leave in a workspace. The last one identifies the token.
    pub(super) fn new(
        holder: &str,
        restrictions: &[Restriction],
        workspace: &str,
        now: SystemTime,
        budgets: &Budgets,
    ) -> Result<Self, Denied> {
        let (Some(issued), Some(last)) = (restrictions.first(), restrictions.last()) else {
            return Err(Denied::Forbidden("the token grants nothing".to_owned()));
        };
        let mut grant = Self {
            holder: holder.to_owned(),
            id: last.id.clone(),
            narrowing: Narrowing::default(),
            expires: None,
            dialect: None,
            tools: None,
            budgets: Vec::new(),
        };
        for Restriction { id, settings } in restrictions {
            grant.restrict(settings, workspace, now)?;
            // A token is valid as long as all of its restrictions are.
            grant.expires = [grant.expires, expiry(settings).map_err(Denied::Invalid)?].into_iter().flatten().min();
            if settings.calls.is_some() || settings.bytes.is_some() {
                grant.budgets.push(budgets.get(&issued.id, id, &Budget::new(settings, grant.expires), now)?);
            }
        }
        Ok(grant)
    }

    fn restrict(&mut self, settings: &GrantSettings, workspace: &str, now: SystemTime) -> Result<(), Denied> {
        if expiry(settings).map_err(Denied::Invalid)?.is_some_and(|expiry| expiry <= now) {
            return Err(Denied::Invalid("the token has expired".to_owned()));
        }
        if !settings.workspaces.iter().any(|pattern| matches(pattern, workspace)) {
            return Err(Denied::Forbidden("the token is not valid for this workspace".to_owned()));
        }
        if let Some(path) =
            settings.path.as_deref().map(InnerPath::parse).transpose().map_err(Denied::Invalid)?.flatten()
        {
            let apart = || Denied::Forbidden("the paths of the token have nothing in common".to_owned());
            self.narrowing.path = Some(match self.narrowing.path.take() {
                Some(known) => known.inner(path).ok_or_else(apart)?,
                None => path,
            });
        }
        self.narrowing.policy.extend(policy(settings, &self.holder).map_err(Denied::Invalid)?);
        if let Some(dialect) = &settings.dialect
            && self.dialect.replace(dialect.clone()).is_some_and(|known| known != *dialect)
        {
            return Err(Denied::Forbidden("the dialects of the token have nothing in common".to_owned()));
        }
        if let Some(tools) = &settings.tools {
            let is_known = |tool: &&String| self.tools.as_ref().is_none_or(|known| known.contains(tool));
            self.tools = Some(tools.iter().filter(is_known).cloned().collect());
        }
        Ok(())
    }

    /// Returns the dialect of a call, which includes only the tools that the token permits.
    pub(in super::super) fn dialect(&self, requested: Option<&str>, default: &str) -> Result<String, Denied> {
        let dialect = match (&self.dialect, requested) {
            (Some(own), Some(requested)) if own != requested => {
                return Err(Denied::Forbidden(format!("the token is valid for the dialect `{own}` only")));
            }
            (Some(own), _) => own.as_str(),
            (None, requested) => requested.unwrap_or(default),
        };
        let Some(tools) = &self.tools else { return Ok(dialect.to_owned()) };
        if dialect.contains([',', ':']) {
            return Err(Denied::Forbidden("the token restricts the tools: use one dialect, without a list".to_owned()));
        }
        if tools.is_empty() {
            return Err(Denied::Forbidden("the token permits no tool".to_owned()));
        }
        Ok(tools.iter().map(|tool| format!("{dialect}:{tool}")).collect::<Vec<_>>().join(","))
    }

    /// Returns whether neither the token nor the dialect in use leaves out tools. Resources of MCP are another way to read
    /// files.
    pub(in super::super) fn permits_resources(&self, dialect: &str) -> bool {
        self.tools.is_none() && !dialect.contains(':')
    }

    /// Returns a text that differs from that of any grant with other rights.
    pub(in super::super) fn key(&self) -> String {
        format!("{}\n{}\n{:?}\n{:?}", self.id, self.narrowing.key(), self.dialect, self.tools)
    }

    /// Fails if a budget is used up.
    pub(in super::super) fn check_budgets(&self) -> Result<(), Denied> {
        self.budgets.iter().all(|budget| budget.has_rest()).then_some(()).ok_or_else(used_up)
    }

    /// Takes one call from the budgets, or none if one of them is used up: a holder of a narrower token must not use up
    /// the budget of a wider one by calls that are refused.
    pub(in super::super) fn spend_call(&self) -> Result<(), Denied> {
        // The narrowest budget is the last.
        for (index, budget) in self.budgets.iter().enumerate().rev() {
            if !budget.take_call() {
                self.budgets.iter().skip(index + 1).for_each(|taken| taken.return_call());
                return Err(used_up());
            }
        }
        Ok(())
    }

    /// Takes bytes from the budgets.
    pub(in super::super) fn spend_bytes(&self, bytes: usize) {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.budgets.iter().for_each(|budget| budget.take_bytes(bytes));
    }
}

fn used_up() -> Denied {
    Denied::Forbidden("the budget of the token is used up".to_owned())
}

/// Fails if a setting has no meaning.
pub(super) fn check(settings: &GrantSettings) -> Result<(), String> {
    expiry(settings)?;
    policy(settings, "check")?;
    settings.path.as_deref().map(InnerPath::parse).transpose()?;
    let is_tool = |tool: &String| {
        !tool.is_empty() && tool.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-'))
    };
    if !settings.tools.iter().flatten().all(is_tool) {
        return Err("the name of a tool has letters, digits, `_`, `-` and `.`".to_owned());
    }
    if settings.workspaces.is_empty() {
        return Err("`workspaces` has to name at least one workspace".to_owned());
    }
    Ok(())
}

/// Returns whether the time of expiry has passed.
pub(super) fn is_expired(settings: &GrantSettings, now: SystemTime) -> bool {
    // A time that cannot be read was refused with the configuration.
    expiry(settings).is_ok_and(|expires| expires.is_some_and(|expires| expires <= now))
}

fn expiry(settings: &GrantSettings) -> Result<Option<SystemTime>, String> {
    let parse = |text: &String| {
        humantime::parse_rfc3339(text).map_err(|_| format!("`{text}` is no time such as `2030-01-31T12:00:00Z`"))
    };
    settings.expires.as_ref().map(parse).transpose()
}

fn policy(settings: &GrantSettings, holder: &str) -> Result<Option<PolicyLayer>, String> {
    let mut policy = settings.policy.clone();
    if settings.read_only {
        policy.insert("read_only".to_owned(), Value::Bool(true));
    }
    let layer = |policy: Map<String, Value>| PolicyLayer::of_token(&format!("the token of {holder}"), policy);
    (!policy.is_empty()).then(|| layer(policy)).transpose().map_err(|cause| cause.to_string())
}

/// Returns whether a name matches a pattern: the name itself, or its start and `*`.
fn matches(pattern: &str, name: &str) -> bool {
    pattern.strip_suffix('*').map_or_else(|| pattern == name, |start| name.starts_with(start))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;

    fn settings(value: Value) -> GrantSettings {
        serde_json::from_value(value).unwrap()
    }

    fn restriction(id: &str, value: Value) -> Restriction {
        Restriction { id: id.to_owned(), settings: settings(value) }
    }

    fn grant(values: &[Value]) -> Result<Grant, Denied> {
        let grants: Vec<_> = values.iter().cloned().map(|value| restriction("1", value)).collect();
        Grant::new("alice", &grants, "notes", SystemTime::now(), &Budgets::default())
    }

    #[test]
    fn every_restriction_holds() {
        let both = [
            serde_json::json!({"workspaces": ["no*", "x"], "path": "a", "tools": ["grep", "glob"]}),
            serde_json::json!({"workspaces": ["*"], "path": "a/b", "tools": ["glob", "tree"], "read_only": true}),
        ];
        let grant = grant(&both).unwrap();
        assert_eq!(grant.narrowing.path.as_ref().map(InnerPath::as_str), Some("a/b"));
        assert_eq!(grant.dialect(None, "paddock").unwrap(), "paddock:glob");
        assert_eq!(grant.narrowing.policy.len(), 1);
        assert!(grant.dialect(Some("paddock,codex"), "paddock").is_err());
    }

    #[test]
    fn restrictions_without_a_common_part_leave_nothing() {
        let of = |member: &str, value: Value| serde_json::json!({"workspaces": ["*"], member: value});
        for member in ["path", "dialect"] {
            let denied = grant(&[of(member, "a".into()), of(member, "b".into())]);
            assert!(matches!(denied, Err(Denied::Forbidden(_))), "{member}");
        }
        let none = grant(&[of("tools", serde_json::json!(["a"])), of("tools", serde_json::json!(["b"]))]).unwrap();
        assert!(none.dialect(None, "paddock").is_err());
        assert!(matches!(grant(&[serde_json::json!({"workspaces": ["note", "b*"]})]), Err(Denied::Forbidden(_))));
        assert!(matches!(grant(&[of("expires", "2020-01-01T00:00:00Z".into())]), Err(Denied::Invalid(_))));
        assert!(grant(&[]).is_err());
    }

    #[test]
    fn a_budget_is_spent_once_for_all_requests() {
        let budgets = Budgets::default();
        let grant = |id: &str| {
            let settings = serde_json::json!({"workspaces": ["*"], "calls": 2, "bytes": 100});
            Grant::new("alice", &[restriction(id, settings)], "notes", SystemTime::now(), &budgets).unwrap()
        };
        assert!(grant("1").spend_call().is_ok() && grant("1").spend_call().is_ok() && grant("1").spend_call().is_err());
        let other = grant("2");
        other.spend_bytes(100);
        assert!(other.spend_call().is_err());
    }

    #[test]
    fn a_budget_expires_with_the_tokens_before_it() {
        let budgets = Budgets::default();
        let values = [
            serde_json::json!({"workspaces": ["*"], "expires": "2999-01-01T00:00:00Z"}),
            serde_json::json!({"workspaces": ["*"], "calls": 2, "expires": "3000-01-01T00:00:00Z"}),
        ];
        let restrictions: Vec<_> = (0..).zip(values).map(|(id, value)| restriction(&format!("{id}"), value)).collect();
        let grant = Grant::new("alice", &restrictions, "notes", SystemTime::now(), &budgets).unwrap();
        assert_eq!(grant.budgets[0].expires, humantime::parse_rfc3339("2999-01-01T00:00:00Z").ok());
    }

    #[test]
    fn a_refused_call_costs_nothing() {
        let budgets = Budgets::default();
        let of = |id: &str, calls: u64| restriction(id, serde_json::json!({"workspaces": ["*"], "calls": calls}));
        let grant = |all: &[Restriction]| Grant::new("alice", all, "notes", SystemTime::now(), &budgets).unwrap();
        // One budget is used up below a wider one, and one above a narrower one.
        let below = grant(&[of("wide", 10), of("one", 1)]);
        let above = grant(&[of("wide", 10), of("two", 2), of("three", 3)]);
        assert!(below.spend_call().is_ok() && above.spend_call().is_ok() && above.spend_call().is_ok());
        assert!((0..50).all(|_| below.spend_call().is_err() && above.spend_call().is_err()));
        assert!(below.check_budgets().is_err() && above.check_budgets().is_err());
        let wide = grant(&[of("wide", 10)]);
        assert_eq!((0..50).filter(|_| wide.spend_call().is_ok()).count(), 7);
        let three = grant(&[of("wide", 10), of("three", 3)]);
        assert_eq!(three.budgets[1].calls.load(Ordering::Acquire), 1);
    }

    #[test]
    fn a_setting_without_meaning_is_refused() {
        for value in [
            serde_json::json!({"workspaces": []}),
            serde_json::json!({"workspaces": ["a"], "expires": "tomorrow"}),
            serde_json::json!({"workspaces": ["a"], "path": "../b"}),
            serde_json::json!({"workspaces": ["a"], "tools": ["grep,codex"]}),
            serde_json::json!({"workspaces": ["a"], "policy": {"read_onyl": true}}),
            serde_json::json!({"workspaces": ["a"], "policy": {"mode": "restrictd"}}),
        ] {
            assert!(check(&settings(value.clone())).is_err(), "{value}");
        }
    }
}
