//! The commands that a shell would run for a command line, as far as the line itself says it.

use brush_parser::ast::{
    AndOr, AndOrList, Assignment, AssignmentName, AssignmentValue, Command, CommandPrefixOrSuffixItem as Item,
    CompoundCommand, CompoundList, ExtendedTestExpr, IoFileRedirectTarget, IoRedirect, Pipeline, RedirectList,
    SimpleCommand, Word,
};
use brush_parser::word::{self, WordPiece, WordPieceWithSource};
use brush_parser::{Parser, ParserOptions, SourceInfo};

/// Substitutions in substitutions, and shells in shells, that are looked into.
const MAX_DEPTH: usize = 16;

/// A command of a line: its words, each where it is plain text.
pub(super) type Words = Vec<Option<String>>;

/// What a line runs.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    /// Every simple command in it, wherever it stands.
    pub(super) commands: Vec<Words>,
    /// Something in it could run a command that cannot be seen.
    pub(super) is_opaque: bool,
}

/// The commands of a line. Fails with what is wrong where it cannot be parsed.
pub(super) fn parse(line: &str) -> Result<Line, String> {
    let mut found = Finder { line: Line::default(), depth: 0 };
    found.program(line)?;
    Ok(found.line)
}

/// The words of a line that is one command of plain words, without redirection, and nothing else.
pub(super) fn plain_words(line: &str) -> Option<Vec<String>> {
    let program =
        Parser::new(line.as_bytes(), &ParserOptions::default(), &SourceInfo::default()).parse_program().ok()?;
    let [list] = program.complete_commands.as_slice() else { return None };
    let [item] = list.0.as_slice() else { return None };
    let AndOrList { first: Pipeline { bang: false, timed: None, seq }, additional } = &item.0 else { return None };
    let ([Command::Simple(SimpleCommand { prefix: None, word_or_name: Some(name), suffix })], true, true) =
        (seq.as_slice(), additional.is_empty(), matches!(item.1, brush_parser::ast::SeparatorOperator::Sequence))
    else {
        return None;
    };
    let suffix = suffix.iter().flat_map(|suffix| &suffix.0).map(|item| match item {
        Item::Word(word) => plain(word),
        _ => None,
    });
    std::iter::once(plain(name)).chain(suffix).collect()
}

struct Finder {
    line: Line,
    depth: usize,
}

impl Finder {
    fn program(&mut self, text: &str) -> Result<(), String> {
        if self.depth == MAX_DEPTH {
            self.line.is_opaque = true;
            return Ok(());
        }
        let options = ParserOptions::default();
        let program = Parser::new(text.as_bytes(), &options, &SourceInfo::default()).parse_program();
        let program = program.map_err(|cause| cause.to_string())?;
        self.depth += 1;
        program.complete_commands.iter().for_each(|list| self.list(list));
        self.depth -= 1;
        Ok(())
    }

    fn list(&mut self, list: &CompoundList) {
        for item in &list.0 {
            self.pipeline(&item.0.first);
            for AndOr::And(pipeline) | AndOr::Or(pipeline) in &item.0.additional {
                self.pipeline(pipeline);
            }
        }
    }

    fn pipeline(&mut self, pipeline: &Pipeline) {
        for command in &pipeline.seq {
            match command {
                Command::Simple(command) => self.simple(command),
                Command::Compound(command, redirects) => {
                    self.compound(command);
                    self.redirects(redirects.as_ref());
                }
                Command::Function(function) => {
                    self.compound(&function.body.0);
                    self.redirects(function.body.1.as_ref());
                }
                Command::ExtendedTest(test) => self.test(&test.expr),
            }
        }
    }

    fn compound(&mut self, command: &CompoundCommand) {
        match command {
            CompoundCommand::Arithmetic(command) => self.text(&command.expr.value),
            CompoundCommand::ArithmeticForClause(command) => {
                let parts = [&command.initializer, &command.condition, &command.updater];
                parts.into_iter().flatten().for_each(|part| self.text(&part.value));
                self.list(&command.body.list);
            }
            CompoundCommand::BraceGroup(group) => self.list(&group.list),
            CompoundCommand::Subshell(shell) => self.list(&shell.list),
            CompoundCommand::ForClause(command) => {
                command.values.iter().flatten().for_each(|word| self.word(word));
                self.list(&command.body.list);
            }
            CompoundCommand::CaseClause(command) => {
                self.word(&command.value);
                for case in &command.cases {
                    case.patterns.iter().for_each(|word| self.word(word));
                    case.cmd.iter().for_each(|list| self.list(list));
                }
            }
            CompoundCommand::IfClause(command) => {
                self.list(&command.condition);
                self.list(&command.then);
                for branch in command.elses.iter().flatten() {
                    branch.condition.iter().for_each(|list| self.list(list));
                    self.list(&branch.body);
                }
            }
            CompoundCommand::WhileClause(command) | CompoundCommand::UntilClause(command) => {
                self.list(&command.0);
                self.list(&command.1.list);
            }
        }
    }

