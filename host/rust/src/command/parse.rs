//! Finds the commands that a shell would run for a command line, as far as the line alone determines them.

use brush_parser::ast::{
    AndOr, AndOrList, Assignment, AssignmentName, AssignmentValue, Command, CommandPrefixOrSuffixItem as Item,
    CompoundCommand, CompoundList, ExtendedTestExpr, IoFileRedirectKind, IoFileRedirectTarget, IoRedirect, Pipeline,
    RedirectList, SimpleCommand, Word,
};
use brush_parser::word::{self, WordPiece, WordPieceWithSource};
use brush_parser::{Parser, ParserOptions, SourceInfo};

mod plain;

use plain::plain;

/// Maximum depth of nested substitutions and shells that are parsed.
const MAX_DEPTH: usize = 16;

/// Words of a command; `None` for a word that is not plain text.
pub(super) type Words = Vec<Option<String>>;

/// Result of parsing a command line.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    /// All simple commands in the line.
    pub(super) commands: Vec<Run>,
    /// Whether the line could run a command that is not in `commands`.
    pub(super) is_opaque: bool,
    /// Whether a quoted text has a substitution, which runs only if another command evaluates the text.
    hides: bool,
    /// Whether the line can evaluate a text, for example by arithmetic, in which a name can stand for an expression.
    evaluates: bool,
}

/// A simple command.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) words: Words,
    pub(super) input: Input,
}

/// Source of the standard input of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Input {
    /// The caller of the shell, or the command before it in a pipe.
    Unknown,
    /// A here-document or here-string; `None` if its text is not plain.
    Text(Option<String>),
    File,
}

/// Commands of the shell that evaluate the subscript of an array in a word, or a word as arithmetic.
const EVALUATING: [&str; 14] = [
    "[",
    "declare",
    "export",
    "getopts",
    "let",
    "local",
    "mapfile",
    "printf",
    "read",
    "readarray",
    "readonly",
    "test",
    "typeset",
    "unset",
];

/// Variables that decide which program a shell or the program loader runs. `*` stands for any end of a name.
const DECIDING: [&str; 15] = [
    "BASH_ALIASES",
    "BASH_CMDS",
    "BASH_ENV",
    "BASH_FUNC_*",
    "BASHOPTS",
    "ENV",
    "EXECIGNORE",
    "GIT_CONFIG_*",
    "GIT_EXEC_PATH",
    "LD_*",
    "PATH",
    "PROMPT_COMMAND",
    "PS0",
    "PS4",
    "SHELLOPTS",
];

/// Operators of a test that evaluate their operands.
const EVALUATING_TESTS: [&str; 7] = ["-eq", "-ge", "-gt", "-le", "-lt", "-ne", "-v"];

/// Returns the commands of a line, or the syntax error as text.
pub(super) fn parse(line: &str) -> Result<Line, String> {
    let mut finder = Finder { line: Line::default(), depth: 0 };
    finder.program(line)?;
    finder.line.is_opaque |= finder.line.hides && finder.line.evaluates;
    Ok(finder.line)
}

