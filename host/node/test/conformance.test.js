/**
 * The repository's case folders, through this host: over a directory, over one reached by paths, and in memory. The
 * same results to the byte, and the same trees, as in every other host.
 */

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { Workspace } from '../src/index.js';
import { allCases } from './cases/case.js';
import { IN_MEMORY, clear, drive, fill } from './cases/drive.js';
import { compare } from './cases/expect.js';
import { modes, pack, readTree, unpack, writeTree } from './cases/tree.js';

/** Seconds since 1970 that entries of an archive have where a case says nothing else. */
const NOW = 1_750_000_000;

const BACKENDS = {
  directory: { holds: 'directory', run: (given) => inDirectory(given, {}) },
  'directory, by paths': { holds: 'directory', run: (given) => inDirectory(given, { byPath: true }) },
  memory: { holds: 'component_memory', run: inMemory },
};

const cases = allCases();

for (const [name, { holds, run }] of Object.entries(BACKENDS)) {
  describe(name, () => {
    for (const given of cases) {
      const skip = given.only.length > 0 && !given.only.includes(holds) ? given.reason : false;
      test(given.name, { skip }, async () => compare(given, await run(given)));
    }
  });
}

async function inDirectory(given, options) {
  const top = realpathSync(mkdtempSync(join(tmpdir(), 'paddock-case-')));
  try {
    for (const [directory, file] of [['outside', 'secret.txt'], ['ws-evil', 'secret.txt'], ['ws ', 'secret.txt']]) {
      mkdirSync(join(top, directory));
      writeFileSync(join(top, directory, file), 'SECRET\n');
    }
    const names = { root: join(top, 'ws'), outside: join(top, 'outside') };
    mkdirSync(names.root);
    writeTree(withTargets(given.start, (target) => fill(target, names)), names.root);
    const outside = neighbours(top);
    const workspace = await Workspace.open(names.root, { policy: given.policy, stateDir: join(top, 'state'), thread: false, ...options });
    const outcomes = await drive(given, names, workspace);
    workspace.close();
    assert.deepEqual(neighbours(top), outside, 'something outside the workspace was changed');
    const tree = readTree(names.root);
    return { outcomes, tree: cleared(tree, names), modes: modes(names.root, tree) };
  } finally {
    rmSync(top, { recursive: true });
  }
}

async function inMemory(given) {
  const workspace = await Workspace.memory({ policy: given.policy, thread: false });
  await workspace.loadTar(pack(withTargets(given.start, (target) => fill(target, IN_MEMORY)), NOW));
  const outcomes = await drive(given, IN_MEMORY, workspace);
  const tree = unpack(await workspace.saveTar());
  workspace.close();
  return { outcomes, tree: given.isAbsolute ? cleared(tree, IN_MEMORY) : tree };
}

/** All but the workspace and its state. */
function neighbours(top) {
  return new Map([...readTree(top)].filter(([path]) => !path.startsWith('ws/') && !path.startsWith('state')));
}

function withTargets(start, change) {
  const tree = [...start.tree].map(([path, node]) => [path, node.kind === 'link' ? { ...node, target: change(node.target) } : node]);
  return { ...start, tree: new Map(tree) };
}

function cleared(tree, names) {
  return withTargets({ tree }, (target) => clear(target, names)).tree;
}
