/** The empty file system of a guest whose tree is in its own memory. */

class Descriptor {}
class DirectoryEntryStream {}

/** @type {import('./imports.js').Filesystem} */
export const noFiles = {
  types: { Descriptor, DirectoryEntryStream, filesystemErrorCode: () => undefined },
  getDirectories: () => [],
};