/// Returns the words of a line that is a single command of plain words without redirection.
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
            CompoundCommand::Arithmetic(command) => self.arithmetic(&command.expr.value),
            CompoundCommand::ArithmeticForClause(command) => {
                let parts = [&command.initializer, &command.condition, &command.updater];
                parts.into_iter().flatten().for_each(|part| self.arithmetic(&part.value));
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
        let (mut words, mut input) = (Words::new(), Input::Unknown);
        if let Some(name) = &command.word_or_name {
            self.word(name);
            words.push(plain(name));
        }
        for item in prefix.chain(suffix) {
            match item {
                Item::IoRedirect(redirect) => {
                    self.redirect(redirect);
                    input = read_from(redirect).unwrap_or(input);
                }
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
        // `export PATH=x`, `env PATH=x`, `read PATH`, `declare -n p=PATH`.
        let is_deciding = |word: &String| word.split(['=', '+', '[']).any(decides);
        self.line.is_opaque |= words.iter().skip(1).flatten().any(is_deciding);
        if let Some(Some(name)) = words.first() {
            self.line.evaluates |= EVALUATING.contains(&name.as_str());
        }
        if !words.is_empty() {
            self.line.commands.push(Run { words, input });
        }
    }

    fn assignment(&mut self, assignment: &Assignment) {
        let name = match &assignment.name {
            AssignmentName::VariableName(name) => name,
            AssignmentName::ArrayElementName(name, index) => {
                self.arithmetic(index);
                name
            }
        };
        self.line.is_opaque |= decides(name);
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
            IoRedirect::HereDocument(_, document) => self.literal(&document.doc.value),
        }
    }

    fn test(&mut self, test: &ExtendedTestExpr) {
        match test {
            ExtendedTestExpr::And(a, b) | ExtendedTestExpr::Or(a, b) => {
                [a, b].into_iter().for_each(|part| self.test(part))
            }
            ExtendedTestExpr::Not(part) | ExtendedTestExpr::Parenthesized(part) => self.test(part),
            ExtendedTestExpr::UnaryTest(predicate, word) => {
                self.line.evaluates |= EVALUATING_TESTS.contains(&predicate.to_string().as_str());
                self.word(word);
            }
            ExtendedTestExpr::BinaryTest(predicate, a, b) => {
                self.line.evaluates |= EVALUATING_TESTS.contains(&predicate.to_string().as_str());
                [a, b].into_iter().for_each(|word| self.word(word));
            }
        }
    }

    /// Parses the substitutions in a word.
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
                WordPiece::ArithmeticExpression(expression) => self.arithmetic(&expression.value),
                WordPiece::ParameterExpansion(_) => match source.get(piece.start_index..piece.end_index) {
                    Some(text) => self.parameter(text),
                    None => self.line.is_opaque = true,
                },
                WordPiece::SingleQuotedText(text) => self.literal(text),
                // In such a text, a character can be written as a number.
                WordPiece::AnsiCQuotedText(text) => self.line.hides |= text.contains(['\\', '$', '`']),
                WordPiece::EscapeSequence(text) => self.line.hides |= text.contains(['$', '`']),
                WordPiece::Text(_) | WordPiece::TildePrefix(_) => {}
            }
        }
    }

    /// Records a literal text.
    fn literal(&mut self, text: &str) {
        self.line.hides |= text.contains("$(") || text.contains('`');
    }

    /// Records arithmetic, in which a name can stand for an expression.
    fn arithmetic(&mut self, text: &str) {
        self.text(text);
        self.line.evaluates |= text.contains(|c: char| c.is_alphabetic() || c == '_' || c == '$');
    }

    /// Records an expansion of a variable: its subscript is arithmetic, and `@P` evaluates its value as a prompt.
    fn parameter(&mut self, text: &str) {
        self.text(text);
        self.line.evaluates |= text.contains(['[', ':', '!']) || text.contains("@P");
    }

    /// Records a text that the shell expands and that is not parsed here: a substitution in it makes the line opaque.
    fn text(&mut self, text: &str) {
        self.line.is_opaque |= text.contains("$(") || text.contains('`');
    }
}

/// Returns whether a variable of this name decides which program runs.
fn decides(name: &str) -> bool {
    DECIDING.iter().any(|own| own.strip_suffix('*').map_or(*own == name, |start| name.starts_with(start)))
}

/// Returns the source of standard input that a redirection sets; `None` for another stream.
fn read_from(redirect: &IoRedirect) -> Option<Input> {
    let is_input = |number: &Option<i32>| number.is_none_or(|number| number == 0);
    match redirect {
        IoRedirect::HereString(number, word) if is_input(number) => Some(Input::Text(plain(word))),
        IoRedirect::HereDocument(number, document) if is_input(number) => {
            let is_known = !document.requires_expansion || !document.doc.value.contains(['$', '`', '\\']);
            Some(Input::Text(is_known.then(|| document.doc.value.clone())))
        }
        IoRedirect::File(number, IoFileRedirectKind::Read, IoFileRedirectTarget::Filename(word))
            if is_input(number) =>
        {
            let is_file = plain(word).is_some_and(|path| !is_special(&path));
            Some(if is_file { Input::File } else { Input::Unknown })
        }
        _ => None,
    }
}

/// Returns whether a path names an open descriptor or device, not a file.
pub(super) fn is_special(path: &str) -> bool {
    path == "-" || path.starts_with("/dev/") || path.starts_with("/proc/")
}

fn is_prefix(command: &SimpleCommand, item: &Item) -> bool {
    command.prefix.iter().flat_map(|prefix| &prefix.0).any(|other| std::ptr::eq(other, item))
}

#[cfg(test)]
mod tests;
