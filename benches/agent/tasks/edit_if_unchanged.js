// A file is read, and changed only if it is still the one that was read: the etag comes from the text.
const edit = { old_text: "version = \"0.3.1\"", new_text: "version = \"0.4.0\"" };

export default {
  after: { "Cargo.toml": [["0.3.1", "0.4.0"]] },
  paddock: [
    {
      tool: "read_file",
      args: { path: "Cargo.toml" },
      take: { etag: /etag[=: `"]+([0-9a-f]{4,16})/i },
      otherwise: [
        { tool: "stat", args: { path: "Cargo.toml" }, take: { etag: /etag[=: `"]+([0-9a-f]{4,16})/i } },
        { tool: "edit_file", args: { path: "Cargo.toml", edits: [edit], if_match: "{etag}" } },
      ],
    },
    { tool: "edit_file", args: { path: "Cargo.toml", edits: [edit], if_match: "{etag}" } },
  ],
};
