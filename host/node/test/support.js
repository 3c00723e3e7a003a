/** Workspaces for tests, each in a directory of its own. */

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after } from 'node:test';
import { Walk } from '../src/disk/walk.js';
import { Workspace } from '../src/index.js';

/** A directory `ws` with these files, with room beside it, which goes when the tests have ended. */
export function place(files = {}) {
  const top = realpathSync(mkdtempSync(join(tmpdir(), 'paddock-node-')));
  after(() => rmSync(top, { recursive: true, force: true }));
  mkdirSync(join(top, 'ws'));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(top, 'ws', path)), { recursive: true });
    writeFileSync(join(top, 'ws', path), text);
  }
  return { top, root: join(top, 'ws'), state: join(top, 'state'), at: (path) => join(top, 'ws', path) };
}

/** A workspace over that, closed when the tests have ended. */
export async function open(here, options = {}) {
  const workspace = await Workspace.open(here.root, { stateDir: here.state, ...options });
  after(() => workspace.close());
  return workspace;
}

/** The directory at a path, open. */
export function directoryAt(path, byPath) {
  const walk = new Walk(path, byPath);
  try {
    assert.deepEqual(walk.missing, [], path);
    return walk.openEnd();
  } finally {
    walk.close();
  }
}
