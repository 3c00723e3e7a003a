// A function that eleven files use gets another name; `parse_amount_strict` keeps its name.
const definitions = {
  "docs/guide.md": ["`parse_amount` reads an amount"],
  "src/amount.rs": ["pub fn parse_amount(text"],
  "src/book.rs": ["amount::{parse_amount, Amount}", "let amount = parse_amount(amount, line)?;"],
  "src/export/csv.rs": ["amount::{parse_amount, Amount}", "parse_amount(rate, index + 1)?"],
  "src/export/json.rs": ["use crate::amount::parse_amount;", "Ok(parse_amount(text, 0)?"],
  "src/lib.rs": ["amount::{parse_amount, parse_amount_strict"],
  "src/main.rs": ["use ledger::{parse, parse_amount, Book", "        parse_amount(&least, 0)?;"],
  "src/parse.rs": ["use crate::amount::parse_amount;", "let amount = parse_amount(amount.trim(), line)?;"],
  "src/report.rs": ["amount::{parse_amount, Amount}", "Some(text) => parse_amount(text, 0)?"],
  "tests/book.rs": ["use ledger::{parse_amount, Account", "amount: parse_amount(amount, 1)"],
  "tests/parse.rs": ["use ledger::{parse_amount, parse_amount_strict", "assert_eq!(parse_amount(\"1,250.00\", 1)"],
};
const renamed = (text) => text.replace("parse_amount", "read_amount");
const files = Object.keys(definitions);
/** Their names, since an answer may list them by directory. */
const names = files.map((file) => file.split("/").at(-1));

export default {
  after: Object.fromEntries(files.map((file) => [file, [[/\bparse_amount\b/g, "read_amount"]]])),
  paddock: [
    { tool: "replace", args: { pattern: "\\bparse_amount\\b", replacement: "read_amount" }, take: { plan: /plan[=: `"]+([\w-]+)/ } },
    { tool: "replace", args: { pattern: "\\bparse_amount\\b", replacement: "read_amount", plan: "{plan}" } },
  ],
  codex: [
    { tool: "grep_files", args: { pattern: "\\bparse_amount\\b" }, says: names },
    { tool: "exec_command", args: { cmd: "grep -nw parse_amount " + files.join(" ") } },
    {
      tool: "apply_patch",
      args: {
        input: `*** Begin Patch\n${files.map((file) => `*** Update File: ${file}\n${lines(file)}`).join("")}*** End Patch\n`,
      },
    },
  ],
  anthropic: [
    { tool: "grep", args: { pattern: "\\bparse_amount\\b" }, says: names },
    ...files.flatMap((file) => definitions[file].map((old) => ({
      tool: "str_replace_based_edit_tool",
      args: { command: "str_replace", path: file, old_str: old, new_str: renamed(old) },
    }))),
  ],
  reference: [
    { tool: "search_files", args: { path: "{root}", pattern: "**/*.{rs,md}" }, says: files },
    {
      tool: "read_multiple_files",
      args: { paths: ["README.md", "docs/guide.md", ...["account", "amount", "book", "entry", "error", "export/csv", "export/json", "export/mod", "lib", "main", "parse", "report"].map((name) => `src/${name}.rs`), "tests/book.rs", "tests/parse.rs"].map((file) => `{root}/${file}`) },
    },
    ...files.map((file) => ({
      tool: "edit_file",
      args: { path: `{root}/${file}`, edits: definitions[file].map((old) => ({ oldText: old, newText: renamed(old) })) },
    })),
  ],
};

/** The chunks of a patch, with whole lines as `grep` shows them. */
function lines(file) {
  const whole = {
    "docs/guide.md": ["`parse_amount` reads an amount such as `1,250.00` or `-3.50`. A comma between"],
    "src/amount.rs": ["pub fn parse_amount(text: &str, line: usize) -> Result<Amount> {"],
    "src/book.rs": ["use crate::amount::{parse_amount, Amount};", "        let amount = parse_amount(amount, line)?;"],
    "src/export/csv.rs": ["use crate::amount::{parse_amount, Amount};", "            rates.push((currency.to_owned(), parse_amount(rate, index + 1)?));"],
    "src/export/json.rs": ["use crate::amount::parse_amount;", "    Ok(parse_amount(text, 0)?.hundredths())"],
    "src/lib.rs": ["pub use amount::{parse_amount, parse_amount_strict, Amount};"],
    "src/main.rs": ["use ledger::{parse, parse_amount, Book, Result};", "        parse_amount(&least, 0)?;"],
    "src/parse.rs": ["use crate::amount::parse_amount;", "    let amount = parse_amount(amount.trim(), line)?;"],
    "src/report.rs": ["use crate::amount::{parse_amount, Amount};", "        Some(text) => parse_amount(text, 0)?,"],
    "tests/book.rs": ["use ledger::{parse_amount, Account, Book, Entry, Posting};", "        entry.postings.push(Posting { account, amount: parse_amount(amount, 1).unwrap() });"],
    "tests/parse.rs": ["use ledger::{parse_amount, parse_amount_strict, Error};", "    assert_eq!(parse_amount(\"1,250.00\", 1).unwrap().hundredths(), 125_000);"],
  };
  return whole[file].map((line) => `@@\n-${line}\n+${renamed(line)}\n`).join("");
}
