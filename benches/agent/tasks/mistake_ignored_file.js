// A file that the ignore rules leave out.
import { call, wrong } from "../calls.js";

const take = { argument: /(include_ignored)/ };

export default {
  mistake: true,
  facts: [/target\/debug\/\s*ledger\.d/],
  paddock: [wrong("glob", { pattern: "*.d" }, { take }), call("glob", { pattern: "*.d", include_ignored: true })],
};
