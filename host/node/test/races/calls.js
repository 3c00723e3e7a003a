/** The tool calls of the race test. */

/** How often a call of `read_files` names each swapped file. */
const TIMES = 4;
const FILES = ['d/f', 'l', 'p', 'x/f', 'a'];
/** Number of swapped names; a walk visits all of them. */
const NAMES = 5;

/**
 * Yields calls without end. Each has the number of its attempts: one for each swapped name on its path. A small part of
 * the calls waits for the disk and for `flock`.
 */
export function* calls() {
  for (let turn = 0; ; turn += 1) {
    for (const part of [0, 1, 2]) {
      yield* [readAll, readAll, readAll, walk(3 * turn + part)];
    }
    yield* [readAll, readAll, read(FILES[turn % FILES.length]), change(turn)];
  }
}

const paths = Array(TIMES).fill(FILES).flat();
const readAll = { operation: 'read', tool: 'read_files', args: { paths }, attempts: paths.length };

function read(path) {
  return { operation: 'read', tool: 'read_file', args: { path }, attempts: 1 };
}

function walk(turn) {
  const walks = [
    ['search', 'grep', { pattern: 'CANARY|inside' }, NAMES],
    ['search', 'grep', { pattern: 'CANARY' }, NAMES],
    ['list', 'list_dir', { depth: 4 }, NAMES],
    ['list', 'glob', { pattern: '**/only-*' }, NAMES],
    ['list', 'tree', {}, NAMES],
    ['list', 'list_dir', { path: 'd' }, 1],
    // The hint of a missing path would contain similar names.
    ['describe', 'stat', { path: 'd/only-outside-2f9' }, 1],
  ];
  const [operation, tool, args, attempts] = walks[turn % walks.length];
  return { operation, tool, args, attempts };
}

function change(turn) {
  const content = 'inside\n';
  const edits = [{ old_text: 'inside', new_text: 'inside' }];
  const update = (path) => `*** Update File: ${path}\n@@\n-inside\n+inside\n`;
  const patch = (body) => ({ patch: `*** Begin Patch\n${body}*** End Patch\n` });
  const changes = [
    ['write', 'write_file', { path: 'd/w', content }],
    ['write', 'write_file', { path: 'x/w', content }],
    ['write', 'write_file', { path: 'l', content }],
    ['write', 'write_file', { path: 'd/f', content, append: true }],
    ['write', 'write_file', { path: 'p', content }],
    ['write', 'edit_file', { path: 'd/g', edits }],
    ['patch', 'apply_patch', patch(update('d/g') + update('x/g')), 2],
    ['patch', 'apply_patch', patch('*** Add File: d/c\n+inside\n')],
    ['copy', 'copy', { source: 'd/f', destination: 'copied', overwrite: true }],
    ['copy', 'copy', { source: 'plain', destination: 'd/w', overwrite: true }],
    ['copy', 'copy', { source: 'l', destination: 'copied-link', overwrite: true }],
    ['move', 'move', { source: 'd/m', destination: 'moved', overwrite: true }],
    ['move', 'move', { source: 'moved', destination: 'x/m', overwrite: true }],
    ['move', 'move', { source: 'x/m', destination: 'd/m', overwrite: true }],
    ['delete', 'delete', { path: 'd/c' }],
    ['delete', 'delete', { path: 'd/t', recursive: true }],
    ['search', 'replace', { pattern: 'CANARY', replacement: 'x' }, NAMES],
  ];
  const [operation, tool, args, attempts = 1] = changes[turn % changes.length];
  return { operation, tool, args, attempts };
}
