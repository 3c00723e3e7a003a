// The destination of a move exists, and is to be replaced.
import { call, wrong } from "../calls.js";

export default {
  mistake: true,
  start: { "docs/new.md": "# New guide\n" },
  after: { "docs/guide.md": "# New guide\n", "docs/new.md": null },
  paddock: [
    wrong("move", { source: "docs/new.md", destination: "docs/guide.md" }, { take: { argument: /`?(overwrite)/ } }),
    call("move", { source: "docs/new.md", destination: "docs/guide.md", overwrite: true }),
  ],
};
