// A file over the limit of one page is read to its end: each cut is said, with what continues.
const content = Array.from({ length: 150 }, (_, line) => `${String(line + 1).padStart(3, "0")} ${"=".repeat(480)}\n`).join("") + "the end\n";

export default {
  start: { "data/wide.txt": content },
  facts: ["the end"],
  paddock: [
    { tool: "read_file", args: { path: "data/wide.txt" }, take: { next: /offset[ =:]*(\d+)/ } },
    { tool: "read_file", args: { path: "data/wide.txt", offset: "{#next}" } },
  ],
  codex: [
    { tool: "read_file", args: { file_path: "{root}/data/wide.txt" }, take: { next: /offset[ =:]*(\d+)/ } },
    { tool: "read_file", args: { file_path: "{root}/data/wide.txt", offset: "{#next}" } },
  ],
};
