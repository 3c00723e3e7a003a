// A command prints far more than a model should read: little of it is asked for, and the end of it matters.
const command = "cat logs/run.log";

export default {
  facts: ["entry 2999 of 3000 added"],
  paddock: [{ tool: "shell", args: { command, max_output_tokens: 500 }, otherwise: [{ tool: "shell", args: { command } }] }],
  codex: [{ tool: "exec_command", args: { cmd: command, max_output_tokens: 500 } }],
};
