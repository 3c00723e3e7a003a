/**
 * The repository's cases through this host: over a directory, over a directory that is reached by paths, and in memory.
 * Results and trees are the same as in every other host, byte for byte.
 */

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { Workspace } from '../src/index.js';
import { allCases } from './cases/case.js';
import { drive, fill } from './cases/drive.js';
import { compare } from './cases/expect.js';
import { cleared, inMemory, withTargets } from './cases/memory.js';
import { modes, readTree, writeTree } from './cases/tree.js';

const BACKENDS = {
  directory: { holds: 'directory', run: (testCase) => inDirectory(testCase, {}) },
  'directory, by paths': { holds: 'directory', run: (testCase) => inDirectory(testCase, { byPath: true }) },
  memory: { holds: 'component_memory', run: (testCase) => inMemory(testCase, (policy) => Workspace.memory({ policy, thread: false })) },
};

const cases = allCases();

for (const [name, { holds, run }] of Object.entries(BACKENDS)) {
  describe(name, () => {
    for (const testCase of cases) {
      const skip = testCase.only.length > 0 && !testCase.only.includes(holds) ? testCase.reason : false;
      test(testCase.name, { skip }, async () => compare(testCase, await run(testCase)));
    }
  });
}

async function inDirectory(testCase, options) {
  const top = realpathSync(mkdtempSync(join(tmpdir(), 'paddock-case-')));
  try {
    for (const [directory, file] of [['outside', 'secret.txt'], ['ws-evil', 'secret.txt'], ['ws ', 'secret.txt']]) {
      mkdirSync(join(top, directory));
      writeFileSync(join(top, directory, file), 'SECRET\n');
    }
    const names = { root: join(top, 'ws'), outside: join(top, 'outside') };
    mkdirSync(names.root);
    writeTree(withTargets(testCase.start, (target) => fill(target, names)), names.root);
    const outside = neighbours(top);
    const workspace = await Workspace.open(names.root, { policy: testCase.policy, stateDir: join(top, 'state'), thread: false, ...options });
    const outcomes = await drive(testCase, names, workspace);
    workspace.close();
    assert.deepEqual(neighbours(top), outside, 'something outside the workspace was changed');
    const tree = readTree(names.root);
    return { outcomes, tree: cleared(tree, names), modes: modes(names.root, tree) };
  } finally {
    rmSync(top, { recursive: true });
  }
}

/** Returns all entries except the workspace and its state. */
function neighbours(top) {
  return new Map([...readTree(top)].filter(([path]) => !path.startsWith('ws/') && !path.startsWith('state')));
}
