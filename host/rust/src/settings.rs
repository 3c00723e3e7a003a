//! The policy's settings as the builder's methods set them, in any order. Two different values for one setting are
//! an error, so no method can revert a restriction that another one sets.

use serde_json::{Map, Value};

use crate::error::Error;

/// The settings so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    values: Map<String, Value>,
    /// The first setting that has two different values.
    conflict: Option<String>,
}

impl Settings {
    /// Adds settings by name. The value of a table is an object of further settings.
    pub(crate) fn say(&mut self, settings: Map<String, Value>) {
        merge(&mut self.values, settings, "", &mut self.conflict);
    }

    /// Returns all settings. Fails if one of them was set to two different values.
    pub(crate) fn all(&self) -> Result<&Map<String, Value>, Error> {
        match &self.conflict {
            None => Ok(&self.values),
            Some(name) => Err(Error::Conflict { setting: name.clone() }),
        }
    }
}

fn merge(values: &mut Map<String, Value>, more: Map<String, Value>, table: &str, conflict: &mut Option<String>) {
    for (name, value) in more {
        match (values.get_mut(&name), value) {
            (None, value) => drop(values.insert(name, value)),
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
    fn two_values_of_one_setting_are_an_error() {
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
