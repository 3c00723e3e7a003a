/** Workspaces for tests, each in a separate directory. */

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after } from 'node:test';
import { Walk } from '../src/disk/walk.js';
import { Workspace } from '../src/index.js';

/** Creates a directory `ws` with these files in an otherwise empty directory, which is removed after the tests. */
export function fixture(files = {}) {
  const top = realpathSync(mkdtempSync(join(tmpdir(), 'paddock-node-')));
  after(() => rmSync(top, { recursive: true, force: true }));
  mkdirSync(join(top, 'ws'));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(top, 'ws', path)), { recursive: true });
    writeFileSync(join(top, 'ws', path), text);
  }
  return { top, root: join(top, 'ws'), state: join(top, 'state'), at: (path) => join(top, 'ws', path) };
}

/** Opens a workspace over such a directory, and closes it after the tests. */
export async function open(here, options = {}) {
  const workspace = await Workspace.open(here.root, { stateDir: here.state, ...options });
  after(() => workspace.close());
  return workspace;
}

/** Opens the directory at a path. */
export function directoryAt(path, byPath) {
  const walk = new Walk(path, byPath);
  try {
    assert.deepEqual(walk.missing, [], path);
    return walk.openEnd();
  } finally {
    walk.close();
  }
}
