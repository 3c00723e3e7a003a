/**
 * The operations with the types of the WIT. A failure is thrown as a `PaddockError`. Numbers of 64 bits are plain
 * numbers here, since no file is larger than those are exact.
 *
 * @typedef {import('../component/interfaces/paddock-files-files.js').ReadArgs} ReadArgs
 */

/** @typedef {typeof import('../component/interfaces/paddock-files-files.js')} Files */
/** @typedef {typeof import('../component/interfaces/paddock-files-search.js')} Search */

/**
 * @template T
 * @typedef {T extends bigint ? number : T extends Uint8Array ? T : T extends object ? {[K in keyof T]: Plain<T[K]>} : T} Plain
 */

/**
 * Arguments of which those are needed that have no default.
 *
 * @template {(args: any) => any} F
 * @template {keyof Parameters<F>[0]} [K=never]
 * @typedef {Pick<Plain<Parameters<F>[0]>, K> & Partial<Plain<Parameters<F>[0]>>} Args
 */

/**
 * @template {(args: any) => any} F
 * @typedef {Promise<Plain<ReturnType<F>>>} Result
 */

/** @typedef {import('./workspace.js').CallOptions} CallOptions */

const WALK = { path: '.', includeHidden: false, includeIgnored: false };
const FIND = { ...WALK, fixed: false, letterCase: 'sensitive', multiline: false, word: false };

export class Operations {
  /**
   * @protected
   * @param {string} _interfaceName
   * @param {string} _name
   * @param {any[]} _args
   * @param {CallOptions & {changing: boolean}} _options
   * @returns {Promise<any>}
   */
  invoke(_interfaceName, _name, _args, _options) {
    throw new TypeError('a workspace says how its component is called');
  }

  /** Reads text from a file. @param {Args<Files['read'], 'path'>} args @param {CallOptions} [options] @returns {Result<Files['read']>} */
  read(args, options) {
    const defaults = { offset: 1, mode: 'lines', maxLevels: 0, includeSiblings: false, includeHeader: true };
    return this.#read('files', 'read', { ...defaults, ...args }, options);
  }

  /** Reads several files. @param {{files: {path: string, offset?: number, limit?: number}[]} | {glob: string}} args @param {CallOptions} [options] @returns {Result<Files['readMany']>} */
  readMany(args, options) {
    const files = 'files' in args ? args.files.map((file) => ({ offset: 1, ...file })) : [];
    return this.#read('files', 'readMany', { files, glob: 'glob' in args ? args.glob : undefined }, options);
  }

  /** Writes a whole file, or appends to it. @param {Args<Files['write'], 'path' | 'content'>} args @param {CallOptions} [options] @returns {Result<Files['write']>} */
  write(args, options) {
    return this.#change('write', { createOnly: false, append: false, ...args }, options);
  }

  /** Replaces text in a file. @param {{path: string, edits: {oldText: string, newText: string, replaceAll?: boolean}[], ifMatch?: string, dryRun?: boolean}} args @param {CallOptions} [options] @returns {Result<Files['edit']>} */
  edit(args, options) {
    const edits = args.edits.map((edit) => ({ replaceAll: false, ...edit }));
    return this.#change('edit', { dryRun: false, ...args, edits }, options);
  }

  /** Applies a patch to any number of files, as a whole or not at all. @param {Args<Files['applyPatch'], 'patch'>} args @param {CallOptions} [options] @returns {Result<Files['applyPatch']>} */
  applyPatch(args, options) {
    return this.#change('applyPatch', { dryRun: false, ...args }, options);
  }

  /** Replaces all matches of a pattern in many files. The first call returns a plan, and a call with the plan makes the change. @param {Args<Files['replace'], 'pattern' | 'replacement'>} args @param {CallOptions} [options] @returns {Result<Files['replace']>} */
  replace(args, options) {
    return this.#change('replace', { ...FIND, excludePaths: [], ...args }, options);
  }

  /** Makes a directory. @param {Args<Files['makeDirectory'], 'path'>} args @param {CallOptions} [options] @returns {Result<Files['makeDirectory']>} */
  makeDirectory(args, options) {
    return this.#change('makeDirectory', { parents: true, ...args }, options);
  }

  /** Copies a file, or with `recursive` a directory. @param {Args<Files['copy'], 'source' | 'destination'>} args @param {CallOptions} [options] @returns {Result<Files['copy']>} */
  copy(args, options) {
    return this.#change('copy', { overwrite: false, recursive: false, ...args }, options);
  }

