// A command that writes outside of the workspace: the text names the refused path, and the next one writes inside.
import { call, wrong } from "../calls.js";

const list = (path) => `ls src/export > ${path} && echo written`;
const says = /`\/var\/list\.txt`[^\n]*outside/;

export default {
  mistake: true,
  after: { "list.txt": "csv.rs\njson.rs\nmod.rs\n" },
  paddock: [wrong("shell", { command: list("/var/list.txt") }, { says }), call("shell", { command: list("list.txt") })],
  codex: [wrong("exec_command", { cmd: list("/var/list.txt") }, { says }), call("exec_command", { cmd: list("list.txt") })],
};
