/** Runs a case over the memory backend, and what both backends need for links of a case that name absolute paths. */

import { IN_MEMORY, clear, drive, fill } from './drive.js';
import { pack, unpack } from './tree.js';

/** Seconds since 1970 that entries of an archive have where a case says nothing else. */
const NOW = 1_750_000_000;

/** Runs a case on a workspace in memory, which `create` makes with the policy of the case. */
export async function inMemory(given, create) {
  const workspace = await create(given.policy);
  await workspace.loadTar(pack(withTargets(given.start, (target) => fill(target, IN_MEMORY)), NOW));
  const outcomes = await drive(given, IN_MEMORY, workspace);
  const tree = unpack(await workspace.saveTar());
  await workspace.close();
  return { outcomes, tree: given.isAbsolute ? cleared(tree, IN_MEMORY) : tree };
}

/** What a case starts from, with other targets of links. */
export function withTargets(start, change) {
  const tree = [...start.tree].map(([path, node]) => [path, node.kind === 'link' ? { ...node, target: change(node.target) } : node]);
  return { ...start, tree: new Map(tree) };
}

/** A tree with the case's own names in the targets of its links. */
export function cleared(tree, names) {
  return withTargets({ tree }, (target) => clear(target, names)).tree;
}