  /** Moves a file or directory. @param {Args<Files['moveEntry'], 'source' | 'destination'>} args @param {CallOptions} [options] @returns {Result<Files['moveEntry']>} */
  move(args, options) {
    return this.#change('moveEntry', { overwrite: false, recursive: true, ...args }, options);
  }

  /** Deletes a file, or with `recursive` a directory. @param {Args<Files['delete'], 'path'>} args @param {CallOptions} [options] @returns {Result<Files['delete']>} */
  delete(args, options) {
    return this.#change('delete', { recursive: false, ...args }, options);
  }

  /** Undoes the changes of a call, all of them or those at one path. @param {Args<Files['restore']>} args @param {CallOptions} [options] @returns {Result<Files['restore']>} */
  restore(args, options) {
    return this.#change('restore', { overwrite: false, ...args }, options);
  }

  /** Lists the backups, the newest first. @param {Args<Files['history']>} [args] @param {CallOptions} [options] @returns {Result<Files['history']>} */
  history(args, options) {
    return this.#read('files', 'history', { limit: 20, ...args }, options);
  }

  /** Packs files and directories into a zip archive. @param {Args<Files['pack'], 'sources' | 'destination'>} args @param {CallOptions} [options] @returns {Result<Files['pack']>} */
  pack(args, options) {
    return this.#change('pack', { overwrite: false, ...args }, options);
  }

  /** Unpacks a zip archive into a directory, as a whole or not at all. @param {Args<Files['unpack'], 'source' | 'destination'>} args @param {CallOptions} [options] @returns {Result<Files['unpack']>} */
  unpack(args, options) {
    return this.#change('unpack', { overwrite: false, ...args }, options);
  }

  /** Describes the entry at a path. @param {Args<Files['stat'], 'path'>} args @param {CallOptions} [options] @returns {Result<Files['stat']>} */
  stat(args, options) {
    return this.#read('files', 'stat', { checksum: false, brief: false, ...args }, options);
  }

  /** Lists a directory. @param {Args<Search['list']>} [args] @param {CallOptions} [options] @returns {Result<Search['list']>} */
  list(args, options) {
    return this.#read('search', 'list', { ...WALK, depth: 1, sort: 'name', limit: 200, ...args }, options);
  }

  /** Shows a directory as a tree. @param {Args<Search['tree']>} [args] @param {CallOptions} [options] @returns {Result<Search['tree']>} */
  tree(args, options) {
    return this.#read('search', 'tree', { ...WALK, depth: 3, limit: 500, ...args }, options);
  }

  /** Finds files by a glob. @param {Args<Search['glob'], 'pattern'>} args @param {CallOptions} [options] @returns {Result<Search['glob']>} */
  glob(args, options) {
    const defaults = { ...WALK, exclude: [], directories: false, sort: 'path', limit: 100 };
    return this.#read('search', 'glob', { ...defaults, ...args }, options);
  }

  /** Finds text in files. @param {Args<Search['grep'], 'pattern'>} args @param {CallOptions} [options] @returns {Result<Search['grep']>} */
  grep(args, options) {
    return this.#read('search', 'grep', { ...FIND, before: 0, after: 0, output: 'content', limit: 100, ...args }, options);
  }

  /** Lists the files below a directory that any process has changed since a token. @param {Args<Search['changes']>} [args] @param {CallOptions} [options] @returns {Result<Search['changes']>} */
  async changes(args, options) {
    // The call writes to the state directory, so it counts as a change.
    return plain(await this.invoke('search', 'changes', [{ ...WALK, limit: 200, ...args }], { ...options, changing: true }));
  }

  /** @param {string} interfaceName @param {string} name @param {object} args @param {CallOptions} [options] */
  async #read(interfaceName, name, args, options) {
    return plain(await this.invoke(interfaceName, name, [args], { ...options, changing: false }));
  }

  /** @param {string} name @param {object} args @param {CallOptions} [options] */
  async #change(name, args, options) {
    return plain(await this.invoke('files', name, [args], { ...options, changing: true }));
  }
}

/** @param {any} value With numbers for what the component tells in 64 bits. @returns {any} */
function plain(value) {
  if (typeof value === 'bigint') return Number(value);
  if (Array.isArray(value)) return value.map(plain);
  if (value === null || typeof value !== 'object' || value instanceof Uint8Array) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, plain(member)]));
}
