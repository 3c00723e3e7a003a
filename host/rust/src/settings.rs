//! The policy's settings as a builder is told them, in any order: what is said once holds, and what is said in two ways
//! is an error. So no call undoes what another one forbids.

use serde_json::{Map, Value};

use crate::error::Error;

/// What was said so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    said: Map<String, Value>,
    /// The first setting that was said in two ways.
    conflict: Option<String>,
}

impl Settings {
    /// Says these too, each by its name; a table has settings of its own.
    pub(crate) fn say(&mut self, settings: Map<String, Value>) {
        merge(&mut self.said, settings, "", &mut self.conflict);
    }

    /// All that was said. Fails where that contradicts itself.
    pub(crate) fn all(&self) -> Result<&Map<String, Value>, Error> {
        match &self.conflict {
            None => Ok(&self.said),
            Some(name) => Err(Error::Conflict { setting: name.clone() }),
        }
    }
}

fn merge(said: &mut Map<String, Value>, more: Map<String, Value>, table: &str, conflict: &mut Option<String>) {
    for (name, value) in more {
        match (said.get_mut(&name), value) {
            (None, value) => drop(said.insert(name, value)),
            (Some(Value::Object(known)), Value::Object(value)) => merge(known, value, &format!("{name}."), conflict),
            (Some(known), value) if *known == value => {}
            _ => drop(conflict.get_or_insert(format!("{table}{name}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn settings(all: &[Value]) -> Settings {
        let mut settings = Settings::default();
        all.iter().for_each(|one| settings.say(one.as_object().unwrap().clone()));
        settings
    }

    #[test]
    fn their_order_says_nothing() {
        let (one, other) = (json!({"read_only": true}), json!({"approval": "never", "limits": {"max_lines": 5}}));
        let both = settings(&[one.clone(), other.clone()]);
        assert_eq!(both.all().unwrap(), settings(&[other, one]).all().unwrap());
        assert_eq!(both.all().unwrap().len(), 3);
    }

    #[test]
    fn what_is_said_in_two_ways_is_an_error() {
        for (one, other, name) in [
            (json!({"read_only": true}), json!({"read_only": false}), "read_only"),
            (json!({"limits": {"max_lines": 5}}), json!({"limits": {"max_lines": 6}}), "limits.max_lines"),
        ] {
            for both in [settings(&[one.clone(), other.clone()]), settings(&[other.clone(), one.clone()])] {
                assert!(both.all().unwrap_err().to_string().contains(&format!("`{name}`")));
            }
            assert!(settings(&[one.clone(), one]).all().is_ok());
        }
    }
}
