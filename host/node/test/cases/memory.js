/** Runs a case over the memory backend, and replaces the placeholders in links for both backends. */

import { IN_MEMORY, clear, drive, fill } from './drive.js';
import { pack, unpack } from './tree.js';

/** Modification time of archive entries for which the case states none, in seconds since 1970. */
const NOW = 1_750_000_000;

/** Runs a case on a workspace in memory, which `create` makes with the policy of the case. */
export async function inMemory(testCase, create) {
  const workspace = await create(testCase.policy);
  await workspace.loadTar(pack(withTargets(testCase.start, (target) => fill(target, IN_MEMORY)), NOW));
  const outcomes = await drive(testCase, IN_MEMORY, workspace);
  const tree = unpack(await workspace.saveTar());
  await workspace.close();
  return { outcomes, tree: testCase.isAbsolute ? cleared(tree, IN_MEMORY) : tree };
}

/** Returns the initial tree of a case with other link targets. */
export function withTargets(start, change) {
  const tree = [...start.tree].map(([path, node]) => [path, node.kind === 'link' ? { ...node, target: change(node.target) } : node]);
  return { ...start, tree: new Map(tree) };
}

/** Returns a tree whose link targets have the placeholders of the case. */
export function cleared(tree, names) {
  return withTargets({ tree }, (target) => clear(target, names)).tree;
}
