/** The directories of a guest that has none: its tree is in its own memory. */

class Descriptor {}
class DirectoryEntryStream {}

/** @type {import('./imports.js').Filesystem} */
export const noFiles = {
  types: { Descriptor, DirectoryEntryStream, filesystemErrorCode: () => undefined },
  getDirectories: () => [],
};
