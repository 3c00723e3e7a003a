use std::process::ExitCode;

use ledger::export::{export, Format};
use ledger::report::{balances, Options};
use ledger::{parse, parse_amount, Book, Result};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args) {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("ledger: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &[String]) -> std::result::Result<String, String> {
    let (command, rest) = args.split_first().ok_or("no command")?;
    let file = rest.last().ok_or("no file")?;
    let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    let book = parse::parse_book(&text).map_err(|error| error.to_string())?;
    match command.as_str() {
        "check" => check(&book).map_err(|error| error.to_string()),
        "report" => report(&book, rest).map_err(|error| error.to_string()),
        "export" => Ok(export(&book, Format::of(&option(rest, "--format")).ok_or("no such format")?)),
        other => Err(format!("no command `{other}`")),
    }
}

fn check(book: &Book) -> Result<String> {
    book.check()?;
    Ok(format!("{} entries\n", book.entries().len()))
}

fn report(book: &Book, args: &[String]) -> Result<String> {
    let date = parse::parse_date(&option(args, "--date"), 0)?;
    let least = option(args, "--least");
    if !least.is_empty() {
        parse_amount(&least, 0)?;
    }
    balances(book, &Options { date, all: args.iter().any(|arg| arg == "--all"), least: Some(least).filter(|text| !text.is_empty()) })
}

fn option(args: &[String], name: &str) -> String {
    args.iter().position(|arg| arg == name).and_then(|at| args.get(at + 1)).cloned().unwrap_or_default()
}
