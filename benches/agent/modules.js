// The packages of `tests/mcp_client`, which pins their versions.

import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const client = new URL("../../tests/mcp_client/", import.meta.url);
const require = createRequire(new URL("package.json", client));

export const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
export const { StdioClientTransport } = require("@modelcontextprotocol/sdk/client/stdio.js");
const { encode } = require("gpt-tokenizer/encoding/o200k_base");

/** Program of the reference file system server. */
export const REFERENCE = fileURLToPath(
  new URL("node_modules/@modelcontextprotocol/server-filesystem/dist/index.js", client),
);

/** Returns the number of tokens of `text` in `o200k_base`. */
export const tokens = (text) => encode(text, { disallowedSpecial: new Set() }).length;
