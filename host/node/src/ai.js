/**
 * The tools of a workspace for the Vercel AI SDK. The caller installs the package `ai`:
 *
 *     generateText({ model, tools: await aiTools(workspace), prompt: '…' })
 */

import { jsonSchema, tool } from 'ai';
import { plainName } from './formats.js';

/**
 * Returns the tools of a dialect by name, with functions that run them. The model gets a failure as text, like any result.
 *
 * @param {import('./workspace.js').Workspace} workspace
 * @param {object} [options]
 * @param {string} [options.dialect] Default: the workspace's.
 * @param {(name: string) => boolean} [options.only] Which tools the model gets. Default: all.
 * @param {import('./approval_signer.js').Approver} [options.approver] Approver of calls, in place of the workspace's own.
 * @returns {Promise<import('ai').ToolSet>}
 */
export async function aiTools(workspace, { dialect, only = () => true, approver } = {}) {
  const tools = (await workspace.tools({ dialect })).filter(({ name }) => only(name));
  const converted = tools.map(({ name, description, inputSchema }) => [
    plainName(name),
    tool({
      description,
      inputSchema: jsonSchema(inputSchema),
      execute: (/** @type {any} */ args, { abortSignal: signal }) => workspace.call(name, args, { dialect, signal, approver }),
      toModelOutput: ({ output }) => ({ type: output.ok ? 'text' : 'error-text', value: output.text }),
    }),
  ]);
  return Object.fromEntries(converted);
}
