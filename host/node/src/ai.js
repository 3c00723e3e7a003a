/**
 * A workspace's tools for the Vercel AI SDK (the package `ai`, which is the caller's to install):
 *
 *     generateText({ model, tools: await aiTools(workspace), prompt: '…' })
 */

import { jsonSchema, tool } from 'ai';
import { plainName } from './formats.js';

/**
 * The tools of a dialect by name, ready to be run. A failure is told to the model as text, as any result is.
 *
 * @param {import('./workspace.js').Workspace} workspace
 * @param {object} [options]
 * @param {string} [options.dialect] Default: the workspace's.
 * @param {(name: string) => boolean} [options.only] Which tools the model gets. Default: all.
 * @param {import('./desk.js').Approver} [options.approver] Who is asked about calls that need approval, in place of the workspace's own.
 * @returns {Promise<import('ai').ToolSet>}
 */
export async function aiTools(workspace, { dialect, only = () => true, approver } = {}) {
  const tools = (await workspace.tools({ dialect })).filter(({ name }) => only(name));
  const made = tools.map(({ name, description, inputSchema }) => [
    plainName(name),
    tool({
      description,
      inputSchema: jsonSchema(inputSchema),
      execute: (/** @type {any} */ args, { abortSignal: signal }) => workspace.call(name, args, { dialect, signal, approver }),
      toModelOutput: ({ output }) => ({ type: output.ok ? 'text' : 'error-text', value: output.text }),
    }),
  ]);
  return Object.fromEntries(made);
}
