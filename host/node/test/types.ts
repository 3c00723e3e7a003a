/**
 * Statements that the published declarations must accept or refuse; `npm run check` compiles this file against them.
 */

import { PaddockError, Workspace, tools } from 'paddock-files';
import { aiTools } from 'paddock-files/ai';
import { createServer } from 'paddock-files/mcp';
import { Workspace as InBrowser } from 'paddock-files/browser';

const workspace = await Workspace.open('.', { readOnly: true, limits: { max_lines: 10 }, roots: [{ path: '/', access: 'read-only' }] });
const { content, totalLines, etag } = await workspace.read({ path: 'a.txt' });
const lines: number | undefined = totalLines;
const text: string = content + etag + lines;
const { matches } = await workspace.grep({ pattern: text, letterCase: 'smart' }, { timeMs: 5, signal: AbortSignal.timeout(5) });
const first: [string, number] = [matches[0].path, matches[0].line];
const openai: { function: { name: string } }[] = await tools({ format: 'openai' });
// @ts-expect-error: a path is needed
await workspace.read({});
// @ts-expect-error: there is no such order
await workspace.list({ sort: 'colour' });
try {
  await workspace.edit({ path: 'a', edits: [{ oldText: 'a', newText: 'b' }] });
} catch (error) {
  if (error instanceof PaddockError && error.code === 'not-found') console.log(error.hint, first, openai);
}
await createServer(workspace, { dialect: 'codex' });
await aiTools(workspace);
const memory = await InBrowser.memory();
await memory.load({ 'a.txt': 'one', dir: null });
const saved: Uint8Array = await memory.saveZip({ skipLinks: true });
console.log(saved.length);
