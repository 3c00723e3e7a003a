/**
 * The repository's cases in Chromium: workspaces in memory, each in a worker. Results and trees are the same as in
 * every other host, byte for byte.
 */

import { after, before, describe, test } from 'node:test';
import { openPage, skip } from './browser/page.js';
import { allCases } from './cases/case.js';
import { compare } from './cases/expect.js';
import { inMemory } from './cases/memory.js';

describe('cases in the browser', { skip }, () => {
  let opened;

  before(async () => {
    opened = await openPage('cases');
  });
  after(() => opened?.close());

  for (const testCase of allCases()) {
    const reason = testCase.only.length > 0 && !testCase.only.includes('component_memory') ? testCase.reason : false;
    test(testCase.name, { skip: reason }, async () => compare(testCase, await inMemory(testCase, (policy) => create(opened.page, policy))));
  }
});

/** A workspace in the page. Bytes are passed as Base64. */
async function create(page, policy) {
  const handle = await page.evaluateHandle((policy) => globalThis.paddock.memory({ policy }), policy);
  return {
    loadTar: (archive) => handle.evaluate((workspace, text) => workspace.loadTar(Uint8Array.from(atob(text), (byte) => byte.charCodeAt(0))), archive.toString('base64')),
    call: (tool, args, options) => handle.evaluate((workspace, call) => workspace.call(...call), [tool, args, options]),
    saveTar: async () => Buffer.from(await handle.evaluate(inBase64), 'base64'),
    close: () => handle.evaluate((workspace) => workspace.close()),
  };
}

/** Returns the tree as an archive; runs in the page. */
async function inBase64(workspace) {
  const blob = new Blob([await workspace.saveTar()]);
  const url = await new Promise((resolve) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result);
    reader.readAsDataURL(blob);
  });
  return url.slice(url.indexOf(',') + 1);
}
