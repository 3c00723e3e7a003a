// The largest file of a directory.
export default {
  facts: ["tables.rs", /71,?393|69\.7|70 ?K/],
  paddock: [{ tool: "list_dir", args: { path: "src", sort: "size", limit: 3 } }],
  reference: [{ tool: "list_directory_with_sizes", args: { path: "{root}/src", sortBy: "size" } }],
};
