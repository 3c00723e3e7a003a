/** The browser of the tests. */

import { existsSync } from 'node:fs';

export const CHROMIUM = process.env.PADDOCK_CHROMIUM ?? '/usr/bin/chromium';
export const ARGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];

/** Reason why tests in a browser are skipped, if any. */
export const skip = existsSync(CHROMIUM) ? false : `there is no ${CHROMIUM}; install Debian's package chromium`;