    fn simple(&mut self, command: &SimpleCommand) {
        let prefix = command.prefix.iter().flat_map(|prefix| &prefix.0);
        let suffix = command.suffix.iter().flat_map(|suffix| &suffix.0);
        let mut words = Words::new();
        if let Some(name) = &command.word_or_name {
            self.word(name);
            words.push(plain(name));
        }
        for item in prefix.chain(suffix) {
            match item {
                Item::IoRedirect(redirect) => self.redirect(redirect),
                Item::ProcessSubstitution(_, shell) => {
                    self.list(&shell.list);
                    words.push(None);
                }
                Item::Word(word) => {
                    self.word(word);
                    words.push(plain(word));
                }
                Item::AssignmentWord(assignment, word) => {
                    self.assignment(assignment);
                    if command.word_or_name.is_some() && !is_prefix(command, item) {
                        words.push(plain(word));
                    }
                }
            }
        }
        if !words.is_empty() {
            self.line.commands.push(words);
        }
    }

    fn assignment(&mut self, assignment: &Assignment) {
        if let AssignmentName::ArrayElementName(_, index) = &assignment.name {
            self.text(index);
        }
        match &assignment.value {
            AssignmentValue::Scalar(word) => self.word(word),
            AssignmentValue::Array(items) => {
                items.iter().for_each(|(index, word)| index.iter().chain([word]).for_each(|word| self.word(word)));
            }
        }
    }

    fn redirects(&mut self, redirects: Option<&RedirectList>) {
        redirects.iter().flat_map(|list| &list.0).for_each(|redirect| self.redirect(redirect));
    }

    fn redirect(&mut self, redirect: &IoRedirect) {
        match redirect {
            IoRedirect::File(_, _, IoFileRedirectTarget::Filename(word) | IoFileRedirectTarget::Duplicate(word))
            | IoRedirect::HereString(_, word)
            | IoRedirect::OutputAndError(word, _) => self.word(word),
            IoRedirect::File(_, _, IoFileRedirectTarget::ProcessSubstitution(_, shell)) => self.list(&shell.list),
            IoRedirect::File(_, _, IoFileRedirectTarget::Fd(_)) => {}
            IoRedirect::HereDocument(_, document) if document.requires_expansion => self.text(&document.doc.value),
            IoRedirect::HereDocument(..) => {}
        }
    }

    fn test(&mut self, test: &ExtendedTestExpr) {
        match test {
            ExtendedTestExpr::And(a, b) | ExtendedTestExpr::Or(a, b) => {
                [a, b].into_iter().for_each(|part| self.test(part))
            }
            ExtendedTestExpr::Not(part) | ExtendedTestExpr::Parenthesized(part) => self.test(part),
            ExtendedTestExpr::UnaryTest(_, word) => self.word(word),
            ExtendedTestExpr::BinaryTest(_, a, b) => [a, b].into_iter().for_each(|word| self.word(word)),
        }
    }

    /// Looks for substitutions in a word.
    fn word(&mut self, word: &Word) {
        match word::parse(&word.value, &ParserOptions::default()) {
            Ok(pieces) => self.pieces(&word.value, &pieces),
            Err(_) => self.line.is_opaque = true,
        }
    }

    fn pieces(&mut self, source: &str, pieces: &[WordPieceWithSource]) {
        for piece in pieces {
            match &piece.piece {
                WordPiece::CommandSubstitution(program) | WordPiece::BackquotedCommandSubstitution(program) => {
                    self.line.is_opaque |= self.program(program).is_err();
                }
                WordPiece::DoubleQuotedSequence(inner) | WordPiece::GettextDoubleQuotedSequence(inner) => {
                    self.pieces(source, inner);
                }
                WordPiece::ArithmeticExpression(expression) => self.text(&expression.value),
                WordPiece::ParameterExpansion(_) => match source.get(piece.start_index..piece.end_index) {
                    Some(text) => self.text(text),
                    None => self.line.is_opaque = true,
                },
                WordPiece::Text(_)
                | WordPiece::SingleQuotedText(_)
                | WordPiece::AnsiCQuotedText(_)
                | WordPiece::TildePrefix(_)
                | WordPiece::EscapeSequence(_) => {}
            }
        }
    }

