// Patches that both programs treat alike, and the deliberate differences, which the guide lists with their reasons.

import assert from "node:assert/strict";

const envelope = (body) => `*** Begin Patch\n${body}\n*** End Patch`;

/** Differences that generated patches meet: `holds` decides by the patch, the tree before it, and both outcomes. */
export const RANDOM = [
  {
    reason: "a patch is applied as a whole or not at all",
    holds: (_, original, theirs, ours) => !theirs.ok && !ours.ok && !same(theirs.tree, original),
  },
];

function same(a, b) {
  return a.size === b.size && [...a].every(([name, text]) => b.get(name) === text);
}

export const SAME = [];
export const DIFFERENT = [];
