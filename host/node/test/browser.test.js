/** The page in Chromium: open, read, grep, edit, patch, reload; and the library in the browser, without the page. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { openPage, skip } from './browser/page.js';

describe('in the browser', { skip }, () => {
  let opened;
  let page;

  before(async () => {
    opened = await openPage('page');
    page = opened.page;
  });
  after(() => opened?.close());

  async function call(tool, args) {
    await page.getByRole('option', { name: tool, exact: true }).click();
    await page.fill('#arguments', JSON.stringify(args));
    await page.click('#run');
    await page.waitForFunction(() => !document.getElementById('run').disabled);
    return page.textContent('#result');
  }

  test('the sample project is shown', async () => {
    assert.equal(await page.textContent('#path'), 'README.md');
    assert.match(await page.textContent('#content'), /Orchard/);
    assert.equal(await page.locator('#tree button').count(), 5);
    assert.equal(await page.locator('#tools button').count(), 17);
    assert.match(await page.textContent('#schema'), /path/);
  });

  test('read, grep, a refusal', async () => {
    assert.match(await call('read_file', { path: 'src/orchard.js', limit: 2 }), /^1\|.*\n2\|export class Orchard/);
    assert.match(await call('grep', { pattern: 'TODO' }), /README\.md/);
    assert.match(await call('read_file', { path: '../x' }), /leads out of the root/);
    assert.match(await page.getAttribute('#result', 'class'), /failed/);
  });

  test('an edit and a patch show their changes', async () => {
    await call('edit_file', { path: 'README.md', edits: [{ old_text: 'tell pears from quinces', new_text: 'count the plums' }] });
    assert.equal(await page.textContent('#path'), 'README.md');
    assert.match(await page.textContent('#content .added'), /count the plums|\d/);
    assert.equal(await page.locator('#content .line.removed').count(), 1);
    await call('apply_patch', { patch: '*** Begin Patch\n*** Add File: plums.txt\n+Victoria\n*** End Patch\n' });
    assert.equal(await page.textContent('#path'), 'plums.txt');
    assert.equal(await page.locator('#tree button.changed').textContent(), 'plums.txt');
  });

  test('a reload restores the stored tree', async () => {
    await page.reload();
    await page.waitForSelector('body[data-ready]');
    assert.match(await page.textContent('#status'), /with what this browser kept/);
    assert.match(await call('read_file', { path: 'plums.txt' }), /Victoria/);
    assert.match(await call('grep', { pattern: 'count the plums' }), /README\.md/);
    await call('restore', { path: 'plums.txt' });
    await call('delete', { path: 'plums.txt' });
    await page.reload();
    await page.waitForSelector('body[data-ready]');
    assert.equal(await page.locator('#tree button').count(), 5);
  });

  test('a ZIP archive can be exported and imported', async () => {
    const download = page.waitForEvent('download');
    await page.click('#save-zip');
    const path = await (await download).path();
    await call('delete', { path: 'src', recursive: true });
    assert.equal(await page.locator('#tree button').count(), 3);
    await page.setInputFiles('#zip-file', path);
    await page.waitForFunction(() => document.querySelectorAll('#tree button').length === 5);
  });

  test('another dialect', async () => {
    await page.selectOption('#dialect', 'anthropic');
    await page.waitForFunction(() => document.querySelectorAll('#tools button').length === 2);
    const [name] = await page.locator('#tools button').allTextContents();
    assert.match(await call(name, { command: 'view', path: 'README.md' }), /Orchard/);
    await page.selectOption('#dialect', 'paddock');
    await page.waitForFunction(() => document.querySelectorAll('#tools button').length === 17);
  });

  test('a call without end is stopped in the browser too', async () => {
    // The page has one workspace; this test creates another one with the same modules.
    const code = await page.evaluate(async () => {
      const workspace = await globalThis.paddock.memory();
      // In text of letters without a repeating pattern, the automaton is too large for the cache, so the search takes
      // long on any machine.
      const letters = Array.from({ length: 2_000_000 }, () => (Math.random() < 0.5 ? 'a' : 'b'));
      await workspace.load({ 'a.log': letters.join('') });
      const { error } = await workspace.call('grep', { pattern: '(?:a[ab]{90}|b[ab]{120}|[ab]a[ab]{150})[c-zC-Z]' }, { timeMs: 30 });
      return error?.code;
    });
    assert.equal(code, 'limit-exceeded');
  });

  test('the page has reported no errors, and a screenshot is taken', async () => {
    assert.deepEqual(opened.failures, []);
    await page.click('#reset');
    await page.waitForFunction(() => document.querySelectorAll('#tree button').length === 5);
    await call('apply_patch', {
      patch: `*** Begin Patch
*** Update File: src/report.js
@@
-  return lines.length > 0 ? lines.join('\\n') : 'nothing is ripe yet';
+  return lines.length > 0 ? lines.join('\\n') : 'come back in September';
@@
 orchard.plant('Conference', 'pear');
+orchard.plant('Victoria', 'plum');
 orchard.ripen('Conference');
*** End Patch
`,
    });
    assert.equal(await page.locator('#content .line.added').count(), 2);
    if (process.env.PADDOCK_SCREENSHOT) await page.screenshot({ path: process.env.PADDOCK_SCREENSHOT });
  });
});
