// A line of the text is remembered wrongly; the error has the line as it is.
import { call, edit, EDITOR, wrong } from "../calls.js";

const take = { line: /return Err\(Error::TooMany \{ max: (MAX_ENTRIES) \}\);/ };
const copied = ["        if self.entries.len() >= MAX_ENTRIES {\n            return Err(Error::TooMany { limit: MAX_ENTRIES });", "        if self.entries.len() == MAX_ENTRIES {\n            return Err(Error::TooMany { max: MAX_ENTRIES });"];
const exact = ["        if self.entries.len() >= MAX_ENTRIES {\n            return Err(Error::TooMany { max: {line} });", "        if self.entries.len() == MAX_ENTRIES {\n            return Err(Error::TooMany { max: {line} });"];

export default {
  mistake: true,
  after: { "src/book.rs": [["self.entries.len() >= MAX_ENTRIES", "self.entries.len() == MAX_ENTRIES"]] },
  paddock: [wrong("edit_file", edit.paddock("src/book.rs", copied), { take }), call("edit_file", edit.paddock("src/book.rs", exact))],
  anthropic: [wrong(EDITOR, edit.anthropic("src/book.rs", copied), { take }), call(EDITOR, edit.anthropic("src/book.rs", exact))],
};
