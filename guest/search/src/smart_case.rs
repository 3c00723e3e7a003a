//! Smart case, by the rule of ripgrep.

use std::convert::Infallible;

use regex_syntax::ast::parse::Parser;
use regex_syntax::ast::{self, Ast};

/// Returns whether smart case ignores letter case: the expression contains literal letters, and none in upper case.
/// Classes such as `\w` and `[[:upper:]]` are not literal letters.
pub fn folds(pattern: &str) -> bool {
    // A pattern that does not parse is refused elsewhere.
    let Ok(ast) = Parser::new().parse(pattern) else { return false };
    let Ok(letters) = ast::visit(&ast, Letters::default());
    letters.any && !letters.upper
}

/// The literal letters of an expression.
#[derive(Default)]
struct Letters {
    any: bool,
    upper: bool,
}

impl Letters {
    fn see(&mut self, literal: &ast::Literal) {
        self.any = true;
        self.upper |= literal.c.is_uppercase();
    }
}

impl ast::Visitor for Letters {
    type Output = Self;
    type Err = Infallible;

    fn finish(self) -> std::result::Result<Self, Infallible> {
        Ok(self)
    }

    fn visit_pre(&mut self, ast: &Ast) -> std::result::Result<(), Infallible> {
        if let Ast::Literal(literal) = ast {
            self.see(literal);
        }
        Ok(())
    }

    fn visit_class_set_item_pre(&mut self, item: &ast::ClassSetItem) -> std::result::Result<(), Infallible> {
        match item {
            ast::ClassSetItem::Literal(literal) => self.see(literal),
            ast::ClassSetItem::Range(range) => {
                self.see(&range.start);
                self.see(&range.end);
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::folds;

    #[test]
    fn literal_upper_case_counts_and_classes_do_not() {
        for pattern in ["a", "\\Sx", "\\p{Lu}x", "(?P<Name>x)", "[a-z]", "é", "\\x41b"] {
            assert_eq!(folds(pattern), !pattern.contains("41"), "{pattern}");
        }
        for pattern in ["A", "aB", "[A-Z]x", "[[:upper:]]+", "\\w", ".", "", "É", "(a"] {
            assert!(!folds(pattern), "{pattern}");
        }
    }
}
