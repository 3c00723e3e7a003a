/** The status page of `paddock serve` in Chromium: a person sees a change and undoes it. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, test } from 'node:test';
import { chromium } from 'playwright-core';
import { ARGS, CHROMIUM, skip as skipBrowser } from './browser/chromium.js';

const BINARY = process.env.PADDOCK_SERVER;
const skip = skipBrowser || (BINARY && existsSync(BINARY) ? false : 'PADDOCK_SERVER names no program `paddock` with the feature `serve`');
const hash = (token) => createHash('sha256').update(token).digest('hex');

describe('the status page', { skip }, () => {
  const home = mkdtempSync(join(tmpdir(), 'paddock-status-'));
  const file = join(home, 'notes', '<img src=x onerror=alert(1)>.txt');
  const [agent, operator] = ['pdk_agent', 'pdk_operator'];
  let server;
  let browser;
  let page;
  let url;
  const failures = [];

  before(async () => {
    mkdirSync(join(home, 'notes'));
    writeFileSync(file, 'before\n');
    const configuration = {
      listen: '127.0.0.1:0',
      state_dir: 'state',
      workspaces: { notes: { root: 'notes' } },
      tokens: [
        { name: 'agent', sha256: hash(agent), grant: { workspaces: ['notes'] } },
        { name: 'olga', sha256: hash(operator), operator: true },
      ],
    };
    writeFileSync(join(home, 'serve.json'), JSON.stringify(configuration));
    const env = { ...process.env, XDG_CONFIG_HOME: join(home, 'none') };
    delete env.PADDOCK_POLICY;
    server = spawn(BINARY, ['serve', '--config', join(home, 'serve.json')], { env, stdio: ['ignore', 'ignore', 'pipe'] });
    const { value: line } = await createInterface({ input: server.stderr })[Symbol.asyncIterator]().next();
    url = line.slice('paddock: serving '.length);
    const answered = await fetch(`${url}/w/notes/call`, {
      method: 'POST',
      headers: { authorization: `Bearer ${agent}`, 'content-type': 'application/json' },
      body: JSON.stringify({ tool: 'write_file', arguments: { path: '<img src=x onerror=alert(1)>.txt', content: 'after\n' } }),
    });
    assert.equal((await answered.json()).ok, true);
    browser = await chromium.launch({ executablePath: CHROMIUM, args: ARGS });
    const context = await browser.newContext({ httpCredentials: { username: 'olga', password: operator } });
    page = await context.newPage();
    page.on('pageerror', (error) => failures.push(error.stack));
    page.on('console', (message) => message.type() === 'error' && failures.push(message.text()));
    page.on('dialog', (dialog) => failures.push(dialog.message()) && dialog.dismiss());
  });
  after(async () => {
    await browser?.close();
    server?.kill();
    rmSync(home, { recursive: true, force: true });
  });

  test('a browser without the token is refused', async () => {
    const context = await browser.newContext();
    const answer = await (await context.newPage()).request.get(`${url}/status`);
    assert.equal(answer.status(), 401);
    await context.close();
  });

  test('a person undoes a change', async () => {
    await page.goto(`${url}/status`);
    await page.getByRole('link', { name: 'notes' }).click();
    assert.match(await page.textContent('main'), /modified <img src=x onerror=alert\(1\)>\.txt/);
    assert.equal(await page.locator('img').count(), 0);
    // The style has the hash that the policy of the page names.
    assert.equal(await page.evaluate(() => getComputedStyle(document.body).maxWidth), '1120px');
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.waitForURL(`${url}/status/w/notes`);
    assert.equal(readFileSync(file, 'utf8'), 'before\n');
    assert.match(await page.textContent('main'), /olga/);
    assert.deepEqual(failures, []);
  });

  test('a page of another origin cannot undo a change', async () => {
    await page.goto(`${url}/status/w/notes`);
    const before = readFileSync(file, 'utf8');
    const backup = await page.locator('input[name=backup]').first().inputValue();
    const form = `<form method=post action="${url}/status/w/notes/undo"><input name=backup value="${backup}"><button>Go</button></form>`;
    const foreign = createServer((_, response) => response.setHeader('content-type', 'text/html').end(form));
    await new Promise((resolve) => foreign.listen(0, '127.0.0.1', resolve));
    await page.goto(`http://127.0.0.1:${foreign.address().port}/`);
    const [answer] = await Promise.all([page.waitForResponse((response) => response.url().endsWith('/undo')), page.click('button')]);
    foreign.close();
    assert.equal(answer.status(), 403);
    assert.equal(readFileSync(file, 'utf8'), before);
  });
});
