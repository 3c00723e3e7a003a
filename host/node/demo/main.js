/**
 * The page: a workspace in memory with its files and its tools. The browser's private file system keeps the tree
 * between visits.
 */

import { Workspace } from '../src/browser.js';
import { ToolConsole } from './console.js';
import { FileView } from './file_view.js';
import { droppedTree, pickedTree } from './folders.js';
import { sample } from './sample.js';
import { TreeView } from './tree_view.js';

const byId = (id) => document.getElementById(id);
const status = (text) => {
  byId('status').textContent = text;
};

/** Name under which the page stores its tree between two visits. */
const STORED_DIRECTORY = 'paddock-demo';

class Page {
  #saved = {};

  constructor(workspace) {
    this.workspace = workspace;
    this.files = new TreeView(byId('tree'), (path) => this.render(path));
    this.view = new FileView(byId('content'), byId('path'), byId('tab-file'), byId('tab-diff'));
  }

  /** Renders the files of the workspace, and marks those that changed since the last rendering. */
  async refresh({ isNew = false } = {}) {
    const before = this.#saved;
    this.#saved = await this.workspace.save();
    const changed = isNew ? [] : [...new Set([...Object.keys(before), ...Object.keys(this.#saved)])].filter((path) => !same(before[path], this.#saved[path]));
    if (isNew) this.view.forget();
    this.view.changed(changed.map((path) => [path, before[path], this.#saved[path]]));
    this.files.render(this.#saved, changed);
    const files = Object.values(this.#saved).filter((entry) => entry !== null);
    byId('count').textContent = files.length === 1 ? '1 file' : `${files.length} files`;
    this.render(changed.find((path) => this.#saved[path]) ?? changed[0] ?? this.view.path ?? first(this.#saved), changed.length > 0);
    await this.keep();
  }

  render(path, isChange = false) {
    this.files.select(path);
    this.view.render(path, this.#saved[path], isChange);
  }

  async load(tree, from) {
    await this.workspace.load(tree);
    await this.refresh({ isNew: true });
    status(`${Object.keys(tree).length} files from ${from}`);
  }

  async keep() {
    const left = await this.workspace.saveDirectory(await storedDirectory());
    byId('kept').textContent = left.length > 0 ? `kept in this browser, without ${left.length} symbolic links` : 'kept in this browser';
  }
}

async function storedDirectory() {
  const root = await navigator.storage.getDirectory();
  return root.getDirectoryHandle(STORED_DIRECTORY, { create: true });
}

function same(one, other) {
  if (!(one instanceof Uint8Array) || !(other instanceof Uint8Array)) return one?.link === other?.link && one === other;
  return one.length === other.length && one.every((byte, index) => byte === other[index]);
}

function first(tree) {
  return Object.keys(tree).find((path) => path === 'README.md') ?? Object.keys(tree).find((path) => tree[path] !== null);
}

/** Runs an action of a person, and shows the error if it fails. */
async function attempt(act) {
  try {
    await act();
  } catch (error) {
    status(error.message);
  }
}

function connect(page) {
  const file = byId('zip-file');
  const folder = byId('folder');
  byId('open').addEventListener('click', () => folder.click());
  byId('load-zip').addEventListener('click', () => file.click());
  folder.addEventListener('change', () => attempt(async () => page.load(await pickedTree(folder.files), 'the folder')));
  file.addEventListener('change', () =>
    attempt(async () => {
      await page.workspace.loadZip(new Uint8Array(await file.files[0].arrayBuffer()));
      await page.refresh({ isNew: true });
      status(`loaded ${file.files[0].name}`);
    }),
  );
  byId('save-zip').addEventListener('click', () => attempt(async () => download(await page.workspace.saveZip({ skipLinks: true }))));
  byId('reset').addEventListener('click', () => attempt(() => page.load(sample, 'the sample')));
  connectDrop(page);
}

function connectDrop(page) {
  const shade = byId('drop');
  addEventListener('dragover', (event) => {
    event.preventDefault();
    shade.hidden = false;
  });
  addEventListener('dragleave', (event) => {
    if (event.relatedTarget === null) shade.hidden = true;
  });
  addEventListener('drop', (event) => {
    event.preventDefault();
    shade.hidden = true;
    attempt(async () => page.load(await droppedTree(event.dataTransfer.items), 'what was dropped'));
  });
}

function download(bytes) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([bytes], { type: 'application/zip' }));
  link.download = 'workspace.zip';
  link.click();
  URL.revokeObjectURL(link.href);
}

/** The workspace, for experiments in the browser's console. */
globalThis.paddock = Workspace;

async function start() {
  const began = performance.now();
  const workspace = await Workspace.memory();
  const page = new Page(workspace);
  await workspace.loadDirectory(await storedDirectory());
  const isEmpty = Object.keys(await workspace.save()).length === 0;
  if (isEmpty) await workspace.load(sample);
  await page.refresh({ isNew: true });
  connect(page);
  await new ToolConsole(workspace, () => page.refresh()).start();
  const ready = `ready in ${Math.round(performance.now() - began)} ms`;
  status(isEmpty ? ready : `${ready}, with what this browser kept`);
  document.body.dataset.ready = 'true';
}

attempt(start);
