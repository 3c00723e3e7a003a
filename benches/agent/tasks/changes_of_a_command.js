// The files that a command changed are listed without a look at every file.
export default {
  facts: ["docs/guide.md", "docs/new.md", "Cargo.toml"],
  after: { "docs/guide.md": [["# Guide\n", "# Manual\n"]], "docs/new.md": "new\n", "Cargo.toml": null },
  paddock: [
    { tool: "changes", args: {}, take: { token: /(?:since|token)[=: `"]+([^\s`"\],;]+)/ } },
    { tool: "shell", args: { command: "sed -i 's/^# Guide/# Manual/' docs/guide.md; echo new >docs/new.md; rm Cargo.toml" } },
    { tool: "changes", args: { since: "{token}" } },
  ],
};
