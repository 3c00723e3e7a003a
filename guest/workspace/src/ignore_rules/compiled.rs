//! Rules that are compiled once for all directories whose rule files have the same text, as those of packages often have.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use super::rule_set::RuleSet;
use super::syntax::{Syntax, compile};

/// Maximum total size of the texts in bytes. Compiled rules can take sixty times that.
const MAX_BYTES: usize = 32 * 1024;

/// Compiled rules by their text. Clones share them.
#[derive(Clone, Default)]
pub(super) struct CompiledRules(Rc<RefCell<Kept>>);

#[derive(Default)]
struct Kept {
    rules: HashMap<String, Rc<RuleSet>>,
    /// Total size of the texts in bytes.
    bytes: usize,
}

impl CompiledRules {
    /// Returns the rules of a text, in which an invalid rule matches nothing; `None` if they are too complex.
    pub(super) fn of(&self, text: &str) -> Option<Rc<RuleSet>> {
        let mut kept = self.0.borrow_mut();
        if let Some(rules) = kept.rules.get(text) {
            return Some(Rc::clone(rules));
        }
        let rules = compile(text, Syntax::Lenient).ok()?;
        if text.len() <= MAX_BYTES {
            kept.add(text, &rules);
        }
        Some(rules)
    }
}

impl Kept {
    /// Adds rules, in place of all others if there is no room for them.
    fn add(&mut self, text: &str, rules: &Rc<RuleSet>) {
        if self.bytes + text.len() > MAX_BYTES {
            *self = Self::default();
        }
        self.bytes += text.len();
        self.rules.insert(text.to_owned(), Rc::clone(rules));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_are_compiled_once() {
        let compiled = CompiledRules::default();
        let (first, again) = (compiled.of("/target\n").unwrap(), compiled.clone().of("/target\n").unwrap());
        assert!(Rc::ptr_eq(&first, &again));
        let other = compiled.of("/build\n").unwrap();
        assert!(first.verdict("", "target", true).is_some() && other.verdict("", "target", true).is_none());
    }

    #[test]
    fn the_texts_have_a_maximum_size() {
        let compiled = CompiledRules::default();
        for number in 0..MAX_BYTES / 64 {
            compiled.of(&format!("{number:0>100}"));
            let kept = compiled.0.borrow();
            let bytes: usize = kept.rules.keys().map(String::len).sum();
            assert!(kept.bytes == bytes && (100..=MAX_BYTES).contains(&bytes), "{bytes}");
        }
        let long = "a".repeat(MAX_BYTES + 1);
        assert!(compiled.of(&long).unwrap().verdict("", &long, false).is_some());
        assert!(!compiled.0.borrow().rules.contains_key(&long));
    }
}
