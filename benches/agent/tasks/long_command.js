// A command that prints for two seconds: its whole output in as few calls as possible.
const command = "for n in 1 2 3 4 5 6 7 8; do echo test $n ok; sleep 0.25; done; echo all passed";
const END = "all passed";

/** Waits for the session of an earlier answer, at most `calls` times, until the end is there. */
const wait = (calls) => [
  {
    tool: "write_stdin",
    args: { session_id: "{#session}", chars: "", yield_time_ms: 5_000 },
    says: END,
    otherwise: calls > 1 ? wait(calls - 1) : undefined,
  },
];
const start = (args) => [{ tool: "exec_command", args, notes: { session: /session\w*(?: id)? (\d+)/i }, says: END, otherwise: wait(10) }];

export default {
  facts: ["test 8 ok", END],
  paddock: start({ command, terminal: false }),
  codex: start({ cmd: command }),
};