    /// A text that the shell expands, and that is not taken apart here: a substitution in it stays unseen.
    fn text(&mut self, text: &str) {
        self.line.is_opaque |= text.contains("$(") || text.contains('`');
    }
}

fn is_prefix(command: &SimpleCommand, item: &Item) -> bool {
    command.prefix.iter().flat_map(|prefix| &prefix.0).any(|other| std::ptr::eq(other, item))
}

/// What a word stands for, where that is just its own text.
fn plain(word: &Word) -> Option<String> {
    let pieces = word::parse(&word.value, &ParserOptions::default()).ok()?;
    let mut text = String::new();
    for piece in &pieces {
        match &piece.piece {
            // Unquoted, these stand for other names.
            WordPiece::Text(part) if part.contains(['*', '?', '[', '{']) => return None,
            part => push_plain(&mut text, part)?,
        }
    }
    Some(text)
}

fn push_plain(text: &mut String, piece: &WordPiece) -> Option<()> {
    match piece {
        WordPiece::Text(part) | WordPiece::SingleQuotedText(part) => text.push_str(part),
        WordPiece::EscapeSequence(part) => text.push_str(part.strip_prefix('\\').unwrap_or(part)),
        WordPiece::DoubleQuotedSequence(inner) => {
            for piece in inner {
                push_plain(text, &piece.piece)?;
            }
        }
        _ => return None,
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commands(line: &str) -> Vec<String> {
        let words =
            |words: &Words| words.iter().map(|word| word.as_deref().unwrap_or("?")).collect::<Vec<_>>().join(" ");
        parse(line).unwrap().commands.iter().map(words).collect()
    }

    #[test]
    fn every_command_of_a_line_is_found() {
        for (line, expected) in [
            ("ls -l", &["ls -l"][..]),
            ("a && b || c; d & e | f", &["a", "b", "c", "d", "e", "f"]),
            ("(a; { b; })", &["a", "b"]),
            ("if a; then b; elif c; then d; else e; fi", &["a", "b", "c", "d", "e"]),
            ("while a; do b; done; until c; do d; done", &["a", "b", "c", "d"]),
            ("for x in $(a) b; do c $x; done", &["a", "c ?"]),
            ("case $(a) in b) c;; esac", &["a", "c"]),
            ("f() { rm x; }; f", &["rm x", "f"]),
            ("x=$(a) b \"$(c)\" `d` 'e f' g\\ h", &["a", "c", "d", "b ? ? e f g h"]),
            ("cat < <(a) > $(b)", &["a", "b", "cat"]),
            ("\"r\"m -r'f' \"a b\"", &["rm -rf a b"]),
            ("echo *.rs ~ $x {a,b}", &["echo ? ? ? ?"]),
            ("[[ -n $(a) ]]", &["a"]),
            ("x=1", &[]),
            ("env x=1 make", &["env x=1 make"]),
        ] {
            assert_eq!(commands(line), expected, "{line}");
        }
    }

    #[test]
    fn what_cannot_be_seen_is_said() {
        for line in ["echo ${x:-$(a)}", "echo $(( $(a) ))", "cat <<E\n$(a)\nE", "(( x = `a` ))", "a[$(b)]=1"] {
            assert!(parse(line).unwrap().is_opaque, "{line}");
        }
        for line in ["echo ${x:-1} $((1 + 2))", "cat <<'E'\n$(a)\nE", "cat <<E\n$x\nE", "echo '$(a)'"] {
            assert!(!parse(line).unwrap().is_opaque, "{line}");
        }
        for line in ["echo 'a", "if a; then", "a | | b", "$(("] {
            assert!(parse(line).is_err(), "{line}");
        }
    }

    #[test]
    fn one_plain_command_has_its_words() {
        let words = |line| plain_words(line).map(|words: Vec<String>| words.join("|"));
        assert_eq!(words("wc -l 'a b' \"c\""), Some("wc|-l|a b|c".to_owned()));
        for line in ["wc | wc", "wc > x", "wc $x", "wc; wc", "wc &", "! wc", "x=1 wc", "(wc)", ""] {
            assert_eq!(words(line), None, "{line}");
        }
    }
}
