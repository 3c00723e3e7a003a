// The only failure in a log of 3,000 lines, with the lines around it.
export default {
  facts: ["line 412: `12,5O` is no amount", "entry 2316 of 3000 added"],
  paddock: [{ tool: "grep", args: { pattern: "ERROR", path: "logs/run.log", context: 1 } }],
  codex: [{ tool: "exec_command", args: { cmd: "grep -n -C1 ERROR logs/run.log" } }],
  anthropic: [{ tool: "grep", args: { pattern: "ERROR", path: "logs/run.log", context: 1 } }],
};
