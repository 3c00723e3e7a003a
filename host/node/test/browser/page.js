/** The demo page, built and served, in headless Chromium. */

import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { build, preview } from 'vite';
import { ARGS, CHROMIUM } from './chromium.js';

export { skip } from './chromium.js';

const demo = fileURLToPath(new URL('../../demo', import.meta.url));

/**
 * Opens the page when it is ready.
 *
 * @param {string} name Of a directory in `build/` that no other test builds the page in.
 */
export async function openPage(name) {
  const outDir = fileURLToPath(new URL(`../../build/${name}`, import.meta.url));
  await build({ root: demo, logLevel: 'error', build: { outDir, emptyOutDir: true } });
  const server = await preview({ root: demo, logLevel: 'error', build: { outDir }, preview: { port: 0, host: '127.0.0.1' } });
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ARGS });
  const page = await browser.newPage({ viewport: { width: 1360, height: 860 } });
  const failures = [];
  page.on('pageerror', (error) => failures.push(error.stack));
  page.on('console', (message) => message.type() === 'error' && failures.push(message.text()));
  await page.goto(server.resolvedUrls.local[0]);
  await page.waitForSelector('body[data-ready]', { timeout: 60_000 });
  const close = async () => {
    await browser.close();
    await server.close();
  };
  return { page, failures, close };
}
