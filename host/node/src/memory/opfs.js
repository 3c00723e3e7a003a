/** Trees in a directory of the browser's private file system (OPFS), or in a directory that a person gave the page. */

/** @typedef {FileSystemDirectoryHandle} Handle */

/**
 * Makes the directory equal to the tree. Each changed file is replaced whole, and unchanged files are not written.
 * Symbolic links are left out, since there are none in a browser; their paths are returned.
 *
 * @param {Handle} directory
 * @param {import('./zip.js').SavedTree} tree
 * @returns {Promise<string[]>}
 */
export async function toDirectory(directory, tree) {
  /** @type {string[]} */
  const left = [];
  const paths = new Set();
  for (const [path, entry] of Object.entries(tree)) {
    if (entry !== null && 'link' in entry) {
      left.push(path);
      continue;
    }
    above(path).forEach((path) => paths.add(path));
    paths.add(path);
    if (entry === null) await descend(directory, path);
    else await write(directory, path, entry);
  }
  await prune(directory, '', paths);
  return left;
}

/**
 * @param {Handle} directory
 * @returns {Promise<import('./zip.js').SavedTree>}
 */
export async function fromDirectory(directory) {
  /** @type {[string, Uint8Array | null][]} */
  const list = [];
  await collect(directory, '', list);
  return Object.fromEntries(list);
}

/** @param {Handle} directory @param {string} prefix @param {[string, Uint8Array | null][]} list */
async function collect(directory, prefix, list) {
  const before = list.length;
  for await (const [name, handle] of entries(directory)) {
    if (handle.kind === 'directory') await collect(handle, `${prefix}${name}/`, list);
    else list.push([prefix + name, await bytes(handle)]);
  }
  if (prefix !== '' && list.length === before) list.push([prefix.slice(0, -1), null]);
}

/** @param {Handle} directory @param {string} path @param {Uint8Array} content */
async function write(directory, path, content) {
  const [name] = path.split('/').slice(-1);
  const parent = await descend(directory, path.slice(0, -name.length));
  const file = await parent.getFileHandle(name, { create: true }).catch(async () => {
    // A directory has the file's name.
    await parent.removeEntry(name, { recursive: true });
    return parent.getFileHandle(name, { create: true });
  });
  if (isSame(await bytes(file), content)) return;
  const writable = await file.createWritable();
  await writable.write(/** @type {any} */ (content));
  await writable.close();
}

/** @param {Handle} directory @param {string} path */
async function descend(directory, path) {
  for (const name of path.split('/').filter((name) => name !== '')) {
    const parent = directory;
    directory = await parent.getDirectoryHandle(name, { create: true }).catch(async () => {
      // A file has the directory's name.
      await parent.removeEntry(name);
      return parent.getDirectoryHandle(name, { create: true });
    });
  }
  return directory;
}

/** @param {Handle} directory @param {string} prefix @param {Set<string>} paths */
async function prune(directory, prefix, paths) {
  const list = [];
  for await (const entry of entries(directory)) list.push(entry);
  for (const [name, handle] of list) {
    if (!paths.has(prefix + name)) await directory.removeEntry(name, { recursive: true });
    else if (handle.kind === 'directory') await prune(handle, `${prefix}${name}/`, paths);
  }
}

/** @param {Handle} directory @returns {AsyncIterable<[string, FileSystemDirectoryHandle | FileSystemFileHandle]>} */
function entries(directory) {
  return /** @type {any} */ (directory).entries();
}

/** @param {FileSystemFileHandle} handle */
async function bytes(handle) {
  return new Uint8Array(await (await handle.getFile()).arrayBuffer());
}

/** @param {string} path The directories that it is in. */
function above(path) {
  const names = path.split('/');
  return names.slice(1).map((_, index) => names.slice(0, index + 1).join('/'));
}

/** @param {Uint8Array} one @param {Uint8Array} other */
function isSame(one, other) {
  return one.length === other.length && one.every((byte, index) => byte === other[index]);
}
