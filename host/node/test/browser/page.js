/** The demo page, built and served, in headless Chromium. */

import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { build, preview } from 'vite';

const CHROMIUM = process.env.PADDOCK_CHROMIUM ?? '/usr/bin/chromium';
const ARGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];
const demo = fileURLToPath(new URL('../../demo', import.meta.url));

/** Reason why tests in a browser are skipped, if any. */
export const skip = existsSync(CHROMIUM) ? false : `there is no ${CHROMIUM}; install Debian's package chromium`;

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
