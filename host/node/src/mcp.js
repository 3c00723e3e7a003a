/** The MCP server, with the official SDK: the tools of a workspace over any transport. */

import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { CallToolRequestSchema, ErrorCode, ListToolsRequestSchema, McpError } from '@modelcontextprotocol/sdk/types.js';
import { createRequire } from 'node:module';
import { LineTransport } from './mcp/transport.js';
import { renderPlan } from './plan_text.js';

/** @typedef {import('./workspace.js').Workspace} Workspace */
/** @typedef {import('./outcome.js').Outcome} Outcome */

const { version } = createRequire(import.meta.url)('../package.json');

const DIALECT = 'paddock';

/** Names of clients that give the model the result as JSON instead of the text. `guest/protocol/src/clients.rs` has the sources. */
const JSON_FOR_MODELS = /^(claude-code|codex-mcp-client|opencode)( \(|$)/;

/** Instructions for the model: for every dialect, and for the `paddock` dialect. */
const ANY_DIALECT =
  'File tools confined to one workspace. Paths are relative to it and use `/`. ' +
  'A result that was cut short says so; an error says what would work instead.';
const INSTRUCTIONS =
  'File tools confined to one workspace. Paths are relative to it and use `/`. ' +
  'Find with `grep`, `glob` and `list_dir`, read a page with `read_file`, then change text with `edit_file` ' +
  'or several files at once with `apply_patch` or `replace`. A result that was cut short says which argument continues it; ' +
  'an error says what would work instead.';

/** Remedy for a message that is too long: in every dialect, and in the `paddock` dialect. */
const ANY_REMEDY = 'divide it among several requests';
const REMEDY = 'write a large file in parts: `write_file` with `append`';

/** Time limit for the answer of a person, in milliseconds. */
const PATIENCE = 600_000;

/**
 * Returns a server with the workspace's tools, for any transport of the SDK. With `textOnly`, its answers have no
 * `structuredContent` and its tools no output schemas. By default, this is so for clients that give the model this JSON
 * instead of the text.
 *
 * @param {Workspace} workspace
 * @param {{dialect?: string, textOnly?: boolean}} [options]
 */
export async function createServer(workspace, { dialect = DIALECT, textOnly } = {}) {
  const tools = await workspace.tools({ dialect, format: 'mcp' });
  const isTextOnly = () => textOnly ?? JSON_FOR_MODELS.test(server.getClientVersion()?.name ?? '');
  const instructions = dialect === DIALECT ? INSTRUCTIONS : ANY_DIALECT;
  const server = new Server({ name: 'paddock', title: 'Paddock', version }, { capabilities: { tools: {} }, instructions });
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: isTextOnly() ? tools.map(({ outputSchema, ...tool }) => tool) : tools,
  }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal }) => {
    if (!tools.some(({ name }) => name === params.name)) {
      throw new McpError(ErrorCode.InvalidParams, `unknown tool: ${params.name}`);
    }
    const approver = server.getClientCapabilities()?.elicitation ? elicitation(server, signal) : undefined;
    return result(await workspace.call(params.name, params.arguments ?? {}, { dialect, signal, approver }), isTextOnly());
  });
  return server;
}

/**
 * Serves over standard input and output until the client disconnects.
 *
 * @param {Workspace} workspace
 * @param {{dialect?: string, textOnly?: boolean}} [options]
 */
export async function serve(workspace, options) {
  const server = await createServer(workspace, options);
  const closed = new Promise((resolve) => {
    server.onclose = () => resolve(undefined);
  });
  const remedy = (options?.dialect ?? DIALECT) === DIALECT ? REMEDY : ANY_REMEDY;
  await server.connect(new LineTransport(process.stdin, process.stdout, remedy));
  await closed;
}

/**
 * Returns the result of a call for MCP. A failure has no structured content, because that would have to match the output schema.
 *
 * @param {Outcome} outcome
 * @param {boolean} textOnly
 */
function result({ ok, result, text }, textOnly) {
  // A result without text contains content to display: images, sounds, resources.
  const content = ok && text === '' && Array.isArray(result?.content) ? result.content : [{ type: 'text', text }];
  if (!ok) return { content, isError: true };
  return textOnly ? { content } : { content, structuredContent: result };
}

/**
 * Asks the person at the client for a decision.
 *
 * @param {Server} server
 * @param {AbortSignal} signal
 * @returns {import('./approval_signer.js').Approver}
 */
function elicitation(server, signal) {
  return async (plan) => {
    const approve = /** @type {const} */ ({ type: 'boolean', title: 'Do this', description: 'Nothing is changed otherwise' });
    const form = {
      message: `A tool call needs your approval:\n\n${renderPlan(plan)}`,
      requestedSchema: { type: /** @type {const} */ ('object'), properties: { approve }, required: ['approve'] },
    };
    try {
      const response = await server.elicitInput(form, { signal, timeout: PATIENCE });
      return response.action === 'accept' && response.content?.approve === true;
    } catch (cause) {
      return { refused: /** @type {Error} */ (cause).message };
    }
  };
}
