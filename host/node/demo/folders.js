/** Folders that a person drops on the page or picks, as trees. */

/** Large folders with generated content. They are not loaded. */
const LEFT_OUT = new Set(['.git', 'node_modules', 'target']);

/** Maximum total size of the files in bytes, which is the default limit of the workspace. */
const MAX_BYTES = 64 * 1024 * 1024;

/** Returns the files of a drop event by their paths, without the name of a single top folder. */
export async function droppedTree(items) {
  const tops = [...items].map((item) => item.webkitGetAsEntry()).filter((entry) => entry !== null);
  const files = [];
  const only = tops.length === 1 && tops[0].isDirectory ? tops[0].fullPath.length + 1 : 1;
  for (const top of tops) await collect(top, files);
  return read(files.map(([entry, path]) => [() => new Promise((resolve, reject) => entry.file(resolve, reject)), path.slice(only)]));
}

/** Returns the files that a person picked by a folder input. */
export async function pickedTree(list) {
  const files = [...list].map((file) => [async () => file, file.webkitRelativePath.split('/').slice(1).join('/')]);
  return read(files.filter(([, path]) => !path.split('/').some((name) => LEFT_OUT.has(name))));
}

async function collect(entry, files) {
  if (entry.isFile) files.push([entry, entry.fullPath]);
  if (!entry.isDirectory || LEFT_OUT.has(entry.name)) return;
  const reader = entry.createReader();
  for (;;) {
    // A reader returns only a part of the entries in each call.
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0) return;
    for (const inner of some) await collect(inner, files);
  }
}

async function read(files) {
  const tree = [];
  let size = 0;
  for (const [open, path] of files) {
    const file = await open();
    size += file.size;
    if (size > MAX_BYTES) throw new Error(`that is more than ${MAX_BYTES / 1024 / 1024} MB; pick a smaller folder`);
    tree.push([path, new Uint8Array(await file.arrayBuffer())]);
  }
  return Object.fromEntries(tree);
}
