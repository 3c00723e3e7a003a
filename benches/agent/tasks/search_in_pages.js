// A search with more matches than one page: the second page by the cursor of the first.
export default {
  facts: ["PAA", "SAA", "VAA"],
  paddock: [
    { tool: "grep", args: { pattern: "in use since", path: "src/tables.rs", limit: 6 }, take: { cursor: /cursor[=: `"]+([^\s`"\]]+)/ } },
    { tool: "grep", args: { pattern: "in use since", path: "src/tables.rs", limit: 6, cursor: "{cursor}" } },
  ],
};
