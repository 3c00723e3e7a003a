//! Tools for the tests of this crate.

use std::cell::RefCell;

use crate::tools::{Failure, Outcome, Tool, Tools};

/// Two tools: `echo` returns its arguments, and `fail` fails. The calls are recorded.
#[derive(Default)]
pub(crate) struct TestTools {
    pub(crate) calls: RefCell<Vec<(String, String, String)>>,
}

impl Tools for TestTools {
    fn describe(&self, dialect: &str) -> Result<Vec<Tool>, Failure> {
        if !["paddock", "other"].contains(&dialect) {
            return Err(Failure::new("unknown-dialect", format!("no dialect `{dialect}`")).with_hint("use `paddock`"));
        }
        let tool = |name: &str| Tool {
            name: name.to_owned(),
            input_schema: r#"{"type":"object"}"#.to_owned(),
            output_schema: r#"{"type":"object"}"#.to_owned(),
            ..Tool::default()
        };
        Ok(["echo", "fail"].map(tool).to_vec())
    }

    fn call(&self, dialect: &str, name: &str, arguments: &str) -> Outcome {
        self.calls.borrow_mut().push((dialect.to_owned(), name.to_owned(), arguments.to_owned()));
        match name {
            "echo" => Outcome { result: arguments.to_owned(), text: format!("echo {arguments}"), ..Outcome::default() },
            "blocks" => {
                let result = r#"{"content":[{"type":"image","data":"","mimeType":"image/png"}]}"#;
                Outcome { result: result.to_owned(), ..Outcome::default() }
            }
            "fail" => Outcome::failed(Failure::new("not-found", "cannot read").with_hint("look elsewhere")),
            _ => Outcome::failed(Failure::new("unknown-tool", "no such tool").with_hint("use `echo`")),
        }
    }
}
